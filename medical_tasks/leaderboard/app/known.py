"""What the suite declares of the tasks on the board: titles, metrics with their directions and units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from medical_tasks.benchmarks.catalog import BENCHMARKS, tasks
from medical_tasks.leaderboard.records import Entry
from medical_tasks.spec import MetricSpec

__all__ = ["benchmark_title", "metrics_of", "ranked_metrics", "task_order", "task_title"]


def benchmark_title(task: str) -> str:
    """Title of a task's benchmark; the task itself when this version does not know it."""
    for benchmark in BENCHMARKS:
        if any(known.name == task for known in benchmark.tasks):
            return benchmark.title
    return task


def task_title(task: str) -> str:
    """Title of a task; its name when this version does not know it."""
    known = tasks().get(task)
    return known.title if known is not None else task


def task_order(names: Iterable[str]) -> list[str]:
    """Sorts tasks as the documentation does; what this version does not know comes last."""
    order = {name: place for place, name in enumerate(tasks())}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))


def metrics_of(task: str, entries: Sequence[Entry]) -> list[MetricSpec]:
    """Lists the metrics of a task that at least one of the entries reports, the headline first.

    Args:
        task: its name.
        entries: entries of the task.

    Returns:
        The suite's declarations; metrics it does not declare are left out, since their direction is not known.
    """
    known = tasks().get(task)
    reported = {name for entry in entries for name in entry.metrics}
    return [] if known is None else [metric for metric in known.metrics if metric.name in reported]


def ranked_metrics(task: str, entries: Sequence[Entry]) -> list[MetricSpec]:
    """Lists the metrics that submissions of a task can be ranked by; those of papers where nothing was submitted.

    Args:
        task: its name.
        entries: entries of the task.
    """
    return metrics_of(task, [entry for entry in entries if entry.state != "reported"]) or metrics_of(task, entries)
