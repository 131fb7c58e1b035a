"""Reading some rows out of a very large CSV file, plain or gzip, in constant memory.

Notes are long: of a file of three gigabytes a table needs a few megabytes. Finding rows (`csv_rows`) looks at every byte, so
for a large file it runs in a process beside this one (`row_process`), where another core is there for it; only wanted rows are
decoded and parsed, here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.io.csv_blocks import ROW_LIMIT_BYTES, FoundRow, line_at
from medical_tasks.io.csv_rows import again_text, find_rows, parsed_row
from medical_tasks.io.row_process import RowProcess, pays

__all__ = ["ROW_LIMIT_BYTES", "StreamedRow", "stream_rows"]


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
) -> Generator[StreamedRow, None, None]:
    """Begins to read a file, and yields the rows that are wanted.

    Args:
        path: the file, gzip or not by its content; UTF-8, a byte order mark is skipped.
        columns: names the header must have, in any order, and no others.
        wanted: column name to the texts of which a wanted row has one there, for each column that decides. Rows that are not
            wanted by their first fields are not looked at further.
        release: what the file should be, for messages.
        on_read: called with the number of bytes of the file that were read so far.

    Returns:
        Rows in the order of the file. A large file is being read from now on, whether or not any row was asked for; closing
        or dropping the generator ends that.

    Raises:
        UsageError: From the generator: the file cannot be read, is cut off or damaged, has other columns, a row of another
            length, a NUL byte, or a wanted row that is not UTF-8.
    """
    if pays(path):
        found: RowProcess | Generator[FoundRow, None, None] = RowProcess(
            path, columns, wanted=wanted, release=release, on_read=on_read
        )
    else:
        found = find_rows(path, columns, wanted=wanted, release=release, on_read=on_read)
    return _wanted_rows(path, found, wanted, again_text(release))


def _wanted_rows(
    path: Path,
    found: RowProcess | Generator[FoundRow, None, None],
    wanted: Mapping[str, Collection[str]],
    again: str,
) -> Generator[StreamedRow, None, None]:
    texts = {name: frozenset(each) for name, each in wanted.items()}
    with contextlib.closing(found):
        header = parsed_row(path, next(found), again)
        for row in found:
            fields = parsed_row(path, row, again)
            if len(fields) != len(header):
                raise UsageError(
                    f"{path}: the row that begins on line {line_at(path, row.offset)} is not whole (a quote amid a field). "
                    f"{again}"
                )
            cells = dict(zip(header, fields, strict=True))
            if all(cells[name] in each for name, each in texts.items()):
                yield StreamedRow(line=_later(path, row.offset), cells=cells)


def _later(path: Path, offset: int) -> Callable[[], int]:
    return lambda: line_at(path, offset)
