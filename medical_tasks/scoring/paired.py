"""Two runs on the same items: the difference of a statistic, by one bootstrap of both.

Each draw takes the same clusters for both runs, so what makes an item hard for both cancels out. The difference is
always b minus a. Swapping the runs mirrors the result exactly.

The p-value is the one that belongs to the interval (see `resampling`): the smallest a for which the interval at
confidence 1 - a leaves out zero. Where fewer than a hundredth of the draws, at most ten, lie beyond zero, their number says
too little: the draws' own tail is continued from that one with the shape of Student's t, so that p has no floor and a
family of many tests can be adjusted. A single cluster has p = 1. For right and wrong items `mcnemar` gives an exact p-value.
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
from medical_tasks.scoring.estimates import Comparison
from medical_tasks.scoring.resampling import Draws, Statistic, draw, interval_of, quotient
from medical_tasks.scoring.special import normal_quantile, student_tail

__all__ = ["paired_bootstrap", "paired_bootstrap_statistic"]

_ZERO = 1e-12
_COUNTED = 10  # draws beyond zero from which their number is the p-value; fewer of few draws


def paired_bootstrap(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    seed: int = 0,
    resamples: int = 2000,
    confidence: float = 0.95,
    limits: Limits | None = UNIT,
) -> Comparison:
    """The difference of two runs' means over the same items, b minus a.

    Args:
        a: the first run's values, one number an item.
        b: the second run's values, in the same order of items. Items with `nan` in either run do not count.
        clusters: the cluster of each item, or None when each stands alone.
        seed: of the random draws, at least 0.
        resamples: how many draws, at least 100.
        confidence: of the interval.
        limits: the range values can lie in, or None where it has no known ends.

    Raises:
        ValueError: values outside the limits, columns or labels that do not fit, a setting outside its range.
    """
    check_limits(limits)
    first, second = as_column("a", a, limits=limits), as_column("b", b, limits=limits)
    check_same_length(a=first, b=second)
    counted = np.where(np.isnan(first) | np.isnan(second), np.nan, 1.0)
    return _compare(
        [first, counted],
        [second, counted],
        quotient,
        weights=counted,
        clusters=clusters,
        seed=seed,
        resamples=resamples,
        confidence=confidence,
        limits=limits,
    )


def paired_bootstrap_statistic(
    columns_a: Sequence[npt.ArrayLike],
    columns_b: Sequence[npt.ArrayLike],
    function: Statistic,
    *,
    clusters: Clusters | None = None,
    seed: int = 0,
    resamples: int = 2000,
    confidence: float = 0.95,
    limits: Limits | None = UNIT,
) -> Comparison:
    """The difference of two runs' statistic of sums (such as micro-F1) over the same items, b minus a.

    Args:
        columns_a: the first run's columns, as for `bootstrap_statistic`.
        columns_b: the second run's columns, as many, in the same order of items. Items with 0 in all columns of both
            runs, or with `nan` in any, do not count.
        function: from one run's sums to its statistic, as for `bootstrap_statistic`.
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
    if len(columns_a) != len(columns_b) or not len(columns_a):
        raise ValueError(
            "columns_a and columns_b must have equally many columns, at least one; "
            f"got {len(columns_a)} and {len(columns_b)}"
        )
    first = {f"columns_a[{i}]": as_column(f"columns_a[{i}]", column) for i, column in enumerate(columns_a)}
    second = {f"columns_b[{i}]": as_column(f"columns_b[{i}]", column) for i, column in enumerate(columns_b)}
    check_same_length(**first, **second)
    return _compare(
        list(first.values()),
        list(second.values()),
        function,
        weights=np.abs(np.stack([*first.values(), *second.values()])).sum(axis=0),
        clusters=clusters,
        seed=seed,
        resamples=resamples,
        confidence=confidence,
        limits=limits,
    )


def _compare(
    first: list[Floats],
    second: list[Floats],
    function: Statistic,
    *,
    weights: Floats,
    clusters: Clusters | None,
    seed: int,
    resamples: int,
    confidence: float,
    limits: Limits | None,
) -> Comparison:
    """The statistic of both runs and their difference, worked out in an orientation that swapping does not change."""
    width = len(first)

    def difference(*sums: Floats) -> Floats:
        first_value, second_value = function(*sums[:width]), function(*sums[width:])
        return np.asarray(second_value, dtype=np.float64) - np.asarray(first_value, dtype=np.float64)

    table, sign = _orientation(first, second, weights, clusters)
    draws = draw(table, difference, seed=seed, resamples=resamples)
    span = None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])
    low, high = interval_of(draws, confidence=confidence, limits=span)
    values = [_value(table.totals()[part], function) for part in (slice(width), slice(width, None))]
    if sign < 0:
        low, high = -high, -low
        values.reverse()
    elif sign == 0:
        # The runs can be exchanged item by item: zero difference, and an interval that is its own mirror image.
        low, high = -(high - low) / 2.0, (high - low) / 2.0
    return Comparison(
        value_a=values[0],
        value_b=values[1],
        difference=values[1] - values[0],
        ci_low=low,
        ci_high=high,
        p_value=1.0 if sign == 0 and not math.isnan(draws.value) else _p_value(draws, span),
        n=table.n,
        n_clusters=table.n_clusters,
    )


def _orientation(
    first: list[Floats], second: list[Floats], weights: Floats, clusters: Clusters | None
) -> tuple[SumTable, int]:
    """The table of the runs in the order that sorts first: 1 as given, -1 swapped, 0 when both orders are alike."""
    forward = sum_table([*first, *second], weights, clusters)
    backward = sum_table([*second, *first], weights, clusters)
    differing = np.flatnonzero(forward.rows != backward.rows)
    if not differing.size:
        return forward, 0
    return (forward, 1) if forward.rows.flat[differing[0]] < backward.rows.flat[differing[0]] else (backward, -1)


def _value(totals: list[float], function: Statistic) -> float:
    """One run's statistic."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.asarray(function(*np.array([totals]).T), dtype=np.float64)[0])
    return value if math.isfinite(value) else math.nan


def _p_value(draws: Draws, span: Limits | None) -> float:
    """The two-sided p-value that belongs to `interval_of`."""
    if math.isnan(draws.value):
        return math.nan
    if not draws.values.size or (abs(draws.value) <= _ZERO and draws.all_same):
        return 1.0
    if draws.all_same:
        if draws.undefined:
            return 1.0
        if span is None:
            return math.nan
        opposite = span[0] if draws.value > 0.0 else span[1]
        share = draws.value / (draws.value - opposite)
        return min(1.0, 2.0 * math.pow(1.0 - share, draws.effective))
    df = draws.size - 1.0
    if draws.few:
        return min(1.0, 2.0 * student_tail(abs(draws.value) / draws.standard_error, df))
    beyond = min(int((draws.values <= _ZERO).sum()), int((draws.values >= -_ZERO).sum())) + draws.undefined
    counted = max(1, min(_COUNTED, len(draws.values) // 100))
    level = (max(beyond, counted) + 1) / (len(draws.values) + 1)
    if level >= 0.5:
        return 1.0
    quantile = -normal_quantile(level) * math.sqrt(df / draws.size)
    if beyond < counted:
        # The distance from the value to zero, in distances from the value to the draw that belongs to the level.
        away = np.sort(np.sign(draws.value) * draws.values[~np.isnan(draws.values)])[counted - 1 - draws.undefined]
        value = abs(draws.value)
        if value - away <= _ZERO:
            return 2.0 * student_tail(-normal_quantile((beyond + 1) / (len(draws.values) + 1)), df)
        quantile *= value / (value - away)
    return 2.0 * student_tail(quantile, df)
