from __future__ import annotations

import csv
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from tests.benchmarks.medcalc_bench.official_csv import (
    official_row,
    v12_rows,
    write_csv,
)
from tests.cli.wrong_use import refuse, wrong_use
from tests.support import SHARED, needs_shared

pytestmark = pytest.mark.usefixtures("here")

AUDIT = ["audit", "medcalc", "--source", "in.csv", "--out", "out.csv"]
COMA = {
    "Calculator ID": "21",
    "Calculator Name": "Glasgow Coma Score (GCS)",
    "Category": "severity",
    "Output Type": "integer",
    "Relevant Entities": "{'Best eye response': 'eye opening to pain', 'Best verbal response': 'confused', "
    "'Best motor response': 'localizes pain'}",
    "Ground Truth Answer": "15",
    "Lower Limit": "15",
    "Upper Limit": "15",
}


def read_audit(path: str = "out.csv") -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_rows_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(Path("in.csv"), [official_row(7), official_row(9, **COMA)])
    assert main(AUDIT) == 0
    rows = read_audit()
    assert [
        (row["row"], row["calculator"], row["label"], row["recomputed"], row["verdict"])
        for row in rows
    ] == [
        ("7", "Anion Gap", "16", "16", "agrees"),
        (
            "9",
            "Glasgow Coma Score (GCS)",
            "15",
            "11",
            "wrong",
        ),  # 2 + 4 + 5, with verbal twice 15
    ]
    assert rows[1]["reason"].startswith(
        "Label: verbal score counted twice. Published rule: 2 (Best eye response 2 of 4)"
    )
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == [
        "id",
        "calculator",
        "output",
        "rows",
        "agrees",
        "wrong",
        "convention",
        "not",
        "computable",
    ]
    assert lines[2] == [
        "21",
        "Glasgow",
        "Coma",
        "Score",
        "(GCS)",
        "integer",
        "1",
        "0",
        "1",
        "0",
        "0",
    ]
    assert lines[3] == ["39", "Anion", "Gap", "decimal", "1", "1", "0", "0", "0"]
    assert lines[4] == ["all", "2", "1", "1", "0", "0"]
    assert lines[-1] == "2 rows in out.csv".split()
    # Later releases are read too.
    write_csv(Path("in.csv"), v12_rows())
    assert [row["Category"] for row in v12_rows()][:2] == [
        "lab test",
        "dosage conversion",
    ]
    assert main(["audit", "medcalc_bench", *AUDIT[2:]]) == 0
    assert len(read_audit()) == len(v12_rows()) == 4
    assert read_audit()[2]["verdict"] == "agrees"  # a gestational age


@wrong_use("audit")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(Path("in.csv"), [official_row(1)])
    Path("few.csv").write_text("Row Number,Answer\n1,2\n")
    Path("cut.csv").write_text(Path("in.csv").read_text() + "2,39,Anion\n")
    write_csv(Path("odd.csv"), [official_row(1, **{"Ground Truth Answer": "sixteen"})])
    before = sorted(path.name for path in Path().iterdir())
    refuse(line, code, message, capsys)
    assert sorted(path.name for path in Path().iterdir()) == before


@pytest.mark.upstream
@needs_shared
def test_the_labels_of_v1(capsys: pytest.CaptureFixture[str]) -> None:
    source = SHARED / "data" / "medcalc" / "test_data_v1.csv"
    assert (
        main(["audit", "medcalc", "--source", str(source), "--out", "audit.csv"]) == 0
    )
    assert len(read_audit("audit.csv")) == 1047
    assert capsys.readouterr().out.splitlines()[-3].split() == [
        "all",
        "1047",
        "839",
        "179",
        "19",
        "10",
    ]
