"""Tables of counts, written out as items."""

from __future__ import annotations

from collections.abc import Sequence


def cells_of(table: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Returns the row and the column of every item that a table counts."""
    return [
        (row_number, column_number)
        for row_number, row in enumerate(table)
        for column_number, count in enumerate(row)
        for _ in range(count)
    ]
