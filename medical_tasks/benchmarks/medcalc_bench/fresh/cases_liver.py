"""Cases of the liver and the gut, and the burden of disease."""

from __future__ import annotations

from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh import events, grades, history, history_clots
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.person import draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import (
    ALBUMIN,
    ALT,
    AST,
    BILIRUBIN,
    BUN,
    CREATININE,
    HEART_RATE,
    HEMOGLOBIN,
    INR,
    PLATELETS,
    SODIUM,
)
from medical_tasks.calculators import AnyCalculator

__all__ = ["charlson", "child_pugh", "fib_4", "glasgow_blatchford", "meld_na"]

_CIRRHOSIS_VISIT: Final = (
    "for review of cirrhosis from alcohol//{He} has been abstinent for a year.",
    "for review of cirrhosis after chronic hepatitis C//The virus was cleared three years ago.",
    "for review of cirrhosis from primary biliary cholangitis//It was diagnosed six years ago.",
    "with cirrhosis, to be considered for transplantation//The transplant team sees {him} for the first time.",
)
_CIRRHOSIS_STAY: Final = (
    "with worsening cirrhosis//It is the second admission this year.",
    "with cirrhosis and loss of strength//{He} can no longer climb stairs.",
    "with cirrhosis, for transplant assessment//The assessment takes three days.",
)
_FATTY: Final = (
    "with a fatty liver seen on ultrasound//The scan was done for another reason.",
    "for review of chronic hepatitis B//The infection has been known for ten years.",
    "with chronic hepatitis C, before treatment//The infection was found before a blood donation.",
    "because of raised liver enzymes at a check-up//The check-up was for an insurance.",
)
_BLEED: Final = (
    "with vomiting of blood since this morning//There were two episodes.",
    "with weakness and suspected upper gastrointestinal bleeding//{He} felt unwell from yesterday on.",
    "with coffee-ground vomiting//It happened twice during the night.",
)


def child_pugh(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Cirrhosis by three values and two findings; a finding may not be stated."""
    visit = draw.chance(0.5)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 34, 79),
        setting="clinic" if visit else "ward",
        reason=_CIRRHOSIS_VISIT if visit else _CIRRHOSIS_STAY,
        blocks="abdomen mind liver platelets brain alcohol",
    )
    chart.measure("bilirubin_mg_dl", BILIRUBIN, 0.6, 6.2, near=(2.0, 3.0))
    chart.measure("albumin_g_dl", ALBUMIN, 2.1, 4.3, near=(2.8, 3.5))
    # Tables end the middle class at 2.2 or at 2.3: values there would divide their readers.
    chart.measure("inr", INR, *((1.0, 2.18) if draw.chance(0.7) else (2.35, 3.1)), near=(1.7,))
    if draw.chance(0.9):
        chart.choose("ascites", draw.pick(grades.ASCITES))
    if draw.chance(0.9):
        # Nobody with the highest grade comes to a clinic.
        grade = draw.pick(grades.ENCEPHALOPATHY[:2] if visit else grades.ENCEPHALOPATHY)
        chart.choose("encephalopathy", grade)
        if grade is not grades.ENCEPHALOPATHY[0]:
            chart.voice = "none"
    return chart


def meld_na(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Priority for a liver transplant."""
    visit = draw.chance(0.4)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 34, 74),
        setting="clinic" if visit else "ward",
        reason=_CIRRHOSIS_VISIT if visit else _CIRRHOSIS_STAY,
        blocks="abdomen liver urine platelets albumin alcohol",
    )
    dialysis = chart.find("dialysis_twice", events.DIALYSIS_TWICE, present=0.15, known=0.5)
    if not dialysis:
        dialysis = chart.find("continuous_hemodialysis", events.CVVHD, present=0.1, known=0.4)
    chart.measure("creatinine_mg_dl", CREATININE, *((2.4, 6.8) if dialysis else (0.6, 4.6)))
    chart.measure("bilirubin_mg_dl", BILIRUBIN, 0.7, 18)
    chart.measure("inr", INR, 0.9, 3.4)
    chart.measure("sodium_mmol_l", SODIUM, 121, 143, near=(125, 137))
    return chart


def fib_4(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Fibrosis of the liver."""
    chart = Chart(calculator, draw, draw_person(draw, 35, 79), setting="clinic", reason=_FATTY, blocks="liver abdomen")
    chart.age()
    ast = draw.between(21, 168)
    chart.measure("ast_u_l", AST, ast, ast)
    chart.measure("alt_u_l", ALT, ast * 0.6, ast * 1.7)
    chart.measure("platelets_10e9_l", PLATELETS, 74, 320)
    return chart


def glasgow_blatchford(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Bleeding from the upper gut."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 29, 90),
        setting="emergency",
        reason=_BLEED,
        blocks="red abdomen urine heart pills clotting stomach lungs brain",
    )
    chart.sex()
    # The publication's limits are those of urea in mmol/L; 18.2 mg/dL and the others are their conversion.
    chart.measure("bun_mg_dl", BUN, 10, 84, near=(18.2, 22.4, 28, 70), printed={"mmol/L": (6.5, 8.0, 10.0, 25.0)})
    chart.measure(
        "hemoglobin_g_dl", HEMOGLOBIN, 7.2, 14.6, near=(10, 12, 13) if chart.person.sex == "male" else (10, 12)
    )
    chart.pressure(82, 148, near=(90, 100, 110))
    chart.measure("heart_rate_per_min", HEART_RATE, 68, 132, near=(100,))
    chart.find("melena", events.MELENA, present=0.5)
    chart.find("syncope", events.SYNCOPE, present=0.25)
    chart.find("hepatic_disease", history.LIVER_DISEASE, present=0.25)
    chart.find("cardiac_failure", events.CARDIAC_FAILURE_NOW, present=0.2)
    return chart


_BURDEN: Final = (
    ("myocardial_infarction", history.INFARCTION),
    ("heart_failure", history.HEART_FAILURE),
    ("peripheral_vascular_disease", history.PERIPHERAL_ARTERIES),
    ("cerebrovascular_accident", history.STROKE),
    ("transient_ischemic_attack", history.TIA),
    ("dementia", history.DEMENTIA),
    ("chronic_pulmonary_disease", history.CHRONIC_LUNG),
    ("connective_tissue_disease", history.CONNECTIVE),
    ("peptic_ulcer", history.ULCER),
    ("hemiplegia", history.HEMIPLEGIA),
    ("kidney_disease", history.CHRONIC_KIDNEY),
    ("leukemia", history_clots.LEUKEMIA),
    ("lymphoma", history_clots.LYMPHOMA),
    ("aids", history.AIDS),
)
_REVIEWS: Final = (
    "for a review of all conditions before a treatment decision//The records were sent along.",
    "for assessment before entry into a rehabilitation programme//The programme lasts three weeks.",
    "for a comprehensive geriatric assessment//{His} family asked for it.",
)
_GERIATRIC_AGE: Final = 68


def charlson(calculator: AnyCalculator, draw: Draw) -> Chart:
    """The burden of disease before a decision on treatment; some items are left out of each note."""
    person = draw_person(draw, 41, 91, near=(50, 60, 70, 80))
    old = person.age >= _GERIATRIC_AGE
    chart = Chart(
        calculator,
        draw,
        person,
        setting="clinic" if draw.chance(0.5) else "ward",
        reason=_REVIEWS if old else _REVIEWS[:-1],
        blocks="sugar liver cancer heart film urine mind brain abdomen legs ecg coronary red white stomach albumin",
    )
    chart.age()
    chart.leave_open(*(finding for _, finding in _BURDEN))
    for parameter, finding in draw.some(_BURDEN, 11):
        demented = finding is history.DEMENTIA
        if chart.find(parameter, finding, present=0.0 if demented and not old else 0.22, known=0.7) and demented:
            chart.voice = "none"
    for parameter, classes in (
        ("liver_disease", grades.CHARLSON_LIVER),
        ("diabetes", grades.CHARLSON_DIABETES),
        ("solid_tumor", grades.TUMOR),
    ):
        if draw.chance(0.7):
            chart.choose(parameter, classes[0] if draw.chance(0.5) else draw.pick(classes[1:]))
    return chart
