"""Burden of comorbid disease."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.bands import Bands
from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.inputs import Choice, Flag
from medical_tasks.calculators.patient import AGE, flag
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["Diabetes", "LiverDisease", "Tumor", "charlson"]

LiverDisease: TypeAlias = Literal["none", "mild", "moderate to severe"]
Diabetes: TypeAlias = Literal["none or diet-controlled", "uncomplicated", "end-organ damage"]
Tumor: TypeAlias = Literal["none", "localized", "metastatic"]

_LIVER: Final[Choice] = Choice(
    parameter="liver_disease",
    name="Liver disease severity",
    aliases=("Liver disease",),
    words=MappingProxyType(
        {
            "None": "none",
            "False": "none",
            "no": "none",
            "absent": "none",
            "Mild": "mild",
            "Moderate to Severe": "moderate to severe",
            "Moderate": "moderate to severe",
            "Severe": "moderate to severe",
        }
    ),
).optional("none")
_DIABETES: Final[Choice] = Choice(
    parameter="diabetes",
    name="Diabetes mellitus",
    aliases=("Diabetes mellitus criteria for CCI rule", "diabetes"),
    words=MappingProxyType(
        {
            "None or diet-controlled": "none or diet-controlled",
            "None": "none or diet-controlled",
            "diet-controlled": "none or diet-controlled",
            "False": "none or diet-controlled",
            "no": "none or diet-controlled",
            "absent": "none or diet-controlled",
            "Uncomplicated": "uncomplicated",
            "True": "uncomplicated",  # the least that "diabetes: yes" can mean here
            "End-organ damage": "end-organ damage",
        }
    ),
).optional("none or diet-controlled")
_TUMOR: Final[Choice] = Choice(
    parameter="solid_tumor",
    name="Solid tumor",
    aliases=("tumor",),
    words=MappingProxyType(
        {
            "None": "none",
            "False": "none",
            "no": "none",
            "absent": "none",
            "Localized": "localized",
            "True": "localized",  # the least that "solid tumor: yes" can mean
            "yes": "localized",
            "Metastatic": "metastatic",
        }
    ),
).optional("none")
_KIDNEY: Final = Flag(
    parameter="kidney_disease",
    name="Moderate to severe Chronic Kidney Disease",
    aliases=("Chronic Kidney Disease", "CKD"),
    yes=frozenset({"moderate", "severe", "moderatetosevere"}),
    no=frozenset({"mild"}),
)
_LIVER_POINTS: Final = MappingProxyType({"none": 0, "mild": 1, "moderate to severe": 3})
_DIABETES_POINTS: Final = MappingProxyType({"none or diet-controlled": 0, "uncomplicated": 1, "end-organ damage": 2})
_TUMOR_POINTS: Final = MappingProxyType({"none": 0, "localized": 2, "metastatic": 6})
_AGE: Final = Bands("Age", "", under=0, steps=((">=", 50, 1), (">=", 60, 2), (">=", 70, 3), (">=", 80, 4)))


@calculator(
    id=32,
    name="Charlson Comorbidity Index (CCI)",
    category="risk",
    output="integer",
    inputs=(
        AGE,
        flag("myocardial_infarction", "Myocardial infarction"),
        flag("heart_failure", "Congestive Heart Failure", "CHF"),
        flag("peripheral_vascular_disease", "Peripheral vascular disease"),
        flag("cerebrovascular_accident", "Cerebrovascular Accident", "CVA", "Stroke"),
        flag("transient_ischemic_attack", "Transient Ischemic Attacks History", "TIA"),
        flag("dementia", "Dementia"),
        flag("chronic_pulmonary_disease", "Chronic Pulmonary Disease", "Chronic Obstructive Pulmonary Disease", "COPD"),
        flag("connective_tissue_disease", "Connective tissue disease"),
        flag("peptic_ulcer", "Peptic ulcer disease"),
        _LIVER,
        _DIABETES,
        flag("hemiplegia", "Hemiplegia"),
        _KIDNEY,
        _TUMOR,
        flag("leukemia", "Leukemia"),
        flag("lymphoma", "Lymphoma"),
        flag("aids", "AIDS"),
    ),
    source="Charlson ME et al. J Chronic Dis 1987;40:373-383; age: Charlson M et al. J Clin Epidemiol 1994;47:1245-1251.",
    aliases=("CCI", "Charlson Comorbidity Index"),
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

    Age 50 to 59 1, 60 to 69 2, 70 to 79 3, 80 or more 4. One each: myocardial infarction, heart failure, peripheral
    vascular disease, cerebrovascular accident or transient ischemic attack (together), dementia, chronic pulmonary
    disease, connective tissue disease, peptic ulcer. Liver disease mild 1, moderate to severe 3. Diabetes uncomplicated
    1, with end-organ damage 2. Two each: hemiplegia, moderate to severe kidney disease, leukemia, lymphoma. Solid tumor
    localized 2, metastatic 6. AIDS 6.

    Source: Charlson et al., J Chronic Dis 1987;40:373-383; age as in J Clin Epidemiol 1994;47:1245-1251.
    """
    points = Points(say)
    _AGE.count(age_years, points)
    points.flag("Myocardial infarction", myocardial_infarction)
    points.flag("Congestive heart failure", heart_failure)
    points.flag("Peripheral vascular disease", peripheral_vascular_disease)
    points.flag(
        "Cerebrovascular accident or transient ischemic attack", cerebrovascular_accident or transient_ischemic_attack
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
