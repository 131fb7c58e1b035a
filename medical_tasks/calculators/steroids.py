"""Glucocorticoids: the equivalent dose of another steroid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.inputs import Choice, Input
from medical_tasks.calculators.measures import Measure
from medical_tasks.calculators.names import fold
from medical_tasks.calculators.trace import Say, quiet

__all__ = ["EQUIVALENT_MG", "Steroid", "SteroidDose", "steroid_conversion"]

Steroid: TypeAlias = Literal[
    "Betamethasone IV",
    "Cortisone PO",
    "Dexamethasone IV",
    "Dexamethasone PO",
    "Hydrocortisone IV",
    "Hydrocortisone PO",
    "MethylPrednisoLONE IV",
    "MethylPrednisoLONE PO",
    "PrednisoLONE PO",
    "PredniSONE PO",
    "Triamcinolone IV",
]

EQUIVALENT_MG: Final[Mapping[Steroid, float]] = MappingProxyType(
    {
        "Betamethasone IV": 0.75,
        "Cortisone PO": 25.0,
        "Dexamethasone IV": 0.75,
        "Dexamethasone PO": 0.75,
        "Hydrocortisone IV": 20.0,
        "Hydrocortisone PO": 20.0,
        "MethylPrednisoLONE IV": 4.0,
        "MethylPrednisoLONE PO": 4.0,
        "PrednisoLONE PO": 5.0,
        "PredniSONE PO": 5.0,
        "Triamcinolone IV": 4.0,
    }
)
"""Doses of equal glucocorticoid effect, in mg."""

_ONE_ROUTE: Final = ("Betamethasone IV", "Cortisone PO", "PrednisoLONE PO", "PredniSONE PO", "Triamcinolone IV")
_WORDS: Final = MappingProxyType(
    {name: name for name in EQUIVALENT_MG} | {name.rsplit(" ", 1)[0]: name for name in _ONE_ROUTE}
)
_BY_FOLD: Final = MappingProxyType({fold(word): name for word, name in _WORDS.items()})
_DOSE: Final = Measure(unit="mg", low=0, high=1_000_000, accepts=("g", "µg", "kg"))
_TEXT = re.compile(r"\s*(.*?[A-Za-z])[\s:,]+(\d.*)", re.DOTALL)


class SteroidDose(NamedTuple):
    """A dose of one steroid.

    Attributes:
        steroid: drug and route, as the dataset names them.
        mg: the dose.
    """

    steroid: Steroid
    mg: float


@dataclass(frozen=True, kw_only=True)
class _SteroidDoseInput(Input):
    """`[drug and route, number, unit]`, or the same as a text."""

    def read(self, raw: object, say: Say) -> SteroidDose:
        """The drug and its dose in mg."""
        if isinstance(raw, str) and (match := _TEXT.fullmatch(raw)):
            drug, dose = match[1], match[2]
        elif isinstance(raw, (list, tuple)) and len(raw) in (2, 3):
            drug, *rest = raw
            dose = rest[0] if len(rest) == 1 else rest
        else:
            raise CalculatorInputError(f"{self.name}: expected {self.expects}; got {raw!r}")
        steroid = _BY_FOLD.get(fold(str(drug)))
        if steroid is None:
            raise CalculatorInputError(f"{self.name}: expected one of {', '.join(EQUIVALENT_MG)}; got {drug!r}")
        mg, line = _DOSE.read(dose, f"{self.name}, {steroid}")
        say(line)
        return SteroidDose(steroid, mg)

    @property
    def expects(self) -> str:
        """Drug, route and dose."""
        return 'drug and route with a dose, such as ["PredniSONE PO", 10, "mg"] or "PredniSONE PO 10 mg"'


def _adapt(values: dict[str, Any]) -> dict[str, Any]:
    source: SteroidDose = values["source"]
    return {
        "source_steroid": source.steroid,
        "source_dose_mg": source.mg,
        "target_steroid": values["target_steroid"],
    }


@calculator(
    id=24,
    name="Steroid Conversion Calculator",
    category="dosage",
    output="decimal",
    unit="mg",
    inputs=(
        _SteroidDoseInput(parameter="source", name="input steroid", aliases=("from",)),
        Choice(parameter="target_steroid", name="target steroid", aliases=("to",), words=_WORDS),
    ),
    source="Meikle AW, Tyler FH. Am J Med 1977;63:200-207 (equivalent glucocorticoid doses).",
    adapt=_adapt,
)
def steroid_conversion(
    *, source_steroid: Steroid, source_dose_mg: float, target_steroid: Steroid, say: Say = quiet
) -> float:
    """Equivalent dose in mg: dose · equivalent(target) / equivalent(source).

    Equal effect in mg: hydrocortisone 20, cortisone 25, prednisone and prednisolone 5, methylprednisolone and
    triamcinolone 4, dexamethasone and betamethasone 0.75.

    Source: Meikle and Tyler, Am J Med 1977;63:200-207.
    """
    source, target = EQUIVALENT_MG[source_steroid], EQUIVALENT_MG[target_steroid]
    dose = source_dose_mg * target / source
    say(f"Equal effect: {source:g} mg of {source_steroid} and {target:g} mg of {target_steroid}.")
    say(f"Dose = {source_dose_mg:.6g} mg × {target:g} / {source:g} = {dose:.6g} mg of {target_steroid}.")
    return dose
