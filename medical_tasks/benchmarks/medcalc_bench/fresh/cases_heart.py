"""Cases of the heart: stroke and bleeding risk in atrial fibrillation, chest pain, surgery, ten-year risk."""

from __future__ import annotations

from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh import grades, history
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.person import draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import CHOLESTEROL, CREATININE, HDL
from medical_tasks.calculators import AnyCalculator

__all__ = ["cha2ds2_vasc", "framingham", "has_bled", "heart_score", "revised_cardiac_risk"]

_FIBRILLATION: Final = (
    "with palpitations and newly found atrial fibrillation//They began on a walk and have not stopped since.",
    "for advice on anticoagulation in atrial fibrillation//The rhythm was found by chance at a check-up.",
    "after a smartwatch alarm, confirmed as atrial fibrillation//{He} had felt nothing.",
    "with paroxysmal atrial fibrillation for two years//Episodes come about once a month and end by themselves.",
)
_ANTICOAGULATION: Final = (
    "for a review of warfarin taken for atrial fibrillation//{He} brought the anticoagulation booklet.",
    "for advice on the bleeding risk before a change of anticoagulant//Warfarin was started for atrial fibrillation.",
    "with atrial fibrillation, on warfarin for three years//{He} comes to discuss the treatment.",
)
_CHEST_PAIN: Final = (
    "with chest pain that began two hours ago//It came on while {he} was watching television.",
    "with chest discomfort since this morning//{He} noticed it on getting up.",
    "with recurrent chest pain since last night//There were three episodes of some minutes each.",
)
# Elevated risk: intraperitoneal, intrathoracic or suprainguinal vascular surgery.
_OPERATIONS: Final = (
    (True, "before an open hemicolectomy"),
    (True, "before an aortobifemoral bypass"),
    (True, "before a resection of the oesophagus"),
    (True, "before an open lobectomy of the lung"),
    (False, "before a cataract operation"),
    (False, "before a carpal tunnel release"),
    (False, "before an arthroscopy of the knee"),
    (False, "before the removal of a skin tumour of the back"),
)
_PREVENTION: Final = (
    "for a cardiovascular risk check//{He} walks to work.",
    "for a health check after moving house//It is {his} first visit here.",
    "for advice on preventing heart disease//A friend's heart attack made {him} think.",
)
_DRINKS: Final = (
    "{He} has {n} alcoholic drinks per week.",
    "Alcohol: {n} drinks per week.",
    "{He} reports about {n} alcoholic drinks per week.",
)


def cha2ds2_vasc(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Risk of stroke in atrial fibrillation."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 45, 93, near=(65, 75)),
        setting="clinic" if draw.chance(0.6) else "emergency",
        reason=_FIBRILLATION,
        blocks="rate ecg heart clotting pills legs",
    )
    chart.age()
    chart.sex()
    chart.find("heart_failure", history.HEART_FAILURE, present=0.3)
    chart.find("hypertension", history.HYPERTENSION, present=0.55)
    chart.find("diabetes", history.DIABETES, present=0.3)
    chart.find("stroke", history.STROKE, present=0.2)
    chart.find("transient_ischemic_attack", history.TIA, present=0.15, known=0.6)
    chart.find("thromboembolism", history.THROMBOEMBOLISM, present=0.1, known=0.5)
    chart.find("vascular_disease", history.VASCULAR_DISEASE, present=0.3)
    return chart


def has_bled(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Risk of bleeding under anticoagulation; hypertension counts when it is uncontrolled."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 42, 91, near=(65,)),
        setting="clinic",
        reason=_ANTICOAGULATION,
        blocks="ecg rate pressure red urine albumin stomach pain",
    )
    chart.age()
    chart.find("hypertension", history.UNCONTROLLED_HYPERTENSION, present=0.4)
    chart.find("renal_disease", history.END_STAGE_RENAL, present=0.2)
    chart.find("liver_disease", history.LIVER_DISEASE, present=0.15)
    chart.find("stroke", history.STROKE, present=0.2)
    chart.find("bleeding", history.BLEEDING, present=0.3)
    chart.find("labile_inr", history.LABILE_INR, present=0.4)
    chart.find("medication", history.BLEEDING_DRUGS, present=0.4)
    drinks = draw.pick((7, 8, 9)) if draw.chance(0.35) else draw.whole(0, 21)
    chart.concepts.add("alcohol")
    chart.enter("drinks_per_week", [drinks, "drinks/week"])
    chart.say("social", draw.pick(_DRINKS).replace("{n}", str(drinks)))
    return chart


def heart_score(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Chest pain in the emergency department."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 34, 88, near=(45, 65)),
        setting="emergency",
        reason=_CHEST_PAIN,
        blocks="ecg coronary heart sugar body lipids stomach",
    )
    chart.age()
    chart.choose("suspicion", draw.pick(grades.HEART_SUSPICION))
    chart.choose("electrocardiogram", draw.pick((*grades.HEART_ECG, grades.HEART_ECG[0])))
    chart.choose("troponin", draw.pick((*grades.TROPONIN, grades.TROPONIN[0])))
    chart.find("hypertension", history.HYPERTENSION, present=0.4, known=0.6)
    chart.find("hypercholesterolemia", history.HYPERCHOLESTEROLEMIA, present=0.3, known=0.6)
    chart.find("diabetes", history.DIABETES, present=0.2, known=0.6)
    chart.find("obesity", history.OBESITY, present=0.25, known=0.4)
    chart.find("smoking", history.SMOKER, present=0.35, known=0.7)
    chart.find("family_history", history.FAMILY_HEART, present=0.25, known=0.6)
    chart.find("atherosclerotic_disease", history.ATHEROSCLEROSIS, present=0.2, known=0.6)
    chart.find("transient_ischemic_attack", history.TIA, present=0.08, known=0.3)
    return chart


def revised_cardiac_risk(calculator: AnyCalculator, draw: Draw) -> Chart:
    """An operation is planned; the creatinine may not have been measured."""
    elevated, reason = draw.pick(_OPERATIONS)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 46, 88),
        setting="clinic",
        reason=(f"for assessment {reason}//The anaesthetist asked for it.", f"for assessment {reason}"),
        blocks="ecg heart sugar operation abdomen cancer bowel urine brain legs",
    )
    chart.enter("elevated_risk_surgery", elevated)
    chart.find("ischemic_heart_disease", history.ISCHEMIC_HEART, present=0.35)
    chart.find("heart_failure", history.HEART_FAILURE, present=0.25)
    chart.find("cerebrovascular_disease", history.CEREBROVASCULAR, present=0.25)
    chart.find("insulin", history.INSULIN_TREATMENT, present=0.3)
    chart.perhaps(0.85, "creatinine_mg_dl", CREATININE, 0.7, 3.4, near=(2.0,))
    return chart


def framingham(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Prevention in people without heart disease or diabetes."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 31, 78),
        setting="clinic",
        reason=_PREVENTION,
        blocks="sugar coronary arteries hypertension kin",
    )
    chart.sex()
    chart.age()
    chart.measure("total_cholesterol_mg_dl", CHOLESTEROL, 148, 302)
    chart.measure("hdl_mg_dl", HDL, 29, 78)
    chart.pressure(104, 176)
    chart.find("treated", history.BP_TREATED, present=0.4)
    chart.find("smoker", history.SMOKER, present=0.4)
    return chart
