"""The `demo` configuration: synthetic records that run every MedCalc-Bench task without a download.

Names of calculators and entities are those of v1.0; golds were worked out by hand from
the published formulas.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.gold import canonical_entities
from medical_tasks.calculators import AnyCalculator, find
from medical_tasks.io.files import packaged

DemoRow: TypeAlias = dict[str, Any]
"""An invented row, by the names of its columns."""

DEMO_ROWS: Final = 31
"""How many rows `demo` has; a build refuses another number."""
FAIR_DEMO_ROWS: Final = 20
"""How many rows of `medcalc_fair` it has beside."""


def demo_rows() -> list[DemoRow]:
    """The rows of the `demo` configuration, numbered from 1, with the names and types of the released rows."""
    records = packaged(__file__, "demo_records.json")
    return [_row(number, record) for number, record in enumerate(records, start=1)]


def fair_demo_rows() -> list[DemoRow]:
    """Families of `medcalc_fair` for the `demo` configuration, numbered after its other rows.

    They are the generator's own (`medical_tasks.construct.fresh.fair`), kept as rows:
    one whose rule uses sex and age, and one whose rule uses neither.
    """
    records: list[DemoRow] = packaged(__file__, "demo_fair.json")
    return [
        _row(number, record) | {"note_type": record["note_type"]}
        for number, record in enumerate(records, start=DEMO_ROWS + 1)
    ]


def decimal_limits(answer: str) -> tuple[str, str]:
    """95 % and 105 % of a decimal gold, exactly and without trailing zeros, the smaller first."""
    bounds = sorted(Decimal(answer) * Decimal(factor) for factor in ("0.95", "1.05"))
    low, high = (f"{bound.normalize():f}" for bound in bounds)
    return low, high


def _row(number: int, record: DemoRow) -> DemoRow:
    calculator = find(record["calculator_id"])
    texts = (record["text"], record["question"], record["entities"])
    return synthetic_row(
        number,
        f"demo-{record['note']:04d}",
        calculator,
        texts,
        record["answer"],
        record["explanation"],
    )


def synthetic_row(
    number: int,
    note_id: str,
    calculator: AnyCalculator,
    texts: tuple[str, str, object],
    answer: str,
    explanation: str,
) -> DemoRow:
    """A row with the names and types of the released ones.

    `texts` are note, question and entities.
    """
    note, question, entities = texts
    low, high = (
        decimal_limits(answer) if calculator.output == "decimal" else (answer, answer)
    )

    return {
        "row_number": number,
        "calculator_id": calculator.id,
        "calculator_name": calculator.name,
        "category": calculator.category,
        "output_type": calculator.output,
        "note_id": note_id,
        "note_type": "Synthetic",
        "patient_note": note,
        "question": question,
        "relevant_entities": canonical_entities(json.dumps(entities)),
        "ground_truth_answer": answer,
        "lower_limit": low,
        "upper_limit": high,
        "ground_truth_explanation": explanation,
        "source_category": calculator.category,
    }
