"""Inputs that many calculators share: the person, vital signs, blood gases, dates, laboratory values.

Limits are of the possible, not of the normal: they stop a wrong unit or a slipped digit, never a rare patient. The usual
range, what hospitals see, is wide too; it serves only to find a number that fits another unit than the one it came with.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators import units
from medical_tasks.calculators.inputs import Choice, Day, Flag, measured

Sex: TypeAlias = Literal["male", "female"]


def flag(parameter: str, name: str, *aliases: str) -> Flag:
    """A finding that counts as absent when it is not mentioned."""
    return Flag(parameter=parameter, name=name, aliases=aliases)


SEX: Final = Choice(
    parameter="sex",
    name="sex",
    aliases=("gender",),
    words={"male": "male", "m": "male", "man": "male", "female": "female", "f": "female", "woman": "female"},
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


SODIUM_MMOL_L: Final = measured(
    "sodium_mmol_l", "Sodium|Na|serum sodium", "mmol/L|mEq/L|mg/dL", (40, 260), (100, 190), units.SODIUM
)
POTASSIUM_MMOL_L: Final = measured(
    "potassium_mmol_l", "Potassium|K|serum potassium", "mmol/L|mEq/L|mg/dL", (0.5, 20), (1.5, 12), units.POTASSIUM
)
CHLORIDE_MMOL_L: Final = measured(
    "chloride_mmol_l", "Chloride|Cl|serum chloride", "mmol/L|mEq/L|mg/dL", (30, 220), (60, 150), units.CHLORIDE
)
BICARBONATE_MMOL_L: Final = measured(
    "bicarbonate_mmol_l", "Bicarbonate|HCO3|HCO3-", "mmol/L|mEq/L|mg/dL", (0.5, 100), (2, 60), units.BICARBONATE
)
CALCIUM_MG_DL: Final = measured(
    "calcium_mg_dl", "Calcium|Ca|serum calcium", "mg/dL|mmol/L|mEq/L", (1, 40), (4, 20), units.CALCIUM
)
CREATININE_MG_DL: Final = measured(
    "creatinine_mg_dl",
    "creatinine|Cr|Scr|serum creatinine",
    "mg/dL|µmol/L|mmol/L",
    (0.01, 80),
    (0.1, 30),
    units.CREATININE,
)
BUN_MG_DL: Final = measured(
    "bun_mg_dl",
    "Blood Urea Nitrogen (BUN)|BUN|urea nitrogen|blood urea nitrogen",
    "mg/dL|mmol/L",
    (0.1, 600),
    (1, 300),
    units.UREA_NITROGEN,
)
GLUCOSE_MG_DL: Final = measured(
    "glucose_mg_dl", "Glucose|blood glucose", "mg/dL|mmol/L", (1, 4000), (10, 1600), units.GLUCOSE
)
ALBUMIN_G_DL: Final = measured(
    "albumin_g_dl", "Albumin|serum albumin", "g/dL|g/L|mg/dL|µmol/L", (0.001, 25), (0.6, 6.5), units.ALBUMIN
)
BILIRUBIN_MG_DL: Final = measured(
    "bilirubin_mg_dl",
    "Bilirubin|total bilirubin|serum bilirubin",
    "mg/dL|µmol/L",
    (0.01, 120),
    (0.1, 60),
    units.BILIRUBIN,
)
HEMOGLOBIN_G_DL: Final = measured(
    "hemoglobin_g_dl", "Hemoglobin|Hb|Hgb|haemoglobin", "g/dL|g/L|mmol/L", (0.5, 30), (1.5, 25), units.HEMOGLOBIN
)
TOTAL_CHOLESTEROL_MG_DL: Final = measured(
    "total_cholesterol_mg_dl",
    "Total cholesterol|cholesterol|TC",
    "mg/dL|mmol/L",
    (10, 2500),
    (30, 1500),
    units.CHOLESTEROL,
)
HDL_MG_DL: Final = measured(
    "hdl_mg_dl",
    "high-density lipoprotein cholesterol|HDL|HDL cholesterol",
    "mg/dL|mmol/L",
    (1, 300),
    (3, 200),
    units.CHOLESTEROL,
)
TRIGLYCERIDES_MG_DL: Final = measured(
    "triglycerides_mg_dl", "Triglycerides|TG", "mg/dL|mmol/L", (1, 20_000), (15, 8000), units.TRIGLYCERIDES
)
_INSULIN: Final = measured(
    "insulin_micro_iu_ml", "Insulin|fasting insulin", "µIU/mL|mIU/L|pmol/L|ng/mL", (0.01, 2000), substance=units.INSULIN
)
INSULIN: Final = replace(_INSULIN, rival=replace(_INSULIN.measure, substance=units.INSULIN_BY_RIVALS))
ALT: Final = measured(
    "alt_u_l",
    "Alanine aminotransferase|ALT|Alanine transaminase",
    "U/L|IU/L|µkat/L",
    (1, 50_000),
    substance=units.ENZYME,
)
AST: Final = measured(
    "ast_u_l",
    "Aspartate aminotransferase|AST|Aspartate transaminase",
    "U/L|IU/L|µkat/L",
    (1, 50_000),
    substance=units.ENZYME,
)
INR: Final = measured("inr", "international normalized ratio|INR", "", (0.3, 30))
HEMATOCRIT: Final = measured("hematocrit_percent", "Hematocrit|Hct|haematocrit", "%|fraction|L/L", (1, 90))
_COUNTS: Final = "10^9/L|10^3/µL|cells/µL|/mm^3|/L"
PLATELETS: Final = measured(
    "platelets_10e9_l", "Platelet count|platelets|PLT", _COUNTS, (0.1, 10_000), (1, 5000), per_volume=True
)
WHITE_CELLS: Final = measured(
    "white_cells_10e9_l",
    "White blood cell count|WBC|white cells|leukocytes",
    _COUNTS,
    (0, 2000),
    (0.05, 1000),
    per_volume=True,
    # The dataset's "m^3" can only mean mm^3: nobody counts cells in a cubic metre.
    spellings=MappingProxyType({"m^3": "mm^3", "/m^3": "/mm^3"}),
)
