"""Cells of CSV that spreadsheet programs open: numbers are numbers, and no text becomes a formula.

Sheets are edited and read back exactly (`write_sheet`, `read_sheet`): no text of theirs becomes a number or a date either. Tables
that nobody edits take `table_cell`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import WholeFile, read_bytes

__all__ = [
    "SheetRow",
    "escaped",
    "file_name",
    "is_formula_error",
    "plain",
    "read_sheet",
    "table_cell",
    "write_sheet",
]

_MARK: Final = "\ufeff"  # by which spreadsheet programs know UTF-8
_QUOTE: Final = "'"
# What makes a cell a formula, full-width forms included, and the sign that takes that away.
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_ESCAPED: Final = (*_FORMULA, _QUOTE)
_LEADING: Final = ("\t", "\r", "\n")
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
# What is a number, a date, a time or a truth value to such programs, which write it in their own way: 0.50 becomes 0.5, 3-5 the
# fifth of March, the id 0071 a 71.
_MONTHS: Final = (
    "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?"
    "|dec(ember)?"
)
_VALUE: Final = re.compile(
    rf"true|false|(?=[^\d]*\d)([\d\s.,:/+\-%()$€£¥]|((?<![a-z])({_MONTHS})|(?<=[\d\s])(e|[ap]m?))(?![a-z]))+",
    re.IGNORECASE,
)
_STAYS: Final = re.compile(r"0|[1-9]\d{0,10}")  # longer ones are shown, and saved, as 1.23E+11
# What they show, and save, in the place of a text that they took for a formula.
_ERROR: Final = re.compile(r"#(NAME\?|VALUE!|REF!|DIV/0!|N/A|NUM!|NULL!|SPILL!)|(Err|Error):\d{3}", re.IGNORECASE)
_SEPARATORS: Final = (",", ";", "\t")
_LARGEST_BYTES: Final = 256 * 1024 * 1024
_AGAIN: Final = "Save it as CSV, UTF-8, with all of its columns."


@dataclass(frozen=True, kw_only=True)
class SheetRow:
    """A row of a sheet.

    Attributes:
        path: the file.
        number: as a spreadsheet program counts rows; the header is row 1.
        cells: column to text, no longer escaped.
    """

    path: Path
    number: int
    cells: Mapping[str, str]

    def place(self, column: str) -> str:
        """Names a cell for a message."""
        return f"{self.path}: row {self.number}, column {column!r}"


def escaped(text: str) -> str:
    """Writes a text so that no spreadsheet program takes it for a formula, a number or a date."""
    return _QUOTE + text if _is_taken(text) else text


def table_cell(value: object) -> object:
    """Writes a value of a table that nobody reads back: a text that begins like a formula and is no number gets an apostrophe."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value.strip()):
        return value
    return _QUOTE + value if value.startswith(_LEADING) or value.strip().startswith(_FORMULA) else value


def plain(text: str) -> str:
    """Takes the escape away; a text that somebody typed without it stays as it is."""
    return text[1:] if text.startswith(_QUOTE) and _is_taken(text[1:]) else text


def _is_taken(text: str) -> bool:
    """Whether a spreadsheet program takes a text for something else."""
    stripped = text.strip()
    if text.startswith(_LEADING) or stripped.startswith(_ESCAPED):
        return True
    return _VALUE.fullmatch(stripped) is not None and _STAYS.fullmatch(stripped) is None


def is_formula_error(text: str) -> bool:
    """Whether a cell shows the error of a formula in the place of what somebody typed."""
    return _ERROR.fullmatch(text) is not None


def file_name(identifier: str) -> str:
    """Makes a file's name of an id; one that could lead elsewhere is written in hexadecimal."""
    safe = identifier[0] not in ".-" and all(sign.isalnum() or sign in "._-" for sign in identifier)
    return f"{identifier if safe else 'id-' + identifier.encode().hex()}.txt"


def write_sheet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Writes a sheet, whole and for its owner alone.

    Args:
        path: the file.
        columns: the header.
        rows: column to value; an int or a float is written as a number, anything else as text.
    """
    with WholeFile(path, private=True) as part:
        part.write(_MARK)
        writer = csv.writer(part, lineterminator="\r\n")
        writer.writerow(columns)
        writer.writerows([_sheet_cell(row[name]) for name in columns] for row in rows)


def _sheet_cell(value: object) -> object:
    return value if type(value) in (int, float) else escaped(str(value))


def read_sheet(path: Path, columns: Sequence[str]) -> list[SheetRow]:
    """Reads a sheet that somebody has edited; commas, semicolons or tabs stand between cells, as the program likes.

    Args:
        path: the file.
        columns: what the header must name, in any order, and nothing else.

    Returns:
        Its rows but for empty ones.

    Raises:
        MissingError: There is no such file.
        UsageError: It cannot be read, is not UTF-8, or is not of the form; the message shows no text.
    """
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise UsageError(f"{path}: larger than {_LARGEST_BYTES // 2**20} MiB; that is no sheet of these.")
        text = read_bytes(path).decode("utf-8").removeprefix(_MARK)
    except FileNotFoundError as error:
        raise MissingError(f"{path}: no such file. Give the edited sheets.") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 (byte 0x{error.object[error.start]:02x}). {_AGAIN}") from error
    rows = _rows(path, text, columns)
    if not rows:
        raise UsageError(f"{path}: has no rows. {_AGAIN}")
    return rows


def _rows(path: Path, text: str, columns: Sequence[str]) -> list[SheetRow]:
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_BYTES))
    first = text[: text.find("\n")] if "\n" in text else text
    separator = max(_SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[SheetRow] = []
    number = 0
    header: list[str] = []
    try:
        for cells in reader:
            number += 1
            if number == 1:
                header = _header(path, cells, columns)
            elif any(cell.strip() for cell in cells):
                if len(cells) < len(header) or any(cell.strip() for cell in cells[len(header) :]):
                    raise UsageError(
                        f"{path}: row {number} has {len(cells)} cells, the header has {len(header)}. {_AGAIN}"
                    )
                named = dict(zip(header, map(plain, cells), strict=False))
                rows.append(SheetRow(path=path, number=number, cells=named))
    except csv.Error as error:
        raise UsageError(f"{path}: not a whole CSV file after row {number} ({error}). {_AGAIN}") from error
    if not number:
        raise UsageError(f"{path}: is empty. {_AGAIN}")
    return rows


def _header(path: Path, cells: Sequence[str], columns: Sequence[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    while header and not header[-1]:
        header.pop()  # columns that were touched and are empty
    missing = [name for name in columns if name not in header]
    if missing or len(header) != len(columns):
        # Where the header is lost the first row stands in its place: only expected names are shown.
        said = f"missing: {', '.join(map(repr, missing))}" if missing else f"{len(header)} instead of {len(columns)}"
        raise UsageError(f"{path}: wrong columns; {said}. Expected: {', '.join(map(repr, columns))}. {_AGAIN}")
    return header
