"""Sorts wrong answers into the error types of the paper without a judge, from what the reply itself shows.

The types (Khandekar et al. 2024, section 4.1): A knowledge (formula, constants, points), B extraction (a value of the
note), C computation, D all others; the earliest error counts, in the order A, B, C. A reply is compared with our own steps
for the row (`calculators.Result`). A type is given only on evidence that stands in the reply; everything else, above all a
reply that shows no working, is `undetermined`, never guessed. The rules and their limits: `docs/medcalc_errors.md`.

Rows whose label the published rule does not bear out are refused: there a "wrong" answer may be right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medical_tasks.medcalc_bench.decision import decimal_or_none, limits
from medical_tasks.medcalc_bench.error_case import TYPES, Case, ErrorType, Sorted, values_of
from medical_tasks.medcalc_bench.error_dates import date_error
from medical_tasks.medcalc_bench.error_equations import equation_error
from medical_tasks.medcalc_bench.error_points import steps_of
from medical_tasks.medcalc_bench.error_reading import Working, read_working
from medical_tasks.medcalc_bench.error_scores import score_error
from medical_tasks.medcalc_bench.recomputed import label_agrees, recompute_or_none
from medical_tasks.medcalc_bench.scoring import decide

__all__ = ["TYPES", "ErrorType", "Sorted", "sort_error"]


def sort_error(row: Mapping[str, Any], response: str) -> Sorted | None:
    """Sorts one answer.

    Args:
        row: as built (`data.COLUMNS`).
        response: the model's raw text.

    Returns:
        The type with its reason; None for a right answer, and for a row whose label cannot be relied on.
    """
    result = recompute_or_none(row)
    if result is None or not label_agrees(row, result.answer):
        return None
    calculator_id = int(row["calculator_id"])
    decision = decide(
        response,
        calculator_id=calculator_id,
        gold=row["ground_truth_answer"],
        lower=row["lower_limit"],
        upper=row["upper_limit"],
        output_type=row.get("output_type"),
    )
    if decision.correct:
        return None
    if not decision.parsed:
        return Sorted("D", "empty reply" if not response.strip() else f"no answer that can be read: {decision.why}")
    working = read_working(response)
    if isinstance(result.answer, str | tuple):
        return date_error(calculator_id, result, working)
    gold = decimal_or_none(row["ground_truth_answer"])
    if gold is None:  # label_agrees has read it
        raise ValueError(f"row {row.get('row_number')}: label {row['ground_truth_answer']!r} is no number")
    low, high = limits(gold, row["lower_limit"], row["upper_limit"])
    case = Case(
        calculator_id,
        result,
        values_of(row, result),
        working,
        _as_float(decision.parsed),
        min(low, high),
        max(low, high),
    )
    steps = steps_of(result.explanation)
    found = score_error(case) if steps else equation_error(case)
    return found or Sorted("undetermined", "no working is shown" if not _shown(working) else "no evidence for one type")


def _as_float(text: str) -> float | None:
    """The number of `Decision.parsed`, None where the reply leaves open which."""
    number = decimal_or_none(text.removesuffix("%"))
    return None if number is None else float(number)


def _shown(working: Working) -> bool:
    return bool(working.equations) or len(working.lines) > 2 or len(working.numbers) > 2
