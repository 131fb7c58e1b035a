"""Averages of metrics, such as an overall score.

An average is taken over the metrics' totals, not over items, since a metric may be pooled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from medical_tasks.spec import MetricSpec

Sums = tuple[float, float]
"""An item's contribution to a metric's numerator and denominator; nan in both where it is unknown."""


class Components(NamedTuple):
    """The components of an average.

    Attributes:
        shares: the weight of each metric, adding up to 1; empty if none is reported.
        missing: metrics of the average that are not reported.
    """

    shares: Mapping[str, float]
    missing: tuple[str, ...]


def components(metric: MetricSpec, reported: Mapping[str, MetricSpec]) -> Components:
    """Resolves an average into its metrics, including those of nested averages.

    Each direct metric has the same share; a nested average counts as one metric.
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
    """Returns an item's contribution to a metric's total.

    `value` is None if it is undecided, nan if the denominator (`weight`) is empty.
    """
    if value is None:
        return math.nan, math.nan
    if math.isnan(value):
        return 0.0, 0.0
    denominator = 1.0 if metric.kind != "ratio" else float(weight or 0.0)
    return value * denominator, denominator


def in_turns(metrics: Iterable[Sequence[Sums]]) -> list[list[float]]:
    """Returns the items' contributions to metrics as columns, numerators and denominators alternating."""
    return [[pair[side] for pair in metric] for metric in metrics for side in (0, 1)]


def average_of(shares: Sequence[float]) -> Callable[..., Any]:
    """Returns the statistic of an average, a function of alternating numerators and denominators."""

    def statistic(*columns: Any) -> Any:
        parts = zip(shares, columns[::2], columns[1::2], strict=True)
        return sum(share * above / below for share, above, below in parts)

    return statistic


def total_of(columns: Sequence[Sequence[float]], shares: Sequence[float]) -> float:
    """Returns the average of metrics over the items that have all of them."""
    complete = [
        row for row in zip(*columns, strict=True) if all(map(math.isfinite, row))
    ]
    return float(
        average_of(shares)(
            *(math.fsum(column) for column in zip(*complete, strict=True))
        )
    )
