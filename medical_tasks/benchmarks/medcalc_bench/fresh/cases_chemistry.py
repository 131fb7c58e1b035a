"""Cases of blood chemistry: electrolytes, gaps, osmolality, calcium, lipids, insulin resistance."""

from __future__ import annotations

from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.person import draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import (
    ALBUMIN,
    BICARBONATE,
    BUN,
    CALCIUM,
    CHLORIDE,
    CHOLESTEROL,
    CREATININE,
    GLUCOSE,
    HDL,
    INSULIN,
    SODIUM,
    TRIGLYCERIDES,
    URINE_CREATININE,
    URINE_SODIUM,
    WEIGHT,
)
from medical_tasks.calculators import AnyCalculator

__all__ = [
    "calcium",
    "fractional_excretion",
    "free_water",
    "gap",
    "insulin_resistance",
    "ldl",
    "osmolality",
    "sodium_in_hyperglycemia",
]

_GAP_REASONS: Final = (
    "with vomiting and deep breathing since last night//{He} has kept down nothing but water.",
    "with weakness after three days of diarrhoea//{He} has lived on tea and biscuits.",
    "with drowsiness after an unknown intake of tablets//An empty box without a label was found.",
    "with abdominal pain and fast, deep breathing//It began in the early morning.",
    "with malaise and poor intake for a week//{He} has hardly left the house.",
)
_NORMAL_GAP: Final = 12
_SMALLEST_DELTA: Final = 0.6


def gap(calculator: AnyCalculator, draw: Draw) -> Chart:
    """The anion gap, the delta gap and ratio, each with or without albumin."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 19, 88),
        setting="emergency" if draw.chance(0.5) else "ward",
        reason=_GAP_REASONS,
        blocks="sugar breathing kidney gas stomach abdomen bowel",
    )
    corrected = any(item.parameter == "albumin_g_dl" for item in calculator.inputs)
    sodium, bicarbonate = draw.whole(128, 150), draw.whole(6, 22)
    distance = draw.whole(9, 30)
    albumin = draw.whole(18, 45) / 10
    # A delta gap of next to nothing has limits of next to nothing.
    while abs(distance + (2.5 * (4 - albumin) if corrected else 0) - _NORMAL_GAP) < _SMALLEST_DELTA:
        distance += 1
    chart.measure("sodium_mmol_l", SODIUM, sodium, sodium)
    chart.measure("chloride_mmol_l", CHLORIDE, sodium - bicarbonate - distance, sodium - bicarbonate - distance)
    chart.measure("bicarbonate_mmol_l", BICARBONATE, bicarbonate, bicarbonate)
    if corrected:
        chart.measure("albumin_g_dl", ALBUMIN, albumin, albumin)
    return chart


def calcium(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Calcium in a patient with a low albumin."""
    reason = (
        "with weight loss and loss of appetite//Clothes have become loose over half a year.",
        "for nutrition support after a long illness//{He} manages half of each meal.",
        "with swollen ankles and protein in the urine//It was noticed three weeks ago.",
        "with constipation and fatigue//It has been so for about two months.",
    )
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 24, 88),
        setting="ward",
        reason=reason,
        blocks="legs urine body diet2 cancer bowel",
    )
    chart.measure("calcium_mg_dl", CALCIUM, 6.9, 11.4)
    chart.measure("albumin_g_dl", ALBUMIN, 1.6, 3.9)
    return chart


def sodium_in_hyperglycemia(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Sodium at a high glucose."""
    reason = (
        "with thirst and frequent urination for ten days//{He} drinks five litres a day.",
        "with type 1 diabetes and missed insulin doses//{He} had been travelling without a spare pen.",
        "with newly found diabetes and blurred vision//A finger-prick test at the pharmacy was far too high.",
        "with drowsiness, dry mouth and known type 2 diabetes//Tablets were not taken for two weeks.",
    )
    chart = Chart(
        calculator, draw, draw_person(draw, 19, 86), setting="emergency", reason=reason, blocks="urine eyes hobby"
    )
    chart.measure("sodium_mmol_l", SODIUM, 118, 141)
    chart.measure("glucose_mg_dl", GLUCOSE, 240, 980)
    return chart


def osmolality(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Calculated osmolality."""
    reason = (
        "with confusion after a week of poor drinking//A heat wave has lasted for days.",
        "with drowsiness, found at home by a neighbour//{He} had last been seen two days before.",
        "with nausea after drinking from an unlabelled bottle//It happened about four hours ago.",
    )
    chart = Chart(
        calculator, draw, draw_person(draw, 22, 90), setting="emergency", reason=reason, blocks="urine stomach alcohol"
    )
    chart.measure("sodium_mmol_l", SODIUM, 116, 158)
    chart.measure("bun_mg_dl", BUN, 7, 78)
    chart.measure("glucose_mg_dl", GLUCOSE, 66, 540)
    return chart


def free_water(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Hypernatremia."""
    reason = (
        "with dehydration after days of fever and little drinking//It had been hot all week.",
        "with lethargy after a stomach bug//{He} has hardly drunk for four days.",
        "with a dry tongue and drowsiness, sent from home//The family noticed that {he} stopped asking for drinks.",
    )
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 19, 93, near=(65,)),
        setting="ward",
        reason=reason,
        blocks="temperature urine kidney infection",
    )
    chart.sex()
    chart.age()
    chart.measure("weight_kg", WEIGHT, 44, 104)
    chart.measure("sodium_mmol_l", SODIUM, 144, 172)
    return chart


def fractional_excretion(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Acute kidney injury with a urine sample."""
    reason = (
        "for a rising creatinine after a week of vomiting//{He} has passed little urine since yesterday.",
        "with acute kidney injury after contrast medium//The scan was done three days ago.",
        "with little urine since a long operation//The operation was two days ago.",
        "with acute kidney injury under ibuprofen//It was taken for a sprained ankle.",
    )
    chart = Chart(
        calculator, draw, draw_person(draw, 22, 88), setting="ward", reason=reason, blocks="urine operation pills pain"
    )
    chart.measure("sodium_mmol_l", SODIUM, 129, 147)
    chart.measure("creatinine_mg_dl", CREATININE, 1.4, 5.6)
    chart.measure("urine_sodium_mmol_l", URINE_SODIUM, 7, 96)
    chart.measure("urine_creatinine_mg_dl", URINE_CREATININE, 22, 190)
    return chart


def ldl(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A fasting lipid profile, triglycerides up to 400 mg/dL."""
    reason = (
        "for a lipid profile at the yearly check-up//The sample was taken after a night's fast.",
        "for a review of the diet after gout//{He} fasted before the sample was taken.",
        "for a fasting blood test asked for by an insurance//The form is to be sent back this week.",
        "for advice because a brother has high cholesterol//The sample was taken fasting.",
    )
    chart = Chart(calculator, draw, draw_person(draw, 21, 79), setting="clinic", reason=reason, blocks="joints kin")
    hdl, triglycerides, rest = draw.between(29, 82), draw.between(58, 388), draw.between(58, 214)
    total = rest + hdl + triglycerides / 5
    chart.measure("total_cholesterol_mg_dl", CHOLESTEROL, total, total)
    chart.measure("hdl_mg_dl", HDL, hdl, hdl)
    chart.measure("triglycerides_mg_dl", TRIGLYCERIDES, triglycerides, triglycerides)
    return chart


def insulin_resistance(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Fasting insulin and glucose."""
    reason = (
        "for a metabolic check because of a family history of diabetes//{He} fasted for twelve hours.",
        "for irregular periods and weight gain//The sample was taken after a night's fast.",
        "for a fatty liver seen on ultrasound//{He} came fasting.",
        "for darker skin in the folds of the neck//It was noticed half a year ago. {He} came fasting.",
    )
    chosen = draw.pick(reason)
    # Irregular periods are a woman's reason, and not one of her later years.
    person = draw_person(draw, 19, 44, sex="female") if "periods" in chosen else draw_person(draw, 19, 69)
    chart = Chart(calculator, draw, person, setting="clinic", reason=(chosen,), blocks="liver body")
    chart.measure("insulin_micro_iu_ml", INSULIN, 2.4, 38)
    chart.measure("glucose_mg_dl", GLUCOSE, 74, 188)
    return chart
