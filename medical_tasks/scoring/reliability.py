"""Reliability of repeated verdicts on the same answers: intraclass correlation and Krippendorff's alpha.

Sources: Shrout and Fleiss (1979), Psychol Bull 86:420, and McGraw and Wong (1996),
Psychol Methods 1:30 (intraclass correlation, its cases and names); Krippendorff (2004),
Content Analysis, chapter 11, and Hayes and Krippendorff (2007), Commun Methods Meas
1:77 (alpha). `--evaluations` reports ICC(2,1), the absolute agreement of items' values,
and alpha of items' values as numbers and of verdicts as classes.

Both are one minus a ratio: the disagreement within units over the total disagreement.

Example:
    Two units were judged three times each: yes, yes, no and no, no, no. Two of the six
    pairs within a unit differ, and eight of all 15 pairs: alpha = 1 - (2/6) / (8/15) =
    0.375.

Intervals use the jackknife over clusters on the scale of Fisher's z for k values of an
item (½ log((1 + (k - 1) r) / (1 - r)); Fisher 1925, Statistical Methods for Research
Workers, section 39), with Student's t of one degree of freedom less than there are
clusters: the classical F intervals assume normal values, which shares of verdicts are
not. Coverage: `measurements/evaluations.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.estimates import (
    Clusters,
    Estimate,
    Floats,
    check_same_length,
    cluster_codes,
)
from medical_tasks.scoring.intervals import student_quantile
from medical_tasks.scoring.means import unseen_share

_TAIL = 0.025
"""Either tail of a 95 % interval."""
_ROUNDING = 1e-10
"""Squares and shares this small are 0 up to rounding."""
_NEAR = 1e-6
"""Shares this near to the end of Fisher's scale count as being on it."""

Statistic = Callable[[Floats], tuple[Floats, Floats]]
"""Maps sums over clusters, shape (draws, columns), to the disagreement within units and in total."""


@dataclass(frozen=True, kw_only=True)
class Intraclass:
    """Intraclass correlations of single values, without intervals (Shrout and Fleiss 1979).

    Attributes:
        one_way: ICC(1,1): each target has other judges.
        absolute: ICC(2,1): judges are a sample, and differences of their means count as
            disagreement.
        consistency: ICC(3,1): differences of the judges' means do not count.
    """

    one_way: float
    absolute: float
    consistency: float


def intraclass(values: npt.ArrayLike) -> Intraclass:
    """Computes the three intraclass correlations of single values.

    Example:
        The six targets and four judges of Shrout and Fleiss (1979, table 2):

        >>> icc = intraclass([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6],
        ...                   [10, 5, 6, 9], [6, 2, 4, 7]])
        >>> round(icc.one_way, 2), round(icc.absolute, 2), round(icc.consistency, 2)
        (0.17, 0.29, 0.71)

    Args:
        values: finite, shape (items, 2 or more judges).
    """
    table = _as_table(values)
    n, k = table.shape
    if n < 2:
        return Intraclass(one_way=math.nan, absolute=math.nan, consistency=math.nan)

    items, judges, rest = _mean_squares(_icc_sums(table).sum(axis=0)[np.newaxis])
    within = (n * judges + n * (n - 1) * rest) / (n * n)
    between, among, error, single = (
        float(square[0]) for square in (items, judges, rest, within)
    )

    return Intraclass(
        one_way=_ratio(between - single, between + (k - 1) * single),
        absolute=_ratio(
            between - error, between + (k - 1) * error + k * (among - error) / n
        ),
        consistency=_ratio(between - error, between + (k - 1) * error),
    )


def intraclass_interval(
    values: npt.ArrayLike, *, clusters: Clusters | None = None
) -> Estimate:
    """ICC(2,1), the absolute agreement of single values, with its interval.

    `nan` if all values are equal, since then the items do not differ either.

    Args:
        values: finite, shape (items, 2 or more evaluations).
        clusters: the label of each item's cluster.
    """
    table = _as_table(values)
    n, k = table.shape
    sums = _by_cluster(_icc_sums(table), clusters)

    def differing(draws: Floats) -> tuple[Floats, Floats]:
        """The variance within items and in total for ICC(2,1).

        The variance within items is that of the judges' means and the residual.
        """
        items, judges, rest = _mean_squares(draws)
        count = draws[:, 0]
        among = k * (judges - rest) / count
        within = k * rest + among
        return within, items + (k - 1) * rest + among

    spread = float(np.ptp(table)) if table.size else 0.0
    variance = float(table.var()) if table.size else 0.0
    most = _most_apart(k) * spread**2 / (2.0 * variance) if variance else math.nan

    return _interval(sums, differing, n=n, k=k, most=most)


def alpha_interval(
    ratings: Sequence[Sequence[Hashable | None]], *, clusters: Clusters | None = None
) -> Estimate:
    """Krippendorff's alpha of nominal ratings, with its interval; `n` units have two ratings or more.

    `nan` if all ratings are of one class, where agreement is not defined.

    Example:
        >>> round(alpha_interval([["yes", "yes", "no"], ["no", "no", "no"]]).value, 3)
        0.375

    Args:
        ratings: for each unit, one rating a rater or evaluation; None for no rating.
        clusters: the label of each unit's cluster.
    """
    present = [[rating for rating in unit if rating is not None] for unit in ratings]
    classes: dict[Hashable, int] = {}
    for unit in present:
        for rating in unit:
            classes.setdefault(rating, len(classes))

    counts = np.zeros((len(present), len(classes)))
    for row, unit in zip(counts, present, strict=True):
        for rating in unit:
            row[classes[rating]] += 1.0

    paired = counts.sum(axis=1) >= 2.0
    paired_clusters = None if clusters is None else _select(clusters, paired)
    counts = counts[paired]
    counted = counts.sum(axis=1)
    differing_pairs = (counted**2 - (counts**2).sum(axis=1)) / (counted - 1.0)
    sums = _by_cluster(np.column_stack([differing_pairs, counts]), paired_clusters)

    def differing(draws: Floats) -> tuple[Floats, Floats]:
        total = draws[:, 1:].sum(axis=1)
        expected = (total**2 - (draws[:, 1:] ** 2).sum(axis=1)) / (total - 1.0)
        return draws[:, 0], expected

    shares = counts.sum(axis=0) / max(1.0, counts.sum())
    expected = 1.0 - float((shares**2).sum())
    width = int(counted.max()) if len(counted) else 2
    most = _most_apart(width) / expected if expected > _ROUNDING else math.nan

    return _interval(sums, differing, n=int(paired.sum()), k=width, most=most)


def interval_alpha(
    values: npt.ArrayLike, *, clusters: Clusters | None = None
) -> Estimate:
    """Krippendorff's alpha of numbers (differences squared), with its interval.

    Args:
        values: shape (units, raters or evaluations), `nan` for no value.
        clusters: the label of each unit's cluster.

    Example:
        Three answers were judged three times each. They differ more from one another
        than repeated judgements of one answer do:

        >>> shares = [[0.75, 0.5, 0.75], [0.25, 0.25, 0.25], [1.0, 1.0, 0.75]]
        >>> round(interval_alpha(shares).value, 3)
        0.855
    """
    table = np.asarray(values, dtype=np.float64)
    is_present = ~np.isnan(table)
    paired = is_present.sum(axis=1) >= 2
    paired_clusters = None if clusters is None else _select(clusters, paired)
    table, is_present = table[paired], is_present[paired]
    # Far from 0 the squares below would lose their last digits.
    middle = float(np.nanmean(table)) if table.size else 0.0
    cells = np.where(is_present, table - middle, 0.0)
    of, added, squares = (
        is_present.sum(axis=1).astype(np.float64),
        cells.sum(axis=1),
        (cells**2).sum(axis=1),
    )
    # The squared differences of all ordered pairs of m values sum to 2 (m Σx² - (Σx)²).
    apart = (of * squares - added**2) / (of - 1.0)
    sums = _by_cluster(np.column_stack([apart, of, added, squares]), paired_clusters)

    def differing(draws: Floats) -> tuple[Floats, Floats]:
        apart, of, added, squares = draws.T
        return apart, (of * squares - added**2) / (of - 1.0)

    spread = float(np.ptp(cells[is_present])) if is_present.any() else 0.0
    variance = float(cells[is_present].var()) if is_present.any() else 0.0
    width = int(of.max()) if len(of) else 2
    most = _most_apart(width) * spread**2 / (2.0 * variance) if variance else math.nan

    return _interval(sums, differing, n=int(paired.sum()), k=width, most=most)


def within_sd(values: npt.ArrayLike) -> float:
    """The mean over items of the standard deviation of an item's values; `nan` without items.

    Example:
        >>> round(within_sd([[0.75, 0.5, 0.75], [0.25, 0.25, 0.25]]), 3)
        0.072
    """
    table = _as_table(values)
    return float(table.std(axis=1, ddof=1).mean()) if len(table) else math.nan


def all_alike(ratings: Sequence[Sequence[Hashable | None]]) -> list[float]:
    """Returns for each unit whether all its ratings are the same (1.0) or not (0.0).

    It is `nan` for a unit with a missing rating.

    Example:
        >>> all_alike([["yes", "yes"], ["yes", "no"], ["yes", None]])
        [1.0, 0.0, nan]
    """
    return [
        math.nan if None in unit or not unit else float(len(set(unit)) == 1)
        for unit in ratings
    ]


def _as_table(values: npt.ArrayLike) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2 or not np.isfinite(table).all():
        raise ValueError(
            f"values must be finite, of shape (items, 2 or more evaluations); got {table.shape}"
        )
    return table


def _icc_sums(table: Floats) -> Floats:
    """The columns whose sums over items determine the mean squares.

    They are 1, an item's mean, its square, the sum of the squared values, and the values.
    """
    n = len(table)
    centred = table - (table.mean() if table.size else 0.0)
    means = centred.mean(axis=1)
    return np.column_stack(
        [np.ones(n), means, means**2, (centred**2).sum(axis=1), centred]
    )


def _mean_squares(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean squares of items, judges and residuals from sums of `_icc_sums`."""
    n, added, squares, total = sums[:, :4].T
    k = sums.shape[1] - 4
    mean = added / n
    judges = sums[:, 4:] / n[:, np.newaxis]
    of_items = k * (squares - n * mean**2)
    of_judges = n * ((judges - mean[:, np.newaxis]) ** 2).sum(axis=1)
    of_all = total - n * k * mean**2
    rest = np.maximum(of_all - of_items - of_judges, 0.0)
    return of_items / (n - 1), of_judges / (k - 1), rest / ((n - 1) * (k - 1))


def _most_apart(ratings: int) -> float:
    """The largest share of a unit's pairs that can differ: its ratings split in half."""
    half = ratings // 2
    return 2.0 * half * (ratings - half) / (ratings * (ratings - 1))


def _select(clusters: Clusters, selected: npt.NDArray[np.bool_]) -> list[Hashable]:
    check_same_length(clusters=list(clusters), units=selected.tolist())
    return [
        label
        for label, is_selected in zip(clusters, selected, strict=True)
        if is_selected
    ]


def _by_cluster(columns: Floats, clusters: Clusters | None) -> Floats:
    """Sums the columns over each cluster."""
    if clusters is None:
        return columns
    codes = cluster_codes(clusters, len(columns))
    sums = np.zeros((int(codes.max()) + 1 if len(codes) else 0, columns.shape[1]))
    np.add.at(sums, codes, columns)
    return sums


def _interval(
    sums: Floats, differing: Statistic, *, n: int, k: int, most: float
) -> Estimate:
    """Returns one minus the ratio of `differing`, with its interval.

    Args:
        sums: one row a cluster.
        differing: computes numerator and denominator of the ratio.
        n: the number of units that counted.
        k: the number of ratings a unit has.
        most: the ratio if the ratings of every unit differed as much as they can; used
            for data without any difference.
    """
    clusters = len(sums)
    if n < 2 or math.isnan(most):
        return Estimate.undefined(n)

    total = sums.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        within, at_all = (float(column[0]) for column in differing(total[np.newaxis]))
        others, others_at_all = differing(total - sums)

    if not at_all > 0.0:
        return Estimate.undefined(n)

    share, least = within / at_all, _ROUNDING * at_all
    if within <= least:
        # No unit differs: a share of clusters may do so unseen, as much as possible.
        if clusters < 2:
            return Estimate(1.0, math.nan, math.nan, n)

        unseen = min(1.0, unseen_share(_TAIL, clusters) * most)
        return Estimate(1.0, 1.0 - unseen, 1.0, n)

    # If all differences are in one cluster, their spread is unknown.
    if clusters < 2 or not ((others > least) & (others_at_all > least)).all():
        return Estimate(1.0 - share, math.nan, math.nan, n)

    shares = others / others_at_all
    # More disagreement than by chance is off Fisher's scale: use the logarithm.
    farthest = max(share, float(shares.max()))
    scale = _fisher if farthest < (1.0 - _NEAR) * k / (k - 1) else _plain
    scaled = scale(shares, k)
    error = math.sqrt(
        (clusters - 1) / clusters * float(((scaled - scaled.mean()) ** 2).sum())
    )
    reach = student_quantile(1.0 - _TAIL, clusters - 1) * error
    middle = float(scale(np.array([share]), k)[0])
    low, high = (
        1.0 - _back(middle + side * reach, k, plain=scale is _plain)
        for side in (-1.0, 1.0)
    )

    # A few units may be below -1 themselves; a lower end beyond that is meaningless.
    return Estimate(1.0 - share, max(low, min(1.0 - share, -1.0)), min(high, 1.0), n)


def _fisher(share: Floats, k: int) -> Floats:
    """Fisher's z of one minus a ratio, for k values of an item."""
    return np.asarray(0.5 * np.log((1.0 + (k - 1) * (1.0 - share)) / share))


def _plain(share: Floats, k: int) -> Floats:
    return np.asarray(-np.log(share))


def _back(scaled: float, k: int, *, plain: bool) -> float:
    """Inverts either scale."""
    return math.exp(-scaled) if plain else k / (math.exp(2.0 * scaled) + k - 1)


def _ratio(above: float, below: float) -> float:
    return above / below if below else math.nan
