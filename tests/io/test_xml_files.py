"""XML and XLSX files: what a table is, and every way in which a file is none."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.io.tables import read_table
from medical_tasks.io.xml_files import (
    DEPTH_LIMIT,
    SIZE_LIMIT_BYTES,
    PlainXmlError,
    xml_root,
)
from tests.case_tables import json_of
from tests.tiny_xlsx import SHEET, TEXTS, with_parts, write_xlsx

CASES = json_of(Path(__file__).with_name("cases.json"))
"""Rows of parametrised tests, by the test's name; bytes as Latin-1."""
AGAIN = "Download the tiny table again."
NAMES = ("Id", "Text")
ROWS = (NAMES, ("1", "one"), ("2", "two"))


def read(path: Path) -> list[tuple[int, dict[str, str]]]:
    return [
        (row.number, {name: cell or "" for name, cell in row.cells.items()})
        for row in read_table(path, form=AGAIN).rows
    ]


def sheet(*rows: str) -> str:
    names = '<row r="1"><c r="A1" t="inlineStr"><is><t>Id</t></is></c><c r="B1" t="inlineStr"><is><t>Text</t></is></c></row>'
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{namespace}"><sheetData>{names}{"".join(rows)}</sheetData></worksheet>'


def test_a_table(tmp_path: Path) -> None:
    path = write_xlsx(
        tmp_path / "x.xlsx",
        [("Text", "Id"), ("one <&>\n µ ", "1"), ("", ""), ("", "3"), ("four", "4", "")],
    )
    assert read(path) == [
        (2, {"Text": "one <&>\n µ ", "Id": "1"}),
        (4, {"Text": "", "Id": "3"}),
        (5, {"Text": "four", "Id": "4"}),
    ]


def test_cells_of_every_kind_and_far_away(tmp_path: Path) -> None:
    cells = (
        '<row r="2"><c r="A2"><v>1.5</v></c><c r="B2" t="str"><f>A1</f><v>made_x000D_here</v></c></row>',
        '<row r="3"><c r="A3"/><c r="B3" t="inlineStr"><is><r><rPr><b/></rPr><t>bold</t></r><r><t>er</t></r></is></c></row>',
        '<row r="100000"><c r="B100000"><v>7</v></c></row>',
    )
    path = with_parts(write_xlsx(tmp_path / "x.xlsx", ROWS), {SHEET: sheet(*cells)})
    assert read(path) == [
        (2, {"Id": "1.5", "Text": "made\rhere"}),
        (3, {"Id": "", "Text": "bolder"}),
        (100_000, {"Id": "", "Text": "7"}),
    ]


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><sst>&b;</sst>'


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"xl/workbook.xml": None}, ""),
        ({SHEET: None}, ""),
        ({TEXTS: None, SHEET: sheet('<row><c t="s"><v>9</v></c></row>')}, ""),
        ({TEXTS: BOMB}, "sharedStrings.xml declares entities"),
        (
            {TEXTS: f"\ufeff{BOMB}".encode("utf-16")},
            "sharedStrings.xml declares entities",
        ),
        ({SHEET: "<worksheet>"}, "no element found"),
        (
            {TEXTS: b" " * (SIZE_LIMIT_BYTES + 1)},
            "bytes unpacked, more than 67,108,864",
        ),
    ],
)
def test_damaged_parts_are_refused(
    tmp_path: Path, changes: dict[str, str | bytes | None], message: str
) -> None:
    path = with_parts(write_xlsx(tmp_path / "x.xlsx", ROWS), changes)
    with pytest.raises(
        UsageError,
        match=f"x.xlsx: not a whole XLSX file .*{message}.*Download the tiny table again",
    ):
        read(path)


def test_false_sizes_are_refused(tmp_path: Path) -> None:
    path = with_parts(write_xlsx(tmp_path / "x.xlsx", ROWS), {TEXTS: b" " * 5_000_000})
    content = path.read_bytes()
    true_size, claimed = (5_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little")
    assert content.count(true_size) == 2
    path.write_bytes(content.replace(true_size, claimed))
    with pytest.raises(UsageError, match="not a whole XLSX file"):
        read(path)


@given(
    cut=st.integers(min_value=0, max_value=10_000),
    flip=st.integers(min_value=0, max_value=255),
)
def test_a_damaged_file_is_the_table_or_an_error(
    cut: int, flip: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    whole = write_xlsx(folder / "whole.xlsx", ROWS).read_bytes()
    position = cut % len(whole)
    path = folder / "damaged.xlsx"
    for content in (
        whole[:position],
        whole[:position] + bytes([flip]) + whole[position + 1 :],
    ):
        path.write_bytes(content)
        try:
            rows = read(path)
        except UsageError:
            continue
        assert rows == [
            (2, {"Id": "1", "Text": "one"}),
            (3, {"Id": "2", "Text": "two"}),
        ]


def test_an_encrypted_file(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "x.xlsx", ROWS)
    content = bytearray(path.read_bytes())
    for marker, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        position = content.find(marker)
        while position >= 0:
            content[position + offset] |= 1
            position = content.find(marker, position + 1)
    path.write_bytes(bytes(content))
    assert zipfile.is_zipfile(path)
    with pytest.raises(UsageError, match="not a whole XLSX file .*password"):
        read(path)


def nested(depth: int) -> bytes:
    return b"<a>" * depth + b"</a>" * depth


def test_a_document_and_its_bounds() -> None:
    root = xml_root(
        b'\xef\xbb\xbf<?xml version="1.0"?><a b="1"><!-- no --><c>x&#8217;&amp;&lt;</c></a>',
        limit_bytes=100,
    )
    assert (root.tag, root.attrib, [child.tag for child in root], root[0].text) == (
        "a",
        {"b": "1"},
        ["c"],
        "x\u2019&<",
    )
    assert xml_root(nested(DEPTH_LIMIT), limit_bytes=1_000).tag == "a"
    with pytest.raises(
        PlainXmlError, match="elements within one another deeper than 64"
    ):
        xml_root(nested(DEPTH_LIMIT + 1), limit_bytes=1_000)
    with pytest.raises(
        PlainXmlError, match="elements within one another deeper than 64"
    ):
        xml_root(nested(300_000), limit_bytes=10_000_000)
    assert xml_root(b"<a/>", limit_bytes=4).tag == "a"
    with pytest.raises(PlainXmlError, match="has 4 bytes, more than 3"):
        xml_root(b"<a/>", limit_bytes=3)


@pytest.mark.parametrize(("data", "message"), CASES["not_plain_xml"])
def test_documents_that_are_not_plain_xml_are_refused(data: str, message: str) -> None:
    with pytest.raises(PlainXmlError, match=message) as caught:
        xml_root(data.encode("latin-1"), limit_bytes=1_000)
    assert "marble" not in str(caught.value)
