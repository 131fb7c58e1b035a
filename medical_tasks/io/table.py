"""Aligns columns of text for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NONE = "n/a"


def align(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligns columns: text to the left, numbers (all but the first three columns) to the right."""
    widths = [
        max(len(row[column]) for row in (header, *rows))
        for column in range(len(header))
    ]
    lines = []
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [
            cell.ljust(width) if column < 3 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())

    return lines


def decimals(value: float | None, form: str = "z.3f") -> str:
    """Writes a number; `n/a` if there is none."""
    return NONE if value is None else f"{value:{form}}"


def figure(
    estimate: Mapping[str, Any], form: str = "z.3f", *, times: int = 1
) -> tuple[str, str, str]:
    """Writes an estimate from JSON: its value, its interval, and its number of items."""
    ends = [
        None if estimate[end] is None else times * estimate[end]
        for end in ("value", "ci_low", "ci_high")
    ]
    interval = (
        NONE
        if None in ends[1:]
        else " to ".join(decimals(end, form) for end in ends[1:])
    )

    return decimals(ends[0], form), interval, str(estimate["n"])
