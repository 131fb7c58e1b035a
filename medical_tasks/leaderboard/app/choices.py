"""What the selection fields offer: pairs of what is read and what is meant, as Gradio takes them."""

from __future__ import annotations

from collections.abc import Sequence

from medical_tasks.leaderboard.app.compare_page import comparable_entries
from medical_tasks.leaderboard.app.group_words import groups_of
from medical_tasks.leaderboard.app.known import benchmark_title, ranked_metrics, task_order
from medical_tasks.leaderboard.app.model_page import model_names
from medical_tasks.leaderboard.app.overall_page import OVERALL
from medical_tasks.leaderboard.app.snapshot import Snapshot
from medical_tasks.leaderboard.app.tables import ALL_GROUPS
from medical_tasks.leaderboard.records import Entry

__all__ = [
    "Choices",
    "compared_task_choices",
    "group_choices",
    "metric_choices",
    "model_choices",
    "submission_choices",
    "task_choices",
]

Choices = list[tuple[str, str]]


def task_choices(snapshot: Snapshot) -> Choices:
    """The overall table, then each task with an entry, below its benchmark's title."""
    counts: dict[str, int] = {}
    for entry in snapshot.entries:
        counts[entry.task] = counts.get(entry.task, 0) + 1
    named = [(f"{benchmark_title(task)}: {task} ({counts[task]:,})", task) for task in task_order(counts)]
    return [("All benchmarks", OVERALL), *named]


def metric_choices(snapshot: Snapshot, task: str) -> Choices:
    """The task's metrics, the headline first; none for the overall table."""
    return [(metric.name, metric.name) for metric in ranked_metrics(task, _of(snapshot, task))]


def group_choices(snapshot: Snapshot, task: str) -> Choices:
    """The task's groups, the largest first, and all of them where there are several."""
    groups = groups_of(_of(snapshot, task))
    named = [(f"{group.name} ({len(group.entries):,}): {group.words}", group.name) for group in groups]
    return [*named, ("All groups, each ranked by itself", ALL_GROUPS)] if len(named) > 1 else named


def model_choices(snapshot: Snapshot) -> Choices:
    """All models."""
    return [(name, name) for name in model_names(snapshot)]


def compared_task_choices(snapshot: Snapshot) -> Choices:
    """Tasks with at least two submissions that could be compared."""
    counts: dict[str, int] = {}
    for entry in snapshot.entries:
        if entry.submission:
            counts[entry.task] = counts.get(entry.task, 0) + 1
    return [(f"{benchmark_title(task)}: {task}", task) for task in task_order(counts) if counts[task] > 1]


def submission_choices(snapshot: Snapshot, task: str) -> Choices:
    """Submissions of a task, each told from others of the same model."""
    entries = comparable_entries(snapshot, task)
    several = len({entry.group for entry in entries}) > 1
    return [(_submission_words(entry, with_group=several), entry.submission) for entry in entries]


def _submission_words(entry: Entry, *, with_group: bool) -> str:
    said = [entry.model, f"group {entry.group}" if with_group else "", entry.at[:10], entry.submission[:6]]
    return " · ".join(part for part in said if part)


def _of(snapshot: Snapshot, task: str) -> Sequence[Entry]:
    return [entry for entry in snapshot.entries if entry.task == task]
