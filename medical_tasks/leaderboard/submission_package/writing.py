"""A finished run written as a package: the same run gives the same bytes.

Of credentialed data it holds only what the run's folder holds: ids, hashes and scores.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.catalog import dataset_spec, task_spec
from medical_tasks.data.task_data import run_data
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile
from medical_tasks.leaderboard.submission_package import contents
from medical_tasks.leaderboard.submission_package.privacy import scrub, texts_allowed
from medical_tasks.leaderboard.submission_package.reading import make_manifest, read_package
from medical_tasks.leaderboard.submission_package.results import partial_facts, reported_task
from medical_tasks.leaderboard.submission_package.rows import NAN, item_columns, verdicts_of_items
from medical_tasks.leaderboard.submission_package.submitters import read_submitter
from medical_tasks.runs.calibrating import SUFFIX
from medical_tasks.runs.responses import check_recipe, run_responses
from medical_tasks.runs.results import read_items, read_results, read_verdicts
from medical_tasks.spec import TaskSpec

_NOT_TASKS_OWN = ("asked", "response_sha256")
"""Columns that a task's items have where the run had something to say there; `sources` names the submitter's files, and stays."""


def write_package(
    folder: Path,
    out: Path,
    submitter: contents.Submitter,
    *,
    tasks: Sequence[str] = (),
    options: contents.VerifyOptions = contents.DEFAULT_OPTIONS,
    allow_partial: bool = False,
) -> contents.Package:
    """Writes a finished run, or some of its `tasks`, as a package; `allow_partial` also what is not the whole official split."""
    checked = read_submitter("the submitter", asdict(submitter))
    raw = read_results(folder)
    names = chosen_tasks(folder, raw["tasks"], tasks)
    counts, most = {name: raw["tasks"][name]["n_items"] for name in names}, contents.DEFAULT_LIMITS.items
    if sum(counts.values()) > most:
        raise UsageError(
            f"{folder}: a package takes at most {most:,} items of all its tasks, and this run has "
            f"{', '.join(f'{name} {count:,}' for name, count in counts.items())}. Submit them in several (--task NAME), "
            f"and run one that has more by itself, as no official split has, with --max-samples {most}."
        )
    # Corrected figures rest on a check of the judge that no package holds.
    shown = {name: dict(raw["tasks"][name]) for name in names}
    for entry in shown.values():
        entry["metrics"] = {name: told for name, told in entry["metrics"].items() if not name.endswith(SUFFIX)}
    results = scrub({**raw, "tasks": shown})
    partial = partial_facts(results)
    if partial and not allow_partial:
        said = "\n".join(f"  {name}: {' '.join(reasons)}" for name, reasons in partial.items())
        raise UsageError(
            f"{folder}: is not a result over the whole official split:\n{said}\nRun it on all of it, or write a package that "
            "leaderboards may refuse with --allow-partial."
        )
    rows = read_items(folder)
    verdicts = read_verdicts(folder)
    items: list[dict[str, Any]] = []
    answers: list[dict[str, str]] = []
    kept: list[Mapping[str, Any]] = []
    for name in names:
        entry = raw["tasks"][name]
        task = reported_task(task_spec(name), entry)
        own = [row for row in rows if row["task"] == name]
        judged = [row for row in verdicts if row["task"] == name]
        found = answers_of_run(task, entry["recipe"], folder, options) if texts_allowed(task) else None
        told = found or {}
        answers += [{"task": name, "id": row["id"], "response": told[row["id"]]} for row in own if row["id"] in told]
        items += _item_rows(folder, task, own, judged, found)
        kept += judged
    files = {contents.RESULTS: _json(results), contents.ITEMS: _lines(items)}
    files |= {contents.ANSWERS: _lines(answers)} if answers else {}
    files |= {contents.VERDICTS: _lines(kept)} if kept else {}
    content = zip_bytes({contents.MANIFEST: _json(make_manifest(checked, names, partial, files)), **files})
    try:
        # What is submitted is what a stranger would take.
        package = read_package(content)
    except contents.PackageError as error:
        raise UsageError(f"{folder}: cannot be submitted as it is: {error}") from error
    with WholeFile(out) as file:
        file.write_bytes(content)
    return package


def chosen_tasks(folder: Path, entries: Mapping[str, Any], wanted: Sequence[str]) -> list[str]:
    """Names the tasks of a run that are wanted, all without any, in the order of the run; each with a recipe to find it by."""
    missing = [name for name in wanted if name not in entries]
    if missing or not entries:
        raise UsageError(
            f"{folder}: has no results of {', '.join(missing) or 'any task'}, but of {', '.join(entries)}."
        )
    chosen = [name for name in entries if not wanted or name in wanted]
    for name in chosen:
        task_spec(name)
        check_recipe(folder, entries[name]["recipe"])
    return chosen


def _item_rows(
    folder: Path,
    task: TaskSpec,
    rows: Sequence[Mapping[str, Any]],
    verdicts: Sequence[Mapping[str, Any]],
    answers: Mapping[str, str] | None,
) -> Iterator[dict[str, Any]]:
    by_item, _ = verdicts_of_items(verdicts, {row["id"] for row in rows})
    columns = item_columns(task)
    for row in rows:
        made = {name: row.get(name) for name in columns}
        # JSON has no `nan`: a value without a denominator is a text, and null stays a value that is not decided.
        made = {name: NAN if isinstance(value, float) and value != value else value for name, value in made.items()}
        made |= {name: row[name] for name in _NOT_TASKS_OWN if row.get(name) is not None}
        answered = not str(row["unscored"] or "").startswith(contents.UNANSWERED)
        digest = (
            str(row.get("response_sha256") or "") if answers is None else contents.answer_sha256(answers.get(row["id"]))
        )
        if answered != bool(digest):
            raise UsageError(
                f"{folder}: the answer to {row['id']!r} of {task.name} is not found again, or was not there when the run was "
                "scored. Give the run's command again, then this one."
            )
        yield {**made, "answer_sha256": digest, "verdicts_sha256": contents.verdicts_sha256(by_item.get(row["id"], ()))}


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=True, allow_nan=False, indent=1) + "\n").encode()


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n" for row in rows).encode()


def answers_of_run(
    task: TaskSpec, recipe: Mapping[str, Any], folder: Path, options: contents.VerifyOptions
) -> Mapping[str, str]:
    """Finds the answers that a run scored, item id to answer."""
    check_recipe(folder, recipe)
    responses = options.responses if recipe["model"]["name"].startswith("responses/") else None
    with run_data(task, dataset_spec(task.dataset), recipe, data=options.data, source=options.source) as found:
        return run_responses(task, found, recipe, folder, responses=responses, upstream=options.upstream)


_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # the earliest a zip file knows
_MADE_ON_UNIX: Final = 3
_PLAIN_FILE: Final = 0o100644 << 16


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """Packs files, in this order, without times, comments and extra fields."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, allowZip64=False, compresslevel=9) as package:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.create_system, info.external_attr = _MADE_ON_UNIX, _PLAIN_FILE
            info.compress_type = zipfile.ZIP_DEFLATED
            package.writestr(info, content)
    return made.getvalue()
