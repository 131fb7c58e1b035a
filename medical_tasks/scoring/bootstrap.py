"""Seeded cluster bootstrap intervals of any statistic of sums; for means and ratios see `means`.

The expanded percentile interval of Hesterberg (2015), What Teachers Should Know about
the Bootstrap, Am Stat 69:371: the tail level a/2 is replaced by Φ(-sqrt(K / (K-1))
t(K-1)), with K clusters of equal weight. With fewer than eight no resample leaves their
range, so it is the paper's t interval, value ± t(K-1) sqrt(K / (K-1)) se. No interval
has zero width (`nan` ends without limits):

- one cluster only: from one end of the statistic's limits to the other
- every draw gave the same value v: had a share q of all clusters been different, K clusters would all be alike with probability
  (1-q)^K at most. That is a/2 for q = 1 - (a/2)^(1/K). So the value lies between v - q (v - low)
  and v + q (high - v).
- a draw in which the statistic is not defined (0 / 0) counts as lying beyond both ends
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.estimates import (
    UNIT,
    Clusters,
    Estimate,
    Floats,
    Limits,
    SumTable,
    as_column,
    check_limits,
    check_probability,
    check_same_length,
    check_whole,
    cluster_codes,
    sum_table,
)
from medical_tasks.scoring.intervals import normal_cdf, student_quantile
from medical_tasks.scoring.means import ROUNDING, finite_end, unseen_share

# 2**17 indices at a time fit a processor's cache: two to three times as fast as chunks
# four times the size.
_CHUNK = 2**17
# With at least so many rows for each distinct one, drawing counts is faster than drawing
# rows.
_FEW_DISTINCT = 8
# From so many clusters on, 1 - 2^(1-K) is above 99 %.
_FEW_CLUSTERS = 8

Statistic = Callable[..., npt.ArrayLike]
"""Maps one array of sums a column, each of shape (draws,), to values of the same shape."""


class Drawing(TypedDict, total=False):
    """How draws are made.

    Attributes:
        seed: 0 unless given.
        resamples: 2000 unless given.
    """

    seed: int
    resamples: int


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Standard deviations in repeats of the same items; `nan` where they are unknown.

    Attributes:
        sd_items: between items.
        sd_run: within an item from run to run, without the variation between a judge's
            votes if there are several.
        sd_judge: between votes on one answer.
        margin: half the width of the interval of the mean if only whole runs differed.
    """

    sd_items: float = math.nan
    sd_run: float = math.nan
    sd_judge: float = math.nan
    margin: float = 0.0


@dataclass(frozen=True, eq=False)
class Draws:
    """A statistic, and its values on resampled clusters.

    Attributes:
        values: shape (resamples,), `nan` where not defined; empty when there is nothing
            to draw from.
        effective: number of clusters of equal weight.
    """

    value: float
    values: Floats
    effective: float

    @property
    def all_same(self) -> bool:
        """Whether all defined draws equal the statistic of the data, up to rounding."""
        apart = np.abs(self.values - self.value) > ROUNDING * max(1.0, abs(self.value))
        return not bool(apart.any())

    @property
    def undefined(self) -> int:
        """The number of draws on which the statistic is not defined."""
        return int(np.isnan(self.values).sum())

    @property
    def size(self) -> float:
        """The number of clusters of equal weight, at least two; minus one, the degrees of freedom."""
        return max(2.0, self.effective)

    @property
    def few(self) -> bool:
        """Whether there are too few clusters for percentiles."""
        return self.effective < _FEW_CLUSTERS

    @property
    def standard_error(self) -> float:
        """The standard error, corrected for the narrowness of the bootstrap.

        Infinite if a draw is not defined.
        """
        if self.undefined:
            return math.inf
        return math.sqrt(self.size / (self.size - 1.0)) * float(self.values.std())


def bootstrap_statistic(
    columns: Sequence[npt.ArrayLike],
    function: Statistic,
    *,
    clusters: Clusters | None = None,
    limits: Limits | None = UNIT,
    **drawing: Unpack[Drawing],
) -> Estimate:
    """Estimates a statistic of sums over items, with a bootstrap interval.

        bootstrap_statistic([tp, fp, fn], lambda tp, fp, fn: 2 * tp / (2 * tp + fp + fn))  #
        micro-F1

    Items with 0 in all `columns`, or with `nan` in any, do not count. Doubling all sums
    must not change `function` (a mean or a ratio, not a total). Division by zero is
    allowed and means "not defined".

    Example:
        Two answers with 2 and 1 true positives, and one with none: micro-F1 is 2 * 3 /
        (2 * 3 + 2 + 1). Three items are so few that the interval is the whole range:

        >>> def f1(tp, fp, fn):
        ...     return 2 * tp / (2 * tp + fp + fn)
        >>> estimate = bootstrap_statistic([[2, 1, 0], [0, 1, 1], [1, 0, 0]], f1)
        >>> round(estimate.value, 3), estimate.ci_low, estimate.ci_high, estimate.n
        (0.667, 0.0, 1.0, 3)
    """
    check_limits(limits)
    if not len(columns):
        raise ValueError("columns must hold at least one column; got none")

    named = {
        f"columns[{i}]": as_column(f"columns[{i}]", column)
        for i, column in enumerate(columns)
    }
    check_same_length(**named)
    kept = list(named.values())
    weights = np.abs(np.stack(kept)).sum(axis=0)
    table = sum_table(kept, weights, clusters)

    return _estimate(table, function, limits, **drawing)


def repeats(values: npt.ArrayLike, *, clusters: Clusters | None = None) -> Repeats:
    """Splits the variance of finite values of shape (items, repeats, votes on an answer).

    A balanced random-effects analysis of variance with items and runs crossed, in which
    items of a cluster may be alike. Intervals are combined as in Graybill and Wang
    (1980), J Am Stat Assoc 75:869: half² = half² of the items' means + margin². Runs
    have a margin only if they differ by more than independent answers would.

    Args:
        values: shape (items, repeats, votes), at least two repeats, all finite.
        clusters: the label of each item's cluster.

    Example:
        One of two items was right in two of three runs, the other in none. Whole runs
        differ no more than single answers do, so the margin is 0:

        >>> spread = repeats([[[1], [1], [0]], [[0], [0], [0]]])
        >>> round(spread.sd_items, 3), round(spread.sd_run, 3), spread.margin
        (0.408, 0.408, 0.0)
    """
    cells = np.asarray(values, dtype=np.float64)
    if cells.ndim != 3 or cells.shape[1] < 2 or not np.isfinite(cells).all():
        raise ValueError(
            f"values must be finite, of shape (items, 2 or more repeats, votes); got {cells.shape}"
        )

    n, k, votes = cells.shape
    if not cells.size:
        return Repeats()

    cell, judge = (
        cells.mean(axis=2),
        cells.var(axis=2, ddof=1).mean() if votes > 1 else math.nan,
    )
    item, run, mean = cell.mean(axis=1, keepdims=True), cell.mean(axis=0), cell.mean()
    # The mean of an answer's votes varies with them; the rest is variation between runs.
    within = ((cell - item) ** 2).sum() / (n * (k - 1)) - (
        judge / votes if votes > 1 else 0.0
    )
    result = Repeats(sd_run=_root(within), sd_judge=_root(judge))
    codes = cluster_codes(clusters, n)
    groups = int(codes.max()) + 1
    if groups == 1:
        return result

    def of_mean(deviations: Floats) -> object:
        """The variance of a mean over the items, from the sums of each cluster."""
        sums = np.zeros((groups, deviations.shape[1]))
        np.add.at(sums, codes, deviations / n)
        return (sums**2).sum() * groups / (groups - 1)

    rest = cell - item - run + mean
    # Squares around a sample's mean are too small by the variance of that mean, which
    # clusters enlarge.
    rest_of_mean, of_run = of_mean(rest) / (k - 1), run.var(ddof=1)
    residual = (rest**2).sum() / (n * (k - 1)) + rest_of_mean
    items = ((item - mean) ** 2).sum() / n + of_mean(item - mean) - residual / k
    # Runs are not tested for a difference first: with few runs, a test would miss
    # differences that matter.
    margin = student_quantile(0.975, k - 1) * _root((of_run - rest_of_mean) / k)

    return replace(result, sd_items=_root(items), margin=margin)


def _root(variance: float) -> float:
    return variance if math.isnan(variance) else math.sqrt(max(0.0, variance))


def linear(
    shares: Sequence[float], columns: Sequence[Floats], counted: npt.NDArray[np.bool_]
) -> Floats:
    """Linearises an average of ratios.

    Returns a value an item; their mean is the average, and their variance is that of
    the average to first order.

    Args:
        shares: the weight of each ratio.
        columns: alternating numerators and denominators, of shape (items,) each.
        counted: which items count; the others get `nan`.

    Example: of the ratios 1/2, 9/10 and 4/4 the pooled one is 14/16 = 0.875. The items
        add 0.734, 0.922 and 0.969, whose mean is 0.875.
    """
    added = np.where(counted, 0.0, np.nan)
    for share, above, below in zip(shares, columns[::2], columns[1::2], strict=True):
        total = math.fsum(below[counted])
        if not total:
            return np.full_like(added, np.nan)

        ratio, mean = math.fsum(above[counted]) / total, total / int(counted.sum())
        added = added + share * (ratio + (above - ratio * below) / mean)

    return added


def _estimate(
    table: SumTable,
    function: Statistic,
    limits: Limits | None,
    **drawing: Unpack[Drawing],
) -> Estimate:
    """The statistic with its interval; the value is kept within the limits."""
    draws, (low, high) = draw_interval(table, function, limits, **drawing)
    value = (
        draws.value
        if limits is None or math.isnan(draws.value)
        else min(max(draws.value, limits[0]), limits[1])
    )
    return Estimate(value, low, high, table.n)


def draw(table: SumTable, function: Statistic, *, seed: int, resamples: int) -> Draws:
    """Computes the statistic on resamples; a table of fewer than two clusters has no draws."""
    seed = check_whole("seed", seed, least=0)
    resamples = check_whole("resamples", resamples, least=100)
    if not table.n_clusters:
        return Draws(math.nan, np.empty(0), 0.0)

    value = _apply(function, np.array([table.totals()]))[0]
    if table.n_clusters == 1:
        return Draws(float(value), np.empty(0), table.effective)

    sums = np.concatenate(list(_resampled_sums(table.rows, seed, resamples)))
    return Draws(float(value), _apply(function, sums), table.effective)


def draw_interval(
    table: SumTable,
    function: Statistic,
    limits: Limits | None,
    *,
    seed: int = 0,
    resamples: int = 2000,
) -> tuple[Draws, tuple[float, float]]:
    """A statistic on resamples, and its interval."""
    draws = draw(table, function, seed=seed, resamples=resamples)
    return draws, interval_of(draws, limits=limits)


def interval_of(
    draws: Draws, *, limits: Limits | None, confidence: float = 0.95
) -> tuple[float, float]:
    """The expanded percentile interval; see the module's docstring for data without variation."""
    tail = (1.0 - check_probability("confidence", confidence)) / 2.0
    low, high = limits if limits is not None else (-math.inf, math.inf)
    defined = np.append(draws.values[~np.isnan(draws.values)], draws.value)
    if np.any((defined < low - 1e-9) | (defined > high + 1e-9)):
        raise ValueError(
            f"the statistic must be within its limits, {low:g} to {high:g}; got {defined.min():g} to "
            f"{defined.max():g}"
        )

    if math.isnan(draws.value):
        return math.nan, math.nan

    if not draws.values.size or (draws.all_same and draws.undefined):
        ends = low, high
    elif draws.all_same:
        share = unseen_share(tail, draws.effective)
        ends = (
            draws.value - share * (draws.value - low),
            draws.value + share * (high - draws.value),
        )
    else:
        t = student_quantile(1.0 - tail, draws.size - 1.0)
        if draws.few:
            ends = (
                draws.value - t * draws.standard_error,
                draws.value + t * draws.standard_error,
            )
        else:
            level = normal_cdf(-math.sqrt(draws.size / (draws.size - 1.0)) * t)
            ends = (
                _lower_end(draws.values, low, level),
                -_lower_end(-draws.values, -high, level),
            )

    return finite_end(max(low, ends[0])), finite_end(min(high, ends[1]))


def _lower_end(values: Floats, limit: float, level: float) -> float:
    """The draw with at most a share `level` of the draws below it.

    Draws that are not defined count as the limit.
    """
    position = max(0, math.ceil(len(values) * level) - 1)
    reached = np.where(np.isnan(values), limit, values)
    return float(np.partition(reached, position)[position])


def quotient(numerator: Floats, denominator: Floats) -> Floats:
    """The statistic of means and ratios: one sum divided by another."""
    return numerator / denominator


def _resampled_sums(rows: Floats, seed: int, resamples: int) -> Iterator[Floats]:
    """Column sums of resampled rows, in chunks of shape (draws, columns).

    If there are few distinct rows (right and wrong items have two), their counts are
    drawn directly; otherwise rows are drawn one by one.

    Args:
        rows: the rows, sorted as those of a `SumTable`.
        seed: the seed.
        resamples: the number of draws.
    """
    generator = np.random.default_rng(seed)
    size = len(rows)
    distinct, counts = _distinct_rows(rows)
    few = len(distinct) * _FEW_DISTINCT <= size
    chunk = max(1, _CHUNK // (len(distinct) if few else size))
    for start in range(0, resamples, chunk):
        several = min(chunk, resamples - start)
        if few:
            yield generator.multinomial(size, counts / size, size=several) @ distinct
        else:
            yield draw_counts(generator, several, size) @ rows


def _distinct_rows(rows: Floats) -> tuple[Floats, npt.NDArray[np.intp]]:
    """The distinct rows of sorted ones, and how often each occurs.

    Example:
        >>> distinct, counts = _distinct_rows(np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]))
        >>> distinct.tolist(), counts.tolist()
        ([[0.0, 1.0], [1.0, 1.0]], [1, 2])
    """
    is_first = np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])
    starts = np.flatnonzero(is_first)
    return rows[starts], np.diff(starts, append=len(rows))


def draw_counts(generator: np.random.Generator, resamples: int, size: int) -> Floats:
    """Draws `size` of `size` rows with replacement in each resample.

    Returns how often each row was drawn, of shape (resamples, size).
    """
    drawn = generator.integers(0, size, size=(resamples, size))
    drawn += np.arange(resamples)[:, np.newaxis] * size
    counts = np.bincount(drawn.reshape(-1), minlength=resamples * size)
    return counts.reshape(resamples, size).astype(np.float64)


def _apply(function: Statistic, sums: Floats) -> Floats:
    """The function's values on sums of shape (draws, columns); `nan` where they are not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(function(*sums.T), dtype=np.float64)
    if values.shape != (len(sums),):
        raise ValueError(
            f"function must return one value a draw, shape ({len(sums)},); got shape {values.shape}"
        )
    return np.where(np.isfinite(values), values, np.nan)
