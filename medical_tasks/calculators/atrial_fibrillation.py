"""Atrial fibrillation: risk of stroke."""

from __future__ import annotations

from medical_tasks.calculators.base import Valid, calculator
from medical_tasks.calculators.patient import AGE, SEX, Sex, flag
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["cha2ds2_vasc"]


@calculator(
    id=4,
    name="CHA2DS2-VASc Score for Atrial Fibrillation Stroke Risk",
    category="risk",
    output="integer",
    inputs=(
        AGE,
        SEX,
        flag("heart_failure", "Congestive Heart Failure", "CHF"),
        flag("hypertension", "Hypertension history"),
        flag("diabetes", "Diabetes history"),
        flag("stroke", "Stroke"),
        flag("transient_ischemic_attack", "Transient Ischemic Attacks History", "TIA"),
        flag("thromboembolism", "Thromboembolism history"),
        flag("vascular_disease", "Vascular disease history"),
    ),
    source="Lip GYH et al. Chest 2010;137:263-272.",
    aliases=("CHA2DS2-VASc",),
    valid=(Valid(parameter="age_years", low=18, source="Euro Heart Survey, Lip 2010: patients of 18 and over"),),
)
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

    Age 75 or more 2, 65 to 74 1; female 1; heart failure, hypertension, diabetes and vascular disease 1 each; stroke,
    transient ischemic attack or thromboembolism 2 together.

    Source: Lip et al., Chest 2010;137:263-272.
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
