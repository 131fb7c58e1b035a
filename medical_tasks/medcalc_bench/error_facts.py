"""What a reply has to state: the decisive constants of each formula, and the words for each value.

Constants are those of the published rules as this package applies them (`calculators`, where the sources stand). Each is a
group of equivalents: the same formula is written with 100 / 50 / 20 or with 4 / 2 / 1, for mg/dL or for µmol/L.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from medical_tasks.calculators.opioids import FACTORS
from medical_tasks.calculators.steroids import EQUIVALENT_MG

__all__ = ["Constant", "accepted_values", "constants_of", "shifted_values", "words_of"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of a formula.

    Attributes:
        name: how reasons call it.
        values: the constant and its equivalents.
        words: a pattern of words that say the same, "" for none.
        by_sex: whether it depends on the patient's sex.
    """

    name: str
    values: tuple[float, ...]
    words: str = ""
    by_sex: bool = False


def _c(*values: float, words: str = "", by_sex: bool = False) -> Constant:
    return Constant(f"{values[0]:g}", values, words, by_sex)


_GAP_12 = _c(12)
_GAP_24 = _c(24)
_ALBUMIN = (_c(2.5, 0.25), _c(4, 40))
_BEATS = _c(60, 60000)

CONSTANTS: Mapping[int, tuple[Constant, ...]] = {
    2: (_c(140), _c(72, 1.23, 1.04, 0.814, 0.815, 0.81)),
    3: (_c(142), _c(0.9938)),
    5: (_c(3, 0.333, 0.33, words=r"third"),),
    7: (_c(0.8, 0.02), _c(4, 40)),
    9: (_c(175, 30849), _c(1.154), _c(0.203)),
    10: (_c(2.3, 0.91, 0.9055), _c(60, 152.4, 152, 5, words=r"five f(?:ee|oo)t")),
    13: (_c(280, 40, 7, words=r"naegele"),),
    22: (_c(40, 4, 1000, 100, 60, 1500),),
    23: (_c(0.957, 9.57), _c(0.378, 3.78), _c(1.12, 11.2), _c(0.643, 6.43)),
    26: (_c(0.024, 2.4), _c(100, 5.6, 5.55)),
    30: (_c(2, 1.86, words=r"twice|double|two"), _c(2.8, 1, words=r"urea \+"), _c(18, 1, words=r"glucose \+")),
    31: (_c(405, 22.5),),
    38: (_c(140),),
    44: (_c(5, 0.2, 2.2, 0.45, words=r"fifth|five"),),
    46: (_c(0.9402, 0.98767, 0.9877),),
    57: (_c(154, 0.154), _BEATS),
    58: (_c(1.75, 105),),
    59: (_c(120), _c(180)),
    60: (_c(3600, 60, 3131, 6),),
    62: (_c(0.4, 40, 0.6, words=r"two.fifths"), _c(2.3, 0.91, 0.9055)),
    63: (_GAP_12,),
    64: (_GAP_12, _GAP_24),
    65: _ALBUMIN,
    66: (*_ALBUMIN, _GAP_12),
    67: (*_ALBUMIN, _GAP_12, _GAP_24),
    68: (_c(14, 2, 13, 15, words=r"two weeks|fourteen"),),
}
"""Calculator id to the constants that every form of its formula has. Not listed: formulas without any, scores."""

_BY_SEX: Mapping[int, Mapping[str, Constant]] = {
    2: {"female": _c(0.85, 1.04, words=r"15 ?%", by_sex=True)},
    3: {"female": _c(1.012, by_sex=True)},
    9: {"female": _c(0.742, by_sex=True)},
    10: {"male": _c(50, by_sex=True), "female": _c(45.5, 45, by_sex=True)},
    62: {"male": _c(50, by_sex=True), "female": _c(45.5, 45, by_sex=True)},
}


def constants_of(calculator_id: int, used: Mapping[str, Any]) -> tuple[Constant, ...]:
    """The constants that the formula needs for this patient.

    Args:
        calculator_id: id in the dataset.
        used: the calculator's arguments (`Result.used`).
    """
    found = CONSTANTS.get(calculator_id, ())
    for_sex = _BY_SEX.get(calculator_id, {}).get(str(used.get("sex")))
    if for_sex is not None:
        found = (*found, for_sex)
    if calculator_id == 49:
        factors: Mapping[str, tuple[float, str]] = {str(drug): factor for drug, factor in FACTORS.items()}
        doses = [dose for dose in used["doses"] if dose.drug in factors and factors[dose.drug][0] != 1]
        found = tuple(Constant(f"{factors[d.drug][0]:g} ({d.drug})", (factors[d.drug][0],)) for d in doses)
    if calculator_id == 24:
        steroids: Mapping[str, float] = {str(name): dose for name, dose in EQUIVALENT_MG.items()}
        source, target = steroids[used["source_steroid"]], steroids[used["target_steroid"]]
        ratios = (target / source, source / target)
        # Every table of equivalents gives the same ratios, whichever drug it puts at 1 or at 5.
        found = (Constant(f"{target:g} to {source:g}", ratios),) if source != target else ()
    return found


_WORDS: Mapping[str, str] = {
    "age_years": r"age",
    "creatinine_mg_dl": r"(?:serum |plasma )?(?:creatinine|s\.?cr|p\.?cr)",
    "urine_creatinine_mg_dl": r"(?:urine|urinary) creatinine|u\.?cr",
    "weight_kg": r"(?:body |actual )?weight",
    "height_cm": r"height",
    "systolic_mm_hg": r"systolic(?: blood pressure| bp)?(?: \(sbp\))?|sbp",
    "diastolic_mm_hg": r"diastolic(?: blood pressure| bp)?(?: \(dbp\))?|dbp",
    "heart_rate_per_min": r"heart rate|pulse(?: rate)?|hr",
    "respiratory_rate_per_min": r"respiratory rate|rr",
    "qt_ms": r"qt(?: interval)?",
    "calcium_mg_dl": r"(?:serum |total |measured )?calcium",
    "albumin_g_dl": r"(?:serum )?albumin",
    "sodium_mmol_l": r"(?:serum |plasma |measured )?sodium|na\+?",
    "urine_sodium_mmol_l": r"(?:urine|urinary) sodium|una",
    "chloride_mmol_l": r"(?:serum )?chloride|cl-?",
    "bicarbonate_mmol_l": r"(?:serum )?bicarbonate|hco3-?",
    "potassium_mmol_l": r"(?:serum )?potassium",
    "glucose_mg_dl": r"(?:serum |fasting |blood |plasma )?glucose",
    "insulin_micro_iu_ml": r"(?:fasting )?insulin",
    "bun_mg_dl": r"bun|blood urea nitrogen(?: \(bun\))?",
    "bilirubin_mg_dl": r"(?:total )?bilirubin",
    "inr": r"inr",
    "ast_u_l": r"ast|aspartate aminotransferase(?: \(ast\))?",
    "alt_u_l": r"alt|alanine aminotransferase(?: \(alt\))?",
    "platelets_10e9_l": r"platelets?(?: count)?",
    "total_cholesterol_mg_dl": r"total cholesterol|tc",
    "hdl_mg_dl": r"hdl(?:[- ]c)?(?: cholesterol)?",
    "triglycerides_mg_dl": r"triglycerides?|tg",
    "bmi_kg_m2": r"(?:target |desired )?(?:bmi|body mass index)",
    "temperature_c": r"temp(?:erature)?",
    "hematocrit_percent": r"hematocrit",
    "hemoglobin_g_dl": r"hemoglobin",
    "source_dose_mg": r"",
}


def words_of(parameter: str) -> str:
    """A pattern of the words that stand before a value's number, "" when none are known."""
    return _WORDS.get(parameter, "")


_CONVERSIONS: Mapping[str, tuple[float, ...]] = {
    "weight_kg": (2.2046,),
    "height_cm": (2.54, 30.48),
    "glucose_mg_dl": (18.0,),
    "creatinine_mg_dl": (88.42,),
    "urine_creatinine_mg_dl": (88.42,),
    "bilirubin_mg_dl": (17.1,),
    "bun_mg_dl": (2.8, 2.14),
    "total_cholesterol_mg_dl": (38.67,),
    "hdl_mg_dl": (38.67,),
    "triglycerides_mg_dl": (88.57,),
    "calcium_mg_dl": (4.008, 2.004),
}
"""Factors between the usual units of a value."""
_POWERS = (1.0, 10.0, 100.0, 1e3, 1e6, 0.1, 0.01, 1e-3, 1e-6)


def accepted_values(parameter: str, raw: float | None, used: float) -> tuple[float, ...]:
    """The forms in which a value may be stated: as the note has it, as the formula takes it, in the usual other units."""
    bases = {abs(used)} | ({abs(raw)} if raw is not None else set())
    found = {base * power for base in bases for power in _POWERS}
    for factor in _CONVERSIONS.get(parameter, ()):
        found |= {each for base in bases for each in (base * factor, base / factor)}
        found |= {each / 100 for base in bases for each in (base * factor, base / factor)}
    if parameter == "temperature_c":
        found |= {base * 1.8 + 32 for base in bases} | {abs(base - 32) / 1.8 for base in bases}
    return tuple(sorted(found))


def shifted_values(raw: float | None, used: float) -> tuple[float, ...]:
    """The forms in which a calculation takes a value: as given or as converted, its decimal point anywhere."""
    bases = {abs(used)} | ({abs(raw)} if raw is not None else set())
    return tuple(sorted(base * power for base in bases for power in _POWERS))


FEET = re.compile(r"(\d)\s?(?:'|ft\b|feet\b|foot\b)\s?(?:and )?(\d{1,2}(?:\.\d+)?)?")
"""A height in feet and inches."""
