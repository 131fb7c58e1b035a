"""Rank correlation of two scores, Spearman's rho and Kendall's tau-b.

Sources: Spearman (1904), Am J Psychol 15:72; Kendall (1945), Biometrika 33:239.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.bootstrap import Draws, interval_of
from medical_tasks.scoring.estimates import (
    Clusters,
    Estimate,
    Floats,
    Limits,
    as_column,
    check_same_length,
    check_whole,
)
from medical_tasks.scoring.means import mean_interval

COEFFICIENT: Limits = (-1.0, 1.0)
_Codes = npt.NDArray[np.intp]
# Numbers in use at a time: draws x cells of one block, cells x cells of another.
_CHUNK = 2**20

FEWEST_ROWS: Final = 3
"""Fewer rows have no reported coefficient: of two, any two scores that tell them apart give 1 or
-1."""


@dataclass(frozen=True, kw_only=True)
class RankCorrelation:
    """Spearman's rho and Kendall's tau-b of two scores.

    `missing` rows lack one of them and did not count.
    """

    spearman: Estimate
    kendall: Estimate
    missing: int


@dataclass(frozen=True, eq=False)
class _Column:
    """Rows that have both scores.

    They are given as places in the order of each score, from 0, and the cluster each is
    drawn with.

    Attributes:
        clusters: Rising; numbers are those of all columns together.
    """

    x: _Codes
    y: _Codes
    clusters: _Codes


def spearman_rho(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's rho of two scores, ranks averaged where values are equal.

    Rows with a `nan` do not count.
    """
    column, counts, _ = _cells(x, y)
    return float(_spearman(column, [counts])[0])


def kendall_tau(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Kendall's tau-b of two scores, the version that takes ties into account.

    Rows with a `nan` do not count.
    """
    column, counts, _ = _cells(x, y)
    return float(_kendall(column, [counts])[0])


def rank_correlation(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    seed: int = 0,
    resamples: int = 2000,
    confidence: float = 0.95,
) -> RankCorrelation:
    """Both coefficients of two scores, with bootstrap intervals over the rows.

    A coefficient is `nan` where there is none: with fewer than `FEWEST_ROWS` rows, or
    where one score is the same in all of them.
    """
    seed, resamples = (
        check_whole("seed", seed, least=0),
        check_whole("resamples", resamples, least=100),
    )
    column, counts, missing = _cells(x, y)
    n = int(counts.sum())
    drawn = [counts, *_draws(n, counts[0] / max(n, 1), seed, resamples)]

    return _correlation(
        [column] if n >= FEWEST_ROWS else [], drawn, n, missing, float(n), confidence
    )


def clustered_correlation(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    clusters: Clusters,
    seed: int = 0,
    resamples: int = 2000,
) -> RankCorrelation:
    """Both coefficients of two scores, with bootstrap intervals over clusters.

    A coefficient is `nan` where there is none. Clusters are drawn whole, since outputs
    for one item are alike: drawn one by one, they would make intervals too narrow.
    """
    return _mean_over_columns([(x, y)], clusters, seed, resamples)


def among_annotators(
    scores: Sequence[npt.ArrayLike],
    *,
    clusters: Clusters,
    seed: int = 0,
    resamples: int = 2000,
) -> RankCorrelation:
    """Each annotator's scores against the mean of the others' (table 12).

    The coefficients are averaged over annotators.

    `scores` holds for each annotator one number an output, `nan` where it was not
    scored; `n` are the outputs that two or more scored. An annotator whose coefficient
    is not defined is in no mean.
    """
    columns = [
        as_column(f"scores[{place}]", column) for place, column in enumerate(scores)
    ]
    check_same_length(
        **{f"scores[{place}]": column for place, column in enumerate(columns)},
        clusters=clusters,
    )
    pairs: list[tuple[npt.ArrayLike, npt.ArrayLike]] = []
    for place, own in enumerate(columns):
        pairs.append(
            (own, mean_score([*columns[:place], *columns[place + 1 :]], len(clusters)))
        )

    return _mean_over_columns(pairs, clusters, seed, resamples)


def mean_score(scores: Sequence[Floats], outputs: int) -> Floats:
    """Each output's mean over those who scored it, `nan` where nobody did."""
    table = np.array(scores).reshape(len(scores), outputs)
    there = (~np.isnan(table)).sum(axis=0)
    # Added up in the order of size, so that equal means are equal to the last digit
    # whoever gave which score.
    sums = np.sort(np.nan_to_num(table), axis=0).sum(axis=0)
    return np.asarray(
        np.divide(sums, there, out=np.full(outputs, np.nan), where=there > 0)
    )


def mean_tau_within(
    one: Floats,
    other: Floats,
    *,
    items: Sequence[Hashable],
    clusters: Clusters,
) -> Estimate:
    """Kendall's tau-b among the outputs of each item, averaged over items.

    `one` and `other` are `preferences.preference_signs` with `epsilon=0`, `items` and
    `clusters` those of each pair. `n` are the items for which neither metric is always
    the same.
    """
    check_same_length(one=one, other=other, items=items, clusters=clusters)
    numbers: dict[Hashable, int] = {}
    codes = np.array(
        [numbers.setdefault(item, len(numbers)) for item in items], dtype=np.intp
    )
    known = ~np.isnan(one * other)
    a, b, kept = one[known], other[known], codes[known]
    surplus, first, second = (
        np.bincount(kept, weights=weights, minlength=len(numbers))
        for weights in (a * b, a * a, b * b)
    )
    below = np.sqrt(first * second)
    taus = np.divide(
        surplus, below, out=np.full(len(numbers), np.nan), where=below > 0.0
    )
    of_item = dict(zip(items, clusters, strict=True))
    labels = [of_item[item] for item in numbers]

    return mean_interval(taus, clusters=labels, limits=COEFFICIENT)


def _mean_over_columns(
    pairs: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    clusters: Clusters,
    seed: int,
    resamples: int,
) -> RankCorrelation:
    """The coefficients of several pairs of scores, averaged; all of them from the same draws.

    The interval is of the mean: each draw of clusters gives one mean of the pairs'
    coefficients.
    """
    seed, resamples = (
        check_whole("seed", seed, least=0),
        check_whole("resamples", resamples, least=100),
    )
    both = [(as_column("x", x), as_column("y", y)) for x, y in pairs]
    for x, y in both:
        check_same_length(x=x, y=y, clusters=clusters)

    stacked = np.array(both, dtype=np.float64).reshape(len(pairs), 2, len(clusters))
    counted: npt.NDArray[np.bool_] = np.asarray(
        (~np.isnan(stacked).any(axis=1)).any(axis=0)
    )
    n = int(counted.sum())
    order, codes = _grouped(
        stacked[:, :, counted],
        [name for name, is_in in zip(clusters, counted, strict=True) if is_in],
    )
    columns = [
        _column(stacked[place][:, counted][:, order], codes)
        for place in range(len(pairs))
    ]
    sizes = np.bincount(codes).astype(np.float64)
    k = len(sizes)
    drawn = [np.ones((1, k)), *_draws(k, np.full(k, 1.0 / max(k, 1)), seed, resamples)]
    effective = float(sizes.sum() ** 2 / (sizes**2).sum()) if n else 0.0
    columns = [column for column in columns if len(column.x) >= FEWEST_ROWS]

    return _correlation(columns, drawn, n, len(counted) - n, effective)


def _correlation(
    columns: Sequence[_Column],
    drawn: Sequence[Floats],
    n: int,
    missing: int,
    effective: float,
    confidence: float = 0.95,
) -> RankCorrelation:
    """Both coefficients, averaged over columns; the first row of `drawn` is the data themselves."""
    estimates = []
    for coefficient in (_spearman, _kendall):
        found = _averaged([coefficient(column, drawn) for column in columns])
        value = float(found[0]) if len(found) else math.nan
        ends = interval_of(
            Draws(value, found[1:], effective),
            confidence=confidence,
            limits=COEFFICIENT,
        )
        estimates.append(Estimate(value, *ends, n))

    return RankCorrelation(spearman=estimates[0], kendall=estimates[1], missing=missing)


def _averaged(columns: Sequence[Floats]) -> Floats:
    """Mean over columns of those values that are defined, shape (draws,)."""
    if not len(columns):
        return np.empty(0)
    table = np.stack(columns)
    defined = (~np.isnan(table)).sum(axis=0)
    sums = np.nan_to_num(table).sum(axis=0)
    mean = np.divide(
        sums, defined, out=np.full(table.shape[1], np.nan), where=defined > 0
    )
    return np.asarray(np.clip(mean, *COEFFICIENT))


def _cells(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[_Column, Floats, int]:
    """Counts the rows of each pair of values, so that a resample draws counts.

    x and y may change sides without changing the draws: of the two orders the smaller
    one is taken.

    Returns:
        The different pairs as ranks; how often each stands; how many rows lack a value.
    """
    one, other = as_column("x", x), as_column("y", y)
    check_same_length(x=one, y=other)
    complete = ~(np.isnan(one) | np.isnan(other))
    codes = [
        np.unique(column[complete], return_inverse=True)[1].reshape(-1)
        for column in (one, other)
    ]
    tables = [
        np.unique(np.stack(pair, axis=1), axis=0, return_counts=True)
        for pair in (codes, codes[::-1])
    ]
    pairs, counts = min(
        tables, key=lambda table: (table[0].tolist(), table[1].tolist())
    )
    column = _Column(x=pairs[:, 0], y=pairs[:, 1], clusters=np.arange(len(pairs)))

    return column, counts[np.newaxis].astype(np.float64), int((~complete).sum())


def _grouped(stacked: Floats, names: Clusters) -> tuple[_Codes, _Codes]:
    """Rows in an order of their own values, and the number of each one's cluster.

    Neither the rows' order nor the clusters' names show in the draws: the same data in
    another order have the same interval.
    """
    keys = (
        np.nan_to_num(stacked, nan=-np.inf)
        .reshape(2 * len(stacked), len(names))
        .T.tolist()
    )
    members: dict[Hashable, list[int]] = {}
    for row, name in enumerate(names):
        members.setdefault(name, []).append(row)

    inside = [sorted(rows, key=lambda row: keys[row]) for rows in members.values()]
    inside.sort(key=lambda rows: [keys[row] for row in rows])
    order = np.array([row for rows in inside for row in rows], dtype=np.intp)

    return order, np.repeat(np.arange(len(inside)), [len(rows) for rows in inside])


def _column(scores: Floats, clusters: _Codes) -> _Column:
    whole = ~np.isnan(scores).any(axis=0)
    x, y = (
        np.unique(score[whole], return_inverse=True)[1].reshape(-1) for score in scores
    )
    return _Column(x=x, y=y, clusters=clusters[whole])


def _draws(n: int, shares: Floats, seed: int, resamples: int) -> Iterator[Floats]:
    """How often each cluster occurs among `n` drawn with replacement.

    The shape is (some draws, clusters).
    """
    if n < 2:
        return

    generator = np.random.default_rng(seed)
    several = max(1, _CHUNK // len(shares))
    for start in range(0, resamples, several):
        yield generator.multinomial(
            n, shares, size=min(several, resamples - start)
        ).astype(np.float64)


def _by_row(column: _Column, drawn: Sequence[Floats]) -> Iterator[Floats]:
    """How often each row is drawn, shape (some draws, rows)."""
    several = max(1, _CHUNK // max(1, len(column.x)))
    for block in drawn:
        for start in range(0, len(block), several):
            yield block[start : start + several][:, column.clusters]


def _spearman(column: _Column, drawn: Sequence[Floats]) -> Floats:
    """Rho of each draw, shape (draws,). Twice the ranks, less their mean, are whole numbers."""
    found = []
    for counts in _by_row(column, drawn):
        ranks, squares = [], []
        for codes in (column.x, column.y):
            tied = _tied(counts, codes)
            rank = (
                2.0 * np.cumsum(tied, axis=1) - tied - counts.sum(axis=1, keepdims=True)
            )
            squares.append((tied * rank * rank).sum(axis=1))
            ranks.append(rank[:, codes])

        found.append(_quotient((counts * ranks[0] * ranks[1]).sum(axis=1), *squares))

    return np.concatenate(found)


def _kendall(column: _Column, drawn: Sequence[Floats]) -> Floats:
    """Tau-b of each draw, shape (draws,).

    All sums run over ordered pairs, so each pair is in them twice.
    """
    surplus = [np.zeros(len(counts)) for counts in drawn]
    rows = len(column.x)
    starts = _firsts(column.clusters)
    there = column.clusters[starts]
    block = max(1, _CHUNK // max(1, rows))
    for start in range(0, rows, block):
        some = slice(start, start + block)
        signs = np.sign(
            np.subtract.outer(column.x[some], column.x)
            * np.subtract.outer(column.y[some], column.y)
        )
        here = _firsts(column.clusters[some])
        form = np.add.reduceat(
            np.add.reduceat(signs, starts, axis=1), here, axis=0
        ).astype(np.float64)
        own = column.clusters[some][here]
        for total, counts in zip(surplus, drawn, strict=True):
            total += ((counts[:, there] @ form.T) * counts[:, own]).sum(axis=1)

    untied = []
    for codes in (column.x, column.y):
        pairs = [
            counts.sum(axis=1) ** 2 - (_tied(counts, codes) ** 2).sum(axis=1)
            for counts in _by_row(column, drawn)
        ]
        untied.append(np.concatenate(pairs))

    return _quotient(np.concatenate(surplus), *untied)


def _firsts(codes: _Codes) -> npt.NDArray[np.intp]:
    """Where each run of equal codes begins."""
    return np.flatnonzero(np.diff(codes, prepend=-1))


def _tied(counts: Floats, codes: _Codes) -> Floats:
    if not len(codes):
        return np.zeros((len(counts), 0))
    order = np.argsort(codes, kind="stable")
    return np.asarray(np.add.reduceat(counts[:, order], _firsts(codes[order]), axis=1))


def _quotient(above: Floats, one: Floats, other: Floats) -> Floats:
    """The first over the root of the others' product; `nan` where that is 0."""
    below = np.sqrt(one * other)
    return np.asarray(
        np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0.0)
    )
