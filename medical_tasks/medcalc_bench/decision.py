"""What a scorer makes of one answer."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MAX_REPLY", "Decision", "within"]

MAX_REPLY = 16_384
"""How much of a reply is read, in characters, from its end: about 5,000 tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Right or wrong, and why.

    Attributes:
        correct: the decision.
        parsed: the answer as it was read, "" where none was found.
        why: one line for a person.
    """

    correct: bool
    parsed: str
    why: str


def within(value: float, lower: float, upper: float) -> str:
    """Says where a number lies: `25.2 is within 23.98 to 26.5`."""
    place = "within" if lower <= value <= upper else "outside"
    return f"{value:.6g} is {place} {lower:.6g} to {upper:.6g}"
