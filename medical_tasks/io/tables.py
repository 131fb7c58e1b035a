"""Reads tables as people keep them: CSV, XLSX, parquet, and JSON records if a reader allows them.

    table = read_table(path, knows=has_columns("id", "response", numbers="response"))
    table.rows[0].cells["response"]      # the text that the spreadsheet shows; None if empty
    table.rows[0].location("response")   # scores.csv: row 2, column 'response'

CSV may have any recognisable separator and encoding, a title above its header, and numbers and
dates in the format of its locale (`cell_forms`). In a workbook the one sheet with the columns is
read. Lists in a parquet file, and all values of JSON, stay unchanged.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import hashlib
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from medical_tasks.errors import UsageError, did_you_mean, listed
from medical_tasks.io.cell_forms import note, settle, table_choice
from medical_tasks.io.cells import BrokenCell, escaped, plain, table_cell
from medical_tasks.io.files import WholeFile, csv_lines, read_bytes, readable
from medical_tasks.io.json_records import json_lines, json_values, named, shown
from medical_tasks.io.patterns import Pattern

if TYPE_CHECKING:
    from medical_tasks.io.xml_files import BookSheet

_FORM: Final = "Save it as CSV UTF-8 or XLSX, its columns named in the first row."
_EDITED: Final = "Save it as CSV, UTF-8, with all of its columns."
_MARK: Final = "\ufeff"  # marks UTF-8 for spreadsheet programs
_PROBLEMS: Final = 20  # shown at once
_AGAIN: Final = "Save it as CSV UTF-8 (in Excel: Save As, CSV UTF-8), or as XLSX."
_QUOTED: Final = "A text with separators or line ends must stand in quotes."
_CUT: Final = 32_767  # the limit of an Excel cell, in units of UTF-16
_UPPER: Final = 20  # the first rows with content, one of which is the header
_SHOWN: Final = 5
_PARQUET, _ZIP, _OLE = b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Signs that Windows-1252 is the wrong encoding: old Macintosh files show rare letters, and
# capitals or signs within a word; other scripts show runs of accented letters.
_NOT_1252: Final = Pattern("[ŠšŽžŸƒˆ]|[a-z][À-ÖØ-Þ§†‡‰¿]|[À-ÖØ-öø-ÿŒœ]{3}")


_PositionedRow: TypeAlias = tuple[str, dict[str, Any]]
"""A row's position and its cells by column."""


class _Row(NamedTuple):
    position: str  # as in a spreadsheet, `row 3`
    cells: Mapping[int, object]  # the cells that are not empty, by column from 1
    width: int  # the number of cells, including empty ones


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A row that knows its position for messages.

    Attributes:
        path: the file.
        at: the position in the file, as a spreadsheet counts (`row 3`; the header is in row
            1), or `line 3` and `record 3` of JSON.
        cells: the cells by column.
    """

    path: Path
    at: str
    cells: dict[str, Any]

    @property
    def number(self) -> int:
        """The number of the row, line or record."""
        return int(self.at.split()[1])

    @property
    def where(self) -> str:
        """Names the row for a message."""
        return f"{self.path}, {self.at}"

    def location(self, column: str) -> str:
        """Names a cell for a message."""
        return f"{self.path}: {self.at}, column {column!r}"


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of a file.

    Attributes:
        columns: the names of the columns, in the file's order; empty for JSON records,
            whose fields may differ.
        rows: the rows that are not blank.
        content_sha256: the hash of the file.
    """

    columns: list[str]
    rows: list[TableRow]
    content_sha256: str


def is_workbook(content: bytes) -> bool:
    """Whether a zip file is an XLSX file."""
    return content.startswith(_ZIP) and b"xl/wor" in content


def is_json(path: Path, content: bytes) -> bool:
    """Whether a text is or should be JSON, by its beginning or else by its file's name."""
    if content.startswith((_PARQUET, _ZIP, _OLE)):
        return False
    return content.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (
        b"{",
        b"[",
    ) or path.suffix in (
        ".json",
        ".jsonl",
    )


def read_content(path: Path, *, form: str) -> bytes:
    """Reads a whole file that a user names; messages describe the expected `form`."""
    with readable(path, missing=form, again=form):
        return read_bytes(path)


Knows = Callable[[Sequence[str]], Collection[str] | None]
"""A reader's function for the names in a row: returns None if they are not its table's header, else
the columns whose cells may be only a number or a date."""


def has_columns(*needed: str, numbers: str = "") -> Knows:
    """Recognises a header with these columns, given as patterns of their `folded` names.

    >>> has_columns("id|key", "text", numbers="text")(["Key", "note", "Text"])
    ['Text']
    """

    def knows(names: Sequence[str]) -> Collection[str] | None:
        folded_names = [folded(name) for name in names]
        if all(
            any(re.fullmatch(form, name) for name in folded_names) for form in needed
        ):
            return [name for name in names if re.fullmatch(numbers, folded(name))]

        return None

    return knows


ANY_HEADER: Final = has_columns()


def read_table(
    path: Path,
    *,
    form: str = _FORM,
    record: str = "",
    knows: Knows = ANY_HEADER,
    missing: str = "",
    content: bytes | None = None,
) -> Table:
    """Reads a table, and recognises its format by its content.

    The header is the first of the upper rows that the reader `knows`, on the only sheet that
    has it. Notes on stderr say what was read if there was a choice.

    Args:
        path: the file.
        form: the expected format, for messages.
        record: an example JSON record, for messages; without one JSON is refused.
        knows: recognises the header, and returns the columns with numbers or dates.
        missing: what to give instead of a missing file; by default `form`.
        content: the file's content, if it was already read.
    """
    if record:
        form = f"Give CSV, XLSX, parquet, JSON Lines or a JSON list with records like {record}"

    raw = read_content(path, form=missing or form) if content is None else content
    columns: list[str] = []
    if record and is_json(path, raw):
        rows = _records(path, raw, record)
    else:
        columns, rows = _sheet(path, raw, _FORM if record else form, knows)

    return Table(
        columns=columns,
        rows=[TableRow(path=path, at=at, cells=cells) for at, cells in rows],
        content_sha256=hashlib.sha256(raw).hexdigest(),
    )


def write_sheet(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[Mapping[str, object]],
    *,
    private: bool = True,
) -> None:
    """Writes a complete sheet, readable only by its owner if `private`.

    Ints and floats are written as numbers, anything else as text.
    """
    with WholeFile(path, private=private) as file:
        file.write(_MARK)
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(columns)
        for row in rows:
            cells = (row[name] for name in columns)
            writer.writerow(
                [
                    cell if type(cell) in (int, float) else escaped(str(cell))
                    for cell in cells
                ]
            )


def read_sheet(
    path: Path, columns: Sequence[str], *, numbers: str = ""
) -> list[TableRow]:
    """Reads a sheet from `write_sheet` that people edited, as CSV or XLSX, without empty rows.

    It must have exactly these columns, in any order; `numbers` is the one with numbers or dates.
    An empty cell is "".
    """
    table = read_table(path, form=_EDITED, knows=has_columns(*columns, numbers=numbers))
    missing = [repr(name) for name in columns if name not in table.columns]
    if missing or len(table.columns) != len(columns):
        # Without a header the first row would be taken for one: only expected names are shown.
        problem = (
            f"missing: {', '.join(missing)}"
            if missing
            else f"{len(table.columns)} instead of {len(columns)}"
        )
        raise UsageError(
            f"{path}: wrong columns; {problem}. Expected: {', '.join(map(repr, columns))}. "
            f"{_EDITED}"
        )

    return [
        replace(
            row, cells={name: plain(cell or "") for name, cell in row.cells.items()}
        )
        for row in table.rows
    ]


def refuse(problems: Sequence[str]) -> None:
    """Raises an error that lists all problems of sheets."""
    if problems:
        shown = listed(problems, _PROBLEMS, between="\n  ")
        raise UsageError(
            f"the sheets cannot be taken in, nothing is written:\n  {shown}"
        )


def write_table(
    path: Path, rows: Iterable[Iterable[object]], *, private: bool = False
) -> None:
    """Writes a CSV table that is never read back, completely or not at all."""
    with WholeFile(path, private=private) as file:
        csv.writer(file, lineterminator="\n").writerows(
            map(table_cell, row) for row in rows
        )


def _records(path: Path, content: bytes, form: str) -> list[_PositionedRow]:
    records = list(read_json(path, content, form=form))
    for at, record in records:
        if not isinstance(record, dict):
            raise UsageError(
                f"{path}, {at}: an object is needed, got {shown(record)}. A record is like {form}"
            )
    return records


def read_json(path: Path, content: bytes, *, form: str) -> Iterator[tuple[str, Any]]:
    """Reads JSON Lines or a JSON list, and leaves the values unchanged."""
    if table_choice().recorded:
        note(
            f"{path}: JSON is read unchanged; the choice of sheet, decimal and dates is ignored."
        )
    if content.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"[":
        values = json_values(path, content, form=form)
        return (
            (f"record {number}", value) for number, value in enumerate(values, start=1)
        )
    return json_lines(path, content, form=form)


def _sheet(
    path: Path, content: bytes, form: str, knows: Knows
) -> tuple[list[str], list[_PositionedRow]]:
    """Reads the columns and rows of a table in any format.

    Args:
        path: the file, for messages; its content decides the format.
        content: the file's content.
        form: the expected format, for messages.
        knows: recognises the header, and returns the columns with numbers or dates.
    """
    workbook = is_workbook(content)
    if content.startswith(_OLE) or (content.startswith(_ZIP) and not workbook):
        raise UsageError(
            f"{path}: from another spreadsheet program, an old Excel file (.xls) or one with a "
            f"password. {_AGAIN}"
        )

    local = False
    if content.startswith(_PARQUET):
        columns, rows = _parquet(path, content)
    elif workbook:
        columns, rows = _workbook(path, content, form, knows)
    else:
        lines, separator = _csv(path, _decode(path, content), knows)
        columns, rows = _with_header(path, lines, form, knows)
        local = separator in ";\t"

    if table_choice().sheet and not workbook:
        note(f"{path}: has no sheets; the choice of a sheet is ignored.")

    rows = settle_rows(path, rows, knows(columns) or (), local=local)
    _note_cut_texts(path, rows)
    return columns, rows


def _note_cut_texts(path: Path, rows: Sequence[_PositionedRow]) -> None:
    """Notes texts as long as a spreadsheet's cell can be: their ends may be lost."""
    cut = [
        f"{at}, column {named(name)}"
        for at, cells in rows
        for name, text in cells.items()
        if isinstance(text, str) and _is_full(text)
    ]
    if cut:
        note(
            f"{path}: {listed(cut, _SHOWN, between='; ')}: cut by the spreadsheet, whose cells "
            f"hold {_CUT:,} characters. Copy such texts from their original source."
        )


def _is_full(text: str) -> bool:
    return len(text) <= _CUT and len(text.encode("utf-16-le", "replace")) == 2 * _CUT


def settle_rows(
    path: object,
    rows: Sequence[tuple[str, Mapping[str, object]]],
    columns: Collection[str],
    *,
    local: bool = False,
) -> list[_PositionedRow]:
    """Converts values to the texts that a spreadsheet shows, and settles the form of some columns."""
    cells = {(at, name): row[name] for name in columns for at, row in rows}
    rewritten = settle(str(path), cells, local=local)

    return [
        (
            at,
            {
                name: rewritten.get((at, name), cell_text(value))
                for name, value in row.items()
            },
        )
        for at, row in rows
    ]


def folded(name: str) -> str:
    """Normalises a column's name: `Row Number`, `row_number` and ` ROW-NUMBER ` are the same."""
    return "_".join(re.split(r"[\s_-]+", name.strip())).casefold()


def cell_text(value: object) -> object:
    """Writes a value as a spreadsheet does: `25` for 25.0, `0.3` for 0.1 + 0.2, `05/30/2024`, `TRUE`.

    Lists stay unchanged, nan becomes None.
    """
    value = value.item() if hasattr(value, "item") else value  # of numpy
    if value is None or value != value:
        return None
    if isinstance(value, bool | float):
        return f"{value:.15g}" if isinstance(value, float) else str(value).upper()

    if isinstance(value, datetime.date):
        clock = isinstance(value, datetime.datetime) and value.time() != datetime.time()
        return f"{value:%m/%d/%Y %H:%M}" if clock else f"{value:%m/%d/%Y}"

    return (
        str(value)
        if isinstance(value, int | Decimal | datetime.time | datetime.timedelta)
        else value
    )


def _header(rows: Sequence[_Row], knows: Knows) -> int | None:
    """Returns the index of the header that a reader knows; None if no upper row is known."""
    for number, row in enumerate(rows[:_UPPER]):
        if knows([str(text).strip() for text in row.cells.values()]) is not None:
            return number
    return None


def _with_header(
    path: Path, rows: Sequence[_Row], form: str, knows: Knows
) -> tuple[list[str], list[_PositionedRow]]:
    """Names the cells of rows by the header; only the first column may lack a name."""
    if not rows:
        raise UsageError(f"{path}: is empty. {form}")

    start = _header(rows, knows) or 0
    if start:
        note(
            f"{path}: the header is in {rows[start].position}; what is above it is not read."
        )

    header, *body = rows[start:]
    names = {column: str(text).strip() for column, text in header.cells.items()}
    if any(1 in row.cells for row in body):
        names = {1: ""} | names

    name, count = Counter(names.values()).most_common(1)[0]
    if count > 1:
        raise UsageError(
            f"{path}: two columns are named {named(name)}. Rename one of them."
        )

    for row in rows[start:]:
        _check_row(path, row, header, names, form)

    if not body:
        raise UsageError(f"{path}: has a header and no rows. {form}")

    named_cells = [
        (row.position, {name: row.cells.get(column) for column, name in names.items()})
        for row in body
    ]
    return list(names.values()), named_cells


def _check_row(
    path: Path, row: _Row, header: _Row, names: Collection[int], form: str
) -> None:
    """Refuses a row with a broken cell, a cell without a column, or too few cells."""
    for column, cell in row.cells.items():
        if isinstance(cell, BrokenCell):
            raise UsageError(f"{path}, {row.position}: {cell}")

        if column not in names:
            raise UsageError(
                f"{path}, {row.position}: a cell in column {column}, which has no name in the header "
                f"({header.position}). Name it. {_QUOTED} A header is found below a title if it has "
                f"the right names. {form}"
            )

    if row.width < (width := max(header.cells)):
        raise UsageError(
            f"{path}, {row.position}: {row.width} cells, the header has {width}. {_QUOTED}"
        )


def _workbook(
    path: Path, content: bytes, form: str, knows: Knows
) -> tuple[list[str], list[_PositionedRow]]:
    """Reads the right sheet of a workbook, with notes on hidden rows and merged cells."""
    from medical_tasks.io.xml_files import workbook_sheets

    sheets = workbook_sheets(path, content, again=form)
    rows = {
        sheet.name: [
            _Row(f"row {number}", cells, sys.maxsize)
            for number, cells in sheet.rows.items()
        ]
        for sheet in sheets
    }
    with_header = {name for name in rows if _header(rows[name], knows) is not None}
    sheet = _select_sheet(path, sheets, with_header, form)
    columns, table = _with_header(path, rows[sheet.name], form, knows)

    first, last = (int(table[end][0].split()[1]) for end in (0, -1))
    hidden = [
        f"row {number}" for number in sheet.hidden_rows if first <= number <= last
    ]
    if hidden:
        note(f"{path}: hidden, but read: {listed(hidden, _SHOWN)}.")

    merged = [
        area for area in sheet.merged if int(re.findall("[0-9]+", area)[1]) >= first
    ]
    if merged:
        note(
            f"{path}: of merged cells the first has the value: {listed(merged, _SHOWN)}."
        )

    return columns, table


def _select_sheet(
    path: Path, sheets: Sequence[BookSheet], with_header: set[str], form: str
) -> BookSheet:
    """Selects the sheet to read: one `with_header` among the requested or else the visible ones."""
    shown = ", ".join(sheet.label for sheet in sheets)
    chosen = _requested_sheets(path, sheets)
    filled = [
        sheet for sheet in chosen or sheets if sheet.rows and (chosen or sheet.visible)
    ]
    likely = [sheet for sheet in filled if sheet.name in with_header] or filled
    if len(likely) != 1:
        what = (
            "more than one"
            if with_header.intersection(sheet.name for sheet in likely)
            else "none that is shown"
        )
        example = table_choice().option("sheet", (likely or sheets)[0].name)
        raise UsageError(
            f"{path}: of the sheets {shown}, {what} has the columns to read. Name it, as in "
            f"{example}. {form}"
        )

    if len(sheets) > 1 and not chosen:
        note(f"{path}: read the sheet {likely[0].name!r}; there are {shown}.")

    return likely[0]


def _requested_sheets(path: Path, sheets: Sequence[BookSheet]) -> list[BookSheet]:
    """Returns the requested sheets of a workbook, at least one if any was requested."""
    requested = table_choice().sheet
    chosen = [sheet for sheet in sheets if sheet.name in requested]
    if requested and not chosen:
        hint = did_you_mean(requested[0], [sheet.name for sheet in sheets])
        available = ", ".join(sheet.label for sheet in sheets)
        raise UsageError(
            f"{path}: no sheet {' or '.join(map(repr, requested))}.{hint} There are {available}."
        )
    return chosen


def _csv(path: Path, text: str, knows: Knows) -> tuple[list[_Row], str]:
    """Parses CSV; returns the rows and the separator."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    declared = re.match(r"sep=([^\r\n])\r?\n", text)  # as Excel takes it
    tables = {
        separator: _parse_csv(path, text, separator, int(declared is not None))
        for separator in (declared[1] if declared else ",;\t")
    }

    def unlikely(separator: str) -> tuple[int, int]:
        """Ranks a separator by the first header, then by the widest.

        A title, and a row of numbers, can contain any sign.
        """
        rows = tables[separator]
        start = _header(rows, knows)
        width = max(rows[start or 0].cells) if rows else 0
        return _UPPER if start is None else start, -width

    separator = min(tables, key=unlikely)

    return tables[separator], separator


def _parse_csv(path: Path, text: str, separator: str, skipped: int) -> list[_Row]:
    """Parses the rows of a CSV file that are not empty.

    A row that is cut off becomes a broken cell, so that the error names its row.
    """
    lines = csv_lines(path, io.StringIO(text, newline=""))
    rows: list[_Row] = []
    number = 0
    try:
        for number, cells in enumerate(
            csv.reader(lines, delimiter=separator, strict=True), start=1
        ):
            filled = {
                column: cell
                for column, cell in enumerate(cells, start=1)
                if cell.strip()
            }
            if filled and number > skipped:
                rows.append(_Row(f"row {number}", filled, len(cells)))
    except csv.Error as error:
        why = BrokenCell(f"not a whole CSV file ({error}). {_QUOTED} {_AGAIN}")
        rows.append(_Row(f"row {number + 1}", {1: why}, 1))

    return rows


def _decode(path: Path, content: bytes) -> str:
    """Decodes a file: UTF-8, UTF-16 with a byte order mark, or Windows-1252 with a note."""
    encoding = next(
        (name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8"
    )
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        text = content.decode("cp1252", "replace") if encoding == "utf-8" else "\ufffd"
        if "\ufffd" in text or _NOT_1252.search(text):
            raise UsageError(
                f"{path}: not UTF-8 text ({error.reason} at byte {error.start}). {_AGAIN}"
            ) from None

        special = " ".join(dict.fromkeys(re.findall(r"[^\x00-\x7f\s]", text)))
        note(
            f"{path}: not UTF-8, read as Windows-1252 with {special}. Is one of them wrong? "
            f"{_AGAIN}"
        )

    if "\0" in text:
        raise UsageError(
            f"{path}: not a text, it has a character with the code 0. {_AGAIN}"
        )

    return text


def _parquet(path: Path, content: bytes) -> tuple[list[str], list[_PositionedRow]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UsageError(
            f"{path}: not a whole parquet file ({str(error)[:80]}). Write it again."
        ) from error

    rows = [
        (f"row {number}", row) for number, row in enumerate(table.to_pylist(), start=1)
    ]
    return list(table.column_names), rows


def column_names(option: str, text: str | None) -> tuple[str, ...] | None:
    """Parses a list of column names; a name with a comma is quoted, as in the file."""
    if text is None:
        return None

    try:
        fields = [
            field.strip()
            for row in csv.reader([text], strict=True, skipinitialspace=True)
            for field in row
        ]
    except csv.Error as error:
        raise UsageError(
            f'{option} {text}: {error}. Write A,B, and "A,B" in quotes for one name with a comma.'
        ) from error

    if not fields or not all(fields):
        raise UsageError(f"{option} {text!r}: a column's name is empty. Write A,B")

    twice = next((field for field in fields if fields.count(field) > 1), None)
    if twice is not None:
        raise UsageError(
            f"{option} {text}: column {twice!r} is named twice. Name it once."
        )

    return tuple(fields)
