"""Reading every row of a file of discharge summaries, one at a time, plain or gzip.

`csv_stream` finds the rows of a few patients at the speed of a search; here all rows are wanted. What is read of the sampled
patients in the end goes through `csv_stream`, with all its checks.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.csv_files import ROW_LIMIT_BYTES
from medical_tasks.io.files import csv_lines, open_file

__all__ = ["read_all"]

_RELEASE = "file of discharge summaries"
_AGAIN = "Export or download it again; do not open and save it with a spreadsheet program."
_GZIP_MAGIC = b"\x1f\x8b"


def read_all(path: Path, columns: Sequence[str], *, on_read: Callable[[int], None]) -> Iterator[list[str]]:
    """Yields the cells of every row.

    Args:
        path: the file, UTF-8, gzip or not by its content.
        columns: names the header must have, in any order, and no others.
        on_read: called with the number of bytes of the file that were read so far, at every row.

    Yields:
        A row's cells in the order of `columns`.

    Raises:
        MissingError: There is no such file.
        UsageError: It cannot be read, is cut off or damaged, has other columns or a row of another length; the message names
            the line and no text.
    """
    csv.field_size_limit(max(csv.field_size_limit(), ROW_LIMIT_BYTES))
    line = 0
    try:
        with open_file(path) as raw, _unpacked(raw) as stream:
            reader = csv.reader(csv_lines(path, stream), strict=True)
            order = _order(path, next(reader, None), columns)
            width, count = len(order), 0
            for cells in reader:
                line = reader.line_num
                if not cells:
                    continue
                if len(cells) != width:
                    raise UsageError(
                        f"{path}: the row that ends on line {line} has {len(cells)} fields, the header has {width}; the file is "
                        f"cut off or damaged there. {_AGAIN}"
                    )
                count += 1
                on_read(raw.tell())
                yield [cells[place] for place in order]
    except FileNotFoundError as error:
        raise MissingError(f"{path}: no such file. Give --source the {_RELEASE}, discharge.csv.gz.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path}: cut off or damaged, cannot be unpacked after line {line}. {_AGAIN}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: not UTF-8 after line {line} (byte 0x{error.object[error.start]:02x}). {_AGAIN}"
        ) from error
    except csv.Error as error:
        raise UsageError(f"{path}: not a whole CSV file after line {line} ({error}). {_AGAIN}") from error
    if not count:
        raise UsageError(f"{path}: has a header and no rows. {_AGAIN}")


def _unpacked(raw: BinaryIO) -> io.TextIOWrapper:
    packed = raw.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    raw.seek(0)
    return io.TextIOWrapper(gzip.GzipFile(fileobj=raw) if packed else raw, encoding="utf-8-sig", newline="")


def _order(path: Path, header: list[str] | None, columns: Sequence[str]) -> list[int]:
    """Where each column stands."""
    if header is None:
        raise UsageError(f"{path}: is empty, expected the {_RELEASE}. {_AGAIN}")
    missing = [name for name in columns if name not in header]
    # Where the header is lost the first row stands in its place: other names than the expected ones are not shown.
    if missing or len(header) != len(columns):
        said = f"missing: {', '.join(map(repr, missing))}" if missing else f"{len(header)} instead of {len(columns)}"
        raise UsageError(
            f"{path}: wrong columns for the {_RELEASE}. {said}. Expected: {', '.join(map(repr, columns))}."
        )
    return [header.index(name) for name in columns]
