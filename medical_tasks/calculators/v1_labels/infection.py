"""Infection and inflammation: Centor, FeverPAIN, CURB-65, PSI, SIRS."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.v1_labels.body import age_years, temperature_c
from medical_tasks.calculators.v1_labels.conversion import concentration, count_per
from medical_tasks.calculators.v1_labels.entities import Entities
from medical_tasks.calculators.v1_labels.substances import GLUCOSE, SODIUM, UREA_NITROGEN

__all__ = ["PAO2", "centor", "curb_65", "fever_pain", "psi", "sirs"]

PAO2: Final = (
    "Partial pressure of oxygen (PaO₂) for Apache II",
    "Partial pressure of oxygen (PaO₂)",
    "Partial pressure of oxygen",
    "PaO₂",
)
_BUN: Final = "Blood Urea Nitrogen (BUN)"
_NO_COUGH: Final = "Absence of cough or coryza"
_SORE_THROAT: Final = (
    "Fever in past 24 hours",
    _NO_COUGH,
    "Symptom onset ≤3 days",
    "Purulent tonsils",
    "Severe tonsil inflammation",
)
_THROAT: Final = ("Cough Absent", "Tender/swollen anterior cervical lymph nodes", "Exudate or swelling on tonsils")
_PNEUMONIA: Final = MappingProxyType(
    {
        ("Nursing home resident",): 10,
        ("Neoplastic disease",): 30,
        ("Liver disease severity", "Liver disease history"): 20,
        ("Congestive Heart Failure",): 10,
        ("Cerebrovascular disease history",): 10,
        ("Renal disease", "Renal disease history"): 10,
        ("Altered mental status",): 20,
        ("Pleural effusion on x-ray",): 10,
    }
)


def centor(given: Entities) -> int:
    """20: a cough item that is not mentioned counts as cough present."""
    age = age_years(given)
    if not given.has("Cough Absent"):
        given.note("absence of cough not mentioned scores 0")
    if 14 < age < 15:
        given.note(f"age of {age:g} scores 0")
    points = 1 if 3 <= age <= 14 else -1 if age >= 45 else 0
    return points + (temperature_c(given) > 38) + given.count(_THROAT)


def fever_pain(given: Entities) -> int:
    """33: an absence of cough that is not mentioned scores 0."""
    if not given.has(_NO_COUGH):
        given.note("absence of cough or coryza not mentioned scores 0")
    return given.count(_SORE_THROAT)


def curb_65(given: Entities) -> int:
    """45: urea nitrogen above 19 mg/dL (6.8 mmol/L), pressures and respiratory rate cut to whole numbers."""
    bun = concentration(given, _BUN, UREA_NITROGEN, "mg/dL")
    rate, systolic, diastolic = (
        int(given.first(name)) for name in ("respiratory rate", "Systolic Blood Pressure", "Diastolic Blood Pressure")
    )
    if bun > 19 and given.pair(_BUN)[1] == "mmol/L" and given.first(_BUN) <= 7:
        given.note("urea of 6.8 to 7 mmol/L scores 1, by comparing 19 mg/dL")
    if diastolic == 60 != given.first("Diastolic Blood Pressure"):
        given.note("diastolic pressure cut to 60")
    points = (age_years(given) >= 65) + given.flag("Confusion") + (bun > 19) + (rate >= 30)
    return points + (systolic < 90 or diastolic <= 60)


def psi(given: Entities) -> float:
    """29: as published, but a misspelt °C is taken as Fahrenheit, and PaO₂ is read in the exact units alone."""
    points = age_years(given) - (10 if given.stated_sex() == "Female" else 0)
    points += sum(score for names, score in _PNEUMONIA.items() if given.flag(*names))
    temperature = temperature_c(given)
    if 39.9 < temperature < 40:
        given.note("temperature of 39.9 to 40 °C scores 15")
    points += 15 if temperature < 35 or temperature > 39.9 else 0
    points += 10 if given.first("Heart Rate or Pulse") >= 125 else 0
    points += 30 if given.bare("pH") < 7.35 else 0
    points += 20 if given.first("respiratory rate") >= 30 else 0
    points += 20 if given.first("Systolic Blood Pressure") < 90 else 0
    points += 20 if concentration(given, _BUN, UREA_NITROGEN, "mg/dL") >= 30 else 0
    points += 20 if concentration(given, "Sodium", SODIUM, "mmol/L") < 130 else 0
    points += 10 if concentration(given, "Glucose", GLUCOSE, "mg/dL") >= 250 else 0
    points += 10 if given.first("Hematocrit") < 30 else 0
    oxygen, unit = given.pair(*PAO2)
    limit = {"mm Hg": 60, "kPa": 8}.get(unit)
    if limit is None:
        given.note(f"PaO₂ in {unit!r} scores 0, the rule knew only mm Hg and kPa")
    return points + (10 if limit is not None and oxygen < limit else 0)


def sirs(given: Entities) -> int:
    """51: a normal heart rate counts as well, and white cells are compared per m³.

    The rule could not run without a respiratory rate, nor at a PaCO₂ of exactly 32 with a normal rate.
    """
    temperature = temperature_c(given)
    white_cells = count_per(given, "White blood cell count", "m^3")
    points = temperature > 38 or temperature < 36
    if given.first("Heart Rate or Pulse") <= 90:
        given.note("heart rate up to 90 counted as met")
    if given.pair("White blood cell count")[1] != "m^3":  # which in the file means mm^3, and so comes out right
        given.note("white cells compared per m³ with the limits per mm³")
    fast = given.first("respiratory rate") > 20
    carbon_dioxide = given.first_or(40, "PaCO₂")
    if carbon_dioxide == 32 and not fast:
        raise CalculatorInputError("PaCO₂: the label rule cannot run on a value of exactly 32; got [32, ...]")
    return points + 1 + (white_cells > 12000 or white_cells < 4000) + (fast or carbon_dioxide < 32)
