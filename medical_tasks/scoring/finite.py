"""Estimates for a whole finite set from a stratified sample: allocation, estimate, interval.

The items' values are fixed; only the selection of the sample is random. So the interval
narrows to the value itself as the sample grows to the set. Estimates are ratios of
weighted sums over units (items, or clusters drawn whole) with linearised variances
(Cochran 1977, Sampling Techniques, chapters 5 and 6).

A proportion has Wilson's interval at the effective sample size, with Korn and
Graubard's t (see `intervals`), any other statistic its score interval (`means`). A
stratum of few units may show no variance by chance, so the variance of each stratum
includes its share of one more unit that varies like the units of all strata. Without
any variance, the share of units that may differ unseen is set to the limits (`means`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.averages import total_of
from medical_tasks.scoring.estimates import UNIT, Estimate, Limits
from medical_tasks.scoring.intervals import normal_quantile, student_quantile, wilson
from medical_tasks.scoring.means import ROUNDING, finite_end, score_ends, unseen_share
from medical_tasks.spec import Item, TaskSpec

_LEAST = 2  # units drawn of a stratum, for a variance
_TAIL = 0.025


class Strata(NamedTuple):
    """The strata of a set.

    Attributes:
        of_cell: the index of each cell's stratum.
        units: the number of the set's units in each stratum.
        drawn: the number of those in the sample.
    """

    of_cell: Mapping[str, int]
    units: Sequence[int]
    drawn: Sequence[int]


def allocate(sizes: Mapping[str, int], drawn: int) -> Strata:
    """Allocates a sample to strata in proportion to their sizes.

    Cells too small for two units are joined with the next ones by name. Every stratum
    has its share rounded down; the rest goes to the largest remainders.

    Args:
        sizes: the number of the set's units in each cell.
        drawn: the number of units to draw.

    Example:
        A sample of 20 in 93 would have fewer than one of the 3 newborns, so they are
        drawn together with the children:

        >>> strata = allocate({"adult": 60, "child": 30, "newborn": 3}, 20)
        >>> strata.of_cell["child"] == strata.of_cell["newborn"]
        True
        >>> strata.units, strata.drawn
        ([60, 33], [13, 7])
    """
    total = sum(sizes.values())
    of_cell: dict[str, int] = {}
    units: list[int] = []
    for cell in sorted(sizes):
        if units and units[-1] * drawn < _LEAST * total:
            units[-1] += sizes[cell]
        else:
            units.append(sizes[cell])

        of_cell[cell] = len(units) - 1

    if len(units) > 1 and units[-1] * drawn < _LEAST * total:
        units[-2:] = [units[-2] + units[-1]]
        of_cell = {cell: min(index, len(units) - 1) for cell, index in of_cell.items()}

    shares = [divmod(size * drawn, total) for size in units]
    left = drawn - sum(whole for whole, _ in shares)
    rounded_up = sorted(range(len(units)), key=lambda index: -shares[index][1])[:left]

    return Strata(
        of_cell,
        units,
        [whole + (index in rounded_up) for index, (whole, _) in enumerate(shares)],
    )


def unit_of(task: TaskSpec, item: Item) -> str:
    """The unit that is drawn with an item: the item or its whole cluster."""
    return item.cluster if task.drawn_whole else item.id


def cell_of(task: TaskSpec, item: Item) -> str:
    """The finest stratum of an item."""
    values = (item.groups[by] for by in task.strata)
    return " / ".join(
        groups if isinstance(groups, str) else " ".join(groups) for groups in values
    )


def strata_of(
    task: TaskSpec, items: Sequence[Item], drawn: Mapping[str, Any]
) -> tuple[list[int], Sequence[int]]:
    """The stratum of each item of a sample, from its recipe, and the set's units in each stratum."""
    strata = allocate(drawn["strata"], drawn["drawn"])
    cells: dict[str, str] = {}
    for item in items:
        cells.setdefault(unit_of(task, item), cell_of(task, item))
    return [strata.of_cell[cells[unit_of(task, item)]] for item in items], strata.units


def whole_set_estimate(
    columns: Sequence[npt.ArrayLike],
    shares: Sequence[float],
    strata: Sequence[int],
    units: Sequence[int],
    *,
    clusters: Sequence[str] | None = None,
    proportion: bool = False,
    limits: Limits = UNIT,
) -> Estimate:
    """Estimates a statistic of the whole set with its 95 % interval.

    Args:
        columns: alternating numerators and denominators of the ratios that are averaged;
            `nan` for items without a value.
        shares: the weight of each ratio.
        strata: the index of each item's stratum.
        units: the number of the set's units in each stratum.
        clusters: each item's cluster, if clusters were drawn whole.
        proportion: whether the statistic is a proportion.
        limits: the smallest and largest value of the statistic.

    Example:
        16 of 20 answers are right. The larger the sampled share of the set, the
        narrower the interval; it is a point for the whole set.

        >>> columns, strata = [[1.0] * 16 + [0.0] * 4, [1.0] * 20], [0] * 20
        >>> for n in (10000, 30, 20):
        ...     whole = whole_set_estimate(columns, [1.0], strata, [n], proportion=True)
        ...     print(n, round(whole.ci_low, 3), round(whole.ci_high, 3))
        10000 0.578 0.921
        30 0.679 0.883
        20 0.8 0.8
    """
    table = np.array(columns, dtype=np.float64)
    counted = np.atleast_1d(np.isfinite(table).all(axis=0))
    labels = (
        np.arange(len(counted))
        if clusters is None
        else np.unique(np.asarray(clusters), return_inverse=True)[1]
    )
    names, unit = np.unique(labels[counted], return_inverse=True)
    stratum = np.zeros(len(names), dtype=np.intp)
    stratum[unit] = np.asarray(strata, dtype=np.intp)[counted]
    # Sums of each unit, an item or all items of a cluster that was drawn whole.
    sums = np.stack(
        [np.bincount(unit, column[counted], len(names)) for column in table]
    )
    n, nonzero = (
        int((table[1::2, counted] != 0.0).any(axis=0).sum()),
        float((sums[1::2] != 0.0).any(axis=0).sum()),
    )
    drawn = np.bincount(stratum, minlength=len(units)).astype(np.float64)
    population, at_least_one = (
        np.asarray(units, dtype=np.float64),
        np.maximum(drawn, 1.0),
    )
    # Each drawn unit counts N / n times, representing the rest of its stratum.
    totals = sums @ (population / at_least_one)[stratum]
    if not n or (totals[1::2] == 0.0).any():
        return Estimate.undefined(n)

    ratios, (low, high) = totals[::2] / totals[1::2], limits
    value = min(max(float(np.asarray(shares) @ ratios), low), high)
    # The whole set was drawn: there is no sampling error.
    if (drawn >= population).all():
        return Estimate(value, value, value, n)

    # Each unit's contribution to the estimate's error, to first order, and its distance
    # from the mean of its stratum.
    added = (np.asarray(shares) / totals[1::2]) @ (
        sums[::2] - ratios[:, np.newaxis] * sums[1::2]
    )
    apart = added - (np.bincount(stratum, added, len(units)) / at_least_one)[stratum]
    # Each stratum gets its share of one more unit that varies like all units: a stratum
    # whose two units happen to be alike must not seem to have no variance.
    squares = np.bincount(stratum, apart**2, len(units)) + drawn / len(names) * float(
        added @ added
    ) / len(names)
    # N (N - n) / n s², summed over strata (Cochran 1977, chapter 5).
    variance = float(
        (
            population
            * (population - drawn)
            / at_least_one
            * squares
            / np.maximum(drawn - 1.0 + drawn / len(names), 1.0 / len(names))
        ).sum()
    )
    # units from an infinite set with as much information
    effective = nonzero / (1.0 - len(names) / float(population.sum()))
    t = student_quantile(1.0 - _TAIL, max(1.0, len(names) - float((drawn > 0).sum())))
    if proportion:
        if variance > 0.0:
            widening = student_quantile(1.0 - _TAIL, max(1.0, len(names) - 1.0)) / t
            effective = value * (1.0 - value) / variance * widening**2

        return Estimate(
            value, *wilson(value, effective, normal_quantile(1.0 - _TAIL)), n
        )

    if t * math.sqrt(variance) > ROUNDING and low < value < high:
        ends = score_ends(value, variance, t=t, exposure=effective, limits=limits)
    else:
        share = unseen_share(_TAIL, effective)
        ends = value - share * (value - low), value + share * (high - value)

    return Estimate(value, finite_end(ends[0]), finite_end(ends[1]), n)


def whole_set_shift(
    sampled: float,
    end: int,
    counted: Sequence[Sequence[float]],
    decided: Sequence[Sequence[float]],
    shares: Sequence[float],
    estimate: Callable[[Sequence[Sequence[float]]], Estimate],
) -> float:
    """The distance of the set's bound from its estimate.

    Missing items move a bound as in the sample, where it lies `sampled` from the value.
    An unclear answer represents as many items of the set as its stratum requires:
    `decided` are the columns with every such answer at the `end` (0 low, 1 high), where
    it may also not count at all.
    """
    outermost = min if end == 0 else max
    columns = outermost(
        (decided, counted), key=lambda candidates: total_of(candidates, shares)
    )
    in_set = estimate(columns).value - estimate(counted).value
    in_sample = total_of(columns, shares) - total_of(counted, shares)

    return outermost(0.0, sampled + in_set - in_sample)
