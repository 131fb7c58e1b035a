"""Clots and bleeding: Wells for PE and DVT, PERC, Caprini, Glasgow-Blatchford."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.v1_labels.body import age_years
from medical_tasks.calculators.v1_labels.conversion import concentration
from medical_tasks.calculators.v1_labels.entities import Entities
from medical_tasks.calculators.v1_labels.substances import HEMOGLOBIN, UREA_NITROGEN_BLATCHFORD

__all__ = ["caprini", "glasgow_blatchford", "perc", "wells_dvt", "wells_pe"]

_PREVIOUS: Final = ("Previously documented Deep Vein Thrombosis", "Previously Documented Pulmonary Embolism")
_DVT_FINDINGS: Final = (
    "Active cancer",
    "Calf swelling >3 centimeters compared to the other leg",
    "Collateral (nonvaricose) superficial veins present",
    "Entire Leg Swollen",
    "Localized tenderness along the deep venous system",
    "Pitting edema, confined to symptomatic leg",
    "Paralysis, paresis, or recent plaster immobilization of the lower extremity",
    "Previously documented Deep Vein Thrombosis",
)
_BEDRIDDEN: Final = ("Bedridden recently >3 days or major surgery within 12 weeks", "Bedridden recently >3 days")
_SURGERY: Final = MappingProxyType(
    {
        "none": 0,
        "minor": 1,
        "major": 2,
        "laparoscopic": 2,
        "arthroscopic": 2,
        "elective major lower extremity arthroplasty": 5,
    }
)
_MOBILITY: Final = MappingProxyType({"normal": 0, "on bed rest": 1, "confined to bed >72 hours": 2})
_CAPRINI_UNCOUNTED: Final = (
    "Major Surgery in the last month",
    "Congestive Heart Failure in the last month",
    "Sepsis in the last month",
    "Pneumonia in the last month",
    "Immobilizing plaster cast in the last month",
    "Hip, pelvis, or leg fracture in the last month",
    "Stroke in the last month",
    "Multiple trauma in the last month",
    "Acute spinal cord injury causing paralysis in the last month",
    "Varicose veins",
    "Current swollen legs",
    "Current central venous access",
    *_PREVIOUS,
    "Family history of thrombosis",
    "Positive Factor V Leiden",
    "Positive prothrombin 20210A",
    "Elevated serum homocysteine",
    "Positive lupus anticoagulant",
    "Elevated anticardiolipin antibody",
    "Heparin-induced thrombocytopenia",
    "Other congenital or acquired thrombophilia",
    "History of inflammatory bowel disease",
    "Acute Myocardial infarction",
    "Chronic Obstructive Pulmonary Disease",
    "Present or previous malignancy",
)


def wells_pe(given: Entities) -> float:
    """8: as published; only the heart rate is required."""
    score = 1.5 if given.first("Heart Rate or Pulse") > 100 else 0
    score += 3 * given.flag("Clinical signs and symptoms of Deep Vein Thrombosis")
    score += 3 * given.flag("Pulmonary Embolism is #1 diagnosis OR equally likely")
    if given.count(("Immobilization for at least 3 days", "Surgery in the previous 4 weeks")):
        score += 1.5
    if given.count(_PREVIOUS):
        score += 1.5
    return score + given.count(("Hemoptysis", "Malignancy with treatment within 6 months or palliative"))


def wells_dvt(given: Entities) -> int:
    """16: as published."""
    in_bed = given.flag(*_BEDRIDDEN) or given.flag("Major surgery within 12 weeks")
    other = given.flag("Alternative diagnosis to Deep Vein Thrombosis as likely or more likely")
    return given.count(_DVT_FINDINGS) + in_bed - 2 * other


def perc(given: Entities) -> int:
    """48: as published."""
    points = (age_years(given) >= 50) + (given.first("Heart Rate or Pulse") >= 100)
    points += given.first("O₂ saturation percentage") < 95
    points += given.count(("Unilateral Leg Swelling", "Hemoptysis", "Recent surgery or trauma", "Hormone use"))
    return points + (given.count(_PREVIOUS) > 0)


def caprini(given: Entities) -> int:
    """36: age, surgery and mobility alone; no finding and no BMI is ever added."""
    given.stated_sex()  # not used, but required
    age = age_years(given)
    points = 3 if age >= 75 else 2 if 61 <= age <= 74 else 1 if 41 <= age <= 60 else 0
    if points == 0 and age > 40:
        given.note(f"age of {age:g} scores 0")
    points += given.word("Surgery Type", _SURGERY, default="none")
    points += given.word("Mobility", _MOBILITY, default="normal")
    lost = [name for name in _CAPRINI_UNCOUNTED if given.flag(name)]
    if given.has("Body Mass Index (BMI)") and given.first("Body Mass Index (BMI)") > 25:
        lost.append("Body Mass Index (BMI) above 25")
    if lost:
        given.note(f"not counted: {', '.join(lost)}")
    return points


def glasgow_blatchford(given: Entities) -> int:
    """27: haemoglobin classes closed at the top, BUN of exactly 70 mg/dL without points."""
    hemoglobin = concentration(given, "Hemoglobin", HEMOGLOBIN, "g/dL")
    bun = concentration(given, "Blood Urea Nitrogen (BUN)", UREA_NITROGEN_BLATCHFORD, "mg/dL")
    pressure = given.first("Systolic Blood Pressure")
    points = _hemoglobin(given, hemoglobin)
    if bun == 70:
        given.note("BUN of exactly 70 mg/dL scores 0")
    else:
        points += 6 if bun > 70 else 4 if bun >= 28 else 3 if bun >= 22.4 else 2 if bun >= 18.2 else 0
    points += 0 if pressure >= 110 else 1 if pressure >= 100 else 2 if pressure >= 90 else 3
    points += (given.first("Heart Rate or Pulse") >= 100) + given.flag("Melena present")
    return points + 2 * given.count(("Recent syncope", "Hepatic disease history", "Cardiac failure present"))


def _hemoglobin(given: Entities, value: float) -> int:
    """Men: at most 13 1, below 12 3, below 10 6; women: at most 12 1, below 10 6; the lower borders score 0."""
    male = given.stated_sex() == "Male"
    top, gap = (13, 12) if male else (12, 10)
    if value in (top, gap):
        given.note(f"hemoglobin of exactly {value:g} g/dL scores {1 if value == top else 0}")
    if value < 10:
        return 6
    if value == gap or value > top:
        return 0
    return 3 if male and value < 12 else 1
