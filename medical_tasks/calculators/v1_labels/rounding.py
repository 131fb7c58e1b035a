"""The rounding that the v1.0 labels went through after every single step."""

from __future__ import annotations

import math

__all__ = ["round_v1"]


def round_v1(x: float) -> float:
    """Round the way the labels were rounded: 3 decimals above 0.001, else 3 significant digits.

    "Else" includes every negative number, whatever its size: -12.345 becomes -12.3. Zero stays zero. Ties go by the
    binary value, as Python's `round` does. Because this was applied after each step of a conversion, amounts in mol
    lose most of their digits: 262.7 µmol/L of creatinine become 2.9 instead of 2.97 mg/dL.

    Args:
        x: the number.

    Returns:
        The rounded number; whole numbers stay `int` where they were.

    Raises:
        OverflowError: the number is not finite.
    """
    if not math.isfinite(x):
        raise OverflowError(f"cannot round {x}")
    if x > 0.001:
        return round(x, 3)
    if x == 0:
        return x
    return round(x, 2 - math.floor(math.log10(abs(x))))
