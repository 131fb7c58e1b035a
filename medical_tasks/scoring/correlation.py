"""Rank correlation of two scores, Spearman's rho and Kendall's tau-b, with bootstrap intervals.

Spearman's rho is Pearson's correlation of the ranks, equal values sharing the mean of their ranks (Spearman 1904, Am J
Psychol 15:72; ties as in Kendall 1945, Biometrika 33:239). Kendall's tau-b is (C - D) / sqrt((P - Tx) (P - Ty)), with C and D the
pairs of rows in the same and in opposite order, P all pairs, Tx and Ty those tied in the one and in the other score
(Kendall 1945). Both are computed in whole numbers up to the last root and division, so that the same order gives exactly 1.
They are `nan` with fewer than two rows or where a score is the same in all rows. Rows that lack a score do not count.

For the intervals rows are drawn with replacement, and ranks and ties made anew from each draw; how ends follow from the draws is
in `bootstrap`. Such an interval says where the coefficient of a large population would lie, were these rows drawn from it at
random. With the twenty models of a usual comparison it is wide (about 0.8 from end to end for a rho of 0.6), and held the truth
in 95 to 100 % of simulations, more often with fewer rows (`benchmarks/correlation.py`). It does not account for the uncertainty of
each score itself (the number of questions behind it), and rows that are alike (models tuned from one base) make it too narrow.

Where outputs of one item are alike, `clustered_correlation` draws whole clusters. Kendall's numerator is a sum over pairs of rows,
so over pairs of clusters a quadratic form in how often each was drawn: a draw costs (clusters)² and not (rows)². Source: DocLens
(Xie et al. 2024), section 4.3 (table 2), 4.4 (figure 8), appendix A.4.5 (table 12).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.bootstrap import Draws, bootstrap_interval, interval_of
from medical_tasks.scoring.estimates import (
    Clusters,
    Estimate,
    Floats,
    Limits,
    as_column,
    check_same_length,
    check_whole,
)

__all__ = [
    "FEWEST_ROWS",
    "RankCorrelation",
    "among_annotators",
    "clustered_correlation",
    "kendall_tau",
    "mean_tau_within",
    "rank_correlation",
    "spearman_rho",
]


COEFFICIENT: Limits = (-1.0, 1.0)
_Codes = npt.NDArray[np.intp]
# Numbers in use at a time: draws x cells of one block, cells x cells of another.
_CHUNK = 2**20

FEWEST_ROWS: Final = 3
"""Fewer rows have no reported coefficient: of two, any two scores that tell them apart give 1 or -1."""


@dataclass(frozen=True, kw_only=True)
class RankCorrelation:
    """Both coefficients of two scores.

    Attributes:
        spearman: Spearman's rho, -1 to 1, over `n` rows.
        kendall: Kendall's tau-b, -1 to 1, over the same rows.
        missing: how many rows lack one of the scores, and did not count.
    """

    spearman: Estimate
    kendall: Estimate
    missing: int


@dataclass(frozen=True, eq=False)
class _Cells:
    """The distinct pairs of values, as places in the order of each score.

    Attributes:
        x: shape (cells,), from 0, sorted.
        y: the same of the other score.
        counts: how many rows have each pair, shape (1, cells).
        missing: how many rows have none.
    """

    x: _Codes
    y: _Codes
    counts: Floats
    missing: int

    @property
    def n(self) -> int:
        """How many rows count."""
        return int(self.counts.sum())


def spearman_rho(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's rho of two scores, ranks averaged where values are equal.

    Args:
        x: one number a row; `nan` where there is none.
        y: the same of the other score.

    Returns:
        -1 to 1; `nan` with fewer than two complete rows or a score without variation.

    Raises:
        ValueError: not numbers, infinite, or lengths differ.
    """
    cells = _cells(x, y)
    return float(_spearman(cells, cells.counts)[0])


def kendall_tau(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Kendall's tau-b of two scores, the version that takes ties into account.

    Args:
        x: one number a row; `nan` where there is none.
        y: the same of the other score.

    Returns:
        -1 to 1; `nan` with fewer than two complete rows or a score without variation.

    Raises:
        ValueError: not numbers, infinite, or lengths differ.
    """
    cells = _cells(x, y)
    return float(_kendall(cells, cells.counts)[0])


def rank_correlation(
    x: npt.ArrayLike, y: npt.ArrayLike, *, seed: int = 0, resamples: int = 2000, confidence: float = 0.95
) -> RankCorrelation:
    """Both coefficients of two scores with bootstrap intervals over the rows.

    The result depends on nothing but the order of the values and the seed: not on the order of the rows, not on which score
    comes first, not on their scales.

    Args:
        x: one number a row; `nan` where there is none.
        y: the same of the other score.
        seed: of the random draws, at least 0.
        resamples: how many draws, at least 100.
        confidence: of the intervals.

    Raises:
        ValueError: not numbers, infinite, lengths differ, or a setting outside its range.
    """
    seed, resamples = check_whole("seed", seed, least=0), check_whole("resamples", resamples, least=100)
    cells = _cells(x, y)
    estimates = []
    drawn = list(_draws(cells, seed, resamples))
    for coefficient in (_spearman, _kendall):
        value = float(coefficient(cells, cells.counts)[0]) if cells.n >= FEWEST_ROWS else math.nan
        values = np.concatenate([coefficient(cells, counts) for counts in drawn]) if drawn else np.empty(0)
        low, high = interval_of(Draws(value, values, float(cells.n)), confidence=confidence, limits=COEFFICIENT)
        estimates.append(Estimate(value, low, high, cells.n))
    return RankCorrelation(spearman=estimates[0], kendall=estimates[1], missing=cells.missing)


def _cells(x: npt.ArrayLike, y: npt.ArrayLike) -> _Cells:
    """The complete rows, in a form that is the same whichever score comes first: both coefficients are symmetric."""
    one, other = as_column("x", x), as_column("y", y)
    check_same_length(x=one, y=other)
    complete = ~(np.isnan(one) | np.isnan(other))
    codes = [np.unique(column[complete], return_inverse=True)[1].reshape(-1) for column in (one, other)]
    tables = [np.unique(np.stack(pair, axis=1), axis=0, return_counts=True) for pair in (codes, codes[::-1])]
    pairs, counts = min(tables, key=lambda table: (table[0].tolist(), table[1].tolist()))
    return _Cells(
        x=pairs[:, 0], y=pairs[:, 1], counts=counts[np.newaxis].astype(np.float64), missing=int((~complete).sum())
    )


def _draws(cells: _Cells, seed: int, resamples: int) -> Iterator[Floats]:
    """How often each cell occurs among as many rows drawn with replacement as there are, shape (some draws, cells)."""
    if cells.n < 2:
        return
    generator = np.random.default_rng(seed)
    shares = cells.counts[0] / cells.n
    several = max(1, _CHUNK // len(cells.x))
    for start in range(0, resamples, several):
        drawn = generator.multinomial(cells.n, shares, size=min(several, resamples - start))
        yield drawn.astype(np.float64)


def _spearman(cells: _Cells, counts: Floats) -> Floats:
    """Rho of each draw, shape (draws,). Twice the ranks, less their mean, are whole numbers."""
    totals = counts.sum(axis=1, keepdims=True)
    ranks, squares = [], []
    for codes in (cells.x, cells.y):
        tied = _sums(counts, codes)
        rank = 2.0 * np.cumsum(tied, axis=1) - tied - totals
        squares.append((tied * rank * rank).sum(axis=1))
        ranks.append(rank[:, codes])
    return _quotient((counts * ranks[0] * ranks[1]).sum(axis=1), *squares)


def _kendall(cells: _Cells, counts: Floats) -> Floats:
    """Tau-b of each draw, shape (draws,). All sums run over ordered pairs, so each pair is in them twice."""
    surplus = np.zeros(len(counts))
    size = len(cells.x)
    block = max(1, _CHUNK // max(1, size))
    for start in range(0, size, block):
        some = slice(start, start + block)
        signs = np.sign(np.subtract.outer(cells.x, cells.x[some]) * np.subtract.outer(cells.y, cells.y[some]))
        surplus += ((counts @ signs.astype(np.float64)) * counts[:, some]).sum(axis=1)
    pairs = counts.sum(axis=1) ** 2
    untied = [pairs - (_sums(counts, codes) ** 2).sum(axis=1) for codes in (cells.x, cells.y)]
    return _quotient(surplus, *untied)


def _sums(counts: Floats, codes: _Codes) -> Floats:
    """How many rows have each value, shape (draws, values); every value from 0 to the highest is in `codes`."""
    if not len(codes):
        return np.zeros((len(counts), 0))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.asarray(np.add.reduceat(counts[:, order], starts, axis=1))


def _quotient(above: Floats, one: Floats, other: Floats) -> Floats:
    """The first over the root of the others' product; `nan` where that is 0."""
    below = np.sqrt(one * other)
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0.0))


@dataclass(frozen=True, eq=False)
class _Column:
    """Two scores of the rows that have both, clusters one after the other.

    Attributes:
        x: place in the order of the one score, shape (rows,), from 0.
        y: of the other.
        clusters: number of each row's cluster, from 0, rising; numbers are those of all columns together.
    """

    x: _Codes
    y: _Codes
    clusters: _Codes


def clustered_correlation(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    clusters: Clusters,
    seed: int = 0,
    resamples: int = 2000,
    confidence: float = 0.95,
) -> RankCorrelation:
    """Both coefficients of two scores, with bootstrap intervals over clusters.

    Args:
        x: one number an output; `nan` where there is none.
        y: the same of the other score.
        clusters: the cluster of each output.
        seed: of the random draws, at least 0.
        resamples: how many draws, at least 100.
        confidence: of the intervals.

    Raises:
        ValueError: not numbers, infinite, lengths differ, or a setting outside its range.
    """
    return _mean_over_columns([(x, y)], clusters, seed, resamples, confidence)


def among_annotators(
    scores: Sequence[npt.ArrayLike],
    *,
    clusters: Clusters,
    seed: int = 0,
    resamples: int = 2000,
    confidence: float = 0.95,
) -> RankCorrelation:
    """Each annotator's scores against the mean of the others' (table 12); the coefficients are averaged over annotators.

    An output counts for an annotator who scored it, if another one did too. An annotator whose coefficient is not defined (fewer
    than three such outputs, or always the same score) is in no mean.

    Args:
        scores: for each annotator one number an output; `nan` where it was not scored.
        clusters: the cluster of each output.
        seed: as in `clustered_correlation`.
        resamples: likewise.
        confidence: likewise.

    Returns:
        `nan` with fewer than two annotators. `n` are the outputs that two or more scored.

    Raises:
        ValueError: as `clustered_correlation`.
    """
    columns = [as_column(f"scores[{place}]", column) for place, column in enumerate(scores)]
    check_same_length(**{f"scores[{place}]": column for place, column in enumerate(columns)}, clusters=clusters)
    pairs: list[tuple[npt.ArrayLike, npt.ArrayLike]] = []
    for place, own in enumerate(columns):
        others = np.array([*columns[:place], *columns[place + 1 :]]).reshape(len(columns) - 1, len(clusters))
        there = (~np.isnan(others)).sum(axis=0)
        # Added up in the order of size, so that equal means are equal to the last digit whoever gave which score.
        sums = np.sort(np.nan_to_num(others), axis=0).sum(axis=0)
        pairs.append((own, np.divide(sums, there, out=np.full(len(clusters), np.nan), where=there > 0)))
    return _mean_over_columns(pairs, clusters, seed, resamples, confidence)


def mean_tau_within(
    one: Floats, other: Floats, *, items: Sequence[Hashable], clusters: Clusters, seed: int = 0, resamples: int = 2000
) -> Estimate:
    """Kendall's tau-b among the outputs of each item, averaged over items.

    Args:
        one: which output of each pair a metric prefers, from `preferences.preference_signs` with `epsilon=0`.
        other: of the other metric.
        items: item of each pair.
        clusters: cluster of each pair; the same for all pairs of an item.
        seed: of the random draws.
        resamples: how many draws.

    Returns:
        `n` are the items whose coefficient is defined: neither metric is the same for all outputs. Pairs of which a metric has
        no value do not count.

    Raises:
        ValueError: lengths differ.
    """
    check_same_length(one=one, other=other, items=items, clusters=clusters)
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(item, len(numbers)) for item in items], dtype=np.intp)
    known = ~np.isnan(one * other)
    a, b, kept = one[known], other[known], codes[known]
    surplus, first, second = (
        np.bincount(kept, weights=weights, minlength=len(numbers)) for weights in (a * b, a * a, b * b)
    )
    below = np.sqrt(first * second)
    taus = np.divide(surplus, below, out=np.full(len(numbers), np.nan), where=below > 0.0)
    of_item = dict(zip(items, clusters, strict=True))
    return bootstrap_interval(
        taus, clusters=[of_item[item] for item in numbers], seed=seed, resamples=resamples, limits=COEFFICIENT
    )


def _mean_over_columns(
    pairs: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    clusters: Clusters,
    seed: int,
    resamples: int,
    confidence: float,
) -> RankCorrelation:
    """The coefficients of several pairs of scores, averaged; all of them from the same draws."""
    seed, resamples = check_whole("seed", seed, least=0), check_whole("resamples", resamples, least=100)
    both = [(as_column("x", x), as_column("y", y)) for x, y in pairs]
    for x, y in both:
        check_same_length(x=x, y=y, clusters=clusters)
    stacked = np.array(both, dtype=np.float64).reshape(len(pairs), 2, len(clusters))
    counted: npt.NDArray[np.bool_] = np.asarray((~np.isnan(stacked).any(axis=1)).any(axis=0))
    n = int(counted.sum())
    missing = len(counted) - n
    order, codes = _grouped(
        stacked[:, :, counted], [name for name, is_in in zip(clusters, counted, strict=True) if is_in]
    )
    columns = [_column(stacked[place][:, counted][:, order], codes) for place in range(len(pairs))]
    sizes = np.bincount(codes).astype(np.float64)
    effective = float(sizes.sum() ** 2 / (sizes**2).sum()) if n else 0.0
    once = np.ones((1, len(sizes)))
    drawn = list(_cluster_draws(len(sizes), seed, resamples))
    estimates = []
    for coefficient in (_clustered_spearman, _clustered_kendall):
        found = _averaged([coefficient(column, [once, *drawn]) for column in columns if len(column.x) >= FEWEST_ROWS])
        value = float(found[0]) if len(found) else math.nan
        ends = interval_of(Draws(value, found[1:], effective), confidence=confidence, limits=COEFFICIENT)
        estimates.append(Estimate(value, *ends, n))
    return RankCorrelation(spearman=estimates[0], kendall=estimates[1], missing=missing)


def _averaged(columns: Sequence[Floats]) -> Floats:
    """Mean over columns of those values that are defined, shape (draws,)."""
    if not len(columns):
        return np.empty(0)
    table = np.stack(columns)
    defined = (~np.isnan(table)).sum(axis=0)
    sums = np.nan_to_num(table).sum(axis=0)
    mean = np.divide(sums, defined, out=np.full(table.shape[1], np.nan), where=defined > 0)
    return np.asarray(np.clip(mean, *COEFFICIENT))


def _grouped(stacked: Floats, names: Clusters) -> tuple[_Codes, _Codes]:
    """Rows ordered so that neither their order nor the clusters' names show in the draws, and each one's cluster's number."""
    keys = np.nan_to_num(stacked, nan=-np.inf).reshape(2 * len(stacked), len(names)).T.tolist()
    members: dict[Hashable, list[int]] = {}
    for row, name in enumerate(names):
        members.setdefault(name, []).append(row)
    inside = [sorted(rows, key=lambda row: keys[row]) for rows in members.values()]
    inside.sort(key=lambda rows: [keys[row] for row in rows])
    order = np.array([row for rows in inside for row in rows], dtype=np.intp)
    return order, np.repeat(np.arange(len(inside)), [len(rows) for rows in inside])


def _column(scores: Floats, clusters: _Codes) -> _Column:
    whole = ~np.isnan(scores).any(axis=0)
    x, y = (np.unique(score[whole], return_inverse=True)[1].reshape(-1) for score in scores)
    return _Column(x=x, y=y, clusters=clusters[whole])


def _cluster_draws(clusters: int, seed: int, resamples: int) -> Iterator[Floats]:
    """How often each cluster is drawn, shape (some draws, clusters)."""
    if clusters < 2:
        return
    generator = np.random.default_rng(seed)
    several = max(1, _CHUNK // clusters)
    for start in range(0, resamples, several):
        shares = np.full(clusters, 1.0 / clusters)
        yield generator.multinomial(clusters, shares, size=min(several, resamples - start)).astype(np.float64)


def _clustered_spearman(column: _Column, drawn: Sequence[Floats]) -> Floats:
    """Rho of each draw. Twice the ranks, less their mean, are whole numbers."""
    if not len(column.x):
        return np.full(sum(map(len, drawn)), np.nan)
    several = max(1, _CHUNK // len(column.x))
    found = []
    for block in drawn:
        for start in range(0, len(block), several):
            counts = block[start : start + several][:, column.clusters]
            ranks, squares = [], []
            for codes in (column.x, column.y):
                order = np.argsort(codes, kind="stable")
                tied = np.add.reduceat(counts[:, order], np.flatnonzero(np.diff(codes[order], prepend=-1)), axis=1)
                rank = 2.0 * np.cumsum(tied, axis=1) - tied - counts.sum(axis=1, keepdims=True)
                squares.append((tied * rank * rank).sum(axis=1))
                ranks.append(rank[:, codes])
            found.append(_quotient((counts * ranks[0] * ranks[1]).sum(axis=1), *squares))
    return np.concatenate(found)


def _clustered_kendall(column: _Column, drawn: Sequence[Floats]) -> Floats:
    """Tau-b of each draw. All sums run over ordered pairs, so each pair is in them twice."""
    size = drawn[0].shape[1]
    forms = np.zeros((3, size, size))
    rows = len(column.x)
    block = max(1, _CHUNK // max(1, rows))
    starts = np.flatnonzero(np.diff(column.clusters, prepend=-1))
    there = column.clusters[starts]
    for start in range(0, rows, block):
        some = slice(start, start + block)
        signs = [np.sign(np.subtract.outer(codes[some], codes)) for codes in (column.x, column.y)]
        for form, product in zip(forms, (signs[0] * signs[1], abs(signs[0]), abs(signs[1])), strict=True):
            by_cluster = np.add.reduceat(product, starts, axis=1).astype(np.float64)
            wide = np.zeros((len(by_cluster), size))
            wide[:, there] = by_cluster
            np.add.at(form, column.clusters[some], wide)
    sums = [np.concatenate([((block @ form) * block).sum(axis=1) for block in drawn]) for form in forms]
    return _quotient(*sums)
