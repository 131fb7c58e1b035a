"""Inputs of the person and the bedside that many calculators share: sex, age, body size, vital signs, gases, dates.

Limits are of the possible, not of the normal: they stop a wrong unit or a slipped digit, never a rare patient.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.inputs import Choice, Day, Flag, Quantity
from medical_tasks.calculators.measures import Measure

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
AGE: Final = Quantity(
    parameter="age_years",
    name="age",
    measure=Measure(unit="years", low=0, high=130, accepts=("months", "weeks", "days"), compound=True),
)
WEIGHT: Final = Quantity(
    parameter="weight_kg",
    name="weight",
    aliases=("body weight",),
    measure=Measure(unit="kg", low=0.2, high=700, accepts=("g", "lbs", "oz", "stone"), compound=True),
)
HEIGHT: Final = Quantity(
    parameter="height_cm",
    name="height",
    aliases=("length",),
    measure=Measure(unit="cm", low=20, high=280, accepts=("m", "mm", "in", "ft"), compound=True),
)
BMI: Final = Quantity(
    parameter="bmi_kg_m2",
    name="Body Mass Index (BMI)",
    aliases=("BMI", "body mass index"),
    measure=Measure(unit="kg/m^2", low=5, high=250),
)

_PRESSURE_UNITS: Final = ("kPa",)
SYSTOLIC: Final = Quantity(
    parameter="systolic_mm_hg",
    name="Systolic Blood Pressure",
    aliases=("SBP", "systolic", "sys_bp"),
    measure=Measure(unit="mm Hg", low=0, high=400, usual=(30, 300), accepts=_PRESSURE_UNITS),
)
DIASTOLIC: Final = Quantity(
    parameter="diastolic_mm_hg",
    name="Diastolic Blood Pressure",
    aliases=("DBP", "diastolic", "dia_bp"),
    measure=Measure(unit="mm Hg", low=0, high=300, usual=(15, 200), accepts=_PRESSURE_UNITS),
)
HEART_RATE: Final = Quantity(
    parameter="heart_rate_per_min",
    name="Heart Rate or Pulse",
    aliases=("heart rate", "pulse", "HR"),
    measure=Measure(unit="beats per minute", low=1, high=400, accepts=("bpm", "/min")),
)
RESPIRATORY_RATE: Final = Quantity(
    parameter="respiratory_rate_per_min",
    name="respiratory rate",
    aliases=("RR", "breathing rate"),
    measure=Measure(unit="breaths per minute", low=0, high=150, accepts=("/min",)),
)
TEMPERATURE: Final = Quantity(
    parameter="temperature_c",
    name="Temperature",
    aliases=("temp", "body temperature"),
    measure=Measure(
        unit="degrees celsius",
        low=10,
        high=50,
        accepts=("degrees fahrenheit", "kelvin"),
        spellings=MappingProxyType({"k": "kelvin"}),
    ),
)
QT: Final = Quantity(
    parameter="qt_ms",
    name="QT interval",
    aliases=("QT",),
    measure=Measure(unit="msec", low=50, high=1500, accepts=("s",)),
)


def _gas(usual: tuple[float, float], parameter: str, name: str, *aliases: str) -> Quantity:
    return Quantity(
        parameter=parameter,
        name=name,
        aliases=aliases,
        measure=Measure(unit="mm Hg", low=1, high=900, usual=usual, accepts=("kPa",)),
    )


PAO2: Final = _gas(
    (20, 750),
    "pao2_mm_hg",
    "PaO2",
    "Partial pressure of oxygen (PaO₂) for Apache II",
    "Partial pressure of oxygen (PaO₂)",
    "Partial pressure of oxygen",
)
PACO2: Final = _gas(
    (10, 200),
    "paco2_mm_hg",
    "PaCO2",
    "Partial pressure of carbon dioxide (PaCO₂)",
    "Partial pressure of carbon dioxide",
)
FIO2: Final = Quantity(
    parameter="fio2_percent",
    name="FiO2",
    aliases=("Fraction of inspired oxygen (FiO₂)",),
    measure=Measure(unit="%", low=15, high=100, accepts=("fraction",)),
)
SPO2: Final = Quantity(
    parameter="oxygen_saturation_percent",
    name="O₂ saturation percentage",
    aliases=("oxygen saturation", "SpO2", "SaO2"),
    measure=Measure(unit="%", low=1, high=100, accepts=("fraction",)),
)
PH: Final = Quantity(parameter="ph", name="pH", aliases=("arterial pH",), measure=Measure(unit="", low=6, high=8.5))


GLASGOW_COMA_SCORE: Final = Quantity(
    parameter="glasgow_coma_score",
    name="Glasgow Coma Score",
    aliases=("GCS", "Glasgow Coma Scale"),
    measure=Measure(unit="", low=3, high=15),
)
LAST_MENSTRUAL_DATE: Final = Day(
    parameter="last_menstrual_date", name="Last menstrual date", aliases=("LMP", "last menstrual period")
)
CYCLE_LENGTH: Final = Quantity(
    parameter="cycle_length_days",
    name="cycle length",
    aliases=("cycle",),
    measure=Measure(unit="days", low=14, high=90, accepts=("weeks",)),
)
