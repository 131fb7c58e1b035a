"""Repeated looks at one model: has it become worse, with at most 5 % false alarms over all looks?

A baseline run and later runs of the same items form a series. If the model has not
changed, the runs are exchangeable: on each item (note, patient) chance decides which run
does better. The procedure follows from this alone, without assumptions about sizes,
metrics or the variation of answers:

1. `exchange_p` tests the newest run against all earlier ones by permuting each cluster's
   results among the runs. With one earlier run and items that are right or wrong this is
   McNemar's exact test.
2. The p values of successive looks are independent: given the unordered results, that of
   look k depends on which results are the newest, and those of earlier looks on the order
   of the others. So their normal scores are, at worst, independent standard normal
   numbers, whatever the correlation by the shared baseline.
3. A change at look s shifts the scores of s and of all later looks, by less and less
   (`_weights`), as the changed runs become part of the comparison. `change_scores` adds
   the scores up with these weights and takes the largest sum over s: the likelihood ratio
   of a change at an unknown time. A change at the first look has a head start
   (`HEAD_START`), since it is compared with one run alone, however many looks follow.
4. The largest sum is compared with a boundary (`boundaries`). The probability of ever
   crossing it grows evenly with the looks and reaches alpha after the last planned one, a
   spending function (Lan and DeMets 1983, Biometrika 70:659). Boundaries are simulated
   from independent normal numbers, always the same ones.

Boundaries of accumulating data (O'Brien and Fleming 1979; Pocock 1977; the recursion of
Armitage, McPherson and Rowe 1969) do not fit: looks share the baseline and nothing else,
so any two of them correlate by 1/2. With 52 looks they raise a false alarm in 15 to 18 %
(measurements/site_monitor.py, which also measures the power of the alternatives).
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
"""The probability of a false `worse` over all planned looks."""
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
"""The most different sums for an exact count; beyond, permutations are drawn at random."""


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """A metric of runs on the same items.

    Attributes:
        shares: the weight of each ratio in the metric; a single 1 unless the metric is
            an average of ratios.
        sums: alternating numerators and denominators by cluster, an array of shape
            (runs, columns, clusters); the newest run is the last.
        higher_is_better: whether a higher value of the metric is better.
    """

    shares: tuple[float, ...]
    sums: Floats
    higher_is_better: bool = True

    def until(self, run: int) -> SeriesTable:
        """The table of the runs up to one, which is then the newest."""
        return SeriesTable(self.shares, self.sums[: run + 1], self.higher_is_better)


def spent(before: float, left: int, alpha: float = ALPHA) -> float:
    """The alpha spent after the next look, if the rest is spent evenly over the planned looks.

    Args:
        before: the alpha spent before it.
        left: the number of planned looks, including the next one.
        alpha: the total alpha.

    Example: the first of four looks, and the third when six are planned from then on.

        >>> round(spent(0.0, 4), 4), round(spent(0.025, 4), 5)
        (0.0125, 0.03125)
    """
    return before + (alpha - before) / left


def exchange_p(table: SeriesTable) -> tuple[float, float]:
    """The one-sided p values for the newest run being worse, and being better.

    They are exact for whole-numbered results, else from `_DEALS` random permutations,
    including the observed one, which keeps the error rate whatever their number.

    Example: of 20 items nine are right in the baseline alone and one in the new run
        alone. The new run has at most one of these ten with probability 11 / 1024.

        >>> before = [1.0] * 14 + [0.0] * 6
        >>> after = [1.0] * 5 + [0.0] * 9 + [1.0] + [0.0] * 5
        >>> sums = np.array([[before, [1.0] * 20], [after, [1.0] * 20]])
        >>> [round(p, 4) for p in exchange_p(SeriesTable((1.0,), sums))]
        [0.0107, 0.999]
    """
    lower, upper = _counted_out(table) or _dealt(table)
    return (lower, upper) if table.higher_is_better else (upper, lower)


def _counted_out(table: SeriesTable) -> tuple[float, float] | None:
    """The two tails over all permutations; None unless results are small whole numbers.

    Without a change, the newest run's result in a cluster is equally likely to be that of
    any of the runs. Clusters are independent, so the distribution of its sum is the
    convolution of their distributions.

    Example: two runs of two items, both right before and both wrong now. The newest run has
        no right answer in one of the four permutations.

        >>> sums = np.array([[[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]])
        >>> _counted_out(SeriesTable((1.0,), sums))
        (0.25, 1.0)
    """
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
    """The two tails over random permutations of each cluster's results among the runs.

    For what `_counted_out` leaves: varying denominators, averages of metrics, fractional
    results, and sums too large to count. The observed arrangement counts as one of the
    permutations (`below` and `above` begin at 1), so that no tail is 0.
    """
    value = average_of(table.shares)
    runs, _, clusters = table.sums.shape
    total = table.sums.sum(axis=0).sum(axis=1)
    generator = np.random.default_rng((_SEED, runs))
    places = np.arange(clusters)

    def ahead(newest: Floats) -> Floats:
        """The newest run less the others, for sums of shape (permutations, columns)."""
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
    """The normal quantile of each p value, positive for small ones.

    Example: no evidence, and the 2.5 % that a 95 % interval leaves on each side.

        >>> [abs(round(float(score), 2)) for score in normal_scores([0.5, 0.025])]
        [0.0, 1.96]
    """
    inside = [min(max(p, _SURE), 1.0 - _SURE) for p in p_values]
    return np.array([-normal_quantile(p) for p in inside])


def change_scores(scores: Floats) -> tuple[Floats, npt.NDArray[np.intp]]:
    """The evidence of a change after each look, and the look at which it most likely came.

    Args:
        scores: the scores of the looks in order, in the last axis.

    Returns:
        The statistics, of the same shape, and the looks of the change, counted from 1.

    Example: no change for two looks, then a lasting drop. At look 3 only its own score
        shows it; at look 4 both scores speak for a change at look 3. Before that only
        the head start of look 1 counts.

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
    """The shift of look j's score by a change at look s: row s, column j, counted from 0.

    Of the j runs before look j, s are of the old model, including the baseline, and j - s
    of the new one. The newest run differs from their mean by s/j of the change, and this
    difference has the variance 1 + 1/j.
    """
    j = np.arange(1, looks + 1)
    s = j[:, None]
    return np.asarray(np.where(j >= s, s / j / np.sqrt(1.0 + 1.0 / j), 0.0))


Statistic = Callable[[Floats], Floats]
"""Maps independent scores, in the last axis, to the statistic after each look."""


def _change(scores: Floats) -> Floats:
    return change_scores(scores)[0]


def boundaries(
    cumulative: Sequence[float], *, statistic: Statistic = _change
) -> list[float]:
    """The limits that a statistic crosses with the given probabilities.

    Args:
        cumulative: the rising probabilities of having crossed by each look.
        statistic: the statistic; by default that of `change_scores`.

    Example: if 1 % is spent at the first look, the limit is the normal quantile 2.33
        plus the head start.

        >>> round(boundaries([0.01])[0], 1)
        2.8
    """
    return list(_boundaries(tuple(cumulative), statistic))


@functools.lru_cache(maxsize=16)
def _boundaries(
    cumulative: tuple[float, ...], statistic: Statistic
) -> tuple[float, ...]:
    """Finds the limits by simulating scores without a change.

    A look's limit is where just the planned share of all draws has crossed it or an earlier
    one. A look that may spend less than one draw has no limit (infinity).
    """
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
    """Draws that are always the same; more looks do not change those of the first."""
    columns = [
        np.random.default_rng((_SEED, look)).standard_normal(_DRAWS)
        for look in range(looks)
    ]
    return np.stack(columns, axis=-1)
