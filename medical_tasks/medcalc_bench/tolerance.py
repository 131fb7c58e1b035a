"""Which numbers are right: inside a row's limits (Khandekar et al. 2024, section 3.1)."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

from medical_tasks.errors import UsageError

__all__ = ["RELATIVE", "decimal_or_none", "limits"]

RELATIVE = Decimal("0.05")
"""Relative tolerance of measurements (paper, section 3.1), used where a row brings no limits."""


def limits(gold: Decimal, lower: str | float | None = None, upper: str | float | None = None) -> tuple[float, float]:
    """The interval of right values.

    A row whose limits coincide asks for its gold to the last digit it gives; a gold of 0 for 0.

    Args:
        gold: the right answer.
        lower: the row's lower limit; either may be the larger one, as in rows with a negative gold.
        upper: the row's upper limit. Where one is missing, both are 5 % of the gold away.

    Raises:
        UsageError: A limit is no number.
    """
    ends: list[Decimal] = []
    for given in (lower, upper):
        if given is None or given == "":
            continue
        end = decimal_or_none(given)
        if end is None:
            raise UsageError(f"the limit {given!r} is no number. Check the row's Lower Limit and Upper Limit.")
        ends.append(end)
    if len(ends) < 2:
        ends = [gold * (1 - RELATIVE), gold * (1 + RELATIVE)]
    if ends[0] == ends[1] and gold != 0:
        exponent = gold.as_tuple().exponent
        half = Decimal(5).scaleb(exponent - 1) if isinstance(exponent, int) else Decimal(0)
        ends = [gold - half, gold + half]
    return float(min(ends)), float(max(ends))


def decimal_or_none(value: str | float) -> Decimal | None:
    """The number as it is written, or None where it is none or not finite."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if math.isfinite(number) else None
