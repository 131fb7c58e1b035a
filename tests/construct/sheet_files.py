"""Sheets and JSON lines as tests read and edit them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from medical_tasks.io.cells import plain


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_rows(path: Path) -> list[list[str]]:
    """Reads the header and the rows, with escapes."""
    text = path.read_text(encoding="utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


def read_cells(path: Path) -> list[dict[str, str]]:
    """Reads the rows by column, without escapes."""
    header, *rows = read_rows(path)
    return [dict(zip(header, map(plain, row), strict=True)) for row in rows]


def edit_sheet(
    path: Path, change: Callable[[dict[str, str]], dict[str, str] | None]
) -> None:
    """Edits a sheet as a spreadsheet program does, without escapes; None removes a row."""
    header = read_rows(path)[0]
    changed = map(change, read_cells(path))
    write_rows(path, header, [row.values() for row in changed if row is not None])


def write_rows(
    path: Path,
    header: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    delimiter: str = ",",
) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n", delimiter=delimiter)
    writer.writerow(header)
    writer.writerows(rows)
    path.write_bytes(b"\xef\xbb\xbf" + stream.getvalue().encode())
