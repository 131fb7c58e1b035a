"""Score intervals of a mean, of a pooled ratio, and of an average of pooled ratios.

A mean of shares near 1 or of rare counts has a skewed error: its standard error is
small if the sample happens to have few of the items that matter, so an interval of
value ± t se, or a percentile bootstrap, misses the truth on one side far more often
than its level implies. A score interval instead contains the true values that are
compatible with the data, each with its own standard error (Wilson 1927, for a
proportion). It only needs the variance as a function of the value:

- between two limits, like a share: V(θ) = φ (θ - low) (high - θ)
- above a lower limit alone, like a count whose mean differs between items (negative
  binomial): V(θ) = aθ + bθ², where a is that of a Poisson count of the same mean
- without limits it is constant, which gives value ± t se

φ, a and b are chosen to give the variance of the data. Items of one cluster are summed
first; t has one degree of freedom less than there are clusters of equal weight. The
variance of ratios and averages is that of their linear part. Coverage:
`docs/how_sure.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.estimates import (
    UNIT,
    Clusters,
    Estimate,
    Floats,
    Limits,
    as_binary,
    as_column,
    check_limits,
    check_probability,
    check_same_length,
    cluster_codes,
    cluster_numbers,
    sum_table,
)
from medical_tasks.scoring.intervals import student_quantile, wilson, wilson_interval

__all__ = [
    "ROUNDING",
    "average_interval",
    "finite_end",
    "mean_interval",
    "proportion_interval",
    "ratio_interval",
    "score_ends",
    "unseen_share",
]

WITHOUT_LIMITS: Limits = (-math.inf, math.inf)
ROUNDING = 1e-12
"""Variances and distances this small are 0 up to rounding."""


def mean_interval(
    values: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    limits: Limits | None = UNIT,
    confidence: float = 0.95,
) -> Estimate:
    """The mean of the items' values with its score interval.

    Args:
        values: one an item; `nan` for an item without a value, which does not count.
        clusters: the label of each item's cluster; items have equal weight, whatever
            their cluster.
        limits: the smallest and largest value an item can have, either of which may be
            infinite; None for no limits.
        confidence: the level of the interval, strictly between 0 and 1.

    Example:
        Of 20 answers 18 have every statement right and two have half of them:

        >>> share = mean_interval([1.0] * 18 + [0.5] * 2)
        >>> round(share.value, 3), round(share.ci_low, 3), round(share.ci_high, 3)
        (0.95, 0.824, 0.987)
    """
    check_limits(limits, finite=False)
    column = as_column("values", values, limits=limits)
    counted = np.where(np.isnan(column), np.nan, 1.0)

    return _interval([column, counted], [1.0], clusters, limits, confidence)


def proportion_interval(
    values: npt.ArrayLike, *, clusters: Clusters | None = None, confidence: float = 0.95
) -> Estimate:
    """The proportion of items that are right, with Wilson's interval.

    With clusters, the interval is that of `mean_interval`.

    Example:
        16 of 20 answers are right. If they come from five notes with four questions
        each, and all wrong ones from one note, the interval is much wider:

        >>> right = [1.0] * 16 + [0.0] * 4
        >>> alone = proportion_interval(right)
        >>> round(alone.ci_low, 3), round(alone.ci_high, 3)
        (0.584, 0.919)
        >>> notes = proportion_interval(right, clusters=[n // 4 for n in range(20)])
        >>> round(notes.ci_low, 3), round(notes.ci_high, 3)
        (0.223, 0.982)
    """
    if (
        isinstance(values, list)
        and 0 < len(values) == values.count(0.0) + values.count(1.0)
        and (clusters is None or _are_apart(clusters, len(values)))
    ):
        # Lists from scorers need no check and no filter, so no array is built.
        right, n = values.count(1.0), len(values)
        low, high = wilson_interval(right, n, confidence=confidence)
        return Estimate(right / n, low, high, n)

    column = as_binary("values", values)
    counted = ~np.isnan(column)
    if clusters is not None:
        codes = cluster_codes(clusters, len(column))[counted]
        if len(set(codes.tolist())) < len(codes):
            return mean_interval(column, clusters=clusters, confidence=confidence)

    decided = column[counted]
    low, high = wilson_interval(int(decided.sum()), len(decided), confidence=confidence)
    value = float(decided.mean()) if len(decided) else math.nan

    return Estimate(value, low, high, len(decided))


def _are_apart(clusters: Clusters, n: int) -> bool:
    """Whether every item is a cluster of its own."""
    return len(set(cluster_numbers(clusters, n))) == n


def ratio_interval(
    numerators: npt.ArrayLike,
    denominators: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    limits: Limits | None = UNIT,
) -> Estimate:
    """A pooled (micro-averaged) ratio, sum of numerators over sum of denominators.

    Items with 0 in both, or with `nan` in either, do not count; `limits` is the range
    of an item's own ratio. Other arguments are as for `mean_interval`.

    Example:
        1 of 2, 9 of 10 and 4 of 4 statements hold: 14 of 16, while the mean of the
        three shares is 0.8.

        >>> ratio_interval([1, 9, 4], [2, 10, 4]).value
        0.875
    """
    check_limits(limits, finite=False)
    above, below = (
        as_column("numerators", numerators),
        as_column("denominators", denominators),
    )
    check_same_length(numerators=above, denominators=below)
    _check_ratios(above, below, limits)

    return _interval([above, below], [1.0], clusters, limits)


def average_interval(
    columns: Sequence[npt.ArrayLike],
    shares: Sequence[float],
    *,
    clusters: Clusters | None = None,
    limits: Limits | None = UNIT,
) -> Estimate:
    """An average of pooled ratios over the same items, such as an overall score.

    Args:
        columns: alternating numerators and denominators, of shape (items,) each; an
            item with a `nan` in any of them does not count.
        shares: the weight of each ratio, adding up to 1.
        clusters: as for `mean_interval`.
        limits: as for `mean_interval`.

    Example:
        Two pooled ratios, 14/16 and 2/3, with equal weight:

        >>> columns = [[1, 9, 4], [2, 10, 4], [1, 0, 1], [1, 1, 1]]
        >>> round(average_interval(columns, [0.5, 0.5]).value, 3)
        0.771
    """
    check_limits(limits, finite=False)
    named = [
        as_column(f"columns[{index}]", column) for index, column in enumerate(columns)
    ]

    return _interval(named, shares, clusters, limits)


def score_ends(
    value: float,
    variance: float,
    *,
    t: float,
    exposure: float,
    limits: Limits = WITHOUT_LIMITS,
) -> Limits:
    """The ends of a score interval.

    Args:
        value: the estimate θ̂.
        variance: its estimated variance, above 0 unless it has a lower limit alone.
        t: how many standard errors the interval reaches.
        exposure: the number of items, or units of a denominator, over which a count was
            taken; a Poisson count would have the variance θ / exposure. It matters only
            with a single limit.
        limits: the range of the true value.

    Returns:
        The two θ with (θ̂ - θ)² = t² V(θ); an end is infinite if the data do not bound it.

    Example:
        A share of 0.8 is further from its lower end than from its upper one, which is
        near 1; a symmetric interval would end at 0.625 and 0.975:

        >>> ends = score_ends(0.8, 0.008, t=1.96, exposure=20, limits=(0.0, 1.0))
        >>> [round(end, 3) for end in ends]
        [0.584, 0.919]
    """
    low, high = limits
    if math.isfinite(low) and math.isfinite(high):
        span = high - low
        share = min(max((value - low) / span, 0.0), 1.0)
        effective = share * (1.0 - share) * span**2 / variance
        ends = wilson(share, effective, t)
        return low + span * ends[0], low + span * ends[1]

    if math.isfinite(low):
        lower, upper = _count_ends(value - low, variance, t=t, exposure=exposure)
        return low + lower, low + upper

    if math.isfinite(high):
        lower, upper = _count_ends(high - value, variance, t=t, exposure=exposure)
        return high - upper, high - lower

    reach = t * math.sqrt(variance)
    return value - reach, value + reach


def unseen_share(tail: float, clusters: float) -> float:
    """The share q of different clusters that may exist although all observed ones are alike.

    All would be alike with probability (1-q)^clusters, which is `tail` for this q.

    Example: if 100 notes have no error, 3.6 % of all notes may still have one: 100 notes
        without an error would then occur in 2.5 % of samples.
    """
    return -math.expm1(math.log(tail) / clusters)


def _check_ratios(above: Floats, below: Floats, limits: Limits | None) -> None:
    """Checks that numerators are within the limits times their denominators, which are at least 0."""
    if (below < 0.0).any():
        raise ValueError(
            f"denominators must be at least 0; got {below[below < 0.0][0]:g}"
        )

    astray = (below == 0.0) & (above != 0.0) & ~np.isnan(above)
    if limits is not None:
        room = 1e-9 * np.maximum(1.0, below)
        least, most = (_times(limit, below) for limit in limits)
        astray |= (above < least - room) | (above > most + room)

    if astray.any():
        span = (
            ""
            if limits is None
            else f" and {limits[0]:g} to {limits[1]:g} times it elsewhere"
        )
        raise ValueError(
            f"numerators must be 0 where the denominator is 0{span}; "
            f"got {above[astray][0]:g} / {below[astray][0]:g}"
        )


def _times(limit: float, below: Floats) -> Floats:
    """A limit times each denominator; an infinite limit stays infinite if the denominator is 0."""
    return np.full_like(below, limit) if math.isinf(limit) else limit * below


@dataclass(frozen=True)
class _Contributions:
    """An estimate and its variance, from the contributions of clusters to its error.

    Attributes:
        value: the estimate.
        variance: its variance, to first order: the errors of clusters are independent
            and add up to 0.
        items: the number of items that counted.
        exposure: the sum of their denominators; for an average, the harmonic one.
        clusters: the number of their clusters.
        effective: how many clusters of equal weight would be worth as much.
    """

    value: float
    variance: float
    items: int
    exposure: float
    clusters: int
    effective: float


def _interval(
    columns: Sequence[Floats],
    shares: Sequence[float],
    clusters: Clusters | None,
    limits: Limits | None,
    confidence: float = 0.95,
) -> Estimate:
    """Estimates an average of ratios with its interval, also for too few clusters."""
    tail = (1.0 - check_probability("confidence", confidence)) / 2.0
    low, high = limits or WITHOUT_LIMITS
    error = _contributions(columns, shares, clusters)
    if not math.isfinite(error.value):
        return Estimate.undefined(error.items)

    value = min(max(error.value, low), high)
    if error.clusters == 1:
        ends = low, high
    elif error.variance > ROUNDING**2 and low < value < high:
        ends = score_ends(
            value,
            error.variance,
            t=student_quantile(1.0 - tail, max(1.0, error.effective - 1.0)),
            exposure=error.exposure,
            limits=(low, high),
        )
    else:
        ends = _ends_of_alike(value, error.effective, tail, (low, high))

    # Rounding must not exclude the value from its interval.
    low, high = min(ends[0], value), max(ends[1], value)
    return Estimate(value, finite_end(low), finite_end(high), error.items)


def _contributions(
    columns: Sequence[Floats], shares: Sequence[float], clusters: Clusters | None
) -> _Contributions:
    """Sums the columns by cluster, and linearises the average of their ratios."""
    denominator_columns = np.stack(columns[1::2])
    table = sum_table(columns, denominator_columns.sum(axis=0), clusters)
    totals = table.totals()
    above, below = totals[::2], totals[1::2]
    if not table.n or not all(below):
        return _Contributions(
            math.nan, math.nan, table.n, 0.0, table.n_clusters, table.effective
        )

    ratios = [
        total / denominator_sum
        for total, denominator_sum in zip(above, below, strict=True)
    ]
    value = math.fsum(
        share * ratio for share, ratio in zip(shares, ratios, strict=True)
    )
    added = np.zeros(table.n_clusters)
    for index, (share, ratio, denominator_sum) in enumerate(
        zip(shares, ratios, below, strict=True)
    ):
        numerators, denominators = (
            table.rows[:, 2 * index],
            table.rows[:, 2 * index + 1],
        )
        added += share / denominator_sum * (numerators - ratio * denominators)

    k = table.n_clusters
    variance = k / (k - 1.0) * math.fsum(added**2) if k > 1 else math.nan
    exposure = 1.0 / math.fsum(
        share**2 / denominator_sum
        for share, denominator_sum in zip(shares, below, strict=True)
    )

    return _Contributions(value, variance, table.n, exposure, k, table.effective)


def _ends_of_alike(
    value: float, clusters: float, tail: float, limits: Limits
) -> Limits:
    """The ends of the interval if all clusters are alike, so that the data show no variance.

    The share of clusters that may differ unseen is set to each finite limit. Counts are
    treated as Poisson counts: after none in 100 answers there may be 3.8 in 100.
    """
    low, high = limits
    share = unseen_share(tail, clusters)
    if math.isfinite(low) and math.isfinite(high):
        return value - share * (value - low), value + share * (high - value)

    if math.isfinite(low) or math.isfinite(high):
        t = student_quantile(1.0 - tail, max(1.0, clusters - 1.0))
        return score_ends(value, 0.0, t=t, exposure=clusters, limits=limits)

    return -math.inf, math.inf


def _count_ends(value: float, variance: float, *, t: float, exposure: float) -> Limits:
    """The ends of an interval for a mean count, or another mean of numbers from 0 up.

    The observed variance is split into aθ + bθ², where b = 0 for a count with at most a
    Poisson variance. So the ends solve θ² (1 - t²b) - θ (2θ̂ + t²a) + θ̂² = 0.
    """
    poisson = value / exposure
    less_than_poisson = ROUNDING**2 < variance < poisson
    linear = variance / value if less_than_poisson else 1.0 / exposure
    quadratic = max(0.0, variance - poisson) / value**2 if value > 0.0 else 0.0
    first, middle = 1.0 - t * t * quadratic, 2.0 * value + t * t * linear
    reach = math.sqrt(max(0.0, middle**2 - 4.0 * first * value**2))
    lower = 2.0 * value**2 / (middle + reach)

    # A few items may differ so much that no mean is too large for them.
    return lower, (middle + reach) / (2.0 * first) if first > 0.0 else math.inf


def finite_end(end: float) -> float:
    """Returns the end of an interval: `nan` if it is infinite, 0 if it is 0 up to rounding."""
    if not math.isfinite(end):
        return math.nan
    return 0.0 if abs(end) <= ROUNDING else end
