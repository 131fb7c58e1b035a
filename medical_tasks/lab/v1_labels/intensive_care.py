"""Critical illness and infection.

Glasgow Coma Score, APACHE II, SOFA; Centor, FeverPAIN, CURB-65, PSI, SIRS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import medical_tasks.lab.v1_labels.entities as compounds
from medical_tasks.calculators.units import CalculatorInputError
from medical_tasks.lab.v1_labels.chemistry import creatinine_mg_dl
from medical_tasks.lab.v1_labels.circulation import mean_arterial_pressure
from medical_tasks.lab.v1_labels.entities import (
    Entities,
    concentration,
    count_per,
    positive,
    round_v1,
)
from medical_tasks.lab.v1_labels.person import age_years, temperature_c
from medical_tasks.lab.v1_labels.rules import rule

_EYE: Final = {
    "eyes open spontaneously": 4,
    "eye opening to verbal command": 3,
    "eye opening to pain": 2,
    "no eye opening": 1,
    "not testable": 4,
}
_VERBAL: Final = {
    "oriented": 5,
    "confused": 4,
    "inappropriate words": 3,
    "incomprehensible sounds": 2,
    "no verbal response": 1,
    "not testable": 4,
}
_MOTOR: Final = {
    "obeys commands": 6,
    "localizes pain": 5,
    "withdrawal from pain": 4,
    "flexion to pain": 3,
    "extension to pain": 2,
    "no motor response": 1,
}
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


@rule(
    21,
    "Glasgow Coma Score (GCS)",
    quirk="the verbal score is added twice; a part that is not testable scores 4",
)
def glasgow_coma(entities: Entities) -> int:
    """The verbal score is added twice, so labels go up to 20."""
    entities.note("verbal score counted twice")
    verbal = entities.word("Best verbal response", _VERBAL)
    return (
        entities.word("Best eye response", _EYE)
        + 2 * verbal
        + entities.word("Best motor response", _MOTOR)
    )


@rule(
    28,
    "APACHE II Score",
    quirk=(
        "the coma score is added instead of 15 minus it, white cells always score 4, low "
        "values score 0, and so do ages of 45 and 75, non-operative organ failure, and "
        "creatinine without a failure flag; a misspelt °C is taken as Fahrenheit"
    ),
)
def apache_ii(entities: Entities) -> float:
    """The coma score is added instead of 15 − score, white cells score 4, low values score 0.

    The tables `_MAP` to `_WHITE_CELLS` have the high side alone; only the temperature has
    classes for low values.
    """
    sodium = concentration(entities, "Sodium", compounds.SODIUM, "mmol/L")
    potassium = concentration(entities, "Potassium", compounds.POTASSIUM, "mmol/L")
    coma = entities.bare("Glasgow Coma Score")
    entities.note("Glasgow Coma Score added instead of 15 minus it")
    points = _chronic_health(entities) + _age(entities) + _oxygen(entities)
    temperature = temperature_c(entities)
    points += next((score for limit, score in _TEMPERATURE if temperature >= limit), 4)
    points += _above(
        entities,
        "mean arterial pressure",
        mean_arterial_pressure(entities),
        _MAP,
        normal=69,
        strictly=True,
    )
    points += _above(
        entities,
        "heart rate",
        entities.first("Heart Rate or Pulse"),
        _HEART_RATE,
        normal=70,
    )
    points += _above(
        entities,
        "respiratory rate",
        entities.first("respiratory rate"),
        _RESPIRATORY_RATE,
        normal=12,
    )
    points += _above(entities, "pH", entities.bare("pH"), _PH, normal=7.33)
    points += _above(entities, "sodium", sodium, _SODIUM, normal=130)
    points += _above(entities, "potassium", potassium, _POTASSIUM, normal=3.5)
    points += _above(
        entities, "hematocrit", entities.first("Hematocrit"), _HEMATOCRIT, normal=30
    )
    points += _renal_failure(entities, creatinine_mg_dl(entities))
    white_cells = count_per(entities, "White blood cell count", "mm^3")
    if white_cells < 40_000:
        entities.note("white cells compared per mm³ with limits in 10⁹/L")

    return (
        points
        + coma
        + _above(entities, "white cells", white_cells, _WHITE_CELLS, normal=3)
    )


def _above(
    entities: Entities,
    name: str,
    value: float,
    classes: Sequence[tuple[float, int]],
    *,
    normal: float,
    strictly: bool = False,
) -> int:
    """Points of the class that a high value reaches; a value below normal is only noted.

    Example:
        A sodium of 156 has 2 points, as published. One of 120, which the published score
        gives 2 points, has none:

        >>> entities = Entities({})
        >>> [
        ...     _above(entities, "sodium", value, _SODIUM, normal=130)
        ...     for value in (156, 120)
        ... ]
        [2, 0]
        >>> entities.notes
        ['low sodium scores 0']
    """
    if value < normal or (strictly and value == normal):
        entities.note(f"low {name} scores 0")

    return next(
        (
            score
            for limit, score in classes
            if value > limit or (value == limit and not strictly)
        ),
        0,
    )


def _chronic_health(entities: Entities) -> int:
    """5 after emergency and 2 after elective surgery, in these exact words.

    Non-operative patients score 0.
    """
    if not entities.flag("History of severe organ failure or immunocompromise"):
        return 0

    surgery = entities.text("Surgery Type")
    points = {"Elective": 2, "Emergency": 5}.get(surgery or "", 0)
    if points == 0:
        entities.note(
            f"organ failure or immunocompromise with surgery type {surgery!r} scores 0"
        )

    return points


def _age(entities: Entities) -> int:
    """By whole years.

    An age of exactly 45 or 75 falls out of the classes, and so do broken years between
    them.
    """
    age = age_years(entities)
    points = (
        2
        if 45 < age <= 54
        else 3
        if 55 <= age <= 64
        else 5
        if 65 <= age <= 74
        else 6
        if age > 75
        else 0
    )
    if points == 0 and age >= 45:
        entities.note(f"age of {age:g} scores 0")

    return points


def _oxygen(entities: Entities) -> int:
    """A-a gradient from an FiO₂ of 50 % on, else PaO₂; the gaps between whole numbers score 0."""
    if entities.first("FiO₂") >= 50:
        gradient = entities.bare("A-a gradient")
        if 349 < gradient < 350:
            entities.note("A-a gradient between 349 and 350 scores 0")

        return (
            4
            if gradient > 499
            else 3
            if gradient >= 350
            else 2
            if 200 <= gradient <= 349
            else 0
        )

    oxygen = entities.first(*PAO2)
    if 60 < oxygen < 61:
        entities.note("PaO₂ between 60 and 61 scores 0")

    return 4 if oxygen < 55 else 3 if oxygen <= 60 else 1 if 61 <= oxygen <= 70 else 0


def _renal_failure(entities: Entities, creatinine: float) -> int:
    """The points of creatinine.

    From 1.5 mg/dL on it scores with a failure flag alone, and below 0.6 it is never
    doubled.
    """
    acute, chronic = (
        entities.flag("Acute renal failure"),
        entities.flag("Chronic Renal Failure"),
    )
    if creatinine < 0.6:
        if acute:
            entities.note(
                "creatinine below 0.6 mg/dL not doubled in acute renal failure"
            )

        return 2

    if creatinine < 1.5:
        return 0

    points = 4 if creatinine >= 3.5 else 3 if creatinine >= 2 else 2
    if not acute and not chronic:
        entities.note("raised creatinine without a renal failure flag scores 0")
        return 0

    return 2 * points if acute else points


@rule(
    43,
    "Sequential Organ Failure Assessment (SOFA) Score",
    quirk=(
        "PaO₂ is divided by FiO₂ in percent; missing dopamine scores 2; vasopressors never "
        "score 4; kidneys score 0 when creatinine and urine are both given, and urine below "
        "200 mL 3"
    ),
)
def sofa(entities: Entities) -> int:
    """FiO₂ in percent, missing vasopressors as a dopamine dose of 0, kidneys with one value only."""
    points = _respiration(entities) + _circulation(entities)
    coma = (
        entities.bare("Glasgow Coma Score")
        if entities.has("Glasgow Coma Score")
        else 15
    )
    if coma < 6:
        points += 4
    elif coma <= 9:
        points += 3
    elif 10 <= coma <= 12:
        points += 2
    elif 13 <= coma <= 14:
        points += 1

    bilirubin = concentration(entities, "Bilirubin", compounds.BILIRUBIN_SOFA, "mg/dL")
    points += sum(bilirubin >= limit for limit in (1.2, 2, 6, 12))
    platelets = count_per(entities, "Platelet count", "µL")
    points += sum(platelets < limit for limit in (150_000, 100_000, 50_000, 20_000))

    return points + _kidneys(entities)


def _respiration(entities: Entities) -> int:
    oxygen = entities.first(*PAO2)
    ratio = round_v1(oxygen / positive(entities.first("FiO₂"), "FiO₂"))
    entities.note("PaO₂ divided by FiO₂ in percent")
    ventilated = entities.flag("On mechanical ventilation")
    supported = ventilated | entities.flag("Continuous positive airway pressure")
    if ratio >= 200:
        return 0 if ratio >= 400 else 1 if ratio >= 300 else 2
    if not supported:
        return 2 if ratio <= 199 else 0
    if ratio < 100:
        return 4 if ventilated else 0

    return 3 if ratio < 199 else 0


def _circulation(entities: Entities) -> int:
    """The cardiovascular points of SOFA as labels have them, with their mistakes.

    Example: a patient without drugs whose pressure is not low gets 2 points, since a
    dose of 0 is not above 5.
    """
    dopamine, others = (
        entities.first_or(0, "DOPamine"),
        [
            entities.first_or(0, name)
            for name in ("DOBUTamine", "EPINEPHrine", "norEPINEPHrine")
        ],
    )
    if entities.has("Systolic Blood Pressure") and entities.has(
        "Diastolic Blood Pressure"
    ):
        systolic, diastolic = (
            entities.first("Systolic Blood Pressure"),
            entities.first("Diastolic Blood Pressure"),
        )
        if 1 / 3 * systolic + 2 / 3 * diastolic < 70 and not any(others):
            if dopamine:
                entities.note("low pressure scores 1 although dopamine is given")

            return 1

    if dopamine <= 5 or others[0]:
        entities.note(
            "no dopamine, up to 5, or any dobutamine scores 2 whatever else is given"
        )
        return 2

    entities.note("dopamine above 5 scores 3, never 4")
    return 3


def _kidneys(entities: Entities) -> int:
    """Urine alone: below 500 mL 3, never 4.

    Creatinine alone by its class. Both together: nothing.
    """
    if not entities.has("creatinine"):
        urine = entities.first("Urine Output")
        if urine < 200:
            entities.note("urine below 200 mL/day scores 3")

        return 3 if urine < 500 else 0

    if entities.has("Urine Output"):
        entities.note(
            "kidneys skipped, because creatinine and urine output are both given"
        )
        return 0

    creatinine = creatinine_mg_dl(entities)
    return sum(creatinine >= limit for limit in (1.2, 2, 3.5, 5))


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
_THROAT: Final = (
    "Cough Absent",
    "Tender/swollen anterior cervical lymph nodes",
    "Exudate or swelling on tonsils",
)
_PNEUMONIA: Final = {
    ("Nursing home resident",): 10,
    ("Neoplastic disease",): 30,
    ("Liver disease severity", "Liver disease history"): 20,
    ("Congestive Heart Failure",): 10,
    ("Cerebrovascular disease history",): 10,
    ("Renal disease", "Renal disease history"): 10,
    ("Altered mental status",): 20,
    ("Pleural effusion on x-ray",): 10,
}


@rule(
    20,
    "Centor Score (Modified/McIsaac) for Strep Pharyngitis",
    quirk="an absence of cough that is not mentioned scores 0",
)
def centor(entities: Entities) -> int:
    """A cough item that is not mentioned counts as cough present."""
    age = age_years(entities)
    if not entities.has("Cough Absent"):
        entities.note("absence of cough not mentioned scores 0")
    if 14 < age < 15:
        entities.note(f"age of {age:g} scores 0")
    points = 1 if 3 <= age <= 14 else -1 if age >= 45 else 0
    return points + (temperature_c(entities) > 38) + entities.count(_THROAT)


@rule(
    33,
    "FeverPAIN Score for Strep Pharyngitis",
    quirk="an absence of cough or coryza that is not mentioned scores 0",
)
def fever_pain(entities: Entities) -> int:
    """An absence of cough that is not mentioned scores 0."""
    if not entities.has(_NO_COUGH):
        entities.note("absence of cough or coryza not mentioned scores 0")
    return entities.count(_SORE_THROAT)


@rule(
    45,
    "CURB-65 Score for Pneumonia Severity",
    quirk=(
        "urea scores from 6.8 mmol/L instead of above 7; in mmol/L it comes in steps of 2.8 "
        "mg/dL; pressures and respiratory rate are cut to whole numbers"
    ),
)
def curb_65(entities: Entities) -> int:
    """Urea nitrogen counts above 19 mg/dL (6.8 mmol/L); pressures and rate are truncated."""
    bun = concentration(entities, _BUN, compounds.UREA_NITROGEN, "mg/dL")
    rate, systolic, diastolic = (
        int(entities.first(name))
        for name in (
            "respiratory rate",
            "Systolic Blood Pressure",
            "Diastolic Blood Pressure",
        )
    )
    if bun > 19 and entities.pair(_BUN)[1] == "mmol/L" and entities.first(_BUN) <= 7:
        entities.note("urea of 6.8 to 7 mmol/L scores 1, by comparing 19 mg/dL")
    if diastolic == 60 != entities.first("Diastolic Blood Pressure"):
        entities.note("diastolic pressure cut to 60")

    points = (
        (age_years(entities) >= 65)
        + entities.flag("Confusion")
        + (bun > 19)
        + (rate >= 30)
    )
    return points + (systolic < 90 or diastolic <= 60)


@rule(
    29,
    "PSI Score: Pneumonia Severity Index for CAP",
    quirk=(
        "a misspelt °C is taken as Fahrenheit; temperatures of 39.9 to 40 °C score 15; "
        "glucose and BUN in mmol/L come in steps of 18 and 2.8 mg/dL"
    ),
)
def psi(entities: Entities) -> float:
    """As published, but a misspelt °C counts as Fahrenheit, and PaO₂ needs its exact units."""
    points = age_years(entities) - (10 if entities.stated_sex() == "Female" else 0)
    points += sum(score for names, score in _PNEUMONIA.items() if entities.flag(*names))
    temperature = temperature_c(entities)
    if 39.9 < temperature < 40:
        entities.note("temperature of 39.9 to 40 °C scores 15")

    points += sum(
        score
        for score, met in (
            (15, temperature < 35 or temperature > 39.9),
            (10, entities.first("Heart Rate or Pulse") >= 125),
            (30, entities.bare("pH") < 7.35),
            (20, entities.first("respiratory rate") >= 30),
            (20, entities.first("Systolic Blood Pressure") < 90),
            (20, concentration(entities, _BUN, compounds.UREA_NITROGEN, "mg/dL") >= 30),
            (20, concentration(entities, "Sodium", compounds.SODIUM, "mmol/L") < 130),
            (10, concentration(entities, "Glucose", compounds.GLUCOSE, "mg/dL") >= 250),
            (10, entities.first("Hematocrit") < 30),
        )
        if met
    )
    oxygen, unit = entities.pair(*PAO2)
    limit = {"mm Hg": 60, "kPa": 8}.get(unit)
    if limit is None:
        entities.note(f"PaO₂ in {unit!r} scores 0, the rule knew only mm Hg and kPa")

    return points + (10 if limit is not None and oxygen < limit else 0)


@rule(
    51,
    "SIRS Criteria",
    quirk=(
        "a heart rate up to 90 counts as met too; white cells are compared per m³, so that "
        "any real count is met"
    ),
)
def sirs(entities: Entities) -> int:
    """A normal heart rate counts as well, and white cells are compared per m³.

    The rule could not run without a respiratory rate, nor at a PaCO₂ of exactly 32 with
    a normal rate.
    """
    temperature = temperature_c(entities)
    white_cells = count_per(entities, "White blood cell count", "m^3")
    points = temperature > 38 or temperature < 36
    if entities.first("Heart Rate or Pulse") <= 90:
        entities.note("heart rate up to 90 counted as met")

    if (
        entities.pair("White blood cell count")[1] != "m^3"
    ):  # which in the file means mm^3, and so comes out right
        entities.note("white cells compared per m³ with the limits per mm³")

    fast = entities.first("respiratory rate") > 20
    carbon_dioxide = entities.first_or(40, "PaCO₂")
    if carbon_dioxide == 32 and not fast:
        raise CalculatorInputError(
            "PaCO₂: the label rule cannot run on a value of exactly 32; got [32, ...]"
        )

    return (
        points
        + 1
        + (white_cells > 12000 or white_cells < 4000)
        + (fast or carbon_dioxide < 32)
    )
