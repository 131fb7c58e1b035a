"""Files of a spreadsheet program, scored as a stranger scores them: by a process of its own, and in Python."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

import medical_tasks as mt
from medical_tasks.cli.entry import main
from medical_tasks.errors import UsageError
from medical_tasks.runs.results import read_results

pytestmark = pytest.mark.usefixtures("demo_home")

Rows = Sequence[tuple[Any, ...]]


def golds(form: str = "%m/%d/%Y", comma: bool = False) -> list[tuple[str, str]]:
    """The demo's answers under a header, dates and decimals in a form."""
    found = [("id", "response")]
    for row in mt.load("medcalc_bench", config="demo", split="test"):
        answer = str(row["ground_truth_answer"])
        if row["output_type"] == "date":
            answer = f"{datetime.datetime.strptime(answer, '%m/%d/%Y'):{form}}"
        elif row["output_type"] == "decimal" and comma:
            answer = answer.replace(".", ",")
        found.append((str(row["row_number"]), answer))
    return found


def workbook(name: str, sheets: Mapping[str, Rows], hidden: str = "") -> None:
    made = Workbook()
    made.remove(made.worksheets[0])
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    if hidden:
        made[hidden].sheet_state = "hidden"
    made.save(name)


def text(name: str, separator: str, *rows: tuple[str, ...]) -> None:
    lines = (
        separator.join(f'"{cell}"' if separator in cell else cell for cell in row)
        for row in rows
    )
    Path(name).write_text(
        "".join(f"{line}\r\n" for line in lines), encoding="utf-8-sig"
    )


def wrong(rows: Rows) -> Rows:
    return [rows[0], *((each[0], "99999") for each in rows[1:])]


def accuracy(folder: str = "out") -> float:
    value: float = read_results(Path(folder))["tasks"]["medcalc"]["metrics"][
        "accuracy"
    ]["value"]
    return value


SCORE = ["score", "medcalc", "--config", "demo", "--out", "out", "--responses"]


@pytest.mark.parametrize(
    ("case", "options", "said"),
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
def test_a_process_of_its_own_scores_it_right_or_asks(
    case: str, options: list[str], said: str
) -> None:
    right = golds()
    if case == "hidden":
        workbook("t.xlsx", {"Old": wrong(right), "Answers": right}, hidden="Old")
    elif case == "two":
        workbook("t.xlsx", {"Model A": right, "Model B": wrong(right)})
    elif case == "german":
        text("t.csv", ";", *golds("%d.%m.%Y", comma=True))
    elif case == "title":
        text("t.csv", ",", ("Answers of X; June",), ("", ""), *right)
    else:
        text("t.csv", ",", *golds("%d/%m/%Y"))

    (file,) = Path().glob("t.*")
    command = [sys.executable, "-m", "medical_tasks", *SCORE, str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said in done.stderr
    asked = "error:" in done.stderr
    assert done.returncode == (2 if asked else 0)
    assert Path("out").exists() != asked
    assert asked or accuracy() == 1.0


def test_what_was_chosen_is_recorded_and_holds_for_reports(
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
        done = mt.score("medcalc", "t.xlsx", config="demo", sheet=name)
        assert done["medcalc"].recipe["model"]["name"] == f"responses/t.xlsx ({name})"
        assert done["medcalc"].recipe["model"]["tables"]["sheet"] == [name]
        assert done["medcalc"].metrics["accuracy"].value == float(name == "Model A")
        # The report finds the answers again without being told.
        assert (
            main(["report", str(done.folder), "--responses", "t.xlsx", "--out", "r.md"])
            == 0
        )
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


def test_ones_own_questions_with_decimal_commas_and_a_title(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = ("An adult of 70 kg and 1,75 m.", "6", "22,857", "21,7", "24")
    text("own.csv", ";", ("Our rows", "", "", "", ""), OWN, row)
    built = mt.build("medcalc_bench", config="own", source="own.csv", out="own")
    (made,) = mt.load("medcalc_bench", config="own", data=built.folder, split="test")
    assert made["ground_truth_answer"] == "22.857"
    assert made["lower_limit"] == "21.7"
    assert "1,75 m" in made["patient_note"]
    said = capsys.readouterr().err
    assert "the header is in row 2" in said
    assert "decimal comma in column 'Lower Limit', row 3" in said
    assert "decimal comma in column 'Ground Truth Answer', row 3" in said
    text("own.csv", ";", OWN, (*row[:2], "22,857", "22,857", "22,857"))
    with pytest.raises(
        UsageError, match="cells that may be .* in column 'Ground Truth Answer', row 2"
    ):
        mt.build("medcalc_bench", config="own", source="own.csv", out="own2")


def test_texts_and_their_references_are_read_alike(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [("prediction", "reference"), ("24,7", "24,70"), ("1,5", "1,5")]
    text("t.csv", ";", *rows)
    assert main(["score-text", "t.csv", "--metrics", "exact_match", "--json"]) == 0
    done = capsys.readouterr()
    assert json.loads(done.out)["metrics"]["exact_match"]["value"] == 0.5
    assert (
        "comma in column 'prediction', rows 2, 3; numbers with a decimal comma in column 'reference'"
        in done.err
    )
    text("t.csv", ";", rows[0], ("24,7", "24.7"))
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
