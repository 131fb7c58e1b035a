"""Averages of metrics, such as an overall score.

Of the metrics' own totals, not of items, since one of them may be pooled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from medical_tasks.spec import MetricSpec

Sums = tuple[float, float]
"""What an item adds to a metric: to its numerator and to its denominator; nan in both where that is not known."""


class Components(NamedTuple):
    """What an average is made of.

    Attributes:
        shares: adding up to 1; none where no metric is reported.
        missing: metrics of the average that are not reported.
    """

    shares: Mapping[str, float]
    missing: tuple[str, ...]


def components(metric: MetricSpec, reported: Mapping[str, MetricSpec]) -> Components:
    """Takes an average apart, averages in it too.

    Each of its metrics has the same share, an average as a whole.
    """
    if metric.kind != "average":
        return Components(shares={metric.name: 1.0}, missing=())

    parts = {
        name: components(reported[name], reported)
        for name in metric.of
        if name in reported
    }
    missing = [name for name in metric.of if name not in reported]
    present = [component for component in parts.values() if component.shares]
    shares: dict[str, float] = {}
    for component in present:
        for name, share in component.shares.items():
            shares[name] = shares.get(name, 0.0) + share / len(present)

    missing += [name for component in parts.values() for name in component.missing]
    return Components(shares=shares, missing=tuple(dict.fromkeys(missing)))


def sums(metric: MetricSpec, value: float | None, weight: float | None) -> Sums:
    """What an item adds to a metric's total.

    `value` is None when not decided, nan without a denominator (`weight`).
    """
    if value is None:
        return math.nan, math.nan
    if math.isnan(value):
        return 0.0, 0.0
    of = 1.0 if metric.kind != "ratio" else float(weight or 0.0)
    return value * of, of


def in_turns(metrics: Iterable[Sequence[Sums]]) -> list[list[float]]:
    """What items add to each of some metrics, as columns: numerators and denominators in turns."""
    return [[pair[side] for pair in metric] for metric in metrics for side in (0, 1)]


def average_of(shares: Sequence[float]) -> Callable[..., Any]:
    """Makes the statistic of an average, of the metrics' numerators and denominators in turns."""

    def statistic(*columns: Any) -> Any:
        parts = zip(shares, columns[::2], columns[1::2], strict=True)
        return sum(share * above / below for share, above, below in parts)

    return statistic


def total_of(columns: Sequence[Sequence[float]], shares: Sequence[float]) -> float:
    """The average of metrics by numerators and denominators in turns, over items that have all."""
    complete = [
        row for row in zip(*columns, strict=True) if all(map(math.isfinite, row))
    ]
    return float(
        average_of(shares)(
            *(math.fsum(column) for column in zip(*complete, strict=True))
        )
    )
