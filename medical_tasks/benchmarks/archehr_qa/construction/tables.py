"""Tables of the user's: CSV, plain or gzip, with some columns that must be there and others that are passed over.

Messages hold places and rules, never texts: a table may be of notes, or of messages from patients.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.csv_files import stream_rows
from medical_tasks.io.files import read_chunks

__all__ = ["header_of", "read_table", "table_columns"]

_LARGEST_HEADER: Final = 64 * 1024


def header_of(path: Path, *, release: str) -> list[str]:
    """Reads the names of a table's columns.

    Args:
        path: the file.
        release: what it should be, for messages.

    Raises:
        MissingError: There is no such file.
        UsageError: It cannot be read, or its first line is no header.
    """
    if not path.exists():
        raise MissingError(f"{path}: no such file. Give the {release}.")
    again = f"Export the {release} again as CSV."
    head = b""
    for chunk in read_chunks(path, again=again):
        head += chunk
        if b"\n" in head or len(head) > _LARGEST_HEADER:
            break
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    try:
        names = next(csv.reader([line[:_LARGEST_HEADER].decode("utf-8").removesuffix("\r")], strict=True), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: has no header that could be one of a {release}. {again}") from error
    return names


def table_columns(header: Sequence[str], wanted: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Finds columns by the names they may have, whatever their case.

    Args:
        header: of the table.
        wanted: what a column is for, to its possible names in lower case.

    Returns:
        What a column is for, to its name in the header, for those that are there once.
    """
    found: dict[str, str] = {}
    for use, names in wanted.items():
        there = [name for name in header if name.strip().lower() in names]
        if len(there) == 1:
            found[use] = there[0]
    return found


def read_table(
    path: Path,
    required: Mapping[str, Collection[str]],
    *,
    optional: Mapping[str, Collection[str]] | None = None,
    release: str,
    on_read: Callable[[int], None] = lambda _: None,
) -> Iterator[dict[str, str]]:
    """Yields what the columns hold, row by row, in the memory of a row.

    Args:
        path: the file.
        required: what a column is for, to its possible names in lower case.
        optional: likewise, for columns that may be missing.
        release: what the file should be, for messages.
        on_read: called with the number of bytes read so far.

    Raises:
        MissingError: There is no such file.
        UsageError: It is damaged, or lacks a column.
    """
    header = header_of(path, release=release)
    columns = table_columns(header, {**required, **(optional or {})})
    missing = [" or ".join(sorted(names)) for use, names in required.items() if use not in columns]
    if missing:
        raise UsageError(
            f"{path}: wrong columns for the {release}; missing, or there more than once: {', '.join(missing)}. "
            f"Name them so in the first line."
        )
    for row in stream_rows(path, header, wanted={}, release=release, on_read=on_read):
        yield {use: row.cells[name] for use, name in columns.items()}
