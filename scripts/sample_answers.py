"""Makes examples/answers.csv, the sample of README: `python scripts/sample_answers.py test_data.csv`.

The answers are those of a program, no model: it looks for each calculator's attributes
in the note by their names (`construct medcalc extract --model lexical`) and computes
with the suite's own formulas. Where it does not find all it needs it gives no answer,
so that the file also shows how missing ones are scored. The answers have the form that
the task's prompt asks for, which alone the authors' script reads. A third of MedCalc-Bench's
notes are templates that say attributes in the calculators' words, which makes this far
easier than reading.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from medical_tasks.benchmarks.medcalc_bench.data import read_rows
from medical_tasks.calculators import find
from medical_tasks.calculators.units import CalculatorInputError
from medical_tasks.construct.medcalc.extraction import lexical
from medical_tasks.spec import Row

OUT = Path(__file__).resolve().parents[1] / "examples" / "answers.csv"
COLUMNS = ("id", "answer")
_LARGEST = 1000
"""From here on a number of four digits would be shown as a power of ten."""


def rows_of(source: Path) -> Iterable[Row]:
    """Reads the official file of MedCalc-Bench v1.0."""
    return read_rows("v1.0", "test", {"test": source})


def answers(rows: Iterable[Row]) -> Iterator[tuple[int, str]]:
    """Yields the row number and the answer of each question that the program can answer."""
    for row in rows:
        calculator = find(row["calculator_id"])
        entities = lexical(row["patient_note"], calculator)
        try:
            result = calculator.calculate(entities)
        except CalculatorInputError:
            continue
        yield row["row_number"], json.dumps({"answer": _shown(result.answer_text)})


def _shown(text: str) -> str:
    """A number as a person writes it, 25.24 for 25.2380952381; dates and weeks as they are."""
    try:
        value = float(text)
    except ValueError:
        return text
    return f"{value:.4g}" if abs(value) < _LARGEST else text


def main(source: Path) -> None:
    """Writes the sample."""
    with OUT.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(answers(rows_of(source)))
    print(OUT)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
