"""Kidney function, water and sodium."""

from __future__ import annotations

import math

from medical_tasks.calculators.v1_labels import body
from medical_tasks.calculators.v1_labels.conversion import concentration
from medical_tasks.calculators.v1_labels.entities import Entities, positive
from medical_tasks.calculators.v1_labels.rounding import round_v1
from medical_tasks.calculators.v1_labels.substances import CREATININE, SODIUM, URINE_SODIUM

__all__ = ["ckd_epi", "creatinine_clearance", "creatinine_mg_dl", "fractional_excretion", "free_water_deficit", "mdrd"]


def creatinine_mg_dl(given: Entities, name: str = "creatinine") -> float:
    """Creatinine in mg/dL; from µmol/L only multiples of 0.1 come out."""
    return concentration(given, name, CREATININE, "mg/dL")


def creatinine_clearance(given: Entities) -> float:
    """2: Cockcroft-Gault, overweight from a BMI above 24.9 on."""
    age = body.age_years(given)
    bmi, ideal = body.body_mass_index(given), body.ideal_body_weight(given)
    adjusted, weight = body.adjusted_body_weight(given), body.weight_kg(given)
    if bmi < 18.5:
        used = weight
    elif bmi <= 24.9:
        used = min(ideal, weight)
    else:
        used = adjusted
        if bmi < 25:
            given.note(f"a BMI of {bmi:g} counts as overweight")
    factor = 1 if given.sex() == "Male" else 0.85
    return round_v1((140 - age) * used * factor / (positive(creatinine_mg_dl(given), "creatinine") * 72))


def ckd_epi(given: Entities) -> float:
    """3: CKD-EPI 2021 with kappa 0.7 for men whose creatinine is at most 0.9 mg/dL (right: 0.9)."""
    age, creatinine = body.age_years(given), positive(creatinine_mg_dl(given), "creatinine")
    if given.sex() == "Female":
        kappa, power, factor = 0.7, -0.241 if creatinine <= 0.7 else -1.2, 1.012
    elif creatinine <= 0.9:
        kappa, power, factor = 0.7, -0.302, 1.0
        given.note("kappa 0.7 instead of 0.9 for a man with creatinine up to 0.9 mg/dL")
    else:
        kappa, power, factor = 0.9, -1.2, 1.0
    return round_v1(142 * (creatinine / kappa) ** power * 0.9938**age * factor)


def mdrd(given: Entities) -> float:
    """9: MDRD with the race factor for the exact word `Black`."""
    creatinine, age = positive(creatinine_mg_dl(given), "creatinine"), positive(body.age_years(given), "age")
    race = 1.212 if given.find("Race") == "Black" else 1
    sex = 0.742 if given.stated_sex() == "Female" else 1
    return round_v1(175 * math.exp(math.log(creatinine) * -1.154) * math.exp(math.log(age) * -0.203) * race * sex)


def free_water_deficit(given: Entities) -> float:
    """38: body water · kg · (Na / 140 − 1)."""
    age, male = body.age_years(given), given.sex() == "Male"
    if age < 18:
        water = 0.6
    elif age < 65:
        water = 0.6 if male else 0.5
    else:
        water = 0.5 if male else 0.45
    sodium = concentration(given, "Sodium", SODIUM, "mmol/L")
    return round_v1(water * body.weight_kg(given) * (sodium / 140 - 1))


def fractional_excretion(given: Entities) -> float:
    """40: fractional excretion of sodium, in %."""
    sodium = positive(concentration(given, "Sodium", SODIUM, "mEq/L"), "Sodium")
    creatinine = creatinine_mg_dl(given)
    urine_sodium = concentration(given, "Urine sodium", URINE_SODIUM, "mEq/L")
    urine_creatinine = positive(creatinine_mg_dl(given, "Urine creatinine"), "Urine creatinine")
    return round_v1((creatinine * urine_sodium) / (sodium * urine_creatinine) * 100)
