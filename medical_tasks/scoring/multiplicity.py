"""P-values of a family of tests: the more comparisons, the more of them look significant by chance."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["holm"]


def holm(p_values: npt.ArrayLike) -> list[float]:
    """Holm's adjusted p-values: those at most alpha may be called significant, with family-wise error at most alpha.

    The smallest p is multiplied by the number of tests, the next by one less, and so on, never falling and at most 1.
    Source: Holm (1979), Scand J Stat 6:65.

    Args:
        p_values: one p-value a test; `nan` (a test that could not be made) is no member of the family.

    Returns:
        The adjusted p-values in the same order; `nan` stays `nan`.

    Raises:
        ValueError: not one-dimensional, not numbers, or outside 0-1.
    """
    array = np.asarray(p_values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf"):
        raise ValueError(f"p_values must be one number a test; got shape {array.shape} of {array.dtype}")
    raw = array.astype(np.float64)
    outside = raw[(raw < 0.0) | (raw > 1.0)]
    if outside.size:
        raise ValueError(f"p_values must lie in 0 to 1; got {outside[0]:g}")
    adjusted = np.full(raw.shape, math.nan)
    tested = np.flatnonzero(~np.isnan(raw))
    order = tested[np.argsort(raw[tested], kind="stable")]
    steps = raw[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    return [float(p) for p in adjusted]
