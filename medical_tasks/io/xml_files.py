"""XML and XLSX files from outside, read without following anything in them.

A document with a DOCTYPE, and so any entity, is refused; size and depth are bounded. An XLSX file is a ZIP archive of XML parts
(ECMA-376, part 1, sections 12.3 and 18.3), of which only the four that a table needs are read. Error messages give places, since
the text may be private.
"""

from __future__ import annotations

import posixpath
import re
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.parsers.expat import ErrorString

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import check_columns, checked_file

__all__ = ["DEPTH_LIMIT", "PART_LIMIT_BYTES", "PlainXmlError", "XlsxRow", "read_xlsx", "xml_root"]


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


PART_LIMIT_BYTES = 16 * 1024 * 1024
"""Unpacked; the largest part of the files this is for has half a megabyte."""

_CELL = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_HALF = re.compile(r"[Dd][89A-Fa-f][0-9A-Fa-f]{2}")
_SHOWN_CHARS = 60


@dataclass(frozen=True, kw_only=True)
class XlsxRow:
    """One row of a sheet."""

    row: int  # number in the sheet, from 1
    cells: dict[str, str]  # column name to text; numbers as the file writes them


def read_xlsx(path: Path, columns: Sequence[str], *, release: str) -> list[XlsxRow]:
    """Reads the first sheet of a workbook, whose first row must have exactly the given names, in any order; empty rows are none."""
    book = _Workbook(path, f"Download the {release} again.")
    rows = book.rows()
    try:
        _, names = next(rows)
    except StopIteration:
        raise UsageError(f"{path}: the first sheet is empty. {book.again}") from None
    check_columns(path, list(names.values()), columns, release=release)
    table = [_row(path, number, cells, names) for number, cells in rows if any(cells.values())]
    if not table:
        raise UsageError(f"{path}: has names of columns and no rows. {book.again}")
    return table


def _row(path: Path, number: int, cells: dict[int, str], names: dict[int, str]) -> XlsxRow:
    stray = [place for place, text in cells.items() if text and place not in names]
    if stray:
        raise UsageError(f"{path}: row {number} has a text in column {stray[0]} of the sheet, which has no name.")
    return XlsxRow(row=number, cells={name: cells.get(place, "") for place, name in names.items()})


class _Workbook:
    def __init__(self, path: Path, again: str) -> None:
        self.path, self.again = path, again

    def rows(self) -> Iterator[tuple[int, dict[int, str]]]:
        """Number and cells, by column from 1, of each row; those of the first row are without empty ones."""
        try:
            with zipfile.ZipFile(checked_file(self.path)) as archive:
                sheet, texts = self._parts(archive)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be read ({system_reason(error)}).") from error
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise UsageError(f"{self.path}: not a whole XLSX file ({error}). {self.again}") from error
        before = 0
        for element in _below(sheet, "sheetData", "row"):
            number = self._number(element.get("r"), before + 1)
            if number <= before:
                raise self._wrong(f"row {number} stands behind row {before}")
            cells = self._cells(element, number, texts)
            yield number, {place: text for place, text in cells.items() if text} if before == 0 else cells
            before = number

    def _parts(self, archive: zipfile.ZipFile) -> tuple[ET.Element, list[str]]:
        book = self._xml(archive, "xl/workbook.xml")
        sheet = next(_below(book, "sheets", "sheet"), None)
        if sheet is None:
            raise self._wrong("the workbook has no sheet")
        wanted = next((value for name, value in sheet.attrib.items() if name.endswith("}id")), "")
        targets: dict[str, str] = {}
        strings: str | None = None
        for relation in self._xml(archive, "xl/_rels/workbook.xml.rels"):
            if relation.get("TargetMode", "Internal") != "Internal":
                continue  # nothing outside the file is looked at
            target = posixpath.normpath(posixpath.join("/xl", relation.get("Target", ""))).lstrip("/")
            targets[relation.get("Id", "")] = target
            if relation.get("Type", "").endswith("/sharedStrings"):
                strings = target
        if wanted not in targets:
            raise self._wrong("the first sheet is not in the file")
        texts = [] if strings is None else [_text(each) for each in self._xml(archive, strings) if _is(each, "si")]
        return self._xml(archive, targets[wanted]), texts

    def _xml(self, archive: zipfile.ZipFile, name: str) -> ET.Element:
        try:
            info = archive.getinfo(name)
        except KeyError as error:
            raise self._wrong(f"part {name} is missing") from error
        if info.file_size > PART_LIMIT_BYTES:
            raise self._wrong(f"part {name} has {info.file_size:,} bytes, more than {PART_LIMIT_BYTES:,}")
        with archive.open(info) as stream:  # gives no more than the size above, and compares the checksum
            data = stream.read()
        try:
            return xml_root(data, limit_bytes=PART_LIMIT_BYTES)
        except PlainXmlError as error:
            raise self._wrong(f"part {name} {error}") from error

    def _cells(self, row: ET.Element, number: int, texts: Sequence[str]) -> dict[int, str]:
        cells: dict[int, str] = {}
        place = 0
        for cell in row:
            if not _is(cell, "c"):
                continue
            place = self._column(cell.get("r"), number, place + 1)
            if place in cells:
                raise self._wrong(f"row {number} has column {place} of the sheet twice")
            cells[place] = self._value(cell, number, texts)
        return cells

    def _value(self, cell: ET.Element, number: int, texts: Sequence[str]) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return "".join(_text(each) for each in cell if _is(each, "is"))
        value = next((each.text or "" for each in cell if _is(each, "v")), "")
        if kind == "e":
            raise self._wrong(f"row {number} has an error of a formula in place of a text")
        if kind != "s":
            return _unescaped(value) if kind == "str" else value
        if not value.isascii() or not value.isdigit() or int(value) >= len(texts):
            raise self._wrong(f"row {number} names a text that is not there")
        return texts[int(value)]

    def _number(self, text: str | None, default: int) -> int:
        if text is None:
            return default
        if not re.fullmatch(r"[1-9]\d{0,6}", text, re.ASCII):
            raise self._wrong(f"a row has the number {text[:_SHOWN_CHARS]!r}")
        return int(text)

    def _column(self, reference: str | None, number: int, default: int) -> int:
        if reference is None:
            return default
        found = _CELL.fullmatch(reference)
        if found is None or int(found[2]) != number:
            raise self._wrong(f"row {number} has a cell called {reference[:_SHOWN_CHARS]!r}")
        column = 0
        for letter in found[1]:
            column = column * 26 + ord(letter) - ord("A") + 1
        return column

    def _wrong(self, reason: str) -> UsageError:
        return UsageError(f"{self.path}: not the XLSX file it should be ({reason}). {self.again}")


def _is(element: ET.Element, name: str) -> bool:
    """Whether it is of that name, in the namespace of either form of the standard."""
    return element.tag.rpartition("}")[2] == name


def _below(element: ET.Element, parent: str, child: str) -> Iterator[ET.Element]:
    return (each for outer in element if _is(outer, parent) for each in outer if _is(each, child))


def _text(item: ET.Element) -> str:
    """The text of a shared or inline string: of its own, or of its runs; how it is pronounced does not count."""
    runs = [item, *(each for each in item if _is(each, "r"))]
    return "".join(_unescaped(each.text or "") for run in runs for each in run if _is(each, "t"))


def _unescaped(text: str) -> str:
    """Undoes `_x000D_` and the like, which stand for characters that XML cannot hold; halves of a character stay as they are."""
    return _ESCAPED.sub(lambda found: found[0] if _HALF.fullmatch(found[1]) else chr(int(found[1], 16)), text)
