"""Ranks as ranges: which places an entry can have where intervals overlap.

An entry's first place is one after those whose intervals lie wholly above its own, and its last place counts all whose intervals do
not lie wholly below it, itself included. Whatever the true values are within their intervals, the true rank lies in the range.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medical_tasks.leaderboard.groups import measure_of
from medical_tasks.leaderboard.numbers import is_number
from medical_tasks.leaderboard.records import Entry
from medical_tasks.runs.recipe_differences import mapping
from medical_tasks.spec import MetricSpec

__all__ = ["RankRange", "ranges", "rank_ranges"]


@dataclass(frozen=True, kw_only=True)
class RankRange:
    """The places an entry can have.

    Attributes:
        first: the best of them, from 1.
        last: the worst of them.
    """

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def rank_ranges(entries: Sequence[Entry], metric: MetricSpec) -> list[RankRange | None]:
    """Ranks entries by one metric, those of each group among themselves.

    Args:
        entries: in any order; of one task, or of several.
        metric: what they are ranked by; where lower values are better they are ranked so.

    Returns:
        For each entry, in their order, its places; None for one without a rank: a published result, one that is marked with
        differences, and one whose value, or interval, or judge does not allow it.
    """
    groups: dict[tuple[str, ...], list[tuple[int, float, float]]] = {}
    for index, entry in enumerate(entries):
        found = mapping(entry.metrics.get(metric.name))
        bounds = _interval(found)
        if bounds is None or entry.state == "reported" or entry.differences:
            continue
        key = (entry.task, entry.group, measure_of(metric, found, entry.recipe))
        groups.setdefault(key, []).append((index, *bounds))
    places: list[RankRange | None] = [None] * len(entries)
    for members in groups.values():
        ranked = ranges([member[1:] for member in members], higher_is_better=metric.higher_is_better)
        for (index, _, _), place in zip(members, ranked, strict=True):
            places[index] = place
    return places


def ranges(intervals: Sequence[tuple[float, float]], *, higher_is_better: bool = True) -> list[RankRange]:
    """Ranks intervals; those that touch overlap.

    Args:
        intervals: lower and upper end of each.
        higher_is_better: direction.

    Returns:
        The places of each, in their order.
    """
    turned = intervals if higher_is_better else [(-high, -low) for low, high in intervals]
    lows, highs = sorted(low for low, _ in turned), sorted(high for _, high in turned)
    n = len(turned)
    return [RankRange(first=1 + n - bisect_right(lows, high), last=n - bisect_left(highs, low)) for low, high in turned]


def _interval(found: Mapping[str, Any]) -> tuple[float, float] | None:
    value, low, high = (found.get(key) for key in ("value", "ci_low", "ci_high"))
    if (
        not (is_number(value) and is_number(low) and is_number(high) and low <= high)
        or found.get("comparable") is False
    ):
        return None
    return float(low), float(high)
