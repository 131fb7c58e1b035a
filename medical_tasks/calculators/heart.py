"""The heart: risk of an operation, of chest pain, of atrial fibrillation and of coronary disease.

The corrected QT interval.
"""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple, TypeAlias

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.shared_inputs import Sex
from medical_tasks.calculators.steps import Bands, Points, Say, quiet
from medical_tasks.calculators.units import CalculatorInputError

_RCRI_CREATININE: Final = Bands("Creatinine", "mg/dL", 0, (">", 2, 1))


@calculator(source="Lee TH et al. Circulation 1999;100:1043-1049.")
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

    One each: elevated-risk surgery; ischemic heart disease; heart failure;
    cerebrovascular disease; insulin before the operation; creatinine over 2.0 mg/dL
    (`None`: not measured, no point).
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
Electrocardiogram: TypeAlias = Literal[
    "normal", "repolarization disturbance", "ST deviation"
]
Troponin: TypeAlias = Literal[
    "normal", "up to 3 times the limit", "over 3 times the limit"
]

_HEART_AGE: Final = Bands("Age", "", 0, (45, 1), (65, 2))
_SUSPICION_POINTS: Final = {"slight": 0, "moderate": 1, "high": 2}
_ECG_POINTS: Final = {"normal": 0, "repolarization disturbance": 1, "ST deviation": 2}
_TROPONIN_POINTS: Final = {
    "normal": 0,
    "up to 3 times the limit": 1,
    "over 3 times the limit": 2,
}


@calculator(source="Six AJ et al. Neth Heart J 2008;16:191-196.")
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

    History slightly, moderately or highly suspicious 0, 1, 2. Electrocardiogram normal
    0, non-specific repolarization disturbance 1, significant ST deviation 2. Age under
    45 0, 45 to 64 1, 65 or more 2. Risk factors (hypertension, hypercholesterolemia,
    diabetes, obesity, smoking, family history): none 0, one or two 1, three or more 2;
    known atherosclerotic disease, a transient ischemic attack among it, 2 by itself.
    Troponin up to the limit 0, up to three times 1, more 2.
    """
    points = Points(say)
    points.add(f"History with {suspicion} suspicion", _SUSPICION_POINTS[suspicion])
    points.add(f"Electrocardiogram {electrocardiogram}", _ECG_POINTS[electrocardiogram])
    _HEART_AGE.count(age_years, points)
    factors = (
        hypertension
        + hypercholesterolemia
        + diabetes
        + obesity
        + smoking
        + family_history
    )
    if atherosclerotic_disease or transient_ischemic_attack:
        points.add(
            f"Risk factors: atherosclerotic disease known (and {factors} of 6 factors)",
            2,
        )
    elif factors >= 3:
        points.add(f"Risk factors: {factors} of 6, 3 or more", 2)
    elif factors:
        points.add(f"Risk factors: {factors} of 6, 1 or 2", 1)
    else:
        points.add("Risk factors: 0 of 6", 0)

    points.add(f"Troponin {troponin}", _TROPONIN_POINTS[troponin])
    return points.score


@calculator(source="Lip GYH et al. Chest 2010;137:263-272.")
def cha2ds2_vasc(
    *,
    age_years: float,
    sex: Sex,
    heart_failure: bool,
    hypertension: bool,
    diabetes: bool,
    stroke: bool,
    transient_ischemic_attack: bool,
    thromboembolism: bool,
    vascular_disease: bool,
    say: Say = quiet,
) -> int:
    """CHA2DS2-VASc, 0 to 9.

    Age 75 or more 2, 65 to 74 1; female 1; heart failure, hypertension, diabetes and
    vascular disease 1 each; stroke, transient ischemic attack or thromboembolism 2
    together.
    """
    points = Points(say)
    if age_years >= 75:
        points.add(f"Age {age_years:.6g} is 75 or more", 2)
    elif age_years >= 65:
        points.add(f"Age {age_years:.6g} is 65 to 74", 1)
    else:
        points.add(f"Age {age_years:.6g} is under 65", 0)

    points.add(f"Sex {sex}", 1 if sex == "female" else 0)
    points.flag("Congestive heart failure", heart_failure)
    points.flag("Hypertension", hypertension)
    points.flag("Diabetes", diabetes)
    points.flag(
        "Stroke, transient ischemic attack or thromboembolism",
        stroke or transient_ischemic_attack or thromboembolism,
        2,
    )
    points.flag("Vascular disease", vascular_disease)

    return points.score


class Coefficients(NamedTuple):
    """The equation of one sex.

    A factor for each term of the sum, its constant, and the baseline survival.
    """

    age: float
    cholesterol: float
    hdl: float
    systolic: float
    treated: float
    smoker: float
    age_cholesterol: float
    age_smoker: float
    age_squared: float
    constant: float
    smoker_age_cap: float
    survival: float


MEN: Final = Coefficients(
    age=52.00961,
    cholesterol=20.014077,
    hdl=-0.905964,
    systolic=1.305784,
    treated=0.241549,
    smoker=12.096316,
    age_cholesterol=-4.605038,
    age_smoker=-2.84367,
    age_squared=-2.93323,
    constant=-172.300168,
    smoker_age_cap=70,
    survival=0.9402,
)
WOMEN: Final = Coefficients(
    age=31.764001,
    cholesterol=22.465206,
    hdl=-1.187731,
    systolic=2.552905,
    treated=0.420251,
    smoker=13.07543,
    age_cholesterol=-5.060998,
    age_smoker=-2.996945,
    age_squared=0.0,
    constant=-146.5933061,
    smoker_age_cap=78,
    survival=0.98767,
)


@calculator(
    source="National Cholesterol Education Program, Adult Treatment Panel III (2001); Circulation 2002;106:3143-3421.",
)
def framingham_risk(
    *,
    sex: Sex,
    age_years: float,
    total_cholesterol_mg_dl: float,
    hdl_mg_dl: float,
    systolic_mm_hg: float,
    treated: bool,
    smoker: bool,
    say: Say = quiet,
) -> float:
    """Ten-year risk of myocardial infarction or coronary death in percent: 100 · (1 − S₀^exp(L)).

    L is a sum over ln(age), ln(total cholesterol), ln(HDL), ln(systolic pressure),
    treatment, smoking, ln(age) · ln(cholesterol), ln(age) · smoking with the age capped
    at 70 (men) or 78 (women), ln(age)² for men, and a constant; S₀ is 0.9402 for men
    and 0.98767 for women. Cholesterol in mg/dL.

    Raises:
        CalculatorInputError: the age is 0, which has no logarithm.
    """
    if age_years <= 0:
        raise CalculatorInputError(
            f"age: the risk equation needs an age above 0; got {age_years:g} years"
        )

    b = MEN if sex == "male" else WOMEN
    log_age = math.log(age_years)
    log_cholesterol = math.log(total_cholesterol_mg_dl)
    capped = min(age_years, b.smoker_age_cap)
    terms = (
        b.age * log_age
        + b.cholesterol * log_cholesterol
        + b.hdl * math.log(hdl_mg_dl)
        + b.systolic * math.log(systolic_mm_hg)
        + (b.treated if treated else 0.0)
        + (b.smoker + b.age_smoker * math.log(capped) if smoker else 0.0)
        + b.age_cholesterol * log_age * log_cholesterol
        + b.age_squared * log_age**2
        + b.constant
    )
    say(
        f"L ({sex}) = {b.age} × ln({age_years:.6g}) + {b.cholesterol} × "
        f"ln({total_cholesterol_mg_dl:.6g}) + ({b.hdl}) × ln({hdl_mg_dl:.6g}) + {b.systolic} × "
        f"ln({systolic_mm_hg:.6g}){f' + {b.treated} (treated)' if treated else ''}"
        f"{f' + {b.smoker} + ({b.age_smoker}) × ln({capped:.6g}) (smoker)' if smoker else ''} + "
        f"({b.age_cholesterol}) × ln({age_years:.6g}) × ln({total_cholesterol_mg_dl:.6g}) + "
        f"({b.age_squared}) × ln({age_years:.6g})² + ({b.constant}) = {terms:.6g}."
    )
    risk: float = 100 * (1 - b.survival ** math.exp(terms))
    say(
        f"Risk = 100 × (1 − {b.survival}^exp(L)) = 100 × (1 − {b.survival}^{math.exp(terms):.6g}) "
        f"= {risk:.6g} %."
    )

    return risk


def _rr_seconds(heart_rate_per_min: float, say: Say) -> float:
    rr = 60 / heart_rate_per_min
    say(f"RR = 60 / heart rate = 60 / {heart_rate_per_min:.6g} = {rr:.6g} s.")
    return rr


@calculator(source="Bazett HC. Heart 1920;7:353-370.")
def qtc_bazett(*, qt_ms: float, heart_rate_per_min: float, say: Say = quiet) -> float:
    """QTc in ms: QT / √RR, RR in seconds."""
    rr = _rr_seconds(heart_rate_per_min, say)
    corrected = qt_ms / math.sqrt(rr)
    say(f"QTc = QT / √RR = {qt_ms:.6g} / √{rr:.6g} = {corrected:.6g} msec.")
    return corrected


@calculator(source="Fridericia LS. Acta Med Scand 1920;53:469-486.")
def qtc_fridericia(
    *, qt_ms: float, heart_rate_per_min: float, say: Say = quiet
) -> float:
    """QTc in ms: QT / RR^(1/3), RR in seconds."""
    rr = _rr_seconds(heart_rate_per_min, say)
    corrected = qt_ms / math.cbrt(rr)
    say(f"QTc = QT / RR^(1/3) = {qt_ms:.6g} / {rr:.6g}^(1/3) = {corrected:.6g} msec.")
    return corrected


@calculator(source="Sagie A et al. Am J Cardiol 1992;70:797-801.")
def qtc_framingham(
    *, qt_ms: float, heart_rate_per_min: float, say: Say = quiet
) -> float:
    """QTc in ms: QT + 154 · (1 − RR), RR in seconds."""
    rr = _rr_seconds(heart_rate_per_min, say)
    corrected = qt_ms + 154 * (1 - rr)
    say(
        f"QTc = QT + 154 × (1 − RR) = {qt_ms:.6g} + 154 × (1 − {rr:.6g}) = {corrected:.6g} msec."
    )
    return corrected


@calculator(source="Hodges M et al. J Am Coll Cardiol 1983;1:694.")
def qtc_hodges(*, qt_ms: float, heart_rate_per_min: float, say: Say = quiet) -> float:
    """QTc in ms: QT + 1.75 · (heart rate − 60)."""
    corrected = qt_ms + 1.75 * (heart_rate_per_min - 60)
    say(
        f"QTc = QT + 1.75 × (heart rate − 60) = {qt_ms:.6g} + 1.75 × ({heart_rate_per_min:.6g} − "
        f"60) = {corrected:.6g} msec."
    )
    return corrected


@calculator(source="Rautaharju PM et al. J Am Coll Cardiol 1993;22:1779-1786.")
def qtc_rautaharju(
    *, qt_ms: float, heart_rate_per_min: float, say: Say = quiet
) -> float:
    """QTc in ms: QT · (120 + heart rate) / 180."""
    # Also in J Electrocardiol 1990;23(Suppl):111-117, as the QT index.
    corrected = qt_ms * (120 + heart_rate_per_min) / 180
    say(
        f"QTc = QT × (120 + heart rate) / 180 = {qt_ms:.6g} × (120 + {heart_rate_per_min:.6g}) / "
        f"180 = {corrected:.6g} msec."
    )
    return corrected
