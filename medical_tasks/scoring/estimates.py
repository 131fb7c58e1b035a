"""What the statistics take and return: checked columns in, plain Python numbers out.

Whatever draws samples draws whole clusters, so all it needs of the items is their sums
per cluster.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval; `nan` where nothing counted, or no ends can be given.

    Attributes:
        value: the estimate.
        ci_low: the lower end of its interval.
        ci_high: the upper end.
        n: how many items counted, which need not be all that there are.
    """

    value: float
    ci_low: float
    ci_high: float
    n: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two runs on the same items: b minus a, two-sided.

    `n_clusters` equals `n` where items stand alone.

    Attributes:
        value_a: the first run's value, `value_b` the second's.
        difference: b minus a, with the interval `ci_low` to `ci_high`.
        p_value: of a true difference of 0, two-sided.
        n: how many items have a value in both runs.
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
        both: how many items both have right.
        only_a: those that only the first has right; `only_b` only the second.
        neither: those that both have wrong.
        p_exact: the p-value of the exact test.
        p_mid: the mid-p value.
        n: how many items have an outcome in both runs.
        n_clusters: how many clusters they make.
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
"""An estimate as JSON holds it, by the names of its fields; None where there is no number."""


def as_json(result: Estimate | Comparison | McNemar) -> dict[str, float | int | None]:
    """The fields as JSON can hold them: `nan`, which JSON does not know, becomes None (`null`)."""
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
    """The values as floats, `nan` for no value.

    What leaves the limits by rounding alone is put back on their end.
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
    """The values as a float array of 0, 1 and `nan`."""
    column = as_column(name, values)
    other = column[(column != 0.0) & (column != 1.0) & ~np.isnan(column)]
    if other.size:
        raise ValueError(
            f"{name} must be 0 or 1 (nan where there is no value); got {other[0]:g}"
        )
    return column


def check_same_length(**columns: Sequence[object] | Floats) -> None:
    """All arguments have one entry an item."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(
            f"{' and '.join(lengths)} must have the same length, one entry an item; {sizes}"
        )


def check_probability(name: str, value: float) -> float:
    """A level strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must be strictly between 0 and 1; got {value!r}")
    return float(value)


def check_whole(name: str, value: int, *, least: int) -> int:
    """A whole number of at least `least`."""
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
    """The range that a statistic can take, or None where it has no known ends."""
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
    """Sums per cluster, in an order that neither the items' order nor clusters' names decide.

    Attributes:
        rows: shape (clusters, columns), sorted by the first column, then the second,
            and so on.
        n: how many items they come from.
        effective: how many clusters of equal weight would be worth as much, (Σw)²/Σw²
            (Kish 1965, Survey Sampling).
    """

    rows: Floats
    n: int
    effective: float

    @property
    def n_clusters(self) -> int:
        """How many clusters counted."""
        return len(self.rows)

    def totals(self) -> list[float]:
        """Sum of each column over everything, correctly rounded."""
        return [math.fsum(column) for column in self.rows.T]


def sum_table(
    columns: Sequence[Floats], weights: Floats, clusters: Clusters | None
) -> SumTable:
    """Sums of the columns per cluster; `weights` of items only count for `SumTable.effective`.

    Items with a `nan` in any column or 0 in all of them are left out, and so are
    clusters that have no others.

    Example:
        Four items in the clusters a, a, a and b, with how many are right and how many
        there are. One cluster has most of the weight, so that both are worth 1.6 equal
        ones:

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
        # Renumbered, so that clusters whose items are all left out leave no empty row.
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
        sums = np.stack([_sums(column, codes) for column in stacked[:, kept]])
        weight = _sums(weights[kept], codes)

    rows = np.ascontiguousarray(sums.T)
    heaviest = weight.max() if n else 0.0
    scaled = weight / heaviest if heaviest > 0.0 else weight
    effective = math.fsum(scaled) ** 2 / math.fsum(scaled**2) if heaviest > 0.0 else 0.0

    return SumTable(rows=rows[np.lexsort(rows.T[::-1])], n=n, effective=effective)


def cluster_codes(clusters: Clusters, n: int) -> npt.NDArray[np.intp]:
    """`cluster_numbers` as an array."""
    return np.array(cluster_numbers(clusters, n), dtype=np.intp)


def cluster_numbers(clusters: Clusters, n: int) -> list[int]:
    """A number for each label, by first appearance. No conversion: 1 and "1" stay two clusters."""
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
    """Sum per code.

    Added up in the order of size, so that the items' order does not show in the last
    digit.
    """
    if not len(column):
        return column
    order = np.lexsort((column, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.asarray(np.add.reduceat(column[order], starts))
