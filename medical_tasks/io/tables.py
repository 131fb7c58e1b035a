"""Tables as people keep them: CSV, XLSX, parquet, and JSON records where a reader takes them.

    table = read_table(path, knows=has_columns("id", "response", numbers="response"))
    table.rows[0].cells["response"]      # the text that the spreadsheet shows; None where it is
    empty table.rows[0].place("response")      # scores.csv: row 2, column 'response'

CSV may have any separator and encoding that can be told, a title above its header, and
numbers and dates as its country writes them (`cell_forms`). Of a workbook the one sheet
with the columns is read. A list in a parquet file, and whatever JSON holds, stays as it
is.
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
from medical_tasks.io.cell_forms import note, settled, table_choice
from medical_tasks.io.cells import BrokenCell, escaped, plain, table_cell
from medical_tasks.io.files import WholeFile, csv_lines, read_bytes, readable
from medical_tasks.io.json_records import json_lines, json_values, named, shown
from medical_tasks.io.patterns import Pattern

if TYPE_CHECKING:
    from medical_tasks.io.xml_files import BookSheet

_FORM: Final = "Save it as CSV UTF-8 or XLSX, its columns named in the first row."
_EDITED: Final = "Save it as CSV, UTF-8, with all of its columns."
_MARK: Final = "\ufeff"  # by which spreadsheet programs know UTF-8
_PROBLEMS: Final = 20  # of sheets, shown at once
_AGAIN: Final = "Save it as CSV UTF-8 (in Excel: Save As, CSV UTF-8), or as XLSX."
_QUOTED: Final = "A text with separators or line ends must stand in quotes."
_CUT: Final = 32_767  # what a cell of Excel holds, in units of UTF-16
_UPPER: Final = 20  # rows with something in them, of which one is the header
_SHOWN: Final = 5
_PARQUET, _ZIP, _OLE = b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# What other encodings become as Windows-1252: accents of old Macintosh files rare
# letters, and capitals or signs within a word; other scripts runs of accented letters.
_NOT_1252: Final = Pattern("[ŠšŽžŸƒˆ]|[a-z][À-ÖØ-Þ§†‡‰¿]|[À-ÖØ-öø-ÿŒœ]{3}")


_Placed: TypeAlias = tuple[str, dict[str, Any]]
"""A row's place and its cells by column."""


class _Row(NamedTuple):
    place: str  # as in a spreadsheet, `row 3`
    cells: Mapping[int, object]  # those that are not empty, by column from 1
    width: int  # how many there are, empty ones too


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A row, which knows its place for messages.

    Attributes:
        path: the file.
        at: the place in it, as a spreadsheet counts (`row 3`; the header is in row 1),
            or `line 3` and `record 3` of JSON.
        cells: by column.
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

    def place(self, column: str) -> str:
        """Names a cell for a message."""
        return f"{self.path}: {self.at}, column {column!r}"


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of a file.

    Attributes:
        columns: their names, in the file's order; none of JSON records, whose fields
            may differ.
        rows: those that are not blank.
        content_sha256: of the file.
    """

    columns: list[str]
    rows: list[TableRow]
    content_sha256: str


def is_workbook(content: bytes) -> bool:
    """Whether a zip file is an XLSX one."""
    return content.startswith(_ZIP) and b"xl/wor" in content


def is_json(path: Path, content: bytes) -> bool:
    """Whether a text is JSON or meant to be: by how it begins, and else by its name."""
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
    """Reads a whole file that a user names; `form` is what it should be, for messages."""
    with readable(path, missing=form, again=form):
        return read_bytes(path)


Knows = Callable[[Sequence[str]], Collection[str] | None]
"""What a reader says of the names in a row: None where they are not the header of its table, else
the columns whose cells may be no more than a number or a date."""


def has_columns(*needed: str, numbers: str = "") -> Knows:
    """Knows a header with some columns, each a pattern of their names as `folded` writes them.

    >>> has_columns("id|key", "text", numbers="text")(["Key", "note", "Text"])
    ['Text']
    """

    def knows(names: Sequence[str]) -> Collection[str] | None:
        known = [folded(name) for name in names]
        if all(any(re.fullmatch(form, name) for name in known) for form in needed):
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
    """Reads a table, whose form is told by its content.

    The header is the first of the upper rows that a reader `knows`, on the one sheet
    that has it. Notes on stderr say what was read where more than that could be meant.

    Args:
        path: the file.
        form: what it should be, for messages.
        record: a JSON record of it, for messages; without one JSON is no table here.
        knows: tells the header, and which columns hold numbers or dates.
        missing: what to give where there is no such file; by default `form`.
        content: of the file, where it was read before.
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
    """Writes a sheet, whole and, if `private`, for its owner alone.

    An int or a float is written as a number, anything else as text.
    """
    with WholeFile(path, private=private) as part:
        part.write(_MARK)
        writer = csv.writer(part, lineterminator="\r\n")
        writer.writerow(columns)
        for row in rows:
            cells = (row[name] for name in columns)
            writer.writerow(
                [
                    each if type(each) in (int, float) else escaped(str(each))
                    for each in cells
                ]
            )


def read_sheet(
    path: Path, columns: Sequence[str], *, numbers: str = ""
) -> list[TableRow]:
    """Reads what `write_sheet` wrote and people edited, as CSV or XLSX, without its empty rows.

    It has just these columns, in any order; into `numbers`, one of them, people write
    numbers or dates. An empty cell is "".
    """
    table = read_table(path, form=_EDITED, knows=has_columns(*columns, numbers=numbers))
    missing = [repr(name) for name in columns if name not in table.columns]
    if missing or len(table.columns) != len(columns):
        # Where the header is lost the first row takes its place: only expected names
        # are shown.
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
    """Reports everything that is wrong with sheets."""
    if problems:
        shown = listed(problems, _PROBLEMS, between="\n  ")
        raise UsageError(
            f"the sheets cannot be taken in, nothing is written:\n  {shown}"
        )


def write_table(
    path: Path, rows: Iterable[Iterable[object]], *, private: bool = False
) -> None:
    """Writes a table that nobody reads back as CSV, whole or not at all."""
    with WholeFile(path, private=private) as part:
        csv.writer(part, lineterminator="\n").writerows(
            map(table_cell, row) for row in rows
        )


def _records(path: Path, content: bytes, form: str) -> list[_Placed]:
    records = list(read_json(path, content, form=form))
    for at, record in records:
        if not isinstance(record, dict):
            raise UsageError(
                f"{path}, {at}: an object is needed, got {shown(record)}. A record is like {form}"
            )
    return records


def read_json(path: Path, content: bytes, *, form: str) -> Iterator[tuple[str, Any]]:
    """Reads JSON Lines or a JSON list, whose values stay as they are there."""
    if table_choice().said:
        note(
            f"{path}: JSON needs no table options; --sheet, --decimal and --dates are ignored."
        )
    if content.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"[":
        values = json_values(path, content, form=form)
        return (
            (f"record {number}", value) for number, value in enumerate(values, start=1)
        )
    return json_lines(path, content, form=form)


def _sheet(
    path: Path, content: bytes, form: str, knows: Knows
) -> tuple[list[str], list[_Placed]]:
    """Columns and rows of a table, whatever form its bytes are of.

    Args:
        path: for messages; the form is told by the content.
        content: the file.
        form: the example of a row, for messages.
        knows: says which columns hold numbers or dates, given a header that it knows.
    """
    workbook = is_workbook(content)
    if content.startswith(_OLE) or (content.startswith(_ZIP) and not workbook):
        raise UsageError(
            f"{path}: of another spreadsheet program, an old Excel file (.xls) or one with a "
            f"password. {_AGAIN}"
        )

    local = False
    if content.startswith(_PARQUET):
        columns, rows = _parquet(path, content)
    elif workbook:
        columns, rows = _workbook(path, content, form, knows)
    else:
        lines, separator = _csv(path, _decoded(path, content), knows)
        columns, rows = _with_header(path, lines, form, knows)
        local = separator in ";\t"

    if table_choice().sheet and not workbook:
        note(f"{path}: has no sheets; --sheet is ignored.")

    rows = settled_rows(path, rows, knows(columns) or (), local=local)
    _tell_cut(path, rows)
    return columns, rows


def _tell_cut(path: Path, rows: Sequence[_Placed]) -> None:
    """Says which texts are as long as a spreadsheet's cell can be: their ends may be lost."""
    cut = [
        f"{at}, column {named(name)}"
        for at, cells in rows
        for name, text in cells.items()
        if isinstance(text, str) and _is_full(text)
    ]
    if cut:
        note(
            f"{path}: {listed(cut, _SHOWN, between='; ')}: cut by the spreadsheet, whose cells "
            f"hold {_CUT:,} characters. Take such texts from where they were made."
        )


def _is_full(text: str) -> bool:
    return len(text) <= _CUT and len(text.encode("utf-16-le", "replace")) == 2 * _CUT


def settled_rows(
    path: object,
    rows: Sequence[tuple[str, Mapping[str, object]]],
    columns: Collection[str],
    *,
    local: bool = False,
) -> list[_Placed]:
    """Makes every value the text that a spreadsheet shows, numbers and dates of some columns in the form that is read."""
    cells = {(at, name): row[name] for name in columns for at, row in rows}
    anew = settled(str(path), cells, local=local)

    return [
        (
            at,
            {
                name: anew.get((at, name), cell_text(value))
                for name, value in row.items()
            },
        )
        for at, row in rows
    ]


def folded(name: str) -> str:
    """A column's name as others may write it.

    `Row Number`, `row_number` and ` ROW-NUMBER ` are one.
    """
    return "_".join(re.split(r"[\s_-]+", name.strip())).casefold()


def cell_text(value: object) -> object:
    """A value as a spreadsheet shows it: `25` for 25.0, `0.3` for 0.1 + 0.2, `05/30/2024`, `TRUE`.

    Lists stay, nan is None.
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
    """Where the header is, by a reader; None where no row near the top is known."""
    for number, row in enumerate(rows[:_UPPER]):
        if knows([str(text).strip() for text in row.cells.values()]) is not None:
            return number
    return None


def _with_header(
    path: Path, rows: Sequence[_Row], form: str, knows: Knows
) -> tuple[list[str], list[_Placed]]:
    """Names the cells of rows by the header; only the first column may go without a name."""
    if not rows:
        raise UsageError(f"{path}: is empty. {form}")

    start = _header(rows, knows) or 0
    if start:
        note(
            f"{path}: the header is in {rows[start].place}; what is above it is not read."
        )

    header, *body = rows[start:]
    names = {place: str(text).strip() for place, text in header.cells.items()}
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
        (row.place, {name: row.cells.get(place) for place, name in names.items()})
        for row in body
    ]
    return list(names.values()), named_cells


def _check_row(
    path: Path, row: _Row, header: _Row, names: Collection[int], form: str
) -> None:
    """Refuses a row of which a cell is lost, or belongs to no column."""
    for place, cell in row.cells.items():
        if isinstance(cell, BrokenCell):
            raise UsageError(f"{path}, {row.place}: {cell}")

        if place not in names:
            raise UsageError(
                f"{path}, {row.place}: a cell in column {place}, which has no name in the header "
                f"({header.place}). Name it. {_QUOTED} A header is found below a title if it has "
                f"the right names. {form}"
            )

    if row.width < (width := max(header.cells)):
        raise UsageError(
            f"{path}, {row.place}: {row.width} cells, the header has {width}. {_QUOTED}"
        )


def _workbook(
    path: Path, content: bytes, form: str, knows: Knows
) -> tuple[list[str], list[_Placed]]:
    """The sheet that is meant; hidden rows and merged cells get a note."""
    from medical_tasks.io.xml_files import workbook_sheets

    sheets = workbook_sheets(path, content, again=form)
    rows = {
        sheet.name: [
            _Row(f"row {number}", cells, sys.maxsize)
            for number, cells in sheet.rows.items()
        ]
        for sheet in sheets
    }
    known = {name for name in rows if _header(rows[name], knows) is not None}
    sheet = _meant(path, sheets, known, form)
    columns, table = _with_header(path, rows[sheet.name], form, knows)

    first, last = (int(table[end][0].split()[1]) for end in (0, -1))
    hidden = [
        f"row {number}" for number in sheet.hidden_rows if first <= number <= last
    ]
    if hidden:
        note(f"{path}: hidden, and read all the same: {listed(hidden, _SHOWN)}.")

    merged = [
        area for area in sheet.merged if int(re.findall("[0-9]+", area)[1]) >= first
    ]
    if merged:
        note(
            f"{path}: of merged cells the first has the value: {listed(merged, _SHOWN)}."
        )

    return columns, table


def _meant(
    path: Path, sheets: Sequence[BookSheet], known: set[str], form: str
) -> BookSheet:
    """The sheet to read.

    The one with a `known` header of those named, or else of those that are shown.
    """
    shown = ", ".join(sheet.label for sheet in sheets)
    chosen = _chosen(path, sheets)
    filled = [
        sheet for sheet in chosen or sheets if sheet.rows and (chosen or sheet.visible)
    ]
    likely = [sheet for sheet in filled if sheet.name in known] or filled
    if len(likely) != 1:
        what = (
            "more than one"
            if known.intersection(sheet.name for sheet in likely)
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


def _chosen(path: Path, sheets: Sequence[BookSheet]) -> list[BookSheet]:
    """The sheets of a workbook that were named; where names were given, one must be among them."""
    wanted = table_choice().sheet
    chosen = [sheet for sheet in sheets if sheet.name in wanted]
    if wanted and not chosen:
        hint = did_you_mean(wanted[0], [sheet.name for sheet in sheets])
        there = ", ".join(sheet.label for sheet in sheets)
        raise UsageError(
            f"{path}: no sheet {' or '.join(map(repr, wanted))}.{hint} There are {there}."
        )
    return chosen


def _csv(path: Path, text: str, knows: Knows) -> tuple[list[_Row], str]:
    """The rows, and what separates their cells."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    declared = re.match(r"sep=([^\r\n])\r?\n", text)  # as Excel takes it
    tables = {
        separator: _parsed(path, text, separator, int(declared is not None))
        for separator in (declared[1] if declared else ",;\t")
    }

    def unlikely(separator: str) -> tuple[int, int]:
        """A title can hold any sign, and a row of numbers too.

        The first header counts, and the widest.
        """
        rows = tables[separator]
        start = _header(rows, knows)
        width = max(rows[start or 0].cells) if rows else 0
        return _UPPER if start is None else start, -width

    separator = min(tables, key=unlikely)

    return tables[separator], separator


def _parsed(path: Path, text: str, separator: str, skipped: int) -> list[_Row]:
    """The rows of a CSV file that are not empty, with what is wrong with the last one.

    A row that the file breaks off in becomes a broken cell: the error names its row.
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


def _decoded(path: Path, content: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 with a mark, else Windows-1252, noted."""
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


def _parquet(path: Path, content: bytes) -> tuple[list[str], list[_Placed]]:
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
    """Reads a list of columns' names; one with a comma in it is quoted, as in the file."""
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
