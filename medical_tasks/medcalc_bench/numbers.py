"""Reads the one number that an answer states.

What counts as stated: the number after "is", "=", ":" and the like, or the first one, in the first clause that has one. Not
counted: digits inside names and units (CHA2DS2-VASc, mL/min/1.73 m2), bounds (<1 %), dates, and what stands in brackets
behind the answer. Sums and products left undone state no number, and a range or a choice states each of its ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from medical_tasks.medcalc_bench.plain_text import NUMBER_WORDS, plain, without_brackets

__all__ = ["MAX_NUMBERS", "REFUSED", "Number", "stated_numbers"]

MAX_NUMBERS = 30
"""How many numbers of one clause are looked at."""
MAX_CLAUSES = 10
"""How many clauses with a number in them are looked at."""


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
      | [0-9]++(?:\.[0-9]*+)?+ | \.[0-9]++""",
    re.VERBOSE,
)
_EXPONENT = re.compile(
    r"[eE](?P<short>[-+]?[0-9]{1,4})(?![0-9.])"
    r"|[ ]?[xX×*][ ]?10[ ]?(?:\^|\*\*)[ ]?[({]{0,2}[ ]?(?P<long>[-+]?[0-9]{1,4})(?![0-9])[ )}]{0,3}"
)
_PERCENT = re.compile(r"\s{0,3}+(?:%|percent\b|per cent\b|pct\b)", re.IGNORECASE)
_DIGIT = re.compile("[0-9]")
_NAMES = re.compile(r"\bCURB[- ]?65|\bFIB[- ]?4\b|\bCHA2DS2\b|\bP2Y12\b|/ ?1\.73(?![0-9])", re.IGNORECASE)
_DATES = re.compile(r"(?<![0-9/.-])[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{2,4}(?![0-9/])")
_CLAUSE = re.compile(r"\n|[;,]\s++(?=[A-Za-z])|(?<=[^A-Z][.!?])\s++(?=[A-Z(*])")
_EQUALS = re.compile(r"[=≈→]")
_ABOUT = r"approximately|about|around|roughly|ca\."
_CUE = re.compile(
    r"(?:\b(?:is|are|was|be|equals|equal to|(?:score|value|index|total|result|estimate) (?:of|at)|"
    rf"scored?|scores|totals?|remains|gives|yields|comes to|amounts to|{_ABOUT})|:)[\s\"'({{\[]{{0,4}}"
    rf"(?:(?:{_ABOUT}|just|exactly|only|a|an|the|total|of|score)\s{{1,3}}){{0,3}}[\"'({{\[]{{0,3}}[-+]?\s?$",
    re.IGNORECASE,
)
_CUE_REACH = 60
# What such a number numbers is no quantity: "CKD stage 4", "NYHA class 2".
_ORDINAL = re.compile(r"\b(?:stage|grade|class|category|group|type|phase|tier|NYHA|Killip)[ :]\s?$", re.IGNORECASE)
_MINUS = re.compile(r"\b(?:minus|negative) $", re.IGNORECASE)
_WORD_REACH = 12
_OPENING = re.compile(r"[\s\"'({\[]*+[-+]?\s?+$")
_BETWEEN = re.compile(
    r"\s?(?:[A-Za-z%][A-Za-z/%^0-9.]{0,20}(?: [A-Za-z0-9^]{1,12})?)?\s{0,3}(?:-|\bto\b|\bor\b)\s{0,3}|\s{0,3}(?:;|\band\b)\s{0,3}"
)
_UNIT = re.compile(r"\s?([A-Za-z°µ][A-Za-z/°µ^0-9]{0,20})")
_UNDONE = re.compile(r"\s{0,3}(?:[*+×÷^/]|[xX](?=\s?[0-9]))\s{0,3}[-(\[]?\s?[0-9.]")
_OVER = re.compile(r"\s{0,3}/\s{0,3}([0-9]{1,18}(?:\.[0-9]{1,18})?)")
_SEVENTHS = re.compile(r"\s{1,2}([0-9]{1,4})/([0-9]{1,4})(?![0-9/])")
REFUSED = re.compile(
    r"\b(?:cannot|can't|can not|could not|unable|insufficient|indeterminate|unknown|impossible|undefined|"
    r"N/A|not (?:be )?(?:calculated|determined|computed|possible|available|enough|applicable|specified))\b",
    re.IGNORECASE,
)
_WORD = re.compile(
    rf"(?:^|[:=]|\b(?:is|of|scores?|equals|totals?))[\s\"'(]{{0,3}}({'|'.join(NUMBER_WORDS)})\b"
    r"(?=[\s\"')]{0,3}(?:$|[.,;!]|points?\b|criteri|out\b|of\b))",
    re.IGNORECASE,
)
_NO_POINTS = re.compile(r"\b(?:no|zero|none of the)\s{1,2}(?:points?|criteria|criterion)\b", re.IGNORECASE)


def stated_numbers(text: str, *, score: bool, last: bool = False) -> tuple[list[Number], bool]:
    """Finds the number a text states as its answer.

    Args:
        text: an answer, or a sentence that gives one.
        score: whether the number is one of points, so that "3/9" is 3 of 9 and no quotient.
        last: take the last clause that states a number instead of the first, as fits a chain of reasoning.

    Returns:
        The number, several where the text leaves open which (a range, a choice), none where it states none; and whether
        it is plainly the answer: it opens a clause or follows "is", "=" or the like.
    """
    text = _DATES.sub(" ", _NAMES.sub(" ", plain(text)))
    if not _has_digit(text):
        return _in_words(text), True
    # What stands in brackets is aside, unless there is nothing else.
    bare = without_brackets(text)
    for source in (bare, text) if bare != text else (text,):
        refused = REFUSED.search(source) is not None
        plainly: list[Number] = []
        clauses = [clause for clause in _CLAUSE.split(source) if _has_digit(clause)]
        for clause in clauses[: -MAX_CLAUSES - 1 : -1] if last else clauses[:MAX_CLAUSES]:
            if refused and REFUSED.search(clause):
                continue
            numbers, cued = _in_clause(clause, score=score, last=last)
            if cued:
                return numbers, True
            plainly = plainly or numbers
        if plainly:
            return ([] if refused else plainly), False
    return [], False


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


def _in_clause(clause: str, *, score: bool, last: bool) -> tuple[list[Number], bool]:
    """The numbers a clause states, and whether it says so: by opening with them, or by a word such as "is"."""
    sides = _EQUALS.split(clause)
    for side in reversed(sides):
        numbers = list(_numbers(side))
        if numbers:
            break
    else:
        return [], False
    if last:
        numbers.reverse()
    cued = next((number for number in numbers if _is_cued(side, number.start)), None)
    return _alternatives(side, cued or numbers[0], score=score), cued is not None or len(sides) > 1


def _is_cued(text: str, start: int) -> bool:
    """Whether a number opens the text, or follows a word such as "is"."""
    lead = text[max(0, start - _CUE_REACH) : start]
    if start <= _CUE_REACH and _OPENING.match(lead) is not None:
        return True
    word = lead.rstrip("+- \t\"'({[")
    return (word[-1:].isalpha() or word.endswith((":", "."))) and _CUE.search(lead) is not None


def _numbers(text: str) -> Iterator[Number]:
    """The numbers of a text that are neither in a name, nor in a unit, nor a bound."""
    position = 0
    for _ in range(MAX_NUMBERS):
        found = _NUMBER.search(text, position)
        if found is None:
            return
        number = _number(text, found.start())
        if number is None:
            position = found.end()
        else:
            position = number.end
            yield number


def _number(text: str, start: int) -> Number | None:
    """The number whose digits begin at `start`, or None when these digits are no number of their own."""
    found = _NUMBER.match(text, start)
    if found is None or not _stands_alone(text, start):
        return None
    written, end = found[0], found.end()
    if found["thousands"]:
        written = written.replace(",", "").replace(" ", "")
    if text[end : end + 1] == "_" or (written == "0" and text[end : end + 1] in tuple("xXbBoO")):
        return None
    exponent = _EXPONENT.match(text, end)
    if exponent:
        written += "e" + (exponent["short"] or exponent["long"])
        end = exponent.end()
    percent = _PERCENT.match(text, end)
    value = float(written)
    return Number(
        -value if _negative(text, start) else value, percent is not None, start, percent.end() if percent else end
    )


def _stands_alone(text: str, start: int) -> bool:
    before, earlier = text[start - 1 : start], text[max(0, start - 2) : max(0, start - 1)]
    if before.isalnum() or before in ("_", "^") or (before == "{" and earlier.endswith("^")):
        return False
    if before in (".", "-", "/") and earlier.isalpha():
        return False
    if before == "." and earlier.isdigit():
        return False
    lead = text[max(0, start - _WORD_REACH) : start]
    if lead.rstrip(" -+").endswith(("<", ">", "≤", "≥", " per")):
        return False
    return not (before in (" ", ":") and _ORDINAL.search(lead))


def _negative(text: str, start: int) -> bool:
    """Whether the sign in front is a minus, and not a dash or a subtraction."""
    before = text[max(0, start - _WORD_REACH) : start]
    if before.endswith(("us ", "ve ")) and _MINUS.search(before):
        return True
    lead = before.rstrip(" ")
    if not lead.endswith("-"):
        return False
    earlier = lead[:-1]
    if lead == before:  # the minus touches the number
        return not earlier or not (earlier[-1].isalnum() or earlier[-1] in ")]}%")
    earlier = earlier.rstrip(" ")
    return (not earlier and start <= _WORD_REACH) or earlier.endswith((":", "(", "[", '"', "'", "\n"))


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
        following = _number(text, at + (text[at : at + 1] in ("-", "+")))
        if following is None or _other_unit(text, number, following):
            break
        numbers.append(following)
    return numbers


def _other_unit(text: str, number: Number, other: Number) -> bool:
    """Whether two numbers have different units, so that the second is no choice but the same in another unit."""
    units = [_UNIT.match(text, each.end) for each in (number, other)]
    names = [unit[1].rstrip("s").lower() for unit in units if unit and unit[1] not in ("to", "or", "and")]
    return len(names) == 2 and names[0] != names[1]


def _in_words(text: str) -> list[Number]:
    """A number written as a word, or "no points"."""
    if REFUSED.search(text):
        return []
    if found := _WORD.search(text.strip()):
        return [Number(float(NUMBER_WORDS.index(found[1].lower())), False, *found.span(1))]
    if found := _NO_POINTS.search(text):
        return [Number(0.0, False, *found.span())]
    return []
