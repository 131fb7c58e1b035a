"""Numbers of results that others wrote: which can be computed with."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

__all__ = ["is_number"]


def is_number(value: Any) -> TypeGuard[float]:
    """Whether it is a finite number, and no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False
