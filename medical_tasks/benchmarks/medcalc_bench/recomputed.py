"""What the published rule gives for a row, beside the row's label.

The labels of the released files come from a program with mistakes of its own (`docs/medcalc_audit.md`). The row's
`relevant_entities` and the calculators of this package give the value that the published rule has for the same inputs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.decision import decimal_or_none, limits
from medical_tasks.calculators import Answer, CalculatorInputError, Result, find
from medical_tasks.errors import UsageError

__all__ = ["answer_text", "entities_of", "label_agrees", "recompute", "recompute_or_none"]

_NONE: frozenset[str] = frozenset()
_WHOLE = re.compile("[0-9]+")


def entities_of(row: Mapping[str, Any]) -> dict[str, object]:
    """The row's entities.

    Args:
        row: as built, with `relevant_entities` as canonical JSON.

    Raises:
        CalculatorInputError: The row has none, or a text of another form.
    """
    text = row.get("relevant_entities")
    try:
        entities = json.loads(text or "")
    except (TypeError, ValueError, RecursionError):
        entities = None
    if not isinstance(entities, dict):
        raise CalculatorInputError(f"relevant_entities: expected a JSON object, got {str(text)[:60]!r}")
    return entities


def recompute(row: Mapping[str, Any], conventions: frozenset[str] = _NONE) -> Result:
    """Applies the published rule to a row's entities.

    Args:
        row: as built, with `calculator_id` and `relevant_entities`.
        conventions: names of departures from the published rule to follow.

    Raises:
        CalculatorInputError: The calculator is not one of the 55, the rule has no answer for these entities, or a unit
            among them cannot be meant.
    """
    result = find(int(row["calculator_id"])).calculate(entities_of(row), conventions)
    if result.unit_doubts:
        raise CalculatorInputError(" ".join(result.unit_doubts).removesuffix("."))
    return result


def recompute_or_none(row: Mapping[str, Any]) -> Result | None:
    """As `recompute`, and None where the rule has no answer."""
    try:
        return recompute(row)
    except CalculatorInputError:
        return None


def label_agrees(row: Mapping[str, Any], answer: Answer) -> bool:
    """Whether an answer is right by the row's label and limits.

    Args:
        row: as built, with the label and its limits.
        answer: of a calculator: a float within the limits, an integer equal to the label, the same date, or the same weeks
            and days.

    Raises:
        UsageError: The label or a limit cannot be read.
    """
    label = str(row["ground_truth_answer"])
    if isinstance(answer, str | tuple):
        return _numbers(label) == _numbers(answer if isinstance(answer, str) else " ".join(answer))
    number = decimal_or_none(label)
    if number is None:
        raise UsageError(f"the gold answer {label!r} is no number. Check the row's Ground Truth Answer.")
    if isinstance(answer, int):
        return Decimal(answer) == number
    low, high = limits(number, row.get("lower_limit"), row.get("upper_limit"))
    return low <= answer <= high


def _numbers(text: str) -> list[int]:
    """Month, day and year, or weeks and days: zeros before a number do not matter."""
    return [int(part) for part in _WHOLE.findall(text)]


def answer_text(answer: Answer) -> str:
    """An answer as the dataset writes one: `25.28`, `4`, `05/30/2024` or `('15 weeks', '1 days')`."""
    return f"{answer:.10g}" if isinstance(answer, float) else str(answer)
