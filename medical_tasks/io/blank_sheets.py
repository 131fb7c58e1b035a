"""Makes workbooks for people to fill in: all cells are locked except those of one column.

    blank_workbook(("id", "question", "answer"), [["1", "Is it safe?", ""]], fill="answer")

The header stays in view, texts are wrapped, and a cell with a few possible answers has a
drop-down. The lock has no password: it prevents slips, not deliberate changes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from medical_tasks.io.xml_files import cell_text_of

if TYPE_CHECKING:
    from openpyxl.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

LONGEST_CELL: Final = 32_000
"""A cell of a workbook holds 32,767 units of UTF-16."""
_WIDTHS: Final = {"id": 14, "answer": 40}
_WIDTH: Final = 70
_MOST_ROWS: Final = 1_048_575  # of a sheet, without its header
_AS_TEXT: Final = "@"
"""A number format that keeps what is typed: 3-5 becomes no date."""


def in_cells(text: str) -> list[str]:
    """Cuts a text into parts that fit into a cell, preferably at line ends.

    >>> in_cells("short")
    ['short']
    """
    parts: list[str] = []
    rest = text
    while _units(rest) > LONGEST_CELL:
        # Half of the limit fits whatever the characters are.
        most = LONGEST_CELL if rest.isascii() else LONGEST_CELL // 2
        end = rest.rfind("\n", 1, most) + 1 or most
        parts.append(rest[:end])
        rest = rest[end:]

    return [*parts, rest]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def blank_workbook(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    fill: str,
    choices: Sequence[Sequence[str]] = (),
) -> bytes:
    """Makes a workbook of one sheet with an empty column to fill in.

    Args:
        columns: the names in the header.
        rows: the rows, with a text for each column.
        fill: the column that may be changed.
        choices: the possible answers of each row; empty for any text.
    """
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font, Protection

    if len(rows) > _MOST_ROWS:
        raise ValueError(f"a sheet holds {_MOST_ROWS:,} rows, got {len(rows):,}")

    book = Workbook()
    sheet: Worksheet = book.active
    sheet.title = "answers"
    wrapped, bold = Alignment(wrap_text=True, vertical="top"), Font(bold=True)
    open_cell = Protection(locked=False)
    for row_number, row in enumerate((columns, *rows), start=1):
        for column, (name, text) in enumerate(zip(columns, row, strict=True), start=1):
            cell = sheet.cell(row_number, column)
            _write(cell, text)
            cell.alignment = wrapped
            if row_number == 1:
                cell.font = bold
            elif name == fill:
                cell.protection, cell.number_format = open_cell, _AS_TEXT

    _lay_out(sheet, columns)
    _offer(sheet, columns.index(fill) + 1, choices)
    stream = io.BytesIO()
    book.save(stream)

    return stream.getvalue()


def _write(cell: Cell, text: str) -> None:
    """Writes a text as text: `=1+1` is not a formula, and 0071 keeps its zeros."""
    if text:
        cell.value = cell_text_of(text)
        cell.data_type = "s"


def _lay_out(sheet: Worksheet, columns: Sequence[str]) -> None:
    """Keeps header and ids in view, and locks the sheet."""
    from openpyxl.utils import get_column_letter

    for column, name in enumerate(columns, start=1):
        width = _WIDTHS.get(name, _WIDTH)
        sheet.column_dimensions[get_column_letter(column)].width = width
    sheet.freeze_panes = "B2"
    sheet.protection.sheet = True
    # False means "not forbidden": people may make columns wider and rows higher.
    sheet.protection.formatColumns = sheet.protection.formatRows = False


def _offer(sheet: Worksheet, column: int, choices: Sequence[Sequence[str]]) -> None:
    """Adds a drop-down to the cells of rows that have choices."""
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    letter = get_column_letter(column)
    for offered, first, last in _runs(choices):
        listed = ",".join(offered)
        rule = DataValidation(
            type="list", formula1=f'"{listed}"', allow_blank=True, showErrorMessage=True
        )
        rule.error = f"One of: {listed}"
        rule.add(f"{letter}{first}:{letter}{last}")
        sheet.add_data_validation(rule)


def _runs(
    choices: Sequence[Sequence[str]],
) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yields runs of adjacent rows with the same choices, with their first and last row."""
    from itertools import groupby

    numbered = enumerate(map(tuple, choices), start=2)  # below the header
    for offered, rows in groupby(numbered, key=lambda row: row[1]):
        row_numbers = [row_number for row_number, _ in rows]
        if offered:
            yield offered, row_numbers[0], row_numbers[-1]
