"""Sheets to fill in: written for every task, filled in, and read by `score`."""

from __future__ import annotations

import csv
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook

import medical_tasks as mt
from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.cli.entry import main
from medical_tasks.data.task_data import load_task_data
from medical_tasks.errors import RefusedError, UsageError
from medical_tasks.io.blank_sheets import LONGEST_CELL, blank_workbook, in_cells
from medical_tasks.runs.responses import read_responses
from medical_tasks.spec import Item, TaskSpec
from tests.run_files import task_entry
from tests.support import own_tasks

TASKS = [
    name
    for name, task in own_tasks().items()
    if task.asks == "text" and not task.baseline
]
OTHERS = sorted(own_tasks().keys() - set(TASKS))


def items_of(task: TaskSpec, demos: Path) -> list[Item]:
    spec = dataset_spec(task.dataset)
    return list(load_task_data(task, spec, data=demos, config="demo").items)


def fill(path: Path, answers: Mapping[str, str]) -> None:
    """Writes answers into the sheet, and saves the file."""
    if path.suffix == ".xlsx":
        book = load_workbook(path)
        header = [cell.value for cell in book.active[1]]
        column = header.index("answer") + 1
        for row in book.active.iter_rows(min_row=2):
            book.active.cell(row[0].row, column).value = answers[str(row[0].value)]
        book.save(path)
        return
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        for row in rows:
            table.writerow({**row, "answer": answers[row["id"].removeprefix("'")]})


@pytest.mark.parametrize("name", TASKS)
def test_the_sheet_of_every_task_is_read_back(
    name: str, demos: Path, here: Path
) -> None:
    task = task_spec(name)
    items = items_of(task, demos)
    # A blank answer is none; the gold of some items is blank.
    answers = {item.id: task.benchmark.gold_response(task, item) for item in items}
    expected = {item: text for item, text in answers.items() if text.strip()}
    for form in ("xlsx", "csv"):
        sheet = mt.sheet(name, here / f"sheet.{form}", config="demo", data=demos)
        assert sheet.questions == len(items)
        fill(sheet.path, answers)
        responses = read_responses(sheet.path, [*answers], task=task, items=items)
        assert dict(responses.items()) == expected
    assert expected


@pytest.mark.parametrize("name", OTHERS)
def test_a_task_without_text_answers_is_refused(name: str, here: Path) -> None:
    with pytest.raises(UsageError, match=r"Choose another task, such as \w+_\w+\.$"):
        mt.sheet(name, here / "sheet.xlsx", config="demo")
    assert not (here / "sheet.xlsx").exists()


def test_a_filled_sheet_is_scored_like_its_answers_on_the_command_line(
    demos: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--config", "demo", "--data", str(demos)]
    assert main(["sheet", "kqa", "--out", "kqa.xlsx", *data]) == 0
    output = capsys.readouterr().out
    command = output.partition("then: medical-tasks ")[2].split()
    assert command[:2] == ["score", "kqa"]
    assert main([*command, "--out", "empty"]) == 5  # it has no answers yet
    task = task_spec("kqa")
    answers = {
        item.id: task.benchmark.gold_response(task, item)
        for item in items_of(task, demos)
    }
    fill(Path("kqa.xlsx"), answers)
    assert main([*command, "--out", "filled"]) == 0
    entry = task_entry("filled", "kqa")
    plain = mt.score("kqa", answers, config="demo", data=demos, out="plain")
    value = plain["kqa"].metrics["comprehensiveness"].value
    assert entry["metrics"]["comprehensiveness"]["value"] == value == 1.0


def test_only_answers_can_be_changed_and_choices_are_offered(
    demos: Path, here: Path
) -> None:
    written_sheet = mt.sheet(
        "ehrnoteqa_mc_level1", here / "s.xlsx", config="demo", data=demos
    )
    worksheet = load_workbook(written_sheet.path).active
    assert [cell.value for cell in worksheet[1]] == [
        "id",
        "question",
        "to_read",
        "answer",
    ]
    assert worksheet.protection.sheet
    assert [cell.protection.locked for cell in worksheet[2]] == [
        True,
        True,
        True,
        False,
    ]
    assert worksheet.freeze_panes == "B2"
    assert all(cell.alignment.wrap_text for cell in worksheet[2])
    (rule,) = worksheet.data_validations.dataValidation
    assert rule.formula1 == '"A,B,C,D,E"'
    assert str(rule.sqref) == f"D2:D{written_sheet.questions + 1}"
    assert worksheet["B2"].value.splitlines()[1].startswith("A. ")


def test_a_sheet_of_credentialed_text_is_private(
    demos: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--config", "demo", "--data", str(demos)]
    assert main(["sheet", "ehrnoteqa_mc_level1", "--out", "s.csv", *data]) == 0
    assert stat.S_IMODE(Path("s.csv").stat().st_mode) == 0o600
    assert "for your eyes alone" in capsys.readouterr().out
    (here / "tree" / ".git").mkdir(parents=True)
    with pytest.raises(RefusedError, match="git work tree"):
        mt.sheet("ehrnoteqa_mc_level1", "tree/s.csv", config="demo", data=demos)
    open_sheet = mt.sheet("kqa", "tree/open.csv", config="demo", data=demos)
    assert not open_sheet.private


def test_filled_sheets_and_other_files_are_never_overwritten(
    demos: Path, here: Path
) -> None:
    sheet = mt.sheet("kqa", "s.csv", config="demo", data=demos)
    mt.sheet("kqa", "s.csv", config="demo", data=demos)  # it has no answers yet
    text = sheet.path.read_text(encoding="utf-8-sig")
    sheet.path.write_text(text.rstrip("\r\n") + "Yes.\r\n")
    with pytest.raises(UsageError, match="row 14 of it has an answer"):
        mt.sheet("kqa", "s.csv", config="demo", data=demos)
    Path("letter.csv").write_text("Dear colleague\nI write\n")
    with pytest.raises(UsageError, match="exists and is not a sheet to fill in"):
        mt.sheet("kqa", "letter.csv", config="demo", data=demos)
    assert Path("letter.csv").read_text() == "Dear colleague\nI write\n"


def test_wrong_use(demos: Path, here: Path) -> None:
    with pytest.raises(UsageError, match=r"XLSX or CSV.*\.xlsx or \.csv"):
        mt.sheet("kqa", "s.ods", config="demo", data=demos)
    with pytest.raises(UsageError, match="sheet takes one task"):
        mt.sheet("kqa,medcalc", "s.csv", config="demo", data=demos)


def test_a_sample_is_scored_as_one(demos: Path, here: Path) -> None:
    sheet = mt.sheet("medcalc", "s.csv", config="demo", data=demos, subset=8, seed=3)
    assert sheet.questions == 8
    task = task_spec("medcalc")
    items = items_of(task, demos)
    fill(
        sheet.path,
        {item.id: task.benchmark.gold_response(task, item) for item in items},
    )
    assert sheet.score[:2] == ("score", "medcalc")
    assert main([*sheet.score, "--out", "scored"]) == 0
    entry = task_entry("scored", "medcalc")
    assert entry["coverage"]["scored"] == 8
    assert entry["metrics"]["accuracy"]["value"] == 1.0


@given(st.text(alphabet="aé\n😀", min_size=0, max_size=40), st.integers(1, 4000))
def test_long_texts_are_split_at_lines_and_lose_nothing(
    segment: str, times: int
) -> None:
    text = segment * times
    cells = in_cells(text)
    assert "".join(cells) == text
    assert all(len(cell.encode("utf-16-le")) // 2 <= LONGEST_CELL for cell in cells)
    if "\n" in segment and len(segment) < 40:
        assert all(cell.endswith("\n") for cell in cells[:-1])


def test_cells_of_a_workbook_are_text_and_keep_their_zeros(
    tmp_path: Path,
) -> None:
    rows = [["0071", "=1+1", ""], ["1e5", "a\x07b _x000A_", ""]]
    path = tmp_path / "s.xlsx"
    path.write_bytes(blank_workbook(["id", "question", "answer"], rows, fill="answer"))
    sheet = load_workbook(path).active
    shown = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=2)]
    assert [row[:2] for row in shown] == [
        ["0071", "=1+1"],
        ["1e5", "a?b _x005F_x000A_"],
    ]
    assert {cell.data_type for cell in sheet["B"]} == {"s"}
