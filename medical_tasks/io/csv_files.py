"""Strict reading of published CSV files: every row of a table (`read_csv`), or a few rows out of gigabytes (`stream_rows`).

Of a large file what stands in quotes is skipped; the outline left of a row tells where it ends and, mostly, whether it is wanted.
Messages give places, never text: these files are credentialed.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from medical_tasks.errors import UsageError
from medical_tasks.io.files import check_columns, csv_lines, open_text, read_chunks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.intp]

__all__ = ["FIELD_LIMIT_BYTES", "ROW_LIMIT_BYTES", "CsvRow", "StreamedRow", "read_csv", "stream_rows"]


# A lost quote makes the rest of a file one field; the limit must not hide that behind another message.
FIELD_LIMIT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class CsvRow:
    """One row of a CSV file."""

    line: int  # of the file on which it ends, from 1
    cells: dict[str, str]  # column name to text, exactly as in the file


def _again(release: str) -> str:
    return f"Download the {release} again; do not open and save it with a spreadsheet program."


def read_csv(path: Path, columns: Sequence[str], *, release: str, others: bool = False) -> Iterator[CsvRow]:
    """Reads a CSV file of these columns (or `others` too), in any order; `release`: what it should be, for messages."""
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT_BYTES))
    again = _again(release)
    try:
        stream = open_text(path, encoding="utf-8-sig", newline="")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}).") from error
    with stream:
        reader = csv.reader(csv_lines(path, stream), strict=True)
        try:
            header = next(reader, None)
            if header is None:
                raise UsageError(f"{path}: is empty. {again}")
            check_columns(path, header, columns, release=release, others=others)
            count = 0
            for values in reader:
                if not values:
                    continue
                if len(values) != len(header):
                    raise UsageError(
                        f"{path}: the row that ends on line {reader.line_num} has {len(values)} fields, the header has "
                        f"{len(header)}; the file is cut off or damaged there. {again}"
                    )
                count += 1
                yield CsvRow(line=reader.line_num, cells=dict(zip(header, values, strict=True)))
            if not count:
                raise UsageError(f"{path}: has a header and no rows. {again}")
        except csv.Error as error:
            raise UsageError(
                f"{path}: not a whole CSV file ({error}, line {reader.line_num}); a quoted field is left open or damaged. "
                f"{again}"
            ) from error
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{path}: not UTF-8 after line {reader.line_num} (byte 0x{error.object[error.start]:02x}). {again}"
            ) from error


@dataclass(frozen=True, kw_only=True)
class StreamedRow:
    """A wanted row."""

    line: Callable[[], int]  # on which it begins, from 1; costs a second read of the file
    cells: dict[str, str]  # column name to text, exactly as in the file


def stream_rows(
    path: Path,
    columns: Sequence[str],
    *,
    wanted: Mapping[str, Collection[str]],
    release: str,
    on_read: Callable[[int], None] = lambda _: None,
) -> Generator[StreamedRow, None, None]:
    """Yields the rows of a file that are wanted; `columns` are all that the header has, in any order.

    `wanted`: column name to the texts of which a wanted row has one there. `on_read`: called with the bytes read so far.
    """
    again = _again(release)
    blocks = _read_blocks(path, again=again, on_read=on_read)
    first = next(blocks, None)
    if first is None:
        raise UsageError(f"{path}: is empty, expected the {release}. {again}")
    header = _parsed_row(path, _FoundRow(0, first.row(0).raw.removeprefix(_MARK)), again)
    check_columns(path, header, columns, release=release, private=True)
    texts = {header.index(name): frozenset(each) for name, each in wanted.items()}
    for row in _find_rows(path, blocks, len(header), texts, again):
        fields = _parsed_row(path, row, again)
        if len(fields) != len(header):
            raise UsageError(
                f"{path}: the row that begins on line {_line_at(path, row.offset)} is not whole (a quote amid a field). "
                f"{again}"
            )
        if all(fields[position] in each for position, each in texts.items()):
            cells = dict(zip(header, fields, strict=True))
            yield StreamedRow(line=partial(_line_at, path, row.offset), cells=cells)


_MARK = b"\xef\xbb\xbf"
_commas = methodcaller("count", b",")


def _find_rows(
    path: Path, blocks: Iterator[_Block], width: int, wanted: Mapping[int, Collection[str]], again: str
) -> Iterator[_FoundRow]:
    """Yields the rows that are, or without parsing may be, wanted."""
    texts = {
        position: frozenset(text.replace('"', '""').encode() for text in each) for position, each in wanted.items()
    }
    count = 0
    for block in blocks:
        numbers = _wanted_if_regular(block, width, texts)
        if numbers is not None:
            count += len(block.lines)
            yield from map(block.row, numbers)
            continue
        for number, line in enumerate(block.lines):
            fields = line.removesuffix(b"\r").split(b",")
            if len(fields) == width:
                count += 1
                if _may_be_wanted(block, number, fields, texts):
                    yield block.row(number)
            elif line.strip():
                where = _line_at(path, block.row(number).offset)
                raise UsageError(
                    f"{path}: the row that begins on line {where} has {len(fields)} fields, the header has {width}; the "
                    f"file is cut off or damaged there. {again}"
                )
    if not count:
        raise UsageError(f"{path}: has a header and no rows. {again}")


def _wanted_if_regular(block: _Block, width: int, texts: Mapping[int, Collection[bytes]]) -> Sequence[int] | None:
    """The numbers of the wanted rows; None where some row has another number of fields or a quote in its first ones.

    Looking at all rows of a block together is several times as fast. The last field cannot decide: a line end may be left in it.
    """
    deciding = max(texts, default=-1) + 1
    if set(map(_commas, block.lines)) != {width - 1} or deciding == width:
        return None
    cells = block.cells()
    columns = [cells[position::width] for position in range(deciding)]
    if any(b'"' in b"".join(column) for column in columns):
        return None
    numbers: Sequence[int] = range(len(block.lines))
    for position, each in texts.items():
        column = columns[position]
        numbers = [number for number in numbers if column[number] in each]
    return numbers


def _may_be_wanted(block: _Block, number: int, fields: Sequence[bytes], texts: Mapping[int, Collection[bytes]]) -> bool:
    start = list(fields[: max(texts, default=-1) + 1])
    if b'"' in b"".join(start):
        start = block.with_quoted(number, start)
    return all(start[position] in each or start[position] == _UNREAD for position, each in texts.items())


def _parsed_row(path: Path, row: _FoundRow, again: str) -> list[str]:
    try:
        text = row.raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: the row that begins on line {_line_at(path, row.offset)} is not UTF-8 "
            f"(byte 0x{row.raw[error.start]:02x}). {again}"
        ) from error
    csv.field_size_limit(max(csv.field_size_limit(), ROW_LIMIT_BYTES))
    try:
        # One "line" with its line ends inside: split into lines, texts would be cut at more than line feeds.
        rows = list(csv.reader([text.removesuffix("\r")], strict=True))
    except csv.Error as error:
        raise UsageError(
            f"{path}: the row that begins on line {_line_at(path, row.offset)} is not whole ({error}). {again}"
        ) from error
    return rows[0]


# The longest notes have about 100 KB; a row beyond this is the rest of a file behind a lost quote.
ROW_LIMIT_BYTES = 16 * 1024 * 1024

# In the place of a field that only parsing the row tells; a field of an outline cannot be this.
_UNREAD = b","


class _FoundRow(NamedTuple):
    offset: int  # bytes of the unpacked file before it
    raw: bytes  # without the line feed at its end


class _Block:
    """Whole rows in `data`, `base` bytes into the unpacked file, and their outlines (`lines`), with `"` for what is quoted.

    `rest` is where the row begins that is not whole, `inside` whether the data end inside quotes.
    """

    def __init__(self, data: bytes, base: int, quotes: Places, begin: int = 0) -> None:
        import numpy as np

        quotes = quotes[np.searchsorted(quotes, begin) :]
        self.inside = bool(len(quotes) % 2)
        starts = np.concatenate(([begin], quotes[1::2] + 1))
        ends = quotes[::2] if self.inside else np.concatenate((quotes[::2], [len(data)]))
        # Stretches outside quotes. Between the two quotes of an escaped one there is none: its field is not closed there.
        kept = starts < ends
        kept[0] = True
        self._data, self._base = data, base
        self._starts: list[int] = starts[kept].tolist()
        self._ends: list[int] = ends[kept].tolist()
        self._outline = b'"'.join([data[start:end] for start, end in zip(self._starts, self._ends, strict=True)])
        self._asked = self._stretch = 0  # the last place in the outline that was asked for, and the stretch it is in
        self.lines = self._outline.split(b"\n")
        self.rest = self._place(len(self._outline) - len(self.lines.pop()))
        self._asked = self._stretch = 0

    @cached_property
    def _begins(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self.lines), initial=0))

    def cells(self) -> list[bytes]:
        """The outlines of all fields of all rows, one after another."""
        cells = self._outline[: self._begins[-1]].replace(b"\n", b",").split(b",")
        cells.pop()
        return cells

    def row(self, number: int) -> _FoundRow:
        start = self._place(self._begins[number])
        return _FoundRow(self._base + start, self._data[start : self._place(self._begins[number + 1] - 1)])

    def with_quoted(self, number: int, fields: Sequence[bytes]) -> list[bytes]:
        """The first fields of a row with what is quoted in them; `_UNREAD` from the first on that has more than its quotes."""
        self._place(self._begins[number])
        place, found, damaged = self._stretch, [], False
        for field in fields:
            quotes = field.count(b'"')
            damaged = damaged or len(field) > quotes > 0
            if damaged or not quotes:
                found.append(_UNREAD if damaged else field)
            else:
                found.append(self._data[self._ends[place] + 1 : self._starts[place + 1] - 1])
            place += quotes
        return found

    def _place(self, asked: int) -> int:
        self._stretch += self._outline.count(b'"', self._asked, asked)
        self._asked = asked
        return self._starts[self._stretch] + asked - self._outline.rfind(b'"', 0, asked) - 1


def _read_blocks(path: Path, *, again: str, on_read: Callable[[int], None]) -> Iterator[_Block]:
    """Cuts a file into blocks of at least one row; the first has the first row alone."""
    import numpy as np

    rest, base = b"", 0  # the row that is not whole, and what is before it
    inside = False  # whether it ends inside quotes
    for chunk in read_chunks(path, again=again, on_read=on_read):
        if not np.frombuffer(chunk, np.uint8).min():
            line = _line_at(path, base + len(rest) + chunk.index(b"\0"))
            raise UsageError(f"{path}: line {line} holds a NUL byte; the file is damaged there. {again}")
        quotes = _quotes(chunk)
        begin = 0
        if rest or not base:
            # A row that began before is put together, not the chunks: copying all of them would take long.
            begin = _first_end(chunk, quotes.tolist(), inside) + 1
            rest += chunk[: begin or None]
            if begin:
                yield _Block(rest, base, _quotes(rest))
                rest, base = b"", base + len(rest)
        if rest:
            inside ^= bool(len(quotes) % 2)
        else:
            block = _Block(chunk, base - begin, quotes, begin)
            if block.lines:
                yield block
            rest, base, inside = chunk[block.rest :], base - begin + block.rest, block.inside
        if len(rest) > ROW_LIMIT_BYTES:
            raise UsageError(
                f"{path}: the row that begins on line {_line_at(path, base)} has more than {ROW_LIMIT_BYTES:,} bytes; a "
                f"quoted field is left open or damaged. {again}"
            )
    if not rest.strip():
        return
    if inside:
        raise UsageError(
            f"{path}: the row that begins on line {_line_at(path, base)} has a quoted field that is left open; the file "
            f"is cut off or damaged. {again}"
        )
    yield _Block(rest + b"\n", base, _quotes(rest))


def _quotes(data: bytes) -> Places:
    import numpy as np

    found = np.frombuffer(data, np.uint8) == ord('"')
    whole = len(data) // 8 * 8
    # Quotes are rare: eight bytes are looked at together, then those of the eights that hold one.
    eights = np.flatnonzero(found[:whole].view(np.uint64) != 0)
    places = np.flatnonzero(found[:whole].reshape(-1, 8)[eights])
    return np.concatenate((eights[places >> 3] * 8 + (places & 7), np.flatnonzero(found[whole:]) + whole))


def _first_end(chunk: bytes, quotes: Sequence[int], inside: bool) -> int:
    """Finds the first line feed outside quotes; -1 where there is none."""
    begin = 0
    for quote in (*quotes, len(chunk)):
        if not inside:
            end = chunk.find(b"\n", begin, quote)
            if end >= 0:
                return end
        begin, inside = quote + 1, not inside
    return -1


def _line_at(path: Path, offset: int) -> int:
    """Counts lines up to an offset of the unpacked file, from 1; reads it again, which only messages need."""
    left, lines = offset, 1
    for chunk in read_chunks(path, again=""):
        if left <= 0:
            break
        lines += chunk[:left].count(b"\n")
        left -= len(chunk)
    return lines
