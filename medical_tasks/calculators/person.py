"""The person: body size, dates of pregnancy, burden of comorbid disease."""

from __future__ import annotations

import datetime
import math
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.shared_inputs import Sex
from medical_tasks.calculators.steps import Bands, Points, Say, quiet
from medical_tasks.calculators.units import CalculatorInputError


@calculator(source="Quetelet index; WHO Technical Report Series 894 (2000).")
def body_mass_index(*, weight_kg: float, height_cm: float, say: Say = quiet) -> float:
    """Body mass index in kg/m²: weight / height²."""
    # one division, so that a BMI of exactly 25 stays 25
    index = weight_kg * 10_000 / (height_cm * height_cm)
    say(
        f"BMI = weight / height² = {weight_kg:.6g} kg / ({height_cm / 100:.6g} m)² = {index:.6g} "
        "kg/m^2."
    )
    return index


@calculator(source="Devine BJ. Drug Intell Clin Pharm 1974;8:650-655.")
def ideal_body_weight(*, sex: Sex, height_cm: float, say: Say = quiet) -> float:
    """Ideal body weight in kg: 50 (men) or 45.5 (women) + 2.3 for each inch of height over 60.

    Below 60 inches the formula goes on downward; the paper gives no floor.
    """
    base = 50.0 if sex == "male" else 45.5
    inches = height_cm / 2.54
    weight = base + 2.3 * (inches - 60)
    say(f"Height = {height_cm:.6g} cm / 2.54 = {inches:.6g} in.")
    say(f"IBW ({sex}) = {base:g} + 2.3 × ({inches:.6g} − 60) = {weight:.6g} kg.")
    return weight


@calculator(
    source="Bauer LA et al. Eur J Clin Pharmacol 1983;24:643-647; ideal weight by Devine (1974)."
)
def adjusted_body_weight(
    *, sex: Sex, weight_kg: float, height_cm: float, say: Say = quiet
) -> float:
    """Adjusted body weight in kg: IBW + 0.4 · (weight − IBW), with Devine's IBW."""
    ideal = ideal_body_weight(sex=sex, height_cm=height_cm, say=say)
    weight = ideal + 0.4 * (weight_kg - ideal)
    say(
        f"ABW = IBW + 0.4 × (weight − IBW) = {ideal:.6g} + 0.4 × ({weight_kg:.6g} − {ideal:.6g}) = "
        f"{weight:.6g} kg."
    )
    return weight


@calculator(source="Mosteller RD. N Engl J Med 1987;317:1098.")
def body_surface_area(*, weight_kg: float, height_cm: float, say: Say = quiet) -> float:
    """Body surface area in m²: √(height cm · weight kg / 3600)."""
    area = math.sqrt(weight_kg * height_cm / 3600)
    say(
        f"BSA = √(weight × height / 3600) = √({weight_kg:.6g} kg × {height_cm:.6g} cm / 3600) = "
        f"{area:.6g} m^2."
    )
    return area


@calculator(
    source="Body mass index (WHO Technical Report Series 894, 2000) solved for weight."
)
def target_weight(*, bmi_kg_m2: float, height_cm: float, say: Say = quiet) -> float:
    """Weight in kg at which a person of this height has the wanted BMI: BMI · height²."""
    metres = height_cm / 100
    weight = bmi_kg_m2 * metres * metres
    say(
        f"Weight = BMI × height² = {bmi_kg_m2:.6g} kg/m^2 × ({metres:.6g} m)² = {weight:.6g} kg."
    )
    return weight


_LONGEST_PREGNANCY_DAYS: Final = 375  # the longest on record (Time, 5 March 1945)


@calculator(
    source="Naegele's rule with cycle length; ACOG Committee Opinion 700 (2017)."
)
def due_date(
    *, last_menstrual_date: datetime.date, cycle_length_days: float, say: Say = quiet
) -> datetime.date:
    """Due date: last menstrual date + 280 days + (cycle length − 28) days."""
    shift = _whole(cycle_length_days) - 28
    due = last_menstrual_date + datetime.timedelta(days=280 + shift)
    say(
        f"Due date = {last_menstrual_date:%m/%d/%Y} + 280 days + ({shift + 28} − 28) days = "
        f"{due:%m/%d/%Y}."
    )
    return due


def _whole(days: float) -> int:
    if days != int(days):
        raise CalculatorInputError(f"cycle length: expected whole days, got {days:g}")
    return int(days)


@calculator(
    source="Ovulation 14 days after the last menstrual date; ACOG Committee Opinion 700 (2017)."
)
def conception_date(
    *, last_menstrual_date: datetime.date, say: Say = quiet
) -> datetime.date:
    """Date of conception: last menstrual date + 14 days.

    The rule is that of a 28-day cycle; a stated cycle length does not enter it.
    """
    day = last_menstrual_date + datetime.timedelta(days=14)
    say(f"Conception = {last_menstrual_date:%m/%d/%Y} + 14 days = {day:%m/%d/%Y}.")
    return day


@calculator(
    source="Days since the last menstrual date; ACOG Committee Opinion 700 (2017)."
)
def gestational_age(
    *, current_date: datetime.date, last_menstrual_date: datetime.date, say: Say = quiet
) -> tuple[int, int]:
    """Gestational age as (weeks, days) since the last menstrual date.

    Raises:
        CalculatorInputError: the current date is before the last menstrual date, or
            later than any pregnancy lasts.
    """
    days = (current_date - last_menstrual_date).days
    if not 0 <= days <= _LONGEST_PREGNANCY_DAYS:
        raise CalculatorInputError(
            f"Current Date: expected 0 to {_LONGEST_PREGNANCY_DAYS} days after the last menstrual "
            f"date; got {current_date:%m/%d/%Y} and {last_menstrual_date:%m/%d/%Y}, {days} days "
            "apart: are they swapped?"
        )

    weeks, rest = divmod(days, 7)
    say(
        f"{current_date:%m/%d/%Y} − {last_menstrual_date:%m/%d/%Y} = {days} days = {weeks} weeks "
        f"and {rest} days."
    )
    return weeks, rest


LiverDisease: TypeAlias = Literal["none", "mild", "moderate to severe"]
Diabetes: TypeAlias = Literal[
    "none or diet-controlled", "uncomplicated", "end-organ damage"
]
Tumor: TypeAlias = Literal["none", "localized", "metastatic"]

_LIVER_POINTS: Final = {"none": 0, "mild": 1, "moderate to severe": 3}
_DIABETES_POINTS: Final = {
    "none or diet-controlled": 0,
    "uncomplicated": 1,
    "end-organ damage": 2,
}
_TUMOR_POINTS: Final = {"none": 0, "localized": 2, "metastatic": 6}
_AGE: Final = Bands("Age", "", 0, (50, 1), (60, 2), (70, 3), (80, 4))


@calculator(
    source="Charlson ME et al. J Chronic Dis 1987;40:373-383; age: Charlson M et al. J Clin Epidemiol 1994;47:1245-1251.",
)
def charlson(
    *,
    age_years: float,
    myocardial_infarction: bool,
    heart_failure: bool,
    peripheral_vascular_disease: bool,
    cerebrovascular_accident: bool,
    transient_ischemic_attack: bool,
    dementia: bool,
    chronic_pulmonary_disease: bool,
    connective_tissue_disease: bool,
    peptic_ulcer: bool,
    liver_disease: LiverDisease,
    diabetes: Diabetes,
    hemiplegia: bool,
    kidney_disease: bool,
    solid_tumor: Tumor,
    leukemia: bool,
    lymphoma: bool,
    aids: bool,
    say: Say = quiet,
) -> int:
    """Charlson comorbidity index with its age points, 0 to 37.

    Age 50 to 59 1, 60 to 69 2, 70 to 79 3, 80 or more 4. One each: myocardial
    infarction, heart failure, peripheral vascular disease, cerebrovascular accident or
    transient ischemic attack (together), dementia, chronic pulmonary disease,
    connective tissue disease, peptic ulcer. Liver disease mild 1, moderate to severe 3.
    Diabetes uncomplicated 1, with end-organ damage 2. Two each: hemiplegia, moderate to
    severe kidney disease, leukemia, lymphoma. Solid tumor localized 2, metastatic 6.
    AIDS 6.
    """
    points = Points(say)
    _AGE.count(age_years, points)
    points.flag("Myocardial infarction", myocardial_infarction)
    points.flag("Congestive heart failure", heart_failure)
    points.flag("Peripheral vascular disease", peripheral_vascular_disease)
    points.flag(
        "Cerebrovascular accident or transient ischemic attack",
        cerebrovascular_accident or transient_ischemic_attack,
    )
    points.flag("Dementia", dementia)
    points.flag("Chronic pulmonary disease", chronic_pulmonary_disease)
    points.flag("Connective tissue disease", connective_tissue_disease)
    points.flag("Peptic ulcer disease", peptic_ulcer)
    points.add(f"Liver disease {liver_disease}", _LIVER_POINTS[liver_disease])
    points.add(f"Diabetes {diabetes}", _DIABETES_POINTS[diabetes])
    points.flag("Hemiplegia", hemiplegia, 2)
    points.flag("Moderate to severe chronic kidney disease", kidney_disease, 2)
    points.add(f"Solid tumor {solid_tumor}", _TUMOR_POINTS[solid_tumor])
    points.flag("Leukemia", leukemia, 2)
    points.flag("Lymphoma", lymphoma, 2)
    points.flag("AIDS", aids, 6)

    return points.score
