"""Repeated looks at one model: has it become worse, with at most 5 % false alarms over all looks?

A baseline run and later runs of the same items are a series. If the model has not
changed, the runs are exchangeable: on each item (note, patient) it is chance which of
them did better. From this alone follows the procedure, without any assumption about
sizes, metrics or how much answers vary:

1. `exchange_p` tests the newest run against all runs before it: each cluster's results
   are dealt to the runs anew. Of one earlier run and items that are right or wrong this
   is McNemar's exact test.
2. The p values of successive looks are independent (p of look k is a function of which
   results are the newest, given the unordered results of all; p of the looks before it
   of how the others are ordered). So their normal scores are, at worst, independent
   standard normal numbers, whatever the correlation that the shared baseline brings.
3. A change at look s shifts the scores of s and of all looks after it, by less and less
   (`_weights`), as the changed runs join what is compared with. `change_scores` adds the
   scores up with these weights and takes the largest over s: the likelihood ratio of a
   change at an unknown time. A change at the first look has a head start (`HEAD_START`):
   it is held against one run alone, however many looks follow.
4. That is held against a boundary (`boundaries`) for which the chance of ever crossing
   it grows evenly with the looks and ends at alpha after the last planned one, a spending
   function (Lan and DeMets 1983, Biometrika 70:659). Boundaries are computed by
   drawing independent normal numbers, always the same ones.

Boundaries of accumulating data (O'Brien and Fleming 1979; Pocock 1977; the recursion of
Armitage, McPherson and Rowe 1969) do not fit: looks share the baseline and nothing else,
so that two of them correlate by 1/2 however far apart. With 52 looks they raise a false
alarm in 15 to 18 % (measurements/site_monitor.py, which also says what the alternatives
find).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.averages import average_of
from medical_tasks.scoring.estimates import Floats
from medical_tasks.scoring.intervals import normal_quantile

ALPHA: Final = 0.05
"""The chance of a false `worse` over all planned looks."""
_DRAWS: Final = 100_000
_DEALS: Final = 20_000
_DEALS_AT_ONCE: Final = 500
_SEED: Final = 0
HEAD_START: Final = 0.5
"""Added to the score of a change at look 1, in standard deviations.

It costs a little power to find later changes at once and finds early ones more often by
the last look: measured in measurements/site_monitor.py.
"""
_SURE: Final = 1e-15
_ROUNDED: Final = 1e-9
_MOST_EXACT: Final = 200_000
"""How many different sums are counted out; beyond, results are dealt by chance."""


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """A metric of runs on the same items.

    Attributes:
        shares: of each ratio in the metric; one of 1 for a metric that is no average.
        sums: numerators and denominators in turns of each cluster, of shape (runs,
            columns, clusters); the newest run is the last.
        higher_is_better: of the metric.
    """

    shares: tuple[float, ...]
    sums: Floats
    higher_is_better: bool = True

    def until(self, run: int) -> SeriesTable:
        """The table of the runs up to one, which is the newest then."""
        return SeriesTable(self.shares, self.sums[: run + 1], self.higher_is_better)


def spent(before: float, left: int, alpha: float = ALPHA) -> float:
    """How much of alpha is spent after the next look: what is left, evenly over what is planned.

    Args:
        before: how much was spent before it.
        left: how many looks are planned, the next one included.
        alpha: in all.

    Example: the first of four looks, and the third when six are planned from then on.

        >>> round(spent(0.0, 4), 4), round(spent(0.025, 4), 5)
        (0.0125, 0.03125)
    """
    return before + (alpha - before) / left


def exchange_p(table: SeriesTable) -> tuple[float, float]:
    """The chance that the newest run is so much worse, and so much better, if nothing changed.

    Of results that count one each way it is exact, else that of `_DEALS` random deals,
    the one at hand included, which keeps the error rate whatever their number.

    Example: of 20 items nine are right in the baseline alone and one in the new run
        alone. That the new run has at most one of ten has the chance 11 / 1024.

        >>> before = [1.0] * 14 + [0.0] * 6
        >>> after = [1.0] * 5 + [0.0] * 9 + [1.0] + [0.0] * 5
        >>> sums = np.array([[before, [1.0] * 20], [after, [1.0] * 20]])
        >>> [round(p, 4) for p in exchange_p(SeriesTable((1.0,), sums))]
        [0.0107, 0.999]
    """
    lower, upper = _counted_out(table) or _dealt(table)
    return (lower, upper) if table.higher_is_better else (upper, lower)


def _counted_out(table: SeriesTable) -> tuple[float, float] | None:
    """The two tails by counting all deals; None where results are no small whole numbers."""
    if len(table.shares) != 1:
        return None

    above, below = table.sums[:, 0], table.sums[:, 1]
    whole = np.rint(above)
    if np.ptp(below, axis=0).any() or np.abs(above - whole).max(initial=0.0) > _ROUNDED:
        return None

    values = whole.astype(np.int64)
    values = values - values.min(axis=0)
    open_ = values[:, values.any(axis=0)]
    if int(open_.max(axis=0).sum() if open_.size else 0) > _MOST_EXACT:
        return None

    chances = np.ones(1)
    for cluster in open_.T:
        chances = np.convolve(chances, np.bincount(cluster) / len(cluster))

    seen = int(open_[-1].sum())
    lower, upper = chances[: seen + 1].sum(), chances[seen:].sum()
    return min(1.0, float(lower)), min(1.0, float(upper))


def _dealt(table: SeriesTable) -> tuple[float, float]:
    """The two tails by dealing each cluster's results to the runs by chance."""
    value = average_of(table.shares)
    runs, _, clusters = table.sums.shape
    total = table.sums.sum(axis=0).sum(axis=1)
    generator = np.random.default_rng((_SEED, runs))
    places = np.arange(clusters)

    def ahead(newest: Floats) -> Floats:
        """How far the newest run lies above the others, of sums of shape (deals, columns)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            far = value(*newest.T) - value(*(total - newest).T)

        return np.asarray(np.nan_to_num(far, nan=0.0, posinf=0.0, neginf=0.0))

    seen = ahead(table.sums[-1].sum(axis=1)[None])[0]
    below = above = 1
    for _ in range(_DEALS // _DEALS_AT_ONCE):
        who = generator.integers(runs, size=(_DEALS_AT_ONCE, clusters))
        newest = table.sums[who, :, places].sum(axis=1)
        far = ahead(newest)
        below += int((far <= seen + _ROUNDED).sum())
        above += int((far >= seen - _ROUNDED).sum())

    return below / (_DEALS + 1), above / (_DEALS + 1)


def normal_scores(p_values: Sequence[float]) -> Floats:
    """How many standard deviations each p value lies in its tail; above 0 for small ones."""
    inside = [min(max(p, _SURE), 1.0 - _SURE) for p in p_values]
    return np.array([-normal_quantile(p) for p in inside])


def change_scores(scores: Floats) -> tuple[Floats, npt.NDArray[np.intp]]:
    """After each look how clearly a change shows, and at which look it most likely came.

    Args:
        scores: of the looks in their order, in the last axis.

    Returns:
        The scores, of the same shape, and the look of the change, counted from 1.

    Example: nothing for two looks, then a drop that stays. At look 3 it shows by its
        own score alone; after look 4 both speak for a change at look 3. Before that
        there is the head start of look 1.

        >>> found, since = change_scores(np.array([0.0, 0.0, 2.0, 2.0]))
        >>> [round(float(each), 2) for each in found], since.tolist()
        ([0.5, 0.5, 2.0, 2.81], [1, 1, 3, 3])
    """
    looks = scores.shape[-1]
    weights = _weights(looks)
    sums = np.zeros((*scores.shape[:-1], looks))
    squares = np.zeros(looks)
    largest = np.empty(scores.shape)
    since = np.empty(scores.shape, dtype=np.intp)
    for look in range(looks):
        until = slice(look + 1)
        sums[..., until] += weights[until, look] * scores[..., look, None]
        squares[until] += weights[until, look] ** 2
        candidates = sums[..., until] / np.sqrt(squares[until])
        candidates[..., 0] += HEAD_START
        since[..., look] = candidates.argmax(axis=-1) + 1
        largest[..., look] = candidates.max(axis=-1)

    return largest, since


def _weights(looks: int) -> Floats:
    """How far a change at look s moves the score of look j: row s, column j, counted from 0.

    By look j the j runs before it are s of the old model (the baseline is one) and j - s
    of the new one. The newest lies s/j of the change from their mean, and its
    difference to it has the variance 1 + 1/j.
    """
    j = np.arange(1, looks + 1)
    s = j[:, None]
    return np.asarray(np.where(j >= s, s / j / np.sqrt(1.0 + 1.0 / j), 0.0))


Statistic = Callable[[Floats], Floats]
"""What is held against boundaries after each look, of independent scores in the last axis."""


def _change(scores: Floats) -> Floats:
    return change_scores(scores)[0]


def boundaries(
    cumulative: Sequence[float], *, statistic: Statistic = _change
) -> list[float]:
    """What a statistic must exceed at each look, so that the chance of crossing is as given.

    Args:
        cumulative: the chance of having crossed by each look, rising.
        statistic: which; by default that of `change_scores`.

    Example: at the first look, of which 1 % is spent, it is the normal quantile 2.33 and
        the head start.

        >>> round(boundaries([0.01])[0], 1)
        2.8
    """
    return list(_boundaries(tuple(cumulative), statistic))


@functools.lru_cache(maxsize=16)
def _boundaries(
    cumulative: tuple[float, ...], statistic: Statistic
) -> tuple[float, ...]:
    drawn = statistic(_paths(len(cumulative)))
    alive = np.ones(_DRAWS, dtype=np.bool_)
    limits: list[float] = []
    crossed = 0
    for look, chance in enumerate(cumulative):
        may = max(0, math.floor(chance * _DRAWS) - crossed)
        left = drawn[alive, look]
        limit = math.inf
        if may:
            limit = float(np.partition(left, len(left) - may - 1)[len(left) - may - 1])

        limits.append(limit)
        over = alive & (drawn[:, look] > limit)
        crossed += int(over.sum())
        alive &= ~over

    return tuple(limits)


def _paths(looks: int) -> Floats:
    """The same draws each time; more looks leave those of the first as they are."""
    columns = [
        np.random.default_rng((_SEED, look)).standard_normal(_DRAWS)
        for look in range(looks)
    ]
    return np.stack(columns, axis=-1)
