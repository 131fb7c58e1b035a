"""XML and XLSX files from outside, size and depth bounded; a DOCTYPE, and so any entity, is refused. Messages give places alone."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.parsers.expat import ErrorString

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import check_columns, read_bytes

__all__ = ["DEPTH_LIMIT", "SIZE_LIMIT_BYTES", "PlainXmlError", "XlsxRow", "read_xlsx", "xml_root"]


DEPTH_LIMIT: Final = 64
"""Elements within one another; files of tables and of cases have less than ten."""


class PlainXmlError(ValueError):
    """What is wrong with a document, as the end of a sentence that begins with its name."""


def xml_root(data: bytes, *, limit_bytes: int) -> ET.Element:
    """Reads a document, UTF-8 with or without a byte order mark, without its comments and processing instructions."""
    if len(data) > limit_bytes:
        raise PlainXmlError(f"has {len(data):,} bytes, more than {limit_bytes:,}")
    try:
        # Decoded here, so that no declared encoding hides a document type from the next line.
        document = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlainXmlError(f"is not UTF-8 (byte {error.start:,})") from None
    if "\0" in document:
        # Bytes of UTF-16 can be UTF-8 as well; the parser would tell them by their zeros, and find the document type then.
        raise PlainXmlError("is not whole: it has a character with the code 0")
    if "<!DOCTYPE" in document:
        raise PlainXmlError("declares entities, or could: it has a DOCTYPE")
    parser = ET.XMLParser(target=_Bounded())  # noqa: S314 - without a DOCTYPE there are no entities to expand
    try:
        parser.feed(document)
        root: ET.Element = parser.close()
    except ET.ParseError as error:
        line, column = error.position
        # The parser's own message can quote the document, such as the name of an entity it does not know.
        raise PlainXmlError(f"is not whole: {ErrorString(error.code)}, line {line}, column {column + 1}") from None
    return root


class _Bounded(ET.TreeBuilder):
    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: Any, attrs: Any, /) -> ET.Element:
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise PlainXmlError(f"has elements within one another deeper than {DEPTH_LIMIT}")
        return super().start(tag, attrs)

    def end(self, tag: Any, /) -> ET.Element:
        self._depth -= 1
        return super().end(tag)


SIZE_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""Of all parts of a workbook, unpacked; the largest of the files this is for has half a megabyte."""


@dataclass(frozen=True, kw_only=True)
class XlsxRow:
    """One row of a sheet."""

    row: int  # number in the sheet, from 1
    cells: dict[str, str]  # column name to text


def read_xlsx(path: Path, columns: Sequence[str], *, release: str) -> list[XlsxRow]:
    """Reads the first sheet of a workbook, whose first row must have exactly the given names, in any order; empty rows are none."""
    again = f"Download the {release} again."
    rows = _sheet(path, again)
    names = {place: text for place, text in rows.pop(1, {}).items() if text}
    if not names:
        raise UsageError(f"{path}: the first sheet is empty. {again}")
    check_columns(path, list(names.values()), columns, release=release)
    table = []
    for number, cells in rows.items():
        if stray := [place for place in cells if place not in names]:
            raise UsageError(f"{path}: row {number} has a text in column {stray[0]} of the sheet, which has no name.")
        table.append(XlsxRow(row=number, cells={name: cells.get(place, "") for place, name in names.items()}))
    if not table:
        raise UsageError(f"{path}: has names of columns and no rows. {again}")
    return table


def _sheet(path: Path, again: str) -> dict[int, dict[int, str]]:
    from openpyxl import load_workbook
    from openpyxl.utils.escape import unescape

    found: dict[int, dict[int, str]] = {}
    try:
        content = io.BytesIO(read_bytes(path))
        with zipfile.ZipFile(content) as archive:
            size = sum(part.file_size for part in archive.infolist())
            if size > SIZE_LIMIT_BYTES:
                raise ValueError(f"it has {size:,} bytes unpacked, more than {SIZE_LIMIT_BYTES:,}")
            for (
                part
            ) in archive.infolist():  # reading them compares their checksums; zeros could hide the word as UTF-16
                if b"<!DOCTYPE" in archive.read(part).replace(b"\0", b""):
                    raise ValueError(f"{part.filename} declares entities, or could: it has a DOCTYPE")
        sheet = load_workbook(content, read_only=True, data_only=True).worksheets[0]
        sheet.reset_dimensions()  # what the file says of them may be wrong
        for number, row in enumerate(sheet.iter_rows(), start=1):
            cells = {place: cell for place, cell in enumerate(row, start=1) if cell.value not in (None, "")}
            if any(cell.data_type == "e" for cell in cells.values()):
                raise ValueError(f"row {number} has an error of a formula in place of a text")
            if cells:
                found[number] = {place: unescape(str(cell.value)) for place, cell in cells.items()}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    except MemoryError:
        raise
    except Exception as error:  # of a damaged file openpyxl raises whatever it stumbles over
        raise UsageError(f"{path}: not a whole XLSX file ({error}). {again}") from error
    return found
