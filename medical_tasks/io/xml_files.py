"""Reads XML and XLSX files from outside, with bounded size and depth.

A DOCTYPE, and thus any entity, is refused. Messages give only positions.
"""

from __future__ import annotations

import datetime
import io
import re
import warnings
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.parsers.expat import ErrorString

from medical_tasks.errors import UsageError
from medical_tasks.io.cells import BrokenCell, workbook_text
from medical_tasks.io.patterns import Pattern

if TYPE_CHECKING:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.read_only import ReadOnlyCell
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

DEPTH_LIMIT: Final = 64
"""The most nested elements; files of tables and of cases have fewer than ten."""


class PlainXmlError(ValueError):
    """An error in a document, worded as the end of a sentence that begins with its name."""


def xml_root(data: bytes, *, limit_bytes: int) -> ET.Element:
    """Parses a UTF-8 document, with or without a byte order mark, and drops its comments."""
    if len(data) > limit_bytes:
        raise PlainXmlError(f"has {len(data):,} bytes, more than {limit_bytes:,}")

    try:
        # Decoded here, so that no declared encoding hides a document type from the check below.
        document = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlainXmlError(f"is not UTF-8 (byte {error.start:,})") from None

    if "\0" in document:
        # Bytes of UTF-16 can be valid UTF-8; the parser would recognise them by their zeros, and
        # then find the document type.
        raise PlainXmlError("is not whole: it has a character with the code 0")

    if "<!DOCTYPE" in document:
        raise PlainXmlError("declares entities, or could: it has a DOCTYPE")

    parser = ET.XMLParser(target=_Bounded())  # noqa: S314 - without a DOCTYPE there are no entities to expand
    try:
        parser.feed(document)
        root: ET.Element = parser.close()
    except ET.ParseError as error:
        line, column = error.position
        # The parser's own message can quote the document, such as the name of an unknown entity.
        raise PlainXmlError(
            f"is not whole: {ErrorString(error.code)}, line {line}, column {column + 1}"
        ) from None

    return root


class _Bounded(ET.TreeBuilder):
    """Builds a tree of at most `DEPTH_LIMIT` levels, and refuses a deeper one."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> ET.Element:
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise PlainXmlError(
                f"has elements within one another deeper than {DEPTH_LIMIT}"
            )
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> ET.Element:
        self._depth -= 1
        return super().end(tag)


# Parts of a number format that are not units: colours, languages and texts.
_NO_UNIT: Final = re.compile(r'\[[^]]*\]|"[^"]*"|\\.')
SIZE_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""The most bytes of all parts of a workbook, unpacked; real files have at most half a megabyte."""


_NOT_XML: Final = Pattern("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LIKE_A_SIGN: Final = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
"""The beginning of an escaped character in XLSX; `_x005F_` is the underscore itself."""
_MEND: Final = "Correct the cell or remove the column."


@dataclass(frozen=True, kw_only=True)
class BookSheet:
    """A sheet of a workbook."""

    name: str
    visible: bool
    # The cells that are not empty, by row and column from 1.
    rows: dict[int, dict[int, object]]
    hidden_rows: Sequence[int]
    merged: Sequence[str]  # such as B2:B4, in which only B2 has a value

    @property
    def label(self) -> str:
        """Names the sheet in a message."""
        return repr(self.name) + " (hidden)" * (not self.visible)


def workbook_sheets(path: Path, content: bytes, *, again: str) -> list[BookSheet]:
    """Reads all sheets.

    A share shown in percent becomes a text, and so does a date shown without a year.
    """
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(info.file_size for info in archive.infolist())
            if size > SIZE_LIMIT_BYTES:
                raise ValueError(
                    f"it has {size:,} bytes unpacked, more than {SIZE_LIMIT_BYTES:,}"
                )

            # Reading compares checksums; zeros could hide the word as UTF-16.
            parts = {name: archive.read(name) for name in archive.namelist()}

        for name, xml in parts.items():
            if b"<!DOCTYPE" in xml.replace(b"\0", b""):
                raise ValueError(
                    f"{name} declares entities, or could: it has a DOCTYPE"
                )

        # Warnings concern parts of the file that are not read.
        with warnings.catch_warnings(action="ignore"):
            book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            if not book.worksheets:
                raise ValueError("it has no sheet")

            # The path is not public; what openpyxl does not tell of a sheet is in that
            # part.
            return [
                _sheet(worksheet, parts[worksheet._worksheet_path])
                for worksheet in book.worksheets
            ]
    except MemoryError:
        raise
    # openpyxl raises all kinds of errors for damaged files.
    except Exception as error:
        raise UsageError(f"{path}: not a whole XLSX file ({error}). {again}") from error


_HIDDEN_ROW: Final = re.compile(
    rb'<(?:\w+:)?row\b(?=[^>]*\shidden="(?:1|true)")[^>]*\sr="(\d+)"'
)
_MERGED: Final = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*\sref="([A-Z]+\d+:[A-Z]+\d+)"')
# A formula whose value is absent or empty; a text that is empty is a value.
_NO_RESULT: Final = re.compile(
    rb'<(?:\w+:)?c\b(?![^>]*\st="str")[^>]*\sr="([A-Z]+\d+)"[^>]*>\s*'
    rb"<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</"
)


def _sheet(sheet: ReadOnlyWorksheet, xml: bytes) -> BookSheet:
    """Reads a sheet's cells as shown, without its empty rows.

    A formula that no program has computed yet is a broken cell, not an empty one.
    """
    from openpyxl.utils.cell import coordinate_to_tuple
    from openpyxl.utils.escape import unescape

    rows: dict[int, dict[int, object]] = {}
    sheet.reset_dimensions()  # the file's own dimensions may be wrong
    for number, row in enumerate(sheet.iter_rows(), start=1):
        values = {
            column: _value(cell, unescape) for column, cell in enumerate(row, start=1)
        }
        cells = {
            column: value
            for column, value in values.items()
            if value is not None and str(value).strip()
        }
        if cells:
            rows[number] = cells

    for match in _NO_RESULT.finditer(xml):
        number, column = coordinate_to_tuple(match[1].decode())
        rows.setdefault(number, {})[column] = BrokenCell(
            f"{match[1].decode()} has a formula and no result, as no spreadsheet program has saved "
            f"it. {_MEND}"
        )

    return BookSheet(
        name=sheet.title,
        visible=sheet.sheet_state == "visible",
        rows=dict(sorted(rows.items())),
        hidden_rows=[int(row) for row in _HIDDEN_ROW.findall(xml)],
        merged=[area.decode() for area in _MERGED.findall(xml)],
    )


def cell_text_of(text: str) -> str:
    """Writes a text for XML, with `?` for invalid characters; `_x000A_` stays literal."""
    return _LIKE_A_SIGN.sub("_x005F_", _NOT_XML.sub("?", text))


def workbook_bytes(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    """Makes a workbook of one sheet of texts, as in `cells`, with `?` for invalid characters."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("unclear")

    def cell(text: str) -> WriteOnlyCell:
        written = WriteOnlyCell(sheet, value=cell_text_of(workbook_text(text)))
        written.data_type = "s"  # "=1+1" is no formula
        return written

    for row in (columns, *rows):
        sheet.append([cell(text) for text in row])

    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _value(cell: ReadOnlyCell, unescape: Callable[[str], str]) -> object:
    """Returns what a cell shows; `24. Jul` has no year, whatever the spreadsheet stores."""
    value = cell.value
    if cell.data_type == "e":
        return BrokenCell(f"{cell.coordinate} has {value}, a formula's error. {_MEND}")
    if isinstance(value, str):
        return unescape(value)

    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and "%" in cell.number_format
    ):
        return f"{value * 100:.15g}%"

    if isinstance(value, datetime.date):
        units = _NO_UNIT.sub("", cell.number_format.lower())
        if "y" not in units:
            return f"{value:%d-%b}"
        if "d" not in units:
            return f"{value:%b-%y}"

    return value
