"""Writes the leaderboard's pages as static files, from a store.

Any web server, or a static Space, can serve them.

`index.html` has every view. It reads `data/board.json` (each result with its headline),
`data/tasks/TASK.json` (every metric, and published results), `data/queue.json`
(submissions and their history) and, for items and answers, `packages/ID.zip`: the
accepted package, or only its scores if the data are credentialed. The whole table is in
`leaderboard.csv`, `.json` and `.parquet`. Compressible files also have a `.gz` version.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from medical_tasks._version import __version__
from medical_tasks.catalog import benchmarks_by_package, dataset_spec, tasks
from medical_tasks.errors import MedicalTasksError, MissingError, UsageError
from medical_tasks.io.cells import table_cell
from medical_tasks.io.files import WholeFile, read_bytes, read_text
from medical_tasks.leaderboard import admission, ranking
from medical_tasks.leaderboard.board import (
    Board,
    package_name,
    published_entries,
    sorted_entries,
    submitted_entries,
    unshown_results,
)
from medical_tasks.leaderboard.records import (
    DamagedError,
    Entry,
    Submission,
    Unshown,
    read_stored_results,
)
from medical_tasks.leaderboard.submission_package.contents import (
    ANSWERS,
    DEFAULT_LIMITS,
    ITEMS,
    RESULTS,
)
from medical_tasks.leaderboard.submission_package.privacy import (
    published_at,
    texts_allowed,
)
from medical_tasks.leaderboard.submission_package.submitters import name_key
from medical_tasks.leaderboard.submission_package.zip_file import zip_bytes
from medical_tasks.models.usage import an_answer
from medical_tasks.report.entries import Metric
from medical_tasks.report.html_parts import assets_text, component_styles, rendered
from medical_tasks.runs.comparability import comparability_lines
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import MetricSpec, TaskSpec

CACHE: Final = ".results.jsonl"
"""Caches the results of packages, one line for each submission, so that each is read once.

It also identifies a folder as a site.
"""
_FORMAT: Final = 4
_ASSETS: Final = "leaderboard/assets"
_COLUMNS: Final = (
    "task", "group", "model", "organisation", "state", "metric", "value", "low", "high", "n", "first", "last", "asked", "scored",
    "date", "open", "parameters", "licence", "tokens", "cost", "setting", "submission", "notes", "key", "alike",
    "source",
)  # fmt: skip
_METRIC: Final = (
    "value",
    "low",
    "high",
    "n",
    "first",
    "last",
    "bound_low",
    "bound_high",
)
_KEPT: Final = ("value", "ci_low", "ci_high", "n", "bound_low", "bound_high")
_OF_ENTRY: Final = ("task", "group", "model", "organisation", "state")
_DECIMALS: Final = 9
STATES: Final[Mapping[str, str]] = {
    "verified": "a maintainer scored the answers again and found the same numbers",
    "unverified": "a maintainer looked at the package; its answers were not scored again, or its judge was not asked again",
    "imported": "answers that others published, scored here: the model was not run with this suite",
    "reported": "a figure from a paper, verified by nobody here",
    "pending": "waits for a maintainer",
    "accepted": "shown in the tables",
    "rejected": "not shown in the tables",
}

_Found = JsonDict
"""A submission's result on a task, as JSON."""


def write_site(board: Board, out: Path, *, uploads: bool = False) -> int:
    """Writes or updates the pages in `out`, and returns the number of results shown.

    Files are replaced atomically, tables after the packages that they refer to.

    Args:
        board: The submissions.
        out: A folder that is new, empty or a site.
        uploads: Whether the server accepts submissions.
    """
    _check_folder(out)
    submissions = board.submissions()
    queue = out / "data" / "queue.json"
    if (
        not (submissions or board.damaged)
        and queue.is_file()
        and read_bytes(queue) != b"[]"
    ):
        # A missing folder looks like an empty store, but submissions are never deleted.
        raise MissingError(
            f"{out}: these pages show submissions, but the store has none. See whether its folder "
            "is where --store says. To start over, choose another --out."
        )

    accepted = [
        submission for submission in submissions if submission.state == "accepted"
    ]
    results = _read_packages(board, accepted, out)
    by_id = {
        submission.id: submission for submission in accepted if submission.id in results
    }
    read = [(submission, results[name]) for name, submission in by_id.items()]
    board.unshown = unshown_results(read)
    entries = submitted_entries(read)
    entries.sort(key=lambda entry: (entry.at, entry.submission))
    entries = sorted_entries(entries)
    ranks = _ranks(entries)
    rows = [
        _submitted_row(entry, by_id[entry.submission], results[entry.submission], ranks)
        for entry in entries
    ]
    rows += map(_paper_row, published_entries())
    _write_tables(out, rows, board.unshown, uploads=uploads)
    _write_json(queue, [_queued(submission, accepted) for submission in submissions])
    _write_downloads(out, rows)
    _write_page(out)
    for stale in {path.stem for path in (out / "packages").glob("*.zip")} - {*results}:
        (out / "packages" / f"{stale}.zip").unlink()

    return len(entries)


def _check_folder(out: Path) -> None:
    """Refuses a file, and a folder with other files than the pages."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is no folder. Give --out a folder for the pages.")
    if out.is_dir() and not (out / CACHE).is_file() and any(out.iterdir()):
        raise UsageError(
            f"{out}: has files of something else. Give --out an empty folder, or one with the "
            "pages."
        )


def _read_packages(
    board: Board, accepted: Sequence[Submission], out: Path
) -> dict[str, Json]:
    """Returns the results of accepted submissions, without breakdowns, which no page shows.

    Packages that are not in the cache are read and copied beside the pages.
    """
    versions = {name: task.version for name, task in tasks().items()}
    head = json.dumps({"format": _FORMAT, "suite": __version__, "tasks": versions})
    cached: dict[str, Json] = {}
    cache = out / CACHE
    # Without a cache, or with one from another version, each package is read again.
    with contextlib.suppress(
        MedicalTasksError, OSError, ValueError, LookupError, TypeError
    ):
        stated, *lines = read_text(cache).splitlines()
        if stated == head:
            cached = {line["id"]: line for line in map(json.loads, lines)}

    kept: dict[str, Json] = {}
    with WholeFile(cache) as file:
        file.write(f"{head}\n")
        for submission in accepted:
            package = out / "packages" / f"{submission.id}.zip"
            try:
                if submission.id not in cached or not package.is_file():
                    cached[submission.id] = _read_package(board, submission, package)
            except DamagedError as error:
                board.damaged[submission.id] = str(error)
                continue

            kept[submission.id] = cached[submission.id]
            file.write(f"{json.dumps(kept[submission.id])}\n")

    return kept


def _read_package(board: Board, submission: Submission, path: Path) -> Json:
    """Reads a package's results, and writes the public version of the package."""
    content = board.storage.read(package_name(submission.id))
    results = read_stored_results(
        package_name(submission.id), content, board.submitted(submission.id)
    )
    entries = {
        name: {**results["tasks"][name], "breakdown": {}} for name in submission.tasks
    }
    _write(path, _public(content, submission.tasks), zipped=False)
    return {"id": submission.id, "tasks": entries}


def _open(name: str) -> bool:
    return name in tasks() and texts_allowed(tasks()[name])


def _public(content: bytes, names: Sequence[str]) -> bytes:
    """Returns the public version of a package.

    For credentialed data it has only the scores of items and their groups. With hashes of
    answers, anybody could find a short answer, such as a letter, by guessing.
    """
    if all(map(_open, names)):
        return content

    with zipfile.ZipFile(io.BytesIO(content)) as package:
        members = {
            name: package.read(name)
            for name in package.namelist()
            if name in (RESULTS, ITEMS, ANSWERS)
        }

    places: dict[str, int] = {}
    lines = []
    for row in map(json.loads, members[ITEMS].splitlines()):
        shown = {
            key: value
            for key, value in row.items()
            if key in ("task", "id", "unscored", "unclear")
            or key.startswith("group_")
            or (isinstance(value, float) and key != "cluster")
        }
        whole = (
            row
            if _open(row["task"])
            else {
                **shown,
                "cluster": places.setdefault(str(row["cluster"]), len(places)),
            }
        )
        lines.append(json.dumps(whole) + "\n")

    return zip_bytes({**members, ITEMS: "".join(lines).encode()})


_Ranks = Mapping[tuple[str, str, str], ranking.RankRange | None]
"""Ranks by submission, task and metric."""


def _ranks(entries: Sequence[Entry]) -> _Ranks:
    """Ranks the entries of each task by each of its metrics."""
    ranks: dict[tuple[str, str, str], ranking.RankRange | None] = {}
    for task in dict.fromkeys(entry.task for entry in entries):
        of_task = [entry for entry in entries if entry.task == task]
        for metric in tasks()[task].metrics:
            places = ranking.rank_ranges(of_task, metric)
            for entry, rank in zip(of_task, places, strict=True):
                ranks[entry.submission, task, metric.name] = rank
    return ranks


def _submitted_row(
    entry: Entry, submission: Submission, results: Json, ranks: _Ranks
) -> _Found:
    """Makes the row of a submitted result with its headline, by column."""
    task, result = tasks()[entry.task], results["tasks"][entry.task]
    metrics: dict[str, _Found] = {}
    for metric in task.metrics:
        if (stated := entry.metrics.get(metric.name)) is not None:
            rank = ranks[entry.submission, entry.task, metric.name]
            metrics[metric.name] = {
                **{name: stated.get(name) for name in _KEPT},
                "first": rank and rank.first,
                "last": rank and rank.last,
            }

    # Published answers that nobody judged have the first metric that needs no judge.
    headline = entry.counted_by(task.metrics[0].name)
    coverage = result["coverage"]
    took, cost = an_answer(result), entry.usage.get("cost_usd")
    label = ranking.group_label(entry.recipe)

    return {
        **{name: getattr(entry, name) for name in _OF_ENTRY},
        "metric": headline,
        **_written(metrics.get(headline, {})),
        "asked": coverage["asked"],
        "scored": coverage["scored"],
        "date": entry.at,
        "open": submission.submitter.open_weights,
        "parameters": submission.submitter.parameters,
        "licence": submission.submitter.licence,
        "tokens": took and took[0],
        "cost": 1000 * cost / coverage["answered"]
        if took and cost is not None
        else None,
        "setting": entry.setting.removeprefix(label).lstrip(", "),
        "submission": submission.id,
        "key": _key(admission.key_of(submission)),
        "alike": _key(name_key(entry.model)),
        "source": published_at(entry.recipe) or None,
        "notes": _notes(entry, task, result),
        "metrics": metrics,
        "official": admission.is_official(task, entry.recipe),
        "words": ranking.group_words(entry.recipe),
        "data": ranking.data_of(task, entry.recipe),
    }


def _notes(entry: Entry, task: TaskSpec, result: Json) -> list[str]:
    """Lists notes on a result; for imported answers, their source comes first."""
    lines, marks = comparability_lines(task, result), list(entry.differences)
    return [*marks, *lines] if entry.state == "imported" else [*lines, *marks]


def _paper_row(entry: Entry) -> _Found:
    """Makes the row of a published result, with the authors' metric if it lacks ours."""
    metric = entry.counted_by(tasks()[entry.task].metrics[0].name)
    return {
        **dict.fromkeys((*_COLUMNS, "official", "words", "data")),
        **{
            name: getattr(entry, name)
            for name in (*_OF_ENTRY, "setting", "metrics", "url")
        },
        "metric": metric,
        **_written(entry.metrics.get(metric, {})),
        "notes": list(entry.differences),
        "alike": _key(name_key(entry.model)),
        "source": entry.url,
    }


def _key(name: Any) -> str:
    """Returns a key that is the same for indistinguishable names.

    A browser cannot compute it without Unicode's table of confusables.
    """
    return hashlib.sha256(repr(name).encode()).hexdigest()[:10]


def _written(metric: Metric) -> _Found:
    renamed = {"low": "ci_low", "high": "ci_high"}
    figures = {name: metric.get(renamed.get(name, name)) for name in _METRIC}
    return {
        name: round(value, _DECIMALS) if isinstance(value, float) else value
        for name, value in figures.items()
    }


def _write_tables(
    out: Path, rows: Sequence[_Found], unshown: Sequence[Unshown], *, uploads: bool
) -> None:
    """Writes the data of the pages; notes are stored once and referred to by number."""
    groups = _groups(rows)
    named = list(dict.fromkeys(row["task"] for row in rows))
    number_of = {
        (group["task"], group["id"]): number for number, group in enumerate(groups)
    }
    sentences: dict[str, int] = {}  # each stands once, and rows name it by its number

    def cells(row: _Found) -> list[object]:
        numbered = {
            "task": named.index(row["task"]),
            "group": number_of.get((row["task"], row["group"])),
            "notes": [
                sentences.setdefault(note, len(sentences)) for note in row["notes"]
            ],
        }
        return [{**row, **numbered}[name] for name in _COLUMNS]

    board = {
        "taken": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
        "suite": __version__,
        "packages": _packages(),
        "uploads": uploads,
        "states": STATES,
        "tasks": [_task(tasks()[name]) for name in named],
        "groups": groups,
        "columns": _COLUMNS,
        "rows": list(map(cells, rows)),
        "sentences": list(sentences),
        "unshown": list(map(asdict, unshown)),
    }
    _write_json(out / "data" / "board.json", board)
    for name in named:
        results, papers = {}, []
        for row in rows:
            if row["task"] != name:
                continue

            figures = {
                metric: _written(stated) for metric, stated in row["metrics"].items()
            }
            if row["state"] != "reported":
                results[row["submission"]] = {
                    metric: list(stated.values()) for metric, stated in figures.items()
                }
                continue

            about = {
                key: row[key]
                for key in ("model", "organisation", "setting", "url", "notes")
            }
            values = {metric: stated["value"] for metric, stated in figures.items()}
            papers.append({**about, "metrics": values})

        content = {"columns": _METRIC, "results": results, "papers": papers}
        _write_json(out / "data" / "tasks" / f"{name}.json", content)


def _packages() -> list[_Found]:
    """Lists the installed packages with versions and tasks, the suite first."""
    return [
        {
            "name": package.name,
            "version": package.version,
            "tasks": [
                task.name for benchmark in benchmarks for task in benchmark.tasks
            ],
        }
        for package, benchmarks in benchmarks_by_package().items()
    ]


def _groups(rows: Sequence[_Found]) -> list[_Found]:
    """Lists the groups of results: on official data first, then by number of results.

    Published answers, which have no rank, come last: they are shown beside every group on
    their data.
    """
    groups: dict[tuple[str, str], _Found] = {}
    for row in rows:
        if row["state"] != "reported":
            about = {name: row[name] for name in ("task", "words", "official", "data")}
            about["imported"] = row["state"] == "imported"
            group = {"id": row["group"], **about, "count": 0}
            groups.setdefault((row["task"], row["group"]), group)["count"] += 1

    def order(group: _Found) -> tuple[bool, bool, int, str]:
        return group["imported"], not group["official"], -group["count"], group["id"]

    return sorted(groups.values(), key=order)


def _task(task: TaskSpec) -> _Found:
    data = dataset_spec(task.dataset)
    return {
        "name": task.name,
        "title": task.title,
        "benchmark": task.benchmark.title,
        "paper": task.benchmark.paper,
        "open": data.access == "open",
        "metrics": [_metric(metric) for metric in task.metrics],
    }


def _metric(metric: MetricSpec) -> _Found:
    about = {
        "name": metric.name,
        "unit": metric.unit,
        "higher": metric.higher_is_better,
        "said": metric.description,
    }
    # The interval of a difference can be computed from two packages only if the metric is
    # a mean over items.
    return {**about, "item_mean": metric.kind in ("proportion", "mean")}


def _queued(submission: Submission, accepted: Sequence[Submission]) -> _Found:
    """Makes the queue's record of a submission with its history."""
    events = [
        [event.state, event.at, event.by, event.reason, event.verified is not None, event.replaces] for event in submission.history
    ]  # fmt: skip
    who = {
        key: value
        for key, value in vars(submission.submitter).items()
        if value not in ("", None)
    }
    notes = (
        admission.name_notes(submission, accepted)
        if submission.state == "pending"
        else []
    )
    keys = {
        "key": _key(admission.key_of(submission)),
        "alike": _key(name_key(submission.submitter.model)),
    }

    return {
        "id": submission.id,
        "tasks": submission.tasks,
        "submitter": who,
        **keys,
        "events": events,
        "notes": notes,
    }


_FACTS: Final = (
    "task", "model", "organisation", "state", "group", "words", "setting", "date", "asked", "scored", "open", "parameters",
    "licence", "tokens", "cost", "submission", "source",
)  # fmt: skip
_DOWNLOADED: Final[Mapping[str, str]] = {
    "open": "open_weights", "parameters": "parameters_billion", "tokens": "output_tokens_per_answer",
    "cost": "usd_per_1000_answers", "words": "group_in_words",
}  # fmt: skip
"""Self-explanatory column names for the downloads."""


def _write_downloads(out: Path, rows: Iterable[_Found]) -> None:
    """Writes the whole table, with a row for each metric of each result."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    long = [
        {
            **{_DOWNLOADED.get(name, name): row[name] for name in _FACTS},
            "metric": metric,
            **{name: figures.get(name) for name in (*_KEPT, "first", "last")},
            "notes": " ".join(row["notes"]),
        }
        for row in rows
        for metric, figures in row["metrics"].items()
    ]
    table = pa.Table.from_pylist(long)
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    _write(out / "leaderboard.parquet", buffer.getvalue(), zipped=False)
    buffer = io.BytesIO()
    cells = [{name: table_cell(value) for name, value in row.items()} for row in long]
    csv.write_csv(pa.Table.from_pylist(cells, schema=table.schema), buffer)
    _write(out / "leaderboard.csv", buffer.getvalue())
    _write_json(out / "leaderboard.json", long)


def _write_page(out: Path) -> None:
    most = DEFAULT_LIMITS.package_bytes >> 20
    page = rendered(
        "index.html",
        room="leaderboard",
        states=STATES,
        most=most,
        packages=benchmarks_by_package(),
    )
    styles = f"{component_styles()}\n{assets_text('leaderboard.css', _ASSETS)}"
    _write(out / "index.html", f"{page}\n".encode())
    _write(out / "leaderboard.css", styles.encode())
    scripts = (
        assets_text(name, _ASSETS)
        for name in ("figures.js", "package.js", "parts.js", "leaderboard.js")
    )
    _write(out / "leaderboard.js", "\n".join(scripts).encode())


def _write_json(path: Path, content: Any) -> None:
    text = json.dumps(
        content, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    _write(path, text.encode("utf-8", "backslashreplace"))


def _write(path: Path, content: bytes, *, zipped: bool = True) -> None:
    """Replaces a file if its content differs, so that browsers can keep unchanged files."""
    if (
        path.is_file()
        and path.stat().st_size == len(content)
        and read_bytes(path) == content
    ):
        return

    if zipped:
        packed = gzip.compress(content, mtime=0)
        with WholeFile(path.with_name(f"{path.name}.gz")) as file:
            file.write_bytes(packed)

    with WholeFile(path) as file:
        file.write_bytes(content)
