"""Molar masses (g/mol) and valences of the label rules, the wrong ones included."""

from __future__ import annotations

from typing import Final

from medical_tasks.calculators.v1_labels.conversion import Compound

__all__ = [
    "ALBUMIN",
    "ALBUMIN_BY_MASS",
    "BICARBONATE",
    "BILIRUBIN_BY_MASS",
    "BILIRUBIN_CHILD_PUGH",
    "BILIRUBIN_SOFA",
    "CALCIUM",
    "CHLORIDE",
    "CHOLESTEROL",
    "CHOLESTEROL_FRAMINGHAM",
    "CREATININE",
    "GLUCOSE",
    "HEMOGLOBIN",
    "POTASSIUM",
    "SODIUM",
    "TRIGLYCERIDES",
    "UREA_NITROGEN",
    "UREA_NITROGEN_BLATCHFORD",
    "URINE_SODIUM",
]

CREATININE: Final = Compound("creatinine", 113.12)
UREA_NITROGEN: Final = Compound("urea nitrogen", 28.02)
UREA_NITROGEN_BLATCHFORD: Final = Compound("urea nitrogen", 28.08, true_molar_mass=28.02)
GLUCOSE: Final = Compound("glucose", 180.16)
CALCIUM: Final = Compound("calcium", 40.08, 2)
SODIUM: Final = Compound("sodium", 22.99, 1)
URINE_SODIUM: Final = Compound("sodium", None, 1)
POTASSIUM: Final = Compound("potassium", 22.99, 1, true_molar_mass=39.10)
CHLORIDE: Final = Compound("chloride", 35.45, 1)
BICARBONATE: Final = Compound("bicarbonate", 61.02, 1)
ALBUMIN: Final = Compound("albumin", 66500)
ALBUMIN_BY_MASS: Final = Compound("albumin")
HEMOGLOBIN: Final = Compound("hemoglobin", 64500)
CHOLESTEROL: Final = Compound("cholesterol", 386.654)
CHOLESTEROL_FRAMINGHAM: Final = Compound("cholesterol", 386.65)
TRIGLYCERIDES: Final = Compound("triglycerides", 861.338)
BILIRUBIN_SOFA: Final = Compound("bilirubin", 584.66)
BILIRUBIN_CHILD_PUGH: Final = Compound("bilirubin", 548.66, true_molar_mass=584.66)
BILIRUBIN_BY_MASS: Final = Compound("bilirubin")
