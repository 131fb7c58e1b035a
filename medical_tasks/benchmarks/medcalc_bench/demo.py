"""The `demo` configuration: synthetic records that run every MedCalc-Bench task without a download.

Notes, people and dates are invented. Names of calculators and entities are those of v1.0, so that whatever reads the
released rows reads these; golds follow the published formulas and are recomputed independently by the tests.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.demo_laboratory import LABORATORY
from medical_tasks.benchmarks.medcalc_bench.demo_measurements import MEASUREMENTS
from medical_tasks.benchmarks.medcalc_bench.demo_record import CALCULATORS, DemoRecord
from medical_tasks.benchmarks.medcalc_bench.demo_scores import SCORES
from medical_tasks.benchmarks.medcalc_bench.entities import canonical_entities

__all__ = ["RECORDS", "decimal_limits", "demo_rows"]

RECORDS: tuple[DemoRecord, ...] = (*LABORATORY, *MEASUREMENTS, *SCORES)


def demo_rows() -> list[dict[str, Any]]:
    """Makes the rows of the `demo` configuration.

    Returns:
        One mapping a row, with the names and types of the released rows, numbered from 1.
    """
    return [_row(number, record) for number, record in enumerate(RECORDS, start=1)]


def decimal_limits(answer: str) -> tuple[str, str]:
    """Computes the limits of a decimal gold, exactly and written as in v1.0.

    Args:
        answer: the gold, a decimal number.

    Returns:
        95 % and 105 % of it without trailing zeros, the smaller first.
    """
    bounds = sorted(Decimal(answer) * Decimal(factor) for factor in ("0.95", "1.05"))
    low, high = (f"{bound.normalize():f}" for bound in bounds)
    return low, high


def _row(number: int, record: DemoRecord) -> dict[str, Any]:
    calculator = CALCULATORS[record.calculator_id]
    low, high = record.answer, record.answer
    if calculator.output_type == "decimal":
        low, high = decimal_limits(record.answer)
    return {
        "row_number": number,
        "calculator_id": record.calculator_id,
        "calculator_name": calculator.name,
        "category": calculator.category,
        "output_type": calculator.output_type,
        "note_id": f"demo-{record.note:04d}",
        "note_type": "Synthetic",
        "patient_note": record.text,
        "question": record.question,
        "relevant_entities": canonical_entities(repr(dict(record.entities))),
        "ground_truth_answer": record.answer,
        "lower_limit": low,
        "upper_limit": high,
        "ground_truth_explanation": record.explanation,
        "source_category": calculator.category,
    }
