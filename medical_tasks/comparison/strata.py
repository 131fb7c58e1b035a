"""Breakdowns by a table of the user's own, with groups that the benchmark does not know.

    id,sex,age_group
    7f3a,female,65-79

The first column may also be called `item`. A row describes an item, or a cluster of items (a
patient, a note). A group's figures are computed from the items' rows like those of a
benchmark's own breakdowns, except that missing verdicts count as unknown and are not estimated
from other groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from medical_tasks.comparison.compared import Compared
from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.io.tables import Table, has_columns, read_table
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import (
    Breakdown,
    Figures,
    Results,
    Row,
    TaskEntry,
    weight_column,
)
from medical_tasks.runs.summary import ScoredTask, not_comparable, summary_of
from medical_tasks.scoring.averages import components
from medical_tasks.spec import (
    UNANSWERED,
    Item,
    ItemScore,
    MetricSpec,
    TaskSpec,
    unclear_limits,
)

NAMES: Final = ("item", "id")
"""The columns that may name items or clusters; the first one present counts."""


def read_strata(path: Path, by: str) -> dict[str, str]:
    """Reads the groups of a stratum by item or cluster.

    Raises:
        UsageError: the table lacks the column, or puts an item in two groups.
    """
    table: Table = read_table(path, knows=has_columns("|".join(NAMES)))
    id_column = next((name for name in NAMES if name in table.columns), "")
    if by not in table.columns or not id_column:
        raise UsageError(
            f"{path}: no column {by if id_column else NAMES[0]}."
            f"{did_you_mean(by, table.columns)} It has {', '.join(table.columns)}."
        )

    groups: dict[str, str] = {}
    for row in table.rows:
        item, group = row.cells.get(id_column), row.cells.get(by)
        if item is None or group is None:
            continue

        if groups.setdefault(str(item), str(group)) != str(group):
            raise UsageError(
                f"{row.location(by)}: {item} is in the group {groups[str(item)]} in a row before."
            )

    return groups


def with_stratum(task: TaskSpec, by: str) -> TaskSpec:
    """Adds a breakdown to a task."""
    groups = dict.fromkeys((*task.groups, by))
    metrics = tuple(
        replace(metric, not_by=tuple(name for name in metric.not_by if name != by))
        for metric in task.metrics
    )
    return replace(task, groups=tuple(groups), metrics=metrics)


def stratified(
    run: Compared, task: TaskSpec, by: str, groups: Mapping[str, str]
) -> Compared:
    """Adds to a run the figures of a stratum's groups, and each row's group.

    Args:
        run: the run.
        task: the task whose items are grouped; a run without it is returned unchanged.
        by: the name of the stratum.
        groups: the groups of items or clusters, as returned by `read_strata`.
    """
    entry = run.results["tasks"].get(task.name)
    if entry is None:
        return run

    rows: list[Row] = []
    task_rows: list[Row] = []
    for row in run.rows:
        if row["task"] == task.name:
            row = {**row, f"group_{by}": _group_of(row, groups)}
            task_rows.append(row)

        rows.append(row)

    breakdown: Breakdown = {
        **entry["breakdown"],
        by: _figures(task, entry, task_rows, by),
    }
    new_entry: TaskEntry = {**entry, "breakdown": breakdown}
    results: Results = {
        **run.results,
        "tasks": {**run.results["tasks"], task.name: new_entry},
    }

    return replace(run, results=results, rows=rows)


def _group_of(row: Row, groups: Mapping[str, str]) -> str:
    """Finds the group of an item, by its id or else by its cluster.

    Items of one patient may be called `p1`, `p1-2`, `p1/3`: the table names `p1`.
    """
    for name in (row["id"], row.get("cluster")):
        while isinstance(name, str) and name:
            if name in groups:
                return groups[name]
            name = name[: max(name.rfind("-"), name.rfind("/"), 0)]
    return ""


def _figures(
    task: TaskSpec, entry: TaskEntry, rows: list[Row], by: str
) -> dict[str, Figures]:
    """Computes the figures of each group."""
    column = f"group_{by}"
    grouped = [row for row in rows if row[column]]
    of_groups = replace(task, metrics=_reported(task, entry, grouped), groups=(by,))
    items = [
        Item(
            id=row["id"],
            fields={},
            groups={by: str(row[column])},
            cluster=row.get("cluster") or row["id"],
        )
        for row in grouped
    ]
    scores = {
        row["id"]: _score(of_groups, row)
        for row in grouped
        if not _unanswered_reason(row)
    }
    unanswered = {
        row["id"]: _unanswered_reason(row) for row in grouped if _unanswered_reason(row)
    }
    scored = ScoredTask(
        task=of_groups, items=items, repeats=[scores], unanswered=[unanswered]
    )
    summary = summary_of(scored)
    judge = mapping(entry["recipe"].get("judge"))
    if judge and not judge.get("comparable", True):
        summary = not_comparable(summary, of_groups)

    return summary.breakdown.get(by, {})


def _reported(
    task: TaskSpec, entry: TaskEntry, rows: list[Row]
) -> tuple[MetricSpec, ...]:
    """Returns the metrics of whole items that the run reports; averages need a component."""
    reported = {
        metric.name: metric
        for metric in task.metrics
        if not metric.part and _is_reported(metric, entry, rows)
    }
    return tuple(
        metric
        for metric in reported.values()
        if metric.kind != "average" or components(metric, reported).shares
    )


def _is_reported(metric: MetricSpec, entry: TaskEntry, rows: list[Row]) -> bool:
    if metric.name not in entry["metrics"]:
        return False
    return metric.kind == "average" or all(metric.name in row for row in rows)


def _unanswered_reason(row: Row) -> str:
    """Says why an item has no answer; "" if it has one."""
    unscored = str(row.get("unscored") or "")
    return unscored.removeprefix(UNANSWERED) if unscored.startswith(UNANSWERED) else ""


def _score(task: TaskSpec, row: Row) -> ItemScore:
    """Rebuilds an item's score from its row."""
    decided = [
        metric
        for metric in task.metrics
        if metric.kind != "average" and row[metric.name] is not None
    ]
    values = {metric.name: float(row[metric.name]) for metric in decided}
    weights = {
        metric.name: float(row[weight_column(metric.name)] or 0.0)
        for metric in decided
        if metric.kind == "ratio"
    }

    return ItemScore(
        id=row["id"],
        values=values,
        weights=weights,
        unscored=row.get("unscored"),
        unclear=row.get("unclear") or "",
        limits=unclear_limits(task.metrics, values) if row.get("unclear") else {},
    )
