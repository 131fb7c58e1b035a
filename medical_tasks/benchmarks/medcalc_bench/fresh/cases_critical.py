"""Cases of intensive care: coma, APACHE II, SOFA."""

from __future__ import annotations

from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh import events, grades, history
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.person import draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import (
    AA_GRADIENT,
    BILIRUBIN,
    COARSE_CREATININE,
    COMA_SCORE,
    FIO2,
    HEART_RATE,
    HEMATOCRIT,
    PAO2,
    PH,
    PLATELETS,
    POTASSIUM,
    RESPIRATORY_RATE,
    SODIUM,
    TEMPERATURE,
    URINE_OUTPUT,
    WHITE_CELLS,
)
from medical_tasks.calculators import AnyCalculator

__all__ = ["apache_ii", "coma_score", "sofa"]

_HEAD: Final = (
    "after a fall from a ladder onto the head//The ladder was about three metres high.",
    "after a bicycle crash without a helmet//A passer-by called the ambulance.",
    "after a seizure witnessed by colleagues//It lasted about two minutes and ended by itself.",
    "after being found on the bathroom floor//{He} was last seen well yesterday evening.",
)
_MEDICAL: Final = (
    "with septic shock from a urinary infection//Antibiotics and fluids were given within the first hour.",
    "with severe pneumonia//{He} had been ill at home for a week.",
    "with pancreatitis and organ dysfunction//A gallstone was found in the bile duct.",
    "after a cardiac arrest with early return of circulation//The heart was restarted at the scene.",
)
_SURGICAL: Final = (
    "after an operation on the aorta//The operation lasted five hours.",
    "after a resection of the colon//The operation was uneventful.",
    "after a large abdominal operation//Blood loss was moderate.",
)
_SEPSIS: Final = (
    "with sepsis from a perforated bowel//The bowel was repaired yesterday.",
    "with severe pneumonia//{He} had been ill at home for a week.",
    "with septic shock from cholangitis//The bile duct was drained endoscopically.",
    "with sepsis of unknown source//Imaging has not shown the source so far.",
)
_ICU_BLOCKS: Final = (
    "gas saturation mind brain lungs film breathing pressure kidney clots infection stomach warm albumin"
)


def coma_score(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Eye, verbal and motor response, which fall and rise together."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 18, 86),
        setting="resus",
        reason=_HEAD,
        voice="none",
        blocks="mind brain trauma joints stomach urine",
    )
    depth = draw.between(0, 1)
    for parameter, classes in (
        ("eye_response", grades.EYE),
        ("verbal_response", grades.VERBAL),
        ("motor_response", grades.MOTOR),
    ):
        level = round((len(classes) - 1) * min(max(depth + draw.between(-0.3, 0.3), 0), 1))
        chart.choose(parameter, classes[level])
    return chart


def _ranged(draw: Draw, usual: tuple[float, float], *odd: tuple[float, float]) -> tuple[float, float]:
    """The usual range more often than one of the disturbed ones."""
    return usual if draw.chance(0.6) else draw.pick(odd)


def apache_ii(calculator: AnyCalculator, draw: Draw) -> Chart:
    """The first day in intensive care."""
    surgical = draw.chance(0.4)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 24, 90, near=(45, 55, 65, 75)),
        setting="icu",
        reason=_SURGICAL if surgical else _MEDICAL,
        voice="none",
        blocks=f"{_ICU_BLOCKS} operation red immune",
    )
    chart.age()
    chart.measure(
        "temperature_c",
        TEMPERATURE,
        *_ranged(draw, (36.2, 38.4), (38.5, 40.4), (34.2, 35.9), (32.4, 33.9)),
        near=(34, 36, 38.5, 39),
    )
    chart.pressure(72, 176, near_mean=(50, 70, 110, 130, 160))
    chart.measure(
        "heart_rate_per_min", HEART_RATE, *_ranged(draw, (72, 108), (110, 158), (48, 68)), near=(70, 110, 140)
    )
    chart.measure("respiratory_rate_per_min", RESPIRATORY_RATE, *_ranged(draw, (12, 24), (25, 42)), near=(25, 35))
    if draw.chance(0.5):
        chart.measure("fio2_percent", FIO2, 50, 100, near=(50,) if draw.chance(0.3) else ())
        if _too_low(chart):
            _oxygen(chart)
        else:
            chart.measure("aa_gradient_mm_hg", AA_GRADIENT, 120, 540, near=(200, 350, 500))
    else:
        chart.measure("fio2_percent", FIO2, 21, 45)
        _oxygen(chart)
    chart.measure("ph", PH, *_ranged(draw, (7.33, 7.49), (7.12, 7.32), (7.5, 7.58)), near=(7.25, 7.33, 7.5))
    chart.measure("sodium_mmol_l", SODIUM, *_ranged(draw, (131, 149), (150, 162), (118, 129)), near=(130, 150, 155))
    chart.measure(
        "potassium_mmol_l", POTASSIUM, *_ranged(draw, (3.5, 5.4), (5.5, 6.6), (2.6, 3.4)), near=(3.0, 3.5, 5.5, 6.0)
    )
    failing = draw.chance(0.3)
    low, high = (1.6, 5.2) if failing else (0.6, 1.9)
    chart.measure("creatinine_mg_dl", COARSE_CREATININE, low, high, near=(2.0, 3.5) if failing else (1.5,))
    chart.find("acute_renal_failure", events.ACUTE_RENAL_FAILURE, forced=failing, known=0.7)
    if not failing:
        chart.find("chronic_renal_failure", events.CHRONIC_RENAL_FAILURE, present=0.12, known=0.5)
    chart.measure("hematocrit_percent", HEMATOCRIT, *_ranged(draw, (30, 45), (21, 29), (46, 52)), near=(30, 46))
    chart.measure(
        "white_cells_10e9_l", WHITE_CELLS, *_ranged(draw, (3.2, 14.8), (15, 26), (1.2, 2.9)), near=(3, 15, 20)
    )
    chart.measure("glasgow_coma_score", COMA_SCORE, 4, 15)
    chart.find("chronic_illness", history.CHRONIC_ILLNESS, present=0.25, known=0.6)
    if surgical:
        chart.choose("surgery", draw.pick(grades.ADMISSION[1:]))
    elif draw.chance(0.6):
        chart.choose("surgery", grades.ADMISSION[0])
    return chart


def _oxygen(chart: Chart) -> None:
    chart.measure("pao2_mm_hg", PAO2, 50, 104, near=(55, 60, 70))


def _too_low(chart: Chart) -> bool:
    """Whether the inspired oxygen, drawn beside 50 %, came out below it, where PaO2 counts and not the gradient."""
    return chart.values["gas"][-1].base < 49.5


def sofa(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Organ failure; pressure or hypotension, creatinine and urine may not have been stated."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 23, 89),
        setting="icu",
        reason=_SEPSIS,
        voice="none",
        blocks=f"{_ICU_BLOCKS} liver",
    )
    chart.measure("fio2_percent", FIO2, 21, 90)
    chart.measure("pao2_mm_hg", PAO2, 52, 128)
    ventilated = chart.find("mechanical_ventilation", events.VENTILATION, present=0.5, known=0.7)
    if not ventilated:
        chart.find("cpap", events.CPAP, present=0.3, known=0.5)
    chart.measure("platelets_10e9_l", PLATELETS, 14, 290, near=(20, 50, 100, 150))
    chart.perhaps(0.85, "glasgow_coma_score", COMA_SCORE, 4, 15, near=(6, 10, 13))
    chart.measure("bilirubin_mg_dl", BILIRUBIN, 0.4, 13.5, near=(1.2, 2.0, 6.0, 12.0))
    _circulation(chart)
    chart.perhaps(0.85, "creatinine_mg_dl", COARSE_CREATININE, 0.6, 5.8, near=(1.2, 2.0, 3.5, 5.0))
    chart.perhaps(0.5, "urine_ml_day", URINE_OUTPUT, 120, 2100, near=(200, 500))
    return chart


_DRUGS: Final = (
    ("norepinephrine_mcg_kg_min", "norepinephrine", (0.03, 0.05, 0.08, 0.1, 0.11, 0.15, 0.25)),
    ("epinephrine_mcg_kg_min", "epinephrine", (0.04, 0.08, 0.1, 0.12)),
    ("dopamine_mcg_kg_min", "dopamine", (3, 4, 5, 6, 8, 15, 16)),
    ("dobutamine_mcg_kg_min", "dobutamine", (2.5, 4, 5, 8)),
)


def _circulation(chart: Chart) -> None:
    """Vasopressors, else a measured pressure, else the word hypotension: what decides the circulation's points."""
    draw = chart.draw
    if draw.chance(0.45):
        parameter, drug, rates = draw.pick((*_DRUGS, _DRUGS[0]))
        rate = draw.pick(rates)
        chart.enter(parameter, [rate, "mcg/kg/min"])
        unit = draw.pick(("mcg/kg/min", "µg/kg/min"))
        chart.say("care", f"{drug.capitalize()} runs at {rate:g} {unit}.")
        chart.pressure(92, 124, known=0.5)
    elif draw.chance(0.75):
        chart.pressure(84, 136, near_mean=(70,))
    else:
        chart.find("hypotension", events.HYPOTENSION, present=0.5, known=1.0)
