"""Finds the quantities of a text: numbers with units, dates, gestational ages.

`plain` first writes a reply with plain signs; the scanners (`measurements`, `scores`,
`dates`, `ages`) then read it. Digits inside a name or unit, and what only numbers
something (stage 4, day 7), are no quantities.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from medical_tasks.io.patterns import Pattern

__all__ = [
    "DAYS_A_WEEK",
    "NO_UNIT",
    "NUMBER_WORDS",
    "Quantity",
    "Scanner",
    "Unit",
    "ages",
    "dates",
    "dimension",
    "in_digits",
    "measurements",
    "plain",
    "scores",
    "unit_of",
]

MAX_QUANTITIES: Final = 60
"""How many quantities of one text are looked at, from its end."""


class Quantity(NamedTuple):
    """Something that could be an answer.

    Attributes:
        value: a number; of an age its days; None for a date that the calendar does not
            have.
        start: where it begins in the text.
        end: where what belongs to it ends: its unit, the "out of 9" of a score.
        unit: as written, "" without one.
    """

    value: float | date | None
    start: int
    end: int
    unit: str = ""


Scanner: TypeAlias = Callable[[str], list[Quantity]]

# ---- Plain signs ----

_SIGNS: Final = {
    **dict.fromkeys("−–—‒―‐‑﹣－", "-"),
    **dict.fromkeys(
        "\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))), " "
    ),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
    **dict.fromkeys("“”„‟″＂", '"'),
    **dict.fromkeys("‘’‚‛′＇", "'"),
    **dict.fromkeys("⋅·∙•∗✕✖╳", "×"),
    **dict.fromkeys("≅≃∼～≒", "≈"),
    **dict.fromkeys("⇒⟹➔➜➡", "→"),
    **dict.fromkeys("⁄∕／", "/"),
    **dict.fromkeys("❌✗✘🚫👎⛔", " wrong "),
    **dict.fromkeys("✅✓✔☑👍", " right: "),
    **dict(zip("％＝：，．（）⩽⩾٫٬", "%=:,.()≤≥.,", strict=True)),
    **dict.fromkeys("「」『』", '"'),
    "İ": "I",  # whose small letter is two
    "【": " ",
    "】": ": ",
    "½": " 1/2",
    "¼": " 1/4",
    "¾": " 3/4",
}
_TABLE: Final = str.maketrans(_SIGNS)
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_RAISED_RUN: Final = Pattern("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]++")
_LOWERED: Final = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

_LATEX_NESTED: Final = (
    (
        r"\\(?:text|math)[a-z]{0,4}\s*+\{([^{}]*+)\}|\\(?:mbox|operatorname|[bf]box(?:ed)?)\s*+\{([^{}]*+)\}",
        r" \1\2 ",
    ),
    (r"\\[dt]?frac\s*+\{([^{}]*+)\}\s*+\{([^{}]*+)\}", r" \1/\2 "),
    (r"\\(?:[bx]?cancel|sout|st)\s*+\{[^{}]*+\}", " "),  # struck out: not said
    (r"\{,\}", ","),
    (r"\\(?:text)?color\s*+\{[^{}]*+\}", " "),
)
_LATEX_SIGNS: Final = (
    (r"\\(?:times|cdot)(?![A-Za-z])", "×"),
    (r"\\(?:approx|simeq|sim|cong)(?![A-Za-z])", "≈"),
    (r"\\(?:Rightarrow|rightarrow|to|implies)(?![A-Za-z])", "→"),
    (r"\\(?:leq?|geq?|lt|gt)(?![A-Za-z])", "<"),
    (r"\\pm(?![A-Za-z])", "±"),
    (r"\\n(?:e|eq)(?![A-Za-z])", "≠"),
    (r"\\sqrt(?![A-Za-z])", "√"),
    (r"\\%", "%"),
    (r"\\[A-Za-z]++|\\.|\$", " "),
)
_NESTING: Final = 3
"""Commands within commands that are resolved, as in \\boxed{25.2\\ \\text{mg}}."""
_MARKUP: Final = (
    # The sign to look for first, the pattern, and what stands for it.
    ("&", r"&gt;", ">"),
    ("&", r"&lt;", "<"),
    ("&", r"&nbsp;|&#160;", " "),
    ("<", r"<!--(?:[^-]|-(?!->)){0,4000}+(?:-->|$)", " "),
    ("<", r"(?i)<(del|s|strike)>[^<>\n]{0,200}</\1>|</?[A-Za-z][^<>\n]{0,60}>", " "),
    # Two stars or more are bold, unless they stand between numbers, where they are a
    # power.
    ("**", r"(?<![0-9)])\*{2,4}|\*{2,4}(?![-0-9(])", ""),
    ("*", r"(?<![\w)*])\*(?=[\w(-][^*\n]{0,60}\*(?!\w))|(?<=[\w.)%])\*(?![\w(* ])", ""),
    ("_", r"__|(?<!\w)_(?=[\w(-])|(?<=[\w.%)])_(?!\w)", ""),
    ("~~", r"~~[^~\n]{0,200}~~|~~", " "),
    ("`", r"`", ""),
    (" ", r" (?<=[0-9)] )[xX] (?=[0-9(])", " × "),
    ("!=", r"!=", "≠"),
    ("+", r"\+\s?/?\s?-(?=\s)|\+/-", "±"),
    ("minus", r"(?i)\bplus(?:\s+or\s+|/)minus\b", "±"),
    (">=", r">=", "≥"),
    ("<=", r"<=", "≤"),
    (">", r"[-=]{1,2}>", "→"),
    ("==", r"==", "="),
)


def _compiled(*rules: tuple[str, str]) -> tuple[tuple[Pattern, str], ...]:
    return tuple((Pattern(pattern), text) for pattern, text in rules)


_NESTED: Final = _compiled(*_LATEX_NESTED)
_FLAT: Final = _compiled(*_LATEX_SIGNS)
_MARKS: Final = tuple((sign, Pattern(pattern), text) for sign, pattern, text in _MARKUP)


def plain(text: str) -> str:
    """Writes a text with plain signs: no markup, no LaTeX, one sign for each dash, blank and digit.

    Example:
        `**1,234.5**` and `$1{,}234.5$` become `1,234.5`; `10⁻⁴` becomes `10^-4`.
    """
    if not text.isascii():
        text = _RAISED_RUN.sub(lambda run: "^" + run[0].translate(_RAISED), text)
        text = text.translate(_LOWERED).translate(_TABLE)
        foreign = {sign for sign in set(text) if sign.isdecimal() and sign > "9"}
        text = text.translate(
            {ord(sign): str(unicodedata.decimal(sign)) for sign in foreign}
        )

    if "\\" in text or "$" in text or "{,}" in text:
        for _ in range(_NESTING):
            for pattern, replacement in _NESTED:
                text = pattern.sub(replacement, text)

        for pattern, replacement in _FLAT:
            text = pattern.sub(replacement, text)

    for sign, pattern, replacement in _MARKS:
        if sign in text:
            text = pattern.sub(replacement, text)

    return text


# ---- Units ----

_UNIT_WORDS: Final = {
    # Dimension: its units, "|" between them, the spellings of one with blanks between.
    "fraction": "% percent per_cent pct",
    "mass": "kg kgs kilogram kilograms kilos|g gm grams gram|mg milligram milligrams mme mmes|"
    "mcg µg ug micrograms|ng|pg|lb lbs pound pounds|oz ounces",
    "volume": "l liter liters litre litres|dl|ml cc milliliter milliliters|µl ul",
    "substance": "mol|mmol meq mval millimoles milliequivalents|µmol umol|nmol|pmol",
    "osmoles": "mosm mosmol mosmoles milliosmoles",
    "activity": "iu u|miu mu|µiu uiu µu uu",
    "": "units unit",
    "length": "m meter meters metre metres|cm centimeters|mm|km|in inches inch|ft feet foot",
    "pressure": "mmhg mm_hg torr|cmh2o|kpa",
    "time": "s sec secs second seconds|ms msec msecs millisecond milliseconds|"
    "min mins minute minutes|h hr hrs hour hours|d day days|wk wks week weeks w|"
    "month months mo|year years yr yrs",
    "rate": "bpm beats",
    "temperature": "°c °f ° degrees",
}
_KNOWN: Final = {
    spelling.replace("_", " "): (kind, spellings.split()[0])
    for kind, units in _UNIT_WORDS.items()
    for spellings in units.split("|")
    for spelling in spellings.split()
}
_AMBIGUOUS: Final = frozenset({"in", "mo", "foot", "second", "°"})
"""Words that are a unit only in front of nothing that reads on: "3 in total"."""
_UNIT_WORD: Final = "|".join(
    sorted(map(re.escape, _KNOWN.keys() - _AMBIGUOUS), key=len, reverse=True)
)
_MEASURE: Final = (
    rf"(?:{_UNIT_WORD})(?:\^?[23]\b|²|³)?"
    rf"(?:\s?(?:/|\bper\b|×)\s?(?:{_UNIT_WORD}|[0-9.]+\s?m(?:\^?2)?|m\^?2|day|body)(?:\^?2\b|²)?)"
    r"{0,3}(?:\s{0,8}m\^?2\b|/1\.73)?(?![A-Za-z0-9])"
)
_SURFACE: Final = Pattern(r"(?<=/min)\s*/?\s*(?:1\.73)?\s*m\^?2$|/?\s*1\.73$")
_POWER: Final = Pattern(r"(?:\^?([23])|²|³)$")


class Unit(NamedTuple):
    """A unit as it is compared: `mg/dL` has mass over volume, in `mg/dl`.

    Attributes:
        dimension: "" where it is not known.
        name: one spelling for all that mean the same; moles and equivalents count as
            one.
    """

    dimension: str
    name: str


NO_UNIT: Final = Unit("", "")


@cache
def unit_of(text: str) -> Unit:
    """Reads a unit as it is written; one that is not known has no dimension."""
    dimensions: list[str] = []
    names: list[str] = []
    for unit in _SURFACE.sub("", text.lower().replace(" per ", "/")).split("/"):
        power = _POWER.search(unit.strip())
        word = unit.strip()[: power.start()] if power else unit.strip()
        kind, name = _KNOWN.get(word, ("", ""))
        if not kind:
            return Unit("", text.lower())

        exponent = (power[1] or "2") if power else ""
        dimensions.append(kind + exponent)
        names.append(name + exponent)

    if dimensions[0] == "osmoles":
        return Unit("osmoles", "mosm")  # per litre or per kilogram of water
    if dimensions == ["mass", "time"]:
        return Unit("mass", names[0])  # a daily dose is asked for

    return Unit("/".join(dimensions), "/".join(names))


def dimension(unit: str) -> str:
    """The dimension of a unit as it is written: `mg/dL` is `mass/volume`; "" if not known."""
    return unit_of(unit).dimension


# ---- Numbers ----


def _backwards(words: str) -> str:
    """A pattern of words for a text that is read from its end."""
    return "|".join(re.escape(word[::-1]) for word in words.split())


_POINTS: Final = r"\s?-?\s?(?:points?\b|pts?\b\.?|criteri(?:a|on)\b)"
_MINUS: Final = Pattern(
    r"""(?x) (?: (?<![\w)\]}%^])- | (?:^|(?<=[:(\["'=\n]))[ ]*-[ ]+ | \b(?:minus|negative)[ ] )\Z"""
)
_NUMBER: Final = Pattern(
    r"""(?x)
    (?P<digits> [.0-9]
      # No part of a name ("CURB-65"), of a power ("10^-4"), or of another number.
      (?<![\w^].)(?<![a-z][-./].)(?<![0-9][.,].)(?<!\^[-{].)(?<!\^\{-.)
      (?: (?P<european> (?<=[1-9])[0-9]{0,2}(?:\.[0-9]{3})++,[0-9]++(?![0-9.]) )       # 1.234,5
        | (?P<grouped> (?<=[1-9])[0-9]{0,2}
            (?:(?:,[0-9]{3})++|(?:[ ][0-9]{3})++|(?:'[0-9]{3})++)
            (?![0-9]) (?:\.[0-9]++)?+ )                                                   # 1,234.5
        | (?P<comma> (?<=[0-9])[0-9]*+,(?!0{3}(?![0-9]))[0-9]++(?![0-9]|[,.][0-9]) )     # 12,95
        | (?<=[0-9])[0-9]*+(?:\.[0-9]++)?+ | (?<=\.)(?<!\.\.)[0-9]++ ) )
    (?![-\s]?(?:year|month|week|day)s?[-\s]old)                                      # an age
    (?!-(?:year|month|week|day|hour|minute)\b(?!-?[0-9]))                            # 30-day
    (?: e(?P<short>[-+]?[0-9]{1,4})(?![0-9]|\.[0-9])
      | [ ]?[x×*][ ]?10[ ]?(?:\^|\*\*)[ ]?[({]{0,2}[ ]?(?P<long>[-+]?[0-9]{1,4})
          (?![0-9])[ )}]{0,3} )?"""
)
_DIGIT: Final = Pattern("[0-9]")
_QUOTIENT: Final = Pattern(
    r"\s{1,2}(?P<over>[0-9]{1,4})/(?P<under>[1-9][0-9]{0,3})(?![0-9/])"
    r"|\s{0,3}/\s{0,3}(?P<divisor>[1-9][0-9]{0,9}(?:\.[0-9]{1,9})?)(?![0-9/])"
)
_OUT_OF: Final = Pattern(
    rf"(?:{_POINTS})?\s{{0,2}}(?:/|(?:out\s{{1,2}})?of)\s{{0,2}}(?:(?:an?|the)\s{{1,2}})?"
    r"(?:(?:possible|maximum|max|total|all)\s{1,2}(?:of\s{1,2})?){0,2}"
    r"[0-9]{1,3}(?:\.5)?(?![0-9]|[.,/][0-9]|%)"
)
_WITH_UNIT: Final = Pattern(rf"{_POINTS}|\s?-?(?P<unit>{_MEASURE})")
_ORDINAL: Final = Pattern(r"(?:st|nd|rd|th|x)\b")
_ITEM: Final = Pattern(r"(?:^|\n)[ \t>]*[0-9]{1,2}[.)][ \t]+(?=\S)")
_CALENDAR: Final = Pattern(
    # A date, or a row of numbers that is a name: "the 4-2-1 rule".
    r"[0-9](?<![0-9/.-][0-9])(?:[0-9]{0,3}([-/.])[0-9]{1,2}\1[0-9]{2,4}|-[0-9]-[0-9])(?![0-9/])"
)
_KINDS: Final = (
    "stage grade class category group type phase tier nyha killip step day visit level"
)
_PLACES: Final = (
    "question item part figure table page row case patient bed room line equation eq eq. section "
    "option example criterion rule note no. number nr nr. version per"
)
_NUMBERED: Final = Pattern(
    # Backwards, so that it is tried once for each number.
    rf"[ \t:+-]*(?:{_backwards(_KINDS)})\b|[ \t+-]*(?:{_backwards(_PLACES)})\b|\s*\#"
)
"""Before a number that is a name or a place in a series."""
_NO_POINTS: Final = Pattern(r"(?i)\b(?:no|none of the)\s{1,2}(?:points?|criteria)\b")
_REACH: Final = 14


def measurements(text: str) -> list[Quantity]:
    """The numbers of a plain text; "101/4" is a quotient."""
    return _numbers(text, _QUOTIENT)


def scores(text: str) -> list[Quantity]:
    """The numbers of a plain text, where they are of points; "3/9" and "3 out of 9" are 3."""
    quantities = _numbers(text, _OUT_OF)
    nothing = None if quantities else _NO_POINTS.search(text)
    return [Quantity(0.0, *nothing.span())] if nothing else quantities


def _numbers(text: str, rest: Pattern) -> list[Quantity]:
    """The numbers of a text with their units, the last `MAX_QUANTITIES` of them.

    Dates and list numbers are covered first. What only numbers something ("stage 4") or
    is part of a name is left out; a minus belongs to a number where it is no dash.

    Args:
        text: a plain text.
        rest: what may follow the digits and belongs to the number.
    """
    if _DIGIT.search(text) is None:
        return []

    small = _blank(_CALENDAR, _blank(_ITEM, text.lower()))
    quantities: list[Quantity] = []
    end = 0
    while (number := _NUMBER.search(small, end)) is not None:
        before, start = end, number.start()
        more = rest.match(small, number.end())
        end = more.end() if more else number.end()
        unit = _WITH_UNIT.match(small, end)
        end = unit.end() if unit else end
        reach = small[max(before, start - _REACH) : start]
        minus = None
        if "-" in reach or reach.endswith(("minus ", "negative ")):
            minus = _MINUS.search(small, start - len(reach), start)
            start = minus.start() if minus else start

        numbers_something = _NUMBERED.match(small[max(0, start - _REACH) : start][::-1])
        if not numbers_something and not _is_name(number):
            value = _with_quotient(_value(number), more)
            written = text[slice(*unit.span("unit"))] if unit else ""
            quantities.append(Quantity(-value if minus else value, start, end, written))

    return quantities[-MAX_QUANTITIES:]


def _is_name(number: re.Match[str]) -> bool:
    """Whether letters that are no unit follow a number at once, as in "3D"."""
    if number["short"] or number["long"]:
        return False
    text, end = number.string, number.end()
    following = text[end : end + 1]
    if not ("a" <= following <= "z" or following == "_"):
        return False
    return not (_WITH_UNIT.match(text, end) or _ORDINAL.match(text, end))


def _blank(pattern: Pattern, text: str) -> str:
    """The text with blanks in place of what the pattern matches; all other places stay."""
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _value(match: re.Match[str]) -> float:
    """The number of a match, whichever way it is written.

    Example: "1.234,5" is 1234.5 and "1,234" is 1234.
    """
    digits = match["digits"]
    if match["european"]:
        digits = digits.replace(".", "").replace(",", ".")
    elif match["grouped"]:
        digits = digits.translate(_NO_GROUPS)
    elif match["comma"]:
        digits = digits.replace(",", ".")

    return float(f"{digits}e{match['short'] or match['long'] or 0}")


def _with_quotient(value: float, rest: re.Match[str] | None) -> float:
    """A number with what `_QUOTIENT` found after it: "3 1/2" is 3.5, "101/4" 25.25."""
    if rest is None or rest.re.groups == 0:
        return value
    over, under, divisor = rest.group("over", "under", "divisor")
    return value + int(over) / int(under) if over else value / float(divisor)


_NO_GROUPS: Final = str.maketrans("", "", " ,'")


# ---- Numbers in words ----

NUMBER_WORDS: Final = tuple(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen".split()
)
"""Each number at its own place."""
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS: Final = {word: value for value, word in enumerate(NUMBER_WORDS)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)
}
_WORD: Final = rf"(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b"
_LETTERS: Final = Pattern("[a-z]+")
_SPELT: Final = Pattern(
    rf"""(?ix) (?<![\w-])(?:
      # Several words, or one at a place for a number: "one of the signs" is none.
      {_WORD}(?:[\s-](?:and\s)?(?:{_WORD}|hundred\b|thousand\b)){{1,8}}(?:\spoint(?:\s{_WORD})+)?
    | {_WORD}(?:\spoint(?:\s{_WORD})+)
    | {_WORD}(?={_POINTS}|\s(?:out\sof|weeks?|days?|completed)\b)
    | (?:(?<=\bis\s)|(?<=\bof\s)|(?<=\bto\s)|(?<=\bbe\s)|(?<=\bget\s)|(?<=total\s)|(?<=score\s)|(?<=§\s)|(?<=ing\s)
        |(?<=minus\s)|(?<=[:=→.!?]\s)|(?<=\*)|(?m:^)){_WORD}
      (?=[\s"')*]{{0,3}}(?:$|[.,;!?\n]|\s(?:for|is)\b)) )"""
)


def in_digits(text: str) -> str:
    """Writes a text's number words in digits.

    Example:
        "twenty-six weeks and three days" becomes "26 weeks and 3 days"; "one of the
        signs" stays.
    """
    if _WORDS.keys().isdisjoint(_LETTERS.findall(text.lower())):
        return text
    return _SPELT.sub(_digits, text)


def _digits(words: re.Match[str]) -> str:
    """A number in words as digits; words that make no one number stay as they are.

    Example: "twenty-three point five" is 23.5, and "three five" stays. Words are added
        up from the largest on, so one that is not smaller than the last begins another
        number.
    """
    whole, _, decimals = words[0].lower().partition(" point ")
    total = below_thousand = 0
    last = 10**9
    for word in re.split(r"[\s-]+", whole):
        if word in ("hundred", "thousand"):
            last = 100 if word == "hundred" else 1000
            below_thousand *= last
        elif word != "and":
            value = _WORDS[word]
            if value >= last or (last < 100 and value > 9):
                return words[0]  # "three five" is no number

            below_thousand += value
            last = value if value >= 20 else 1

        if word == "thousand":
            total, below_thousand = total + below_thousand, 0

    number = f"{total + below_thousand}" + "".join(
        f".{_WORDS[word]}" for word in decimals.split()[:1]
    )
    number += "".join(str(_WORDS[word]) for word in decimals.split()[1:])
    return number


# ---- Dates ----

_PIVOT: Final = 70
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH: Final = rf"(?:(?:{'|'.join(_MONTHS)})(?:[a-z]{{0,7}})\b\.?)"
_DAY: Final = r"[0-9]{1,2}(?:st|nd|rd|th)?(?![0-9])"
_GAP: Final = r"[\s,./-]{0,3}"
_NUMERIC_DATE: Final = r"""(?<![0-9/-])(?<![0-9]\.)(?P<month>[0-9]{1,2})\s?(?P<sign>[-/.])\s?
      (?P<day>[0-9]{1,2})\s?(?P=sign)\s?(?P<year>[0-9]{4}|[0-9]{2})(?![0-9])
    | (?<![0-9/-])(?<![0-9]\.)(?P<iso_year>[0-9]{4})\s?[-/.]\s?(?P<iso_month>[0-9]{1,2})\s?[-/.]\s?
      (?P<iso_day>[0-9]{1,2})(?![0-9])(?:T[0-9:.]+Z?)?
    | (?<![0-9])(?P<basic_year>(?:19|20)[0-9]{2})(?P<basic_month>[01][0-9])(?P<basic_day>[0-3][0-9])(?![0-9])"""
_DATE: Final = Pattern(
    rf"""(?ix) {_NUMERIC_DATE}
    | (?P<named_month>(?<![A-Za-z]){_MONTH}){_GAP}(?:the\s)?(?P<named_day>{_DAY}){_GAP}(?P<named_year>[0-9]{{4}})(?![0-9])
    | (?<![0-9])(?P<first_day>{_DAY}){_GAP}(?:of\s)?(?P<second_month>{_MONTH}){_GAP}(?P<third_year>[0-9]{{4}})(?![0-9])
    | (?<![0-9])(?P<first_year>[0-9]{{4}}){_GAP}(?P<middle_month>{_MONTH}){_GAP}(?P<last_day>{_DAY})"""
)
_DATE_PARTS: Final = (
    ("year", "month", "day"),
    ("iso_year", "iso_month", "iso_day"),
    ("basic_year", "basic_month", "basic_day"),
    ("named_year", "named_month", "named_day"),
    ("third_year", "second_month", "first_day"),
    ("first_year", "middle_month", "last_day"),
)
_WEEKDAY: Final = Pattern(
    r"(?i)\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b[.,]?"
)


def dates(text: str) -> list[Quantity]:
    """The calendar dates of a plain text: M/D/Y as asked for, ISO 8601, or in English.

    Two-digit years are 1970 to 2069; a day-first date is read month first, or is no
    date.
    """
    quantities: list[Quantity] = []
    for match in _DATE.finditer(_blank(_WEEKDAY, text)):
        names = next(names for names in _DATE_PARTS if match[names[2]] is not None)
        quantities.append(
            Quantity(_date(*match.group(*names)), match.start(), match.end())
        )

    return quantities[-MAX_QUANTITIES:]


def _date(year: str, month: str, day: str) -> date | None:
    """A date, or None where the calendar has none.

    A year of two digits is in the 20th century from `_PIVOT` on, else in the 21st.
    """
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
    full = (
        int(year)
        if len(year) == 4
        else int(year) + (1900 if int(year) >= _PIVOT else 2000)
    )
    try:
        return date(full, number, int(day.rstrip("dhnrst DHNRST")))
    except ValueError:
        return None


# ---- Gestational ages ----

DAYS_A_WEEK: Final = 7
_ALONE: Final = r"(?<![0-9.,/A-Za-z])(?P<sign>-(?=[0-9]))?(?<![0-9.])"
_WEEKS: Final = r"\s{0,3}-?(?:(?:completed|full)\s)?(?:weeks?|wks?\.?|w)"
_DAYS: Final = r"\s{0,3}-?(?:days?|d)\b"
_AGES: Final = tuple(
    Pattern(pattern, re.IGNORECASE | re.VERBOSE)
    for pattern in (
        # What says most comes first. 34 weeks 3 days, 34w3d:
        rf"""{_ALONE}(?P<weeks>[0-9]{{1,3}}){_WEEKS}
        [\s,;:&+]{{0,9}}(?:(?:and|plus|with|remainder)\s{{1,9}}|-\s{{1,3}})?(?P<minus>-(?=[0-9]))?
        (?P<days>[0-9]{{1,3}})(?:/7)?(?:{_DAYS}|(?![0-9/]|\.[0-9])(?!\s{{0,3}}[A-Za-z]))""",
        # 34+3, 34 3/7, 34 and 3/7 weeks:
        rf"""{_ALONE}(?P<weeks>[0-9]{{1,3}})(?:{_WEEKS})?
        (?:\s{{0,2}}(?:[-+\s]|and)\s{{0,2}}(?P<days>[0-6])/7(?![0-9])
          |\s?\^?\{{?\+\s?(?P<more>[0-9]{{1,2}})(?![0-9/]|\.[0-9]))(?:{_WEEKS}(?![a-z])|{_DAYS})?""",
        # 34.43 weeks:
        rf"{_ALONE}(?P<weeks>[0-9]{{1,3}}[.,][0-9]{{1,6}}){_WEEKS}\b",
        # Week 34, day 3:
        r"""\bweeks?\s{0,2}[:=]?\s{0,2}(?P<weeks>[0-9]{1,3})[\s,;]{1,4}
        (?:number\sof\s)?days?\s{0,2}[:=]?\s{0,2}(?P<days>[0-9]{1,3})(?![0-9]|\.[0-9])""",
        # The bare pair 34, 3:
        rf"""{_ALONE}(?P<weeks>[0-9]{{1,3}})\s{{0,2}}[,;:]\s{{0,2}}
        (?P<days>[0-9]{{1,3}})(?![0-9/]|\.[0-9])(?:\s{{0,3}}days?)?(?!\s{{0,3}}[A-Za-z,;])""",
        # 34 weeks, or 241 days:
        rf"{_ALONE}(?:(?P<weeks>[0-9]{{1,3}}){_WEEKS}\b|(?P<days>[0-9]{{1,3}}){_DAYS})",
    )
)
_BOTH_PARTS: Final = 2
"""How many of the first notations may stand in one text together."""
_DRESS: Final = str.maketrans("[]{}\"'", "()()  ")


def ages(text: str) -> list[Quantity]:
    """The gestational ages of a plain text in days: weeks and days, decimal weeks, or one alone.

    Example:
        "34w3d", "34 3/7 weeks" and "34.43 weeks" are 241 days.
    """
    text = _blank(_CALENDAR, text.translate(_DRESS))
    quantities: list[Quantity] = []
    # which signs a notation that says more has read already
    taken = bytearray(len(text))
    for notation, pattern in enumerate(_AGES):
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(taken[start:end]):
                continue

            taken[start:end] = b"\1" * (end - start)
            quantities.append(Quantity(_days(match), start, end))

        if quantities and notation >= _BOTH_PARTS:
            break

    return sorted(quantities, key=lambda age: age.start)[-MAX_QUANTITIES:]


def _days(match: re.Match[str]) -> int | None:
    """An age of weeks and days in days; None with a sign, since no age has one."""
    parts = match.groupdict()
    if parts.get("sign") or parts.get("minus"):
        return None
    weeks = (parts.get("weeks") or "0").replace(",", ".")
    days = parts.get("days") or parts.get("more") or "0"
    return round(float(weeks) * DAYS_A_WEEK) + int(days)
