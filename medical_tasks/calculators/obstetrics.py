"""Pregnancy: due date, date of conception, gestational age."""

from __future__ import annotations

import datetime
from typing import Final

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.inputs import Day
from medical_tasks.calculators.patient import CYCLE_LENGTH, LAST_MENSTRUAL_DATE
from medical_tasks.calculators.trace import Say, quiet

__all__ = ["conception_date", "due_date", "gestational_age"]

_LONGEST_PREGNANCY_DAYS: Final = 375  # the longest on record (Time, 5 March 1945)


@calculator(
    id=13,
    name="Estimated Due Date",
    category="date",
    output="date",
    inputs=(LAST_MENSTRUAL_DATE, CYCLE_LENGTH.optional(28.0, "28 days")),
    source="Naegele's rule with cycle length; ACOG Committee Opinion 700 (2017).",
    aliases=("EDD",),
)
def due_date(*, last_menstrual_date: datetime.date, cycle_length_days: float, say: Say = quiet) -> datetime.date:
    """Due date: last menstrual date + 280 days + (cycle length − 28) days.

    Source: Naegele's rule; ACOG Committee Opinion 700 (2017).
    """
    shift = _whole(cycle_length_days) - 28
    due = last_menstrual_date + datetime.timedelta(days=280 + shift)
    say(f"Due date = {last_menstrual_date:%m/%d/%Y} + 280 days + ({shift + 28} − 28) days = {due:%m/%d/%Y}.")
    return due


def _whole(days: float) -> int:
    if days != int(days):
        raise CalculatorInputError(f"cycle length: expected whole days, got {days:g}")
    return int(days)


@calculator(
    id=68,
    name="Estimated of Conception",
    category="date",
    output="date",
    inputs=(LAST_MENSTRUAL_DATE,),
    source="Ovulation 14 days after the last menstrual date; ACOG Committee Opinion 700 (2017).",
    aliases=("Estimated Date of Conception", "conception"),
    unused=("cycle length",),
)
def conception_date(*, last_menstrual_date: datetime.date, say: Say = quiet) -> datetime.date:
    """Date of conception: last menstrual date + 14 days.

    The rule is that of a 28-day cycle; a stated cycle length does not enter it.

    Source: ACOG Committee Opinion 700 (2017).
    """
    day = last_menstrual_date + datetime.timedelta(days=14)
    say(f"Conception = {last_menstrual_date:%m/%d/%Y} + 14 days = {day:%m/%d/%Y}.")
    return day


@calculator(
    id=69,
    name="Estimated Gestational Age",
    category="date",
    output="integer",
    inputs=(Day(parameter="current_date", name="Current Date", aliases=("today",)), LAST_MENSTRUAL_DATE),
    source="Days since the last menstrual date; ACOG Committee Opinion 700 (2017).",
    aliases=("EGA",),
)
def gestational_age(
    *, current_date: datetime.date, last_menstrual_date: datetime.date, say: Say = quiet
) -> tuple[int, int]:
    """Gestational age as (weeks, days) since the last menstrual date.

    Source: ACOG Committee Opinion 700 (2017).

    Raises:
        CalculatorInputError: the current date is before the last menstrual date, or later than any pregnancy lasts.
    """
    days = (current_date - last_menstrual_date).days
    if not 0 <= days <= _LONGEST_PREGNANCY_DAYS:
        raise CalculatorInputError(
            f"Current Date: expected 0 to {_LONGEST_PREGNANCY_DAYS} days after the last menstrual date; got "
            f"{current_date:%m/%d/%Y} and {last_menstrual_date:%m/%d/%Y}, {days} days apart: are they swapped?"
        )
    weeks, rest = divmod(days, 7)
    say(f"{current_date:%m/%d/%Y} − {last_menstrual_date:%m/%d/%Y} = {days} days = {weeks} weeks and {rest} days.")
    return weeks, rest
