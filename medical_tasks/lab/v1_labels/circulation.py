"""Heart, vessels, clots and bleeding.

Corrected QT intervals ignore the units of heart rate and QT.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final

import medical_tasks.lab.v1_labels.entities as compounds
from medical_tasks.lab.v1_labels.chemistry import creatinine_mg_dl
from medical_tasks.lab.v1_labels.entities import (
    Entities,
    concentration,
    positive,
    round_v1,
)
from medical_tasks.lab.v1_labels.person import age_years
from medical_tasks.lab.v1_labels.rules import CREATININE_STEPS, rule

_STROKES: Final = (
    "Stroke",
    "Transient Ischemic Attacks History",
    "Thromboembolism history",
)
_HISTORY: Final = {
    "Slightly suspicious": 0,
    "Moderately suspicious": 1,
    "Highly suspicious": 2,
}
_ECG: Final = {
    "Normal": 0,
    "Non-specific repolarization disturbance": 1,
    "Significant ST deviation": 2,
}
_TROPONIN: Final = {
    "less than or equal to normal limit": 0,
    "between the normal limit or up to three times the normal limit": 1,
    "greater than three times normal limit": 2,
}
_HEART_FACTORS: Final = (
    "hypercholesterolemia",
    "obesity",
    "smoking",
    "parent or sibling with Cardiovascular disease before age 65",
    "atherosclerotic disease",
)
_BLEEDING_FACTORS: Final = (
    "Liver disease criteria for the HAS-BLED rule",
    "Renal disease criteria for the HAS-BLED rule",
    "Stroke",
    "Prior major bleeding or predisposition to bleeding",
    "Labile international normalized ratio",
    "Medication usage predisposing to bleeding",
)
_CARDIAC_RISKS: Final = (
    "Elevated-risk surgery",
    "History of ischemic heart disease",
    "Congestive Heart Failure criteria for the Cardiac Risk Index rule",
    "Pre-operative treatment with insulin",
)
_CREATININE: Final = "Pre-operative creatinine"


@rule(5, "Mean Arterial Pressure (MAP)")
def mean_arterial_pressure(entities: Entities) -> float:
    """SBP / 3 + 2 · DBP / 3."""
    systolic = entities.first("Systolic Blood Pressure")
    return round_v1(2 * entities.first("Diastolic Blood Pressure") / 3 + systolic / 3)


@rule(4, "CHA2DS2-VASc Score for Atrial Fibrillation Stroke Risk")
def cha2ds2_vasc(entities: Entities) -> int:
    """As published; any sex that is not `female` counts as male."""
    age = age_years(entities)
    points = 2 if age >= 75 else 1 if age >= 65 else 0
    points += entities.stated_sex().lower() == "female"
    points += entities.count(
        ("Congestive Heart Failure", "Hypertension history", "Vascular disease history")
    )
    return (
        points
        + entities.flag("Diabetes history")
        + (2 if entities.count(_STROKES) else 0)
    )


@rule(
    17,
    "Revised Cardiac Risk Index for Pre-Operative Risk",
    quirk=f"history of cerebrovascular disease is not counted; {CREATININE_STEPS}",
)
def revised_cardiac_risk(entities: Entities) -> int:
    """Cerebrovascular disease is never counted, and creatinine is required."""
    if entities.flag("History of cerebrovascular disease"):
        entities.note("cerebrovascular disease not counted")
    return entities.count(_CARDIAC_RISKS) + (
        creatinine_mg_dl(entities, _CREATININE) > 2
    )


@rule(
    18,
    "HEART Score for Major Cardiac Events",
    quirk=(
        "known atherosclerotic disease is one risk factor instead of 2 points by itself; TIA "
        "is ignored"
    ),
)
def heart_score(entities: Entities) -> int:
    """Atherosclerotic disease is one risk factor among seven, and TIA none."""
    points = entities.word("Suspicion History", _HISTORY, default="Slightly suspicious")
    points += entities.word("Electrocardiogram Test", _ECG, default="Normal")
    points += entities.word(
        "Initial troponin", _TROPONIN, default="less than or equal to normal limit"
    )
    age = age_years(entities)
    points += 0 if age < 45 else 1 if age < 65 else 2
    factors = entities.count(_HEART_FACTORS) + entities.flag(
        "Hypertension history", "Hypertension"
    )
    factors += entities.flag(
        "Diabetes mellitus criteria for CCI rule", "Diabetes mellitus"
    )
    if factors < 3 and entities.count(
        ("atherosclerotic disease", "Transient Ischemic Attacks History")
    ):
        entities.note("atherosclerotic disease or TIA does not give 2 points by itself")

    return points + (0 if factors == 0 else 1 if factors <= 2 else 2)


@rule(25, "HAS-BLED Score for Major Bleeding Risk")
def has_bled(entities: Entities) -> int:
    """As published; the number of drinks is required."""
    drinks = entities.bare("Number of Alcoholic Drinks Per Week")
    points = (age_years(entities) > 65) + (drinks >= 8)
    return (
        points
        + entities.count(_BLEEDING_FACTORS)
        + entities.flag("Hypertension history", "Hypertension")
    )


@rule(
    46,
    "Framingham Risk Score for Hard Coronary Heart Disease",
    quirk=(
        "cholesterol is taken in mmol/L instead of mg/dL, and the risk left as a fraction "
        "with 1 decimal"
    ),
)
def framingham_risk(entities: Entities) -> float:
    """Cholesterol in mmol/L instead of mg/dL; exponent and risk are rounded to 1 decimal."""
    age, sex = positive(age_years(entities), "age"), entities.sex()
    smoker, treated = (
        entities.flag("Smoker"),
        entities.flag("Blood pressure being treated with medicines"),
    )
    pressure = positive(
        entities.first("Systolic Blood Pressure"), "Systolic Blood Pressure"
    )
    total = _cholesterol(entities, "Total cholesterol")
    hdl = _cholesterol(entities, "high-density lipoprotein cholesterol")
    entities.note(
        "cholesterol taken in mmol/L, and the risk left as a fraction with 1 decimal"
    )
    ln_age, ln_total = math.log(age), math.log(total)
    if sex == "Male":
        exponent = (
            52.00961 * ln_age + 20.014077 * ln_total
            - 0.905964 * math.log(hdl) + 1.305784 * math.log(pressure)
            + 0.241549 * treated + 12.096316 * smoker - 4.605038 * (ln_age * ln_total)
            - 2.84367 * (math.log(min(age, 70)) * smoker) - 2.93323 * (ln_age * ln_age) - 172.300168
        )  # fmt: skip
        base = 0.9402
    else:
        exponent = (
            31.764001 * ln_age + 22.465206 * ln_total
            - 1.187731 * math.log(hdl) + 2.552905 * math.log(pressure)
            + 0.420251 * treated + 13.07543 * smoker - 5.060998 * (ln_age * ln_total)
            - 2.996945 * (math.log(min(age, 78)) * smoker) - 146.5933061
        )  # fmt: skip
        base = 0.98767

    survival: float = base ** math.exp(round(exponent, 1))
    return round(1 - survival, 1)


def _cholesterol(entities: Entities, name: str) -> float:
    return positive(
        concentration(entities, name, compounds.CHOLESTEROL_FRAMINGHAM, "mmol/L"), name
    )


def _rate(entities: Entities) -> float:
    return positive(entities.first("Heart Rate or Pulse"), "Heart Rate or Pulse")


def corrected_qt(entities: Entities, formula: Callable[[float, float], float]) -> float:
    """A formula of QT in ms and RR in s; RR is rounded first, which gives 0 for no real rate."""
    rr = round_v1(60 / _rate(entities))
    return round_v1(formula(entities.first("QT interval"), rr))


rule(11, "QTc Bazett Calculator")(
    partial(corrected_qt, formula=lambda qt, rr: qt / math.sqrt(rr))
)
rule(56, "QTc Fridericia Calculator")(
    partial(corrected_qt, formula=lambda qt, rr: qt / rr ** (1 / 3))
)
rule(57, "QTc Framingham Calculator")(
    partial(corrected_qt, formula=lambda qt, rr: qt + 154 * (1 - rr))
)
rule(58, "QTc Hodges Calculator")(
    partial(corrected_qt, formula=lambda qt, rr: qt + 1.75 * (60 / rr - 60))
)


@rule(59, "QTc Rautaharju Calculator")
def rautaharju(entities: Entities) -> float:
    """QT · (120 + rate) / 180."""
    return round_v1(entities.first("QT interval") * (120 + _rate(entities)) / 180)


_PREVIOUS: Final = (
    "Previously documented Deep Vein Thrombosis",
    "Previously Documented Pulmonary Embolism",
)
_DVT_FINDINGS: Final = (
    "Active cancer",
    "Calf swelling >3 centimeters compared to the other leg",
    "Collateral (nonvaricose) superficial veins present",
    "Entire Leg Swollen",
    "Localized tenderness along the deep venous system",
    "Pitting edema, confined to symptomatic leg",
    "Paralysis, paresis, or recent plaster immobilization of the lower extremity",
    "Previously documented Deep Vein Thrombosis",
)
_BEDRIDDEN: Final = (
    "Bedridden recently >3 days or major surgery within 12 weeks",
    "Bedridden recently >3 days",
)
_SURGERY: Final = {
    "none": 0,
    "minor": 1,
    "major": 2,
    "laparoscopic": 2,
    "arthroscopic": 2,
    "elective major lower extremity arthroplasty": 5,
}
_MOBILITY: Final = {"normal": 0, "on bed rest": 1, "confined to bed >72 hours": 2}
_CAPRINI_UNCOUNTED: Final = (
    "Major Surgery in the last month",
    "Congestive Heart Failure in the last month",
    "Sepsis in the last month",
    "Pneumonia in the last month",
    "Immobilizing plaster cast in the last month",
    "Hip, pelvis, or leg fracture in the last month",
    "Stroke in the last month",
    "Multiple trauma in the last month",
    "Acute spinal cord injury causing paralysis in the last month",
    "Varicose veins",
    "Current swollen legs",
    "Current central venous access",
    *_PREVIOUS,
    "Family history of thrombosis",
    "Positive Factor V Leiden",
    "Positive prothrombin 20210A",
    "Elevated serum homocysteine",
    "Positive lupus anticoagulant",
    "Elevated anticardiolipin antibody",
    "Heparin-induced thrombocytopenia",
    "Other congenital or acquired thrombophilia",
    "History of inflammatory bowel disease",
    "Acute Myocardial infarction",
    "Chronic Obstructive Pulmonary Disease",
    "Present or previous malignancy",
)


@rule(8, "Wells' Criteria for Pulmonary Embolism")
def wells_pe(entities: Entities) -> float:
    """As published; only the heart rate is required."""
    score = 1.5 if entities.first("Heart Rate or Pulse") > 100 else 0
    score += 3 * entities.flag("Clinical signs and symptoms of Deep Vein Thrombosis")
    score += 3 * entities.flag("Pulmonary Embolism is #1 diagnosis OR equally likely")
    if entities.count(
        ("Immobilization for at least 3 days", "Surgery in the previous 4 weeks")
    ):
        score += 1.5

    if entities.count(_PREVIOUS):
        score += 1.5

    return score + entities.count(
        ("Hemoptysis", "Malignancy with treatment within 6 months or palliative")
    )


@rule(16, "Wells' Criteria for DVT")
def wells_dvt(entities: Entities) -> int:
    """As published."""
    in_bed = entities.flag(*_BEDRIDDEN) or entities.flag(
        "Major surgery within 12 weeks"
    )
    other = entities.flag(
        "Alternative diagnosis to Deep Vein Thrombosis as likely or more likely"
    )
    return entities.count(_DVT_FINDINGS) + in_bed - 2 * other


@rule(48, "PERC Rule for Pulmonary Embolism")
def perc(entities: Entities) -> int:
    """As published."""
    points = (age_years(entities) >= 50) + (
        entities.first("Heart Rate or Pulse") >= 100
    )
    points += entities.first("O₂ saturation percentage") < 95
    points += entities.count(
        (
            "Unilateral Leg Swelling",
            "Hemoptysis",
            "Recent surgery or trauma",
            "Hormone use",
        )
    )

    return points + (entities.count(_PREVIOUS) > 0)


@rule(
    36,
    "Caprini Score for Venous Thromboembolism (2005)",
    quirk="only age, surgery type and mobility are counted",
)
def caprini(entities: Entities) -> int:
    """Only age, surgery and mobility count; findings and BMI are never added."""
    entities.stated_sex()  # not used, but required
    age = age_years(entities)
    points = 3 if age >= 75 else 2 if 61 <= age <= 74 else 1 if 41 <= age <= 60 else 0
    if points == 0 and age > 40:
        entities.note(f"age of {age:g} scores 0")

    points += entities.word("Surgery Type", _SURGERY, default="none")
    points += entities.word("Mobility", _MOBILITY, default="normal")
    lost = [name for name in _CAPRINI_UNCOUNTED if entities.flag(name)]
    if (
        entities.has("Body Mass Index (BMI)")
        and entities.first("Body Mass Index (BMI)") > 25
    ):
        lost.append("Body Mass Index (BMI) above 25")
    if lost:
        entities.note(f"not counted: {', '.join(lost)}")

    return points


@rule(
    27,
    "Glasgow-Blatchford Bleeding Score (GBS)",
    quirk=(
        "hemoglobin of exactly 13 (men) or 12 (women) scores 1, of exactly 12 (men) or 10 "
        "(women) 0; BUN of exactly 70 mg/dL scores 0, and in mmol/L comes in steps of 2.8 "
        "mg/dL"
    ),
)
def glasgow_blatchford(entities: Entities) -> int:
    """The classes of haemoglobin include their upper limit; BUN of exactly 70 mg/dL scores 0."""
    hemoglobin = concentration(entities, "Hemoglobin", compounds.HEMOGLOBIN, "g/dL")
    bun = concentration(
        entities,
        "Blood Urea Nitrogen (BUN)",
        compounds.UREA_NITROGEN_BLATCHFORD,
        "mg/dL",
    )
    pressure = entities.first("Systolic Blood Pressure")
    points = _hemoglobin(entities, hemoglobin)
    if bun == 70:
        entities.note("BUN of exactly 70 mg/dL scores 0")
    else:
        points += (
            6
            if bun > 70
            else 4
            if bun >= 28
            else 3
            if bun >= 22.4
            else 2
            if bun >= 18.2
            else 0
        )

    points += (
        0 if pressure >= 110 else 1 if pressure >= 100 else 2 if pressure >= 90 else 3
    )
    points += (entities.first("Heart Rate or Pulse") >= 100) + entities.flag(
        "Melena present"
    )
    return points + 2 * entities.count(
        ("Recent syncope", "Hepatic disease history", "Cardiac failure present")
    )


def _hemoglobin(entities: Entities, value: float) -> int:
    """Men: at most 13 1, below 12 3, below 10 6.

    Women: at most 12 1, below 10 6; the lower borders score 0.
    """
    male = entities.stated_sex() == "Male"
    top, gap = (13, 12) if male else (12, 10)
    if value in (top, gap):
        entities.note(
            f"hemoglobin of exactly {value:g} g/dL scores {1 if value == top else 0}"
        )

    if value < 10:
        return 6
    if value == gap or value > top:
        return 0

    return 3 if male and value < 12 else 1
