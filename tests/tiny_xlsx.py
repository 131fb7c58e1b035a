"""XLSX files for tests, whole ones and ones with changed parts."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from openpyxl import Workbook

SHEET = "xl/worksheets/sheet1.xml"
TEXTS = "xl/sharedStrings.xml"


def write_xlsx(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    """Writes a file; whole numbers become numbers, "" a cell without value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    book = Workbook()
    sheet = book.worksheets[0]
    for number, row in enumerate(rows, start=1):
        for column, text in enumerate(row, start=1):
            sheet.cell(number, column, int(text) if text.isdigit() else text or None)
    book.save(path)
    return path


def with_parts(path: Path, changes: Mapping[str, str | bytes | None]) -> Path:
    """Rewrites the file with other parts, None for one to leave out."""
    with zipfile.ZipFile(path) as archive:
        parts: dict[str, str | bytes | None] = {
            name: archive.read(name) for name in archive.namelist()
        }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (parts | dict(changes)).items():
            if content is not None:
                archive.writestr(name, content)
    return path
