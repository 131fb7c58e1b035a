"""Sorts wrong dates and gestational ages."""

from __future__ import annotations

import datetime
import re

from medical_tasks.calculators import Result
from medical_tasks.medcalc_bench.error_case import Sorted
from medical_tasks.medcalc_bench.error_reading import Working
from medical_tasks.medcalc_bench.plain_text import plain
from medical_tasks.medcalc_bench.quantities import dates

__all__ = ["date_error"]

_COUNTED = {13: r"\b(?:280|40|naegele|nine|9|7|seven)\b", 68: r"\b(?:14|2|two|fourteen)\b", 69: r""}


def date_error(calculator_id: int, result: Result, working: Working) -> Sorted:
    """The earliest error that the dates and the number of days in a reply show."""
    needed = [value for value in result.used.values() if isinstance(value, datetime.date)]
    stated = {day for line in working.lines for day in _stated(line)}
    stated |= {day for part in _dates(working.text) for day in _stated(part)}
    missing = [day for day in needed if day not in stated]
    if not stated:
        return Sorted("undetermined", "no working is shown")
    label = re.search(
        r"(?:last menstrual (?:period|date)|LMP)[^\n]{0,40}?(?:=|:|is|was|on)\s*", working.text, re.IGNORECASE
    )
    period = result.used["last_menstrual_date"]
    if label is not None and period in missing:
        found = _stated(working.text[label.end() : label.end() + 20])
        if found and found[0] != period:
            return Sorted("B", f"last menstrual date: {period} is nowhere in the reply, which has {found[0]} for it")
    if missing:
        return Sorted("undetermined", "no evidence for one type")
    rule = _COUNTED.get(calculator_id, "")
    added = re.search(r"(?:add(?:ing)?|\+|plus)\s*(?:about )?(\d+)\s*(days|weeks)\b", working.text, re.IGNORECASE)
    if rule and not re.search(rule, _without_dates(working.text), re.IGNORECASE):
        if added is not None:
            return Sorted("A", f"{added[1]} {added[2].lower()} are added, which is not the rule")
        return Sorted("undetermined", "no evidence for one type")
    if rule and added is None:
        return Sorted("undetermined", "no evidence for one type")
    return Sorted("C", "the dates and the rule are right, the calendar arithmetic is not")


def _stated(text: str) -> list[datetime.date]:
    return [each.value for each in dates(plain(text)) if isinstance(each.value, datetime.date)]


def _dates(text: str) -> list[str]:
    return re.findall(r"\d{1,4}[/-]\d{1,2}[/-]\d{2,4}|[A-Z][a-z]{2,8} \d{1,2}(?:st|nd|rd|th)?,? \d{4}", text)


def _without_dates(text: str) -> str:
    for part in _dates(text):
        text = text.replace(part, " ")
    return text
