"""Dose conversions: steroids, and opioids to morphine milligram equivalents."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.v1_labels.conversion import amount_in
from medical_tasks.calculators.v1_labels.entities import Entities
from medical_tasks.calculators.v1_labels.rounding import round_v1

__all__ = ["morphine_equivalents", "steroid_conversion"]

_STEROIDS: Final = MappingProxyType(
    {
        "Betamethasone IV": 1,
        "Cortisone PO": 33.33,
        "Dexamethasone IV": 1,
        "Dexamethasone PO": 1,
        "Hydrocortisone IV": 26.67,
        "Hydrocortisone PO": 26.67,
        "MethylPrednisoLONE IV": 5.33,
        "MethylPrednisoLONE PO": 5.33,
        "PrednisoLONE PO": 6.67,
        "PredniSONE PO": 6.67,
        "Triamcinolone IV": 5.33,
    }
)
_BUCCAL: Final = "FentaNYL buccal"
_PATCH: Final = "FentANYL patch"
_OPIOIDS: Final = MappingProxyType(
    {
        "Codeine": 0.15,
        _BUCCAL: 0.13,
        _PATCH: 2.4,
        "HYDROcodone": 1,
        "HYDROmorphone": 5,
        "Methadone": 4.7,
        "Morphine": 1,
        "OxyCODONE": 1.5,
        "OxyMORphone": 3,
        "Tapentadol": 0.4,
        "TraMADol": 0.2,
        "Buprenorphine": 10,
    }
)


def steroid_conversion(given: Entities) -> float:
    """24: mg of the target steroid, the ratio of potencies rounded to 3 decimals before it is used."""
    values = given.listed("input steroid")
    if len(values) != 3 or not isinstance(values[0], str):
        raise CalculatorInputError(
            f"input steroid: the label rule needs [name with route, dose, unit]; got {list(values)!r}"
        )
    dose, unit = Entities({"input steroid": values[1:]}).pair("input steroid")
    target = given.text("target steroid")
    for name, drug in (("input steroid", values[0]), ("target steroid", target)):
        if drug not in _STEROIDS:
            raise CalculatorInputError(f"{name}: the label rule knew only {', '.join(_STEROIDS)}; got {drug!r}")
    exact = _STEROIDS[str(target)] / _STEROIDS[values[0]]
    ratio = round_v1(exact)
    if abs(ratio - exact) > 1e-3 * exact:
        given.note(f"ratio {exact:.5g} rounded to {ratio:g}")
    return round_v1(amount_in(dose, unit, "mg", "input steroid") * ratio)


def morphine_equivalents(given: Entities) -> float:
    """49: sum over the drugs of dose · doses a day · factor; the fentanyl patch by mg and dose like a tablet."""
    total: float = 0
    for key in given.raw:
        if "Day" in key:
            continue
        drug = key.split(" Dose")[0]
        if drug not in _OPIOIDS or not given.has(f"{drug} Dose Per Day"):
            raise CalculatorInputError(
                f"{key}: the label rule needs '<drug> Dose' and '<drug> Dose Per Day', the drug one of "
                f"{', '.join(_OPIOIDS)}"
            )
        dose, unit = given.pair(f"{drug} Dose")
        if drug == _PATCH:
            given.note("fentanyl patch: mg × doses a day × 2.4, a factor that is meant for µg/h")
        dose = amount_in(dose, unit, "µg" if drug == _BUCCAL else "mg", key)
        total = round_v1(total + given.first(f"{drug} Dose Per Day") * _OPIOIDS[drug] * dose)
    return total
