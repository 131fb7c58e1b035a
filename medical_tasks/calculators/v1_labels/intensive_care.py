"""Critical illness: Glasgow Coma Score, APACHE II, SOFA, and the Charlson index."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.v1_labels.body import age_years, temperature_c
from medical_tasks.calculators.v1_labels.conversion import concentration, count_per
from medical_tasks.calculators.v1_labels.entities import Entities, positive
from medical_tasks.calculators.v1_labels.heart import mean_arterial_pressure
from medical_tasks.calculators.v1_labels.infection import PAO2
from medical_tasks.calculators.v1_labels.renal import creatinine_mg_dl
from medical_tasks.calculators.v1_labels.rounding import round_v1
from medical_tasks.calculators.v1_labels.substances import BILIRUBIN_SOFA, POTASSIUM, SODIUM

__all__ = ["apache_ii", "glasgow_coma", "sofa"]

_EYE: Final = MappingProxyType(
    {
        "eyes open spontaneously": 4,
        "eye opening to verbal command": 3,
        "eye opening to pain": 2,
        "no eye opening": 1,
        "not testable": 4,
    }
)
_VERBAL: Final = MappingProxyType(
    {
        "oriented": 5,
        "confused": 4,
        "inappropriate words": 3,
        "incomprehensible sounds": 2,
        "no verbal response": 1,
        "not testable": 4,
    }
)
_MOTOR: Final = MappingProxyType(
    {
        "obeys commands": 6,
        "localizes pain": 5,
        "withdrawal from pain": 4,
        "flexion to pain": 3,
        "extension to pain": 2,
        "no motor response": 1,
    }
)
# (from, points): the classes of the high side; the rule had none for low values.
_MAP: Final = ((159, 4), (129, 3), (109, 2))
_HEART_RATE: Final = ((180, 4), (140, 3), (110, 2))
_RESPIRATORY_RATE: Final = ((50, 4), (35, 3), (25, 1))
_PH: Final = ((7.7, 4), (7.6, 3), (7.5, 1))
_SODIUM: Final = ((180, 4), (160, 3), (155, 2), (150, 1))
_POTASSIUM: Final = ((7, 4), (6, 3), (5.5, 1))
_HEMATOCRIT: Final = ((60, 4), (50, 2), (46, 1))
_WHITE_CELLS: Final = ((40, 4), (20, 2), (15, 1))
_TEMPERATURE: Final = ((41, 4), (39, 3), (38.5, 1), (36, 0), (34, 1), (32, 2), (30, 3))


def glasgow_coma(given: Entities) -> int:
    """21: the verbal score is added twice, so labels go up to 20."""
    given.note("verbal score counted twice")
    verbal = given.word("Best verbal response", _VERBAL)
    return given.word("Best eye response", _EYE) + 2 * verbal + given.word("Best motor response", _MOTOR)


def apache_ii(given: Entities) -> float:
    """28: the coma score is added instead of 15 − score, white cells always 4, and no points for low values."""
    sodium = concentration(given, "Sodium", SODIUM, "mmol/L")
    potassium = concentration(given, "Potassium", POTASSIUM, "mmol/L")
    coma = given.bare("Glasgow Coma Score")
    given.note("Glasgow Coma Score added instead of 15 minus it")
    points = _chronic_health(given) + _age(given) + _oxygen(given)
    temperature = temperature_c(given)
    points += next((score for limit, score in _TEMPERATURE if temperature >= limit), 4)
    points += _above(given, "mean arterial pressure", mean_arterial_pressure(given), _MAP, normal=69, strictly=True)
    points += _above(given, "heart rate", given.first("Heart Rate or Pulse"), _HEART_RATE, normal=70)
    points += _above(given, "respiratory rate", given.first("respiratory rate"), _RESPIRATORY_RATE, normal=12)
    points += _above(given, "pH", given.bare("pH"), _PH, normal=7.33)
    points += _above(given, "sodium", sodium, _SODIUM, normal=130)
    points += _above(given, "potassium", potassium, _POTASSIUM, normal=3.5)
    points += _above(given, "hematocrit", given.first("Hematocrit"), _HEMATOCRIT, normal=30)
    points += _renal_failure(given, creatinine_mg_dl(given))
    white_cells = count_per(given, "White blood cell count", "mm^3")
    if white_cells < 40_000:
        given.note("white cells compared per mm³ with limits in 10⁹/L")
    return points + coma + _above(given, "white cells", white_cells, _WHITE_CELLS, normal=3)


def _above(
    given: Entities,
    name: str,
    value: float,
    classes: Sequence[tuple[float, int]],
    *,
    normal: float,
    strictly: bool = False,
) -> int:
    """Points of the class that a high value reaches; a value below normal is only noted."""
    if value < normal or (strictly and value == normal):
        given.note(f"low {name} scores 0")
    return next((score for limit, score in classes if value > limit or (value == limit and not strictly)), 0)


def _chronic_health(given: Entities) -> int:
    """5 after emergency and 2 after elective surgery, in these exact words; non-operative patients score 0."""
    if not given.flag("History of severe organ failure or immunocompromise"):
        return 0
    surgery = given.text("Surgery Type")
    points = {"Elective": 2, "Emergency": 5}.get(surgery or "", 0)
    if points == 0:
        given.note(f"organ failure or immunocompromise with surgery type {surgery!r} scores 0")
    return points


def _age(given: Entities) -> int:
    """By whole years; an age of exactly 45 or 75 falls out of the classes, and so do broken years between them."""
    age = age_years(given)
    points = 2 if 45 < age <= 54 else 3 if 55 <= age <= 64 else 5 if 65 <= age <= 74 else 6 if age > 75 else 0
    if points == 0 and age >= 45:
        given.note(f"age of {age:g} scores 0")
    return points


def _oxygen(given: Entities) -> int:
    """A-a gradient from an FiO₂ of 50 % on, else PaO₂; the gaps between whole numbers score 0."""
    if given.first("FiO₂") >= 50:
        gradient = given.bare("A-a gradient")
        if 349 < gradient < 350:
            given.note("A-a gradient between 349 and 350 scores 0")
        return 4 if gradient > 499 else 3 if gradient >= 350 else 2 if 200 <= gradient <= 349 else 0
    oxygen = given.first(*PAO2)
    if 60 < oxygen < 61:
        given.note("PaO₂ between 60 and 61 scores 0")
    return 4 if oxygen < 55 else 3 if oxygen <= 60 else 1 if 61 <= oxygen <= 70 else 0


def _renal_failure(given: Entities, creatinine: float) -> int:
    """Creatinine from 1.5 mg/dL on scores with a failure flag alone, and below 0.6 is never doubled."""
    acute, chronic = given.flag("Acute renal failure"), given.flag("Chronic Renal Failure")
    if creatinine < 0.6:
        if acute:
            given.note("creatinine below 0.6 mg/dL not doubled in acute renal failure")
        return 2
    if creatinine < 1.5:
        return 0
    points = 4 if creatinine >= 3.5 else 3 if creatinine >= 2 else 2
    if not acute and not chronic:
        given.note("raised creatinine without a renal failure flag scores 0")
        return 0
    return 2 * points if acute else points


def sofa(given: Entities) -> int:
    """43: FiO₂ as percent in the ratio, no vasopressors read as dopamine of 0, kidneys skipped when both are given."""
    points = _respiration(given) + _circulation(given)
    coma = given.bare("Glasgow Coma Score") if given.has("Glasgow Coma Score") else 15
    if coma < 6:
        points += 4
    elif coma <= 9:
        points += 3
    elif 10 <= coma <= 12:
        points += 2
    elif 13 <= coma <= 14:
        points += 1
    bilirubin = concentration(given, "Bilirubin", BILIRUBIN_SOFA, "mg/dL")
    points += sum(bilirubin >= limit for limit in (1.2, 2, 6, 12))
    platelets = count_per(given, "Platelet count", "µL")
    points += sum(platelets < limit for limit in (150_000, 100_000, 50_000, 20_000))
    return points + _kidneys(given)


def _respiration(given: Entities) -> int:
    oxygen = given.first(*PAO2)
    ratio = round_v1(oxygen / positive(given.first("FiO₂"), "FiO₂"))
    given.note("PaO₂ divided by FiO₂ in percent")
    ventilated = given.flag("On mechanical ventilation")
    supported = ventilated | given.flag("Continuous positive airway pressure")
    if ratio >= 200:
        return 0 if ratio >= 400 else 1 if ratio >= 300 else 2
    if not supported:
        return 2 if ratio <= 199 else 0
    if ratio < 100:
        return 4 if ventilated else 0
    return 3 if ratio < 199 else 0


def _circulation(given: Entities) -> int:
    dopamine, others = (
        given.first_or(0, "DOPamine"),
        [given.first_or(0, name) for name in ("DOBUTamine", "EPINEPHrine", "norEPINEPHrine")],
    )
    if given.has("Systolic Blood Pressure") and given.has("Diastolic Blood Pressure"):
        systolic, diastolic = given.first("Systolic Blood Pressure"), given.first("Diastolic Blood Pressure")
        if 1 / 3 * systolic + 2 / 3 * diastolic < 70 and not any(others):
            if dopamine:
                given.note("low pressure scores 1 although dopamine is given")
            return 1
    if dopamine <= 5 or others[0]:
        given.note("no dopamine, up to 5, or any dobutamine scores 2 whatever else is given")
        return 2
    given.note("dopamine above 5 scores 3, never 4")
    return 3


def _kidneys(given: Entities) -> int:
    """Urine alone: below 500 mL 3, never 4. Creatinine alone by its class. Both together: nothing."""
    if not given.has("creatinine"):
        urine = given.first("Urine Output")
        if urine < 200:
            given.note("urine below 200 mL/day scores 3")
        return 3 if urine < 500 else 0
    if given.has("Urine Output"):
        given.note("kidneys skipped, because creatinine and urine output are both given")
        return 0
    creatinine = creatinine_mg_dl(given)
    return sum(creatinine >= limit for limit in (1.2, 2, 3.5, 5))
