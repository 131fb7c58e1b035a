"""Strict reading of official CSV files: the right columns, whole rows, valid UTF-8, or a message that says where.

The standard `csv` module in strict mode, row by row: a file of any size takes the memory of one row.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.io.whole_file import csv_lines, open_text

__all__ = ["CsvRow", "read_csv"]

# A lost quote makes the rest of a file one field; the limit must not hide that behind another message.
FIELD_LIMIT_BYTES = 256 * 1024 * 1024
_LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class CsvRow:
    """One row of a CSV file.

    Attributes:
        line: line of the file on which it ends, from 1.
        cells: column name to text, exactly as in the file.
    """

    line: int
    cells: dict[str, str]


def read_csv(path: Path, columns: Sequence[str], *, release: str, others: bool = False) -> Iterator[CsvRow]:
    """Reads a CSV file that must have exactly the given columns, in any order.

    Args:
        path: the file; a byte order mark at its start is skipped.
        columns: their names.
        release: what the file should be, for messages ("MedCalc-Bench v1.0 test set").
        others: whether it may have other columns as well.

    Yields:
        Its rows in order; wholly empty lines are no rows.

    Raises:
        UsageError: The file cannot be read, is empty, has other columns, is cut off, has a row of another length, or is
            not UTF-8.
    """
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT_BYTES))
    again = f"Download the {release} again; do not open and save it with a spreadsheet program."
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
            _check_header(path, header, columns, release=release, others=others)
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


def _shown(name: str) -> str:
    """A column's name for a message; where the header is lost, the first row's texts stand in its place."""
    return repr(name) if len(name) <= _LONGEST_NAME else f"a text of {len(name)} characters"


def _check_header(path: Path, header: Sequence[str], columns: Sequence[str], *, release: str, others: bool) -> None:
    missing = [name for name in columns if name not in header]
    unexpected = [] if others else [name for name in header if name not in columns]
    twice = sorted({name for name in (columns if others else header) if header.count(name) > 1})
    problems = [
        f"{label}: {', '.join(map(_shown, names))}"
        for label, names in (("missing", missing), ("unexpected", unexpected), ("twice", twice))
        if names
    ]
    if problems:
        raise UsageError(
            f"{path}: wrong columns for the {release}. {'; '.join(problems)}. Expected: {', '.join(map(repr, columns))}. "
            "Give the file as its source publishes it."
        )
