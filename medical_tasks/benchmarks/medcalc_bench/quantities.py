"""Makes a text plain and finds its numbers with units, dates and gestational ages.

No quantity: digits inside a name or unit, what numbers something (stage 4, day 7), the denominator of a score (3/9).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.grammar import patterns, words

__all__ = [
    "DAYS_A_WEEK",
    "NUMBER_WORDS",
    "Quantity",
    "Scanner",
    "ages",
    "dates",
    "dimension",
    "measurements",
    "plain",
    "scores",
]


NUMBER_WORDS: Final = tuple(words("numbers"))
"""Each number at its own place."""
TENS: Final = {word: 10 * value for value, word in enumerate(words("tens"), start=2)}
MAGNITUDES = {"hundred": 100, "thousand": 1000}

_SIGNS = {
    **dict.fromkeys("−–—‒―‐‑﹣－", "-"),
    **dict.fromkeys(
        "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
        " ",
    ),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
    **dict.fromkeys("“”„‟″＂", '"'),
    **dict.fromkeys("‘’‚‛′＇", "'"),
    **dict.fromkeys("⋅·∙•∗✕✖╳", "×"),
    **dict.fromkeys("≅≃∼～~≒", "≈"),
    **dict.fromkeys("⇒⟹➔➜➡", "→"),
    "⁄": "/",
    "∕": "/",
    "／": "/",
    "％": "%",
    "＝": "=",
    "：": ":",
    "，": ",",
    "．": ".",
    "（": "(",
    "）": ")",
    "⩽": "≤",
    "⩾": "≥",
    **dict.fromkeys("❌✗✘🚫👎⛔", " wrong "),
    "½": " 1/2",
    "¼": " 1/4",
    "¾": " 3/4",
}
_TABLE = str.maketrans(_SIGNS)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

_LATEX = (
    (
        re.compile(
            r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|mbox|operatorname|boxed|fbox)\s*+\{([^{}]*+)\}"
        ),
        r" \1 ",
    ),
    (re.compile(r"\\[dt]?frac\s*+\{([^{}]*+)\}\s*+\{([^{}]*+)\}"), r" \1/\2 "),
    (re.compile(r"\\(?:[bx]?cancel|sout|st)\s*+\{[^{}]*+\}"), " "),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\(?:times|cdot)(?![A-Za-z])"), "×"),
    (re.compile(r"\\(?:approx|simeq|sim|cong)(?![A-Za-z])"), "≈"),
    (re.compile(r"\\(?:Rightarrow|rightarrow|to|implies)(?![A-Za-z])"), "→"),
    (re.compile(r"\\(?:leq?|geq?|lt|gt)(?![A-Za-z])"), "<"),
    (re.compile(r"\\pm(?![A-Za-z])"), "±"),
    (re.compile(r"\\n(?:e|eq)(?![A-Za-z])"), "≠"),
    (re.compile(r"\\sqrt(?![A-Za-z])"), "√"),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\\[A-Za-z]++|\\.|\$"), " "),
)
_LATEX_ROUNDS = 3  # commands within commands, as in \boxed{25.2\ \text{mg}}

_MARKS = (
    # The sign to look for first, the pattern, and what stands for it.
    ("&", re.compile(r"&gt;"), ">"),
    ("&", re.compile(r"&lt;"), "<"),
    ("&", re.compile(r"&nbsp;|&#160;"), " "),
    ("<", re.compile(r"<!--(?:[^-]|-(?!->)){0,4000}+(?:-->|$)"), " "),
    (
        "<",
        re.compile(r"<(del|s|strike)>[^<>\n]{0,200}</\1>|</?[A-Za-z][^<>\n]{0,60}>", re.IGNORECASE),
        " ",
    ),
    # Two stars are bold unless they stand between numbers, where they are a power.
    ("**", re.compile(r"(?<![0-9])\*\*|\*\*(?!-?[0-9])"), ""),
    ("__", re.compile(r"__"), ""),
    # What is struck out is not said.
    ("~~", re.compile(r"~~[^~\n]{0,200}~~|~~"), " "),
    ("`", re.compile(r"`"), ""),
    ("!=", re.compile(r"!="), "≠"),
    (">=", re.compile(r">="), "≥"),
    ("<=", re.compile(r"<="), "≤"),
    (">", re.compile(r"[-=]{1,2}>"), "→"),
    ("==", re.compile(r"=="), "="),
)


def plain(text: str) -> str:
    """Writes a text with plain signs: `**1,234.5**` and `$1{,}234.5$` as 1,234.5, `10⁻⁴` as 10^-4, digits of any script."""
    if not text.isascii():
        text = _P["raised_run"].sub(lambda run: "^" + run[0].translate(_RAISED), text)
        text = text.translate(_LOWERED).translate(_TABLE)
        digits = {
            ord(sign): str(unicodedata.decimal(sign))
            for sign in set(text)
            if sign.isdecimal() and sign > "9"
        }
        text = text.translate(digits) if digits else text
    if "\\" in text or "$" in text or "{,}" in text:
        for _ in range(_LATEX_ROUNDS):
            for pattern, replacement in _LATEX[:4]:
                text = pattern.sub(replacement, text)
        for pattern, replacement in _LATEX[4:]:
            text = pattern.sub(replacement, text)
    for sign, pattern, replacement in _MARKS:
        if sign in text:
            text = pattern.sub(replacement, text)
    return text


DAYS_A_WEEK: Final = 7
MAX_QUANTITIES: Final = 60
"""How many quantities of one text are looked at."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that could be an answer."""

    value: (
        float | date | None
    )  # of an age its days; None for a date that the calendar does not have
    start: int  # where it begins in the text
    end: int  # where what belongs to it ends: its unit, the "out of 9" of a score
    unit: str = ""  # as written, "" without one
    undone: bool = (
        False  # an arithmetic expression that is not worked out ("4 + 3 + 5"), and so no quantity
    )


Scanner: TypeAlias = Callable[[str], list[Quantity]]

_UNIT_DIMENSIONS: Final = {
    **dict.fromkeys(("%", "percent", "per cent", "pct"), "fraction"),
    **dict.fromkeys(
        (
            "kg",
            "g",
            "mg",
            "mcg",
            "µg",
            "ug",
            "ng",
            "pg",
            "lb",
            "lbs",
            "pounds",
            "kgs",
            "grams",
            "mme",
        ),
        "mass",
    ),
    **dict.fromkeys(
        ("l", "dl", "ml", "cc", "µl", "ul", "liter", "liters", "litre", "litres", "milliliters"),
        "volume",
    ),
    **dict.fromkeys(("mol", "mmol", "µmol", "umol", "nmol", "pmol", "meq", "mval"), "substance"),
    **dict.fromkeys(("mosm", "mosmol", "mosmoles"), "osmoles"),
    **dict.fromkeys(("iu", "u", "miu", "µiu", "uiu", "µu", "uu", "mu"), "activity"),
    **dict.fromkeys(("units", "unit"), ""),
    **dict.fromkeys(
        ("m", "cm", "mm", "km", "inches", "inch", "ft", "feet", "meters", "metres"), "length"
    ),
    **dict.fromkeys(("mmhg", "mm hg", "cmh2o", "kpa", "torr"), "pressure"),
    **dict.fromkeys(
        (
            "s",
            "sec",
            "secs",
            "second",
            "seconds",
            "ms",
            "msec",
            "msecs",
            "milliseconds",
            "min",
            "mins",
            "minute",
            "minutes",
        ),
        "time",
    ),
    **dict.fromkeys(
        ("h", "hr", "hrs", "hour", "hours", "d", "day", "days", "wk", "wks", "week", "weeks", "w"),
        "time",
    ),
    **dict.fromkeys(("month", "months", "mo", "year", "years", "yr", "yrs"), "time"),
    **dict.fromkeys(("bpm", "beats"), "rate"),
    **dict.fromkeys(("°c", "°f", "°", "degrees"), "temperature"),
}
_UNIT_WORD: Final = "|".join(sorted(map(re.escape, _UNIT_DIMENSIONS), key=len, reverse=True))
_SMALL: Final = {word: value for value, word in enumerate(NUMBER_WORDS)}
_WORD: Final = "|".join((*sorted(_SMALL, key=len, reverse=True), *TENS))
_P: Final = patterns("quantities", number="|".join(NUMBER_WORDS), unit=_UNIT_WORD, word=_WORD)
_NUMBERED: Final = frozenset(words("numbered"))
"""Words before a number that is a name or a place in a series."""
_REACH: Final = 14


@cache
def dimension(unit: str) -> str:
    """The dimension of a unit: `mg/dL` is `mass/volume`; "" where it is not known. Moles and equivalents are one dimension."""
    parts: list[str] = []
    text = _P["per_surface"].sub("", unit.lower().replace(" per ", "/"))
    for part in text.split("/"):
        name = part.strip()
        power = _P["power"].search(name)
        name = name[: power.start()] if power else name
        known = _UNIT_DIMENSIONS.get(name)
        if not known:
            return ""
        parts.append(known + (power[1] or "2" if power else ""))
    if parts[0] == "osmoles":
        parts = ["osmoles", "volume"]
    if parts == ["mass", "time"]:
        parts = ["mass"]  # a daily dose is asked for
    return "/".join(parts)


def measurements(text: str) -> list[Quantity]:
    """The numbers of a plain text; "101/4" is a quotient."""
    return _numbers(text, score=False)


def scores(text: str) -> list[Quantity]:
    """The numbers of a plain text, where they are of points; "3/9" and "3 out of 9" are 3."""
    return _numbers(text, score=True)


def _numbers(text: str, *, score: bool) -> list[Quantity]:
    if "\n" in text or text[:4].strip(" >\t")[:1].isdigit():
        text = _blank(_P["item"], text)
    if text.count("-") > 1 or text.count("/") > 1 or text.count(".") > 1:
        text = _blank(_P["calendar"], text)
    found: list[Quantity] = []
    position = 0
    while len(found) < MAX_QUANTITIES:
        digit = _P["digit"].search(text, position)
        if digit is None:
            break
        start = digit.start()
        pointed = start > position and text[start - 1] == "."
        match = (_P["number"].match(text, start - 1) if pointed else None) or _P["number"].match(
            text, start
        )
        if match is None:
            break
        quantity = _number(text, match, score=score)
        if quantity is None:
            position = match.end()
        else:
            position = quantity.end
            found.append(quantity)
    return found or _in_words(text)


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """The text with blanks in place of what the pattern finds; every other place stays the same."""
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _number(text: str, match: re.Match[str], *, score: bool) -> Quantity | None:
    start, end = match.span()
    if not _stands_alone(text, start):
        return None
    value = _value(match)
    if (
        value is None
        or text[end : end + 1] == "_"
        or (match[0] == "0" and text[end : end + 1] in tuple("xXbBoO"))
    ):
        return None
    exponent = _P["exponent"].match(text, end)
    if exponent:
        value = (
            float(f"{value!r}e{exponent['short'] or exponent['long']}")
            if "e" not in repr(value)
            else value
        )
        end = exponent.end()
    elif text[end : end + 1].isalpha() and not _P["suffix"].match(text, end):
        return None  # "3D", "2nd" is 2
    if _negative(text, start):
        value = -value
    undone = False
    if score:
        denominator = _P["out_of"].match(text, end)
        if denominator:
            end = denominator.end()
    elif (
        (mixed := _P["sevenths"].match(text, end))
        and int(mixed[2]) > int(mixed[1])
        and value.is_integer()
    ):
        value += int(mixed[1]) / int(mixed[2]) * (-1 if value < 0 else 1)
        end = mixed.end()
    elif quotient := _P["over"].match(text, end):
        under = float(quotient[1])
        undone = under == 0
        value = value if undone else value / under
        end = quotient.end()
    while (more := _P["undone"].match(text, end)) is not None:
        undone = True
        following = _P["number"].match(text, more.end() - 1)
        end = following.end() if following else more.end()
        while text[end : end + 1] in (")", "]"):
            end += 1
    points = _P["points"].match(text, end)
    if points:
        return Quantity(value, start, points.end(), "", undone)
    unit = _P["unit"].match(text, end)
    if unit is None:
        return Quantity(value, start, end, "", undone)
    return Quantity(value, start, unit.end(), unit[1], undone)


def _value(match: re.Match[str]) -> float | None:
    written = match[0]
    if match["european"]:
        written = written.replace(".", "").replace(",", ".")
    elif match["thousands"]:
        written = written.replace(",", "").replace(" ", "")
    elif match["comma"]:
        written = written.replace(",", ".")
    elif match["dots"]:
        first, second = written.split("..")
        if int(second) > int(first):
            return None  # a range: its ends are no decimal
        written = f"{first}.{second}"
    return float(written)


def _stands_alone(text: str, start: int) -> bool:
    before, earlier = text[start - 1 : start], text[max(0, start - 2) : max(0, start - 1)]
    if before.isalnum() or before in ("_", "^") or (before == "{" and earlier.endswith("^")):
        return False
    if before in (".", "-", "/") and earlier.isalpha():
        return False
    if before in (".", ",") and earlier.isdigit():
        return False
    lead = text[max(0, start - _REACH) : start].rstrip(" -+:")
    word = lead[lead.rfind(" ") + 1 :].lower()
    if word.lstrip("(\"'[\x02") in _NUMBERED or word.endswith("#"):
        return False
    return not (lead.endswith("/") and text.startswith("1.73", start)) and not (
        word.endswith("meld") and text.startswith("3.0", start)
    )


def _negative(text: str, start: int) -> bool:
    """Whether the sign in front is a minus, and not a dash or a subtraction."""
    before = text[max(0, start - _REACH) : start]
    if before.endswith(("us ", "ve ")) and _P["minus"].search(before):
        return True
    lead = before.rstrip(" ")
    if not lead.endswith("-"):
        return False
    earlier = lead[:-1]
    if lead == before:  # the minus touches the number
        return not earlier or not (earlier[-1].isalnum() or earlier[-1] in ")]}%")
    earlier = earlier.rstrip(" ")
    return (not earlier and start <= _REACH) or earlier.endswith(
        (":", "(", "[", '"', "'", "\n", "=", "\x02")
    )


def _in_words(text: str) -> list[Quantity]:
    """Numbers written as words, where digits give none: "twenty-five point two", "three points", "no points"."""
    found = []
    for match in _P["run"].finditer(text):
        said = re.split(r"[\s,-]+", match["run"].lower())
        # A single word is a number only where it is said to be one: "one of the signs" is not.
        if len(said) == 1 and (match["free"] is not None or match["close"] is None):
            continue
        value = _spelt([word for word in said if word != "and"])
        if value is not None:
            start, end = match.span("run")
            unit = _P["unit"].match(text, end)
            points = _P["out_of"].match(text, end) or _P["points"].match(text, end)
            end = points.end() if points else unit.end() if unit else end
            found.append(
                Quantity(
                    -value if match["minus"] else value,
                    start,
                    end,
                    unit[1] if unit and not points else "",
                )
            )
    if not found and (nothing := _P["no_points"].search(text)):
        found.append(Quantity(0.0, *nothing.span()))
    return found


def _spelt(words: list[str]) -> float | None:
    """The value of number words; None where they make none ("three five")."""
    if words[-1] == "half":
        whole = _spelt(words[: -2 if words[-2] in ("a", "one") else -1])
        return None if whole is None else whole + 0.5
    if "point" in words:
        at = words.index("point")
        whole, digits = _spelt(words[:at]), words[at + 1 :]
        if whole is None or any(word not in _SMALL for word in digits):
            return None
        return float(f"{whole:.0f}." + "".join(str(_SMALL[word]) for word in digits))
    total, part, last = 0, 0, 10**9
    for word in words:
        if word in MAGNITUDES:
            if part == 0:
                return None
            part *= MAGNITUDES[word]
            last = MAGNITUDES[word]
            if word == "thousand":
                total, part = total + part, 0
            continue
        value = _SMALL.get(word, TENS.get(word, -1))
        if value < 0 or value >= last or (last < 100 and value >= 10):
            return None
        part += value
        last = value if value >= 20 else 1
    return float(total + part)


# ---- Dates ----

_PIVOT: Final = 70
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_PARTS: Final = (
    ("year", "month", "day"),
    ("iso_year", "iso_month", "iso_day"),
    ("basic_year", "basic_month", "basic_day"),
    ("named_year", "named_month", "named_day"),
    ("third_year", "second_month", "first_day"),
    ("first_year", "middle_month", "last_day"),
)


def dates(text: str) -> list[Quantity]:
    """The calendar dates of a plain text: M/D/Y as asked for, ISO 8601, or in English. Two-digit years are 1970 to 2069."""
    found: list[Quantity] = []
    named = _P["month_word"].search(text.lower()) is not None
    for match in (
        _P["any_date"].finditer(_blank(_P["weekday"], text)) if named else _P["date"].finditer(text)
    ):
        year, month, day = next(
            match.group(*names)
            for names in _PARTS[: None if named else 3]
            if match[names[2]] is not None
        )
        found.append(Quantity(_date(year, month, day), match.start(), match.end()))
        if len(found) == MAX_QUANTITIES:
            break
    return found


def _date(year: str, month: str, day: str) -> date | None:
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
    full = int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= _PIVOT else 2000)
    try:
        return date(full, number, int(day.rstrip("dhnrst DHNRST")))
    except ValueError:
        return None


# ---- Gestational ages ----

_SMALL_WORD: Final = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_AGES: Final = tuple(patterns("ages").values())


def ages(text: str) -> list[Quantity]:
    """The gestational ages of a plain text in days, in whatever notation: weeks and days, decimal weeks, weeks or days alone."""
    text = _SMALL_WORD.sub(lambda word: str(_SMALL[word[0].lower()]).rjust(len(word[0])), text)
    text = _blank(_P["calendar"], text.translate(_DRESS))
    found: list[Quantity] = []
    for pattern in _AGES:
        for match in pattern.finditer(text):
            # A form that says more has been there already.
            if any(age.start < match.end() and match.start() < age.end for age in found):
                continue
            found.append(Quantity(_days(match), match.start(), match.end()))
        if found and pattern is not _AGES[0] and pattern is not _AGES[1]:
            break
    return sorted(found, key=lambda age: age.start)[:MAX_QUANTITIES]


_DRESS: Final = str.maketrans("[]{}\"'", "()()  ")


def _days(match: re.Match[str]) -> int | None:
    parts = match.groupdict()
    if parts.get("sign") or parts.get("minus"):
        return None
    weeks = (parts.get("weeks") or "0").replace(",", ".")
    return round(float(weeks) * DAYS_A_WEEK) + int(parts.get("days") or parts.get("more") or "0")
