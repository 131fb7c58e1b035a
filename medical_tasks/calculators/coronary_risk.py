"""Coronary heart disease: ten-year risk of a hard event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from medical_tasks.calculators.base import Valid, calculator
from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.labs import HDL_MG_DL, TOTAL_CHOLESTEROL_MG_DL
from medical_tasks.calculators.patient import AGE, SEX, SYSTOLIC, Sex, flag
from medical_tasks.calculators.trace import Say, quiet

__all__ = ["MEN", "WOMEN", "Coefficients", "framingham_risk"]


@dataclass(frozen=True, kw_only=True)
class Coefficients:
    """The equation of one sex: a factor for each term of the sum, its constant, and the baseline survival."""

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
    id=46,
    name="Framingham Risk Score for Hard Coronary Heart Disease",
    category="lab",
    output="decimal",
    unit="%",
    inputs=(
        SEX,
        AGE,
        TOTAL_CHOLESTEROL_MG_DL,
        HDL_MG_DL,
        SYSTOLIC.within(40, 400),
        flag("treated", "Blood pressure being treated with medicines", "treated blood pressure"),
        flag("smoker", "Smoker", "smoking"),
    ),
    source="National Cholesterol Education Program, Adult Treatment Panel III (2001); Circulation 2002;106:3143-3421.",
    aliases=("Framingham",),
    valid=(Valid(parameter="age_years", low=20, high=79, source="ATP III: ages 20 to 79"),),
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

    L is a sum over ln(age), ln(total cholesterol), ln(HDL), ln(systolic pressure), treatment, smoking, ln(age) ·
    ln(cholesterol), ln(age) · smoking with the age capped at 70 (men) or 78 (women), ln(age)² for men, and a constant;
    S₀ is 0.9402 for men and 0.98767 for women. Cholesterol in mg/dL.

    Source: ATP III (2001).

    Raises:
        CalculatorInputError: the age is 0, which has no logarithm.
    """
    if age_years <= 0:
        raise CalculatorInputError(f"age: the risk equation needs an age above 0; got {age_years:g} years")
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
        f"L ({sex}) = {b.age} × ln({age_years:.6g}) + {b.cholesterol} × ln({total_cholesterol_mg_dl:.6g}) + ({b.hdl}) × "
        f"ln({hdl_mg_dl:.6g}) + {b.systolic} × ln({systolic_mm_hg:.6g}){f' + {b.treated} (treated)' if treated else ''}"
        f"{f' + {b.smoker} + ({b.age_smoker}) × ln({capped:.6g}) (smoker)' if smoker else ''} + ({b.age_cholesterol}) × "
        f"ln({age_years:.6g}) × ln({total_cholesterol_mg_dl:.6g}) + ({b.age_squared}) × ln({age_years:.6g})² + "
        f"({b.constant}) = {terms:.6g}."
    )
    risk: float = 100 * (1 - b.survival ** math.exp(terms))
    say(f"Risk = 100 × (1 − {b.survival}^exp(L)) = 100 × (1 − {b.survival}^{math.exp(terms):.6g}) = {risk:.6g} %.")
    return risk
