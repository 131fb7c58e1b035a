"""The heart: risk of an operation, and of chest pain."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.bands import Bands
from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.inputs import Choice, Flag
from medical_tasks.calculators.labs import CREATININE_MG_DL
from medical_tasks.calculators.patient import AGE, flag
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["Electrocardiogram", "Suspicion", "Troponin", "heart_score", "revised_cardiac_risk_index"]

_RCRI_CREATININE: Final = Bands("Creatinine", "mg/dL", under=0, steps=((">", 2, 1),))


@calculator(
    id=17,
    name="Revised Cardiac Risk Index for Pre-Operative Risk",
    category="risk",
    output="integer",
    inputs=(
        flag("elevated_risk_surgery", "Elevated-risk surgery"),
        flag("ischemic_heart_disease", "History of ischemic heart disease", "ischemic heart disease"),
        flag(
            "heart_failure",
            "Congestive Heart Failure criteria for the Cardiac Risk Index rule",
            "Congestive Heart Failure",
        ),
        flag("cerebrovascular_disease", "History of cerebrovascular disease"),
        flag("insulin", "Pre-operative treatment with insulin", "insulin treatment"),
        CREATININE_MG_DL.named("Pre-operative creatinine", "creatinine").optional(None, "no point for it"),
    ),
    source="Lee TH et al. Circulation 1999;100:1043-1049.",
    aliases=("RCRI", "Lee index"),
    unused=("Cerebrovascular disease history",),
)
def revised_cardiac_risk_index(
    *,
    elevated_risk_surgery: bool,
    ischemic_heart_disease: bool,
    heart_failure: bool,
    cerebrovascular_disease: bool,
    insulin: bool,
    creatinine_mg_dl: float | None,
    say: Say = quiet,
) -> int:
    """Revised cardiac risk index, 0 to 6.

    One each: elevated-risk surgery; ischemic heart disease; heart failure; cerebrovascular disease; insulin before the
    operation; creatinine over 2.0 mg/dL (`None`: not measured, no point).

    Source: Lee et al., Circulation 1999;100:1043-1049.
    """
    points = Points(say)
    points.flag("Elevated-risk surgery", elevated_risk_surgery)
    points.flag("Ischemic heart disease", ischemic_heart_disease)
    points.flag("Congestive heart failure", heart_failure)
    points.flag("Cerebrovascular disease", cerebrovascular_disease)
    points.flag("Treatment with insulin", insulin)
    if creatinine_mg_dl is None:
        points.add("Creatinine not given", 0)
    else:
        _RCRI_CREATININE.count(creatinine_mg_dl, points)
    return points.score


Suspicion: TypeAlias = Literal["slight", "moderate", "high"]
Electrocardiogram: TypeAlias = Literal["normal", "repolarization disturbance", "ST deviation"]
Troponin: TypeAlias = Literal["normal", "up to 3 times the limit", "over 3 times the limit"]

_SUSPICION: Final[Choice] = Choice(
    parameter="suspicion",
    name="Suspicion History",
    aliases=("history",),
    words=MappingProxyType(
        {
            "Slightly suspicious": "slight",
            "slightly": "slight",
            "slight": "slight",
            "Moderately suspicious": "moderate",
            "moderately": "moderate",
            "moderate": "moderate",
            "Highly suspicious": "high",
            "highly": "high",
            "high": "high",
        }
    ),
).optional("slight")
_ELECTROCARDIOGRAM: Final[Choice] = Choice(
    parameter="electrocardiogram",
    name="Electrocardiogram Test",
    aliases=("ECG", "EKG", "electrocardiogram"),
    words=MappingProxyType(
        {
            "Normal": "normal",
            "Non-specific repolarization disturbance": "repolarization disturbance",
            "repolarization disturbance": "repolarization disturbance",
            "Significant ST deviation": "ST deviation",
            "ST deviation": "ST deviation",
        }
    ),
).optional("normal")
_TROPONIN: Final[Choice] = Choice(
    parameter="troponin",
    name="Initial troponin",
    aliases=("troponin",),
    words=MappingProxyType(
        {
            "less than or equal to normal limit": "normal",
            "normal": "normal",
            "between the normal limit or up to three times the normal limit": "up to 3 times the limit",
            "up to three times the normal limit": "up to 3 times the limit",
            "up to 3 times the limit": "up to 3 times the limit",
            "greater than three times normal limit": "over 3 times the limit",
            "over 3 times the limit": "over 3 times the limit",
        }
    ),
).optional("normal")
# The dataset of v1.0 gives this finding under the name of the comorbidity index, whose classes mean diabetes too.
_DIABETES: Final = Flag(
    parameter="diabetes",
    name="Diabetes mellitus",
    aliases=("Diabetes mellitus criteria for CCI rule", "diabetes"),
    yes=frozenset({"uncomplicated", "endorgandamage"}),
)

_HEART_AGE: Final = Bands("Age", "", under=0, steps=((">=", 45, 1), (">=", 65, 2)))
_SUSPICION_POINTS: Final = MappingProxyType({"slight": 0, "moderate": 1, "high": 2})
_ECG_POINTS: Final = MappingProxyType({"normal": 0, "repolarization disturbance": 1, "ST deviation": 2})
_TROPONIN_POINTS: Final = MappingProxyType({"normal": 0, "up to 3 times the limit": 1, "over 3 times the limit": 2})


@calculator(
    id=18,
    name="HEART Score for Major Cardiac Events",
    category="risk",
    output="integer",
    inputs=(
        _SUSPICION,
        _ELECTROCARDIOGRAM,
        AGE,
        flag("hypertension", "Hypertension history", "Hypertension"),
        flag("hypercholesterolemia", "hypercholesterolemia"),
        _DIABETES,
        flag("obesity", "obesity"),
        flag("smoking", "smoking", "smoker"),
        flag("family_history", "parent or sibling with Cardiovascular disease before age 65", "family history"),
        flag("atherosclerotic_disease", "atherosclerotic disease"),
        flag("transient_ischemic_attack", "Transient Ischemic Attacks History", "TIA"),
        _TROPONIN,
    ),
    source="Six AJ et al. Neth Heart J 2008;16:191-196.",
    aliases=("HEART",),
)
def heart_score(
    *,
    suspicion: Suspicion,
    electrocardiogram: Electrocardiogram,
    age_years: float,
    hypertension: bool,
    hypercholesterolemia: bool,
    diabetes: bool,
    obesity: bool,
    smoking: bool,
    family_history: bool,
    atherosclerotic_disease: bool,
    transient_ischemic_attack: bool,
    troponin: Troponin,
    say: Say = quiet,
) -> int:
    """HEART score, 0 to 10.

    History slightly, moderately or highly suspicious 0, 1, 2. Electrocardiogram normal 0, non-specific repolarization
    disturbance 1, significant ST deviation 2. Age under 45 0, 45 to 64 1, 65 or more 2. Risk factors (hypertension,
    hypercholesterolemia, diabetes, obesity, smoking, family history): none 0, one or two 1, three or more 2; known
    atherosclerotic disease, a transient ischemic attack among it, 2 by itself. Troponin up to the limit 0,
    up to three times 1, more 2.

    Source: Six et al., Neth Heart J 2008;16:191-196.
    """
    points = Points(say)
    points.add(f"History with {suspicion} suspicion", _SUSPICION_POINTS[suspicion])
    points.add(f"Electrocardiogram {electrocardiogram}", _ECG_POINTS[electrocardiogram])
    _HEART_AGE.count(age_years, points)
    factors = hypertension + hypercholesterolemia + diabetes + obesity + smoking + family_history
    if atherosclerotic_disease or transient_ischemic_attack:
        points.add(f"Risk factors: atherosclerotic disease known (and {factors} of 6 factors)", 2)
    elif factors >= 3:
        points.add(f"Risk factors: {factors} of 6, 3 or more", 2)
    elif factors:
        points.add(f"Risk factors: {factors} of 6, 1 or 2", 1)
    else:
        points.add("Risk factors: 0 of 6", 0)
    points.add(f"Troponin {troponin}", _TROPONIN_POINTS[troponin])
    return points.score
