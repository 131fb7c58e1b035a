"""Laboratory values that many calculators share, with the unit their functions take.

Limits are of the possible, not of the normal: they stop a wrong unit or a slipped digit, never a rare patient. The `usual`
range, what hospitals see, is wide too; it serves only to find a number that fits another unit than the one it came with.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from medical_tasks.calculators import substances
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.calculators.measures import Measure

__all__ = [
    "ALBUMIN_G_DL",
    "ALT",
    "AST",
    "BICARBONATE_MMOL_L",
    "BILIRUBIN_MG_DL",
    "BUN_MG_DL",
    "CALCIUM_MG_DL",
    "CHLORIDE_MMOL_L",
    "CREATININE_MG_DL",
    "GLUCOSE_MG_DL",
    "HDL_MG_DL",
    "HEMATOCRIT",
    "HEMOGLOBIN_G_DL",
    "INR",
    "INSULIN",
    "PLATELETS",
    "POTASSIUM_MMOL_L",
    "SODIUM_MMOL_L",
    "TOTAL_CHOLESTEROL_MG_DL",
    "TRIGLYCERIDES_MG_DL",
    "WHITE_CELLS",
]


def _lab(
    parameter: str,
    name: str,
    unit: str,
    low: float,
    high: float,
    accepts: tuple[str, ...],
    substance: substances.Substance,
    aliases: tuple[str, ...] = (),
    usual: tuple[float, float] | None = None,
) -> Quantity:
    measure = Measure(unit=unit, low=low, high=high, accepts=accepts, substance=substance, usual=usual)
    return Quantity(parameter=parameter, name=name, aliases=aliases, measure=measure)


_IONS: Final = ("mEq/L", "mg/dL")
SODIUM_MMOL_L: Final = _lab(
    "sodium_mmol_l",
    "Sodium",
    "mmol/L",
    40,
    260,
    _IONS,
    substances.SODIUM,
    ("Na", "serum sodium"),
    usual=(100, 190),
)
POTASSIUM_MMOL_L: Final = _lab(
    "potassium_mmol_l",
    "Potassium",
    "mmol/L",
    0.5,
    20,
    _IONS,
    substances.POTASSIUM,
    ("K", "serum potassium"),
    usual=(1.5, 12),
)
CHLORIDE_MMOL_L: Final = _lab(
    "chloride_mmol_l",
    "Chloride",
    "mmol/L",
    30,
    220,
    _IONS,
    substances.CHLORIDE,
    ("Cl", "serum chloride"),
    usual=(60, 150),
)
BICARBONATE_MMOL_L: Final = _lab(
    "bicarbonate_mmol_l",
    "Bicarbonate",
    "mmol/L",
    0.5,
    100,
    _IONS,
    substances.BICARBONATE,
    ("HCO3", "HCO3-"),
    usual=(2, 60),
)
CALCIUM_MG_DL: Final = _lab(
    "calcium_mg_dl",
    "Calcium",
    "mg/dL",
    1,
    40,
    ("mmol/L", "mEq/L"),
    substances.CALCIUM,
    ("Ca", "serum calcium"),
    usual=(4, 20),
)
CREATININE_MG_DL: Final = _lab(
    "creatinine_mg_dl",
    "creatinine",
    "mg/dL",
    0.01,
    80,
    ("µmol/L", "mmol/L"),
    substances.CREATININE,
    ("Cr", "Scr", "serum creatinine"),
    usual=(0.1, 30),
)
BUN_MG_DL: Final = _lab(
    "bun_mg_dl",
    "Blood Urea Nitrogen (BUN)",
    "mg/dL",
    0.1,
    600,
    ("mmol/L",),
    substances.UREA_NITROGEN,
    ("BUN", "urea nitrogen", "blood urea nitrogen"),
    usual=(1, 300),
)
GLUCOSE_MG_DL: Final = _lab(
    "glucose_mg_dl",
    "Glucose",
    "mg/dL",
    1,
    4000,
    ("mmol/L",),
    substances.GLUCOSE,
    ("blood glucose",),
    usual=(10, 1600),
)
ALBUMIN_G_DL: Final = _lab(
    "albumin_g_dl",
    "Albumin",
    "g/dL",
    0.001,
    25,
    ("g/L", "mg/dL", "µmol/L"),
    substances.ALBUMIN,
    ("serum albumin",),
    usual=(0.6, 6.5),
)
BILIRUBIN_MG_DL: Final = _lab(
    "bilirubin_mg_dl",
    "Bilirubin",
    "mg/dL",
    0.01,
    120,
    ("µmol/L",),
    substances.BILIRUBIN,
    ("total bilirubin", "serum bilirubin"),
    usual=(0.1, 60),
)
HEMOGLOBIN_G_DL: Final = _lab(
    "hemoglobin_g_dl",
    "Hemoglobin",
    "g/dL",
    0.5,
    30,
    ("g/L", "mmol/L"),
    substances.HEMOGLOBIN,
    ("Hb", "Hgb", "haemoglobin"),
    usual=(1.5, 25),
)
TOTAL_CHOLESTEROL_MG_DL: Final = _lab(
    "total_cholesterol_mg_dl",
    "Total cholesterol",
    "mg/dL",
    10,
    2500,
    ("mmol/L",),
    substances.CHOLESTEROL,
    ("cholesterol", "TC"),
    usual=(30, 1500),
)
HDL_MG_DL: Final = _lab(
    "hdl_mg_dl",
    "high-density lipoprotein cholesterol",
    "mg/dL",
    1,
    300,
    ("mmol/L",),
    substances.CHOLESTEROL,
    ("HDL", "HDL cholesterol"),
    usual=(3, 200),
)
TRIGLYCERIDES_MG_DL: Final = _lab(
    "triglycerides_mg_dl",
    "Triglycerides",
    "mg/dL",
    1,
    20_000,
    ("mmol/L",),
    substances.TRIGLYCERIDES,
    ("TG",),
    usual=(15, 8000),
)
_INSULIN: Final = Measure(
    unit="µIU/mL", low=0.01, high=2000, accepts=("mIU/L", "pmol/L", "ng/mL"), substance=substances.INSULIN
)
INSULIN: Final = Quantity(
    parameter="insulin_micro_iu_ml",
    name="Insulin",
    aliases=("fasting insulin",),
    measure=_INSULIN,
    rival=replace(_INSULIN, substance=substances.INSULIN_BY_RIVALS),
)
ALT: Final = _lab(
    "alt_u_l",
    "Alanine aminotransferase",
    "U/L",
    1,
    50_000,
    ("IU/L", "µkat/L"),
    substances.ENZYME,
    ("ALT", "Alanine transaminase"),
)
AST: Final = _lab(
    "ast_u_l",
    "Aspartate aminotransferase",
    "U/L",
    1,
    50_000,
    ("IU/L", "µkat/L"),
    substances.ENZYME,
    ("AST", "Aspartate transaminase"),
)
INR: Final = Quantity(
    parameter="inr",
    name="international normalized ratio",
    aliases=("INR",),
    measure=Measure(unit="", low=0.3, high=30),
)
HEMATOCRIT: Final = Quantity(
    parameter="hematocrit_percent",
    name="Hematocrit",
    aliases=("Hct", "haematocrit"),
    measure=Measure(unit="%", low=1, high=90, accepts=("fraction", "L/L")),
)
_COUNTS: Final = ("10^3/µL", "cells/µL", "/mm^3", "/L")
PLATELETS: Final = Quantity(
    parameter="platelets_10e9_l",
    name="Platelet count",
    aliases=("platelets", "PLT"),
    measure=Measure(unit="10^9/L", low=0.1, high=10_000, usual=(1, 5000), accepts=_COUNTS, per_volume=True),
)
WHITE_CELLS: Final = Quantity(
    parameter="white_cells_10e9_l",
    name="White blood cell count",
    aliases=("WBC", "white cells", "leukocytes"),
    # The dataset's "m^3" can only mean mm^3: nobody counts cells in a cubic metre.
    measure=Measure(
        unit="10^9/L",
        low=0,
        high=2000,
        usual=(0.05, 1000),
        accepts=_COUNTS,
        per_volume=True,
        spellings=MappingProxyType({"m^3": "mm^3", "/m^3": "/mm^3"}),
    ),
)
