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
    equal_clusters,
)
from medical_tasks.scoring.means import mean_interval

COEFFICIENT: Limits = (-1.0, 1.0)
_Codes = npt.NDArray[np.intp]
# Numbers in use at a time: draws x cells of one block, cells x cells of another.
_CHUNK = 2**20

FEWEST_ROWS: Final = 3
"""No coefficient is reported for fewer rows: with two rows it is 1 or -1 for any two different
scores."""


@dataclass(frozen=True, kw_only=True)
class RankCorrelation:
    """Spearman's rho and Kendall's tau-b of two scores.

    Attributes:
        spearman: rho, the correlation of the ranks.
        kendall: tau-b, from the pairs of rows that both order in the same or in opposite ways.
        missing: the number of rows without both scores, which do not count.
    """

    spearman: Estimate
    kendall: Estimate
    missing: int


@dataclass(frozen=True, eq=False)
class _Column:
    """Rows with both scores.

    Attributes:
        x: The rank of each row in the first score, from 0.
        y: The rank in the second score.
        clusters: The cluster of each row, rising; numbered for all columns together.
    """

    x: _Codes
    y: _Codes
    clusters: _Codes


def spearman_rho(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's rho of two scores; equal values have their average rank.

    Rows with a `nan` do not count.

    Example:
        >>> spearman_rho([1, 2, 3, 4], [1, 3, 2, 4])
        0.8
    """
    column, counts, _ = _cells(x, y)
    return float(_spearman(column, [counts])[0])


def kendall_tau(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Kendall's tau-b of two scores, which accounts for ties.

    Rows with a `nan` do not count.

    Example:
        Of six pairs, five have the same order in both scores and one the opposite:
        (5 - 1) / 6. With a tie in the first score, its pair is left out of one factor of
        the denominator: 5 / sqrt(5 * 6).

        >>> round(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4]), 3)
        0.667
        >>> round(kendall_tau([1, 1, 2, 3], [1, 2, 3, 4]), 3)
        0.913
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

    A coefficient is `nan` if it is not defined: with fewer than `FEWEST_ROWS` rows, or
    if one score is the same in all of them.
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

    A coefficient is `nan` if it is not defined. Clusters are drawn whole, since outputs
    for one item are alike: drawing them one by one would make intervals too narrow.
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

    `scores` holds for each annotator one number an output, `nan` if it was not scored;
    `n` is the number of outputs that two or more scored. An annotator whose coefficient
    is not defined is left out of the mean.
    """
    columns = [
        as_column(f"scores[{index}]", column) for index, column in enumerate(scores)
    ]
    check_same_length(
        **{f"scores[{index}]": column for index, column in enumerate(columns)},
        clusters=clusters,
    )
    pairs: list[tuple[npt.ArrayLike, npt.ArrayLike]] = []
    for index, own in enumerate(columns):
        pairs.append(
            (own, mean_score([*columns[:index], *columns[index + 1 :]], len(clusters)))
        )

    return _mean_over_columns(pairs, clusters, seed, resamples)


def mean_score(scores: Sequence[Floats], outputs: int) -> Floats:
    """The mean of each output over those who scored it, `nan` if nobody did.

    Example:
        >>> nan = float("nan")
        >>> mean_score([np.array([1.0, nan, nan]), np.array([3.0, 2.0, nan])], 3).tolist()
        [2.0, 2.0, nan]
    """
    table = np.array(scores).reshape(len(scores), outputs)
    counts = (~np.isnan(table)).sum(axis=0)
    # Summed in the order of size, so that equal means are equal to the last digit,
    # whatever the order of the scores.
    sums = np.sort(np.nan_to_num(table), axis=0).sum(axis=0)
    return np.asarray(
        np.divide(sums, counts, out=np.full(outputs, np.nan), where=counts > 0)
    )


def mean_tau_within(
    first_signs: Floats,
    second_signs: Floats,
    *,
    items: Sequence[Hashable],
    clusters: Clusters,
) -> Estimate:
    """Kendall's tau-b among the outputs of each item, averaged over items.

    `first_signs` and `second_signs` are `preferences.preference_signs` with `epsilon=0`, `items` and
    `clusters` those of each pair. `n` is the number of items for which neither metric is always
    the same.

    For the signs a and b of an item's pairs, tau-b is sum(a b) / sqrt(sum(a a) sum(b b)).

    Example:
        Three outputs of one item have the pairs 1-2, 1-3 and 2-3. Two metrics order the
        first two pairs in the same way and the third in opposite ways: tau is 1/3.
    """
    check_same_length(
        first_signs=first_signs,
        second_signs=second_signs,
        items=items,
        clusters=clusters,
    )
    item_codes: dict[Hashable, int] = {}
    codes = np.array(
        [item_codes.setdefault(item, len(item_codes)) for item in items], dtype=np.intp
    )
    defined = ~np.isnan(first_signs * second_signs)
    a, b, pair_codes = first_signs[defined], second_signs[defined], codes[defined]
    surplus, first, second = (
        np.bincount(pair_codes, weights=weights, minlength=len(item_codes))
        for weights in (a * b, a * a, b * b)
    )
    below = np.sqrt(first * second)
    taus = np.divide(
        surplus, below, out=np.full(len(item_codes), np.nan), where=below > 0.0
    )
    item_clusters = dict(zip(items, clusters, strict=True))
    labels = [item_clusters[item] for item in item_codes]

    return mean_interval(taus, clusters=labels, limits=COEFFICIENT)


def _mean_over_columns(
    pairs: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    clusters: Clusters,
    seed: int,
    resamples: int,
) -> RankCorrelation:
    """Averages the coefficients of several pairs of scores, all from the same draws.

    The interval is that of the mean: each draw of clusters gives one mean of the pairs'
    coefficients.
    """
    seed, resamples = (
        check_whole("seed", seed, least=0),
        check_whole("resamples", resamples, least=100),
    )
    scores = [(as_column("x", x), as_column("y", y)) for x, y in pairs]
    for x, y in scores:
        check_same_length(x=x, y=y, clusters=clusters)

    stacked = np.array(scores, dtype=np.float64).reshape(len(pairs), 2, len(clusters))
    has_score: npt.NDArray[np.bool_] = np.asarray(
        (~np.isnan(stacked).any(axis=1)).any(axis=0)
    )
    n = int(has_score.sum())
    order, codes = _grouped(
        stacked[:, :, has_score],
        [name for name, is_in in zip(clusters, has_score, strict=True) if is_in],
    )
    columns = [
        _column(stacked[index][:, has_score][:, order], codes)
        for index in range(len(pairs))
    ]
    sizes = np.bincount(codes)
    k = len(sizes)
    drawn = [np.ones((1, k)), *_draws(k, np.full(k, 1.0 / max(k, 1)), seed, resamples)]
    effective = equal_clusters(sizes) if n else 0.0
    columns = [column for column in columns if len(column.x) >= FEWEST_ROWS]

    return _correlation(columns, drawn, n, len(has_score) - n, effective)


def _correlation(
    columns: Sequence[_Column],
    drawn: Sequence[Floats],
    n: int,
    missing: int,
    effective: float,
    confidence: float = 0.95,
) -> RankCorrelation:
    """Both coefficients, averaged over columns; the first row of `drawn` is the data itself."""
    estimates = []
    for coefficient in (_spearman, _kendall):
        coefficients = _averaged([coefficient(column, drawn) for column in columns])
        value = float(coefficients[0]) if len(coefficients) else math.nan
        ends = interval_of(
            Draws(value, coefficients[1:], effective),
            confidence=confidence,
            limits=COEFFICIENT,
        )
        estimates.append(Estimate(value, *ends, n))

    return RankCorrelation(spearman=estimates[0], kendall=estimates[1], missing=missing)


def _averaged(columns: Sequence[Floats]) -> Floats:
    """The mean of the defined values over columns, shape (draws,)."""
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

    Exchanging x and y does not change the draws: the smaller of the two orders is used.

    Returns:
        The distinct pairs as ranks; their counts; the number of rows without a value.

    Example:
        The first two rows are one pair of values, and the last has no first value:

        >>> column, counts, missing = _cells([1, 1, 2, math.nan], [5, 5, 7, 1])
        >>> column.x.tolist(), column.y.tolist(), counts.tolist(), missing
        ([0, 1], [0, 1], [[2.0, 1.0]], 1)
    """
    first, second = as_column("x", x), as_column("y", y)
    check_same_length(x=first, y=second)
    complete = ~(np.isnan(first) | np.isnan(second))
    codes = [
        np.unique(column[complete], return_inverse=True)[1].reshape(-1)
        for column in (first, second)
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
    """Orders rows by their own values, and numbers their clusters.

    Neither the order of the rows nor the clusters' names affect the draws: the same data
    in another order have the same interval.
    """
    keys = (
        np.nan_to_num(stacked, nan=-np.inf)
        .reshape(2 * len(stacked), len(names))
        .T.tolist()
    )
    members: dict[Hashable, list[int]] = {}
    for row, name in enumerate(names):
        members.setdefault(name, []).append(row)

    groups = [sorted(rows, key=lambda row: keys[row]) for rows in members.values()]
    groups.sort(key=lambda rows: [keys[row] for row in rows])
    order = np.array([row for rows in groups for row in rows], dtype=np.intp)

    return order, np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])


def _column(scores: Floats, clusters: _Codes) -> _Column:
    whole = ~np.isnan(scores).any(axis=0)
    x, y = (
        np.unique(score[whole], return_inverse=True)[1].reshape(-1) for score in scores
    )
    return _Column(x=x, y=y, clusters=clusters[whole])


def _draws(n: int, shares: Floats, seed: int, resamples: int) -> Iterator[Floats]:
    """Yields how often each cluster is drawn among `n` with replacement, shape (draws, clusters)."""
    if n < 2:
        return

    generator = np.random.default_rng(seed)
    chunk = max(1, _CHUNK // len(shares))
    for start in range(0, resamples, chunk):
        yield generator.multinomial(
            n, shares, size=min(chunk, resamples - start)
        ).astype(np.float64)


def _by_row(column: _Column, drawn: Sequence[Floats]) -> Iterator[Floats]:
    """Yields how often each row is drawn, shape (draws, rows)."""
    chunk = max(1, _CHUNK // max(1, len(column.x)))
    for block in drawn:
        for start in range(0, len(block), chunk):
            yield block[start : start + chunk][:, column.clusters]


def _spearman(column: _Column, drawn: Sequence[Floats]) -> Floats:
    """Rho of each draw, shape (draws,).

    A draw's rank of a value is the mean place of its drawn rows. Twice the rank, centred,
    is a whole number (2 cumulative count - own count - n), so that sums are exact.
    """
    coefficients = []
    for counts in _by_row(column, drawn):
        ranks, squares = [], []
        for codes in (column.x, column.y):
            tied = _tied(counts, codes)
            rank = (
                2.0 * np.cumsum(tied, axis=1) - tied - counts.sum(axis=1, keepdims=True)
            )
            squares.append((tied * rank * rank).sum(axis=1))
            ranks.append(rank[:, codes])

        coefficients.append(
            _quotient((counts * ranks[0] * ranks[1]).sum(axis=1), *squares)
        )

    return np.concatenate(coefficients)


def _kendall(column: _Column, drawn: Sequence[Floats]) -> Floats:
    """Tau-b of each draw, shape (draws,).

    All sums are over ordered pairs, so each pair counts twice. Concordant minus discordant
    pairs of a draw are a quadratic form c' S c: c has how often each cluster is drawn, and
    S the sum of the signs of all pairs between two clusters. S is made in blocks of rows,
    so that memory does not grow with the square of the rows.
    """
    surplus = [np.zeros(len(counts)) for counts in drawn]
    rows = len(column.x)
    starts = _firsts(column.clusters)
    cluster_ids = column.clusters[starts]
    block = max(1, _CHUNK // max(1, rows))
    for start in range(0, rows, block):
        block_rows = slice(start, start + block)
        signs = np.sign(
            np.subtract.outer(column.x[block_rows], column.x)
            * np.subtract.outer(column.y[block_rows], column.y)
        )
        run_starts = _firsts(column.clusters[block_rows])
        form = np.add.reduceat(
            np.add.reduceat(signs, starts, axis=1), run_starts, axis=0
        ).astype(np.float64)
        own = column.clusters[block_rows][run_starts]
        for total, counts in zip(surplus, drawn, strict=True):
            total += ((counts[:, cluster_ids] @ form.T) * counts[:, own]).sum(axis=1)

    untied = []
    for codes in (column.x, column.y):
        pairs = [
            counts.sum(axis=1) ** 2 - (_tied(counts, codes) ** 2).sum(axis=1)
            for counts in _by_row(column, drawn)
        ]
        untied.append(np.concatenate(pairs))

    return _quotient(np.concatenate(surplus), *untied)


def _firsts(codes: _Codes) -> npt.NDArray[np.intp]:
    """Returns the start of each run of equal codes."""
    return np.flatnonzero(np.diff(codes, prepend=-1))


def _tied(counts: Floats, codes: _Codes) -> Floats:
    """Returns how many drawn rows have each distinct value, shape (draws, values).

    `codes` are the rows' values as ranks, from 0 without gaps.
    """
    if not len(codes):
        return np.zeros((len(counts), 0))
    order = np.argsort(codes, kind="stable")
    return np.asarray(np.add.reduceat(counts[:, order], _firsts(codes[order]), axis=1))


def _quotient(numerator: Floats, first: Floats, second: Floats) -> Floats:
    """Divides by the root of the product of `first` and `second`; `nan` where that is 0."""
    denominator = np.sqrt(first * second)
    return np.asarray(
        np.divide(
            numerator,
            denominator,
            out=np.full(len(numerator), np.nan),
            where=denominator > 0.0,
        )
    )
