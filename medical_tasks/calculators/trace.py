"""How a calculator tells its steps: one `say(line)` for each, cheap enough to be always on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Points", "Say", "quiet"]

Say: TypeAlias = Callable[[str], object]
"""Receives one finished line. `list.append` is one; so is `print`."""


def quiet(line: str, /) -> None:
    """Drop the line: the default for callers who want the number alone."""


class Points:
    """A running total of a score that says every item as it is counted.

    Attributes:
        total: points so far; a float, because some scores count halves.
    """

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
        if present:
            self.total += points
            self._say(f"{finding} present: {points:+g}, total {self.total:g}.")
        else:
            self._say(f"{finding} absent: +0, total {self.total:g}.")
