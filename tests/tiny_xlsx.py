"""XLSX files for tests, part by part, right and wrong ones."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"

BOOK = "xl/workbook.xml"
RELATIONS = "xl/_rels/workbook.xml.rels"
SHEET = "xl/worksheets/sheet1.xml"
TEXTS = "xl/sharedStrings.xml"


def sheet_xml(rows: Sequence[str]) -> str:
    """A sheet of ready rows."""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>'


def texts_xml(items: Sequence[str]) -> str:
    """Shared texts of ready items, such as `<t>a</t>`."""
    return f'<sst xmlns="{MAIN}">{"".join(f"<si>{item}</si>" for item in items)}</sst>'


def relations_xml(sheet: str = "worksheets/sheet1.xml", texts: str = "sharedStrings.xml", more: str = "") -> str:
    """What the workbook points to."""
    return (
        f'<Relationships xmlns="{PACKAGE}"><Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="{sheet}" {more}/>'
        f'<Relationship Id="rId2" Type="{OFFICE}/sharedStrings" Target="{texts}"/></Relationships>'
    )


def write_parts(path: Path, parts: Mapping[str, str | bytes]) -> Path:
    """Writes a file of the given parts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def xlsx_parts(rows: Sequence[Sequence[str]]) -> dict[str, str | bytes]:
    """The parts of a file; whole numbers become numbers, "" a cell without value, other texts are shared."""
    shared = list(dict.fromkeys(text for row in rows for text in row if text and not text.isdigit()))
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = []
        for letter, text in zip("ABCDEFGH", row, strict=False):
            place = f'r="{letter}{number}"'
            if not text:
                cells.append(f"<c {place}/>")
            elif text.isdigit():
                cells.append(f"<c {place}><v>{text}</v></c>")
            else:
                cells.append(f'<c {place} t="s"><v>{shared.index(text)}</v></c>')
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    return {
        BOOK: f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>',
        RELATIONS: relations_xml(),
        SHEET: sheet_xml(lines),
        TEXTS: texts_xml([f'<t xml:space="preserve">{escape(text)}</t>' for text in shared]),
    }


def write_xlsx(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    """Writes a whole file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_parts(path, xlsx_parts(rows))
