"""Charlson Comorbidity Index."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.v1_labels.body import age_years
from medical_tasks.calculators.v1_labels.entities import Entities

__all__ = ["charlson"]

_ONE_POINT: Final = (
    "Myocardial infarction",
    "Congestive Heart Failure",
    "Peripheral vascular disease",
    "Connective tissue disease",
    "Dementia",
    "Peptic ulcer disease",
)
_TWO_POINTS: Final = ("Hemiplegia", "Moderate to severe Chronic Kidney Disease", "Leukemia", "Lymphoma")
_CLASSES: Final = MappingProxyType(
    {
        ("Liver disease severity",): MappingProxyType({"none": 0, "mild": 1, "moderate to severe": 3}),
        ("Diabetes mellitus criteria for CCI rule", "Diabetes mellitus"): MappingProxyType(
            {"none or diet-controlled": 0, "uncomplicated": 1, "end-organ damage": 2}
        ),
        ("Solid tumor",): MappingProxyType({"none": 0, "localized": 2, "metastatic": 6}),
    }
)


def charlson(given: Entities) -> int:
    """32: class words only in lower case; every other word, and True, adds 1 point, whatever it says."""
    age = age_years(given)
    points = 4 if age >= 80 else 3 if age >= 70 else 2 if age >= 60 else 1 if age >= 50 else 0
    points += given.count(_ONE_POINT) + 2 * given.count(_TWO_POINTS) + 6 * given.flag("AIDS")
    points += given.flag("Chronic Obstructive Pulmonary Disease", "Chronic Pulmonary Disease")
    points += given.count(("Cerebrovascular Accident", "Transient Ischemic Attacks History")) > 0
    for names, scores in _CLASSES.items():
        value = given.find(*names)
        if isinstance(value, str) and value in scores:
            points += scores[value]
        elif value:
            given.note(f"{names[0]}: {value!r} scores 1, the rule knew only {', '.join(scores)}")
            points += 1
    return points
