"""Aligned columns of text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["align"]


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
