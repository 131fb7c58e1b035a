"""XML and XLSX files: what a table is, and every way in which a file is none."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.io.xml_files import DEPTH_LIMIT, PART_LIMIT_BYTES, PlainXmlError, read_xlsx, xml_root
from tests.tiny_xlsx import (
    BOOK,
    RELATIONS,
    SHEET,
    TEXTS,
    relations_xml,
    sheet_xml,
    texts_xml,
    write_parts,
    write_xlsx,
    xlsx_parts,
)

CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))
"""Rows of parametrised tests, by the test's name; bytes as Latin-1."""
NAMES = ("Id", "Text")
ROWS = (NAMES, ("1", "one"), ("2", "two"))


def read(path: Path) -> list[tuple[int, dict[str, str]]]:
    return [(row.row, row.cells) for row in read_xlsx(path, NAMES, release="tiny table")]


def read_parts(folder: Path, **changes: str | bytes | None) -> list[tuple[int, dict[str, str]]]:
    names = {"book": BOOK, "relations": RELATIONS, "sheet": SHEET, "texts": TEXTS}
    parts: dict[str, Any] = {**xlsx_parts(ROWS), **{names[key]: content for key, content in changes.items()}}
    return read(
        write_parts(folder / "x.xlsx", {name: content for name, content in parts.items() if content is not None})
    )


def test_a_table(tmp_path: Path) -> None:
    path = write_xlsx(
        tmp_path / "x.xlsx", [("Text", "Id"), ("one <&>\n µ ", "1"), ("", ""), ("", "3"), ("four", "4", "")]
    )
    assert read(path) == [
        (2, {"Text": "one <&>\n µ ", "Id": "1"}),
        (4, {"Text": "", "Id": "3"}),
        (5, {"Text": "four", "Id": "4"}),
    ]


def test_every_form_of_a_cell(tmp_path: Path) -> None:
    cells = (
        '<c r="A2"><v>7</v></c><c r="B2" t="s"><v>0</v></c>',
        '<c r="A3" t="b"><v>1</v></c><c r="B3" t="str"><f>A1</f><v>made_x000D_here_xD800__x005F_x0041_</v></c>',
        # Without places, in order; an inline text of runs; how a text is pronounced does not count.
        '<c t="n"><v>1.5</v></c><c t="inlineStr"><is><r><rPr><b/></rPr><t>bold</t></r><r><t> not</t></r></is></c>',
        '<c r="A5"/><c r="B5" t="s"><v>1</v></c>',
    )
    names = '<row r="1"><c r="A1" t="inlineStr"><is><t>Id</t></is></c><c r="B1" t="inlineStr"><is><t>Text</t></is></c></row>'
    sheet = sheet_xml([names, *(f"<row>{each}</row>" for each in cells)])
    texts = texts_xml(["<t>plain</t>", "<r><t>in </t></r><r><t>runs_x0041_</t></r><rPh sb='0' eb='1'><t>not</t></rPh>"])
    assert [cells for _, cells in read_parts(tmp_path, sheet=sheet, texts=texts)] == [
        {"Id": "7", "Text": "plain"},
        {"Id": "1", "Text": "made\rhere_xD800__x0041_"},
        {"Id": "1.5", "Text": "bold not"},
        {"Id": "", "Text": "in runsA"},
    ]


def test_parts_may_lie_elsewhere(tmp_path: Path) -> None:
    parts = xlsx_parts(ROWS)
    parts["xl/a/b.xml"], parts["xl/c.xml"] = parts.pop(SHEET), parts.pop(TEXTS)
    parts[RELATIONS] = relations_xml(sheet="/xl/a/b.xml", texts="../xl/c.xml")
    # The strict form of the standard has other namespaces.
    parts["xl/a/b.xml"] = str(parts["xl/a/b.xml"]).replace("schemas.openxmlformats.org", "purl.oclc.org")
    assert [row for row, _ in read(write_parts(tmp_path / "x.xlsx", parts))] == [2, 3]


ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
ROW = '<row r="1"><c r="A1" t="inlineStr"><is><t>Id</t></is></c><c t="inlineStr"><is><t>Text</t></is></c></row>'


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sheet": None}, "part xl/worksheets/sheet1.xml is missing"),
        ({"texts": None}, "part xl/sharedStrings.xml is missing"),
        ({"book": None}, "part xl/workbook.xml is missing"),
        ({"book": "<workbook><sheets/></workbook>"}, "the workbook has no sheet"),
        ({"relations": "<Relationships/>"}, "the first sheet is not in the file"),
        ({"relations": relations_xml(more='TargetMode="External"')}, "the first sheet is not in the file"),
        ({"relations": relations_xml(sheet="file:///etc/passwd")}, "part xl/file:/etc/passwd is missing"),
        ({"relations": relations_xml(sheet="../../../etc/passwd")}, "part etc/passwd is missing"),
        ({"texts": ENTITIES + texts_xml(["<t>&b;</t>"])}, "part xl/sharedStrings.xml declares entities"),
        ({"texts": ("\ufeff" + ENTITIES + texts_xml([])).encode("utf-16")}, "sharedStrings.xml is not UTF-8"),
        ({"texts": '<?xml version="1.0" encoding="UTF-7"?>' + ENTITIES + "<sst/>"}, "declares entities"),
        ({"texts": texts_xml(["<t>&b;</t>"])}, "sharedStrings.xml is not whole: undefined entity"),
        ({"texts": texts_xml(["<t>a</t>"])}, "row 1 names a text that is not there"),
        ({"sheet": "<worksheet>"}, "sheet1.xml is not whole: no element found"),
        ({"sheet": "<worksheet>\0</worksheet>"}, "sheet1.xml is not whole"),
        ({"sheet": sheet_xml([])}, "the first sheet is empty. Download the tiny table again"),
        ({"sheet": sheet_xml([ROW.replace("A1", "A2")])}, "row 1 has a cell called 'A2'"),
        ({"sheet": sheet_xml([ROW.replace("A1", "../A1")])}, "row 1 has a cell called '../A1'"),
        ({"sheet": sheet_xml([ROW.replace('r="1"', 'r="x"')])}, "a row has the number 'x'"),
        ({"sheet": sheet_xml([ROW, ROW])}, "row 1 stands behind row 1"),
        ({"sheet": sheet_xml(['<row><c r="A1"/><c r="A1"/></row>'])}, "row 1 has column 1 of the sheet twice"),
        ({"sheet": sheet_xml(['<row><c t="e"><v>#REF!</v></c></row>'])}, "row 1 has an error of a formula"),
        ({"sheet": sheet_xml(['<row><c t="s"><v>-1</v></c></row>'])}, "row 1 names a text that is not there"),
        ({"sheet": sheet_xml(['<row><c t="s"><v>²</v></c></row>'])}, "row 1 names a text that is not there"),
    ],
)
def test_parts_that_are_not_as_they_should_be(
    tmp_path: Path, changes: dict[str, str | bytes | None], message: str
) -> None:
    with pytest.raises(UsageError, match=f"x.xlsx: .*{message}") as caught:
        read_parts(tmp_path, **changes)
    assert "Download the tiny table again" in str(caught.value)


@pytest.mark.parametrize(("rows", "message"), CASES["another_table"])
def test_another_table(tmp_path: Path, rows: list[list[str]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(write_xlsx(tmp_path / "x.xlsx", rows))


@pytest.mark.parametrize("content", [b"", b"Id,Text\n1,one\n", b"PK\x03\x04 and no more"])
def test_a_file_that_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.xlsx"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not a whole XLSX file .*Download the tiny table again"):
        read(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        read(tmp_path)
    with pytest.raises(UsageError, match=r"cannot be read \(No such file"):
        read(tmp_path / "none.xlsx")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"part xl/sharedStrings.xml has 16,777,217 bytes, more than 16,777,216"):
        read_parts(tmp_path, texts=b" " * (PART_LIMIT_BYTES + 1))


def test_sizes_that_lie_are_found_out(tmp_path: Path) -> None:
    path = write_parts(tmp_path / "x.xlsx", {**xlsx_parts(ROWS), TEXTS: b" " * 5_000_000})
    content = path.read_bytes()
    true_size, claimed = (5_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little")
    assert content.count(true_size) == 2
    path.write_bytes(content.replace(true_size, claimed))
    with pytest.raises(UsageError, match="not a whole XLSX file"):
        read(path)


@given(cut=st.integers(min_value=0, max_value=10_000), flip=st.integers(min_value=0, max_value=255))
@settings(deadline=None, max_examples=150)
def test_a_damaged_file_is_the_table_or_an_error(cut: int, flip: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    whole = write_xlsx(folder / "whole.xlsx", ROWS).read_bytes()
    place = cut % len(whole)
    path = folder / "damaged.xlsx"
    for content in (whole[:place], whole[:place] + bytes([flip]) + whole[place + 1 :]):
        path.write_bytes(content)
        try:
            found = read(path)
        except UsageError:
            continue
        assert found == [(2, {"Id": "1", "Text": "one"}), (3, {"Id": "2", "Text": "two"})]


def test_an_encrypted_file(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "x.xlsx", ROWS)
    content = bytearray(path.read_bytes())
    for marker, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(marker)
        while place >= 0:
            content[place + offset] |= 1
            place = content.find(marker, place + 1)
    path.write_bytes(bytes(content))
    assert zipfile.is_zipfile(path)
    with pytest.raises(UsageError, match="not a whole XLSX file .*password"):
        read(path)


def nested(depth: int) -> bytes:
    return b"<a>" * depth + b"</a>" * depth


def test_a_document() -> None:
    root = xml_root(
        b'\xef\xbb\xbf<?xml version="1.0"?><a b="1"><!-- no --><c>x&#8217;&amp;&lt;</c></a>', limit_bytes=100
    )
    assert (root.tag, root.attrib, [each.tag for each in root], root[0].text) == ("a", {"b": "1"}, ["c"], "x\u2019&<")


def test_its_bounds() -> None:
    assert xml_root(nested(DEPTH_LIMIT), limit_bytes=1_000).tag == "a"
    with pytest.raises(PlainXmlError, match="elements within one another deeper than 64"):
        xml_root(nested(DEPTH_LIMIT + 1), limit_bytes=1_000)
    with pytest.raises(PlainXmlError, match="elements within one another deeper than 64"):
        xml_root(nested(300_000), limit_bytes=10_000_000)
    assert xml_root(b"<a/>", limit_bytes=4).tag == "a"
    with pytest.raises(PlainXmlError, match="has 4 bytes, more than 3"):
        xml_root(b"<a/>", limit_bytes=3)


@pytest.mark.parametrize(("data", "message"), CASES["what_is_none"])
def test_what_is_none(data: str, message: str) -> None:
    with pytest.raises(PlainXmlError, match=message) as caught:
        xml_root(data.encode("latin-1"), limit_bytes=1_000)
    assert "marble" not in str(caught.value)
