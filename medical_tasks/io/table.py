"""Aligned columns of text for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

__all__ = ["align", "on_terminal"]


def on_terminal() -> Callable[[str], str]:
    """Returns what makes a text bold where standard output is a terminal, and leaves it alone elsewhere."""
    return (lambda text: f"\x1b[1m{text}\x1b[0m") if sys.stdout.isatty() else str


def align(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligns columns: text to the left, numbers (all but the first three columns) to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = []
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [
            cell.ljust(width) if column < 3 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
