"""Bleeding: risk under anticoagulation, and need of treatment in the upper gut."""

from __future__ import annotations

from typing import Final

from medical_tasks.calculators.bands import Bands
from medical_tasks.calculators.base import Valid, calculator
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.calculators.labs import BUN_MG_DL, HEMOGLOBIN_G_DL
from medical_tasks.calculators.measures import Measure
from medical_tasks.calculators.patient import AGE, HEART_RATE, SEX, SYSTOLIC, Sex, flag
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["glasgow_blatchford", "has_bled"]

_DRINKS: Final = Quantity(
    parameter="drinks_per_week",
    name="Number of Alcoholic Drinks Per Week",
    aliases=("drinks per week", "alcohol"),
    measure=Measure(unit="drinks/week", low=0, high=700, accepts=("drinks/day",)),
)
_HAS_BLED_AGE: Final = Bands("Age", "", under=0, steps=((">", 65, 1),))
_HAS_BLED_DRINKS: Final = Bands("Alcohol", "drinks per week", under=0, steps=((">=", 8, 1),))


@calculator(
    id=25,
    name="HAS-BLED Score for Major Bleeding Risk",
    category="risk",
    output="integer",
    inputs=(
        flag("hypertension", "Hypertension history", "Hypertension"),
        flag("renal_disease", "Renal disease criteria for the HAS-BLED rule", "renal disease"),
        flag("liver_disease", "Liver disease criteria for the HAS-BLED rule", "liver disease"),
        flag("stroke", "Stroke", "Stroke history"),
        flag("bleeding", "Prior major bleeding or predisposition to bleeding", "prior bleeding"),
        flag("labile_inr", "Labile international normalized ratio", "Labile INR"),
        AGE,
        flag("medication", "Medication usage predisposing to bleeding", "medication"),
        _DRINKS,
    ),
    source="Pisters R et al. Chest 2010;138:1093-1100.",
    aliases=("HAS-BLED",),
    valid=(Valid(parameter="age_years", low=18, source="Euro Heart Survey, Pisters 2010: patients of 18 and over"),),
)
def has_bled(
    *,
    hypertension: bool,
    renal_disease: bool,
    liver_disease: bool,
    stroke: bool,
    bleeding: bool,
    labile_inr: bool,
    age_years: float,
    medication: bool,
    drinks_per_week: float,
    say: Say = quiet,
) -> int:
    """HAS-BLED score, 0 to 9.

    One each: (uncontrolled) hypertension; abnormal renal function; abnormal liver function; stroke; major bleeding or a
    predisposition; labile INR; age over 65; antiplatelets or NSAIDs; 8 or more alcoholic drinks a week.

    Source: Pisters et al., Chest 2010;138:1093-1100.
    """
    points = Points(say)
    points.flag("Hypertension", hypertension)
    points.flag("Renal disease", renal_disease)
    points.flag("Liver disease", liver_disease)
    points.flag("Stroke", stroke)
    points.flag("Major bleeding or predisposition", bleeding)
    points.flag("Labile INR", labile_inr)
    _HAS_BLED_AGE.count(age_years, points)
    points.flag("Medication predisposing to bleeding", medication)
    _HAS_BLED_DRINKS.count(drinks_per_week, points)
    return points.score


_GBS_BUN: Final = Bands("BUN", "mg/dL", under=0, steps=((">=", 18.2, 2), (">=", 22.4, 3), (">=", 28, 4), (">=", 70, 6)))
_GBS_HEMOGLOBIN: Final = {
    "male": Bands("Hemoglobin (male)", "g/dL", under=6, steps=((">=", 10, 3), (">=", 12, 1), (">=", 13, 0))),
    "female": Bands("Hemoglobin (female)", "g/dL", under=6, steps=((">=", 10, 1), (">=", 12, 0))),
}
_GBS_SYSTOLIC: Final = Bands(
    "Systolic blood pressure", "mm Hg", under=3, steps=((">=", 90, 2), (">=", 100, 1), (">=", 110, 0))
)
_GBS_HEART_RATE: Final = Bands("Heart rate", "", under=0, steps=((">=", 100, 1),))


@calculator(
    id=27,
    name="Glasgow-Blatchford Bleeding Score (GBS)",
    category="risk",
    output="integer",
    inputs=(
        BUN_MG_DL,
        SEX,
        HEMOGLOBIN_G_DL,
        SYSTOLIC,
        HEART_RATE,
        flag("melena", "Melena present", "melena"),
        flag("syncope", "Recent syncope", "syncope"),
        flag("hepatic_disease", "Hepatic disease history", "hepatic disease"),
        flag("cardiac_failure", "Cardiac failure present", "cardiac failure"),
    ),
    source="Blatchford O et al. Lancet 2000;356:1318-1321.",
    aliases=("GBS", "Glasgow-Blatchford", "Blatchford"),
)
def glasgow_blatchford(
    *,
    bun_mg_dl: float,
    sex: Sex,
    hemoglobin_g_dl: float,
    systolic_mm_hg: float,
    heart_rate_per_min: float,
    melena: bool,
    syncope: bool,
    hepatic_disease: bool,
    cardiac_failure: bool,
    say: Say = quiet,
) -> int:
    """Glasgow-Blatchford bleeding score, 0 to 23.

    BUN from 18.2 mg/dL (6.5 mmol/L of urea) 2, from 22.4 (8) 3, from 28 (10) 4, from 70 (25) 6. Hemoglobin in men 12 to
    under 13 g/dL 1, 10 to under 12 3, under 10 6; in women 10 to under 12 1, under 10 6. Systolic pressure 100 to 109
    mm Hg 1, 90 to 99 2, under 90 3. Heart rate 100 or more 1; melena 1; syncope, hepatic disease, cardiac failure 2
    each.

    Source: Blatchford et al., Lancet 2000;356:1318-1321.
    """
    points = Points(say)
    _GBS_BUN.count(bun_mg_dl, points)
    _GBS_HEMOGLOBIN[sex].count(hemoglobin_g_dl, points)
    _GBS_SYSTOLIC.count(systolic_mm_hg, points)
    _GBS_HEART_RATE.count(heart_rate_per_min, points)
    points.flag("Melena", melena)
    points.flag("Recent syncope", syncope, 2)
    points.flag("Hepatic disease", hepatic_disease, 2)
    points.flag("Cardiac failure", cardiac_failure, 2)
    return points.score
