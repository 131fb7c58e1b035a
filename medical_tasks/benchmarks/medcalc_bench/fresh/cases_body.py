"""Cases of body size, circulation and the electrocardiogram."""

from __future__ import annotations

import math
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh.amounts import Reading
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.person import draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import BMI, HEART_RATE, HEIGHT, QT, WEIGHT
from medical_tasks.calculators import AnyCalculator

__all__ = [
    "body_size",
    "draw_height",
    "draw_weight",
    "maintenance_fluids",
    "mean_arterial_pressure",
    "qtc",
    "size_on_a_bound",
    "target_weight",
]

_SIZE_REASONS: Final = (
    "before a planned bowel operation, for a nutrition check//{He} has kept {his} usual diet.",
    "for dosing of a new medicine//The pharmacist asked for current measurements.",
    "for a health check required by the employer//A form is to be filled in.",
    "before a course of chemotherapy, for dose planning//The first cycle is planned for next week.",
    "for advice on weight and exercise//{He} walks for half an hour on most days.",
)
# Pairs of whole centimetres and kilograms at which the BMI is exactly 25 or 18.5.
_ON_BOUND: Final = ((160, 64), (180, 81), (200, 100), (200, 74))
_BMI_BELT: Final = 0.25


def draw_height(chart: Chart) -> Reading:
    """States a height that fits the patient's sex, and enters it."""
    low, high = (160, 194) if chart.person.sex == "male" else (148, 180)
    height = (chart.draw.between(low, high) + chart.draw.between(low, high)) / 2
    return chart.measure("height_cm", HEIGHT, height, height)


def draw_weight(chart: Chart, height_cm: float, low: float, high: float, *, clear_of: tuple[float, ...] = ()) -> None:
    """States a weight that gives a BMI from `low` to `high`, and enters it.

    Args:
        chart: the patient.
        height_cm: the height stated.
        low: smallest BMI.
        high: largest BMI.
        clear_of: BMIs to keep away from: rounding a height in feet must not decide the class.
    """
    squared = (height_cm / 100) ** 2
    index = chart.draw.between(low, high)
    for bound in clear_of:
        if abs(index - bound) < _BMI_BELT:
            index = bound + (_BMI_BELT + 0.1) * (1 if chart.draw.chance(0.5) else -1)
    chart.measure("weight_kg", WEIGHT, index * squared, index * squared)


def size_on_a_bound(chart: Chart) -> None:
    """States a height and a weight whose BMI is exactly a limit of the classes, and enters them."""
    height, weight = chart.draw.pick(_ON_BOUND)
    chart.concepts.add("body")
    chart.note_value("vitals", Reading([height, "cm"], f"{height} cm", "height", "Ht", height))
    chart.note_value("vitals", Reading([weight, "kg"], f"{weight} kg", "weight", "Wt", weight))
    chart.enter("height_cm", [height, "cm"])
    chart.enter("weight_kg", [weight, "kg"])


def body_size(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Body mass index, body surface area, ideal or adjusted weight."""
    chart = Chart(calculator, draw, draw_person(draw, 19, 84), setting="clinic", reason=_SIZE_REASONS)
    parameters = {item.parameter for item in calculator.inputs}
    if "sex" in parameters:
        chart.sex()
    height = draw_height(chart).base
    if "weight_kg" in parameters:
        # The adjusted weight is for those who weigh more than the ideal.
        draw_weight(chart, height, *((27, 46) if calculator.slug == "adjusted_body_weight" else (16.5, 42)))
    return chart


def target_weight(calculator: AnyCalculator, draw: Draw) -> Chart:
    """The weight at which a wanted BMI is reached."""
    reason = (
        "for advice on weight//{He} would like to know what to aim for.",
        "for a visit to the dietitian//{He} has kept a food diary for two weeks.",
        "for a review of the weight programme//{He} has joined a gym.",
    )
    chart = Chart(calculator, draw, draw_person(draw, 19, 76), setting="clinic", reason=reason)
    draw_height(chart)
    reading = BMI.read(draw, chart.system, 18.5, 25)
    chart.enter("bmi_kg_m2", reading.entity)
    sentence = draw.pick(
        (
            "A target body mass index of {bmi} was agreed on.",
            "The goal is a BMI of {bmi}.",
            "{He} wants to reach a BMI of {bmi}.",
        )
    )
    chart.say("plan", sentence.replace("{bmi}", reading.text))
    return chart


_FLUID_AGES: Final = (
    (2, 11, True, 4.5, 9.8),
    (9, 18, True, 8.5, 12),
    (2, 5, False, 11, 19.5),
    (5, 6, False, 17, 22),
    (7, 13, False, 21, 46),
    (19, 78, False, 48, 96),
)


_FASTING_INFANT: Final = (
    "before a hernia operation//{He} has had nothing by mouth since the early morning.",
    "with a chest infection, too breathless to feed//Feeds have been stopped for now.",
)
_FASTING_CHILD: Final = (
    "after an appendectomy//{He} is not yet allowed to eat or drink.",
    "for an MRI under sedation//{He} has been fasting since the morning.",
    "with a bowel that has stopped working after surgery//Food and drink are withheld.",
)
_FASTING_ADULT: Final = (
    "after an operation on the bowel//{He} is not yet allowed to eat or drink.",
    "before an operation that was put off until the evening//{He} has been fasting since midnight.",
)


def maintenance_fluids(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Fluids for a child, sometimes an adult, who must not eat."""
    low, high, months, light, heavy = draw.pick(_FLUID_AGES)
    person = draw_person(draw, low, high, months=months)
    reason = _FASTING_INFANT if person.months else _FASTING_CHILD if person.child else _FASTING_ADULT
    chart = Chart(
        calculator,
        draw,
        person,
        setting="child" if person.child else "ward",
        reason=reason,
        voice="parent" if person.child else "self",
        blocks="operation abdomen bowel bowelsounds lungs breathing appetite saturation",
    )
    chart.measure("weight_kg", WEIGHT, light, heavy, near=(10, 20))
    return chart


def mean_arterial_pressure(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A blood pressure."""
    reason = (
        "for a check of the blood pressure//Readings at the pharmacy have varied.",
        "after a fall on the stairs//{He} slipped on a wet step and bruised a knee.",
        "with dizziness on standing up//It lasts a few seconds and happens mostly in the mornings.",
        "before a dental operation//The dentist asked for a check beforehand.",
        "with a nosebleed that has stopped by now//It began after sneezing and stopped with pressure.",
    )
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 19, 90),
        setting="clinic" if draw.chance(0.5) else "emergency",
        reason=reason,
        blocks="operation hypertension",
    )
    chart.pressure(84, 196)
    return chart


def qtc(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A QT interval with its heart rate."""
    reason = (
        "for an ECG before a course of clarithromycin//{He} has no symptoms from the heart.",
        "for an ECG before starting haloperidol//The psychiatrist asked for it.",
        "for a routine ECG under methadone//The dose has not changed this year.",
        "with palpitations that have stopped by now//They came after a strong coffee and lasted a few minutes.",
        "for an ECG under citalopram//{He} has taken it for eight months.",
    )
    chart = Chart(calculator, draw, draw_person(draw, 19, 86), setting="clinic", reason=reason, blocks="ecg")
    rate = chart.measure("heart_rate_per_min", HEART_RATE, 44, 124)
    # An interval that fits the rate: between 375 and 505 ms once corrected by the square root.
    interval = draw.between(375, 505) * math.sqrt(60 / rate.base)
    chart.measure("qt_ms", QT, interval, interval)
    return chart
