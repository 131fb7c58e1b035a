"""Reads calendar dates: M/D/YYYY as asked for, ISO 8601, and written out in English.

Numbers with slashes, dashes or dots are month first, as the questions ask; a day-first date is a wrong one, also where it
could not be read month first. Two-digit years are 1970 to 2069.
"""

from __future__ import annotations

import re
from datetime import date

from medical_tasks.medcalc_bench.plain_text import plain, without_brackets

__all__ = ["MAX_DATES", "stated_dates"]

MAX_DATES = 50
"""How many dates of one text are looked at."""
PIVOT = 70

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_GAP = r"[\s,./-]{0,3}"
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th)?(?![0-9])"
_DATE = re.compile(
    rf"""(?<![0-9./-])(?P<month>[0-9]{{1,2}})\s?(?P<sign>[-/.])\s?(?P<day>[0-9]{{1,2}})\s?(?P=sign)\s?(?P<year>[0-9]{{4}}|[0-9]{{2}})(?![0-9])
      | (?<![0-9./-])(?P<iso_year>[0-9]{{4}})\s?[-/.]\s?(?P<iso_month>[0-9]{{1,2}})\s?[-/.]\s?(?P<iso_day>[0-9]{{1,2}})(?![0-9])
      | (?<![0-9])(?P<basic_year>(?:19|20)[0-9]{{2}})(?P<basic_month>[01][0-9])(?P<basic_day>[0-3][0-9])(?![0-9])
      | (?P<named_month>(?<![A-Za-z]){_MONTH}){_GAP}(?:the\s)?(?P<named_day>{_DAY}){_GAP}(?P<named_year>[0-9]{{4}})(?![0-9])
      | (?<![0-9])(?P<first_day>{_DAY}){_GAP}(?:of\s)?(?P<second_month>{_MONTH}){_GAP}(?P<third_year>[0-9]{{4}})(?![0-9])
      | (?<![0-9])(?P<first_year>[0-9]{{4}}){_GAP}(?P<middle_month>{_MONTH}){_GAP}(?P<last_day>{_DAY})""",
    re.VERBOSE | re.IGNORECASE,
)
_PARTS = (
    ("year", "month", "day"),
    ("iso_year", "iso_month", "iso_day"),
    ("basic_year", "basic_month", "basic_day"),
    ("named_year", "named_month", "named_day"),
    ("third_year", "second_month", "first_day"),
    ("first_year", "middle_month", "last_day"),
)
_CUE = re.compile(
    r"(?:\b(?:is|was|be|equals|on|around|about|approximately)|[:=→])[\s\"'({\[]{0,4}(?:(?:the|on|around|about|approximately)\s)?$"
)
_CUE_REACH = 40
_DIGIT = re.compile("[0-9]")
_WEEKDAY = re.compile(r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b[.,]?", re.IGNORECASE)
_CHOICE = re.compile(r"\s{0,3}(?:\bor\b|\bto\b|-|\band\b|;)\s{0,3}$")


def stated_dates(text: str, *, last: bool = False) -> list[date | None]:
    """Finds the date a text states as its answer.

    Args:
        text: an answer, or a sentence that gives one.
        last: prefer the last date introduced by "is", ":" and the like, as fits a chain of reasoning.

    Returns:
        The date, None standing for one that the calendar does not have; several where the text offers a choice; empty
        where there is none.
    """
    text = plain(text)
    if _DIGIT.search(text) is None:
        return []
    text = _WEEKDAY.sub(" ", text)
    source = without_brackets(text)
    found = _found(source)
    if not found and source != text:
        source, found = text, _found(text)
    if not found:
        return []
    starts = [start for start, _, _ in found]
    opening = not source[: starts[0]].strip(" \"'\n")
    cued = [place for place, start in enumerate(starts) if _CUE.search(source[max(0, start - _CUE_REACH) : start])]
    equated = [place for place, start in enumerate(starts) if source[:start].rstrip(" (\"'").endswith(("=", "→"))]
    if equated:
        chosen = equated[-1]
    elif opening and not last:
        chosen = 0
    elif cued:
        chosen = cued[-1]
    else:
        chosen = len(found) - 1
    first = last_one = chosen
    while first > 0 and _CHOICE.fullmatch(source[found[first - 1][1] : found[first][0]]):
        first -= 1
    while last_one + 1 < len(found) and _CHOICE.fullmatch(source[found[last_one][1] : found[last_one + 1][0]]):
        last_one += 1
    return [day for _, _, day in found[first : last_one + 1]]


def _found(text: str) -> list[tuple[int, int, date | None]]:
    """Start, end and date of everything in the text that has the form of a date."""
    found: list[tuple[int, int, date | None]] = []
    for match in _DATE.finditer(text):
        groups = match.groupdict()
        year, month, day = next(
            (groups[year], groups[month], groups[day]) for year, month, day in _PARTS if groups[day] is not None
        )
        found.append((match.start(), match.end(), _date(year, month, day)))
        if len(found) == MAX_DATES:
            break
    return found


def _date(year: str, month: str, day: str) -> date | None:
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
    full = int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= PIVOT else 2000)
    try:
        return date(full, number, int(day.rstrip("dhnrst DHNRST")))
    except ValueError:
        return None
