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
    # (120 + 2 x 80) / 3, and the given gold is within 5 % of it
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


def test_every_form_gives_the_same_rows_and_their_golds_are_right(
    tmp_path: Path,
) -> None:
    lines = "\n".join(
        json.dumps(dict(zip(HEADER, row, strict=True))) for row in ROWS[1:]
    )
    first, *others = [
        read(tmp_path, each)
        for each in (as_csv(ROWS, ";"), as_xlsx(ROWS), as_parquet(ROWS), lines)
    ]
    assert others == [first] * 3
    assert [row["row_number"] for row in first] == [1, 2, 3, 4]
    assert first[0]["ground_truth_answer"] == "93.3333333333"
    assert (
        first[1]["lower_limit"],
        first[1]["upper_limit"],
        first[1]["relevant_entities"],
    ) == (
        "23.75",
        "26.25",
        "",
    )
    assert first[3]["ground_truth_answer"] == "('15 weeks', '1 days')"
    assert "mm Hg" in first[0]["question"]
    items = load_items(MEDCALC, first)
    golds = [MEDCALC.benchmark.gold_response(MEDCALC, item) for item in items]
    assert [
        score.values["accuracy"] for score in score_items(MEDCALC, items, golds)
    ] == [1.0] * 4


@tabled("row", "message")
def test_a_row_that_does_not_fit(tmp_path: Path, row: list[str], message: str) -> None:
    told = (
        rf"(?s)rows: row 6, Row Number 5, column {message}.*rows: row 7, Row Number 6"
    )
    with pytest.raises(UsageError, match=told):
        read(tmp_path, as_csv([*ROWS, row, row]))


@tabled("change", "message")
def test_a_record_that_does_not_fit(
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
    given = official_row(
        7,
        **right,
        **{"Category": "physical", "Lower Limit": "88.6", "Upper Limit": "98"},
    )
    wrong = {
        **given,
        "Row Number": "9",
        "Ground Truth Answer": "80",
        "Lower Limit": "76",
        "Upper Limit": "84",
    }
    rows = read(tmp_path, as_csv([[*given], [*given.values()], [*wrong.values()]]))
    assert [row["ground_truth_answer"] for row in rows] == ["93.3", "80"]
    assert (
        "1 released labels that their entities do not support are kept (row 3 is"
        in capsys.readouterr().err
    )
    del wrong["Ground Truth Explanation"]
    with pytest.raises(
        UsageError,
        match="row 2, Row Number 9, column 'Ground Truth Answer': must agree",
    ):
        read(tmp_path, as_csv([[*wrong], [*wrong.values()]]))


def test_without_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_bytes(as_csv(ROWS))
    Path("answers.csv").write_bytes(
        b"Row Number,answer\n1,93\n2,31\n3,10/26/2024\n4,\n"
    )
    assert (
        main(["score", "medcalc", "--source", "rows.csv", "--responses", "answers.csv"])
        == 0
    )
    assert "accuracy 66.7 %" in " ".join(capsys.readouterr().out.split())
    # the second may be a note, without a header
    Path("rows.csv").write_bytes(b"Calculater,Seen on ward 4\n5,x\n5,y\n")
    assert (
        main(
            [
                "build",
                "medcalc_bench",
                "--config",
                "own",
                "--source",
                "rows.csv",
                "--out",
                "d",
            ]
        )
        == 2
    )
    assert (
        capsys.readouterr().err.count(
            "no column of the dataset: 'Calculater', a text of 14 characters."
        )
        == 1
    )
