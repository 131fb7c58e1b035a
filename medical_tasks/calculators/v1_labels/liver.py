"""Liver: Fibrosis-4, Child-Pugh, MELD-Na."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.v1_labels import body
from medical_tasks.calculators.v1_labels.conversion import concentration, count_per
from medical_tasks.calculators.v1_labels.entities import Entities, positive
from medical_tasks.calculators.v1_labels.renal import creatinine_mg_dl
from medical_tasks.calculators.v1_labels.rounding import round_v1
from medical_tasks.calculators.v1_labels.substances import ALBUMIN, BILIRUBIN_BY_MASS, BILIRUBIN_CHILD_PUGH, SODIUM

__all__ = ["child_pugh", "fib_4", "meld_na"]

_INR: Final = "international normalized ratio"
_ASCITES: Final = MappingProxyType({"Absent": 1, "Slight": 2, "Moderate": 3})
_ENCEPHALOPATHY: Final = MappingProxyType({"No Encephalopathy": 1, "Grade 1-2": 2, "Grade 3-4": 3})
_DIALYSIS: Final = (
    "Dialysis at least twice in the past week",
    "Continuous veno-venous hemodialysis for ≥24 hours in the past week",
)


def fib_4(given: Entities) -> float:
    """19: age · AST / (platelets 10⁹/L · √ALT)."""
    age, ast = body.age_years(given), given.first("Aspartate aminotransferase")
    alt = positive(given.first("Alanine aminotransferase"), "Alanine aminotransferase")
    billions = positive(count_per(given, "Platelet count", "L"), "Platelet count") / 1e9
    return round_v1(age * ast / (billions * math.sqrt(alt)))


def child_pugh(given: Entities) -> int:
    """15: ascites and encephalopathy only in the exact words of the rule, borders of bilirubin and albumin moved."""
    inr = given.bare(_INR)
    bilirubin = concentration(given, "Bilirubin", BILIRUBIN_CHILD_PUGH, "mg/dL")
    albumin = concentration(given, "Albumin", ALBUMIN, "g/dL")
    points = 1 if inr < 1.7 else 2 if inr <= 2.3 else 3
    if bilirubin in (2, 3):
        given.note(f"bilirubin of exactly {bilirubin:g} mg/dL scores {0 if bilirubin == 2 else 3}")
    if bilirubin != 2:
        points += 1 if bilirubin < 2 else 2 if bilirubin < 3 else 3
    if albumin == 2.8:
        given.note("albumin of exactly 2.8 g/dL scores 3")
    points += 1 if albumin > 3.5 else 2 if albumin > 2.8 else 3
    return points + _class(given, "Ascites", _ASCITES) + _class(given, "Encephalopathy", _ENCEPHALOPATHY)


def _class(given: Entities, name: str, scores: MappingProxyType[str, int]) -> int:
    """Points of a word; 1 when not given, 0 for a word the rule did not know."""
    if not given.has(name):
        return 1
    word = given.text(name) or ""
    if word not in scores:
        given.note(f"{name}: {word!r} scores 0, the rule knew only {', '.join(scores)}")
    return scores.get(word, 0)


def meld_na(given: Entities) -> float:
    """23: MELD(i) rounded to a whole number before it is multiplied by 10, so labels start from multiples of 10."""
    creatinine = creatinine_mg_dl(given)
    dialysis = given.count(_DIALYSIS) > 0
    if creatinine < 1:
        creatinine = 1.0
        if dialysis:
            given.note("dialysis ignored, because creatinine is below 1 mg/dL")
    elif creatinine > 4 or dialysis:
        creatinine = 4.0
    bilirubin = max(concentration(given, "Bilirubin", BILIRUBIN_BY_MASS, "mg/dL"), 1.0)
    inr = max(given.bare(_INR), 1.0)
    sodium = min(max(concentration(given, "Sodium", SODIUM, "mEq/L"), 125), 137)
    initial = 0.957 * math.log(creatinine) + 0.378 * math.log(bilirubin) + 1.120 * math.log(inr) + 0.643
    tens = round(initial) * 10
    if tens != round(initial, 1) * 10:
        given.note(f"MELD(i) / 10 of {initial:.2f} rounded to {round(initial)} instead of one decimal")
    if tens <= 11:
        return tens
    return min(round(tens + 1.32 * (137 - sodium) - 0.033 * tens * (137 - sodium)), 40)
