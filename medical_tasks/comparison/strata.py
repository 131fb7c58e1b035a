"""Breakdowns by a table of one's own: items in groups that their benchmark does not know.

    id,sex,age_group
    7f3a,female,65-79

The first column may be called `item` too. A row is of an item, or of a cluster of them (a patient, a note). The figures of a group
are computed of the items' rows as those of a benchmark's own breakdowns are; missing
verdicts count there as unknown, and are not estimated by those of other groups.
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
"""Columns that name items, or clusters; the first that is there."""


def read_strata(path: Path, by: str) -> dict[str, str]:
    """The groups of a stratum by item or cluster.

    Raises:
        UsageError: the table lacks the column, or says two things of an item.
    """
    table: Table = read_table(path, knows=has_columns("|".join(NAMES)))
    named = next((name for name in NAMES if name in table.columns), "")
    if by not in table.columns or not named:
        raise UsageError(
            f"{path}: no column {by if named else NAMES[0]}."
            f"{did_you_mean(by, table.columns)} It has {', '.join(table.columns)}."
        )

    groups: dict[str, str] = {}
    for row in table.rows:
        item, group = row.cells.get(named), row.cells.get(by)
        if item is None or group is None:
            continue

        if groups.setdefault(str(item), str(group)) != str(group):
            raise UsageError(
                f"{row.place(by)}: {item} is in the group {groups[str(item)]} in a row before."
            )

    return groups


def with_stratum(task: TaskSpec, by: str) -> TaskSpec:
    """The task with one breakdown more."""
    groups = dict.fromkeys((*task.groups, by))
    metrics = tuple(
        replace(metric, not_by=tuple(name for name in metric.not_by if name != by))
        for metric in task.metrics
    )
    return replace(task, groups=tuple(groups), metrics=metrics)


def stratified(
    run: Compared, task: TaskSpec, by: str, groups: Mapping[str, str]
) -> Compared:
    """A run with a task's figures of the groups of a stratum, and each row in its group.

    Args:
        run: the run.
        task: whose items are grouped; a run without it stays as it is.
        by: the name of the stratum.
        groups: of items or clusters, as `read_strata` gives them.
    """
    entry = run.results["tasks"].get(task.name)
    if entry is None:
        return run

    rows: list[Row] = []
    own: list[Row] = []
    for row in run.rows:
        if row["task"] == task.name:
            row = {**row, f"group_{by}": _group_of(row, groups)}
            own.append(row)

        rows.append(row)

    breakdown: Breakdown = {**entry["breakdown"], by: _figures(task, entry, own, by)}
    moved: TaskEntry = {**entry, "breakdown": breakdown}
    results: Results = {
        **run.results,
        "tasks": {**run.results["tasks"], task.name: moved},
    }

    return replace(run, results=results, rows=rows)


def _group_of(row: Row, groups: Mapping[str, str]) -> str:
    """The group of an item; by its cluster where the table names no item.

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
    """The figures of each group."""
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
    scores = {row["id"]: _score(of_groups, row) for row in grouped if not _lacks(row)}
    unanswered = {row["id"]: _lacks(row) for row in grouped if _lacks(row)}
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
    """The metrics of whole items that the run reports; averages with a component."""
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


def _lacks(row: Row) -> str:
    """Why an item has no answer; "" where it has one."""
    unscored = str(row.get("unscored") or "")
    return unscored.removeprefix(UNANSWERED) if unscored.startswith(UNANSWERED) else ""


def _score(task: TaskSpec, row: Row) -> ItemScore:
    """An item's score as its row says it."""
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
