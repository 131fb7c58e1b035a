"""How far two scores put the same rows (models, say) in the same order: Spearman's rho and Kendall's tau-b, with intervals.

Spearman's rho is Pearson's correlation of the ranks, equal values sharing the mean of their ranks (Spearman 1904, Am J
Psychol 15:72; ties as in Kendall 1945, Biometrika 33:239). Kendall's tau-b is (C - D) / sqrt((P - Tx) (P - Ty)), with C and D the
pairs of rows in the same and in opposite order, P all pairs, Tx and Ty those tied in the one and in the other score
(Kendall 1945). Both are made of whole numbers up to the last root and division, so that the same order gives exactly 1.

Not defined, and `nan`, with fewer than two rows or where a score is the same in all rows. Rows that lack one of the two
scores do not count.

The intervals are bootstrap intervals: rows are drawn with replacement, ranks and ties made anew from each draw; how ends
follow from the draws, and what happens where they do not vary, is in `resampling`. What such an interval says: where the
coefficient of a large population would lie, were these rows drawn from it at random. With the twenty models of a usual
comparison it is wide (about 0.8 from end to end for a rho of 0.6), and held the truth in 95 to 100 % of simulations, more
often with fewer rows (`benchmarks/correlation.py`). It knows nothing of the uncertainty of each score itself (the number of
questions behind it), and rows that are alike (models tuned from one base) make it too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.columns import Floats, Limits, as_column, check_same_length, check_whole
from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.resampling import Draws, interval_of

__all__ = ["FEWEST_ROWS", "RankCorrelation", "kendall_tau", "rank_correlation", "spearman_rho"]

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
