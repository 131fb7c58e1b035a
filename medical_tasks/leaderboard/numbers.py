"""Numbers of results that others wrote: which can be computed with."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

__all__ = ["is_number"]


def is_number(value: Any) -> TypeGuard[float]:
    """Whether it is a finite number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
