"""What the `evaluate` metrics of the benchmarks share: figures of answers at hand.

Such answers have no dataset: an item is a row of the caller's lists, known by its
place, with no level, group or patient. What is not in this module is each benchmark's
`metric.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import replace

from medical_tasks.judges.lexical import GIVEN, LEXICAL
from medical_tasks.runs.results import Figures
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item, ItemScore, MetricSpec, TaskSpec


def check_counts(predictions: Sized, **columns: Sized | None) -> None:
    """Refuses a column, by its name, that has not one entry a prediction; None is not given."""
    for name, column in columns.items():
        if column is not None and len(column) != len(predictions):
            raise ValueError(
                f"{name} must be as many as predictions, {len(predictions)}; got {len(column)}"
            )


def item_at_hand(row: int, fields: Mapping[str, object]) -> Item:
    """Makes an item of a row; its place is its id."""
    return Item(id=str(row), fields=fields, groups={}, cluster=str(row))


def task_at_hand(task: TaskSpec, reported: Callable[[MetricSpec], bool]) -> TaskSpec:
    """The task as answers at hand have it.

    Without groups, and with the metrics that are reported.
    """
    metrics = tuple(metric for metric in task.metrics if reported(metric))
    return replace(task, metrics=metrics, groups=(), cluster=None)


def figures_at_hand(
    task: TaskSpec, items: Sequence[Item], scores: Iterable[ItemScore]
) -> Figures:
    """Sums scores up as a run does.

    Figures of a part, such as a section, are named `METRIC_PART`.
    """
    summary = summarise(
        task, items, {score.id: score for score in scores}, {}, recipe={}
    )
    figures = dict(summary["metrics"])
    for groups in summary["breakdown"].values():
        for group, metrics in groups.items():
            figures |= {f"{name}_{group}": figure for name, figure in metrics.items()}

    return figures


def judge_at_hand(judge: str, verdicts: Sized | None = None) -> str:
    """Who decided, as a metric's result says it: the caller's `verdicts`, or the judge."""
    if verdicts is not None:
        return GIVEN
    return LEXICAL if judge == "lexical" else judge
