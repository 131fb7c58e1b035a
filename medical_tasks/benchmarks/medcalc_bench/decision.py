"""What counts as right for a calculator: the form of its answer, its limits, and what a scorer decides.

The form follows the calculator, not the dataset's `Output Type` column, which calls gestational age an integer (Khandekar et
al. 2024, section 3.1: rule-based scores exact, lab, physical and dosage results within 5 %, dates exact).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from medical_tasks.errors import UsageError

__all__ = [
    "MAX_REPLY",
    "RELATIVE",
    "AnswerKind",
    "Decision",
    "answer_kind",
    "decimal_or_none",
    "known_kind",
    "limits",
    "within",
]

MAX_REPLY = 16_384
"""How much of a reply is read, in characters, from its end: about 5,000 tokens."""

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

RELATIVE = Decimal("0.05")
"""Relative tolerance of measurements (paper, section 3.1), used where a row brings no limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Right or wrong, and why.

    Attributes:
        correct: the decision.
        parsed: the answer as it was read, "" where none was found.
        why: one line for a person.
        notes: what a reader of the score should know of this answer, such as `unit_mismatch`.
    """

    correct: bool
    parsed: str
    why: str
    notes: tuple[str, ...] = ()


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


def limits(gold: Decimal, lower: str | float | None = None, upper: str | float | None = None) -> tuple[float, float]:
    """The interval of right values.

    A row whose limits coincide asks for its gold to the last digit it gives; a gold of 0 for 0.

    Args:
        gold: the right answer.
        lower: the row's lower limit; either may be the larger one, as in rows with a negative gold.
        upper: the row's upper limit. Where one is missing, both are 5 % of the gold away.

    Raises:
        UsageError: A limit is no number.
    """
    ends: list[Decimal] = []
    for given in (lower, upper):
        if given is None or given == "":
            continue
        end = decimal_or_none(given)
        if end is None:
            raise UsageError(f"the limit {given!r} is no number. Check the row's Lower Limit and Upper Limit.")
        ends.append(end)
    if len(ends) < 2:
        ends = [gold * (1 - RELATIVE), gold * (1 + RELATIVE)]
    if ends[0] == ends[1] and gold != 0:
        exponent = gold.as_tuple().exponent
        half = Decimal(5).scaleb(exponent - 1) if isinstance(exponent, int) else Decimal(0)
        ends = [gold - half, gold + half]
    return float(min(ends)), float(max(ends))


def decimal_or_none(value: str | float) -> Decimal | None:
    """The number as it is written, or None where it is none or not finite."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if math.isfinite(number) else None


def within(value: float, lower: float, upper: float) -> str:
    """Says where a number lies: `25.2 is within 23.98 to 26.5`."""
    place = "within" if lower <= value <= upper else "outside"
    return f"{value:.6g} is {place} {lower:.6g} to {upper:.6g}"
