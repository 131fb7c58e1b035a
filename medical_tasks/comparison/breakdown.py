"""Two runs group by group: the breakdowns that items carry, and the parts of every item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from medical_tasks.comparison.columns import Columns
from medical_tasks.comparison.statistics import GROUP_RESAMPLES, adjust, compare_columns
from medical_tasks.spec import TaskSpec

__all__ = ["Compare", "adjust_breakdowns", "breakdown_names", "compare_breakdowns"]

_MOST_WORDS: Final = 64
Compare = Callable[..., dict[str, Any]]
Breakdowns = dict[str, dict[str, dict[str, dict[str, Any]]]]


def breakdown_names(task: TaskSpec) -> tuple[str, ...]:
    """Names of a task's breakdowns: those of its items' parts, then those of its items."""
    return tuple(dict.fromkeys([*(metric.part[0] for metric in task.metrics if metric.part), *task.groups]))


def compare_breakdowns(
    task: TaskSpec,
    columns: Mapping[str, Columns],
    rows: Sequence[Mapping[str, Any]],
    known: Mapping[str, Iterable[str]],
    *,
    names: Sequence[str],
    compare: Compare = compare_columns,
) -> Breakdowns:
    """Compares every metric within every group.

    Args:
        task: the task.
        columns: metric name to both runs' columns, for the metrics that are compared, those of parts too.
        rows: the items' rows, in the order of the columns.
        known: breakdown to the groups it is known to have: an item can be in several, which its row joins by blanks.
        names: the breakdowns wanted.
        compare: what compares columns.

    Returns:
        Breakdown to group to metric to the entry of `compare_columns`, with its p value adjusted over the breakdown's groups.
    """
    found: Breakdowns = {}
    for by in names:
        groups: dict[str, dict[str, dict[str, Any]]] = {}
        for metric in _parts(task, by):
            if metric.name in columns:
                made = compare(columns[metric.name], resamples=GROUP_RESAMPLES, whole=False)
                groups.setdefault(metric.part[1], {})[metric.whole] = made
        if by in task.groups:
            for group, members in sorted(_members(rows, by, known.get(by, ())).items()):
                groups[group] = {
                    name: compare(each.part(members), resamples=GROUP_RESAMPLES, whole=False)
                    for name, each in columns.items()
                    if not each.metric.part
                }
        if any(groups.values()):
            found[by] = groups
    adjust_breakdowns([found])
    return found


def adjust_breakdowns(several: Sequence[Breakdowns]) -> None:
    """Adjusts p values by Holm: a family is one metric over all groups of a breakdown, and over all pairs of runs given.

    Args:
        several: breakdowns of one task, one a pair of runs; changed.
    """
    families: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for breakdowns in several:
        for by, groups in breakdowns.items():
            for metrics in groups.values():
                for name, entry in metrics.items():
                    families.setdefault((by, name), []).append(entry)
    for family in families.values():
        adjust(family)


def _parts(task: TaskSpec, by: str) -> list[Any]:
    return [metric for metric in task.metrics if metric.part and metric.part[0] == by]


def _members(rows: Sequence[Mapping[str, Any]], by: str, known: Iterable[str]) -> dict[str, npt.NDArray[np.intp]]:
    places: dict[str, list[int]] = {}
    names, read = frozenset(known), {}
    for place, row in enumerate(rows):
        told = row.get(f"group_{by}")
        if not isinstance(told, str) or not told:
            continue
        if told not in read:
            read[told] = _groups(told, names)
        for group in read[told]:
            places.setdefault(group, []).append(place)
    return {group: np.array(members, dtype=np.intp) for group, members in places.items()}


def _groups(told: str, known: frozenset[str]) -> tuple[str, ...]:
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
