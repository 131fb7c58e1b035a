"""Seeded draws that are the same on every machine and every Python.

Python promises that `Random.random()` gives the same sequence for the same text seed in every version; it does not promise
it of `choice`, `randrange` or `shuffle`. So everything here is made from `random()` alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Draw"]

T = TypeVar("T")


class Draw:
    """A stream of draws that depends on its key alone, never on the process or on what was drawn elsewhere."""

    __slots__ = ("_next",)

    def __init__(self, key: str) -> None:
        """Start the stream.

        Args:
            key: any text; equal keys give equal streams.
        """
        self._next = random.Random(key).random  # noqa: S311 - reproducible on purpose, keeps no secret

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return self._next() < probability

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self._next() * (high - low + 1))

    def between(self, low: float, high: float) -> float:
        """A number from `low` up to `high`."""
        return low + self._next() * (high - low)

    def pick(self, choices: Sequence[T]) -> T:
        """One of `choices`."""
        return choices[int(self._next() * len(choices))]

    def shuffled(self, choices: Sequence[T]) -> list[T]:
        """All of `choices` in a new order."""
        left = list(choices)
        for last in range(len(left) - 1, 0, -1):
            other = int(self._next() * (last + 1))
            left[last], left[other] = left[other], left[last]
        return left

    def some(self, choices: Sequence[T], count: int) -> list[T]:
        """`count` different ones of `choices`, or all where there are fewer, in a new order."""
        return self.shuffled(choices)[:count]
