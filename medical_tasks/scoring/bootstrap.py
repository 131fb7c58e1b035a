"""Seeded bootstrap intervals: of a mean, of a pooled ratio, of any statistic of sums. Clusters are drawn whole.

How the draws are made, what the interval is and what happens where the data do not vary: `resampling`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.columns import (
    UNIT,
    Clusters,
    Floats,
    Limits,
    SumTable,
    as_column,
    check_limits,
    check_same_length,
    sum_table,
)
from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.resampling import Statistic, draw, interval_of, quotient

__all__ = ["bootstrap_interval", "bootstrap_ratio", "bootstrap_statistic"]


def bootstrap_interval(
    values: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    seed: int = 0,
    resamples: int = 2000,
    confidence: float = 0.95,
    limits: Limits | None = UNIT,
) -> Estimate:
    """The mean of the items' values with a bootstrap interval; every item weighs the same, whatever its cluster.

    Args:
        values: one number an item; `nan` items do not count.
        clusters: the cluster of each item, or None when each stands alone.
        seed: of the random draws, at least 0.
        resamples: how many draws, at least 100.
        confidence: of the interval.
        limits: the range values can lie in, or None where it has no known ends.

    Raises:
        ValueError: values outside the limits, labels that do not fit, a setting outside its range.
    """
    check_limits(limits)
    column = as_column("values", values, limits=limits)
    counted = np.where(np.isnan(column), np.nan, 1.0)
    table = sum_table([column, counted], counted, clusters)
    return _estimate(table, quotient, seed=seed, resamples=resamples, confidence=confidence, limits=limits)


def bootstrap_ratio(
    numerators: npt.ArrayLike,
    denominators: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    seed: int = 0,
    resamples: int = 2000,
    confidence: float = 0.95,
    limits: Limits | None = UNIT,
) -> Estimate:
    """A pooled (micro-averaged) ratio, sum of numerators over sum of denominators, with a bootstrap interval.

    Args:
        numerators: one number an item, such as its true positives.
        denominators: one number an item, at least 0, such as its predicted positives. Items with 0 in both, or with
            `nan` in either, do not count.
        clusters: the cluster of each item, or None when each stands alone.
        seed: of the random draws, at least 0.
        resamples: how many draws, at least 100.
        confidence: of the interval.
        limits: the range an item's own ratio can lie in, or None where it has no known ends.

    Raises:
        ValueError: a ratio that cannot be, columns or labels that do not fit, a setting outside its range.
    """
    check_limits(limits)
    above, below = as_column("numerators", numerators), as_column("denominators", denominators)
    check_same_length(numerators=above, denominators=below)
    _check_ratios(above, below, limits)
    table = sum_table([above, below], below, clusters)
    return _estimate(table, quotient, seed=seed, resamples=resamples, confidence=confidence, limits=limits)


def bootstrap_statistic(
    columns: Sequence[npt.ArrayLike],
    function: Statistic,
    *,
    clusters: Clusters | None = None,
    seed: int = 0,
    resamples: int = 2000,
    confidence: float = 0.95,
    limits: Limits | None = UNIT,
) -> Estimate:
    """Any statistic of sums over items, with a bootstrap interval.

    Micro-F1 from true positives, false positives and false negatives:

        bootstrap_statistic([tp, fp, fn], lambda tp, fp, fn: 2 * tp / (2 * tp + fp + fn))

    Args:
        columns: the columns to sum, one number an item in each. Items with 0 in all columns, or with `nan` in any, do
            not count.
        function: from the columns' sums, one array of shape (draws,) a column, to the statistic, of the same shape.
            It must not change when all sums are doubled (a mean, a ratio; not a total). Division by zero is allowed
            and means "not defined".
        clusters: the cluster of each item, or None when each stands alone.
        seed: of the random draws, at least 0.
        resamples: how many draws, at least 100.
        confidence: of the interval.
        limits: the range the statistic can lie in, or None where it has no known ends.

    Raises:
        ValueError: a statistic outside its limits or of the wrong shape, columns or labels that do not fit, a setting
            outside its range.
    """
    check_limits(limits)
    if not len(columns):
        raise ValueError("columns must hold at least one column; got none")
    named = {f"columns[{i}]": as_column(f"columns[{i}]", column) for i, column in enumerate(columns)}
    check_same_length(**named)
    kept = list(named.values())
    weights = np.abs(np.stack(kept)).sum(axis=0)
    table = sum_table(kept, weights, clusters)
    return _estimate(table, function, seed=seed, resamples=resamples, confidence=confidence, limits=limits)


def _estimate(
    table: SumTable, function: Statistic, *, seed: int, resamples: int, confidence: float, limits: Limits | None
) -> Estimate:
    """The statistic of the table with its interval."""
    draws = draw(table, function, seed=seed, resamples=resamples)
    low, high = interval_of(draws, confidence=confidence, limits=limits)
    value = draws.value if limits is None or math.isnan(draws.value) else min(max(draws.value, limits[0]), limits[1])
    return Estimate(value, low, high, table.n)


def _check_ratios(above: Floats, below: Floats, limits: Limits | None) -> None:
    """Each item's numerator and denominator can belong together."""
    if (below < 0.0).any():
        raise ValueError(f"denominators must be at least 0; got {below[below < 0.0][0]:g}")
    astray = (below == 0.0) & (above != 0.0) & ~np.isnan(above)
    if limits is not None:
        room = 1e-9 * np.maximum(1.0, below)
        astray |= (above < limits[0] * below - room) | (above > limits[1] * below + room)
    if astray.any():
        span = "" if limits is None else f" and {limits[0]:g} to {limits[1]:g} times it elsewhere"
        raise ValueError(
            f"numerators must be 0 where the denominator is 0{span}; got {above[astray][0]:g} / {below[astray][0]:g}"
        )
