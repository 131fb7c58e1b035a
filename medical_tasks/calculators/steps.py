"""How a calculator shows its steps and counts its points.

`say(line)` is cheap enough to be always on.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

Say: TypeAlias = Callable[[str], object]
"""Receives one finished line. `list.append` is one; so is `print`."""


def quiet(line: str, /) -> None:
    """Drop the line: the default for callers who want the number alone."""


class Points:
    """A running total of a score that says every item as it is counted."""

    __slots__ = ("_say", "total")

    def __init__(self, say: Say) -> None:
        self.total: float = 0
        self._say = say

    @property
    def score(self) -> int:
        """The total of a score that counts whole points."""
        return int(self.total)

    def add(self, why: str, points: float) -> None:
        """Count `points` (which may be 0 or negative) for the reason `why`."""
        self.total += points
        self._say(f"{why}: {points:+g}, total {self.total:g}.")

    def flag(self, finding: str, present: bool, points: float = 1) -> None:
        """Count `points` when a finding is present, and say so either way."""
        self.add(
            f"{finding} {'present' if present else 'absent'}", points if present else 0
        )


Step: TypeAlias = tuple[float, int] | tuple[Literal[">"], float, int]
"""Where a class begins, and its points: `(2, 3)` is 3 points from 2 on, `(">", 2, 3)` for everything over 2."""
_Signed: TypeAlias = tuple[str, float, int]


class Bands:
    """The classes of one measured value; bounds stand as the publication prints them."""

    __slots__ = ("_lowest", "_points", "_tails", "_what")

    def __init__(self, what: str, unit: str, under: int, *classes: Step) -> None:
        """Compile a table.

        The points `under` the first class, then the classes from the lowest on.
        """
        self._what: Final = what
        steps = tuple((">=", *step) if len(step) == 2 else step for step in classes)
        # "Over 3" begins at the next float after 3: one search serves both kinds of
        # bound.
        self._lowest: Final = tuple(
            math.nextafter(bound, math.inf) if sign == ">" else float(bound)
            for sign, bound, _ in steps
        )
        if any(
            low >= high
            for low, high in zip(self._lowest, self._lowest[1:], strict=False)
        ):
            raise ValueError(f"{what}: the steps do not ascend: {steps}")

        self._points: Final = (under, *(points for _, _, points in steps))
        unit = f" {unit}" if unit else ""
        self._tails: Final = tuple(
            f"{unit} is {_text(lower, upper)}"
            for lower, upper in zip((None, *steps), (*steps, None), strict=True)
        )

    def find(self, value: float) -> tuple[int, str]:
        """Points of a value, and the words for its class: `"Bilirubin 2.4 mg/dL is 2 to 3"`."""
        index = bisect_right(self._lowest, value)
        return self._points[index], f"{self._what} {value:.6g}{self._tails[index]}"

    def count(self, value: float, points: Points) -> None:
        """Add the points of a value to a running total, and say so."""
        number, words = self.find(value)
        points.add(words, number)


def _text(lower: _Signed | None, upper: _Signed | None) -> str:
    """A class in words: `under 2`, `2 to 3`, `30 to under 32`, `over 129 to 159`, `4 or more`."""
    start = (
        ""
        if lower is None
        else f"{lower[1]:g}"
        if lower[0] == ">="
        else f"over {lower[1]:g}"
    )
    if upper is None:
        return f"{start} or more" if lower is not None and lower[0] == ">=" else start

    end = f"under {upper[1]:g}" if upper[0] == ">=" else f"{upper[1]:g}"
    if not start:
        return end if upper[0] == ">=" else f"{end} or less"

    return f"{start} to {end}"
