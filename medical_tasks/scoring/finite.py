"""What a stratified sample says of the whole set it was drawn from: allocation, estimate, interval.

The set is finite and its items' values are fixed; only which of them were drawn is left
to chance. So the interval narrows to the value itself as the sample grows to the set.
Estimates are ratios of weighted sums over units (items, or clusters drawn whole), their
variances linearised (Cochran 1977, Sampling Techniques, chapters 5 and 6).

A proportion has Wilson's interval at the effective sample size, with Korn and
Graubard's t (see `intervals`), any other statistic its score interval (`means`). A
stratum of few units may show no variance: each is estimated with its share of one more
unit that varies as units do over all strata. With no variance at all, the share that
may be unseen in so many units is set to the limits (`means`).
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
        of_cell: the number of each cell's stratum.
        units: how many units the set has in each stratum.
        drawn: how many of them the sample has.
    """

    of_cell: Mapping[str, int]
    units: Sequence[int]
    drawn: Sequence[int]


def allocate(sizes: Mapping[str, int], drawn: int) -> Strata:
    """Allocates a sample in proportion.

    Cells too small for two units are joined with the next ones by name.

    Every stratum gets its share rounded down; what is left goes to the largest
    remainders.

    Args:
        sizes: how many units the set has in each cell.
        drawn: how many are drawn of all.

    Example:
        Of 3 newborns a sample of 20 in 93 would hold less than one, so they are drawn
        together with the children:

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

    shares = [divmod(each * drawn, total) for each in units]
    left = drawn - sum(whole for whole, _ in shares)
    rounded_up = sorted(range(len(units)), key=lambda index: -shares[index][1])[:left]

    return Strata(
        of_cell,
        units,
        [whole + (index in rounded_up) for index, (whole, _) in enumerate(shares)],
    )


def unit_of(task: TaskSpec, item: Item) -> str:
    """What is drawn with an item: itself, or its whole cluster."""
    return item.cluster if task.drawn_whole else item.id


def cell_of(task: TaskSpec, item: Item) -> str:
    """The finest stratum of an item."""
    each = (item.groups[by] for by in task.strata)
    return " / ".join(
        groups if isinstance(groups, str) else " ".join(groups) for groups in each
    )


def strata_of(
    task: TaskSpec, items: Sequence[Item], drawn: Mapping[str, Any]
) -> tuple[list[int], Sequence[int]]:
    """The stratum of each item of a sample by its recipe, and how many units the set has in each."""
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

    `columns`: numerators and denominators in turns, of parts whose ratios are added up
    by `shares`; `nan` for items without a value. `strata` has each item's, `units` how
    many the set has in each; `clusters` are given where they were drawn whole.

    Example:
        16 of 20 answers are right. The interval is the narrower the more of the set
        they are; of the whole set nothing is left to chance.

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
    # Sums of each unit: an item, or all items of a cluster that was drawn whole.
    sums = np.stack(
        [np.bincount(unit, column[counted], len(names)) for column in table]
    )
    n, k = (
        int((table[1::2, counted] != 0.0).any(axis=0).sum()),
        float((sums[1::2] != 0.0).any(axis=0).sum()),
    )
    drawn = np.bincount(stratum, minlength=len(units)).astype(np.float64)
    of, least = np.asarray(units, dtype=np.float64), np.maximum(drawn, 1.0)
    # Each unit drawn counts N / n times, for those of its stratum that were not.
    totals = sums @ (of / least)[stratum]
    if not n or (totals[1::2] == 0.0).any():
        return Estimate(math.nan, math.nan, math.nan, n)

    ratios, (low, high) = totals[::2] / totals[1::2], limits
    value = min(max(float(np.asarray(shares) @ ratios), low), high)
    # Nothing is left to chance where the whole set was drawn.
    if (drawn >= of).all():
        return Estimate(value, value, value, n)

    # What each unit adds to the estimate's error, to first order, and how far that is
    # from the mean of its stratum.
    added = (np.asarray(shares) / totals[1::2]) @ (
        sums[::2] - ratios[:, np.newaxis] * sums[1::2]
    )
    apart = added - (np.bincount(stratum, added, len(units)) / least)[stratum]
    # Each stratum gets its share of one more unit, which varies as all units do: two
    # units that happen to be alike must not show a stratum without variance.
    squares = np.bincount(stratum, apart**2, len(units)) + drawn / len(names) * float(
        added @ added
    ) / len(names)
    # N (N - n) / n s², summed over strata (Cochran 1977, chapter 5).
    variance = float(
        (
            of
            * (of - drawn)
            / least
            * squares
            / np.maximum(drawn - 1.0 + drawn / len(names), 1.0 / len(names))
        ).sum()
    )
    # units of an endless set that would say as much
    effective = k / (1.0 - len(names) / float(of.sum()))
    t = student_quantile(1.0 - _TAIL, max(1.0, len(names) - float((drawn > 0).sum())))
    if proportion:
        if variance > 0.0:
            few = student_quantile(1.0 - _TAIL, max(1.0, len(names) - 1.0)) / t
            effective = value * (1.0 - value) / variance * few**2

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
    """How far a set's bound lies from its estimate; that of the sample lies `sampled` from its value.

    Missing items move a bound as in the sample. An unclear answer stands for as many
    items of the set as its stratum says: `decided` are the columns with every such
    answer at the `end` (0 low, 1 high), where it may also not come to count.
    """
    outermost = min if end == 0 else max
    columns = outermost((decided, counted), key=lambda each: total_of(each, shares))
    in_set = estimate(columns).value - estimate(counted).value
    in_sample = total_of(columns, shares) - total_of(counted, shares)

    return outermost(0.0, sampled + in_set - in_sample)
