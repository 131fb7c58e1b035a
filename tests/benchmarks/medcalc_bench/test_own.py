"""A user's own rows: what is absent is computed, what does not fit is refused by row, column and value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.data import load_items, read_own_rows
from medical_tasks.benchmarks.medcalc_bench.scoring import score_items
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.cli.entry import main
from medical_tasks.errors import UsageError
from tests.benchmarks.medcalc_bench.official_csv import official_row
from tests.case_tables import tabled
from tests.io.test_tables import as_csv, as_parquet, as_xlsx

MAP = '{"Systolic Blood Pressure": [120, "mm Hg"], "Diastolic Blood Pressure": [80, "mm Hg"]}'
MAP_NAME = "Mean Arterial Pressure (MAP)"
HEADER = [
    "Calculator Name",
    "patient_note",
    "Relevant Entities",
    "Ground Truth Answer",
    "Output Type",
]
ROWS = [
    HEADER,
    # (120 + 2 x 80) / 3 = 93.33; the gold of the row is within 5 % of it
    ["mean_arterial_pressure", "BP 120/80.", MAP, "93", ""],
    ["Body Mass Index (BMI)", "A man of 180 cm and 81 kg.", "", "25.0", "decimal"],
    ["Estimated Due Date", "Last period 20 January 2024.", "", "10/26/2024", ""],
    ["Estimated Gestational Age", "As above.", "", "15 weeks and 1 days", ""],
]


def read(folder: Path, content: bytes | str) -> list[dict[str, Any]]:
    (folder / "rows").write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )
    return read_own_rows(folder / "rows")


def test_all_file_formats_give_the_same_rows(tmp_path: Path) -> None:
    json_lines = "\n".join(
        json.dumps(dict(zip(HEADER, row, strict=True))) for row in ROWS[1:]
    )
    rows = read(tmp_path, as_csv(ROWS, ";"))
    for content in (as_xlsx(ROWS), as_parquet(ROWS), json_lines):
        assert read(tmp_path, content) == rows


def test_absent_cells_are_computed_and_the_golds_are_right(tmp_path: Path) -> None:
    pressure, bmi, due_date, age = rows = read(tmp_path, as_csv(ROWS))
    assert [row["row_number"] for row in rows] == [1, 2, 3, 4]
    assert pressure["ground_truth_answer"] == "93.3333333333"
    assert "mm Hg" in pressure["question"]
    assert (bmi["lower_limit"], bmi["upper_limit"]) == ("23.75", "26.25")
    assert bmi["relevant_entities"] == ""
    assert due_date["ground_truth_answer"] == "10/26/2024"
    assert age["ground_truth_answer"] == "('15 weeks', '1 days')"
    items = load_items(MEDCALC, rows)
    golds = [MEDCALC.benchmark.gold_response(MEDCALC, item) for item in items]
    scores = score_items(MEDCALC, items, golds)
    assert [score.values["accuracy"] for score in scores] == [1.0] * 4


@tabled("row", "message")
def test_rows_that_are_refused(tmp_path: Path, row: list[str], message: str) -> None:
    pattern = (
        rf"(?s)rows: row 6, Row Number 5, column {message}.*rows: row 7, Row Number 6"
    )
    with pytest.raises(UsageError, match=pattern):
        read(tmp_path, as_csv([*ROWS, row, row]))


@tabled("change", "message")
def test_records_that_are_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    record = {
        "Calculator ID": 5,
        "Patient Note": "x",
        "Relevant Entities": json.loads(MAP),
        **change,
    }
    with pytest.raises(UsageError, match=message):
        read(tmp_path, json.dumps(record))


def test_a_release_keeps_labels_its_entities_contradict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = {
        "Calculator ID": "5",
        "Calculator Name": MAP_NAME,
        "Relevant Entities": MAP,
        "Ground Truth Answer": "93.3",
    }
    right_row = official_row(
        7,
        **right,
        **{"Category": "physical", "Lower Limit": "88.6", "Upper Limit": "98"},
    )
    wrong_row = {
        **right_row,
        "Row Number": "9",
        "Ground Truth Answer": "80",
        "Lower Limit": "76",
        "Upper Limit": "84",
    }
    table = [[*right_row], [*right_row.values()], [*wrong_row.values()]]
    rows = read(tmp_path, as_csv(table))
    assert [row["ground_truth_answer"] for row in rows] == ["93.3", "80"]
    assert (
        "1 released labels that their entities do not support are kept (row 3 is"
        in capsys.readouterr().err
    )
    # Without a column of the release, they are rows of the user's own.
    del wrong_row["Ground Truth Explanation"]
    with pytest.raises(
        UsageError,
        match="row 2, Row Number 9, column 'Ground Truth Answer': must agree",
    ):
        read(tmp_path, as_csv([[*wrong_row], [*wrong_row.values()]]))


def test_own_rows_are_scored_without_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_bytes(as_csv(ROWS))
    Path("answers.csv").write_bytes(
        b"Row Number,answer\n1,93\n2,31\n3,10/26/2024\n4,\n"
    )
    files = ["--source", "rows.csv", "--responses", "answers.csv"]
    assert main(["score", "medcalc", *files]) == 0
    assert "accuracy 66.7 %" in " ".join(capsys.readouterr().out.split())


def test_an_unknown_column_that_may_be_a_note_is_not_quoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Where a file has no header, its first row may be that of a patient.
    source = tmp_path / "rows.csv"
    source.write_bytes(b"Calculater,Seen on ward 4\n5,x\n5,y\n")
    options = ["--source", str(source), "--out", str(tmp_path / "d")]
    assert main(["build", "medcalc_bench", "--config", "own", *options]) == 2
    message = "no column of the dataset: 'Calculater', a text of 14 characters."
    assert capsys.readouterr().err.count(message) == 1
