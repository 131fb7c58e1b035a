"""Liver: fibrosis, the MELD score, and severity by classes."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.bands import Bands
from medical_tasks.calculators.base import Valid, calculator
from medical_tasks.calculators.inputs import Choice
from medical_tasks.calculators.labs import (
    ALBUMIN_G_DL,
    ALT,
    AST,
    BILIRUBIN_MG_DL,
    CREATININE_MG_DL,
    INR,
    PLATELETS,
    SODIUM_MMOL_L,
)
from medical_tasks.calculators.patient import AGE, flag
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = [
    "Ascites",
    "Encephalopathy",
    "child_pugh",
    "fib_4",
    "meld_na",
]


@calculator(
    id=19,
    name="Fibrosis-4 (FIB-4) Index for Liver Fibrosis",
    category="lab",
    output="decimal",
    inputs=(AGE, AST, ALT, PLATELETS),
    source="Sterling RK et al. Hepatology 2006;43:1317-1325.",
    aliases=("FIB-4",),
    valid=(
        Valid(
            parameter="age_years",
            low=35,
            high=65,
            source="validated between 35 and 65; McPherson S et al. Am J Gastroenterol 2017;112:740-751",
        ),
    ),
)
def fib_4(*, age_years: float, ast_u_l: float, alt_u_l: float, platelets_10e9_l: float, say: Say = quiet) -> float:
    """FIB-4 index: age · AST / (platelets 10⁹/L · √ALT).

    Source: Sterling et al., Hepatology 2006;43:1317-1325.
    """
    index = age_years * ast_u_l / (platelets_10e9_l * math.sqrt(alt_u_l))
    say(
        f"FIB-4 = age × AST / (platelets × √ALT) = {age_years:.6g} × {ast_u_l:.6g} / ({platelets_10e9_l:.6g} × "
        f"√{alt_u_l:.6g}) = {index:.6g}."
    )
    return index


@calculator(
    id=23,
    name="MELD Na (UNOS/OPTN)",
    category="lab",
    output="decimal",
    inputs=(
        CREATININE_MG_DL,
        BILIRUBIN_MG_DL,
        INR,
        SODIUM_MMOL_L,
        flag("dialysis_twice", "Dialysis at least twice in the past week", "dialysis"),
        flag(
            "continuous_hemodialysis",
            "Continuous veno-venous hemodialysis for ≥24 hours in the past week",
            "Continuous veno-venous hemodialysis for >=24 hours in the past week",
            "CVVHD",
        ),
    ),
    source="OPTN policy 9 (MELD with sodium, January 2016); Kim WR et al. N Engl J Med 2008;359:1018-1026.",
    aliases=("MELD-Na", "MELD"),
)
def meld_na(
    *,
    creatinine_mg_dl: float,
    bilirubin_mg_dl: float,
    inr: float,
    sodium_mmol_l: float,
    dialysis_twice: bool,
    continuous_hemodialysis: bool,
    say: Say = quiet,
) -> float:
    """MELD with sodium, 6 to 40.

    Creatinine, bilirubin and INR count as at least 1.0, creatinine as at most 4.0 and as 4.0 with dialysis twice or 24
    hours of continuous hemodialysis in the past week; sodium is kept within 125 and 137. MELD(i) is 0.957 · ln Cr +
    0.378 · ln bilirubin + 1.120 · ln INR + 0.643, rounded to one decimal and multiplied by 10. When it is above 11,
    1.32 · (137 − Na) − 0.033 · MELD(i) · (137 − Na) is added. The result is rounded and at most 40.

    Source: OPTN policy 9 of January 2016.
    """
    if dialysis_twice or continuous_hemodialysis:
        creatinine = 4.0
        say("Dialysis in the past week: creatinine counts as 4.0 mg/dL.")
    else:
        creatinine = min(max(creatinine_mg_dl, 1.0), 4.0)
    bilirubin = max(bilirubin_mg_dl, 1.0)
    ratio = max(inr, 1.0)
    sodium = min(max(sodium_mmol_l, 125.0), 137.0)
    say(
        f"Within limits: creatinine {creatinine:.6g} (1 to 4), bilirubin {bilirubin:.6g} (1 or more), INR {ratio:.6g} (1 or "
        f"more), sodium {sodium:.6g} (125 to 137)."
    )
    exact = 0.957 * math.log(creatinine) + 0.378 * math.log(bilirubin) + 1.120 * math.log(ratio) + 0.643
    initial = round(exact * 10)  # one decimal, times 10, in one step: a whole number without binary noise
    say(
        f"MELD(i) = 0.957 × ln({creatinine:.6g}) + 0.378 × ln({bilirubin:.6g}) + 1.120 × ln({ratio:.6g}) + 0.643 = "
        f"{exact:.6g}, rounded to one decimal and times 10 = {initial}."
    )
    if initial <= 11:
        say("MELD(i) is not above 11: no sodium term.")
        return float(initial)
    missing = 137 - sodium
    meld = initial + 1.32 * missing - 0.033 * initial * missing
    score = min(round(meld), 40)
    say(
        f"MELD = {initial} + 1.32 × (137 − {sodium:.6g}) − 0.033 × {initial} × (137 − {sodium:.6g}) = {meld:.6g}, rounded "
        f"and at most 40 = {score}."
    )
    return float(score)


Ascites: TypeAlias = Literal["absent", "slight", "moderate"]
Encephalopathy: TypeAlias = Literal["none", "grade 1-2", "grade 3-4"]

_ASCITES: Final[Choice] = Choice(
    parameter="ascites",
    name="Ascites",
    words=MappingProxyType(
        {
            "absent": "absent",
            "none": "absent",
            "no": "absent",
            "no ascites": "absent",
            "slight": "slight",
            "mild": "slight",
            "moderate": "moderate",
            "moderate to severe": "moderate",
            "severe": "moderate",
        }
    ),
).optional("absent")
_ENCEPHALOPATHY: Final[Choice] = Choice(
    parameter="encephalopathy",
    name="Encephalopathy",
    words=MappingProxyType(
        {
            "No Encephalopathy": "none",
            "none": "none",
            "no": "none",
            "absent": "none",
            "Grade 0": "none",
            "Grade 1-2": "grade 1-2",
            "Grade 1": "grade 1-2",
            "Grade 2": "grade 1-2",
            "Grade 3-4": "grade 3-4",
            "Grade 3": "grade 3-4",
            "Grade 4": "grade 3-4",
        }
    ),
).optional("none", "no encephalopathy")

_BILIRUBIN: Final = Bands("Bilirubin", "mg/dL", under=1, steps=((">=", 2, 2), (">", 3, 3)))
_ALBUMIN: Final = Bands("Albumin", "g/dL", under=3, steps=((">=", 2.8, 2), (">", 3.5, 1)))
_INR: Final = Bands("INR", "", under=1, steps=((">=", 1.7, 2), (">", 2.3, 3)))
_ASCITES_POINTS: Final = MappingProxyType({"absent": 1, "slight": 2, "moderate": 3})
_ENCEPHALOPATHY_POINTS: Final = MappingProxyType({"none": 1, "grade 1-2": 2, "grade 3-4": 3})


@calculator(
    id=15,
    name="Child-Pugh Score for Cirrhosis Mortality",
    category="severity",
    output="integer",
    inputs=(BILIRUBIN_MG_DL, ALBUMIN_G_DL, INR, _ASCITES, _ENCEPHALOPATHY),
    source="Pugh RNH et al. Br J Surg 1973;60:646-649.",
    aliases=("Child-Pugh", "CTP"),
)
def child_pugh(
    *,
    bilirubin_mg_dl: float,
    albumin_g_dl: float,
    inr: float,
    ascites: Ascites,
    encephalopathy: Encephalopathy,
    say: Say = quiet,
) -> int:
    """Child-Pugh score, 5 to 15.

    Bilirubin under 2 mg/dL 1, 2 to 3 2, over 3 3. Albumin over 3.5 g/dL 1, 2.8 to 3.5 2, under 2.8 3. INR under 1.7 1,
    1.7 to 2.3 2, over 2.3 3. Ascites absent 1, slight 2, moderate or more 3. Encephalopathy none 1, grade 1 or 2 2,
    grade 3 or 4 3.

    Source: Pugh et al., Br J Surg 1973;60:646-649, with the INR classes in use for the prothrombin time.
    """
    points = Points(say)
    _BILIRUBIN.count(bilirubin_mg_dl, points)
    _ALBUMIN.count(albumin_g_dl, points)
    _INR.count(inr, points)
    points.add(f"Ascites {ascites}", _ASCITES_POINTS[ascites])
    points.add(f"Encephalopathy {encephalopathy}", _ENCEPHALOPATHY_POINTS[encephalopathy])
    return points.score
