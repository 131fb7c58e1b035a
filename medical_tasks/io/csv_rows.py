"""Finding the rows of a very large CSV file, plain or gzip, that may be wanted.

Only rows that may be wanted are looked at further than their outlines (`csv_blocks`). Every row is still checked: that its
quotes close, that it has as many fields as the header, and for gzip that length and checksum are those of the file.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from operator import methodcaller
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.io.csv_blocks import ROW_LIMIT_BYTES, UNREAD, Block, FoundRow, line_at, read_blocks

__all__ = ["again_text", "find_rows", "parsed_row"]

_MARK = b"\xef\xbb\xbf"
_commas = methodcaller("count", b",")


def again_text(release: str) -> str:
    """Writes the next step for a damaged file.

    Args:
        release: what the file should be.

    Returns:
        The end of a message.
    """
    return f"Download the {release} again; do not open and save it with a spreadsheet program."


def find_rows(
    path: Path,
    columns: Sequence[str],
    *,
    wanted: Mapping[str, Collection[str]],
    release: str,
    on_read: Callable[[int], None],
) -> Generator[FoundRow, None, None]:
    """Yields the header, then the rows that are wanted or cannot be told from those without parsing them.

    Args:
        path: as `csv_stream.stream_rows`.
        columns: as there.
        wanted: as there.
        release: as there.
        on_read: as there.

    Yields:
        Rows in the order of the file; the first is the header, without byte order mark.

    Raises:
        UsageError: As there, except for what only parsing a row tells.
    """
    again = again_text(release)
    blocks = read_blocks(path, again=again, on_read=on_read)
    first = next(blocks, None)
    if first is None:
        raise UsageError(f"{path}: is empty, expected the {release}. {again}")
    head = FoundRow(0, first.row(0).raw.removeprefix(_MARK))
    header = parsed_row(path, head, again)
    _check_header(path, header, columns, release=release)
    yield head
    texts = {
        header.index(name): frozenset(text.replace('"', '""').encode() for text in each)
        for name, each in wanted.items()
    }
    count = 0
    for block in blocks:
        numbers = _wanted_if_regular(block, len(header), texts)
        if numbers is not None:
            count += len(block.lines)
            yield from map(block.row, numbers)
            continue
        for number, line in enumerate(block.lines):
            fields = line.removesuffix(b"\r").split(b",")
            if len(fields) == len(header):
                count += 1
                if _may_be_wanted(block, number, fields, texts):
                    yield block.row(number)
            elif line.strip():
                where = line_at(path, block.row(number).offset)
                raise UsageError(
                    f"{path}: the row that begins on line {where} has {len(fields)} fields, the header has {len(header)}; the "
                    f"file is cut off or damaged there. {again}"
                )
    if not count:
        raise UsageError(f"{path}: has a header and no rows. {again}")


def _wanted_if_regular(block: Block, width: int, texts: Mapping[int, Collection[bytes]]) -> Sequence[int] | None:
    """The numbers of the wanted rows; None where rows have to be looked at one by one.

    That is where some row has another number of fields or a quote in its first ones, or where the last field decides, at which
    a line end may have left something. It is never so in the files this is for, and looking at all rows of a block together is
    several times as fast.
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


def _may_be_wanted(block: Block, number: int, fields: Sequence[bytes], texts: Mapping[int, Collection[bytes]]) -> bool:
    start = list(fields[: max(texts, default=-1) + 1])
    if b'"' in b"".join(start):
        start = block.with_quoted(number, start)
    return all(start[position] in each or start[position] == UNREAD for position, each in texts.items())


def parsed_row(path: Path, row: FoundRow, again: str) -> list[str]:
    """Parses a row.

    Args:
        path: its file, for messages.
        row: the row.
        again: the next step, for messages.

    Returns:
        The texts of its fields.

    Raises:
        UsageError: It is not UTF-8, or what is quoted in it does not make fields.
    """
    try:
        text = row.raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: the row that begins on line {line_at(path, row.offset)} is not UTF-8 "
            f"(byte 0x{row.raw[error.start]:02x}). {again}"
        ) from error
    csv.field_size_limit(max(csv.field_size_limit(), ROW_LIMIT_BYTES))
    try:
        # One "line" with its line ends inside: split into lines, texts would be cut at more than line feeds.
        rows = list(csv.reader([text.removesuffix("\r")], strict=True))
    except csv.Error as error:
        raise UsageError(
            f"{path}: the row that begins on line {line_at(path, row.offset)} is not whole ({error}). {again}"
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
            f"{path}: wrong columns for the {release}. {'; '.join(problems)}. Expected: {', '.join(map(repr, columns))}. "
            "Give the file as its source publishes it."
        )
