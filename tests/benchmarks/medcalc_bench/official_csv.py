"""CSV files of the official shape, written by the tests."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.data import OFFICIAL_COLUMNS
from tests.case_tables import json_of
from tests.support import SHARED

V1 = SHARED / "data" / "medcalc" / "test_data_v1.csv"
ROWS = json_of(Path(__file__).with_name("official_rows.json"))


def v1_cells() -> list[dict[str, str]]:
    """The rows of v1.0 as they are in the file."""
    with V1.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, strict=True))
    assert len(rows) == 1047
    return rows


def gold_of(row: Mapping[str, str]) -> dict[str, Any]:
    """What decides about an answer to a row."""
    return {
        "calculator_id": int(row["Calculator ID"]),
        "gold": row["Ground Truth Answer"],
        "lower": row["Lower Limit"],
        "upper": row["Upper Limit"],
    }


def gold_of_case(case: Mapping[str, Any]) -> dict[str, Any]:
    """What decides about an answer to a case of `fixtures/metrics.json`."""
    return {
        "calculator_id": int(case["calid"]),
        "gold": case["ground_truth"],
        "lower": case["lower"],
        "upper": case["upper"],
    }


def official_row(number: int, **cells: str) -> dict[str, str]:
    """One row in the official form; `cells` replace the defaults by official column name."""
    own = {
        "Row Number": str(number),
        "Note ID": f"pmc-{1000 + number}-1",
        "Patient Note": f'Patient {number}, "stable",\nwith sodium 140, chloride 100, bicarbonate 24.',
    }
    row = {name: own.get(name, ROWS["v1.0"].get(name, "")) for name in OFFICIAL_COLUMNS}
    assert set(cells) <= set(row), cells
    return {**row, **cells}


def v12_rows() -> list[dict[str, str]]:
    """Four rows as the later releases write them."""
    return [
        official_row(number, **cells)
        for number, cells in enumerate(ROWS["v1.2"], start=1)
    ]


def csv_text(
    rows: Iterable[Mapping[str, str]], columns: Iterable[str] = tuple(OFFICIAL_COLUMNS)
) -> str:
    """The rows as CSV, quoted and ended as the official files are."""
    stream = io.StringIO()
    writer = csv.DictWriter(
        stream, tuple(columns), lineterminator="\n", extrasaction="ignore"
    )
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def write_csv(path: Path, rows: Iterable[Mapping[str, str]]) -> Path:
    """Writes the rows to a file and returns it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(csv_text(rows), encoding="utf-8")
    return path
