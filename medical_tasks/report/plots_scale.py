"""The axis of values: from where to where it goes, its ticks, and where a value stands on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["SHARES", "Scale", "finite", "scale_of"]

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis.

    Attributes:
        low: its lower end, in the metric's own unit.
        high: its upper end.
        ticks: values with a line, and what is written at each.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def percent(self, value: float) -> float:
        """Where a value stands, in percent of the axis; what is beyond an end stands at it."""
        return round(100 * min(1.0, max(0.0, (value - self.low) / (self.high - self.low))), 2)


# Shares are drawn from 0 to 100 %, always: a cut axis makes a small difference look large.
SHARES = Scale(0.0, 1.0, ((0.0, "0"), (0.25, "25"), (0.5, "50"), (0.75, "75"), (1.0, "100 %")))


def scale_of(values: Iterable[float | None], unit: str = "") -> Scale:
    """Chooses the axis for a metric.

    Args:
        values: all that is to stand on it.
        unit: the metric's unit; "" for a share.
    """
    known = [value for value in map(finite, values) if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if not unit and low >= 0 and high <= 1:
        return SHARES
    if unit == "cosine" and low >= -1 and high <= 1:
        ends = (-1.0, -0.5, 0.0, 0.5, 1.0) if low < 0 else (0.0, 0.25, 0.5, 0.75, 1.0)
        return Scale(ends[0], 1.0, tuple((end, f"{end:g}") for end in ends))
    shown = 1.0 if unit else 100.0  # what is no count is told in percent
    step = _step((max(high, 0.0) - min(low, 0.0)) * shown or 1.0) / shown
    first, last = math.floor(min(low, 0.0) / step), math.ceil(max(high, 0.0) / step)
    ticks = tuple((number * step, f"{number * step * shown:g}") for number in range(first, max(last, first + 1) + 1))
    if not unit:
        ticks = (*ticks[:-1], (ticks[-1][0], f"{ticks[-1][1]} %"))
    return Scale(ticks[0][0], ticks[-1][0], ticks)


def _step(span: float) -> float:
    """A round step that leaves four or five intervals."""
    power = 10.0 ** math.floor(math.log10(span / 4))
    return next(step * power for step in _STEPS if step * power * 5 >= span)


def finite(value: float | None) -> float | None:
    """A number that can be drawn, or None."""
    return value if value is not None and math.isfinite(value) else None
