"""Reading the few wanted rows out of a very large CSV file, plain or gzip, in constant memory.

Notes are long: of a file of three gigabytes a table needs a few megabytes. So rows are told apart by looking for quotes and
line ends alone, at the speed of a memory search, and only wanted rows are decoded and parsed. Every row is still checked:
that its quotes close, that it has as many fields as the header, and for gzip that length and checksum are those of the file.

Messages hold places and ids, never other texts: the files this is for are credentialed.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from medical_tasks.errors import UsageError, system_reason

__all__ = ["ROW_LIMIT_BYTES", "StreamedRow", "stream_rows"]

# The longest notes have about 100 KB; a row beyond this is the rest of a file behind a lost quote.
ROW_LIMIT_BYTES = 16 * 1024 * 1024

_CHUNK_BYTES = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31  # zlib: a gzip header and trailer, the checksum compared
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True)
class StreamedRow:
    """A wanted row.

    Attributes:
        line: line of the file on which it begins, from 1; where it is costs a second read, so it is a function.
        cells: column name to text, exactly as in the file.
    """

    line: Callable[[], int]
    cells: dict[str, str]


def stream_rows(
    path: Path,
    columns: Sequence[str],
    *,
    key: str,
    wanted: Collection[str],
    release: str,
    on_read: Callable[[int], None] = lambda _: None,
) -> Iterator[StreamedRow]:
    """Yields the rows whose key is wanted.

    Args:
        path: the file, gzip or not by its content; UTF-8, a byte order mark is skipped.
        columns: names the header must have, in any order, and no others.
        key: the column that decides; its texts have no commas, quotes or line breaks.
        wanted: its texts to look for.
        release: what the file should be, for messages.
        on_read: called with the number of bytes of the file that were read so far.

    Yields:
        Rows in the order of the file.

    Raises:
        UsageError: The file cannot be read, is cut off or damaged, has other columns, a row of another length, a NUL
            byte, or a wanted row that is not UTF-8.
    """
    again = f"Download the {release} again; do not open and save it with a spreadsheet program."
    rows = _rows(path, again, on_read)
    first = next(rows, None)
    if first is None:
        raise UsageError(f"{path}: is empty, expected the {release}. {again}")
    header = _parsed(path, first.whole().removeprefix(_MARK), 0, again)
    _check_header(path, header, columns, release=release)
    position = header.index(key)
    separators = len(header) - 1
    keys = {text.encode() for text in wanted}
    count = 0
    for row in rows:
        if row.commas != separators:
            if not row.whole().strip():
                continue
            raise UsageError(
                f"{path}: the row that begins on line {_line(path, row.offset)} has {row.commas + 1} fields, the header has "
                f"{separators + 1}; the file is cut off or damaged there. {again}"
            )
        count += 1
        start = row.before_quote().split(b",", position + 1)
        # Where the key is quoted, or behind a quoted field, only parsing the row finds it.
        if len(start) > position + 1 and start[position] not in keys:
            continue
        cells = _parsed(path, row.whole(), row.offset, again)
        if cells[position] in wanted:
            yield StreamedRow(line=_later(path, row.offset), cells=dict(zip(header, cells, strict=True)))
    if not count:
        raise UsageError(f"{path}: has a header and no rows. {again}")


def _later(path: Path, offset: int) -> Callable[[], int]:
    return lambda: _line(path, offset)


@dataclass(slots=True)
class _Raw:
    """Where a row lies; its bytes are copied only when somebody wants them."""

    data: bytes
    begin: int
    base: int  # of data in the file
    at: int = 0  # how far it was looked at
    quotes: int = 0
    commas: int = 0  # outside quotes
    first_quote: int = -1
    end: int = -1

    @property
    def offset(self) -> int:
        return self.base + self.begin

    def whole(self) -> bytes:
        return self.data[self.begin : self.end]

    def before_quote(self) -> bytes:
        """The fields before any quote, each with the comma behind it."""
        if self.first_quote < 0:
            return self.whole() + b","
        return self.data[self.begin : self.first_quote]

    def look(self) -> bool:
        """Looks on for the line end outside quotes; says whether it is in the data.

        An escaped quote is two quotes: the field closes and opens again at once, which comes to the same.
        """
        data, place = self.data, self.at
        while True:
            if self.quotes % 2:
                quote = data.find(b'"', place)
                if quote < 0:
                    self.at = len(data)
                    return False
            else:
                end = data.find(b"\n", place)
                quote = data.find(b'"', place, end if end >= 0 else len(data))
                if quote < 0:
                    if end < 0:
                        self.at = place  # looked at again from here once more data is there
                        return False
                    self.commas += data.count(b",", place, end)
                    self.end = end
                    return True
                self.commas += data.count(b",", place, quote)
                if self.first_quote < 0:
                    self.first_quote = quote
            self.quotes += 1
            place = quote + 1

    def moved(self, data: bytes, base: int) -> _Raw:
        """The same row where `data` begins with it."""
        first_quote = self.first_quote if self.first_quote < 0 else self.first_quote - self.begin
        return _Raw(data, 0, base, self.at - self.begin, self.quotes, self.commas, first_quote)


def _rows(path: Path, again: str, on_read: Callable[[int], None]) -> Iterator[_Raw]:
    """Cuts a file into rows."""
    row = _Raw(b"", 0, 0)
    for chunk in _chunks(path, again, on_read):
        rest = row.data[row.begin :]
        if b"\0" in chunk:
            line = _line(path, row.offset + len(rest) + chunk.index(b"\0"))
            raise UsageError(f"{path}: line {line} holds a NUL byte; the file is damaged there. {again}")
        row = row.moved(rest + chunk, row.offset)
        while row.look():
            yield row
            row = _Raw(row.data, row.end + 1, row.base, row.end + 1)
        if len(row.data) - row.begin > ROW_LIMIT_BYTES:
            raise UsageError(
                f"{path}: the row that begins on line {_line(path, row.offset)} has more than {ROW_LIMIT_BYTES:,} bytes; a "
                f"quoted field is left open or damaged. {again}"
            )
    if not row.data[row.begin :].strip():
        return
    if row.quotes % 2:
        raise UsageError(
            f"{path}: the row that begins on line {_line(path, row.offset)} has a quoted field that is left open; the file "
            f"is cut off or damaged. {again}"
        )
    row.commas += row.data.count(b",", row.at)
    row.end = len(row.data)
    yield row


def _chunks(path: Path, again: str, on_read: Callable[[int], None]) -> Iterator[bytes]:
    try:
        with path.open("rb") as stream:
            magic = stream.read(2)
            stream.seek(0)
            if magic == _GZIP_MAGIC:
                yield from _unpacked(path, stream, again, on_read)
                return
            while chunk := stream.read(_CHUNK_BYTES):
                on_read(stream.tell())
                yield chunk
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error


def _unpacked(path: Path, stream: BinaryIO, again: str, on_read: Callable[[int], None]) -> Iterator[bytes]:
    """Unpacks gzip, one member or several, whose checksums zlib compares; what is unpacked at a time is bounded."""
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    begun = False  # whether a member is open
    try:
        while packed := stream.read(_CHUNK_BYTES):
            on_read(stream.tell())
            while packed:
                if not begun:
                    packed = packed.lstrip(b"\0")  # padding between members is allowed
                    if not packed:
                        break
                    unpacker, begun = zlib.decompressobj(_GZIP_WINDOW), True
                if chunk := unpacker.decompress(packed, _CHUNK_BYTES):
                    yield chunk
                begun = not unpacker.eof
                packed = unpacker.unconsumed_tail if begun else unpacker.unused_data
        while begun and (chunk := unpacker.decompress(b"", _CHUNK_BYTES)):
            yield chunk
            begun = not unpacker.eof
    except zlib.error as error:
        raise UsageError(
            f"{path}: damaged, cannot be unpacked near byte {stream.tell():,} ({error}). {again}"
        ) from error
    if begun:
        raise UsageError(f"{path}: cut off, the gzip data end amid ({stream.tell():,} bytes are there). {again}")


def _parsed(path: Path, raw: bytes, offset: int, again: str) -> list[str]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: the row that begins on line {_line(path, offset)} is not UTF-8 (byte 0x{raw[error.start]:02x}). {again}"
        ) from error
    csv.field_size_limit(max(csv.field_size_limit(), ROW_LIMIT_BYTES))
    try:
        # One "line" with its line ends inside: split into lines, texts would be cut at more than line feeds.
        rows = list(csv.reader([text.removesuffix("\r")], strict=True))
    except csv.Error as error:
        raise UsageError(
            f"{path}: the row that begins on line {_line(path, offset)} is not whole ({error}). {again}"
        ) from error
    return rows[0]


def _check_header(path: Path, header: Sequence[str], columns: Sequence[str], *, release: str) -> None:
    missing = [name for name in columns if name not in header]
    extra = len([name for name in header if name not in columns])
    twice = sorted({name for name in columns if header.count(name) > 1})
    # Where the header is lost the first row stands in its place: other names than the expected ones are not shown.
    problems = [f"missing: {', '.join(map(repr, missing))}"] if missing else []
    problems += [f"{extra} unexpected"] if extra else []
    problems += [f"twice: {', '.join(map(repr, twice))}"] if twice else []
    if problems:
        raise UsageError(
            f"{path}: wrong columns for the {release}. {'; '.join(problems)}. Expected: {', '.join(map(repr, columns))}."
        )


def _line(path: Path, offset: int) -> int:
    """Counts the lines before an offset of the unpacked file; reads it again, which only messages need."""
    left, lines = offset, 1
    for chunk in _chunks(path, "", lambda _: None):
        if left <= 0:
            break
        lines += chunk[:left].count(b"\n")
        left -= len(chunk)
    return lines
