"""Cases of thrombosis: pulmonary embolism, deep vein thrombosis, and the risk around surgery."""

from __future__ import annotations

from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh import events, grades, history, history_clots
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.person import draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import BMI, HEART_RATE, SPO2
from medical_tasks.calculators import AnyCalculator

__all__ = ["caprini", "perc", "wells_dvt", "wells_pe"]

_BREATHLESS: Final = (
    "with sudden shortness of breath and chest pain on breathing in//It began while {he} was carrying shopping home.",
    "with breathlessness since yesterday//{He} has to stop on the first flight of stairs.",
    "with a stabbing pain in the side of the chest//It began during the night and is worse on deep breaths.",
)
_LEG: Final = (
    "with pain in the {side} leg for three days//It is worse on walking.",
    "with discomfort of the {side} calf since the weekend//{He} remembers no particular strain.",
    "with a heavy, painful {side} leg//It began four days ago.",
)


def wells_pe(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Suspicion of pulmonary embolism."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 30, 89),
        setting="emergency",
        reason=_BREATHLESS,
        blocks="breathing saturation film lungs operation trauma legs heart",
    )
    chart.find("dvt_signs", events.DVT_SIGNS, present=0.3)
    chart.find("pe_most_likely", events.PE_LIKELY, present=0.5, known=0.9)
    chart.measure("heart_rate_per_min", HEART_RATE, 66, 134, near=(100,))
    surgery = chart.find("surgery", events.SURGERY_4W, present=0.25)
    # Days in bed beside a recent operation leave open which of the two a note means.
    chart.find("immobilization", events.IMMOBILIZATION, present=0.0 if surgery else 0.25, known=0.0 if surgery else 0.7)
    chart.find("previous_pe", history_clots.PREVIOUS_PE, present=0.2, known=0.7)
    chart.find("previous_dvt", history_clots.PREVIOUS_DVT, present=0.2)
    chart.find("hemoptysis", events.HEMOPTYSIS, present=0.2)
    chart.find("malignancy", history_clots.CANCER, present=0.2)
    return chart


def perc(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Pulmonary embolism to be ruled out."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 28, 74, near=(50,)),
        setting="emergency",
        reason=_BREATHLESS,
        blocks="breathing film lungs operation heart",
    )
    chart.age()
    chart.measure("heart_rate_per_min", HEART_RATE, 62, 126, near=(100,))
    chart.measure("oxygen_saturation_percent", SPO2, 90, 99, near=(95,))
    chart.find("leg_swelling", events.LEG_SWELLING, present=0.2)
    chart.find("hemoptysis", events.HEMOPTYSIS, present=0.15)
    chart.find("surgery_or_trauma", events.SURGERY_OR_TRAUMA, present=0.2)
    chart.find("previous_pe", history_clots.PREVIOUS_PE, present=0.15, known=0.7)
    chart.find("previous_dvt", history_clots.PREVIOUS_DVT, present=0.15, known=0.7)
    woman = chart.person.sex == "female" and chart.person.age < 52
    chart.find("hormone_use", history_clots.HORMONES, present=0.4 if woman else 0.0, known=0.7 if woman else 0.3)
    return chart


def wells_dvt(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Suspicion of deep vein thrombosis in one leg."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 32, 88),
        setting="clinic" if draw.chance(0.5) else "emergency",
        reason=_LEG,
        blocks="operation trauma joints brain",
    )
    chart.find("active_cancer", history_clots.CANCER, present=0.2)
    surgery = chart.find("major_surgery", events.MAJOR_SURGERY_12W, present=0.25, known=0.7)
    # The dataset's name of the item joins bed rest and surgery, so its value does too.
    bed = None if surgery else chart.find("bedridden", events.BEDRIDDEN, present=0.25, known=0.7)
    if surgery or bed:
        chart.enter("bedridden", True)
    whole = chart.find("entire_leg_swollen", events.WHOLE_LEG, present=0.2)
    chart.find("calf_swelling", events.CALF_SWELLING, present=0.35, forced=True if whole else None)
    chart.find("collateral_veins", events.COLLATERAL_VEINS, present=0.15)
    chart.find("tenderness", events.TENDERNESS, present=0.45)
    chart.find("pitting_edema", events.PITTING, present=0.35)
    chart.find("paralysis_or_plaster", events.PARALYSIS, present=0.15, known=0.7)
    chart.find("previous_dvt", history_clots.PREVIOUS_DVT, present=0.2)
    chart.find("alternative_diagnosis", events.ALTERNATIVE_TO_DVT, present=0.35)
    return chart


# Findings of the last month, those of which a patient has at most one first.
_GRAVE: Final = (
    ("recent_fracture", events.FRACTURE),
    ("recent_stroke", events.RECENT_STROKE),
    ("recent_trauma", events.TRAUMA),
    ("recent_spinal_cord_injury", events.SPINAL_INJURY),
)
_BEDDING: Final = frozenset({"recent_fracture", "recent_trauma", "recent_spinal_cord_injury"})
_CAPRINI_RECENT: Final = (
    ("recent_major_surgery", events.RECENT_SURGERY_MONTH),
    ("recent_heart_failure", events.RECENT_FAILURE),
    ("recent_sepsis", events.RECENT_SEPSIS),
    ("recent_pneumonia", events.RECENT_PNEUMONIA),
    ("myocardial_infarction", history.ACUTE_INFARCTION),
)
_CAPRINI_PAST: Final = (
    ("previous_dvt", history_clots.PREVIOUS_DVT),
    ("previous_pe", history_clots.PREVIOUS_PE),
    ("family_history", history_clots.FAMILY_CLOTS),
    ("bowel_disease", history.BOWEL_DISEASE),
    ("copd", history.COPD),
    ("malignancy", history_clots.MALIGNANCY),
    ("varicose_veins", history_clots.VARICOSE),
    ("swollen_legs", events.SWOLLEN_LEGS),
    ("central_venous_access", events.CENTRAL_LINE),
    ("heparin_thrombocytopenia", history_clots.HEPARIN_REACTION),
    ("factor_v_leiden", history_clots.FACTOR_V),
    ("prothrombin_20210a", history_clots.PROTHROMBIN),
    ("homocysteine", history_clots.HOMOCYSTEINE),
    ("lupus_anticoagulant", history_clots.LUPUS_ANTICOAGULANT),
    ("anticardiolipin", history_clots.ANTICARDIOLIPIN),
    ("other_thrombophilia", history_clots.OTHER_THROMBOPHILIA),
)
_OPERATION_REASONS: Final = (
    "before an operation tomorrow//Advice on thrombosis prevention is asked for.",
    "before a planned operation//The ward asks for advice on thrombosis prevention.",
)
_WARD_REASONS: Final = (
    "with a kidney infection//Antibiotics are given intravenously.",
    "with erysipelas of the arm//The arm is kept raised.",
    "after a collapse at home//The cause has not been found yet.",
)


def caprini(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Risk of thrombosis on a surgical or a medical ward; most of the thirty items are left out of each note."""
    surgical = draw.chance(0.7)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 32, 89, near=(41, 61, 75)),
        setting="ward",
        reason=_OPERATION_REASONS if surgical else _WARD_REASONS,
        blocks="operation trauma mobility brain clotting platelets body film heart ecg joints",
    )
    chart.age()
    chart.leave_open(events.PLASTER, *(finding for _, finding in (*_GRAVE, *_CAPRINI_RECENT, *_CAPRINI_PAST)))
    grave = draw.pick(_GRAVE) if draw.chance(0.25) else None
    planned = grades.PLANNED_SURGERY[1:4] if grave else grades.PLANNED_SURGERY[1:]
    surgery = draw.pick(planned) if surgical else grades.PLANNED_SURGERY[0]
    if surgical or draw.chance(0.5):
        chart.choose("surgery", surgery)
    if grave:
        chart.find(*grave, forced=True)
    if grave and grave[0] in _BEDDING:
        chart.choose("mobility", grades.MOBILITY[2])
    elif draw.chance(0.8):
        chart.choose("mobility", draw.pick(grades.MOBILITY))
    if not grave and draw.chance(0.4):
        # One of the others is denied by name; more would crowd the note.
        chart.find(*draw.pick(_GRAVE), present=0.0, known=1.0)
    if not grave and draw.chance(0.2):
        chart.find("recent_plaster_cast", events.PLASTER, present=0.5, known=1.0)
    for parameter, finding in draw.some(_CAPRINI_RECENT, 3):
        chart.find(parameter, finding, present=0.2, known=0.6)
    for parameter, finding in draw.some(_CAPRINI_PAST, 9):
        chart.find(parameter, finding, present=0.25, known=0.7)
    chart.perhaps(0.8, "bmi_kg_m2", BMI, 19, 38, near=(25.0,))
    return chart
