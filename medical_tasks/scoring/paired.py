"""Two runs on the same items: differences (b minus a), tests, detectable differences.

A p-value is the smallest a for which the interval at confidence 1 - a excludes zero;
the far tail has the shape of Student's t, so p has no floor. McNemar (1947),
Psychometrika 12:153; mid-p: Fagerland, Lydersen and Laake (2013), BMC Med Res Methodol
13:91; clusters are exchanged whole (sign flips of their differences m, with the product
of cos(m t) transformed back). Power: Bloom (1995), Minimum detectable effects,
Evaluation Review 19:547.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.bootstrap import (
    Drawing,
    Draws,
    Statistic,
    draw_interval,
    quotient,
)
from medical_tasks.scoring.estimates import (
    UNIT,
    Clusters,
    Comparison,
    Floats,
    Limits,
    McNemar,
    SumTable,
    as_binary,
    as_column,
    check_limits,
    check_same_length,
    sum_table,
)
from medical_tasks.scoring.intervals import (
    normal_quantile,
    student_quantile,
    student_tail,
)
from medical_tasks.scoring.means import ROUNDING, unseen_share
from medical_tasks.scoring.tango import tango_interval, tango_spread

POWER, ALPHA = 0.8, 0.05
_OUTCOMES = {
    "both": (1.0, 1.0),
    "only_a": (1.0, 0.0),
    "only_b": (0.0, 1.0),
    "neither": (0.0, 0.0),
}
# The number of draws beyond zero from which their share is the p-value; lower for few draws.
_COUNTED = 10


def paired_bootstrap(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    limits: Limits | None = UNIT,
    **drawing: Unpack[Drawing],
) -> Comparison:
    """The difference of two runs' means over the same items, b minus a.

    `nan` in either run does not count.

    Args:
        a: the first run's values, one an item.
        b: the second run's, of the same items in the same order.
        clusters: the label of each item's cluster; clusters are drawn whole.
        limits: the smallest and largest value an item can have.
        drawing: `seed` and `resamples`.

    Example:
        Of 20 questions five are right in both runs, one in A alone, nine in B alone:

        >>> a = [1.0] * 6 + [0.0] * 14
        >>> b = [1.0] * 5 + [0.0] + [1.0] * 9 + [0.0] * 5
        >>> compared = paired_bootstrap(a, b)
        >>> f"{compared.difference:.2f}, from {compared.ci_low:.2f}; p {compared.p_value:.2f}"
        '0.40, from 0.10; p 0.01'
    """
    first, second, counted = _sides(a, b, limits)
    return _compare(
        [first, counted],
        [second, counted],
        quotient,
        counted,
        clusters,
        limits,
        **drawing,
    )


def _sides(
    a: npt.ArrayLike, b: npt.ArrayLike, limits: Limits | None
) -> tuple[Floats, Floats, Floats]:
    """Both runs' values, and a column that is 1 where both have one, else `nan`."""
    check_limits(limits)
    first, second = as_column("a", a, limits=limits), as_column("b", b, limits=limits)
    return first, second, _counted(first, second)


def _binary_sides(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
    """The same as `_sides` for outcomes of 0 and 1."""
    first, second = as_binary("a", a), as_binary("b", b)
    return first, second, _counted(first, second)


def _counted(first: Floats, second: Floats) -> Floats:
    """1 where both runs have a value, else `nan`."""
    check_same_length(a=first, b=second)
    return np.where(np.isnan(first) | np.isnan(second), np.nan, 1.0)


def paired_bootstrap_statistic(
    columns_a: Sequence[npt.ArrayLike],
    columns_b: Sequence[npt.ArrayLike],
    function: Statistic,
    *,
    clusters: Clusters | None = None,
    limits: Limits | None = UNIT,
    **drawing: Unpack[Drawing],
) -> Comparison:
    """The difference of two runs' statistic of sums over the same items, b minus a.

    The statistic is a function as for `bootstrap_statistic`.
    """
    check_limits(limits)
    if len(columns_a) != len(columns_b) or not len(columns_a):
        raise ValueError(
            "columns_a and columns_b must have equally many columns, at least one; "
            f"got {len(columns_a)} and {len(columns_b)}"
        )

    first = {
        f"columns_a[{i}]": as_column(f"columns_a[{i}]", column)
        for i, column in enumerate(columns_a)
    }
    second = {
        f"columns_b[{i}]": as_column(f"columns_b[{i}]", column)
        for i, column in enumerate(columns_b)
    }
    check_same_length(**first, **second)
    weights = np.abs(np.stack([*first.values(), *second.values()])).sum(axis=0)

    return _compare(
        list(first.values()),
        list(second.values()),
        function,
        weights,
        clusters,
        limits,
        **drawing,
    )


def _compare(
    first: list[Floats],
    second: list[Floats],
    function: Statistic,
    weights: Floats,
    clusters: Clusters | None,
    limits: Limits | None,
    **drawing: Unpack[Drawing],
) -> Comparison:
    """Compares the runs' statistics; swapping the runs only changes the sign."""
    width = len(first)

    def difference(*sums: Floats) -> Floats:
        first_value, second_value = function(*sums[:width]), function(*sums[width:])
        return np.asarray(second_value, dtype=np.float64) - np.asarray(
            first_value, dtype=np.float64
        )

    table, sign = _orientation(first, second, weights, clusters)
    span = None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])
    draws, (low, high) = draw_interval(table, difference, span, **drawing)
    totals = table.totals()
    values = [_value(totals[:width], function), _value(totals[width:], function)]
    if sign < 0:
        low, high = -high, -low
        values.reverse()
    elif sign == 0:
        # The runs are interchangeable: the difference is zero, and the interval
        # symmetric.
        low, high = -(high - low) / 2.0, (high - low) / 2.0

    return Comparison(
        value_a=values[0],
        value_b=values[1],
        difference=values[1] - values[0],
        ci_low=low,
        ci_high=high,
        p_value=1.0
        if sign == 0 and not math.isnan(draws.value)
        else float(_p_value(draws, span)),
        n=table.n,
        n_clusters=table.n_clusters,
    )


def _orientation(
    first: list[Floats],
    second: list[Floats],
    weights: Floats,
    clusters: Clusters | None,
) -> tuple[SumTable, int]:
    """Returns the table of the runs in the order that sorts first, and a sign.

    The sign is 1 for the original order, -1 for the swapped one, 0 if both are equal.
    """
    forward = sum_table([*first, *second], weights, clusters)
    columns = range(len(first) + len(second))
    backward = forward.in_columns([*columns[len(first) :], *columns[: len(first)]])
    differing = np.flatnonzero(forward.rows != backward.rows)
    if not differing.size:
        return forward, 0

    return (
        (forward, 1)
        if forward.rows.flat[differing[0]] < backward.rows.flat[differing[0]]
        else (backward, -1)
    )


def _value(totals: list[float], function: Statistic) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.asarray(function(*np.array([totals]).T), dtype=np.float64)[0])
    return value if math.isfinite(value) else math.nan


def _p_value(draws: Draws, span: Limits | None) -> float:
    """Two-sided p-value of a difference, from its bootstrap draws.

    There are four cases, by increasing information in the draws:

    - nothing was drawn, or nothing differs: 1
    - all draws are the same difference: `_p_of_one_outcome`
    - few clusters: Student's test, since the tails of the draws are coarse
    - otherwise: `_p_of_draws`, from the share of draws on the other side of zero

    Args:
        draws: draws of the difference.
        span: the smallest and largest possible difference; None without limits.
    """
    if math.isnan(draws.value):
        return math.nan
    if not draws.values.size or (abs(draws.value) <= ROUNDING and draws.all_same):
        return 1.0
    if draws.all_same:
        return _p_of_one_outcome(draws, span)

    if draws.few:
        statistic = abs(draws.value) / draws.standard_error
        return min(1.0, 2.0 * student_tail(statistic, draws.size - 1.0))

    return _p_of_draws(draws)


def _p_of_one_outcome(draws: Draws, span: Limits | None) -> float:
    """The p-value if every cluster shows the same difference, so that draws do not vary.

    If the true difference were zero, a share of clusters would have the opposite extreme
    and balance the others. The p-value is the probability of seeing none of them.

    Example: B is right and A wrong on all of 5 items. With a true difference of 0, half
    of the items would go the other way; none of 5 does with the probability 2 * 0.5 **
    5 = 0.06.
    """
    if draws.undefined:
        return 1.0
    if span is None:
        return math.nan

    opposite = span[0] if draws.value > 0.0 else span[1]
    share = draws.value / (draws.value - opposite)
    return min(1.0, 2.0 * math.pow(1.0 - share, draws.effective))


def _p_of_draws(draws: Draws) -> float:
    """The p-value from the share of draws that lie on the other side of zero.

    The share is converted to a quantile of the normal distribution, and the tail is
    Student's, so the test agrees with the interval, which is widened in the same way.
    If almost no draw reaches zero, the share is not resolved. Then the distance to zero
    is expressed in distances to a draw that is still well inside.
    """
    df = draws.size - 1.0
    beyond = (
        min(
            int((draws.values <= ROUNDING).sum()),
            int((draws.values >= -ROUNDING).sum()),
        )
        + draws.undefined
    )
    counted = max(1, min(_COUNTED, len(draws.values) // 100))
    level = (max(beyond, counted) + 1) / (len(draws.values) + 1)
    if level >= 0.5:
        return 1.0

    quantile = -normal_quantile(level) * math.sqrt(df / draws.size)
    if beyond < counted:
        # The distance from the value to zero, in distances from the value to the draw
        # that belongs to the level.
        away = np.sort(np.sign(draws.value) * draws.values[~np.isnan(draws.values)])[
            counted - 1 - draws.undefined
        ]
        value = abs(draws.value)
        if value - away <= ROUNDING:
            return 2.0 * student_tail(
                -normal_quantile((beyond + 1) / (len(draws.values) + 1)), df
            )

        quantile *= value / (value - away)

    return 2.0 * student_tail(quantile, df)


def mcnemar(
    a: npt.ArrayLike, b: npt.ArrayLike, *, clusters: Clusters | None = None
) -> McNemar:
    """Tests whether two runs differ in how many of the same items they have right.

    Values are 1, 0 for wrong, or `nan`, which does not count. Only items on which the
    runs differ decide. With clusters, the differences are summed in each cluster, and
    whole clusters change sides.

    Example:
        >>> a = [1.0] * 6 + [0.0] * 14
        >>> b = [1.0] * 5 + [0.0] + [1.0] * 9 + [0.0] * 5
        >>> test = mcnemar(a, b)
        >>> test.only_a, test.only_b, round(test.p_exact, 4), round(test.p_mid, 4)
        (1, 9, 0.0215, 0.0117)
    """
    first, second, counted = _binary_sides(a, b)
    table = sum_table([second - first, counted], counted, clusters)
    differences = np.rint(table.rows[:, 0]).astype(np.int64)
    p_exact, p_mid = sign_flip_p_values(differences[differences != 0])

    return McNemar(
        **{
            name: int(((first == x) & (second == y)).sum())
            for name, (x, y) in _OUTCOMES.items()
        },
        p_exact=p_exact,
        p_mid=p_mid,
        n=table.n,
        n_clusters=table.n_clusters,
    )


def sign_flip_p_values(differences: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Exact and mid-p two-sided p-value of a sum of differences whose signs are coin flips.

    Example: five clusters differ by 1 each, all in one direction. Of the 32 ways to
        choose signs two are as extreme, all for A and all for B: p is 2/32 = 0.0625,
        and mid-p, which counts the observed outcome half, 0.03125.
    """
    if not differences.size:
        return 1.0, 1.0

    sizes = np.abs(differences)
    unit = int(np.gcd.reduce(sizes))
    sizes //= unit
    observed = abs(int(differences.sum())) // unit
    beyond, at = (
        _binomial(len(sizes), observed)
        if sizes.max() == 1
        else _transformed(sizes, observed)
    )
    # The observed signs and their reverse are always among the possible outcomes.
    least = math.ldexp(1.0, 1 - len(sizes))
    if observed == 0:
        return 1.0, 1.0 - at / 2.0

    return min(1.0, max(2.0 * (beyond + at), least)), max(
        2.0 * beyond + at, least / 2.0
    )


def _binomial(n: int, observed: int) -> tuple[float, float]:
    """Probability that n coin flips of ±1 sum to more than `observed`, and to exactly that."""
    m = (n - observed) // 2
    at = math.exp(
        math.lgamma(n + 1)
        - math.lgamma(m + 1)
        - math.lgamma(n - m + 1)
        - n * math.log(2.0)
    )
    fewer = np.arange(m, 0, -1)
    return at * float(np.cumprod(fewer / (n - fewer + 1)).sum()), at


def _transformed(sizes: npt.NDArray[np.int64], observed: int) -> tuple[float, float]:
    """The same two probabilities for coin flips of ±size, to an absolute error of about 1e-15."""
    span = int(sizes.sum())
    angles = 2.0 * np.pi / (2 * span + 1) * np.arange(2 * span + 1)
    transform = np.ones(2 * span + 1)
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        transform *= np.cos(int(size) * angles) ** int(count)
    chances = np.maximum(np.fft.fft(transform).real / (2 * span + 1), 0.0)
    return float(chances[observed + 1 : span + 1].sum()), float(chances[observed])


def paired_proportions(
    a: npt.ArrayLike, b: npt.ArrayLike, *, clusters: Clusters | None = None
) -> Comparison:
    """The difference of two shares of right items, b minus a, with Tango's score interval.

    Clusters reduce the effective number of items by their design effect of at least 1,
    as for `intervals.wilson`. The p-value matches the interval; at 0 it is McNemar's
    without a correction.

    Args:
        a: 1 or 0 for each item in the first run, `nan` where it does not count.
        b: the same of the second run.
        clusters: the label of each item's cluster.

    Example:
        Of 257 questions 13 are right for one group alone, and none for the other alone:

        >>> compared = paired_proportions([1] * 257, [0] * 13 + [1] * 244)
        >>> f"{compared.difference:.3f} ({compared.ci_low:.3f} to {compared.ci_high:.3f})"
        '-0.051 (-0.085 to -0.030)'
    """
    first, second, counted = _binary_sides(a, b)
    table = sum_table([second - first, counted], counted, clusters)
    n, k = table.n, table.n_clusters
    kept = ~np.isnan(counted)
    better, worse = (
        float((kept & (first == x) & (second == 1.0 - x)).sum()) for x in (0.0, 1.0)
    )
    low, high, p = (-1.0, 1.0, 1.0) if n else (math.nan, math.nan, math.nan)
    if k > 1:
        size = n / _design_effect(table, better, worse)
        df = max(1.0, table.effective - 1.0)
        t = student_quantile(1.0 - ALPHA / 2.0, df)
        share = size / n
        low, high = tango_interval(share * better, share * worse, size, t)
        spread = share * (better + worse)
        away = share * abs(better - worse) / math.sqrt(spread) if spread else 0.0
        p = min(1.0, 2.0 * student_tail(away, df))

    return Comparison(
        value_a=float(first[kept].mean()) if n else math.nan,
        value_b=float(second[kept].mean()) if n else math.nan,
        difference=(better - worse) / n if n else math.nan,
        ci_low=low,
        ci_high=high,
        p_value=p,
        n=n,
        n_clusters=k,
    )


def _design_effect(table: SumTable, better: float, worse: float) -> float:
    """The variance of a mean difference relative to that of independent items; at least 1.

    If all items are alike, it is unknown, and a cluster counts as one item.

    Args:
        table: differences and items by cluster.
        better: how many items differ by 1.
        worse: how many differ by -1.
    """
    n, k = table.n, table.n_clusters
    if not 1 < k < n:
        return 1.0

    mean = (better - worse) / n
    alone = n / (n - 1) * (better + worse - n * mean**2)
    if alone <= ROUNDING:
        return n / table.effective

    residuals = table.rows[:, 0] - mean * table.rows[:, 1]
    return max(1.0, k / (k - 1) * float(residuals @ residuals) / alone)


def minimum_detectable_difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    limits: Limits | None = UNIT,
) -> float:
    """The smallest true difference of two runs' means that items varying like these can detect.

    A two-sided test at `ALPHA` detects it with probability `POWER`. If all clusters show
    the same difference, their spread may still not be zero: the share of clusters that
    may differ unseen (see `bootstrap`) is then assumed to differ as far as the limits
    allow. A result beyond the limits means that no difference can be detected so
    reliably.

    Example:
        >>> a = [1.0] * 6 + [0.0] * 14
        >>> b = [1.0] * 5 + [0.0] + [1.0] * 9 + [0.0] * 5
        >>> round(minimum_detectable_difference(a, b), 2)
        0.4
    """
    first, second, counted = _sides(a, b, limits)
    table = sum_table([second - first, counted], counted, clusters)
    df = max(1.0, table.effective - 1.0)
    # in standard errors
    multiplier = student_quantile(1.0 - ALPHA / 2.0, df) + student_quantile(POWER, df)
    k = table.n_clusters
    if k < 2:
        return math.nan

    mean = table.totals()[0] / table.n
    residuals = table.rows[:, 0] - mean * table.rows[:, 1]
    if np.abs(residuals).max() > 1e-12 * table.n:
        return (
            multiplier * math.sqrt(k / (k - 1) * float(residuals @ residuals)) / table.n
        )

    if limits is None:
        return math.nan

    reach = abs(mean) + limits[1] - limits[0]
    share = unseen_share(ALPHA / 2.0, table.effective)
    return multiplier * reach * math.sqrt(share / table.effective)


def equivalence(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    margin: float,
    *,
    clusters: Clusters | None = None,
    limits: Limits | None = UNIT,
) -> tuple[float, float]:
    """P-values that the true difference of two means is within a margin, and beyond it.

    Two one-sided tests (Schuirmann 1987, J Pharmacokinet Biopharm 15:657). Items that are
    right or wrong are tested by Tango's score (1998, Stat Med 17:891) with the variance
    at the margin: a variance estimated from the items is too small if few of them
    differ. Clusters widen it by the design effect. `nan` for fewer than two clusters.

    Args:
        a: the first run's values, one an item.
        b: the second run's.
        margin: above 0, in the values' unit: 0.05 of a share are five points.
        clusters: the label of each item's cluster.
        limits: the smallest and largest value an item can have.

    Example:
        Two runs differ on 2 of 200 items, one in each direction: they are equivalent
        within five points.

        >>> a = [1.0, 0.0] * 100
        >>> within, beyond = equivalence(a, [0.0, 1.0] + a[2:], margin=0.05)
        >>> round(within, 3), beyond
        (0.001, 1.0)
    """
    first, second, counted = _sides(a, b, limits)
    table = sum_table([second - first, counted], counted, clusters)
    k, n = table.n_clusters, float(table.n)
    if k < 2:
        return math.nan, math.nan

    differences = (second - first)[~np.isnan(counted)]
    mean = table.totals()[0] / n
    alone = n / (n - 1) * float(((differences - mean) ** 2).sum())
    df = max(1.0, table.effective - 1.0)
    binary = bool(np.isin(differences, (-1.0, 0.0, 1.0)).all())

    def beyond(shift: float) -> float:
        """The difference's distance from a shift, in standard errors at that shift."""
        better, worse = float((differences > 0).sum()), float((differences < 0).sum())
        spread = tango_spread(better, worse, n, shift) if binary else alone
        residuals = table.rows[:, 0] - shift * table.rows[:, 1]
        # Half a cluster of average size that differs as a whole is added, since a few
        # clusters may hide such differences.
        if k < n and alone:
            spread *= max(
                1.0,
                (k / (k - 1) * float(residuals @ residuals) + (n / k) ** 2 / 2) / alone,
            )

        return (
            (mean - shift) * n / math.sqrt(spread)
            if spread > 0.0
            else math.copysign(math.inf, mean - shift)
        )

    over, under = beyond(-margin), beyond(margin)
    within = max(student_tail(over, df), student_tail(-under, df))

    return within, min(1.0, 2.0 * min(student_tail(under, df), student_tail(-over, df)))


def holm(p_values: npt.ArrayLike) -> list[float]:
    """Holm's adjusted p-values, which control the family-wise error.

    Source: Holm (1979), Scand J Stat 6:65. `nan` (a test that was not possible) does not
    belong to the family and stays `nan`.

    Example:
        The smallest of three is multiplied by three, the next by two; none may be below
        an earlier one:

        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
        >>> holm([0.01, math.nan, 0.04])
        [0.02, nan, 0.04]
    """
    array = np.asarray(p_values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf"):
        raise ValueError(
            f"p_values must be one number a test; got shape {array.shape} of {array.dtype}"
        )

    raw = array.astype(np.float64)
    outside = raw[(raw < 0.0) | (raw > 1.0)]
    if outside.size:
        raise ValueError(f"p_values must be in 0 to 1; got {outside[0]:g}")

    adjusted = np.full(raw.shape, math.nan)
    tested = np.flatnonzero(~np.isnan(raw))
    order = tested[np.argsort(raw[tested], kind="stable")]
    steps = raw[order] * np.arange(len(order), 0, -1)
    adjusted[order] = (
        np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    )

    return [float(p) for p in adjusted]
