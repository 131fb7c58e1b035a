"""Reproduces the v1.0 labels of MedCalc-Bench, including mistakes, to explain where a label comes from.

    from medical_tasks.lab.v1_labels import QUIRKS, label

    result = label(
        21,
        {
            "Best eye response": "eye opening to pain",
            "Best verbal response": "confused",
            "Best motor response": "localizes pain",
        },
    )
    result.answer    # 15; the Glasgow Coma Score is 11
    result.note      # "verbal score counted twice"
    QUIRKS[21]       # how labels of this calculator deviate in general

These rules are deliberately separate from the published calculators: neither imports
the other, and no answer for a patient may come from here. `docs/v1_labels.md` lists the
quirks and the share of labels that is reproduced.

All rules round every step of a conversion: 3 decimals above 0.001, otherwise (negative
numbers too) 3 significant digits, so that creatinine in µmol/L comes in steps of 0.1
mg/dL. A value in the rule's own unit is not rounded. Units are exact words: `mg/dL` but
not `mg/dl`, and the file's `degrees celsisus` becomes Fahrenheit. A weight that is
neither in `lbs` nor in `g` is in kg. Age is the first pair of value and unit, in whole
years. A finding counts as present whenever its text is not empty, even "Not mentioned".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.units import CalculatorInputError
from medical_tasks.lab.v1_labels import (  # noqa: F401 - they register their rules
    chemistry,
    circulation,
    intensive_care,
    person,
)
from medical_tasks.lab.v1_labels.entities import Entities
from medical_tasks.lab.v1_labels.rules import REGISTERED, Answer

__all__ = ["QUIRKS", "RULES", "LabelResult", "label"]

RULES: Final = MappingProxyType(dict(sorted(REGISTERED.items())))
"""Calculator id to label rule, in the order of the ids."""

QUIRKS: Final[Mapping[int, str | None]] = MappingProxyType(
    {rule.id: rule.quirk for rule in RULES.values()}
)
"""Calculator id to one line on how its labels deviate from the published rule; None if they do
not."""


@dataclass(frozen=True, slots=True)
class LabelResult:
    """The label rule's answer for a row; `note` lists the quirks that affected it."""

    calculator_id: int
    answer: Answer
    note: str | None

    @property
    def answer_text(self) -> str:
        """The answer as in the dataset's column `Ground Truth Answer`: `38` for 38.0."""
        if isinstance(self.answer, float) and self.answer.is_integer():
            return str(int(self.answer))
        return str(self.answer)


def label(calculator_id: int, entities: Mapping[str, object]) -> LabelResult:
    """Apply the rule that produced the v1.0 labels; values are used exactly as written."""
    rule = RULES.get(calculator_id)
    if rule is None:
        ids = ", ".join(map(str, RULES))
        raise CalculatorInputError(
            f"no label rule for calculator {calculator_id!r}; the dataset's ids are {ids}"
        )

    row_entities = Entities(entities)
    try:
        answer = rule.compute(row_entities)
    except CalculatorInputError as error:
        raise error.within(f"v1 label of {rule.name}") from error
    except ArithmeticError as error:
        raise CalculatorInputError(
            f"v1 label of {rule.name}: the label rule cannot run on these entities ({error}); "
            "check their values"
        ) from error

    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)

    return LabelResult(calculator_id, answer, "; ".join(row_entities.notes) or None)
