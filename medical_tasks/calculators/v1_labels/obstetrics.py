"""Pregnancy: due date, conception, gestational age."""

from __future__ import annotations

from datetime import datetime, timedelta

from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.v1_labels.entities import Entities

__all__ = ["conception_date", "due_date", "gestational_age"]

_FORM = "%m/%d/%Y"
_LAST_PERIOD = "Last menstrual date"
_YEARS_LEFT = 9990  # a later year could leave the calendar


def due_date(given: Entities) -> str:
    """13: 280 days, and the difference of the cycle to 28 days always added, never subtracted."""
    cycle = given.bare("cycle length")
    if cycle < 28:
        given.note(f"cycle of {cycle:g} days: {28 - cycle:g} days added instead of subtracted")
    return _shifted(given, 280 + _limited(abs(cycle - 28)))


def conception_date(given: Entities) -> str:
    """68: 14 days after the last period, whatever the cycle length."""
    if given.has("cycle length") and given.bare("cycle length") != 28:
        given.note("cycle length ignored")
    return _shifted(given, 14)


def gestational_age(given: Entities) -> tuple[str, str]:
    """69: weeks and days between the two dates, in whichever order they are."""
    days = (_date(given, "Current Date") - _date(given, _LAST_PERIOD)).days
    if days < 0:
        given.note("dates are swapped, and the difference taken absolute")
    weeks, rest = divmod(abs(days), 7)
    return f"{weeks} weeks", f"{rest} days"


def _shifted(given: Entities, days: float) -> str:
    return (_date(given, _LAST_PERIOD) + timedelta(days=days)).strftime(_FORM)


def _limited(days: float) -> float:
    if days <= 365:
        return days
    raise CalculatorInputError(f"cycle length: expected a number of days near 28; it differs by {days:g}")


def _date(given: Entities, name: str) -> datetime:
    text = given.text(name)
    if text is None:
        raise CalculatorInputError(f"{name}: the label rule cannot run without it; it is not among the entities")
    try:
        date = datetime.strptime(text, _FORM)
    except ValueError as error:
        raise CalculatorInputError(f"{name}: the label rule needs MM/DD/YYYY; got {text!r}") from error
    if date.year > _YEARS_LEFT:
        raise CalculatorInputError(f"{name}: the year must be at most {_YEARS_LEFT}; got {text!r}")
    return date
