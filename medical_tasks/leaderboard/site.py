"""The leaderboard's pages as plain files, made from a store: any web server, or a static Space, serves them.

`index.html` holds every view. It reads `data/board.json` (each result with its headline),
`data/tasks/TASK.json` (every metric, and what papers report), `data/queue.json` (submissions and
their history) and, for details, items and answers, `packages/ID.zip`: the package as it was
accepted, or of credentialed data the scores alone. The whole table is in `leaderboard.csv`, `.json`
and `.parquet`. A file that a browser would unpack has a twin that ends in `.gz`.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from medical_tasks._version import __version__
from medical_tasks.catalog import benchmarks, dataset_spec, tasks
from medical_tasks.errors import MedicalTasksError, MissingError, UsageError
from medical_tasks.io.cells import table_cell
from medical_tasks.io.files import WholeFile, read_bytes, read_text
from medical_tasks.leaderboard import admission, ranking
from medical_tasks.leaderboard.board import Board, package_name, published_entries
from medical_tasks.leaderboard.records import DamagedError, Entry, Submission, read_stored_results
from medical_tasks.leaderboard.submission_package.contents import (
    ANSWERS,
    DEFAULT_LIMITS,
    ITEMS,
    RESULTS,
)
from medical_tasks.leaderboard.submission_package.privacy import texts_allowed
from medical_tasks.leaderboard.submission_package.submitters import name_key
from medical_tasks.leaderboard.submission_package.zip_file import zip_bytes
from medical_tasks.models.usage import an_answer
from medical_tasks.report.entries import Metric
from medical_tasks.report.html_parts import assets_text, component_styles, rendered
from medical_tasks.runs.comparability import comparability_lines
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import MetricSpec, TaskSpec

CACHE: Final = ".results.jsonl"
"""What was read of the packages, a line a submission, so that each is read once; by it a folder is known as a site."""
_FORMAT: Final = 2
_ASSETS: Final = "leaderboard/assets"
_COLUMNS: Final = (
    "task", "group", "model", "organisation", "state", "metric", "value", "low", "high", "n", "first", "last", "asked", "scored",
    "date", "open", "parameters", "licence", "tokens", "cost", "setting", "submission", "notes", "key", "alike",
)  # fmt: skip
_METRIC: Final = ("value", "low", "high", "n", "first", "last", "bound_low", "bound_high")
_KEPT: Final = ("value", "ci_low", "ci_high", "n", "bound_low", "bound_high")
_DECIMALS: Final = 9
STATES: Final[Mapping[str, str]] = {
    "verified": "a maintainer scored the answers again and found the same numbers",
    "unverified": "a maintainer looked at the package; its answers were not scored again, or its judge was not asked again",
    "reported": "a figure from a paper, verified by nobody here",
    "pending": "waits for a maintainer",
    "accepted": "shown in the tables",
    "rejected": "not shown in the tables",
}

_Found = JsonDict
"""What is kept of a submission's result on a task; JSON."""


def write_site(board: Board, out: Path, *, uploads: bool = False) -> int:
    """Writes or updates the pages in `out`, a folder that is new, empty or a site; returns how many results they show.

    Each file is replaced as a whole, the tables after the packages that they name. `uploads`: the
    server takes submissions.
    """
    _check_folder(out)
    submissions = board.submissions()
    queue = out / "data" / "queue.json"
    if not (submissions or board.damaged) and queue.is_file() and read_bytes(queue) != b"[]":
        raise MissingError(  # a folder that is not there looks like an empty store, and submissions never go
            f"{out}: these pages show submissions, and the store has none. See whether its folder "
            "is where --store says. To begin anew, choose another --out."
        )
    accepted = [one for one in submissions if one.state == "accepted"]
    found = _read_packages(board, accepted, out)
    shown = _shown([one for one in accepted if one.id in found], found)
    taken = datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")
    papers = published_entries()
    rows = [*map(_submitted_row, shown), *map(_paper_row, papers)]
    _write_tables(out, shown, papers, rows, taken=taken, uploads=uploads)
    _write_json(queue, [_queued(one, accepted) for one in submissions])
    _write_downloads(out, rows)
    _write_page(out)
    for stale in {path.stem for path in (out / "packages").glob("*.zip")} - {*found}:
        (out / "packages" / f"{stale}.zip").unlink()
    return len(shown)


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is no folder. Give --out a folder for the pages.")
    if out.is_dir() and not (out / CACHE).is_file() and any(out.iterdir()):
        raise UsageError(
            f"{out}: has files of something else. Give --out an empty folder, or one with the "
            "pages."
        )


def _read_packages(
    board: Board, accepted: Sequence[Submission], out: Path
) -> dict[str, dict[str, _Found]]:
    """Reads the results of packages that were not read before, and puts the packages beside the pages."""
    head = json.dumps(
        {
            "format": _FORMAT,
            "suite": __version__,
            "tasks": {name: task.version for name, task in tasks().items()},
        }
    )
    known: dict[str, dict[str, _Found]] = {}
    cache = out / CACHE
    # Where it is not there, or not what this version wrote, each package is read again.
    with contextlib.suppress(MedicalTasksError, OSError, ValueError, LookupError, TypeError):
        head_said, *lines = read_text(cache).splitlines()
        known = (
            {line["id"]: line["tasks"] for line in map(json.loads, lines)}
            if head_said == head
            else {}
        )
    kept: dict[str, dict[str, _Found]] = {}
    with WholeFile(cache) as file:
        file.write(f"{head}\n")
        for one in accepted:
            package = out / "packages" / f"{one.id}.zip"
            try:
                if one.id not in known or not package.is_file():
                    content = board.storage.read(package_name(one.id))
                    results = read_stored_results(
                        package_name(one.id), content, board.submitted(one.id)
                    )
                    known[one.id] = {
                        name: _found(tasks()[name], results["tasks"][name])
                        for name in one.tasks
                        if name in tasks()
                    }
                    _write(package, _public(content, one.tasks), zipped=False)
            except DamagedError as error:
                board.damaged[one.id] = str(error)
                continue
            kept[one.id] = known[one.id]
            file.write(f"{json.dumps({'id': one.id, 'tasks': kept[one.id]})}\n")
    return kept


def _open(name: str) -> bool:
    return name in tasks() and texts_allowed(tasks()[name])


def _public(content: bytes, names: Sequence[str]) -> bytes:
    """The package, or, with results on credentialed data, one with the scores of items and what a breakdown goes by alone.

    An item's hashes would let anybody who guesses an answer, such as a letter, find the right ones.
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
            else {**shown, "cluster": places.setdefault(str(row["cluster"]), len(places))}
        )
        lines.append(json.dumps(whole) + "\n")
    return zip_bytes({**members, ITEMS: "".join(lines).encode()})


def _found(task: TaskSpec, entry: Json) -> _Found:
    recipe, coverage = entry["recipe"], entry["coverage"]
    took = an_answer(entry)
    cost = mapping(entry.get("usage")).get("cost_usd")
    return {
        "group": ranking.group_of(task, recipe),
        "words": ranking.group_words(recipe),
        "official": admission.is_official(task, recipe),
        "setting": ranking.setting_of(task, recipe)
        .removeprefix(ranking.group_label(recipe))
        .lstrip(", "),
        "notes": [
            *comparability_lines(task, entry),
            *admission.marks(entry),
        ],
        "ranked": not admission.marks(entry),
        "coverage": [coverage["asked"], coverage["scored"]],
        "tokens": took and took[0],
        "cost": 1000 * cost / coverage["answered"] if took and cost is not None else None,
        "metrics": {
            metric.name: {
                **{name: told.get(name) for name in _KEPT},
                "measure": ranking.measure_of(metric, told, recipe),
                "comparable": told.get("comparable", True),
            }
            for metric in task.metrics
            if (told := entry["metrics"].get(metric.name)) is not None
        },
    }


def _shown(
    accepted: Sequence[Submission], found: Mapping[str, Mapping[str, _Found]]
) -> list[_Found]:
    """The results that stand on the board, those of a task together, with their ranks."""
    rows = {
        one.id: [(task, told["group"]) for task, told in found[one.id].items()] for one in accepted
    }
    held = admission.places([(one, rows[one.id]) for one in accepted])
    shown = [
        {
            **found[one.id][task],
            "task": task,
            "state": admission.state_of(one, task),
            "submission": one,
            "date": one.history[0].at[:10],
        }
        for one in accepted
        for task, group in rows[one.id]
        if held.get((admission.key_of(one), (task, group))) is one
    ]
    order = {name: place for place, name in enumerate(tasks())}
    shown.sort(key=lambda row: (order[row["task"]], row["date"], row["submission"].id))
    for task in dict.fromkeys(row["task"] for row in shown):
        of_task = [row for row in shown if row["task"] == task]
        for metric in tasks()[task].metrics:
            told = [row["metrics"].get(metric.name) for row in of_task]
            keyed = [
                ((row["group"], each["measure"]), limits)
                if each and row["ranked"] and (limits := ranking.limits_of(each))
                else None
                for row, each in zip(of_task, told, strict=True)
            ]
            places = ranking.places_of(keyed, higher_is_better=metric.higher_is_better)
            for each, place in zip(told, places, strict=True):
                if each is not None:
                    each["first"], each["last"] = (
                        (place.first, place.last) if place else (None, None)
                    )
    return shown


def _submitted_row(row: _Found) -> _Found:
    """A result with its headline, by the names of the columns."""
    one, headline = row["submission"], tasks()[row["task"]].metrics[0]
    asked, scored = row["coverage"]
    return {
        **{
            name: row[name]
            for name in ("task", "group", "state", "date", "tokens", "cost", "setting")
        },
        "model": one.submitter.model,
        "organisation": one.submitter.organisation,
        "metric": headline.name,
        **_written(row["metrics"].get(headline.name, {})),
        "asked": asked,
        "scored": scored,
        "open": one.submitter.open_weights,
        "parameters": one.submitter.parameters,
        "licence": one.submitter.licence,
        "submission": one.id,
        "key": _key(admission.key_of(one)),
        "alike": _key(name_key(one.submitter.model)),
        "notes": row["notes"],
        "metrics": row["metrics"],
        "official": row["official"],
        "words": row["words"],
    }


def _paper_row(entry: Entry) -> _Found:
    """What a paper reports, by the metric that its authors count by where it lacks ours."""
    headline = tasks()[entry.task].metrics[0].name
    metric = next(
        (name for name in (headline, *entry.beside, *entry.metrics) if name in entry.metrics),
        headline,
    )
    blank = dict.fromkeys((*_COLUMNS, "official", "words"))
    told = {
        key: getattr(entry, key)
        for key in ("task", "group", "model", "organisation", "state", "setting", "metrics")
    }
    shown = _written(entry.metrics.get(metric, {}))
    more = {
        "notes": list(entry.differences),
        "url": entry.url,
        "alike": _key(name_key(entry.model)),
    }
    return {**blank, **told, "metric": metric, **shown, **more}


def _key(name: Any) -> str:
    """Names alike have the same.

    Which these are takes more than a browser has (Unicode's table of confusables).
    """
    return hashlib.sha256(repr(name).encode()).hexdigest()[:10]


def _written(metric: Metric) -> _Found:
    renamed = {"low": "ci_low", "high": "ci_high"}
    told = {name: metric.get(renamed.get(name, name)) for name in _METRIC}
    return {
        name: round(value, _DECIMALS) if isinstance(value, float) else value
        for name, value in told.items()
    }


def _write_tables(
    out: Path,
    shown: Sequence[_Found],
    papers: Sequence[Entry],
    rows: Sequence[_Found],
    *,
    taken: str,
    uploads: bool,
) -> None:
    groups: dict[tuple[str, str], _Found] = {}
    for row in rows:
        if row["state"] != "reported":
            made = {
                "id": row["group"],
                **{name: row[name] for name in ("task", "words", "official")},
                "count": 0,
            }
            groups.setdefault((row["task"], row["group"]), made)["count"] += 1
    # Official data before any other, then what most results are of.
    listed = sorted(
        groups.values(), key=lambda each: (not each["official"], -each["count"], each["id"])
    )
    named = list(dict.fromkeys(row["task"] for row in rows))
    place = {(each["task"], each["id"]): number for number, each in enumerate(listed)}
    index = {name: number for number, name in enumerate(named)}

    sentences: dict[str, int] = {}  # each stands once, and rows name it by its number

    def cells(row: _Found) -> list[Any]:
        notes = [sentences.setdefault(note, len(sentences)) for note in row["notes"]]
        made = {
            **row,
            "task": index[row["task"]],
            "group": place.get((row["task"], row["group"])),
            "notes": notes,
        }
        return [made[name] for name in _COLUMNS]

    _write_json(
        out / "data" / "board.json",
        {
            "taken": taken,
            "suite": __version__,
            "uploads": uploads,
            "states": STATES,
            "tasks": [_task(tasks()[name]) for name in named],
            "groups": listed,
            "columns": _COLUMNS,
            "rows": list(map(cells, rows)),
            "sentences": list(sentences),
        },
    )
    for name in named:
        of_task = [row for row in rows if row["task"] == name]
        content = {
            "columns": _METRIC,
            "results": {
                row["submission"]: {
                    metric: list(_written(told).values()) for metric, told in row["metrics"].items()
                }
                for row in of_task
                if row["state"] != "reported"
            },
            "papers": [
                {
                    **{
                        key: row[key]
                        for key in ("model", "organisation", "setting", "url", "notes")
                    },
                    "metrics": {
                        metric: _written(told)["value"] for metric, told in row["metrics"].items()
                    },
                }
                for row in of_task
                if row["state"] == "reported"
            ],
        }
        _write_json(out / "data" / "tasks" / f"{name}.json", content)


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
    told = {
        "name": metric.name,
        "unit": metric.unit,
        "higher": metric.higher_is_better,
        "said": metric.description,
    }
    # Of what is no mean over items two packages alone do not give the interval of the difference.
    return {**told, "item_mean": metric.kind in ("proportion", "mean")}


def _queued(one: Submission, accepted: Sequence[Submission]) -> _Found:
    events = [
        [event.state, event.at, event.by, event.reason, event.verified is not None, event.replaces] for event in one.history
    ]  # fmt: skip
    who = {key: value for key, value in vars(one.submitter).items() if value not in ("", None)}
    notes = admission.name_notes(one, accepted) if one.state == "pending" else []
    keys = {"key": _key(admission.key_of(one)), "alike": _key(name_key(one.submitter.model))}
    return {
        "id": one.id,
        "tasks": one.tasks,
        "submitter": who,
        **keys,
        "events": events,
        "notes": notes,
    }


_FACTS: Final = (
    "task", "model", "organisation", "state", "group", "words", "setting", "date", "asked", "scored", "open", "parameters",
    "licence", "tokens", "cost", "submission",
)  # fmt: skip
_DOWNLOADED: Final[Mapping[str, str]] = {
    "open": "open_weights", "parameters": "parameters_billion", "tokens": "output_tokens_per_answer",
    "cost": "usd_per_1000_answers", "words": "group_in_words",
}  # fmt: skip
"""What columns are called where no page explains them."""


def _write_downloads(out: Path, rows: Iterable[_Found]) -> None:
    """Writes the whole table, a row for each metric of each result."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    long = [
        {
            **{_DOWNLOADED.get(name, name): row[name] for name in _FACTS},
            "metric": metric,
            **{name: told.get(name) for name in (*_KEPT, "first", "last")},
            "notes": " ".join(row["notes"]),
        }
        for row in rows
        for metric, told in row["metrics"].items()
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
        "index.html", room="leaderboard", states=STATES, benchmarks=benchmarks(), most=most
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
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    _write(path, text.encode("utf-8", "backslashreplace"))


def _write(path: Path, content: bytes, *, zipped: bool = True) -> None:
    """Replaces a file, unless it says so already, so that a browser that has it need not load it again."""
    if path.is_file() and path.stat().st_size == len(content) and read_bytes(path) == content:
        return
    if zipped:
        packed = gzip.compress(content, mtime=0)
        with WholeFile(path.with_name(f"{path.name}.gz")) as file:
            file.write_bytes(packed)
    with WholeFile(path) as file:
        file.write_bytes(content)
