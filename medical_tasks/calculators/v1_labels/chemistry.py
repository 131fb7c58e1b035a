"""Blood chemistry: corrections, osmolality, insulin resistance, lipids, and the six gaps."""

from __future__ import annotations

from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.v1_labels.conversion import concentration, exact_concentration
from medical_tasks.calculators.v1_labels.entities import Entities
from medical_tasks.calculators.v1_labels.rounding import round_v1
from medical_tasks.calculators.v1_labels.substances import (
    ALBUMIN,
    ALBUMIN_BY_MASS,
    BICARBONATE,
    CALCIUM,
    CHLORIDE,
    CHOLESTEROL,
    GLUCOSE,
    SODIUM,
    TRIGLYCERIDES,
    UREA_NITROGEN,
)

__all__ = [
    "albumin_corrected_anion_gap",
    "albumin_corrected_delta_gap",
    "albumin_corrected_delta_ratio",
    "anion_gap",
    "corrected_calcium",
    "corrected_sodium",
    "delta_gap",
    "delta_ratio",
    "homa_ir",
    "ldl",
    "osmolality",
]

_BUN = "Blood Urea Nitrogen (BUN)"


def corrected_calcium(given: Entities) -> float:
    """7: calcium corrected for albumin, in mg/dL; from mmol/L only multiples of 4 mg/dL come out."""
    albumin = concentration(given, "Albumin", ALBUMIN, "g/dL")
    return round_v1(0.8 * (4.0 - albumin) + concentration(given, "Calcium", CALCIUM, "mg/dL"))


def corrected_sodium(given: Entities) -> float:
    """26: sodium corrected for glucose; from mmol/L glucose comes in steps of 18 mg/dL."""
    sodium = concentration(given, "Sodium", SODIUM, "mEq/L")
    return round_v1(sodium + 0.024 * (concentration(given, "Glucose", GLUCOSE, "mg/dL") - 100))


def osmolality(given: Entities) -> float:
    """30: 2 · Na + BUN / 2.8 + glucose / 18."""
    sodium = concentration(given, "Sodium", SODIUM, "mmol/L")
    bun = concentration(given, _BUN, UREA_NITROGEN, "mg/dL")
    return round_v1(2 * sodium + bun / 2.8 + concentration(given, "Glucose", GLUCOSE, "mg/dL") / 18)


def homa_ir(given: Entities) -> float:
    """31: insulin · glucose / 405, with insulin in pmol/L multiplied by 6 instead of divided."""
    insulin, unit = given.pair("Insulin")
    if unit == "pmol/L":
        given.note(f"Insulin: {insulin:g} pmol/L multiplied by 6 instead of divided")
        insulin = insulin * 6
    elif unit == "ng/mL":
        insulin = insulin * 24.8
    elif unit != "µIU/mL":
        given.note(f"Insulin: {insulin:g} {unit} counts as µIU/mL")
    return round_v1(insulin * concentration(given, "Glucose", GLUCOSE, "mg/dL") / 405)


def ldl(given: Entities) -> float:
    """44: total cholesterol − HDL − triglycerides / 5; from mmol/L cholesterol comes in steps of 38.7 mg/dL."""
    total = concentration(given, "Total cholesterol", CHOLESTEROL, "mg/dL")
    hdl = concentration(given, "high-density lipoprotein cholesterol", CHOLESTEROL, "mg/dL")
    return round_v1(total - hdl - concentration(given, "Triglycerides", TRIGLYCERIDES, "mg/dL") / 5)


def anion_gap(given: Entities) -> float:
    """39: Na − (Cl + HCO₃)."""
    sodium = concentration(given, "Sodium", SODIUM, "mEq/L")
    chloride = concentration(given, "Chloride", CHLORIDE, "mEq/L")
    return round_v1(sodium - (chloride + concentration(given, "Bicarbonate", BICARBONATE, "mEq/L")))


def delta_gap(given: Entities) -> float:
    """63: anion gap − 12."""
    return round_v1(anion_gap(given) - 12)


def delta_ratio(given: Entities) -> float:
    """64: delta gap / (24 − HCO₃)."""
    return round_v1(delta_gap(given) / _bicarbonate_deficit(given))


def albumin_corrected_anion_gap(given: Entities) -> float:
    """65: anion gap + 2.5 · (4 − albumin); the rule had no molar mass for albumin."""
    gap = anion_gap(given)
    return round_v1(gap + 2.5 * (4 - concentration(given, "Albumin", ALBUMIN_BY_MASS, "g/dL")))


def albumin_corrected_delta_gap(given: Entities) -> float:
    """66: corrected anion gap − 12."""
    return round_v1(albumin_corrected_anion_gap(given) - 12)


def albumin_corrected_delta_ratio(given: Entities) -> float:
    """67: corrected delta gap / (24 − HCO₃)."""
    return round_v1(albumin_corrected_delta_gap(given) / _bicarbonate_deficit(given))


def _bicarbonate_deficit(given: Entities) -> float:
    """24 − HCO₃; here alone the labels converted without rounding."""
    value, unit = given.pair("Bicarbonate")
    deficit = 24 - exact_concentration(value, unit, "mEq/L", BICARBONATE)
    if deficit == 0:
        raise CalculatorInputError(
            f"Bicarbonate: the label rule divides by 24 − HCO₃, which is 0; got {value:g} {unit}"
        )
    return deficit
