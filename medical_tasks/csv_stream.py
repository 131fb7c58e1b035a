"""Reading some rows out of a very large CSV file, plain or gzip, in constant memory.

Notes are long: of a file of three gigabytes a table needs a few megabytes. So what stands between quotes is set aside unread:
what is left of a row, its outline, has a few dozen bytes and tells where the row ends, how many fields it has and mostly
whether it is wanted. Only wanted rows are decoded and parsed. Every row is still checked: that its quotes close, that it has
as many fields as the header, and for gzip that length and checksum are those of the file.

Messages hold places and ids, never other texts: the files this is for are credentialed.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from medical_tasks.errors import UsageError
from medical_tasks.unpacking import read_chunks

__all__ = ["ROW_LIMIT_BYTES", "StreamedRow", "stream_rows"]

# The longest notes have about 100 KB; a row beyond this is the rest of a file behind a lost quote.
ROW_LIMIT_BYTES = 16 * 1024 * 1024

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
    wanted: Mapping[str, Collection[str]],
    release: str,
    on_read: Callable[[int], None] = lambda _: None,
) -> Iterator[StreamedRow]:
    """Yields the rows that are wanted.

    Args:
        path: the file, gzip or not by its content; UTF-8, a byte order mark is skipped.
        columns: names the header must have, in any order, and no others.
        wanted: column name to the texts of which a wanted row has one there, for each column that decides. Rows that are not
            wanted by their first fields are not looked at further.
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
    texts = {header.index(name): frozenset(each) for name, each in wanted.items()}
    keys = [
        (position, frozenset(text.replace('"', '""').encode() for text in each)) for position, each in texts.items()
    ]
    deciding = max(texts, default=-1) + 1
    count = 0
    for row in rows:
        fields = row.outline.split(b",")
        if len(fields) != len(header):
            if not row.outline.strip():
                continue
            raise UsageError(
                f"{path}: the row that begins on line {_line(path, row.offset)} has {len(fields)} fields, the header has "
                f"{len(header)}; the file is cut off or damaged there. {again}"
            )
        count += 1
        start = fields[:deciding]
        if b'"' in b"".join(start):
            start = row.with_quoted(start)
        for position, each in keys:
            if start[position] not in each and start[position] != _UNREAD:
                break
        else:
            cells = _parsed(path, row.whole(), row.offset, again)
            if len(cells) != len(header):
                raise UsageError(
                    f"{path}: the row that begins on line {_line(path, row.offset)} is not whole (a quote amid a field). {again}"
                )
            if all(cells[position] in each for position, each in texts.items()):
                yield StreamedRow(line=_later(path, row.offset), cells=dict(zip(header, cells, strict=True)))
    if not count:
        raise UsageError(f"{path}: has a header and no rows. {again}")


def _later(path: Path, offset: int) -> Callable[[], int]:
    return lambda: _line(path, offset)


# In the place of a field that only parsing the row tells; a field of an outline cannot be this.
_UNREAD = b","


class _Row(NamedTuple):
    """Where a row lies, and its outline; its bytes are copied only when somebody wants them."""

    outline: bytes  # `"` stands for what is quoted in a field; without line end
    block: _Block
    begin: int
    end: int
    first: int  # stretch of the block in which it begins

    @property
    def offset(self) -> int:
        return self.block.base + self.begin

    def whole(self) -> bytes:
        return self.block.data[self.begin : self.end]

    def with_quoted(self, fields: Sequence[bytes]) -> list[bytes]:
        """The first fields with what is quoted in them, as it stands in the file."""
        block, place, found = self.block, self.first, []
        damaged = False  # something stands beside a field's quotes; the parser says what is wrong
        for field in fields:
            quotes = field.count(b'"')
            damaged = damaged or len(field) > quotes > 0
            if damaged or not quotes:
                found.append(_UNREAD if damaged else field)
            else:
                found.append(block.data[block.ends[place] + 1 : block.starts[place + 1] - 1])
            place += quotes
        return found


class _Block:
    """Whole rows and the beginning of one more; `starts` and `ends` are of its stretches outside quotes.

    An escaped quote is two quotes, between which a stretch of no length is left out: its field is not closed there.
    """

    def __init__(self, data: bytes, base: int) -> None:
        import numpy as np

        quotes = np.flatnonzero(np.frombuffer(data, np.uint8) == ord('"'))
        starts = np.concatenate(([0], quotes[1::2] + 1))
        ends = quotes[::2] if len(quotes) % 2 else np.concatenate((quotes[::2], [len(data)]))
        kept = starts < ends
        kept[0] = True
        self.data, self.base = data, base  # of data in the file
        self.starts: list[int] = starts[kept].tolist()
        self.ends: list[int] = ends[kept].tolist()

    def rows(self) -> Generator[_Row, None, int]:
        """Cuts it into its whole rows; returns where the rest begins."""
        stretches = [self.data[start:end] for start, end in zip(self.starts, self.ends, strict=True)]
        lines = b'"'.join(stretches).split(b"\n")
        lines.pop()
        begin = first = 0
        for line in lines:
            last = first + line.count(b'"')
            end = begin + len(line) if last == first else self.starts[last] + len(line) - line.rindex(b'"') - 1
            yield _Row(line.removesuffix(b"\r"), self, begin, end, first)
            begin, first = end + 1, last
        return begin


def _rows(path: Path, again: str, on_read: Callable[[int], None]) -> Iterator[_Row]:
    """Cuts a file into rows."""
    rest, base = b"", 0
    for chunk in read_chunks(path, again=again, on_read=on_read):
        if b"\0" in chunk:
            line = _line(path, base + len(rest) + chunk.index(b"\0"))
            raise UsageError(f"{path}: line {line} holds a NUL byte; the file is damaged there. {again}")
        data = rest + chunk
        end = yield from _Block(data, base).rows()
        rest, base = data[end:], base + end
        if len(rest) > ROW_LIMIT_BYTES:
            raise UsageError(
                f"{path}: the row that begins on line {_line(path, base)} has more than {ROW_LIMIT_BYTES:,} bytes; a "
                f"quoted field is left open or damaged. {again}"
            )
    if not rest.strip():
        return
    if rest.count(b'"') % 2:
        raise UsageError(
            f"{path}: the row that begins on line {_line(path, base)} has a quoted field that is left open; the file "
            f"is cut off or damaged. {again}"
        )
    yield from _Block(rest + b"\n", base).rows()


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
    for chunk in read_chunks(path, again=""):
        if left <= 0:
            break
        lines += chunk[:left].count(b"\n")
        left -= len(chunk)
    return lines
