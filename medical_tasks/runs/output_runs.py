"""Scores of single outputs straight from runs: each run is a system, its columns are the metrics of its task.

A run is given as its folder, as SYSTEM=FOLDER, or as SYSTEM@LABEL=FOLDER: several runs of one system, the same outputs scored by
several judges. Metrics that a judge decides are then called METRIC@LABEL; the others keep their name, and must be the same in all
runs of a system, or the outputs are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.errors import UsageError
from medical_tasks.runs.output_table import OutputRow
from medical_tasks.runs.results import read_items, read_results
from medical_tasks.spec import TaskSpec

__all__ = ["RunName", "RunOutputs", "read_runs", "run_name"]

_GROUP = "group_"
_SAME_DATA = ("name", "config", "split", "rows_sha256")


@dataclass(frozen=True, kw_only=True)
class RunName:
    """Which run, and under which names.

    Attributes:
        folder: the run's.
        system: what its outputs are filed under.
        label: tells its judged metrics from those of another run of the system; "" for none.
    """

    folder: Path
    system: str
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class RunOutputs:
    """The outputs of some runs.

    Attributes:
        rows: of each run.
        digests: folder to SHA-256 of its items.
        less_is_better: metrics of which a smaller value is better.
        tasks: system (and label) to the task.
    """

    rows: tuple[tuple[OutputRow, ...], ...]
    digests: Mapping[str, str]
    less_is_better: frozenset[str]
    tasks: Mapping[str, str]


def run_name(text: str) -> RunName | None:
    """Reads how a run was given.

    Returns:
        None when the text names no folder, so that it may name a file.

    Raises:
        UsageError: A system or label is empty, or what stands behind `=` is no folder.
    """
    if Path(text).expanduser().is_dir():
        path = Path(text).expanduser()
        return RunName(folder=path, system=path.resolve().name)
    named, equals, folder = text.partition("=")
    if not equals or Path(text).expanduser().exists():
        return None
    system, at, label = named.partition("@")
    if not system or (at and not label):
        raise UsageError(f"{text}: a name is missing. Write SYSTEM=FOLDER, or SYSTEM@LABEL=FOLDER.")
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise UsageError(f"{text}: {folder!r} is no folder. Give the one that `medical-tasks run` or `score` wrote.")
    return RunName(folder=path, system=system, label=label)


def read_runs(names: Sequence[RunName], tasks: Mapping[str, TaskSpec], *, task: str | None = None) -> RunOutputs:
    """Reads runs on the same data.

    Args:
        names: which.
        tasks: all tasks by name, for their metrics.
        task: the task to take from each; None where each run has one only. Runs may be of different tasks on the same rows, as
            those with and without worked examples are.

    Raises:
        MissingError: A folder holds no finished run.
        UsageError: A system is named twice, a run lacks the task or has several, or the runs are of different data.
    """
    twice = next(
        (name for name in names if [(n.system, n.label) for n in names].count((name.system, name.label)) > 1), None
    )
    if twice is not None:
        raise UsageError(
            f"two runs are named {twice.system!r}{f' with the label {twice.label!r}' if twice.label else ''}. Write "
            "SYSTEM=FOLDER, or SYSTEM@LABEL=FOLDER for the same outputs scored by another judge."
        )
    rows, digests, less, used = [], {}, set[str](), {}
    known: tuple[str, dict[str, Any]] | None = None
    versions: dict[str, str] = {}
    for name in names:
        results = read_results(name.folder)
        chosen = _task(name, results, task, tasks)
        recipe = results["tasks"][chosen]["recipe"]
        data = {key: recipe.get("data", {}).get(key) for key in _SAME_DATA}
        if known is not None and data != known[1]:
            raise UsageError(
                f"{name.folder}: its data are {data}, those of {known[0]} {known[1]}. Compare runs on the same."
            )
        known = known or (str(name.folder), data)
        if versions.setdefault(chosen, recipe["task_version"]) != recipe["task_version"]:
            raise UsageError(
                f"{name.folder}: its version of {chosen} is {recipe['task_version']}, another run's {versions[chosen]}. Their "
                "numbers cannot be compared; run both with one version."
            )
        columns = _columns(tasks[chosen], name)
        rows.append(tuple(_rows(name, chosen, columns)))
        less |= {columns[metric.name] for metric in tasks[chosen].metrics if not metric.higher_is_better}
        digests[str(name.folder)] = str(results["items_sha256"])
        used[f"{name.system}@{name.label}" if name.label else name.system] = chosen
    return RunOutputs(rows=tuple(rows), digests=digests, less_is_better=frozenset(less), tasks=used)


def _task(name: RunName, results: Mapping[str, Any], task: str | None, tasks: Mapping[str, TaskSpec]) -> str:
    there = list(results["tasks"])
    if task is not None and task not in there:
        raise UsageError(f"{name.folder}: has no task {task!r}; it has {', '.join(there)}.")
    if task is None and len(there) != 1:
        raise UsageError(f"{name.folder}: has {len(there)} tasks ({', '.join(there)}). Say which: --task NAME")
    chosen = task or there[0]
    if chosen not in tasks:
        raise UsageError(f"{name.folder}: its task {chosen!r} is not known to this version. Tasks: {', '.join(tasks)}.")
    return chosen


def _columns(task: TaskSpec, name: RunName) -> dict[str, str]:
    """What each metric is called; metrics of one part of an item too."""
    return {
        metric.name: f"{metric.name}@{name.label}" if name.label and task.judge and metric.judged else metric.name
        for metric in task.metrics
    }


def _rows(name: RunName, task: str, columns: Mapping[str, str]) -> list[OutputRow]:
    found = []
    for row in read_items(name.folder):
        if row["task"] != task:
            continue
        scores = {columns[metric]: row.get(metric) for metric in columns}
        found.append(
            OutputRow(
                item=row["id"],
                system=name.system,
                cluster=row["cluster"] or "",
                where=str(name.folder),
                scores={
                    column: value for column, value in scores.items() if value is not None and math.isfinite(value)
                },
                labels={key.removeprefix(_GROUP): value or "" for key, value in row.items() if key.startswith(_GROUP)},
            )
        )
    return found
