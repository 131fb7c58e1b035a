"""Tables as people keep them: CSV of any separator and encoding that can be told, XLSX, parquet; or JSON records.

A value is the text that the spreadsheet shows, None for an empty cell; a list in a parquet file stays one.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import io
import re
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from medical_tasks.errors import UsageError, listed
from medical_tasks.io.files import csv_lines, read_bytes, readable
from medical_tasks.io.json_records import json_lines, json_values, named
from medical_tasks.io.xml_files import workbook_rows

_FORM: Final = "Save it as CSV UTF-8 or XLSX, its columns named in the first row."
_AGAIN: Final = "Save it as CSV UTF-8 (in Excel: Save As, CSV UTF-8), or as XLSX."
_QUOTED: Final = "A text with separators or line ends must stand in quotes."
_CUT: Final = 32_767  # what a cell of Excel holds, in units of UTF-16
_SHOWN: Final = 5
_PARQUET, _ZIP, _OLE = b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# What other encodings become as Windows-1252: accents of old Macintosh files rare letters, and capitals or signs within a word;
# other scripts runs of accented letters.
_NOT_1252: Final = re.compile("[ŠšŽžŸƒˆ]|[a-z][À-ÖØ-Þ§†‡‰¿]|[À-ÖØ-öø-ÿŒœ]{3}")

_Cells = tuple[
    str, dict[int, Any]
]  # a row's place, and its cells that are not empty by column from 1


class Sheet(NamedTuple):
    """A table: the names of its columns, and its rows with their places (`row 3`, counted as a spreadsheet does)."""

    columns: list[str]
    rows: list[tuple[str, dict[str, Any]]]


def is_workbook(content: bytes) -> bool:
    """Whether a zip file is an XLSX one."""
    return content.startswith(_ZIP) and b"xl/wor" in content


def is_json(path: Path, content: bytes) -> bool:
    """Whether a text is JSON or meant to be: by how it begins, and else by its name."""
    if content.startswith((_PARQUET, _ZIP, _OLE)):
        return False
    return content.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[") or path.suffix in (
        ".json",
        ".jsonl",
    )


def read_content(path: Path, *, form: str) -> bytes:
    """Reads a whole file that a user names; `form` is what it should be, for messages."""
    with readable(path, missing=form, again=form):
        return read_bytes(path)


def read_table(path: Path, *, form: str) -> list[tuple[str, Any]]:
    """Reads the records of a file of any form; `form` is one as JSON, for messages."""
    content = read_content(
        path, form=f"Give CSV, XLSX, parquet, JSON Lines or a JSON list with records like {form}"
    )
    return (
        list(read_json(path, content, form=form))
        if is_json(path, content)
        else read_sheet(path, content).rows
    )


def read_json(path: Path, content: bytes, *, form: str) -> Iterator[tuple[str, Any]]:
    """Reads JSON Lines or a JSON list, whose values stay as they are there."""
    if content.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"[":
        return (
            (f"record {n}", value)
            for n, value in enumerate(json_values(path, content, form=form), start=1)
        )
    return json_lines(path, content, form=form)


def read_sheet(path: Path, content: bytes, *, form: str = _FORM) -> Sheet:
    """Reads a table, told by its content; blank rows are none. Cells that a spreadsheet has cut are named on stderr."""
    if content.startswith(_PARQUET):
        return _parquet(path, content)
    if content.startswith(_OLE) or (content.startswith(_ZIP) and not is_workbook(content)):
        raise UsageError(
            f"{path}: of another spreadsheet program, an old Excel file (.xls) or one with a password. {_AGAIN}"
        )
    rows = (
        _workbook(path, content, form)
        if is_workbook(content)
        else _csv(path, _decoded(path, content))
    )
    sheet = _with_header(path, rows, form)
    cut = [
        f"{place}, column {named(name)}"
        for place, cells in sheet.rows
        for name, value in cells.items()
        if value and len(value) <= _CUT and len(value.encode("utf-16-le", "replace")) == 2 * _CUT
    ]
    if cut:
        print(
            f"note: {path}: {listed(cut, _SHOWN, between='; ')}: cut by the spreadsheet, whose cells hold {_CUT:,} characters. "
            "Take such texts from where they were made.",
            file=sys.stderr,
        )
    return sheet


def folded(name: str) -> str:
    """A column's name as others may write it: `Row Number`, `row_number` and ` ROW-NUMBER ` are one."""
    return "_".join(re.split(r"[\s_-]+", name.strip())).casefold()


def cell_text(value: Any) -> Any:
    """A value as a spreadsheet shows it: `25` for 25.0, `0.3` for 0.1 + 0.2, `05/30/2024`, `TRUE`; lists stay, nan is None."""
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


def _with_header(path: Path, rows: Sequence[_Cells], form: str) -> Sheet:
    """Names the cells of rows by the first one; only the first column may go without a name."""
    if len(rows) < 2:
        raise UsageError(f"{path}: {'has a header and no rows' if rows else 'is empty'}. {form}")
    names = {place: str(text).strip() for place, text in rows[0][1].items()}
    if any(1 in cells for _, cells in rows):
        names = {1: ""} | names
    if twice := next(
        (name for name in names.values() if list(names.values()).count(name) > 1), None
    ):
        raise UsageError(f"{path}: two columns are named {named(twice)}. Rename one of them.")
    for where, cells in rows[1:]:
        if stray := next((place for place in cells if place not in names), None):
            raise UsageError(
                f"{path}, {where}: a cell in column {stray}, which has no name in the header. Name it. {_QUOTED}"
            )
    named_cells = [
        (where, {name: cells.get(place) for place, name in names.items()})
        for where, cells in rows[1:]
    ]
    return Sheet(list(names.values()), named_cells)


def _workbook(path: Path, content: bytes, form: str) -> list[_Cells]:
    rows = workbook_rows(path, content, again=form).items()
    texts = [
        (
            f"row {n}",
            {place: cell_text(value) for place, value in cells.items() if str(value).strip()},
        )
        for n, cells in rows
    ]
    return [row for row in texts if row[1]]


def _csv(path: Path, text: str) -> list[_Cells]:
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))

    def parsed(separator: str) -> Any:
        return csv.reader(
            csv_lines(path, io.StringIO(text, newline="")), delimiter=separator, strict=True
        )

    def width(separator: str) -> int:
        try:
            return len(next(filter(None, parsed(separator)), []))
        except csv.Error:
            return 0

    declared = re.match(r"sep=([^\r\n])\r?\n", text)  # as Excel takes it
    reader = parsed(declared[1] if declared else max((",", ";", "\t"), key=width))
    rows: list[_Cells] = []
    header = 0
    try:
        for number, cells in enumerate(reader, start=1):
            if (declared and number == 1) or not any(map(str.strip, cells)):
                continue
            header = header or len(cells)
            if len(cells) < header:
                raise UsageError(
                    f"{path}, row {number}: {len(cells)} cells, the header has {header}. {_QUOTED}"
                )
            rows.append(
                (
                    f"row {number}",
                    {n: cell for n, cell in enumerate(cells, start=1) if cell.strip()},
                )
            )
    except csv.Error as error:
        raise UsageError(
            f"{path}: not a whole CSV file ({error}, line {reader.line_num}). {_QUOTED} {_AGAIN}"
        ) from error
    return rows


def _decoded(path: Path, content: bytes) -> str:
    encoding = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        text = content.decode("cp1252", "replace") if encoding == "utf-8" else "\ufffd"
        if "\ufffd" in text or _NOT_1252.search(text):
            raise UsageError(
                f"{path}: not UTF-8 text ({error.reason} at byte {error.start}). {_AGAIN}"
            ) from None
        special = " ".join(dict.fromkeys(re.findall(r"[^\x00-\x7f\s]", text)))
        print(
            f"note: {path}: not UTF-8, read as Windows-1252 with {special}. Is one of them wrong? {_AGAIN}",
            file=sys.stderr,
        )
    if "\0" in text:
        raise UsageError(f"{path}: not a text, it has a character with the code 0. {_AGAIN}")
    return text


def _parquet(path: Path, content: bytes) -> Sheet:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UsageError(
            f"{path}: not a whole parquet file ({str(error)[:80]}). Write it again."
        ) from error
    rows = [{name: cell_text(value) for name, value in row.items()} for row in table.to_pylist()]
    return Sheet(
        list(table.column_names),
        [(f"row {number}", row) for number, row in enumerate(rows, start=1)],
    )
