"""Tables in every format give the same rows, and changes by a spreadsheet are handled or refused."""

from __future__ import annotations

import csv
import datetime
import io
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from medical_tasks.errors import UsageError
from medical_tasks.io.tables import TableRow, read_table
from medical_tasks.runs.responses import read_responses
from tests.case_tables import tabled

HERE = Path("t")


def read(content: bytes) -> list[TableRow]:
    return read_table(HERE, content=content).rows


def as_csv(
    rows: list[list[str]], separator: str = ",", encoding: str = "utf-8"
) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows(rows)
    return text.getvalue().encode(encoding)


def as_xlsx(rows: list[list[Any]], **formats: str) -> bytes:
    book, stream = Workbook(), io.BytesIO()
    for row in rows:
        book.worksheets[0].append(row)
    for cell, form in formats.items():
        book.worksheets[0][cell].number_format = form
    book.save(stream)
    return stream.getvalue()


def as_parquet(rows: list[list[Any]]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(
        pa.table(
            dict(zip(rows[0], map(list, zip(*rows[1:], strict=True)), strict=True))
        ),
        stream,
    )
    return stream.getvalue()


# What XML has a place for, and a table a cell; openpyxl, like a spreadsheet, has line
# feeds alone, and "=" begins a formula.
TEXT = st.text(
    st.characters(min_codepoint=32, max_codepoint=0xFFFD, exclude_categories=["Cs"])
    | st.just("\n"),
    min_size=1,
)
# A cell that is only a number or a date may be read in two ways: other tests are about
# those.
SOUND = TEXT.filter(
    lambda text: (
        text.strip()
        and not text.startswith(("=", "#"))
        and "_x" not in text
        and not re.match(r"\s*[+\-\u2212]?\d", text)
    )
)


@given(
    answers=st.dictionaries(
        st.integers(0, 10**9).map(str), SOUND, min_size=1, max_size=4
    )
)
def test_answers_in_any_form_are_the_same(answers: dict[str, str]) -> None:
    rows = [["ID ", "Response"], *([name, text] for name, text in answers.items())]
    forms = [as_csv(rows, separator) for separator in ",;\t"]
    forms += [
        as_csv(rows, ";", "utf-8-sig"),
        as_csv(rows, "\t", "utf-16"),
        as_xlsx(rows),
        as_parquet(rows),
    ]
    for content in forms:
        assert read_responses(HERE, answers, content=content) == answers


def test_values_are_what_a_spreadsheet_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    day = datetime.date(2024, 5, 30)
    values: list[Any] = [
        25,
        17.0,
        0.1 + 0.2,
        True,
        day,
        datetime.datetime(2024, 5, 30, 7, 5),
        0.015,
        None,
        " ",
        "x" * 32_767,
    ]
    names = [f"c{n}" for n in range(len(values))]
    (row,) = read(as_xlsx([names, values], G2="0.0%"))
    shown = [
        "25",
        "17",
        "0.3",
        "TRUE",
        "05/30/2024",
        "05/30/2024 07:05",
        "1.5%",
        None,
        None,
        "x" * 32_767,
    ]
    assert list(row.cells.values()) == shown
    assert (
        "note: t: row 2, column 'c9': cut by the spreadsheet, whose cells hold 32,767"
        in capsys.readouterr().err
    )
    # A separator that is declared, empty columns behind, empty rows between.
    (row,) = read(b"sep=|\r\na|b||\r\n||\r\n1|2||\r\n")
    assert (row.at, row.cells) == ("row 4", {"a": "1", "b": "2"})
    for text in (
        "caf\u00e9 2 \u00b5g\u2013\u201cx\u201d",
        "na\u00efve cr\u00e9\u00e9e",
    ):
        assert read(f"a,b\n1,{text}\n".encode("cp1252"))[0].cells["b"] == text
        assert "not UTF-8, read as Windows-1252 with" in capsys.readouterr().err


@tabled("text", "encoding", "message")
def test_files_without_a_table_are_refused(
    text: str, encoding: str, message: str
) -> None:
    with pytest.raises(UsageError, match=f"t.*{message}"):
        read(as_xlsx([["a"], ["=1+1"]]) if text == "formula" else text.encode(encoding))


def test_records_of_every_form(tmp_path: Path) -> None:
    rows = [["a", "b"], ["1", "x"]]
    forms = [
        as_csv(rows),
        as_xlsx(rows),
        as_parquet(rows),
        b'{"a": "1", "b": "x"}',
        b'[{"a": "1", "b": "x"}]',
    ]
    for content in forms:
        (tmp_path / "t").write_bytes(content)
        (row,) = read_table(tmp_path / "t", record="{}").rows
        assert row.cells == {"a": "1", "b": "x"}
