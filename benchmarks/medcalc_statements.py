"""How well MedCalc-Bench's `accuracy` reads what a reply states: over 20,000 statements.

    python -m benchmarks.medcalc_statements                    prints the table
    python -m benchmarks.medcalc_statements --write            puts it into docs/medcalc_scoring.md
    python -m benchmarks.medcalc_statements --misses KIND      prints the misread replies of a kind
    python -m benchmarks.medcalc_statements --half held-out    counts one half of the forms
    python -m benchmarks.medcalc_statements --real CHECKOUT    compares real replies (medcalc_passages)

Every name of each of the 55 calculators is put into forms of every kind. A form of the right side
states the gold. A form of the wrong side mentions the gold and states another value, or none:

    right, "verb":          "The sex factor is 0.85. This gives a creatinine clearance of 37.7."
    wrong, "intermediate":  "The adjusted weight is 37.7 kg. The creatinine clearance is 52.1."

Wrong forms are `plain` where language models write them, and `contrived` where an adversary would.
The forms fall into two halves by a hash of their text, so that a reader of answers can be developed
on one half and measured on the other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypedDict

from benchmarks.medcalc_passages import MirrorError, report, unclear
from medical_tasks.benchmarks.medcalc_bench.fresh import fresh_rows
from medical_tasks.benchmarks.medcalc_bench.gold import SCORE_IDS, AnswerKind, answer_kind
from medical_tasks.benchmarks.medcalc_bench.official import official_decision
from medical_tasks.benchmarks.medcalc_bench.scoring import Decision, decide
from medical_tasks.calculators import CALCULATORS, AnyCalculator

ROOT: Final = Path(__file__).resolve().parents[1]
DOCUMENT: Final = ROOT / "docs" / "medcalc_scoring.md"
DATA: Final = ROOT / "tests" / "benchmarks" / "medcalc_bench"
BEGIN, END = "<!-- statements: begin -->", "<!-- statements: end -->"
SEED: Final = 55
GOLDS: Final = 4
"""Questions drawn for each calculator."""

Side = Literal["right", "wrong"]
Manner = Literal["plain", "contrived"]
Expected = Literal["right", "another value", "no value", "another value or none"]
Half = Literal["development", "held-out"]


class Subject(TypedDict, total=False):
    """What the statements about one calculator's answer are made of (`statement_subjects.json`)."""

    phrases: list[str]
    """What the question calls the answer."""
    inputs: list[str]
    """Sentences that state an input, a factor or an intermediate value."""
    carriers: list[str]
    """Sentences that state another quantity, whose value `{}` is to be filled in."""
    remarks: list[str]
    """What is said about the answer afterwards, with numbers."""
    working: str
    """The calculation, without its result."""
    items: list[str]
    """A score's items."""
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


class Verbs(TypedDict):
    """Beginnings of sentences and the verbs that go with them."""

    leads: list[str]
    verbs: list[str]


class Frames(TypedDict):
    """What stands around a statement."""

    before: list[str]
    behind: list[str]
    behind_sentence: list[str]
    alone: list[str]
    """Kinds of forms that are left as they are."""


@dataclass(frozen=True, slots=True)
class Form:
    """A statement with slots such as `«n»`, the name, and `«gu»`, the gold with its unit."""

    kind: str
    side: Side
    manner: Manner
    expected: Expected
    text: str

    @property
    def half(self) -> Half:
        """Which half the form belongs to."""
        digest = hashlib.sha256(self.text.encode()).digest()
        return "held-out" if digest[0] % 2 else "development"


@dataclass(frozen=True, slots=True)
class Gold:
    """A question's right answer, its limits, and another answer of the same form."""

    calculator: AnyCalculator
    kind: AnswerKind
    value: str
    lower: str
    upper: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Case:
    """A reply, and what a person reads in it."""

    calculator_id: int
    name: str
    kind: str
    side: Side
    manner: Manner
    expected: Expected
    half: Half
    form: str
    reply: str
    gold: str
    lower: str
    upper: str


# The data


@cache
def subjects() -> Mapping[int, Subject]:
    """The subjects by calculator."""
    text = (DATA / "statement_subjects.json").read_text(encoding="utf-8")
    read: Mapping[str, Subject] = json.loads(text)
    return {int(number): subject for number, subject in read.items()}


class _Wrong(TypedDict):
    plain: dict[Expected, dict[str, list[str]]]
    contrived: dict[Expected, dict[str, list[str]]]


class _FormsFile(TypedDict):
    frames: Frames
    verbs: dict[str, Verbs]
    right: dict[str, list[str]]
    wrong: _Wrong


@cache
def _forms_file() -> _FormsFile:
    read: _FormsFile = json.loads((DATA / "statement_forms.json").read_text(encoding="utf-8"))
    return read


@cache
def forms() -> tuple[Form, ...]:
    """All forms: the listed ones, and each verb with each of its subjects and objects."""
    listed = _forms_file()
    found = [Form("verb", "right", "plain", "right", text) for text in verb_forms("«gu»")]
    found += [
        Form("intermediate", "wrong", "plain", "another value", f"«cg» {text}")
        for text in verb_forms("«wu»")
    ]
    for kind, texts in listed["right"].items():
        found += [Form(kind, "right", "plain", "right", text) for text in texts]
    manners: tuple[Manner, ...] = ("plain", "contrived")
    for manner in manners:
        for expected, kinds in listed["wrong"][manner].items():
            for kind, texts in kinds.items():
                found += [Form(kind, "wrong", manner, expected, text) for text in texts]
    return tuple(found)


ARTICLES: Final = ("a «n»", "an estimated «n»", "the «n»", "«n»")
LINKS: Final = (" of ", " = ", ": ", " equal to ")


def verb_forms(value: str) -> Iterator[str]:
    """Sentences whose verb has the name as its object or subject: "This gives a CrCl of 37.7."."""
    verbs = _forms_file()["verbs"]
    for group in ("reaching", "getting", "having"):
        for verb in verbs[group]["verbs"]:
            for article in ARTICLES:
                for link in LINKS:
                    lead = _turn(verbs[group]["leads"], verb + article + link)
                    yield f"{lead} {verb} {article}{link}{value}."
    for verb in verbs["bringing"]["verbs"]:
        for lead in verbs["bringing"]["leads"]:
            yield f"{lead} {verb} the «n» {'at' if verb == 'puts' else 'to'} {value}."
    for verb in verbs["being"]["verbs"]:
        for lead in verbs["being"]["leads"]:
            yield f"{lead} {verb} {value}."


def _turn(texts: Sequence[str], key: str) -> str:
    """One of the texts, the same for the same key."""
    return texts[hashlib.sha256(key.encode()).digest()[0] % len(texts)]


# Golds and how they are written


def golds(seed: int) -> Mapping[int, Sequence[Gold]]:
    """Golds by calculator: drawn with the generator of fresh questions, and the listed ones."""
    rows: defaultdict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for row in fresh_rows(seed, GOLDS * len(CALCULATORS), 1):
        cells = (row["ground_truth_answer"], row["lower_limit"], row["upper_limit"])
        rows[int(row["calculator_id"])].append(cells)
    for number, subject in subjects().items():
        rows[number] += [_row(number, Decimal(value)) for value in subject.get("golds", ())]

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
        value = _plain(round(Decimal(value), 3))
    wrong = _wrong(calculator.id, kind, value, rng)
    if kind in ("integer", "decimal") and _within(wrong, lower, upper):
        wrong = _plain(Decimal(value) + (Decimal(upper) - Decimal(lower)))
    return Gold(calculator, kind, value, lower, upper, wrong)


def _wrong(calculator_id: int, kind: AnswerKind, gold: str, rng: random.Random) -> str:
    """An answer of the same form that is clearly another one."""
    if kind == "date":
        return _day(gold, rng.choice((-9, 4, 17, 31))).strftime("%m/%d/%Y")
    if kind == "gestational_age":
        weeks, days = _weeks_days(gold)
        return f"('{weeks + rng.choice((1, 2, 5))} weeks', '{(days + 2) % 7} days')"
    number = Decimal(gold)
    if calculator_id in SCORE_IDS:
        step = rng.choice((1, 1, 2, 3))
        most = subjects()[calculator_id].get("most", 99)
        return _plain(number + step if number + step <= most else number - step)
    if not number:
        return "7.2"
    factor = rng.choice((Decimal("0.62"), Decimal("0.85"), Decimal("1.24"), Decimal("1.9")))
    return _plain(round(number * factor, 3))


def _within(value: str, lower: str, upper: str) -> bool:
    return Decimal(lower) <= Decimal(value) <= Decimal(upper)


def _plain(number: Decimal) -> str:
    """Without trailing zeros: `25.50` is "25.5"."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _day(text: str, later: int = 0) -> date:
    month, day, year = map(int, text.split("/"))
    return date(year, month, day) + timedelta(days=later)


def _weeks_days(text: str) -> tuple[int, int]:
    weeks, days = map(int, re.findall(r"\d+", text))
    return weeks, days


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


def number_spellings(text: str) -> list[str]:
    """Other ways to write a number."""
    number = Decimal(text)
    spellings = [decimal_words(text), text.translate(WIDE), text.translate(ARABIC)]
    if text.startswith("-"):
        spellings += [text.replace("-", "−"), text.replace("-", "–")]
    decimals = len(text.partition(".")[2])
    if decimals in (1, 2):
        spellings += [text.replace(".", ","), text.replace(".", "٫")]
    if decimals:
        spellings += [f"{text}0", f"{number:e}".replace("e+", "e"), _power_of_ten(number)]
    if abs(number) >= 1000:
        for separator in (",", "'", "’", "\u202f", " "):
            spellings.append(f"{number:,}".replace(",", separator))
    return spellings


def _power_of_ten(number: Decimal) -> str:
    exponent = number.adjusted()
    return f"{_plain(number.scaleb(-exponent))} × 10^{exponent}"


def date_spellings(day: date) -> list[str]:
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
        day.strftime("%m-%d-%Y"),
    ]


def _ordinal_ending(day: int) -> str:
    if day in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def age_spellings(weeks: int, days: int) -> list[str]:
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
        f"{number_words(weeks)} {week} and {number_words(days)} {day}",
        f"{weeks} {week} plus {days} {day}",
        f"{weeks} wk {days} d",
    ]


# Names


def names(calculator: AnyCalculator) -> list[str]:
    """What the answer is called: the calculator's names and the question's noun phrases."""
    found = [calculator.name, *calculator.aliases, *subjects()[calculator.id]["phrases"]]
    if calculator.id in SCORE_IDS:
        found += [f"{alias} score" for alias in calculator.aliases if "score" not in alias.lower()]
    return list(dict.fromkeys(found))


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
            "An": _capital(with_article(self.name)),
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
            words["day"] = gold
        else:
            words |= {"num": gold, "nu": words["gu"]}
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

    def written(self, value: str) -> str:
        """A value as a model writes it: rounded as far as the limits allow, a date as asked for."""
        if self.gold.kind == "gestational_age":
            return self.rng.choice(age_spellings(*_weeks_days(value))[:5])
        if self.gold.kind == "date":
            return self.rng.choice(date_spellings(_day(value))[:2])
        if self.gold.calculator.id in SCORE_IDS:
            return value
        number = Decimal(value)
        rounded = (round(number, digits) for digits in self.rng.sample((1, 2, 3), 3))
        close = (text for text in rounded if abs(text - number) <= abs(number) / 50)
        return _plain(next(close, number))

    def spelled(self, value: str) -> str:
        """Written in another way than asked for."""
        if self.gold.kind == "gestational_age":
            return self.rng.choice(age_spellings(*_weeks_days(value))[2:])
        if self.gold.kind == "date":
            return self.rng.choice(date_spellings(_day(value))[2:])
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
            words["most"] = _plain(Decimal(str(self.subject["most"])))
        if Decimal(gold) >= 2:
            words |= {
                "sum": f"{self.sum_of(gold)} = {gold}",
                "items_g": self.listed(gold),
                "items_right": self.listed(gold).replace(". ", ".\n"),
                "rows_right": self.rows(gold),
            }
        low = _plain(Decimal(gold) - 1)
        if Decimal(gold) >= 2 and not _within(low, self.gold.lower, self.gold.upper):
            words["low"] = low
        if self.gold.lower == self.gold.upper:
            words["whole"] = gold
        if Decimal(wrong) > Decimal(gold) > 0:
            words["rest"] = _plain(Decimal(wrong) - Decimal(gold))
        return words

    def parts(self, total: str) -> list[Decimal]:
        """Points of up to four items that add up to a total of 2 or more."""
        count = min(len(self.subject["items"]), int(Decimal(total)))
        return [Decimal(1)] * (count - 1) + [Decimal(total) - (count - 1)]

    def sum_of(self, total: str) -> str:
        """The points as a sum: "1 + 1 + 2"."""
        return " + ".join(_plain(part) for part in self.parts(total))

    def by_item(self, total: str) -> Iterator[tuple[str, str]]:
        """Items with their points."""
        for item, points in zip(self.subject["items"], self.parts(total), strict=False):
            yield _capital(item), _plain(points)

    def listed(self, total: str) -> str:
        """The points item by item: "Age: 1. Fever: 1."."""
        return " ".join(f"{item}: {points}." for item, points in self.by_item(total))

    def rows(self, total: str) -> str:
        """The points as rows of a table."""
        return "\n".join(f"| {item} | {points} |" for item, points in self.by_item(total))

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


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _digits(number: Decimal) -> str:
    """Four significant digits."""
    return _plain(Decimal(f"{number:.4g}"))


SLOT: Final = re.compile("«(\\w+)»")


def filled(text: str, words: Mapping[str, str]) -> str | None:
    """The form with its slots filled, None where one of them makes no sense for the case."""
    if words["n"].lower().startswith("estimated"):
        text = text.replace("an estimated «n»", "an «n»")
    text = text.replace("a «n»", "«an»").replace("A «n»", "«An»")
    if any(slot not in words for slot in SLOT.findall(text)):
        return None
    made = SLOT.sub(lambda slot: words[slot.group(1)], text)
    return _capital(made) if text.startswith("«n»") else made


def framed(form: Form, filler: Filler, words: Mapping[str, str]) -> str | None:
    """The reply: the statement, working before it and remarks behind it."""
    core = filled(form.text, words)
    if core is None:
        return None
    frames = _forms_file()["frames"]
    if form.kind in frames["alone"]:
        return core
    rng = filler.rng
    before, behind = rng.choice(frames["before"]), rng.choice(frames["behind"])
    if core.endswith("."):
        behind = rng.choice(frames["behind_sentence"])
    if "«worked»" in before and form.expected not in ("right", "another value"):
        before = ""
    value = words["g"] if form.side == "right" else words["w"]
    around = {**words, "worked": filler.worked(value), "core": core}
    return SLOT.sub(lambda slot: around[slot.group(1)], f"{before}«core»{behind}")


# All cases

TRIES: Final[Mapping[str, int]] = {"verb": 8, "intermediate": 5}
"""How many forms of a kind each name is put into; two of any other kind, one of a contrived one."""


def cases(seed: int = SEED) -> Iterator[Case]:
    """Every name of every calculator in forms of every kind, the same for the same seed."""
    kinds: defaultdict[tuple[Side, str], list[Form]] = defaultdict(list)
    for form in forms():
        kinds[form.side, form.kind].append(form)
    for calculator_id, asked in golds(seed).items():
        seen: set[str] = set()
        for name in names(asked[0].calculator):
            rng = random.Random(f"{seed} {calculator_id} {name}")
            for kind_forms in kinds.values():
                yield from _of_kind(kind_forms, asked, name, rng, seen)


def _of_kind(
    kind_forms: Sequence[Form], asked: Sequence[Gold], name: str, rng: random.Random, seen: set[str]
) -> Iterator[Case]:
    """A name in some forms of a kind, with one of the calculator's golds each."""
    wanted = TRIES.get(kind_forms[0].kind, 1 if kind_forms[0].manner == "contrived" else 2)
    for form in rng.sample(kind_forms, len(kind_forms)):
        if not wanted:
            return
        filler = Filler(rng.choice(asked), name, rng)
        reply = framed(form, filler, filler.words())
        if reply is None or reply in seen:
            continue
        seen.add(reply)
        wanted -= 1
        yield _case(form, filler, reply)


def _case(form: Form, filler: Filler, reply: str) -> Case:
    gold = filler.gold
    return Case(
        calculator_id=gold.calculator.id,
        name=filler.name,
        kind=form.kind,
        side=form.side,
        manner=form.manner,
        expected=form.expected,
        half=form.half,
        form=form.text,
        reply=reply,
        gold=gold.value,
        lower=gold.lower,
        upper=gold.upper,
    )


# Counting


@dataclass(slots=True)
class Count:
    """How many replies there are, and how many each rule takes for right."""

    replies: int = 0
    right: int = 0
    unclear: int = 0
    official: int = 0
    last_number: int = 0
    misread: list[tuple[Case, Decision]] = field(default_factory=list)


Key = tuple[Side, Manner, str]


def decided(case: Case) -> Decision:
    """How a case's reply is read."""
    return decide(
        case.reply,
        calculator_id=case.calculator_id,
        gold=case.gold,
        lower=case.lower,
        upper=case.upper,
    )


def counted(chosen: Iterable[Case]) -> dict[Key, Count]:
    """Counts by side, manner and kind."""
    counts: defaultdict[Key, Count] = defaultdict(Count)
    for case in chosen:
        count, decision = counts[case.side, case.manner, case.kind], decided(case)
        count.replies += 1
        count.right += decision.correct
        count.unclear += bool(unclear(decision))
        count.official += official_decision(
            case.reply,
            calculator_id=case.calculator_id,
            gold=case.gold,
            lower=case.lower,
            upper=case.upper,
        ).correct
        count.last_number += last_number_is_right(case)
        if decision.correct is not (case.side == "right"):
            count.misread.append((case, decision))
    return dict(counts)


NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
DATE: Final = re.compile(r"\d{1,2}/\d{1,2}/\d{4}")


def last_number_is_right(case: Case) -> bool:
    """A naive rule for comparison: the last number of the reply, date or pair of numbers, decides."""
    kind = answer_kind(case.calculator_id)
    if kind == "date":
        days = DATE.findall(case.reply)
        return bool(days) and [int(part) for part in days[-1].split("/")] == [
            int(part) for part in case.gold.split("/")
        ]
    numbers = NUMBER.findall(case.reply)
    if kind == "gestational_age":
        return [int(float(number)) for number in numbers[-2:]] == [*_weeks_days(case.gold)]
    return bool(numbers) and _within(numbers[-1], case.lower, case.upper)


def summed(counts: Mapping[Key, Count], chosen: Callable[[Key], bool]) -> Count:
    """The sum over some kinds."""
    total = Count()
    for key, count in counts.items():
        if chosen(key):
            total.replies += count.replies
            total.right += count.right
            total.unclear += count.unclear
            total.official += count.official
            total.last_number += count.last_number
            total.misread += count.misread
    return total


# The table

TITLES: Final[Sequence[tuple[Side, Manner, str]]] = (
    ("right", "plain", "states the gold"),
    ("wrong", "plain", "mentions the gold, states something else or nothing"),
    ("wrong", "contrived", "the same, contrived"),
)


def table(halves: Mapping[str, Mapping[Key, Count]]) -> str:
    """The totals of each half, then every kind, in Markdown."""
    lines = [
        "| replies | half | number | `accuracy` accepts | of these unclear | "
        "`accuracy_official` accepts | last number accepts |",
        "|---|---|---|---|---|---|---|",
    ]
    for side, manner, title in TITLES:
        for half, counts in halves.items():
            total = summed(counts, lambda key, of=(side, manner): key[:2] == of)
            lines.append(f"| {title} | {half} {_cells(total)}")
    return "\n".join(lines)


def kinds_table(counts: Mapping[Key, Count]) -> str:
    """Every kind, in Markdown."""
    lines = [
        "| side | kind | number | `accuracy` accepts | unclear | official | last number |",
        "|---|---|---|---|---|---|---|",
    ]
    for (side, manner, kind), count in counts.items():
        shown = f"{side}, contrived" if manner == "contrived" else side
        lines.append(f"| {shown} | {kind} {_cells(count)}")
    return "\n".join(lines)


def _cells(count: Count) -> str:
    shares = [count.right, count.unclear, count.official, count.last_number]
    shown = " | ".join(f"{share / max(count.replies, 1):.1%}" for share in shares)
    return f"| {count.replies:,} | {shown} |"


def document_with(made: str, document: str) -> str:
    """The document with its table replaced."""
    head, rest = document.split(BEGIN)
    return f"{head}{BEGIN}\n{made}\n{END}{rest.split(END)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures how MedCalc-Bench's replies are read.")
    parser.add_argument("--seed", type=int, default=SEED, help="another draw of the cases")
    parser.add_argument("--half", choices=("development", "held-out"), help="one half of the forms")
    parser.add_argument("--write", action="store_true", help=f"put the table into {DOCUMENT.name}")
    parser.add_argument("--misses", metavar="KIND", help="print misread replies of a kind, or all")
    parser.add_argument("--real", type=Path, metavar="CHECKOUT", help="read the authors' replies")
    options = parser.parse_args()
    if options.real:
        try:
            sys.stdout.write(report(options.real) + "\n")
        except MirrorError as error:
            parser.error(str(error))
        return

    drawn = list(cases(options.seed))
    halves = {
        half: counted(case for case in drawn if case.half == half)
        for half in ("development", "held-out")
        if options.half in (None, half)
    }
    made = table(halves)
    sys.stdout.write(f"{made}\n\n")
    for half, counts in halves.items():
        sys.stdout.write(f"{half}\n{kinds_table(counts)}\n\n")
        for (side, _, kind), count in counts.items() if options.misses else ():
            if options.misses not in ("all", kind):
                continue
            for case, decision in count.misread:
                line = f"{half} {side} {kind} {case.calculator_id} gold {case.gold}"
                sys.stdout.write(f"{line}: {case.reply!r} -> {decision.why}\n")
    if options.write and not options.half:
        document = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(document_with(made, document), encoding="utf-8")


if __name__ == "__main__":
    main()
