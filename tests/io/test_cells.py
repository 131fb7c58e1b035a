"""Cells are inert for spreadsheet programs, and what the suite reads again is what it wrote."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from medical_tasks.io.cells import escaped, plain, table_cell
from medical_tasks.io.tables import read_sheet, write_sheet
from medical_tasks.io.xml_files import workbook_bytes

COLUMNS = ("id", "text")
TEXTS = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=["Cs", "Cc"]),
        st.sampled_from("=+-@'\t\r\n＝－05."),
    ),
    max_size=12,
)


@given(TEXTS)
def test_no_text_is_a_formula_and_each_comes_back(text: str) -> None:
    assert plain(escaped(text)) == text
    assert not escaped(text).startswith(
        ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
    )


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.xlsx"])
@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=6))
@example(
    ["'=x", "=x", "''", "0.50", "'0.50", "-5 mg", "_x0041_", "a\ufffe", "a\r\nb", "\t1"]
)
def test_a_file_gives_the_same_texts_back(name: str, texts: list[str]) -> None:
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if name.endswith(".csv"):
            write_sheet(path, COLUMNS, rows)
        else:
            cells = [[str(row[column]) for column in COLUMNS] for row in rows]
            path.write_bytes(workbook_bytes(COLUMNS, cells))
            # XML has no place for these two.
            texts = [re.sub("[\ufffe\uffff]", "?", text) for text in texts]
        assert [row.cells["text"] for row in read_sheet(path, COLUMNS)] == texts


def test_texts_that_a_spreadsheet_would_convert_are_escaped() -> None:
    for text in ("0.50", "3-5", "007", "1E5", "5 May", "TRUE", "123456789012", "\n=1"):
        assert escaped(text) == f"'{text}"
    for text in (
        "0",
        "10000032",
        "5 mg",
        "stage 2",
        "120/80 mmHg",
        "May",
        "B",
        "p2",
        "notes/1.txt",
    ):
        assert escaped(text) == text
    for text in ("-5 mg", "'twas"):  # typed without an escape
        assert plain(text) == text


def test_a_table_has_numbers_and_no_formula() -> None:
    for value in (4.72, "-1.50", "3-5"):
        assert table_cell(value) == value
    for value in ("-", "-3 days", "=1+1", "+１", "\tx"):
        assert table_cell(value) == f"'{value}"
