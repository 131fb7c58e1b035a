"""CSV files of the official shape, written by the tests."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from medical_tasks.benchmarks.medcalc_bench.data import OFFICIAL_COLUMNS

V12_ROWS: tuple[Mapping[str, str], ...] = (
    {"Calculator ID": "39", "Calculator Name": "Anion Gap", "Category": "lab test"},
    {
        "Calculator ID": "49",
        "Calculator Name": "Morphine Milligram Equivalents (MME) Calculator",
        "Category": "dosage conversion",
        "Note ID": "1",
        "Note Type": "Template",
    },
    {
        "Calculator ID": "69",
        "Calculator Name": "Estimated Gestational Age",
        "Category": "date",
        "Output Type": "date",
        "Note ID": "1",
        "Note Type": "Template",
        "Patient Note": "Last period on 03/01/2023, today is 06/20/2023.",
        "Relevant Entities": "{'Current Date': '06/20/2023', 'Last menstrual date': '03/01/2023'}",
        "Ground Truth Answer": "('15 weeks', '6 days')",
        "Lower Limit": "('15 weeks', '6 days')",
        "Upper Limit": "('15 weeks', '6 days')",
    },
    {
        "Calculator ID": "13",
        "Calculator Name": "Estimated Due Date",
        "Category": "date",
        "Output Type": "date",
        "Ground Truth Answer": "5/9/2024",
        "Lower Limit": "5/9/2024",
        "Upper Limit": "5/9/2024",
    },
)


def official_row(number: int, **cells: str) -> dict[str, str]:
    """One row in the official form; `cells` replace the defaults by official column name."""
    row = {
        "Row Number": str(number),
        "Calculator ID": "39",
        "Calculator Name": "Anion Gap",
        "Category": "lab",
        "Output Type": "decimal",
        "Note ID": f"pmc-{1000 + number}-1",
        "Note Type": "Extracted",
        "Patient Note": f'Patient {number}, "stable",\nwith sodium 140, chloride 100, bicarbonate 24.',
        "Question": "What is the anion gap? ",
        "Relevant Entities": "{'Sodium': [140.0, 'mEq/L'], 'Chloride': [100.0, 'mEq/L'], 'Bicarbonate': [24.0, 'mEq/L']}",
        "Ground Truth Answer": "16",
        "Lower Limit": "15.2",
        "Upper Limit": "16.8",
        "Ground Truth Explanation": "140 - (100 + 24) = 16.",
    }
    assert set(cells) <= set(row), cells
    return {**row, **cells}


def v12_rows() -> list[dict[str, str]]:
    """Four rows as the later releases write them."""
    return [official_row(number, **cells) for number, cells in enumerate(V12_ROWS, start=1)]


def csv_text(rows: Iterable[Mapping[str, str]], columns: Iterable[str] = tuple(OFFICIAL_COLUMNS)) -> str:
    """The rows as CSV, quoted and ended as the official files are."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, tuple(columns), lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def write_csv(path: Path, rows: Iterable[Mapping[str, str]]) -> Path:
    """Writes the rows to a file and returns it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(csv_text(rows), encoding="utf-8")
    return path
