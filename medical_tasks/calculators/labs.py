"""Laboratory values that many calculators share, with the unit their functions take.

Limits are of the possible, not of the normal: they stop a wrong unit or a slipped digit, never a rare patient. The usual
range, what hospitals see, is wide too; it serves only to find a number that fits another unit than the one it came with.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from medical_tasks.calculators import substances
from medical_tasks.calculators.inputs import measured

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

SODIUM_MMOL_L: Final = measured(
    "sodium_mmol_l", "Sodium|Na|serum sodium", "mmol/L|mEq/L|mg/dL", (40, 260), (100, 190), substances.SODIUM
)
POTASSIUM_MMOL_L: Final = measured(
    "potassium_mmol_l", "Potassium|K|serum potassium", "mmol/L|mEq/L|mg/dL", (0.5, 20), (1.5, 12), substances.POTASSIUM
)
CHLORIDE_MMOL_L: Final = measured(
    "chloride_mmol_l", "Chloride|Cl|serum chloride", "mmol/L|mEq/L|mg/dL", (30, 220), (60, 150), substances.CHLORIDE
)
BICARBONATE_MMOL_L: Final = measured(
    "bicarbonate_mmol_l", "Bicarbonate|HCO3|HCO3-", "mmol/L|mEq/L|mg/dL", (0.5, 100), (2, 60), substances.BICARBONATE
)
CALCIUM_MG_DL: Final = measured(
    "calcium_mg_dl", "Calcium|Ca|serum calcium", "mg/dL|mmol/L|mEq/L", (1, 40), (4, 20), substances.CALCIUM
)
CREATININE_MG_DL: Final = measured(
    "creatinine_mg_dl",
    "creatinine|Cr|Scr|serum creatinine",
    "mg/dL|µmol/L|mmol/L",
    (0.01, 80),
    (0.1, 30),
    substances.CREATININE,
)
BUN_MG_DL: Final = measured(
    "bun_mg_dl",
    "Blood Urea Nitrogen (BUN)|BUN|urea nitrogen|blood urea nitrogen",
    "mg/dL|mmol/L",
    (0.1, 600),
    (1, 300),
    substances.UREA_NITROGEN,
)
GLUCOSE_MG_DL: Final = measured(
    "glucose_mg_dl", "Glucose|blood glucose", "mg/dL|mmol/L", (1, 4000), (10, 1600), substances.GLUCOSE
)
ALBUMIN_G_DL: Final = measured(
    "albumin_g_dl", "Albumin|serum albumin", "g/dL|g/L|mg/dL|µmol/L", (0.001, 25), (0.6, 6.5), substances.ALBUMIN
)
BILIRUBIN_MG_DL: Final = measured(
    "bilirubin_mg_dl",
    "Bilirubin|total bilirubin|serum bilirubin",
    "mg/dL|µmol/L",
    (0.01, 120),
    (0.1, 60),
    substances.BILIRUBIN,
)
HEMOGLOBIN_G_DL: Final = measured(
    "hemoglobin_g_dl", "Hemoglobin|Hb|Hgb|haemoglobin", "g/dL|g/L|mmol/L", (0.5, 30), (1.5, 25), substances.HEMOGLOBIN
)
TOTAL_CHOLESTEROL_MG_DL: Final = measured(
    "total_cholesterol_mg_dl",
    "Total cholesterol|cholesterol|TC",
    "mg/dL|mmol/L",
    (10, 2500),
    (30, 1500),
    substances.CHOLESTEROL,
)
HDL_MG_DL: Final = measured(
    "hdl_mg_dl",
    "high-density lipoprotein cholesterol|HDL|HDL cholesterol",
    "mg/dL|mmol/L",
    (1, 300),
    (3, 200),
    substances.CHOLESTEROL,
)
TRIGLYCERIDES_MG_DL: Final = measured(
    "triglycerides_mg_dl", "Triglycerides|TG", "mg/dL|mmol/L", (1, 20_000), (15, 8000), substances.TRIGLYCERIDES
)
_INSULIN: Final = measured(
    "insulin_micro_iu_ml",
    "Insulin|fasting insulin",
    "µIU/mL|mIU/L|pmol/L|ng/mL",
    (0.01, 2000),
    substance=substances.INSULIN,
)
INSULIN: Final = replace(_INSULIN, rival=replace(_INSULIN.measure, substance=substances.INSULIN_BY_RIVALS))
ALT: Final = measured(
    "alt_u_l",
    "Alanine aminotransferase|ALT|Alanine transaminase",
    "U/L|IU/L|µkat/L",
    (1, 50_000),
    substance=substances.ENZYME,
)
AST: Final = measured(
    "ast_u_l",
    "Aspartate aminotransferase|AST|Aspartate transaminase",
    "U/L|IU/L|µkat/L",
    (1, 50_000),
    substance=substances.ENZYME,
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
