"""Results of a run: what is computed from scored items, and the files, each renamed into its place when it is whole.

A value is over the answered items, with an estimate for missing verdicts; what nobody can compute is `null`, never 0.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.dataset_store import flush_to_disk
from medical_tasks.errors import IncompleteError, MissingError, UsageError, system_reason
from medical_tasks.io.files import read_text
from medical_tasks.runs.estimation import Estimator, Limits, unanswered_value
from medical_tasks.runs.numbers import group_too_few
from medical_tasks.spec import UNANSWERED, Item, ItemScore, TaskSpec

RESULTS_FILE = "results.json"
ITEMS_FILE = "items.parquet"
VERDICTS_FILE = "verdicts.jsonl"
SCHEMA_VERSION = 1
_ENDS = ("value", "ci_low", "ci_high", "bound_low", "bound_high")
"""The numbers of a metric's entry that lie on its own scale."""
_TEXT_COLUMNS = frozenset(
    {
        "task",
        "id",
        "cluster",
        "parsed",
        "why",
        "unscored",
        "unclear",
        "sources",
        "response_sha256",
    }
)


def summarise(
    task: TaskSpec,
    items: Sequence[Item],
    scores: Mapping[str, ItemScore],
    unanswered: Mapping[str, str],
    *,
    recipe: Mapping[str, Any],
    unanswered_limits: Limits | None = None,
    estimator: Estimator | None = None,
) -> dict[str, Any]:
    """Computes a task's entry of `results.json`. `unanswered`: reasons by id; `unanswered_limits`: where not the metric's own."""
    unscored = Counter(UNANSWERED + reason for reason in unanswered.values())
    unscored.update(score.unscored for score in scores.values() if score.unscored is not None)
    unclear = Counter(score.unclear for score in scores.values() if score.unclear)
    n_scored = sum(score.unscored is None for score in scores.values())
    estimator = estimator or Estimator(
        task, scores, items=len(items), unanswered_limits=unanswered_limits
    )

    def metrics_of(some: Sequence[Item]) -> dict[str, Any]:
        return {
            metric.name: estimator.entry(metric, some) for metric in task.metrics if not metric.part
        }

    whole = metrics_of(items)
    if "subset" in recipe and "shard" not in recipe:
        for metric in (each for each in task.metrics if each.name in whole):
            whole[metric.name] = estimator.of_whole_set(
                whole[metric.name], metric, items, recipe["subset"]
            )
    breakdown: dict[str, dict[str, Any]] = {}
    for metric in task.metrics:
        if metric.part:
            by, group = metric.part
            told = breakdown.setdefault(by, {}).setdefault(group, {})
            told[metric.whole] = estimator.entry(metric, items)
    for by in task.groups:
        members: dict[str, list[Item]] = {}
        for item in items:
            for group in _groups(item, by):
                members.setdefault(group, []).append(item)
        breakdown[by] = {group: metrics_of(members[group]) for group in sorted(members)}
    for by, groups in breakdown.items():
        for name, told in (each for group in groups.values() for each in group.items()):
            if name in whole and group_too_few(told, whole[name], parts=by not in task.groups):
                told["too_few"] = True
    notes = Counter(note.partition(":")[0] for score in scores.values() for note in score.notes)
    return {
        "n_items": len(items),
        "metrics": whole,
        "coverage": {
            "asked": len(items),
            "answered": len(scores),
            "scored": n_scored,
            "unscored": dict(sorted(unscored.items())),
            "unclear": dict(sorted(unclear.items())),
        },
        **({"notes": dict(sorted(notes.items()))} if notes else {}),
        "breakdown": breakdown,
        "recipe": dict(recipe),
    }


def _groups(item: Item, by: str) -> tuple[str, ...]:
    """The groups an item is in; with several it counts in each."""
    groups = item.groups[by]
    return (groups,) if isinstance(groups, str) else groups


def flat(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Flattens entries for `evaluate` modules, nan where there is no number; `reasons` says why a metric has no value."""
    made: dict[str, Any] = {}
    for name, entry in entries.items():
        for end in _ENDS:
            made[name if end == "value" else f"{name}_{end}"] = (
                math.nan if entry[end] is None else entry[end]
            )
    made["reasons"] = {
        name: entry["reason"] for name, entry in entries.items() if "reason" in entry
    }
    return made


class ItemsFile:
    """`items.parquet` in the making: takes rows in blocks and holds them as the compressed file."""

    def __init__(self, columns: Iterable[str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = list(dict.fromkeys(columns)) or ["id"]
        # Ids, groups and texts; every other column is a metric.
        texts = {name for name in names if name in _TEXT_COLUMNS or name.startswith("group_")}
        self._schema = pa.schema(
            [(name, pa.string() if name in texts else pa.float64()) for name in names]
        )
        self._file = io.BytesIO()
        self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Takes rows, each with some of the columns."""
        import pyarrow as pa

        self._writer.write_table(
            pa.Table.from_pylist([dict(row) for row in rows], schema=self._schema)
        )

    def content(self) -> memoryview:
        """The whole file; no rows can be added afterwards."""
        self._writer.close()
        return self._file.getbuffer()


def write_run(
    folder: Path,
    results: Mapping[str, Any],
    items: ItemsFile,
    *,
    verdicts: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Writes `verdicts.jsonl` and `items.parquet`, then `results.json`; the last one being there says that all are whole."""
    rows = items.content()
    # With the hash of its items, so that a kill between the two renames is seen by whoever reads them.
    whole = {**results, "items_sha256": hashlib.sha256(rows).hexdigest()}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    told = "".join(json.dumps(row) + "\n" for row in verdicts)
    # What UTF-8 cannot carry (a lone surrogate, a file name's odd byte) is escaped the way JSON escapes it.
    contents: dict[str, bytes | memoryview] = {
        VERDICTS_FILE: told.encode("ascii"),
        ITEMS_FILE: rows,
        RESULTS_FILE: text.encode("utf-8", "backslashreplace"),
    }
    parts = {folder / name: folder / f".{name}.{os.getpid()}.part" for name in contents}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part, content in zip(parts.values(), contents.values(), strict=True):
            part.write_bytes(content)
            flush_to_disk(part)
        for place, part in parts.items():
            part.replace(place)
        if not verdicts:
            (folder / VERDICTS_FILE).unlink()
    except OSError as error:
        for part in parts.values():
            part.unlink(missing_ok=True)
        raise IncompleteError(
            f"{folder}: results could not be written ({system_reason(error)}). Finished answers are kept. Free some "
            "space, or choose another --out, and give the same command again."
        ) from error


def item_rows(
    task: TaskSpec,
    items: Sequence[Item],
    scores: Mapping[str, ItemScore],
    unanswered: Mapping[str, str],
    *,
    sources: Mapping[str, Sequence[str]] | None = None,
    asked: Mapping[str, int] | None = None,
) -> list[dict[str, Any]]:
    """Makes the rows of `items.parquet`, in the dataset's order; a metric without a decision is null."""
    rows: list[dict[str, Any]] = []
    for item in items:
        score = scores.get(item.id)
        row: dict[str, Any] = {"task": task.name, "id": item.id, "cluster": item.cluster}
        row.update({f"group_{name}": " ".join(_groups(item, name)) for name in task.groups})
        for metric in task.metrics:
            if metric.kind == "average":
                continue  # of totals, not of this item
            row[metric.name] = (
                unanswered_value(metric) if score is None else score.values.get(metric.name)
            )
            if metric.kind == "ratio":
                # Of what is not decided the weight is no more than a limit.
                decided = score is not None and metric.name in score.values
                row[weight_column(metric.name)] = (
                    score.weights.get(metric.name, 0.0) if score and decided else None
                )
        row["parsed"] = _storable(score.parsed) if score is not None else ""
        row["why"] = _storable(score.why) if score is not None else ""
        row["unscored"] = UNANSWERED + unanswered[item.id] if score is None else score.unscored
        row["unclear"] = score.unclear if score is not None else ""
        if sources:
            row["sources"] = _storable("\n".join(sources.get(item.id, ())))
        if asked:
            row["asked"] = asked.get(item.id)
        rows.append(row)
    return rows


def weight_column(metric: str) -> str:
    """Name of the column with a pooled metric's denominators."""
    return f"{metric}_of"


_MOST_WORDS = 64


def groups_of(told: str, known: Container[str]) -> tuple[str, ...]:
    """The groups a row is in: its text whole where that is a group, else the groups that it is made of."""
    words = told.split(" ")
    if told in known or not 1 < len(words) <= _MOST_WORDS:
        return (told,)
    # The ways to read the first words as groups, shortest first; groups' names can have blanks too.
    read: dict[int, tuple[str, ...]] = {0: ()}
    for end in range(1, len(words) + 1):
        for start in range(end):
            name = " ".join(words[start:end])
            if start in read and name in known:
                read[end] = (*read[start], name)
                break
    return tuple(dict.fromkeys(read.get(len(words), (told,))))


def item_of(question: str, ids: Container[str]) -> str | None:
    """Finds the item a question is about: the longest id that is its name, or that `/` and more follow."""
    while question not in ids:
        question, slash, _ = question.rpartition("/")
        if not slash:
            return None
    return question


def _storable(text: str) -> str:
    """Parquet strings are UTF-8, which cannot carry the lone surrogates model text may hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def read_results(folder: Path) -> dict[str, Any]:
    """Reads a run's `results.json`."""
    path = folder / RESULTS_FILE
    if not path.is_file():
        raise MissingError(
            f"{folder}: no {RESULTS_FILE} there. Give the folder that `medical-tasks run` or `score` wrote (its --out); a run "
            "that was stopped goes on when its command is given again."
        )
    try:
        results = json.loads(read_text(path))
    except ValueError as error:  # of JSON or of UTF-8
        raise UsageError(
            f"{path}: not valid JSON ({error}). Give the same command again to write it anew."
        ) from error
    version = results.get("schema_version") if isinstance(results, dict) else None
    tasks = results.get("tasks") if isinstance(results, dict) else None
    sound = isinstance(tasks, dict) and all(
        isinstance(task, dict) and "recipe" in task for task in tasks.values()
    )
    if version != SCHEMA_VERSION or not sound:
        raise UsageError(
            f"{path}: not results that this version reads (schema_version {version!r}, expected {SCHEMA_VERSION})."
        )
    return dict(results)


def read_sound_results(folder: Path) -> dict[str, Any]:
    """Reads a run's `results.json` whose figures are to be calculated with."""
    results = read_results(folder)
    for name, task in results["tasks"].items():
        if not _is_entry(task):
            raise UsageError(
                f"{folder / RESULTS_FILE}: the results of {name} lack a recipe, counts or metrics that are numbers, as if the "
                "file was changed. Give the same command again to write it anew."
            )
    return results


def _is_entry(task: Any) -> bool:
    """Whether a task's results have what every reader takes for granted: a recipe, counts, and metrics of finite numbers."""
    if not isinstance(task, dict) or not isinstance(task.get("recipe"), dict):
        return False
    counts, breakdown = task.get("coverage", {}), task.get("breakdown", {})
    if not isinstance(counts, dict) or not isinstance(breakdown, dict):
        return False
    items, asked, scored = task.get("n_items", 0), counts.get("asked", 0), counts.get("scored", 0)
    if any(type(count) is not int for count in (items, asked, scored)) or not 0 <= scored <= asked:
        return False
    return _are_metrics(task.get("metrics", {})) and all(
        isinstance(groups, dict) and all(map(_are_metrics, groups.values()))
        for groups in breakdown.values()
    )


def _are_metrics(metrics: Any) -> bool:
    return isinstance(metrics, dict) and all(
        isinstance(metric, dict) and all(_is_figure(metric.get(name)) for name in _ENDS)
        for metric in metrics.values()
    )


def _is_figure(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and math.isfinite(value))


def read_items(folder: Path) -> list[dict[str, Any]]:
    """Reads a run's `items.parquet`, a dict a row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / ITEMS_FILE
    if not path.is_file():
        raise MissingError(
            f"{folder}: no {ITEMS_FILE} there. Give the folder that `medical-tasks run` or `score` wrote."
        )
    if file_sha256(path) != read_results(folder).get("items_sha256"):
        raise UsageError(
            f"{path}: is not of the same run as {RESULTS_FILE} beside it (the command was stopped while writing). Give that "
            "command again: finished answers are kept."
        )
    try:
        with pq.ParquetFile(path) as file:
            rows: list[dict[str, Any]] = file.read(use_threads=False).to_pylist()
    except pa.ArrowInvalid as error:
        raise UsageError(f"{path}: not a parquet file ({error}).") from error
    return rows


def read_verdicts(folder: Path) -> list[dict[str, Any]]:
    """Reads the verdicts of a run, a dict a line; none where it has no file of them."""
    path = folder / VERDICTS_FILE
    try:
        lines = read_text(path).splitlines() if path.is_file() else []
    except (OSError, UnicodeDecodeError) as error:
        reason = system_reason(error) if isinstance(error, OSError) else "it is not UTF-8 text"
        raise damaged(path, reason) from error
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise damaged(path, f"line {number} is not JSON") from error
        if not isinstance(rows[-1], dict) or not all(
            isinstance(rows[-1].get(name), str) for name in ("task", "id")
        ):
            raise damaged(path, f"line {number} is no verdict")
    return rows


def damaged(path: Path, reason: str) -> UsageError:
    """Makes the error for a file of a run that is not as it was written."""
    return UsageError(
        f"{path}: damaged ({reason}). Give the run's command again to write it anew: finished answers are kept."
    )
