"""What the sorting of a wrong answer works on: our own calculation beside the reply's working."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from medical_tasks.calculators import Result, find
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.medcalc_bench.error_facts import accepted_values, shifted_values
from medical_tasks.medcalc_bench.error_reading import Working, close
from medical_tasks.medcalc_bench.recomputed import entities_of

__all__ = ["TYPES", "Case", "ErrorType", "Sorted", "Value", "among", "short", "values_of"]

ErrorType: TypeAlias = Literal["A", "B", "C", "D", "undetermined"]

TYPES: Final[Mapping[str, str]] = {
    "A": "knowledge",
    "B": "extraction",
    "C": "computation",
    "D": "other",
    "undetermined": "no evidence in the reply",
}


@dataclass(frozen=True, slots=True)
class Sorted:
    """What a wrong answer was sorted as.

    Attributes:
        error_type: its type.
        reason: the evidence in one line.
    """

    error_type: ErrorType
    reason: str


@dataclass(frozen=True, slots=True)
class Value:
    """A number the calculation needs.

    `used` is the number in the formula's unit, `accepted` the forms in which it may be stated at all, `forms` the fewer
    ones in which a calculation takes it.
    """

    parameter: str
    name: str
    used: float
    accepted: tuple[float, ...]
    forms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A row's own calculation beside the reply's working."""

    calculator_id: int
    result: Result
    values: tuple[Value, ...]
    working: Working
    final: float | None
    low: float
    high: float


def values_of(row: Mapping[str, Any], result: Result) -> tuple[Value, ...]:
    """The numbers among a row's entities that its calculation takes."""
    calculator = find(result.calculator_id)
    found = []
    for key, raw in entities_of(row).items():
        item = calculator.input_named(key)
        if not isinstance(item, Quantity):
            continue
        used = result.used.get(item.parameter)
        if isinstance(used, bool) or not isinstance(used, int | float):
            continue
        number = raw[0] if isinstance(raw, list) and raw else raw
        stated = float(number) if isinstance(number, int | float) and not isinstance(number, bool) else None
        accepted, forms = accepted_values(item.parameter, stated, float(used)), shifted_values(stated, float(used))
        found.append(Value(item.parameter, item.name, float(used), accepted, forms))
    for number in _doses(result):
        found.append(Value("", "dose", number, accepted_values("", None, number), shifted_values(None, number)))
    return tuple(found)


def _doses(result: Result) -> list[float]:
    """The numbers of the two calculators whose entities are doses of drugs; a dose once a day may not show its 1."""
    if result.calculator_id == 24:
        return [float(result.used["source_dose_mg"])]
    if result.calculator_id == 49:
        numbers = [number for dose in result.used["doses"] for number in (dose.amount, dose.per_day)]
        return [float(number) for number in numbers if number not in (None, 1)]
    return []


def among(accepted: Sequence[float], numbers: Sequence[float]) -> bool:
    """Whether one of the accepted values is among the numbers; signs do not count."""
    return any(close(one, abs(number)) for number in numbers for one in accepted)


def short(text: str) -> str:
    """A quotation that fits a line."""
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."
