"""Tables as people keep them: read correctly, with a note where they are ambiguous, or refused with a way out."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from medical_tasks.errors import UsageError
from medical_tasks.io.cell_forms import TableChoice, reading_tables, settle
from medical_tasks.lab.score_table import read_scores
from medical_tasks.runs.responses import GivenAnswers, read_responses
from tests.tiny_xlsx import SHEET, with_parts

HERE = Path("t")
HEADER = ("id", "response")
ROWS = (HEADER, (1, 24.7), (2, 1500))
READ = {"1": "24.7", "2": "1500"}
IDS = ["1", "2", "3"]


def book(
    *sheets: Sequence[Sequence[Any]], done: Callable[[Workbook], object] = bool
) -> bytes:
    """A workbook with sheets A, B and so on; `done` changes it before it is saved."""
    workbook, content = Workbook(), io.BytesIO()
    workbook.remove(workbook.worksheets[0])
    for name, rows in zip("ABCD", sheets, strict=False):
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    done(workbook)
    workbook.save(content)
    return content.getvalue()


def first(change: Callable[[Worksheet], object]) -> Callable[[Workbook], object]:
    return lambda workbook: change(workbook.worksheets[0])


def shown_as(form: str) -> Callable[[Workbook], object]:
    """Gives the first answer a number format."""

    def change(sheet: Worksheet) -> None:
        sheet["B2"].number_format = form

    return first(change)


def hide(name: str) -> Callable[[Workbook], object]:
    def change(workbook: Workbook) -> None:
        workbook[name].sheet_state = "hidden"

    return change


def lines(*rows: str) -> bytes:
    return "\r\n".join([*rows, ""]).encode()


OTHERS = (HEADER, (1, "wrong"), (2, "wrong"))
NOTES = (("About", "Text"), ("who", "me"))
DAY = datetime.datetime(2020, 3, 25)


@pytest.mark.parametrize(
    ("content", "read", "note"),
    [
        # Sheets.
        (
            book(OTHERS, ROWS, done=hide("A")),
            READ,
            "sheet 'B'; there are 'A' (hidden), 'B'.",
        ),
        (book(NOTES, ROWS, ()), READ, "read the sheet 'B'; there are 'A', 'B', 'C'."),
        # Where the header is.
        (book([["Answers of model X"], [], *ROWS]), READ, "the header is in row 3"),
        (
            lines("Answers, model X;", ";", "id;response", "1;24.7", "2;1500"),
            READ,
            "in row 3",
        ),
        (book([["", "", *row] for row in ROWS]), READ, ""),
        # Decimal commas and dates with the day first, in a file of a country that
        # writes them.
        (lines("id;response", "1;24,7", "2;1500"), READ, "row 2, read as such"),
        (
            lines("id;response", "1;24,7", "2;25,238"),
            {"1": "24.7", "2": "25.238"},
            "rows 2, 3",
        ),
        (
            lines("id\tresponse", "1\t1.500,5", "2\t-1,5E-05"),
            {"1": "1500.5", "2": "-1.5E-05"},
            "3",
        ),
        (
            lines("id;response", "1;25,238 mg/dL", "2;37,2 °C"),
            {"1": "25.238 mg/dL", "2": "37.2 °C"},
            "rows 2, 3",
        ),
        (
            lines("id;response", "1;1,5 it is, I think", "2;x"),
            {"1": "1,5 it is, I think", "2": "x"},
            "",
        ),
        (lines("id;response", "1;0,5 %", "2;x"), {"1": "0.5 %", "2": "x"}, "row 2"),
        (lines("id;response", "1;24.7", "2;1,500"), {"1": "24.7", "2": "1,500"}, ""),
        (
            lines("id;response", "1;About 24,7.", "2;3"),
            {"1": "About 24,7.", "2": "3"},
            "",
        ),
        (
            lines("id;response", "1;25.03.2020", "2;03.04.2020"),
            {"1": "03/25/2020", "2": "04/03/2020"},
            "rows 2, 3, read as such",
        ),
        (
            lines("id;response", "1;5/30/2020", "2;3/4/2020"),
            {"1": "5/30/2020", "2": "3/4/2020"},
            "",
        ),
        # Values of a type.
        (book([HEADER, (1, DAY)]), {"1": "03/25/2020"}, ""),
        (
            book([HEADER, (1, DAY)], done=shown_as("DD.MM.YYYY")),
            {"1": "03/25/2020"},
            "",
        ),
        (book([HEADER, (1, 0.25)], done=shown_as("0 %")), {"1": "25%"}, ""),
        (book([HEADER, (1, True), (2, 0)]), {"1": "TRUE", "2": "0"}, ""),
        (book([HEADER, ("1", "24.7"), (2.0, "'x")]), {"1": "24.7", "2": "'x"}, ""),
        # What is around a table, and hidden in it.
        (lines("\ufeffid;response;;", "1;24.7", "2;1500;;"), READ, ""),
        (lines("sep=|", "id|response", "1|24.7", "2|1500"), READ, ""),
        ("id\tresponse\r\n1\t24.7\r\n2\t1500\r\n".encode("utf-16"), READ, ""),
        (
            book(
                ROWS,
                done=first(
                    lambda sheet: sheet.row_dimensions.__getitem__(3).__setattr__(
                        "hidden", True
                    )
                ),
            ),
            READ,
            "hidden, but read: row 3",
        ),
        (
            book(
                [HEADER, (1, "a"), (2, None)],
                done=first(lambda sheet: sheet.merge_cells("B2:B3")),
            ),
            {"1": "a"},
            "of merged cells the first has the value: B2:B3",
        ),
        (
            book(
                [["X"], HEADER, (1, "a")],
                done=first(lambda sheet: sheet.merge_cells("A1:B1")),
            ),
            {"1": "a"},
            "the header is in row 2",
        ),
    ],
)
def test_tables_are_read_with_notes_about_interpretations(
    content: bytes, read: dict[str, str], note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_responses(HERE, IDS, content=content) == read
    notes = capsys.readouterr().err
    assert note in notes
    assert bool(notes) == bool(note)


@pytest.mark.parametrize(
    ("content", "choice", "message"),
    [
        (book(ROWS, OTHERS), {}, "sheets 'A', 'B', more than one has the columns to read. .* --sheet A"),
        (book(NOTES, NOTES), {}, "none that is shown has the columns to read. .*columns question .or id. and answer"),
        (book(OTHERS, done=lambda workbook: workbook.create_sheet("Z") and hide("A")(workbook)), {}, "none that is shown"),
        (book(ROWS), {"sheet": ["a b"]}, "no sheet 'a b'. There are 'A'"),
        (lines("Answers of X", "id,answers", "1,2"), {}, "row 2: a cell in column 2, .* no name in the header .row 1"),
        (book([["Answers of X"], ["id", "replies"], [1, 2]]), {}, "below a title if it has the right names"),
        # Nobody can tell, or some cells speak against others.
        (lines("id;response", "1;25,238", "2;1,500"), {}, "cells that may be .*rows 2, 3.*--decimal comma"),
        (lines("id;response", "1;25.238", "2;7"), {}, "cells that may be .*row 2.*--decimal point"),
        (lines("id;response", "1;24,7", "2;24.7"), {}, "decimal point .*row 3; .* comma .*row 2.*Write"),
        (lines("id;response", "1;24,7", "2;24.7"), {"decimal": "comma"}, "a decimal point .*row 3"),
        (lines("id,response", "1,25/03/2020", "2,03/04/2020"), {}, "day first .*row 2; cells that may be .*row 3"),
        (lines("id;response", "1;25/03/2020", "2;03/25/2020"), {}, "month first .*row 3; .*first .*row 2"),
        (lines("id;response", "1;3/4/2020", "2;5"), {}, "cells that may be .*row 2.*--dates day-first"),
        (book([HEADER, (1, DAY), (2, "25/03/2020")]), {}, "row 3; dates as the spreadsheet took them .*row 2"),
        # What a spreadsheet has put in the place of a text.
        (book([HEADER, (1, DAY)], done=shown_as("d. mmm")), {}, "a date without its day or year in column \'response\', row 2"),
        (lines("id;response", "1;24. Jul", "2;Mrz 40"), {}, "a date without its day or year in column \'response\', rows 2, 3"),
        (lines("id,response", "1,#NAME?", "2,x"), {}, "a formula's error in column \'response\', row 2"),
        (book([HEADER, (1, "#N/A"), (2, "x")]), {}, "row 2: B2 has #N/A, a formula's error"),
        (book([HEADER, (1, "=1+1"), (2, "x")]), {}, "row 2: B2 has a formula and no result"),
        (book([HEADER, ("=1", "=2"), (2, "x")]), {}, "row 2: [AB]2 has a formula and no result"),
        (book([HEADER, (datetime.datetime(2026, 4, 3), "x")]), {}, "made dates of them: format the column"),
        (lines("id,response,response", "1,a,b"), {}, "two columns are named 'response'"),
        (lines("id,response", "1,a", "1.0,b"), {}, "rows 2 and 3 both answer id '1'"),
        (lines("id,response", "1,one", " two"), {}, "row 3: 1 cells, the header has 2"),
    ],
)  # fmt: skip
def test_ambiguous_tables_are_refused_with_a_way_out(
    content: bytes,
    choice: dict[str, Any],
    message: str,
) -> None:
    with (
        reading_tables(TableChoice(**choice)),
        pytest.raises(UsageError, match=f"^t.*{message}"),
    ):
        read_responses(HERE, IDS, content=content)


@pytest.mark.parametrize(
    ("content", "choice", "read"),
    [
        (book(ROWS, OTHERS), {"sheet": ["A"]}, READ),
        (book(OTHERS, ROWS, done=hide("B")), {"sheet": ["B"]}, READ),
        (book(NOTES, ROWS), {"sheet": ["B", "of another file"]}, READ),
        (lines("id;response", "1;25,238", "2;1,5"), {"decimal": "point"}, {"1": "25,238", "2": "1,5"}),
        (lines("id,response", '1,"25,238"', "2,1.500"), {"decimal": "comma"}, {"1": "25.238", "2": "1500"}),
        (lines("id,response", "1,3/4/2020", "2,25-12-20"), {"dates": "day-first"}, {"1": "4/3/2020", "2": "12/25/20"}),
        (lines("id,response", "1,25/03/2020", "2,3/4/2020"), {"dates": "month-first"}, {"1": "25/03/2020", "2": "3/4/2020"}),
    ],
)  # fmt: skip
def test_explicit_choices_are_followed_without_a_note(
    content: bytes,
    choice: dict[str, Any],
    read: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with reading_tables(TableChoice(**choice)):
        assert read_responses(HERE, IDS, content=content) == read
    assert capsys.readouterr().err == ""


def test_choices_without_effect_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with reading_tables(TableChoice(sheet=["A"])):
        read_responses(HERE, IDS, content=lines("id,response", "1,a"))
        read_responses(HERE, IDS, content=b'{"id": "1", "response": "1,5"}')
    assert capsys.readouterr().err.split("note: ")[1:] == [
        "t: has no sheets; the choice of a sheet is ignored.\n",
        "t: JSON is read unchanged; the choice of sheet, decimal and dates is ignored.\n",
    ]


def test_a_formula_that_gives_no_text_has_a_result(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(book(ROWS))
    cells = (
        '<c r="A1" t="inlineStr"><is><t>id</t></is></c><c r="B1" t="inlineStr"><is><t>response</t></is></c>',
        '<c r="A2"><v>1</v></c><c r="B2" t="str"><f>IF(1,"","")</f><v></v></c>',
        '<c r="A3"><f>1+1</f><v>2</v></c><c r="B3" t="str"><f>"x"</f><v>x</v></c>',
    )
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rows = "".join(f"<row>{row}</row>" for row in cells)
    with_parts(
        path,
        {
            SHEET: f'<worksheet xmlns="{namespace}"><sheetData>{rows}</sheetData></worksheet>'
        },
    )
    assert read_responses(path, IDS) == {"2": "x"}


def test_answers_given_in_python_are_read_alike() -> None:
    import pandas as pd

    frame = pd.DataFrame({"id": [1, 2], "response": ["25/03/2020", "3/4/2020"]})
    python = TableChoice(python=True)
    with (
        reading_tables(python),
        pytest.raises(UsageError, match="dates='day-first'; or .*'month"),
    ):
        read_responses(GivenAnswers.of(frame), IDS)
    with reading_tables(TableChoice(dates="day-first")):
        assert read_responses(GivenAnswers.of(frame), IDS) == {
            "1": "03/25/2020",
            "2": "4/3/2020",
        }


def test_scores_with_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(
        lines("Scores;;", "model;clinician;benchmark", "GPT-40;61;0,7", "b;2,5;0,25")
    )
    table = read_scores([path])
    assert table.scores == {"clinician": (61.0, 2.5), "benchmark": (0.7, 0.25)}
    assert table.names == ("GPT-40", "b")


def column_reading(column: Sequence[str]) -> list[str] | None:
    """Returns how a column is read; None where the user has to choose."""
    cells = {(f"row {n}", "a"): text for n, text in enumerate(column, start=2)}
    try:
        return list({**cells, **settle("t", cells, local=True)}.values())
    except UsageError:
        return None


@given(
    numbers=st.lists(
        st.decimals(-(10**7), 10**7, places=3, allow_nan=False), min_size=1, max_size=8
    ),
    grouped=st.booleans(),
)
def test_a_column_of_decimal_commas_is_the_numbers_or_a_question(
    numbers: list[Any], grouped: bool
) -> None:
    written = [
        f"{number:{',' if grouped else ''}f}".translate({44: ".", 46: ","})
        for number in numbers
    ]
    texts = column_reading(written)
    if texts is None:
        assert all(1 <= abs(number) < 1000 for number in numbers)
    else:
        assert [float(text) for text in texts] == [float(number) for number in numbers]


@given(days=st.lists(st.dates(), min_size=1, max_size=8), sign=st.sampled_from("/.-"))
def test_a_column_of_dates_with_the_day_first_is_the_dates_or_a_question(
    days: list[datetime.date], sign: str
) -> None:
    texts = column_reading(
        [f"{day.day:02}{sign}{day.month:02}{sign}{day.year:04}" for day in days]
    )
    if texts is None:
        assert sign != "."
        assert all(day.day <= 12 for day in days)
    else:
        assert [text.replace(sign, "/") for text in texts] == [
            f"{day:%m/%d/}{day.year:04}" for day in days
        ]
