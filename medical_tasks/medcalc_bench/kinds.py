"""What form the answer of each calculator has: an integer, a decimal, a date or a gestational age.

The form follows the calculator, not the dataset's `Output Type` column, which calls gestational age an integer
(paper, section 3.1: rule-based scores exact, lab, physical and dosage results within 5 %, dates exact).
"""

from __future__ import annotations

from typing import Literal

from medical_tasks.errors import UsageError

__all__ = ["AnswerKind", "answer_kind"]

AnswerKind = Literal["integer", "decimal", "date", "gestational_age"]

DATE_IDS = frozenset({13, 68})
GESTATIONAL_AGE_ID = 69
INTEGER_IDS = frozenset({4, 15, 16, 17, 18, 20, 21, 25, 27, 28, 29, 32, 33, 36, 43, 45, 48, 51})
DECIMAL_IDS = frozenset(
    {2, 3, 5, 6, 7, 8, 9, 10, 11, 19, 22, 23, 24, 26, 30, 31, 38, 39, 40, 44, 46, 49}
    | {56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67}
)

SCORE_IDS = INTEGER_IDS | {8, 23}
"""Calculators whose result is a number of points, so that "3/9" means 3 of 9 and no quotient."""

PERCENT_IDS = frozenset({40, 46})
"""Calculators whose result is a percentage (fractional excretion of sodium, Framingham risk): "0.8" and "0.8 %" are the same."""


def known_kind(calculator_id: int) -> AnswerKind | None:
    """The answer's form for one of the 55 calculators, None for any other id."""
    if calculator_id in DECIMAL_IDS:
        return "decimal"
    if calculator_id in INTEGER_IDS:
        return "integer"
    if calculator_id in DATE_IDS:
        return "date"
    return "gestational_age" if calculator_id == GESTATIONAL_AGE_ID else None


def answer_kind(calculator_id: int, output_type: str | None = None) -> AnswerKind:
    """The form in which a calculator's answer is given.

    Args:
        calculator_id: id in the dataset.
        output_type: the dataset's `Output Type`, asked only for an id that is not one of the 55.

    Raises:
        UsageError: The id is unknown and the output type does not say either.
    """
    kind = known_kind(calculator_id)
    if kind is not None:
        return kind
    if output_type in ("integer", "decimal", "date"):
        return output_type  # type: ignore[return-value]  # narrowed by the line above, which mypy does not follow
    raise UsageError(
        f"calculator {calculator_id} is not one of the 55 of MedCalc-Bench, and its output type is {output_type!r}: "
        "expected 'integer', 'decimal' or 'date'. Check the row's Calculator ID and Output Type columns."
    )
