"""The words of which statements about MedCalc-Bench's answers are made.

`medcalc_statements` puts them into forms. The golds are drawn with the generator of
fresh questions; inputs, intermediate values and remarks of each calculator stand in
`statement_subjects.json`.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from math import ceil, floor
from pathlib import Path
from typing import Final, TypedDict

from medical_tasks.benchmarks.medcalc_bench.gold import (
    SCORE_IDS,
    AnswerKind,
    answer_kind,
)
from medical_tasks.calculators import CALCULATORS, AnyCalculator
from medical_tasks.construct.fresh import fresh_rows

DATA: Final = (
    Path(__file__).resolve().parents[1] / "tests" / "benchmarks" / "medcalc_bench"
)
GOLDS: Final = 4
"""Questions drawn for each calculator."""


class Subject(TypedDict, total=False):
    """What the statements about one calculator's answer are made of (`statement_subjects.json`)."""

    phrases: list[str]
    """What the question calls the answer."""
    inputs: list[str]
    """Sentences that state an input, a factor or an intermediate value."""
    carriers: list[str]
    """Sentences that state another quantity, whose value `{}` is to be filled in."""
    remarks: list[str]
    """Remarks about the answer after it, with numbers."""
    working: str
    """The calculation, without its result."""
    items: list[str]
    """A score's items."""
    least: float
    """A score's minimum, unless it is 0."""
    most: float
    """A score's maximum."""
    unit_word: str
    """What a score counts."""
    units: list[str]
    """Ways to write the unit asked for."""
    other_unit: list[str]
    """Another unit, and how many of it make one of the unit asked for."""
    normal: str
    """The normal range, or a cut-off."""
    golds: list[str]
    """Golds that are tried besides the drawn ones, such as negative ones."""


@cache
def subjects() -> Mapping[int, Subject]:
    """The subjects by calculator."""
    text = (DATA / "statement_subjects.json").read_text(encoding="utf-8")
    read: Mapping[str, Subject] = json.loads(text)
    return {int(number): subject for number, subject in read.items()}


# Golds


@dataclass(frozen=True, slots=True)
class Gold:
    """A question's right answer, its limits, and another answer of the same form."""

    calculator: AnyCalculator
    kind: AnswerKind
    value: str
    lower: str
    upper: str
    wrong: str


def golds(seed: int) -> Mapping[int, Sequence[Gold]]:
    """Golds by calculator: drawn with the generator of fresh questions, and the listed ones."""
    rows: defaultdict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for row in fresh_rows(seed, GOLDS * len(CALCULATORS), 1):
        cells = (row["ground_truth_answer"], row["lower_limit"], row["upper_limit"])
        rows[int(row["calculator_id"])].append(cells)
    for number, subject in subjects().items():
        rows[number] += [
            _row(number, Decimal(value)) for value in subject.get("golds", ())
        ]

    rng = random.Random(seed)
    return {
        calculator.id: [_gold(calculator, *cells, rng) for cells in rows[calculator.id]]
        for calculator in CALCULATORS
    }


def _row(calculator_id: int, value: Decimal) -> tuple[str, str, str]:
    """A gold with its limits: 5 % of a measurement, none of a score."""
    share = Decimal(0) if calculator_id in SCORE_IDS else Decimal("0.05")
    width = abs(value) * share
    return f"{value}", f"{value - width}", f"{value + width}"


def _gold(
    calculator: AnyCalculator, value: str, lower: str, upper: str, rng: random.Random
) -> Gold:
    kind = answer_kind(calculator.id)
    if kind == "decimal":
        value = plain_text(round(Decimal(value), 3))
    wrong = _wrong(calculator.id, kind, value, rng)
    if kind in ("integer", "decimal") and within_limits(wrong, lower, upper):
        wrong = _beyond_limits(calculator.id, value, lower, upper)
    return Gold(calculator, kind, value, lower, upper, wrong)


def _beyond_limits(calculator_id: int, value: str, lower: str, upper: str) -> str:
    """An answer just outside the limits; a score stays whole and on its scale.

    A MELD score of 38 has the limits 36.1 and 39.9: the next one is 40. For 40 it is
    37.
    """
    if calculator_id not in SCORE_IDS:
        return plain_text(Decimal(value) + (Decimal(upper) - Decimal(lower)))
    above = floor(Decimal(upper)) + 1
    most = subjects()[calculator_id].get("most", above)
    below = ceil(Decimal(lower)) - 1
    return str(above if above <= most else below)


def _wrong(calculator_id: int, kind: AnswerKind, gold: str, rng: random.Random) -> str:
    """An answer of the same form that is clearly another one."""
    if kind == "date":
        return day_of(gold, rng.choice((-9, 4, 17, 31))).strftime("%m/%d/%Y")
    if kind == "gestational_age":
        weeks, days = weeks_and_days(gold)
        return f"('{weeks + rng.choice((1, 2, 5))} weeks', '{(days + 2) % 7} days')"
    number = Decimal(gold)
    if calculator_id in SCORE_IDS:
        step = rng.choice((1, 1, 2, 3))
        most = subjects()[calculator_id].get("most", 99)
        return plain_text(number + step if number + step <= most else number - step)
    if not number:
        return "7.2"
    factor = rng.choice(
        (Decimal("0.62"), Decimal("0.85"), Decimal("1.24"), Decimal("1.9"))
    )
    return plain_text(round(number * factor, 3))


def within_limits(value: str, lower: str, upper: str) -> bool:
    return Decimal(lower) <= Decimal(value) <= Decimal(upper)


def plain_text(number: Decimal) -> str:
    """Without trailing zeros: `25.50` is "25.5"."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def day_of(text: str, later: int = 0) -> date:
    month, day, year = map(int, text.split("/"))
    return date(year, month, day) + timedelta(days=later)


def weeks_and_days(text: str) -> tuple[int, int]:
    weeks, days = map(int, re.findall(r"\d+", text))
    return weeks, days


# Spellings

ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def number_words(number: int) -> str:
    """A number below a million in words: 412 is "four hundred and twelve"."""
    if number < 20:
        return ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return TENS[tens - 2] + (f"-{ONES[ones]}" if ones else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    high, rest = divmod(number, size)
    words = f"{number_words(high)} {name}"
    if not rest:
        return words
    return f"{words} {'and ' if rest < 100 else ''}{number_words(rest)}"


@cache
def decimal_words(text: str) -> str:
    """A decimal in words: "-25.2" is "minus twenty-five point two"."""
    size = text.removeprefix("-")
    whole, _, digits = size.partition(".")
    words = number_words(int(whole))
    if digits:
        words += " point " + " ".join(ONES[int(digit)] for digit in digits)
    return f"minus {words}" if text.startswith("-") else words


WIDE: Final = str.maketrans("0123456789", "０１２３４５６７８９")
ARABIC: Final = str.maketrans("0123456789.", "٠١٢٣٤٥٦٧٨٩٫")


@cache
def number_spellings(text: str) -> Sequence[str]:
    """Other ways to write a number."""
    number = Decimal(text)
    spellings = [decimal_words(text), text.translate(WIDE), text.translate(ARABIC)]
    if text.startswith("-"):
        spellings += [text.replace("-", "−"), text.replace("-", "–")]
    decimals = len(text.partition(".")[2])
    if decimals in (1, 2):
        spellings += [text.replace(".", ","), text.replace(".", "٫")]
    if decimals:
        spellings += [
            f"{text}0",
            f"{number:e}".replace("e+", "e"),
            _power_of_ten(number),
        ]
    if abs(number) >= 1000:
        for separator in (",", "'", "’", "\u202f", " "):
            spellings.append(f"{number:,}".replace(",", separator))
    return spellings


def _power_of_ten(number: Decimal) -> str:
    exponent = number.adjusted()
    return f"{plain_text(number.scaleb(-exponent))} × 10^{exponent}"


@cache
def date_spellings(day: date) -> Sequence[str]:
    """Ways to write a date: the form asked for, others in digits, and in words."""
    ordinal = f"{day.day}{_ordinal_ending(day.day)}"
    month, short = day.strftime("%B"), day.strftime("%b")
    return [
        day.strftime("%m/%d/%Y"),
        f"{day.month}/{day.day}/{day.year}",
        day.isoformat(),
        f"{month} {day.day}, {day.year}",
        f"{month} {ordinal}, {day.year}",
        f"{day.day} {month} {day.year}",
        f"the {ordinal} of {month} {day.year}",
        f"{short} {day.day}, {day.year}",
        f"{short}. {day.day}, {day.year}",
        f"{day.strftime('%A')}, {month} {day.day}, {day.year}",
        f"{month} {ORDINALS[day.day - 1]}, {day.year}",
        day.strftime("%m-%d-%Y"),
    ]


ORDINALS: Final = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first "
    "twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh "
    "twenty-eighth twenty-ninth thirtieth thirty-first"
).split()


def _ordinal_ending(day: int) -> str:
    if day in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def date_words(day: date) -> dict[str, str]:
    """The parts of a date by slot."""
    return {
        "month": day.strftime("%B"),
        "mday": str(day.day),
        "mday_word": ORDINALS[day.day - 1],
        "year": str(day.year),
        "iso": day.isoformat(),
        "weekday": day.strftime("%A"),
    }


def counted_in_words(number: int, noun: str) -> str:
    """A number and what it counts: "one day", "three days"."""
    return f"{number_words(number)} {noun if number == 1 else f'{noun}s'}"


@cache
def age_spellings(weeks: int, days: int) -> Sequence[str]:
    """Ways to write a gestational age."""
    week = "week" if weeks == 1 else "weeks"
    day = "day" if days == 1 else "days"
    return [
        f"({weeks} weeks, {days} days)",
        f"('{weeks} weeks', '{days} days')",
        f"{weeks} {week} and {days} {day}",
        f"{weeks} {week}, {days} {day}",
        f"{weeks} {week} {days} {day}",
        f"{weeks}w{days}d",
        f"{weeks}w {days}d",
        f"{weeks}+{days} weeks",
        f"{weeks}+{days}",
        f"{weeks} {days}/7 weeks",
        f"{weeks} and {days}/7 weeks",
        f"{counted_in_words(weeks, 'week')} and {counted_in_words(days, 'day')}",
        f"{weeks} {week} plus {days} {day}",
        f"{weeks} wk {days} d",
    ]


# Names


def names(calculator: AnyCalculator) -> list[str]:
    """What the answer is called: the calculator's names and the question's noun phrases."""
    phrases = subjects()[calculator.id]["phrases"]
    if calculator.id in SCORE_IDS:
        plain = [alias for alias in calculator.aliases if "score" not in alias.lower()]
        phrases = phrases + [f"{alias} score" for alias in plain]
    return list(dict.fromkeys([calculator.name, *calculator.aliases, *phrases]))


def with_article(name: str) -> str:
    """With the indefinite article: "an anion gap", "a CrCl"."""
    spelled_out = name.startswith(("MDRD", "LDL", "RCRI", "MME", "SIRS c"))
    an = spelled_out or name[0].lower() in "aeio" or name.startswith("FENa")
    return f"{'an' if an else 'a'} {name}"


# Filling a form


@dataclass(frozen=True, slots=True)
class Filler:
    """Makes the words that go into the slots of one case's form."""

    gold: Gold
    name: str
    rng: random.Random

    @property
    def subject(self) -> Subject:
        """What statements about this calculator are made of."""
        return subjects()[self.gold.calculator.id]

    def words(self) -> dict[str, str]:
        """Words by slot. A slot that makes no sense for the case is left out."""
        gold, wrong = self.written(self.gold.value), self.written(self.gold.wrong)
        first, second = self.rng.sample(self.subject["inputs"], 2)
        carrier = self.rng.choice(self.subject["carriers"])
        words = {
            "n": self.name,
            "an": with_article(self.name),
            "An": capitalised(with_article(self.name)),
            "name_in": "first input",
            "g": gold,
            "w": wrong,
            "gu": self.with_unit(gold),
            "wu": self.with_unit(wrong),
            "q": self.quoted(gold),
            "qw": self.quoted(wrong),
            "in1": first,
            "in2": second,
            "cg": carrier.format(gold),
            "other": _quantity(carrier),
            "cgl": carrier[0].lower() + carrier[1:].format(gold),
            "gexact": self.gold.value,
            "remark": self.rng.choice(self.subject["remarks"]),
            "sp": self.spelled(self.gold.value),
            "wsp": self.spelled(self.gold.wrong),
        }
        if "normal" in self.subject:
            words["normal"] = self.subject["normal"]
        if "working" in self.subject:
            words["work"] = self.subject["working"]
        if self.is_number:
            low, high = sorted((gold, wrong), key=Decimal)
            words |= {"lo": low, "hi": high, "hiu": self.with_unit(high)}
        else:
            words |= {"lo": gold, "hi": wrong, "hiu": wrong}
        if self.gold.kind == "date":
            words |= {"day": gold, **date_words(day_of(self.gold.value))}
        else:
            words |= {"num": gold, "nu": words["gu"]}
        if self.gold.kind == "gestational_age":
            words |= self.age_words()
        if self.is_number and Decimal(self.gold.value) > 2:
            words |= {"scaled": gold, "scaled_u": words["gu"]}
        if self.is_number and self.is_within_scale:
            words |= {"inner": gold, "inner_u": words["gu"]}
        if self.gold.kind != "decimal":
            del words["gexact"]
        if self.gold.calculator.id in SCORE_IDS:
            words |= self.score_words(gold, wrong)
        if "units" in self.subject:
            words |= self.unit_words(gold, wrong)
        return words

    @property
    def is_number(self) -> bool:
        """Whether the answer is a number."""
        return self.gold.kind in ("integer", "decimal")

    @property
    def is_within_scale(self) -> bool:
        """Whether higher and lower answers exist, so that "at least 5" is not the same as 5."""
        if self.gold.calculator.id not in SCORE_IDS:
            return True
        least, most = self.subject.get("least", 0), self.subject.get("most", 99)
        return least < float(self.gold.value) < most

    def written(self, value: str) -> str:
        """A value as a model writes it: rounded as far as the limits allow, a date as asked for."""
        if self.gold.kind == "gestational_age":
            return self.rng.choice(age_spellings(*weeks_and_days(value))[:5])
        if self.gold.kind == "date":
            return self.rng.choice(date_spellings(day_of(value))[:2])
        if self.gold.calculator.id in SCORE_IDS:
            return value
        return _rounded(value, *self.rng.sample((1, 2, 3), 3))

    def spelled(self, value: str) -> str:
        """Written in another way than asked for."""
        if self.gold.kind == "gestational_age":
            return self.rng.choice(age_spellings(*weeks_and_days(value))[2:])
        if self.gold.kind == "date":
            return self.rng.choice(date_spellings(day_of(value))[2:])
        return self.rng.choice(number_spellings(self.written(value)))

    def with_unit(self, text: str) -> str:
        """With the unit, or what a score counts; now and then without."""
        if self.rng.random() < 0.2:
            return text
        return self.unit_behind(text, self.unit())

    def unit(self) -> str:
        """A way to write the unit."""
        if self.gold.calculator.id in SCORE_IDS:
            return self.rng.choice(("", self.subject["unit_word"]))
        return self.rng.choice(self.subject.get("units", [""]))

    def unit_behind(self, text: str, unit: str) -> str:
        """The number and its unit: "25 mg", "12%", "1 point"."""
        if text == "1":
            unit = {"points": "point", "criteria": "criterion"}.get(unit, unit)
        if unit == "%":
            return text + self.rng.choice(("%", " %"))
        return f"{text} {unit}".rstrip()

    def quoted(self, text: str) -> str:
        """As a value of JSON."""
        if self.is_number and self.rng.random() < 0.5:
            return text
        return json.dumps(text, ensure_ascii=False)

    def score_words(self, gold: str, wrong: str) -> dict[str, str]:
        """Words for scores: points, maximum, items that add up to the gold."""
        unit = self.subject["unit_word"]
        words = {
            "i": gold,
            "wi": wrong,
            "pts": self.unit_behind(gold, unit),
            "wpts": self.unit_behind(wrong, unit),
            "iword": decimal_words(gold),
        }
        if "most" in self.subject:
            words["most"] = plain_text(Decimal(str(self.subject["most"])))
        if Decimal(gold) >= 2:
            words |= {
                "sum": f"{self.sum_of(gold)} = {gold}",
                "items_g": self.listed(gold),
                "items_right": self.listed(gold).replace(". ", ".\n"),
                "rows_right": self.rows(gold),
            }
        low = plain_text(Decimal(gold) - 1)
        if Decimal(gold) >= 2 and not within_limits(
            low, self.gold.lower, self.gold.upper
        ):
            words["low"] = low
        if self.gold.lower == self.gold.upper:
            words["whole"] = gold
        if Decimal(gold) >= 1:
            words["before_last"] = plain_text(Decimal(gold) - 1)
        if Decimal(wrong) > Decimal(gold) > 0:
            words["rest"] = plain_text(Decimal(wrong) - Decimal(gold))
        return words

    def addends(self, total: str) -> list[Decimal]:
        """Points of up to four items that add up to a total of 2 or more."""
        count = min(len(self.subject["items"]), int(Decimal(total)))
        return [Decimal(1)] * (count - 1) + [Decimal(total) - (count - 1)]

    def sum_of(self, total: str) -> str:
        """The points as a sum: "1 + 1 + 2"."""
        return " + ".join(map(plain_text, self.addends(total)))

    def by_item(self, total: str) -> Iterator[tuple[str, str]]:
        """Items with their points."""
        for item, points in zip(
            self.subject["items"], self.addends(total), strict=False
        ):
            yield capitalised(item), plain_text(points)

    def listed(self, total: str) -> str:
        """The points item by item: "Age: 1. Fever: 1."."""
        return " ".join(f"{item}: {points}." for item, points in self.by_item(total))

    def rows(self, total: str) -> str:
        """The points as rows of a table."""
        return "\n".join(
            f"| {item} | {points} |" for item, points in self.by_item(total)
        )

    def age_words(self) -> dict[str, str]:
        """Words for gestational ages: weeks and days, and the days of another age."""
        weeks, days = weeks_and_days(self.gold.value)
        words = {
            "weeks": str(weeks),
            "days": str(days),
            "wdays": str(weeks_and_days(self.gold.wrong)[1]),
            "all_days": str(7 * weeks + days),
            "week_words": counted_in_words(weeks, "week"),
            "day_words": counted_in_words(days, "day"),
        }
        if days:
            words["rounded_weeks"] = str(weeks)
        return words

    def unit_words(self, gold: str, wrong: str) -> dict[str, str]:
        """Words for measurements: both units, and the gold's number in the other one."""
        unit = self.rng.choice(self.subject["units"])
        if not unit:
            return {}
        words = {"u": unit, "g1": f"{gold} {unit}", "w1": f"{wrong} {unit}"}
        if "other_unit" not in self.subject:
            return words
        other, factor = self.subject["other_unit"]
        words |= {
            "galt": f"{_digits(Decimal(gold) * Decimal(factor))} {other}",
            "walt": f"{_digits(Decimal(wrong) * Decimal(factor))} {other}",
            "gmis": f"{gold} {other}",
            "mis": f"{_digits(Decimal(gold) / Decimal(factor))} {unit}",
        }
        return words

    def worked(self, value: str) -> str:
        """The calculation with its result."""
        if "working" in self.subject and self.is_number:
            return f"{self.subject['working']} = {value}"
        if "items" in self.subject and Decimal(value) >= 2:
            return f"{self.listed(value)} {self.sum_of(value)} = {value}"
        return self.subject["inputs"][0]


@cache
def _rounded(value: str, *decimals: int) -> str:
    """A value with the first of some numbers of decimals that leaves it within a fiftieth."""
    number = Decimal(value)
    rounded = (round(number, digits) for digits in decimals)
    close = (text for text in rounded if abs(text - number) <= abs(number) / 50)
    return plain_text(next(close, number))


@cache
def _quantity(carrier: str) -> str:
    """The quantity of a carrier: "The heart rate is {} bpm." is about the heart rate."""
    name = re.split(r" (?:is|are|was|began) ", carrier)[0]
    return capitalised(name.removeprefix("The ").removeprefix("patient's "))


def capitalised(text: str) -> str:
    """With a capital, unless the first word is spelt like "eGFR"."""
    return text if text[1:2].isupper() else text[0].upper() + text[1:]


def _digits(number: Decimal) -> str:
    """Four significant digits."""
    return plain_text(Decimal(f"{number:.4g}"))
