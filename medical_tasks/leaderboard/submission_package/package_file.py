"""Writes a finished run as a package, with the same bytes for the same run.

For credentialed data a package has only ids, hashes and scores, like the run's folder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from medical_tasks._version import __version__
from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.data.task_data import run_data
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile
from medical_tasks.leaderboard.submission_package import contents
from medical_tasks.leaderboard.submission_package.privacy import (
    published_at,
    scrub,
    texts_allowed,
)
from medical_tasks.leaderboard.submission_package.results import (
    item_columns,
    partial_facts,
    recompute,
    reported_task,
    verdicts_of_items,
)
from medical_tasks.leaderboard.submission_package.zip_file import zip_bytes
from medical_tasks.report.entries import Entry, Recipe
from medical_tasks.runs.calibrating import raw_name
from medical_tasks.runs.comparability import comparability
from medical_tasks.runs.confidence import RECIPE_KEY
from medical_tasks.runs.replaying import check_recipe, run_responses
from medical_tasks.runs.results import (
    JsonDict,
    Row,
    read_items,
    read_results,
    read_verdicts,
)
from medical_tasks.spec import UNANSWERED, TaskSpec

_NOT_TASKS_OWN: Final = ("asked", "response_sha256")
"""Columns of items that only some runs have; `sources` is left out, as it names local files."""


def write_package(
    folder: Path,
    out: Path,
    submitter: contents.Submitter,
    *,
    tasks: Sequence[str] = (),
    options: contents.VerifyOptions = contents.DEFAULT_OPTIONS,
    allow_partial: bool = False,
    answers: bool = True,
    judged: bool = True,
) -> contents.Package:
    """Writes a finished run, or some of its `tasks`, as a package.

    Args:
        folder: The folder of the run.
        out: The path of the package.
        submitter: The submitter's statements about the model.
        tasks: The names of the tasks to write; by default all.
        options: Where to find the data and the answers of a scored file.
        allow_partial: Whether to write results that are not over the whole official
            split, which leaderboards may refuse.
        answers: Whether to include the answers to open data; only an imported run that
            states where they are published can leave them out.
        judged: Whether to include judged metrics and the judge's verdicts.
    """
    from medical_tasks.leaderboard.submission_package.reading import (
        read_package,
        read_submitter,
    )

    checked = read_submitter("the submitter", submitter.stated())
    raw = read_results(folder)
    names = chosen_tasks(folder, raw["tasks"], tasks)
    entries: dict[str, Entry] = {name: raw["tasks"][name] for name in names}
    _check_size(folder, entries)
    if not answers:
        _check_published(folder, entries)
    if not judged:
        entries = {name: _unjudged(name, entry) for name, entry in entries.items()}

    members = _members(folder, entries, options, answers=answers)
    if not judged:
        entries = {
            name: _from_items(name, entry, members[contents.ITEMS])
            for name, entry in entries.items()
        }

    results = scrub(
        {**raw, "tasks": {name: _own_metrics(name, entries[name]) for name in names}}
    )
    partial = partial_facts(results)
    if partial and not allow_partial:
        reasons = "\n".join(
            f"  {name}: {' '.join(facts)}" for name, facts in partial.items()
        )
        raise UsageError(
            f"{folder}: is not a result over the whole official split:\n{reasons}\nRun it on all "
            "of it, or write a package that leaderboards may refuse with --allow-partial."
        )

    files = {contents.RESULTS: _json(results)}
    files |= {name: _lines(rows) for name, rows in members.items() if rows}
    manifest = make_manifest(checked, names, partial, files)
    content = zip_bytes({contents.MANIFEST: _json(manifest), **files})
    try:
        # Read it as a leaderboard would.
        package = read_package(content)
    except contents.PackageError as error:
        raise UsageError(f"{folder}: cannot be submitted as it is: {error}") from error

    with WholeFile(out) as file:
        file.write_bytes(content)

    return package


def make_manifest(
    submitter: contents.Submitter,
    tasks: Sequence[str],
    partial: Mapping[str, Sequence[str]],
    files: Mapping[str, bytes],
) -> JsonDict:
    """Makes `package.json`."""
    stated: JsonDict = {
        "format": contents.FORMAT,
        "suite": f"medical-tasks {__version__}",
        "submitter": submitter.stated(),
        "tasks": list(tasks),
        "partial": partial,
        "files": {
            name: contents.file_facts(content) for name, content in files.items()
        },
    }
    return {**stated, "content_sha256": contents.content_sha256(stated)}


def chosen_tasks(
    folder: Path, entries: Mapping[str, Entry], requested: Sequence[str]
) -> list[str]:
    """Returns the requested tasks of a run in its order, by default all.

    Their recipes are checked.
    """
    missing = [name for name in requested if name not in entries]
    if missing or not entries:
        raise UsageError(
            f"{folder}: has no results of {', '.join(missing) or 'any task'}, but of "
            f"{', '.join(entries)}."
        )

    chosen = [name for name in entries if not requested or name in requested]
    for name in chosen:
        task_spec(name)
        check_recipe(folder, entries[name]["recipe"])

    return chosen


def _check_size(folder: Path, entries: Mapping[str, Entry]) -> None:
    """Refuses runs that a package cannot represent, with the next step."""
    if any("repeats" in entry["recipe"] for entry in entries.values()):
        raise UsageError(
            f"{folder}: asked each question several times (--repeats), and a package has one "
            "answer to each. Give the run's command again without --repeats: it uses the first "
            "answers, and asks nothing."
        )

    if any("evaluations" in entry["recipe"] for entry in entries.values()):
        raise UsageError(
            f"{folder}: had its answers judged several times (--evaluations), and a package has "
            "one verdict on each question. Give the run's command again without --evaluations: it "
            "uses the first verdicts of the same judge."
        )

    if with_confidence := [
        name for name, entry in entries.items() if RECIPE_KEY in entry["recipe"]
    ]:
        raise UsageError(
            f"{folder}: {', '.join(with_confidence)} was also asked how sure it is (--confidence asked), "
            "which is another question than the others of the leaderboard were asked. Run it "
            "without."
        )

    if played := [
        name for name, entry in entries.items() if entry["recipe"].get("roles")
    ]:
        raise UsageError(
            f"{folder}: in {', '.join(played)} another model played a role (--role). A package has "
            "the answers and not the conversations before them, so that nobody could score it "
            "again. Leave it out: --task with the names of the others."
        )

    counts = {name: entry["n_items"] for name, entry in entries.items()}
    most = contents.DEFAULT_LIMITS.items
    if sum(counts.values()) > most:
        listed = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        raise UsageError(
            f"{folder}: a package holds at most {most:,} items across its tasks, and this run has "
            f"{listed}. Submit them in several (--task NAME), and run one that has more by itself, "
            f"as no official split has, with --max-samples {most}."
        )


def _check_published(folder: Path, entries: Mapping[str, Entry]) -> None:
    """Refuses to leave out answers that are not published elsewhere."""
    for name, entry in entries.items():
        if not published_at(entry["recipe"]):
            raise UsageError(
                f"{folder}: {name}: --no-answers is for imported answers whose recipe says at "
                "which https:// address they are published, as nobody can check others without "
                "them. Leave it out."
            )


def _unjudged(name: str, entry: Entry) -> JsonDict:
    """Removes the judge from an entry, whose metrics `_from_items` then computes."""
    kept = {
        metric.name: {"kind": metric.kind}
        for metric in task_spec(name).unjudged().metrics
    }
    recipe = {**entry["recipe"], "judge": None}
    recipe["metrics"] = {
        key: value for key, value in recipe["metrics"].items() if key in kept
    }

    return {key: value for key, value in entry.items() if key != "judge"} | {
        "recipe": recipe
    }


def _from_items(name: str, entry: Entry, rows: Sequence[Row]) -> JsonDict:
    """Computes the metrics of an entry from the items of a package."""
    task = reported_task(task_spec(name), entry)
    own = [
        {key: math.nan if cell == contents.NAN else cell for key, cell in row.items()}
        for row in rows
        if row["task"] == name
    ]
    computed = {**entry, **recompute(task, entry, own, contents.DEFAULT_LIMITS)}
    computed |= {"recipe": entry["recipe"]}
    return computed | {"paper": comparability(task, computed).as_json()}


def _own_metrics(name: str, entry: Entry) -> Entry:
    """Removes corrected metrics and confidence from an entry.

    A package has neither the check of the judge nor the items' confidence.
    """
    declared = {metric.name for metric in task_spec(name).metrics}
    metrics = {
        key: metric
        for key, metric in entry["metrics"].items()
        if raw_name(key, declared) == key
    }
    kept = {key: value for key, value in entry.items() if key != RECIPE_KEY}

    return {**kept, "metrics": metrics}


def _members(
    folder: Path,
    entries: Mapping[str, Entry],
    options: contents.VerifyOptions,
    *,
    answers: bool,
) -> dict[str, list[Row]]:
    """Returns the lines of items, answers and verdicts, by member of the package.

    Without `answers` there are only their hashes.
    """
    members: dict[str, list[Row]] = {
        name: [] for name in (contents.ITEMS, contents.ANSWERS, contents.VERDICTS)
    }
    rows, verdicts = read_items(folder), read_verdicts(folder)
    for name, entry in entries.items():
        task = reported_task(task_spec(name), entry)
        own = [row for row in rows if row["task"] == name]
        has_judge = entry["recipe"]["judge"] is not None
        judged = [row for row in verdicts if row["task"] == name and has_judge]
        texts: Mapping[str, str] | None = None
        if texts_allowed(task):
            texts = answers_of_run(task, entry["recipe"], folder, options)
            members[contents.ANSWERS] += [
                {"task": name, "id": row["id"], "response": texts[row["id"]]}
                for row in own
                if answers and row["id"] in texts
            ]

        # Without the judge, what it said about the answers is removed.
        if task.judge and not has_judge:
            own = [{**row, "parsed": "", "why": ""} for row in own]

        members[contents.ITEMS] += _item_rows(folder, task, own, judged, texts)
        members[contents.VERDICTS] += judged

    return members


def _item_rows(
    folder: Path,
    task: TaskSpec,
    rows: Sequence[Row],
    verdicts: Sequence[Row],
    answers: Mapping[str, str] | None,
) -> Iterator[Row]:
    """Yields the lines of items, with the hashes of answers and verdicts."""
    by_item, _ = verdicts_of_items(verdicts, {row["id"] for row in rows})
    columns = item_columns(task)
    for row in rows:
        item = row["id"]
        cells = {name: _as_json(row.get(name)) for name in columns}
        cells["unclear"] = cells["unclear"] or ""  # None in folders of older versions
        cells |= {
            name: row[name] for name in _NOT_TASKS_OWN if row.get(name) is not None
        }
        answered = not str(row["unscored"] or "").startswith(UNANSWERED)
        digest = str(row.get("response_sha256") or "")
        if answers is not None:
            digest = contents.answer_sha256(answers.get(item))
            if "response_sha256" in cells:
                raise UsageError(
                    f"{folder}: {task.name} ran beside a task on credentialed data, so that what "
                    "was read of its answers is not kept. Run it alone, in a folder of its own: "
                    f"medical-tasks run --tasks {task.name} ... --out FOLDER"
                )

        if answered != bool(digest):
            raise UsageError(
                f"{folder}: the answer to {item!r} of {task.name} is not found again, or was not "
                "there when the run was scored. Give the run's command again, then this one."
            )

        cells["answer_sha256"] = digest
        cells["verdicts_sha256"] = contents.verdicts_sha256(by_item.get(item, ()))
        yield cells


def _as_json(value: object) -> object:
    """Writes `nan`, a value without a denominator, as a text, since JSON lacks it."""
    return contents.NAN if value != value else value


def _json(value: object) -> bytes:
    return (
        json.dumps(value, ensure_ascii=True, allow_nan=False, indent=1) + "\n"
    ).encode()


def _lines(rows: Sequence[Row]) -> bytes:
    lines = (json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n" for row in rows)
    return "".join(lines).encode()


def answers_of_run(
    task: TaskSpec, recipe: Recipe, folder: Path, options: contents.VerifyOptions
) -> Mapping[str, str]:
    """Returns the answers that a run scored, by item id."""
    check_recipe(folder, recipe)
    source, responses = folder, None
    if options.responses is not None and options.responses.is_dir():
        source = options.responses  # the run whose answers were scored again
    elif recipe["model"]["name"].startswith("responses/"):
        responses = options.responses

    dataset = dataset_spec(task.dataset)
    with run_data(
        task, dataset, recipe, data=options.data, source=options.source
    ) as data:
        return run_responses(
            task, data, recipe, source, responses=responses, upstream=options.upstream
        )
