"""Steps for body size, the electrocardiogram, drug doses and pregnancy dates.

Notes have the day of the last period in various formats, entities as MM/DD/YYYY.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Final

from medical_tasks.construct.fresh.chart import Chart
from medical_tasks.construct.fresh.quantities import (
    AMOUNTS,
    Draw,
    Reading,
    read_json,
)

__all__ = ["MONTHS", "STEPS", "steroid_words", "written_date"]


_TEXTS: Final = read_json("cases.json")["texts"]
# Pairs of whole centimetres and kilograms at which the BMI is exactly 25 or 18.5.
_ON_BOUND: Final = ((160, 64), (180, 81), (200, 100), (200, 74))
_BMI_BELT: Final = 0.25


def draw_height(chart: Chart) -> Reading:
    """States a height; the mean of two draws makes extremes rare."""
    low, high = (160, 194) if chart.person.sex == "male" else (148, 180)
    height = (chart.draw.between(low, high) + chart.draw.between(low, high)) / 2
    return chart.measure("height_cm", "height", height, height)


def draw_weight(
    chart: Chart,
    height_cm: float,
    low: float,
    high: float,
    *,
    clear_of: tuple[float, ...] = (),
) -> None:
    """States a weight for a BMI from `low` to `high`, at a distance from `clear_of`.

    Otherwise the rounding of the height could decide the class.
    """
    squared = (height_cm / 100) ** 2
    index = chart.draw.between(low, high)
    for bound in clear_of:
        if abs(index - bound) < _BMI_BELT:
            index = bound + (_BMI_BELT + 0.1) * (1 if chart.draw.chance(0.5) else -1)
    chart.measure("weight_kg", "weight", index * squared, index * squared)


def size_on_a_bound(chart: Chart) -> None:
    """States a height and a weight whose BMI is exactly on a limit of the classes."""
    height, weight = chart.draw.pick(_ON_BOUND)
    chart.concepts.add("body")
    for name, short, size, unit in (
        ("height", "Ht", height, "cm"),
        ("weight", "Wt", weight, "kg"),
    ):
        reading = Reading([size, unit], f"{size} {unit}", name, short, size)
        chart.note_value("vitals", reading)
        chart.enter(f"{name}_{unit}", reading.entity, what=name, reading=reading)


def body_size(chart: Chart) -> None:
    """The height and weight that the calculator needs, with the sex if it counts."""
    parameters = {item.parameter for item in chart.calculator.inputs}
    if "sex" in parameters:
        chart.sex()
    height = draw_height(chart).base
    if "weight_kg" in parameters:
        # The adjusted weight is for patients above their ideal weight.
        low, high = (
            (27, 46) if chart.calculator.slug == "adjusted_body_weight" else (16.5, 42)
        )
        draw_weight(chart, height, low, high)


def target_weight(chart: Chart) -> None:
    """A height, and the BMI that the patient wants to reach."""
    draw_height(chart)
    reading = AMOUNTS["bmi"].read(chart.draw, chart.system, 18.5, 25)
    chart.enter("bmi_kg_m2", reading.entity)
    chart.say(
        "plan", chart.draw.pick(_TEXTS["target_bmi"]).replace("{bmi}", reading.text)
    )


def qt_interval(chart: Chart) -> None:
    """A heart rate, and an interval of 375 to 505 ms after correction by the square root."""
    rate = chart.measure("heart_rate_per_min", "heart_rate", 44, 124)
    interval = chart.draw.between(375, 505) * math.sqrt(60 / rate.base)
    chart.measure("qt_ms", "qt", interval, interval)


def size_of_a_class(chart: Chart) -> None:
    """Height and weight in one of the BMI classes, which decides the weight in a clearance."""
    if chart.draw.chance(0.12):
        size_on_a_bound(chart)
    else:
        low, high = chart.draw.pick(
            ((16.2, 18.4), (18.6, 24.9), (18.6, 24.9), (25.1, 41), (25.1, 41))
        )
        draw_weight(chart, draw_height(chart).base, low, high, clear_of=(18.5, 25))


# The dataset's name to the drug's name in notes, its route, and usual doses (mg).
# Triamcinolone, intravenous in the dataset, is left out, since it is never given so.
_STEROIDS: Final = _TEXTS["steroids"]
_TIMES: Final = {
    1: "once a day",
    2: "twice a day",
    3: "three times a day",
    4: "four times a day",
}
# The dataset's name to the drug's name in notes, usual single doses, their unit, and how
# often it is taken.
_OPIOIDS: Final = _TEXTS["opioids"]


def steroid_words(name: str) -> str:
    """Returns a steroid's name in notes: `PredniSONE PO` is "oral prednisone"."""
    drug, route, _ = _STEROIDS[name]
    return f"{'oral' if route == 'by mouth' else 'intravenous'} {drug}"


def steroids(chart: Chart) -> None:
    """A steroid with its dose, and the steroid that will replace it."""
    draw = chart.draw
    source, target = draw.some(tuple(_STEROIDS), 2)
    drug, route, doses = _STEROIDS[source]
    dose = draw.pick(doses)
    chart.enter(
        "source",
        [source, dose, "mg"],
        what="dose",
        text=f"{drug} {dose:g} mg {route} once a day",
    )
    chart.enter("target_steroid", target)
    sentence = draw.pick(_TEXTS["steroid_dose"])
    chart.say(
        "medication",
        sentence.replace("{drug}", drug)
        .replace("{dose}", f"{dose:g}")
        .replace("{route}", route),
    )
    change = draw.pick(_TEXTS["steroid_change"])
    chart.say(
        "plan", change.replace("{drug}", drug).replace("{to}", steroid_words(target))
    )


def opioids(chart: Chart) -> None:
    """One to three opioids with doses; a patch has a rate and no daily frequency."""
    draw = chart.draw
    for name in draw.some(tuple(_OPIOIDS), draw.pick((1, 2, 2, 3))):
        drug, doses, unit, times = _OPIOIDS[name]
        dose = draw.pick(doses)
        parameter = name.lower().replace(" ", "_")
        chart.enter(
            parameter, [dose, unit], what="dose", text=f"{drug} {dose:g} {unit}"
        )
        if not times:
            chart.say(
                "medication",
                f"{{He}} wears {drug} that delivers {dose} µg/h, changed every three days.",
            )
            continue

        per_day = draw.pick(times)
        chart.enter(f"{parameter}_per_day", [per_day, "per day"])
        text = (
            draw.pick(_TEXTS["opioid_dose"])
            .replace("{drug}", drug)
            .replace("{dose}", f"{dose:g}")
        )
        chart.say(
            "medication",
            text.replace("{unit}", unit).replace("{times}", _TIMES[per_day]),
        )

    if draw.chance(0.6):
        chart.say("medication", draw.pick(_TEXTS["other_pain_drugs"]))


MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_FIRST_DAY: Final = datetime.date(2022, 1, 3)
_SPAN_DAYS: Final = 1200
_LONGEST_PREGNANCY: Final = 286


def written_date(draw: Draw, day: datetime.date) -> str:
    """Formats a date; with numbers alone only if day and month cannot be confused."""
    month = MONTHS[day.month - 1]
    forms = [
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day:%Y-%m-%d}",
    ]
    if day.day > 12:
        forms.append(f"{day:%m/%d/%Y}")

    return draw.pick(forms)


def last_period(chart: Chart) -> datetime.date:
    """The first day of the last period."""
    day = _FIRST_DAY + datetime.timedelta(days=chart.draw.whole(0, _SPAN_DAYS))
    chart.enter("last_menstrual_date", f"{day:%m/%d/%Y}", what="lmp")
    chart.say(
        "story",
        chart.draw.pick(_TEXTS["last_period"]).replace(
            "{day}", written_date(chart.draw, day)
        ),
    )
    return day


def cycle(chart: Chart) -> None:
    """The length of the cycle, if the note mentions it."""
    draw = chart.draw
    if draw.chance(0.8):
        length = draw.pick((27, 28, 29)) if draw.chance(0.3) else draw.whole(22, 36)
        chart.enter(
            "cycle_length_days", [length, "days"], what="cycle", text=str(length)
        )
        chart.say("story", draw.pick(_TEXTS["cycle"]).replace("{n}", str(length)))


def regular_cycle(chart: Chart) -> None:
    """A regular cycle, mentioned in half of the notes."""
    if chart.draw.chance(0.5):
        chart.say("story", chart.draw.pick(_TEXTS["regular_cycle"]))


def visit(chart: Chart) -> None:
    """The first day of the last period and the day of the visit, often close to a full week."""
    draw, last = chart.draw, last_period(chart)
    days = (
        draw.whole(3, 40) * 7 + draw.pick((-1, 0, 1))
        if draw.chance(0.35)
        else draw.whole(24, _LONGEST_PREGNANCY)
    )
    today = last + datetime.timedelta(days=days)
    chart.enter("current_date", f"{today:%m/%d/%Y}")
    chart.say(
        "story", draw.pick(_TEXTS["visit"]).replace("{day}", written_date(draw, today))
    )


STEPS: Final[tuple[Callable[[Chart], object], ...]] = (
    body_size,
    target_weight,
    qt_interval,
    size_of_a_class,
    steroids,
    opioids,
    last_period,
    cycle,
    regular_cycle,
    visit,
)
"""The steps that `cases.json` names."""
