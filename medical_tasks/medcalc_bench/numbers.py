"""Reads the one number that an answer states.

What counts as stated: the number after "is", "=", ":" and the like, or the first one, in the first clause that has one. Not
counted: digits inside names and units (CHA2DS2-VASc, mL/min/1.73 m2), bounds (<1 %), dates, and what stands in brackets
behind the answer. Sums and products left undone state no number, and a range or a choice states each of its ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from medical_tasks.medcalc_bench.plain_text import plain, without_brackets

__all__ = ["MAX_NUMBERS", "Number", "stated_numbers"]

MAX_NUMBERS = 100
"""How many numbers of one text are looked at."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written in a text.

    Attributes:
        value: its value; of "12 %" it is 12.
        percent: whether a per cent sign or word follows.
        start: where its digits begin.
        end: behind its last character, the per cent sign included.
    """

    value: float
    percent: bool
    start: int
    end: int


_NUMBER = re.compile(
    r"""(?P<thousands> [1-9][0-9]{0,2}(?:,[0-9]{3})++(?![0-9]) (?:\.[0-9]++)?+
          | [1-9][0-9]{0,2}(?:[ ][0-9]{3})++(?![0-9]) (?:\.[0-9]++)?+ )
      | (?P<continental> [1-9][0-9]{0,2}(?:\.[0-9]{3})++,[0-9]++(?![0-9,.]) | [0-9]++,[0-9]++(?![0-9,.]) )
      | (?P<usual> [0-9]++(?:\.[0-9]*+)?+ | \.[0-9]++ )""",
    re.VERBOSE,
)
_EXPONENT = re.compile(
    r"[eE](?P<short>[-+]?[0-9]{1,4})(?![0-9.])|[ ]?[xX×*][ ]?10[ ]?(?:\^|\*\*)[ ]?[({]{0,2}[ ]?(?P<long>[-+]?[0-9]{1,4})(?![0-9])[ )}]{0,3}"
)
_PERCENT = re.compile(r"\s{0,3}+(?:%|percent\b|per cent\b|pct\b)", re.IGNORECASE)
_NAMES = re.compile(r"\bCURB[- ]?65|\bFIB[- ]?4\b|\bCHA2DS2\b|\bP2Y12\b|/ ?1\.73(?![0-9])", re.IGNORECASE)
_DATES = re.compile(r"(?<![0-9/.-])[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{2,4}(?![0-9/])")
_CLAUSE = re.compile(r"\n|[;,]\s++(?=[A-Za-z])|(?<=[^A-Z][.!?])\s++(?=[A-Z(*])")
_EQUALS = re.compile(r"[=≈→]")
_CUE = re.compile(
    r"(?:\b(?:is|are|was|be|equals|equal to|(?:score|value|index|total|result|estimate) of|scored?|scores|totals?|"
    r"approximately|about|around|roughly|ca\.)|:)[\s\"'({\[]{0,4}(?:(?:approximately|about|around|roughly|ca\.|just|exactly|"
    r"only|a|an|the|total|of|score)\s{1,3}){0,3}[\"'({\[]{0,3}[-+]?\s?$",
    re.IGNORECASE,
)
_CUE_REACH = 60
_OPENING = re.compile(r"[\s\"'({\[]*+[-+]?\s?+$")
_BETWEEN = re.compile(
    r"\s?(?:[A-Za-z%][A-Za-z/%^0-9.]{0,20}(?: [A-Za-z0-9^]{1,12})?)?\s{0,3}(?:-|\bto\b|\bor\b)\s{0,3}|\s{0,3}(?:;|\band\b)\s{0,3}"
)
_UNDONE = re.compile(r"\s{0,3}(?:[*+×÷^/]|[xX](?=\s?[0-9]))\s{0,3}[-(\[]?\s?[0-9.]")
_OVER = re.compile(r"\s{0,3}/\s{0,3}([0-9]{1,18}(?:\.[0-9]{1,18})?)")
_SEVENTHS = re.compile(r"\s{1,2}([0-9]{1,4})/([0-9]{1,4})(?![0-9/])")
_REFUSED = re.compile(
    r"\b(?:cannot|can't|can not|could not|unable|insufficient|indeterminate|unknown|impossible|undefined|"
    r"not (?:be )?(?:calculated|determined|computed|possible|available|enough|applicable|specified))\b",
    re.IGNORECASE,
)
_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
).split()
_WORD = re.compile(
    rf"(?:^|[:=]|\b(?:is|of|scores?|equals|totals?))[\s\"'(]{{0,3}}({'|'.join(_WORDS)})\b"
    r"(?=[\s\"')]{0,3}(?:$|[.,;!]|points?\b|criteri|out\b|of\b))",
    re.IGNORECASE,
)
_NO_POINTS = re.compile(r"\b(?:no|zero|none of the)\s{1,2}(?:points?|criteria|criterion)\b", re.IGNORECASE)


def stated_numbers(text: str, *, score: bool, last: bool = False) -> list[Number]:
    """Finds the number a text states as its answer.

    Args:
        text: an answer, or a sentence that gives one.
        score: whether the number is one of points, so that "3/9" is 3 of 9 and "2,5" no decimal fraction.
        last: take the last clause that states a number instead of the first, as fits a chain of reasoning.

    Returns:
        The number; several where the text leaves open which (a range, a choice); none where it states none.
    """
    text = _DATES.sub(" ", _NAMES.sub(" ", plain(text)))
    clauses = [clause for clause in _clauses(text) if any(sign.isdigit() for sign in clause)]
    if not clauses:
        return _in_words(text)
    if last:
        clauses.reverse()
    plainly: list[Number] = []
    for clause in clauses:
        numbers, cued = _in_clause(clause, score=score, last=last)
        if cued:
            return numbers
        plainly = plainly or numbers
    return plainly


def _clauses(text: str) -> list[str]:
    clauses = _CLAUSE.split(without_brackets(text))
    if any(sign.isdigit() for clause in clauses for sign in clause):
        return clauses
    return _CLAUSE.split(text)  # the answer itself stands in brackets


def _in_clause(clause: str, *, score: bool, last: bool) -> tuple[list[Number], bool]:
    """The numbers a clause states, and whether it says so: by opening with them, or by a word such as "is"."""
    if _REFUSED.search(clause):
        return [], False
    parts = [part for part in _EQUALS.split(clause) if any(sign.isdigit() for sign in part)]
    part, equated = parts[-1], len(_EQUALS.split(clause)) > 1
    first: Number | None = None
    cued: Number | None = None
    for number in _numbers(part, score=score):
        if first is None:
            first = number
            if _OPENING.match(part[max(0, number.start - _CUE_REACH) : number.start]) and not last:
                return _alternatives(part, number, score=score), True
        if _CUE.search(part[max(0, number.start - _CUE_REACH) : number.start]):
            cued = number
            if not last:
                break
    chosen = cued or first
    if chosen is None:
        return [], False
    opens = _OPENING.match(part[max(0, chosen.start - _CUE_REACH) : chosen.start]) is not None
    return _alternatives(part, chosen, score=score), cued is not None or equated or opens


def _numbers(text: str, *, score: bool) -> Iterator[Number]:
    """The numbers of a text that are neither in a name, nor in a unit, nor a bound."""
    position = 0
    for _ in range(MAX_NUMBERS):
        found = _NUMBER.search(text, position)
        if found is None:
            return
        number = _number(text, found.start(), score=score)
        if number is None:
            position = found.end()
        else:
            position = number.end
            yield number


def _number(text: str, start: int, *, score: bool) -> Number | None:
    """The number whose digits begin at `start`, or None when these digits are no number of their own."""
    found = _NUMBER.match(text, start)
    if found is None or not _stands_alone(text, start):
        return None
    written, end = found[0], found.end()
    if found["thousands"]:
        written = written.replace(",", "").replace(" ", "")
    elif found["continental"]:
        if score:
            written = written.split(",")[0]
            end = start + len(written)
        else:
            written = written.replace(".", "").replace(",", ".")
    if text[end : end + 1] == "_" or (written == "0" and text[end : end + 1] in tuple("xXbBoO")):
        return None
    exponent = _EXPONENT.match(text, end)
    if exponent:
        written += "e" + (exponent["short"] or exponent["long"])
        end = exponent.end()
    percent = _PERCENT.match(text, end)
    value = float(written)
    return Number(-value if _negative(text, start) else value, percent is not None, start, percent.end() if percent else end)


def _stands_alone(text: str, start: int) -> bool:
    before, earlier = text[start - 1 : start], text[max(0, start - 2) : max(0, start - 1)]
    if before.isalnum() or before in ("_", "^") or (before == "{" and earlier.endswith("^")):
        return False
    if before in (".", "-", "/") and earlier.isalpha():
        return False
    if before == "." and earlier.isdigit():
        return False
    lead = text[max(0, start - 8) : start].rstrip(" -+")
    return not (lead.endswith(("<", ">", "≤", "≥")) or lead.endswith(" per"))


def _negative(text: str, start: int) -> bool:
    """Whether the sign in front is a minus, and not a dash or a subtraction."""
    before = text[max(0, start - 6) : start]
    lead = before.rstrip(" ")
    if not lead.endswith("-"):
        return False
    earlier = lead[:-1]
    if lead == before:  # the minus touches the number
        return not earlier or not (earlier[-1].isalnum() or earlier[-1] in ")]}%")
    earlier = earlier.rstrip(" ")
    return (not earlier and start <= 6) or earlier.endswith((":", "(", "[", '"', "'", "\n"))


def _alternatives(text: str, number: Number, *, score: bool) -> list[Number]:
    """The number with what is offered beside it: the other end of a range, another choice; none if the sum is not done."""
    if mixed := _SEVENTHS.match(text, number.end):
        over, under = int(mixed[1]), int(mixed[2])
        if under > over and number.value.is_integer():
            size = abs(number.value) + over / under
            return [Number(size if number.value >= 0 else -size, number.percent, number.start, mixed.end())]
    if over_number := _OVER.match(text, number.end):
        under_value = float(over_number[1])
        if score:
            return [number]
        if under_value == 0 or _UNDONE.match(text, over_number.end()):
            return []
        return [Number(number.value / under_value, number.percent, number.start, over_number.end())]
    if _UNDONE.match(text, number.end):
        return []
    numbers = [number]
    while len(numbers) < MAX_NUMBERS:
        joined = _BETWEEN.match(text, numbers[-1].end)
        if joined is None:
            break
        at = joined.end()
        following = _number(text, at + (text[at : at + 1] in ("-", "+")), score=score)
        if following is None:
            break
        numbers.append(following)
    return numbers


def _in_words(text: str) -> list[Number]:
    """A number written as a word, or "no points"."""
    if _REFUSED.search(text):
        return []
    if found := _WORD.search(text.strip()):
        return [Number(float(_WORDS.index(found[1].lower())), False, *found.span(1))]
    if found := _NO_POINTS.search(text):
        return [Number(0.0, False, *found.span())]
    return []
