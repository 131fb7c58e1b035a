"""Cases of pregnancy dates. The day of the last period is written as notes write dates, the entities as MM/DD/YYYY."""

from __future__ import annotations

import datetime
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.person import draw_person
from medical_tasks.calculators import AnyCalculator

__all__ = ["conception_date", "due_date", "gestational_age"]

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_FIRST: Final = datetime.date(2015, 1, 1)
_DAYS: Final = 4000
_PERIOD: Final = (
    "Her last menstrual period began on {day}.",
    "The first day of the last menstrual period was {day}.",
    "She noted {day} as the first day of her last period.",
    "LMP {day}.",
)
_REASONS: Final = (
    "after a positive home pregnancy test",
    "for her first antenatal visit",
    "for advice early in pregnancy",
    "for a routine antenatal visit",
)
_LONGEST: Final = 286


def _written(draw: Draw, day: datetime.date) -> str:
    """A date as a note writes it; figures alone only where day and month cannot be mistaken for each other."""
    month = _MONTHS[day.month - 1]
    forms = [f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", f"{day:%Y-%m-%d}"]
    if day.day > 12:
        forms.append(f"{day:%m/%d/%Y}")
    return draw.pick(forms)


def _chart(calculator: AnyCalculator, draw: Draw, reason: tuple[str, ...] = _REASONS) -> Chart:
    person = draw_person(draw, 19, 43, sex="female")
    return Chart(calculator, draw, person, setting="obstetric", reason=reason, blocks="cycle")


def _last_period(chart: Chart) -> datetime.date:
    day = _FIRST + datetime.timedelta(days=chart.draw.whole(0, _DAYS))
    chart.enter("last_menstrual_date", f"{day:%m/%d/%Y}")
    chart.say("story", chart.draw.pick(_PERIOD).replace("{day}", _written(chart.draw, day)))
    return day


def due_date(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A due date; the length of the cycle is stated or left out."""
    chart = _chart(calculator, draw)
    _last_period(chart)
    if draw.chance(0.8):
        length = draw.pick((27, 28, 29)) if draw.chance(0.3) else draw.whole(22, 36)
        chart.enter("cycle_length_days", [length, "days"])
        sentence = draw.pick(
            ("Her cycles are regular, {n} days long.", "She has a regular {n}-day cycle.", "Cycle length {n} days.")
        )
        chart.say("story", sentence.replace("{n}", str(length)))
    return chart


def conception_date(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A date of conception."""
    chart = _chart(calculator, draw)
    _last_period(chart)
    if draw.chance(0.5):
        chart.say("story", draw.pick(("Her cycles are regular.", "Periods come regularly every four weeks.")))
    return chart


def gestational_age(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A gestational age on the day of the visit."""
    chart = _chart(calculator, draw, _REASONS[1:])
    last = _last_period(chart)
    days = draw.whole(3, 40) * 7 + draw.pick((-1, 0, 1)) if draw.chance(0.35) else draw.whole(24, _LONGEST)
    today = last + datetime.timedelta(days=days)
    chart.enter("current_date", f"{today:%m/%d/%Y}")
    sentence = draw.pick(("Today is {day}.", "Date of this visit: {day}.", "She is seen on {day}."))
    chart.say("story", sentence.replace("{day}", _written(draw, today)))
    return chart
