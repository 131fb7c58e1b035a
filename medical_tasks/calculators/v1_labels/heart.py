"""Heart and vessels: MAP, CHA2DS2-VASc, cardiac risk index, HEART, HAS-BLED, Framingham."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.v1_labels.body import age_years
from medical_tasks.calculators.v1_labels.conversion import concentration
from medical_tasks.calculators.v1_labels.entities import Entities, positive
from medical_tasks.calculators.v1_labels.renal import creatinine_mg_dl
from medical_tasks.calculators.v1_labels.rounding import round_v1
from medical_tasks.calculators.v1_labels.substances import CHOLESTEROL_FRAMINGHAM

__all__ = [
    "cha2ds2_vasc",
    "framingham_risk",
    "has_bled",
    "heart_score",
    "mean_arterial_pressure",
    "revised_cardiac_risk",
]

_STROKES: Final = ("Stroke", "Transient Ischemic Attacks History", "Thromboembolism history")
_HISTORY: Final = MappingProxyType({"Slightly suspicious": 0, "Moderately suspicious": 1, "Highly suspicious": 2})
_ECG: Final = MappingProxyType(
    {"Normal": 0, "Non-specific repolarization disturbance": 1, "Significant ST deviation": 2}
)
_TROPONIN: Final = MappingProxyType(
    {
        "less than or equal to normal limit": 0,
        "between the normal limit or up to three times the normal limit": 1,
        "greater than three times normal limit": 2,
    }
)
_HEART_FACTORS: Final = (
    "hypercholesterolemia",
    "obesity",
    "smoking",
    "parent or sibling with Cardiovascular disease before age 65",
    "atherosclerotic disease",
)
_BLEEDING_FACTORS: Final = (
    "Liver disease criteria for the HAS-BLED rule",
    "Renal disease criteria for the HAS-BLED rule",
    "Stroke",
    "Prior major bleeding or predisposition to bleeding",
    "Labile international normalized ratio",
    "Medication usage predisposing to bleeding",
)
_CARDIAC_RISKS: Final = (
    "Elevated-risk surgery",
    "History of ischemic heart disease",
    "Congestive Heart Failure criteria for the Cardiac Risk Index rule",
    "Pre-operative treatment with insulin",
)
_CREATININE: Final = "Pre-operative creatinine"


def mean_arterial_pressure(given: Entities) -> float:
    """5: SBP / 3 + 2 · DBP / 3."""
    systolic = given.first("Systolic Blood Pressure")
    return round_v1(2 * given.first("Diastolic Blood Pressure") / 3 + systolic / 3)


def cha2ds2_vasc(given: Entities) -> int:
    """4: as published; any sex that is not `female` counts as male."""
    age = age_years(given)
    points = 2 if age >= 75 else 1 if age >= 65 else 0
    points += given.stated_sex().lower() == "female"
    points += given.count(("Congestive Heart Failure", "Hypertension history", "Vascular disease history"))
    return points + given.flag("Diabetes history") + (2 if given.count(_STROKES) else 0)


def revised_cardiac_risk(given: Entities) -> int:
    """17: cerebrovascular disease never reached the rule, and creatinine is required."""
    if given.flag("History of cerebrovascular disease"):
        given.note("cerebrovascular disease not counted")
    return given.count(_CARDIAC_RISKS) + (creatinine_mg_dl(given, _CREATININE) > 2)


def heart_score(given: Entities) -> int:
    """18: atherosclerotic disease is one risk factor among seven, and TIA none."""
    points = given.word("Suspicion History", _HISTORY, default="Slightly suspicious")
    points += given.word("Electrocardiogram Test", _ECG, default="Normal")
    points += given.word("Initial troponin", _TROPONIN, default="less than or equal to normal limit")
    age = age_years(given)
    points += 0 if age < 45 else 1 if age < 65 else 2
    factors = given.count(_HEART_FACTORS) + given.flag("Hypertension history", "Hypertension")
    factors += given.flag("Diabetes mellitus criteria for CCI rule", "Diabetes mellitus")
    if factors < 3 and given.count(("atherosclerotic disease", "Transient Ischemic Attacks History")):
        given.note("atherosclerotic disease or TIA does not give 2 points by itself")
    return points + (0 if factors == 0 else 1 if factors <= 2 else 2)


def has_bled(given: Entities) -> int:
    """25: as published; the number of drinks is required."""
    drinks = given.bare("Number of Alcoholic Drinks Per Week")
    points = (age_years(given) > 65) + (drinks >= 8)
    return points + given.count(_BLEEDING_FACTORS) + given.flag("Hypertension history", "Hypertension")


def framingham_risk(given: Entities) -> float:
    """46: cholesterol in mmol/L instead of mg/dL, the exponent to 1 decimal, and a fraction to 1 decimal."""
    age, sex = positive(age_years(given), "age"), given.sex()
    smoker, treated = given.flag("Smoker"), given.flag("Blood pressure being treated with medicines")
    pressure = positive(given.first("Systolic Blood Pressure"), "Systolic Blood Pressure")
    total = _cholesterol(given, "Total cholesterol")
    hdl = _cholesterol(given, "high-density lipoprotein cholesterol")
    given.note("cholesterol taken in mmol/L, and the risk left as a fraction with 1 decimal")
    ln_age, ln_total = math.log(age), math.log(total)
    if sex == "Male":
        exponent = (
            52.00961 * ln_age + 20.014077 * ln_total - 0.905964 * math.log(hdl) + 1.305784 * math.log(pressure)
            + 0.241549 * treated + 12.096316 * smoker - 4.605038 * (ln_age * ln_total)
            - 2.84367 * (math.log(min(age, 70)) * smoker) - 2.93323 * (ln_age * ln_age) - 172.300168
        )  # fmt: skip
        base = 0.9402
    else:
        exponent = (
            31.764001 * ln_age + 22.465206 * ln_total - 1.187731 * math.log(hdl) + 2.552905 * math.log(pressure)
            + 0.420251 * treated + 13.07543 * smoker - 5.060998 * (ln_age * ln_total)
            - 2.996945 * (math.log(min(age, 78)) * smoker) - 146.5933061
        )  # fmt: skip
        base = 0.98767
    survival: float = base ** math.exp(round(exponent, 1))
    return round(1 - survival, 1)


def _cholesterol(given: Entities, name: str) -> float:
    return positive(concentration(given, name, CHOLESTEROL_FRAMINGHAM, "mmol/L"), name)
