"""Helpers of the benchmarks' `evaluate` metrics, which score a caller's lists of answers.

Such answers have no dataset: an item is a row of the lists, named by its number,
without level, group or patient. Each benchmark's `metric.py` has the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import replace

from medical_tasks.judges.lexical import GIVEN, LEXICAL
from medical_tasks.runs.results import Figures
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item, ItemScore, MetricSpec, TaskSpec


def check_counts(predictions: Sized, **columns: Sized | None) -> None:
    """Refuses a named column without exactly one entry per prediction; None is no column."""
    for name, column in columns.items():
        if column is not None and len(column) != len(predictions):
            raise ValueError(
                f"{name} must have one entry for each of the {len(predictions)} predictions; got "
                f"{len(column)}"
            )


def item_of_row(row: int, fields: Mapping[str, object]) -> Item:
    """Turns a row into an item, with its number as id."""
    return Item(id=str(row), fields=fields, groups={}, cluster=str(row))


def reduced_task(task: TaskSpec, reported: Callable[[MetricSpec], bool]) -> TaskSpec:
    """The task without groups, and with the reported metrics only."""
    metrics = tuple(metric for metric in task.metrics if reported(metric))
    return replace(task, metrics=metrics, groups=(), cluster=None)


def figures_of_scores(
    task: TaskSpec, items: Sequence[Item], scores: Iterable[ItemScore]
) -> Figures:
    """Summarises scores as a run does; the figure of a group, such as a section, is named `METRIC_GROUP`."""
    summary = summarise(
        task, items, {score.id: score for score in scores}, {}, recipe={}
    )
    figures = dict(summary["metrics"])
    for groups in summary["breakdown"].values():
        for group, metrics in groups.items():
            figures |= {f"{name}_{group}": figure for name, figure in metrics.items()}

    return figures


def judge_label(judge: str, verdicts: Sized | None = None) -> str:
    """Names the source of the verdicts in a metric's result: the caller, or the judge."""
    if verdicts is not None:
        return GIVEN
    return LEXICAL if judge == "lexical" else judge
