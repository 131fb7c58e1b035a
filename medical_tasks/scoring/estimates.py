"""Inputs and outputs of the statistics: checked columns in, plain Python numbers out.

Resampling draws whole clusters, so it needs only the items' sums per cluster.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval; `nan` if nothing counted or an end is unknown.

    Attributes:
        value: the estimate.
        ci_low: the lower end of its interval.
        ci_high: the upper end.
        n: the number of items that counted, which may be fewer than all items.
    """

    value: float
    ci_low: float
    ci_high: float
    n: int

    @classmethod
    def undefined(cls, n: int = 0) -> Estimate:
        """An estimate of which neither the value nor an end is known."""
        return cls(math.nan, math.nan, math.nan, n)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The difference of two runs on the same items, b minus a.

    `n_clusters` equals `n` if every item is its own cluster.

    Attributes:
        value_a: the first run's value, `value_b` the second's.
        difference: b minus a, with the interval `ci_low` to `ci_high`.
        p_value: two-sided, for a true difference of 0.
        n: the number of items with a value in both runs.
    """

    value_a: float
    value_b: float
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    n: int
    n_clusters: int


@dataclass(frozen=True, kw_only=True)
class McNemar:
    """Two runs on the same items, right or wrong.

    `p_exact` is often too large, `p_mid` closer to the nominal level.

    Attributes:
        both: the number of items that both have right.
        only_a: those that only the first has right; `only_b` only the second.
        neither: those that both have wrong.
        p_exact: the p-value of the exact test.
        p_mid: the mid-p value.
        n: the number of items with an outcome in both runs.
        n_clusters: the number of their clusters.
    """

    both: int
    only_a: int
    only_b: int
    neither: int
    p_exact: float
    p_mid: float
    n: int
    n_clusters: int


Figure: TypeAlias = Mapping[str, float | None]
"""The fields of an estimate in JSON; None where there is no number."""


def as_json(result: Estimate | Comparison | McNemar) -> dict[str, float | int | None]:
    """Returns the fields for JSON, which has no `nan`: it becomes None (`null`)."""
    return {
        name: None if math.isnan(number) else number
        for name, number in asdict(result).items()
    }


Floats = npt.NDArray[np.float64]
Clusters = Sequence[Hashable]
Limits = tuple[float, float]

UNIT: Limits = (0.0, 1.0)
_ROUNDING = 1e-9


def as_column(
    name: str, values: npt.ArrayLike, *, limits: Limits | None = None
) -> Floats:
    """Returns the values as floats, `nan` for no value.

    Values outside the limits by no more than rounding are clipped to them.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one number an item; got shape {array.shape}"
        )

    if array.size and array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold numbers (nan where there is no value); got {array.dtype} such as "
            f"{array.tolist()[0]!r}"
        )

    column = array.astype(np.float64)
    if np.isinf(column).any():
        raise ValueError(
            f"{name} must be finite (nan where there is no value); got "
            f"{column[np.isinf(column)][0]}"
        )

    if limits is None:
        return column

    low, high = limits
    outside = column[(column < low - _ROUNDING) | (column > high + _ROUNDING)]
    if outside.size:
        raise ValueError(f"{name} must be in {low:g} to {high:g}; got {outside[0]:g}")

    return np.clip(column, low, high)


def as_binary(name: str, values: npt.ArrayLike) -> Floats:
    """Returns the values as a float array of 0, 1 and `nan`."""
    column = as_column(name, values)
    other = column[(column != 0.0) & (column != 1.0) & ~np.isnan(column)]
    if other.size:
        raise ValueError(
            f"{name} must be 0 or 1 (nan where there is no value); got {other[0]:g}"
        )
    return column


def check_same_length(**columns: Sequence[object] | Floats) -> None:
    """Checks that all columns have the same length, one entry an item."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(
            f"{' and '.join(lengths)} must have the same length, one entry an item; {sizes}"
        )


def check_probability(name: str, value: float) -> float:
    """Checks that a level is strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must be strictly between 0 and 1; got {value!r}")
    return float(value)


def check_whole(name: str, value: int, *, least: int) -> int:
    """Checks that a value is a whole number of at least `least`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | np.integer)
        or value < least
    ):
        raise ValueError(
            f"{name} must be a whole number of at least {least}; got {value!r}"
        )
    return int(value)


def check_limits(limits: Limits | None, *, finite: bool = True) -> None:
    """Checks the range of a statistic, lower end first; None is no known range."""
    if limits is None:
        return
    allowed = not finite or all(map(math.isfinite, limits))
    if not (allowed and limits[0] < limits[1]):
        kind = "finite numbers" if finite else "numbers"
        raise ValueError(
            f"limits must be two {kind}, the lower first, or None; got {limits!r}"
        )


@dataclass(frozen=True, eq=False)
class SumTable:
    """Sums per cluster, in an order independent of the items' order and the clusters' names.

    Attributes:
        rows: shape (clusters, columns), sorted by the first column, then the second,
            and so on.
        n: the number of items that were summed.
        effective: how many clusters of equal weight would be worth as much, (Σw)²/Σw²
            (Kish 1965, Survey Sampling).
    """

    rows: Floats
    n: int
    effective: float

    @property
    def n_clusters(self) -> int:
        """The number of clusters that counted."""
        return len(self.rows)

    def totals(self) -> list[float]:
        """Sum of each column over everything, correctly rounded."""
        return [math.fsum(column) for column in self.rows.T.tolist()]

    def in_columns(self, order: Sequence[int]) -> SumTable:
        """The table with its columns in another order."""
        rows = np.ascontiguousarray(self.rows[:, order])
        return replace(self, rows=_ordered(rows))


def sum_table(
    columns: Sequence[Floats], weights: Floats, clusters: Clusters | None
) -> SumTable:
    """Sums the columns per cluster; the items' `weights` are used for `SumTable.effective` alone.

    Items with a `nan` in any column or 0 in all of them are left out, and so are
    clusters without other items.

    Example:
        Four items are in the clusters a, a, a and b; the columns are the number right
        and the number of items. One cluster has most of the weight, so the two are
        worth 1.6 equal ones:

        >>> columns = [np.array([1.0, 0.0, 1.0, 1.0]), np.ones(4)]
        >>> table = sum_table(columns, np.ones(4), ["a", "a", "a", "b"])
        >>> table.rows.tolist(), table.totals(), round(table.effective, 2)
        ([[1.0, 1.0], [2.0, 3.0]], [3.0, 4.0], 1.6)
    """
    stacked = np.stack(columns)
    kept = ~np.isnan(stacked).any(axis=0) & (stacked != 0.0).any(axis=0)
    n = int(kept.sum())
    if clusters is None:
        sums, weight = stacked[:, kept], weights[kept]
    else:
        codes = cluster_codes(clusters, stacked.shape[1])[kept]
        # Renumber the clusters, so that those without items leave no empty row.
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
        sums = np.stack([_sums(column, codes) for column in stacked[:, kept]])
        weight = _sums(weights[kept], codes)

    rows = np.ascontiguousarray(sums.T)
    heaviest = weight.max() if n else 0.0
    scaled = weight / heaviest if heaviest > 0.0 else weight
    effective = (
        math.fsum(scaled.tolist()) ** 2 / math.fsum((scaled**2).tolist())
        if heaviest > 0.0
        else 0.0
    )

    return SumTable(rows=_ordered(rows), n=n, effective=effective)


def _ordered(rows: Floats) -> Floats:
    """Sorts rows by the first column, then the second, and so on."""
    return rows[np.lexsort(rows.T[::-1])]


def cluster_codes(clusters: Clusters | None, n: int) -> npt.NDArray[np.intp]:
    """`cluster_numbers` as an array; without clusters each item has a number of its own."""
    if clusters is None:
        return np.arange(n)
    return np.array(cluster_numbers(clusters, n), dtype=np.intp)


def equal_clusters(sizes: npt.NDArray[np.generic]) -> float:
    """How many clusters of equal size would be worth as much (Kish 1965)."""
    weights = sizes.astype(np.float64)
    return float(weights.sum() ** 2 / (weights @ weights))


def cluster_numbers(clusters: Clusters, n: int) -> list[int]:
    """Numbers labels by first appearance, without conversion: 1 and "1" are two clusters."""
    if len(clusters) != n:
        raise ValueError(
            f"clusters must have one label an item; got {len(clusters)} labels for {n} items"
        )

    numbers = {label: number for number, label in enumerate(dict.fromkeys(clusters))}
    codes = list(map(numbers.__getitem__, clusters))
    for label, number in numbers.items():
        if label is None or label != label:
            raise ValueError(
                f"clusters must name a cluster for every item; got {label!r} for item "
                f"{codes.index(number)}"
            )

    return codes


def _sums(column: Floats, codes: npt.NDArray[np.intp]) -> Floats:
    """Sums a column per code, in the order of size.

    So the order of the items does not change the last digit.
    """
    if not len(column):
        return column
    order = np.lexsort((column, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.asarray(np.add.reduceat(column[order], starts))
