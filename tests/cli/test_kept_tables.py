"""Files of a spreadsheet program, scored as a user scores them: by a command, and in Python."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

import medical_tasks as mt
from medical_tasks.cli.entry import main
from medical_tasks.errors import UsageError
from tests.run_files import task_entry

pytestmark = pytest.mark.usefixtures("demo_home")

Rows = Sequence[tuple[Any, ...]]


def golds(form: str = "%m/%d/%Y", comma: bool = False) -> list[tuple[str, str]]:
    """The demo's answers under a header, with dates and decimals in this form."""
    rows = [("id", "response")]
    for item in mt.load("medcalc_bench", config="demo", split="test"):
        answer = str(item["ground_truth_answer"])
        if item["output_type"] == "date":
            answer = f"{datetime.datetime.strptime(answer, '%m/%d/%Y'):{form}}"
        elif item["output_type"] == "decimal" and comma:
            answer = answer.replace(".", ",")
        rows.append((str(item["row_number"]), answer))
    return rows


def workbook(name: str, sheets: Mapping[str, Rows], hidden: str = "") -> None:
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    if hidden:
        book[hidden].sheet_state = "hidden"
    book.save(name)


def write_text_table(name: str, separator: str, *rows: tuple[str, ...]) -> None:
    lines = (
        separator.join(f'"{cell}"' if separator in cell else cell for cell in row)
        for row in rows
    )
    Path(name).write_text(
        "".join(f"{line}\r\n" for line in lines), encoding="utf-8-sig"
    )


def wrong(rows: Rows) -> Rows:
    return [rows[0], *((row[0], "99999") for row in rows[1:])]


def accuracy(folder: str = "out") -> float:
    value: float = task_entry(folder, "medcalc")["metrics"]["accuracy"]["value"]
    return value


SCORE = ["score", "medcalc", "--config", "demo", "--out", "out", "--responses"]


@pytest.mark.parametrize(
    ("case", "options", "message"),
    [
        ("hidden", [], "read the sheet 'Answers'; there are 'Old' (hidden), 'Answers'."),
        ("two", [], "has the columns to read. Name it, as in --sheet 'Model A'."),
        ("two", ["--sheet", "Model A"], ""),
        ("german", [], "numbers with a decimal comma in column 'response', rows 4, 5, 8, 9, 10 and 3 more, read as such"),
        ("title", [], "the header is in row 3"),
        ("days", [], "Say how the spreadsheet writes them, --dates day-first"),
        ("days", ["--dates", "day-first"], ""),
    ],
)  # fmt: skip
def test_a_command_scores_a_table_correctly_or_asks(
    case: str,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = golds()
    if case == "hidden":
        workbook("t.xlsx", {"Old": wrong(right), "Answers": right}, hidden="Old")
    elif case == "two":
        workbook("t.xlsx", {"Model A": right, "Model B": wrong(right)})
    elif case == "german":
        write_text_table("t.csv", ";", *golds("%d.%m.%Y", comma=True))
    elif case == "title":
        write_text_table("t.csv", ",", ("Answers of X; June",), ("", ""), *right)
    else:
        write_text_table("t.csv", ",", *golds("%d/%m/%Y"))

    (file,) = Path().glob("t.*")
    code = main([*SCORE, str(file), *options])
    stderr = capsys.readouterr().err
    assert message in stderr
    refused = "error:" in stderr
    assert code == (2 if refused else 0)
    assert Path("out").exists() != refused
    assert refused or accuracy() == 1.0


def test_the_sheet_is_recorded_and_used_by_reports(
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = golds()
    workbook("t.xlsx", {"Model A": right, "Model B": wrong(right)})
    with pytest.raises(UsageError, match="Name it, as in sheet='Model A'"):
        mt.score("medcalc", "t.xlsx", config="demo", out="out")
    with pytest.raises(
        UsageError, match="dates must be one of day-first, month-first, got 'd'"
    ):
        mt.score("medcalc", "t.xlsx", config="demo", out="out", dates="d")  # type: ignore[arg-type]
    for name in ("Model A", "Model B"):
        results = mt.score("medcalc", "t.xlsx", config="demo", sheet=name)
        assert (
            results["medcalc"].recipe["model"]["name"] == f"responses/t.xlsx ({name})"
        )
        assert results["medcalc"].recipe["model"]["tables"]["sheet"] == [name]
        assert results["medcalc"].metrics["accuracy"].value == float(name == "Model A")
        # The report finds the answers without the sheet's name.
        report = ["report", str(results.folder), "--responses", "t.xlsx"]
        assert main([*report, "--out", "r.md"]) == 0
        page = Path("r.md").read_text(encoding="utf-8")
        assert "Answers are not shown" not in page
    assert "error" not in capsys.readouterr().err


OWN = (
    "Patient Note",
    "Calculator ID",
    "Ground Truth Answer",
    "Lower Limit",
    "Upper Limit",
)


def test_questions_of_ones_own_with_decimal_commas_and_a_title(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = ("An adult of 70 kg and 1,75 m.", "6", "22,857", "21,7", "24")
    write_text_table("own.csv", ";", ("Our rows", "", "", "", ""), OWN, row)
    built = mt.build("medcalc_bench", config="own", source="own.csv", out="own")
    (item,) = mt.load("medcalc_bench", config="own", data=built.folder, split="test")
    assert item["ground_truth_answer"] == "22.857"
    assert item["lower_limit"] == "21.7"
    assert "1,75 m" in item["patient_note"]
    notes = capsys.readouterr().err
    assert "the header is in row 2" in notes
    assert "decimal comma in column 'Lower Limit', row 3" in notes
    assert "decimal comma in column 'Ground Truth Answer', row 3" in notes
    write_text_table("own.csv", ";", OWN, (*row[:2], "22,857", "22,857", "22,857"))
    with pytest.raises(
        UsageError, match="cells that may be .* in column 'Ground Truth Answer', row 2"
    ):
        mt.build("medcalc_bench", config="own", source="own.csv", out="own2")


def test_texts_and_their_references_are_read_alike(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [("prediction", "reference"), ("24,7", "24,70"), ("1,5", "1,5")]
    write_text_table("t.csv", ";", *rows)
    assert main(["score-text", "t.csv", "--metrics", "exact_match", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["metrics"]["exact_match"]["value"] == 0.5
    assert (
        "comma in column 'prediction', rows 2, 3; numbers with a decimal comma in column 'reference'"
        in captured.err
    )
    write_text_table("t.csv", ";", rows[0], ("24,7", "24.7"))
    with pytest.raises(
        UsageError, match="point in column 'reference', row 2; .* comma in column 'p"
    ):
        mt.score_text("t.csv", metrics="exact_match")
    workbook(
        "t.xlsx", {"Notes": [("who", "me"), ("a", "b")], "Texts": rows, "Others": rows}
    )
    with pytest.raises(UsageError, match="Name it, as in sheet='Texts'"):
        mt.score_text("t.xlsx", metrics="exact_match")
    assert mt.score_text(
        "t.xlsx", metrics="exact_match", sheet="Others", decimal="comma"
    )
