"""Reads a gestational age: weeks and days, in any of the notations in use.

"34 weeks 3 days", "(34 weeks, 3 days)", "34w3d", "34+3", "34 3/7 weeks", a bare pair "34, 3", decimal weeks ("34.43 weeks",
to the nearest day), weeks alone or days alone. Two ages are the same when they are the same number of days.
"""

from __future__ import annotations

import re

from medical_tasks.medcalc_bench.plain_text import NUMBER_WORDS, plain

__all__ = ["stated_ages"]

DAYS_A_WEEK = 7

_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_DRESS = str.maketrans("[]{}\"'", "()()  ")

_NUMBER = r"(?<![0-9.,/A-Za-z])(?P<sign>-(?=[0-9])|[<>≤≥]\s?)?(?<![0-9.])"
_WEEKS = r"\s{0,3}-?(?:weeks?|wks?\.?|w)"
_DAYS = r"\s{0,3}-?(?:days?|d)\b"
_JOIN = r"[\s,;:&+]{0,6}(?:and\s{1,3}|plus\s{1,3}|-\s{1,3})?"
_FORMS = tuple(
    re.compile(_NUMBER + form, re.IGNORECASE)
    for form in (
        rf"(?P<weeks>[0-9]{{1,3}}){_WEEKS}{_JOIN}(?P<days>[0-9]{{1,3}})(?:/7)?(?:{_DAYS}|(?![0-9/]|\.[0-9])(?!\s{{0,3}}[A-Za-z]))",
        r"(?P<weeks>[0-9]{1,3})\s{0,2}[-+ ]\s{0,2}(?P<days>[0-6])/7(?![0-9])",
        rf"(?P<weeks>[0-9]{{1,3}}\.[0-9]{{1,6}}){_WEEKS}\b",
    )
)
_KEYED = re.compile(
    r"\bweeks?\s{0,2}[:=]?\s{0,2}(?P<weeks>[0-9]{1,3})[\s,;]{1,4}days?\s{0,2}[:=]?\s{0,2}(?P<days>[0-9]{1,3})(?![0-9]|\.[0-9])",
    re.IGNORECASE,
)
_BARE = re.compile(
    _NUMBER
    + r"(?P<weeks>[0-9]{1,3})\s{0,2}[,;:+]\s{0,2}(?P<days>[0-9]{1,3})(?![0-9/]|\.[0-9])(?:\s{0,3}days?)?(?!\s{0,3}[A-Za-z,;])"
)
_SINGLE = re.compile(_NUMBER + rf"(?:(?P<weeks>[0-9]{{1,3}}){_WEEKS}\b|(?P<days>[0-9]{{1,3}}){_DAYS})", re.IGNORECASE)


def stated_ages(text: str, *, last: bool = False) -> list[int]:
    """Finds the gestational age a text states as its answer.

    Args:
        text: an answer, or a sentence that gives one.
        last: take the last age of the text instead of the first, as fits a chain of reasoning.

    Returns:
        The age in days; empty where there is none. Several where the text offers a choice ("4 weeks 2 days or 4 weeks 3
        days").
    """
    text = _WORD.sub(lambda word: str(NUMBER_WORDS.index(word[0].lower())), plain(text)).translate(_DRESS)
    for pattern in (*_FORMS, _KEYED, _BARE, _SINGLE):
        found = list(pattern.finditer(text))
        if found:
            return _chosen(text, found, last=last)
    return []


def _chosen(text: str, found: list[re.Match[str]], *, last: bool) -> list[int]:
    chosen = len(found) - 1 if last else 0
    first = end = chosen
    while first > 0 and _is_choice(text[found[first - 1].end() : found[first].start()]):
        first -= 1
    while end + 1 < len(found) and _is_choice(text[found[end].end() : found[end + 1].start()]):
        end += 1
    ages = [_days(match) for match in found[first : end + 1]]
    return [] if None in ages else [age for age in ages if age is not None]


def _is_choice(between: str) -> bool:
    return len(between) < 12 and between.strip(" ()") in ("or", "to", "-")


def _days(match: re.Match[str]) -> int | None:
    parts = match.groupdict()
    if parts.get("sign"):
        return None
    weeks, days = parts.get("weeks") or "0", parts.get("days") or "0"
    return round(float(weeks) * DAYS_A_WEEK) + int(days)
