"""Inputs of the person and the bedside that many calculators share: sex, age, body size, vital signs, gases, dates.

Limits are of the possible, not of the normal: they stop a wrong unit or a slipped digit, never a rare patient.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.inputs import Choice, Day, Flag, measured

__all__ = [
    "AGE",
    "BMI",
    "CYCLE_LENGTH",
    "DIASTOLIC",
    "FIO2",
    "GLASGOW_COMA_SCORE",
    "HEART_RATE",
    "HEIGHT",
    "LAST_MENSTRUAL_DATE",
    "PACO2",
    "PAO2",
    "PH",
    "QT",
    "RESPIRATORY_RATE",
    "SEX",
    "SPO2",
    "SYSTOLIC",
    "TEMPERATURE",
    "WEIGHT",
    "Sex",
    "flag",
]

Sex: TypeAlias = Literal["male", "female"]


def flag(parameter: str, name: str, *aliases: str) -> Flag:
    """A finding that counts as absent when it is not mentioned."""
    return Flag(parameter=parameter, name=name, aliases=aliases)


SEX: Final = Choice(
    parameter="sex",
    name="sex",
    aliases=("gender",),
    words=MappingProxyType(
        {"male": "male", "m": "male", "man": "male", "female": "female", "f": "female", "woman": "female"}
    ),
)
AGE: Final = measured("age_years", "age", "years|months|weeks|days", (0, 130), compound=True)
WEIGHT: Final = measured("weight_kg", "weight|body weight", "kg|g|lbs|oz|stone", (0.2, 700), compound=True)
HEIGHT: Final = measured("height_cm", "height|length", "cm|m|mm|in|ft", (20, 280), compound=True)
BMI: Final = measured("bmi_kg_m2", "Body Mass Index (BMI)|BMI|body mass index", "kg/m^2", (5, 250))
SYSTOLIC: Final = measured(
    "systolic_mm_hg", "Systolic Blood Pressure|SBP|systolic|sys_bp", "mm Hg|kPa", (0, 400), (30, 300)
)
DIASTOLIC: Final = measured(
    "diastolic_mm_hg", "Diastolic Blood Pressure|DBP|diastolic|dia_bp", "mm Hg|kPa", (0, 300), (15, 200)
)
HEART_RATE: Final = measured(
    "heart_rate_per_min", "Heart Rate or Pulse|heart rate|pulse|HR", "beats per minute|bpm|/min", (1, 400)
)
RESPIRATORY_RATE: Final = measured(
    "respiratory_rate_per_min", "respiratory rate|RR|breathing rate", "breaths per minute|/min", (0, 150)
)
TEMPERATURE: Final = measured(
    "temperature_c",
    "Temperature|temp|body temperature",
    "degrees celsius|degrees fahrenheit|kelvin",
    (10, 50),
    spellings=MappingProxyType({"k": "kelvin"}),
)
QT: Final = measured("qt_ms", "QT interval|QT", "msec|s", (50, 1500))
PAO2: Final = measured(
    "pao2_mm_hg",
    "PaO2|Partial pressure of oxygen (PaO₂) for Apache II|Partial pressure of oxygen (PaO₂)|Partial pressure of oxygen",
    "mm Hg|kPa",
    (1, 900),
    (20, 750),
)
PACO2: Final = measured(
    "paco2_mm_hg",
    "PaCO2|Partial pressure of carbon dioxide (PaCO₂)|Partial pressure of carbon dioxide",
    "mm Hg|kPa",
    (1, 900),
    (10, 200),
)
FIO2: Final = measured("fio2_percent", "FiO2|Fraction of inspired oxygen (FiO₂)", "%|fraction", (15, 100))
SPO2: Final = measured(
    "oxygen_saturation_percent", "O₂ saturation percentage|oxygen saturation|SpO2|SaO2", "%|fraction", (1, 100)
)
PH: Final = measured("ph", "pH|arterial pH", "", (6, 8.5))
GLASGOW_COMA_SCORE: Final = measured("glasgow_coma_score", "Glasgow Coma Score|GCS|Glasgow Coma Scale", "", (3, 15))
LAST_MENSTRUAL_DATE: Final = Day(
    parameter="last_menstrual_date", name="Last menstrual date", aliases=("LMP", "last menstrual period")
)
CYCLE_LENGTH: Final = measured("cycle_length_days", "cycle length|cycle", "days|weeks", (14, 90))
