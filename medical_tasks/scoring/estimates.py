"""What the statistics return: frozen values made of plain Python floats and integers."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

__all__ = ["Comparison", "Estimate", "McNemar", "as_json"]


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval.

    Attributes:
        value: the estimate; `nan` where nothing counted.
        ci_low: lower end of the interval; `nan` where none can be given.
        ci_high: upper end of the interval; `nan` where none can be given.
        n: how many items counted.
    """

    value: float
    ci_low: float
    ci_high: float
    n: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two runs on the same items. The difference is b minus a: positive where `b` has the larger value.

    Attributes:
        value_a: the first run's value, over the items both runs have.
        value_b: the second run's value, over the same items.
        difference: `value_b - value_a`.
        ci_low: lower end of the difference's interval.
        ci_high: upper end of the difference's interval.
        p_value: two-sided p-value of "no difference".
        n: how many items counted.
        n_clusters: how many clusters they form; equal to `n` where items stand alone.
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
    """Two runs on the same items, each item right or wrong.

    Attributes:
        both: items that both runs have right.
        only_a: items that only the first run has right.
        only_b: items that only the second run has right.
        neither: items that neither run has right.
        p_exact: two-sided exact p-value of "no difference"; never too small, often too large.
        p_mid: two-sided mid-p-value, closer to the nominal level.
        n: how many items counted.
        n_clusters: how many clusters they form; equal to `n` where items stand alone.
    """

    both: int
    only_a: int
    only_b: int
    neither: int
    p_exact: float
    p_mid: float
    n: int
    n_clusters: int


def as_json(result: Estimate | Comparison | McNemar) -> dict[str, float | int | None]:
    """The fields as JSON can hold them: `nan`, which JSON does not know, becomes None (`null`)."""
    return {name: None if math.isnan(number) else number for name, number in asdict(result).items()}
