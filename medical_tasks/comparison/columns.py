"""What of two runs' rows goes into the statistics: a metric's sums on the same items, and the values that can flip."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from medical_tasks.runs.results import weight_column
from medical_tasks.scoring.averages import Components, components, sums
from medical_tasks.scoring.columns import Floats
from medical_tasks.spec import MetricSpec

__all__ = ["Columns", "columns_of", "is_counted", "item_value"]

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """A metric of two runs on the same items, in the same order.

    Attributes:
        metric: the metric.
        shares: the share of each component in it; one of 1 for a metric that is no average.
        first: the first run's columns, a numerator and a denominator in turns for each component; `nan` where undecided.
        second: the second run's.
        values: both runs' values on each item, `nan` where there is none; None for an average, which items have none of.
        clusters: the cluster of each item, or None where each stands alone.
        missing: metrics of an average that are not reported.
    """

    metric: MetricSpec
    shares: tuple[float, ...]
    first: tuple[Floats, ...]
    second: tuple[Floats, ...]
    values: tuple[Floats, Floats] | None
    clusters: Sequence[Any] | None
    missing: tuple[str, ...] = ()

    def part(self, chosen: npt.NDArray[np.intp]) -> Columns:
        """The same of some of the items.

        Args:
            chosen: their places.
        """
        return Columns(
            metric=self.metric,
            shares=self.shares,
            first=tuple(column[chosen] for column in self.first),
            second=tuple(column[chosen] for column in self.second),
            values=None if self.values is None else (self.values[0][chosen], self.values[1][chosen]),
            clusters=None if self.clusters is None else [self.clusters[place] for place in chosen],
            missing=self.missing,
        )


def columns_of(
    metric: MetricSpec, reported: Mapping[str, MetricSpec], first: Rows, second: Rows, clusters: Sequence[Any] | None
) -> Columns:
    """Takes a metric's columns out of rows.

    Args:
        metric: the metric.
        reported: all metrics that both runs report, by name.
        first: the first run's rows.
        second: the second run's rows of the same items, in the same order.
        clusters: the cluster of each item, or None where each stands alone.
    """
    made: Components = components(metric, reported)
    sides = tuple(
        tuple(column for name in made.shares for column in _sums(reported[name], rows)) for rows in (first, second)
    )
    values = None
    if metric.kind != "average":
        values = (_values(metric, first), _values(metric, second))
    return Columns(
        metric=metric,
        shares=tuple(made.shares.values()),
        first=sides[0],
        second=sides[1],
        values=values,
        clusters=clusters,
        missing=made.missing,
    )


def item_value(metric: MetricSpec, row: Mapping[str, Any]) -> float:
    """A metric's value on an item; `nan` where it is not decided, or there is nothing to count."""
    value = row.get(metric.name)
    return math.nan if value is None or (metric.kind == "ratio" and not row.get(weight_column(metric.name))) else value


def is_counted(metric: MetricSpec, row: Mapping[str, Any]) -> bool:
    """Whether the item goes into the metric. One with nothing to count adds nothing to its run's sums, and is decided."""
    if metric.kind == "ratio":
        return row.get(weight_column(metric.name)) is not None
    value = row.get(metric.name)
    return value is not None and not math.isnan(value)


def _sums(metric: MetricSpec, rows: Rows) -> tuple[Floats, Floats]:
    pairs = [_item_sums(metric, row) for row in rows]
    return np.array([above for above, _ in pairs], dtype=np.float64), np.array(
        [below for _, below in pairs], dtype=np.float64
    )


def _item_sums(metric: MetricSpec, row: Mapping[str, Any]) -> tuple[float, float]:
    if metric.kind == "ratio" and is_counted(metric, row):
        # What is not there has a denominator of 0, whichever way a file writes that it has no value.
        return sums(metric, item_value(metric, row), row[weight_column(metric.name)])
    return sums(metric, row.get(metric.name), None) if metric.kind != "ratio" else (math.nan, math.nan)


def _values(metric: MetricSpec, rows: Rows) -> Floats:
    return np.array([item_value(metric, row) for row in rows], dtype=np.float64)
