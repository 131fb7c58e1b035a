"""What a gram, a mole, an equivalent and a unit of activity of one substance are worth to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Final

__all__ = [
    "ALBUMIN",
    "BICARBONATE",
    "BILIRUBIN",
    "CALCIUM",
    "CHLORIDE",
    "CHOLESTEROL",
    "CREATININE",
    "ENZYME",
    "GLUCOSE",
    "HEMOGLOBIN",
    "INSULIN",
    "INSULIN_BY_RIVALS",
    "POTASSIUM",
    "SODIUM",
    "TRIGLYCERIDES",
    "UREA_NITROGEN",
    "Substance",
]


@dataclass(frozen=True)
class Substance:
    """A measured substance and the constants that join its units.

    Attributes:
        name: for messages.
        note: the constant a reader wants to see beside a conversion, such as the molar mass.
        worth: dimension (`mass`, `mole`, `equivalent`, `activity`, `katal`) to what one gram, mole, equivalent, U or
            katal is worth in a common measure; dimensions that are not listed cannot be converted.
    """

    name: str
    note: str
    worth: Mapping[str, Fraction] = field(hash=False)


def _molecule(name: str, grams_per_mole: str, valence: int | None = None) -> Substance:
    mole = Fraction(grams_per_mole)
    worth = {"mass": Fraction(1), "mole": mole}
    if valence is not None:
        worth["equivalent"] = mole / valence
    return Substance(name, f"{grams_per_mole} g/mol", MappingProxyType(worth))


CREATININE: Final = _molecule("creatinine", "113.12")
UREA_NITROGEN: Final = _molecule("urea nitrogen", "28.02")  # 1 mmol of urea carries two nitrogen atoms
GLUCOSE: Final = _molecule("glucose", "180.16")
SODIUM: Final = _molecule("sodium", "22.99", valence=1)
POTASSIUM: Final = _molecule("potassium", "39.10", valence=1)
CHLORIDE: Final = _molecule("chloride", "35.45", valence=1)
BICARBONATE: Final = _molecule("bicarbonate", "61.02", valence=1)
CALCIUM: Final = _molecule("calcium", "40.08", valence=2)
ALBUMIN: Final = _molecule("albumin", "66500")
BILIRUBIN: Final = _molecule("bilirubin", "584.66")
CHOLESTEROL: Final = _molecule("cholesterol", "386.654")
# A mixture: laboratories and guidelines convert by 88.57 mg/dL for 1 mmol/L (Haney EM et al., AHRQ Evidence Synthesis 47, 2007,
# appendix 2; triolein, the reference glyceride, is 885.4 g/mol).
TRIGLYCERIDES: Final = _molecule("triglycerides", "885.7")
# Laboratories that report hemoglobin in mmol/L count the monomer, Hb(Fe): 1 mmol/L is 1.611 g/dL.
HEMOGLOBIN: Final = _molecule("hemoglobin", "16114.5")
ENZYME: Final = Substance(
    "enzyme", "1 µkat = 60 U", MappingProxyType({"activity": Fraction(1), "katal": Fraction(60_000_000)})
)
# Laboratories do not agree on insulin. 6 pmol/L for 1 µIU/mL follows from the international standard (Vølund A. Am J Clin Nutr
# 1993;58:714-715; Knopp JL et al. J Diabetes Sci Technol 2019;13:597-600); 6.945, still in use, from 24.8 µIU/ng, an older
# preparation. The benchmark converts ng by 24.8, where the standard has 28.8 (1 IU is 0.0347 mg).


def _insulin(pmol_l: str, micro_iu_ng: str) -> Substance:
    """Insulin by what 1 µIU/mL is in pmol/L and 1 ng in µIU."""
    return Substance(
        "insulin",
        f"1 µIU/mL = {pmol_l} pmol/L, 1 ng = {micro_iu_ng} µIU",
        MappingProxyType(
            {
                "activity": Fraction(1),
                "mole": Fraction(10**9) / Fraction(pmol_l),
                "mass": 1000 * Fraction(micro_iu_ng),
            }
        ),
    )


INSULIN: Final = _insulin("6", "24.8")
INSULIN_BY_RIVALS: Final = _insulin("6.945", "28.8")
"""The factors that other laboratories use; an answer from such a unit says what they would make of it."""
