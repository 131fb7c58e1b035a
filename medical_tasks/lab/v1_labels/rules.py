"""The table of label rules, filled by the decorator `rule` of each rule's function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from medical_tasks.lab.v1_labels.entities import Entities

Answer: TypeAlias = float | int | str | tuple[str, str]
_Compute = TypeVar("_Compute", bound=Callable[..., Answer])

CREATININE_STEPS: Final = "creatinine in µmol/L comes in steps of 0.1 mg/dL"
GLUCOSE_STEPS: Final = "glucose in mmol/L comes in steps of 18 mg/dL"
LOST_DIGITS: Final = "amounts in mg/dL lose digits by rounding each conversion step"


@dataclass(frozen=True, slots=True)
class Rule:
    """A label rule.

    `quirk` describes how labels deviate from the published rule; None if they do not.
    """

    id: int
    name: str
    compute: Callable[[Entities], Answer]
    quirk: str | None = None


REGISTERED: Final[dict[int, Rule]] = {}
"""Calculator id to label rule, in the order of definition."""


def rule(
    calculator_id: int, name: str, quirk: str | None = None
) -> Callable[[_Compute], _Compute]:
    """Register a function as the label rule of a calculator."""

    def register(compute: _Compute) -> _Compute:
        REGISTERED[calculator_id] = Rule(calculator_id, name, compute, quirk)
        return compute

    return register
