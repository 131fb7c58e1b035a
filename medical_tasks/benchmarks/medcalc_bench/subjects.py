"""What replies about each calculator are searched for, and what they call it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.gold import SCORE_IDS, AnswerKind
from medical_tasks.calculators import CALCULATORS, AnyCalculator
from medical_tasks.io.patterns import Pattern
from medical_tasks.scoring.numbers.quantities import (
    NO_UNIT,
    Quantity,
    ages,
    dates,
    measurements,
    scores,
    unit_of,
)
from medical_tasks.scoring.numbers.subject import KINDS, Names, Subject

__all__ = ["subject_of"]


_PHRASES: Final = {
    # What a question or a reply calls it, where the calculator has another name.
    2: (
        "creatinine clearance",
        "clearance",
        "crcl",
        "ccr",
    ),
    3: (
        "e?gfr",
        "(?:estimated )?glomerular filtration rate",
    ),
    5: ("mean arterial (?:blood )?pressure",),
    7: (
        "(?:albumin[- ])?(?:corrected|adjusted) (?:serum |total )?calcium",
        "calcium correction",
    ),
    8: ("well['’]s",),
    9: (
        "e?gfr",
        "(?:estimated )?glomerular filtration rate",
    ),
    13: (
        "(?:(?:estimated|expected) )?(?:due date|date of (?:delivery|confinement|birth)|delivery "
        "date)",
        "edc",
    ),
    15: ("child[- ](?:turcotte[- ])?pugh",),
    16: ("well['’]s",),
    17: ("(?:revised )?cardiac risk index",),
    20: ("(?:modified )?centor",),
    21: ("glasgow coma (?:scale|score)",),
    22: (
        "(?:maintenance|iv|hourly) fluids?(?: (?:rate|requirement|need)s?)?",
        "fluid (?:rate|maintenance)",
    ),
    23: ("melda? ?-?na",),
    24: (
        "(?:equivalent|converted) (?:steroid |oral |daily )?(?:dose|dosage|amount)",
        "(?:dose|dosage) equivalent",
    ),
    26: (
        "corrected (?:serum |concentration of )?sodium",
        "sodium correction",
    ),
    27: ("glasgow bleeding",),
    28: ("apache (?:2|ii)",),
    29: ("pneumonia severity index",),
    30: ("(?:serum|plasma)? ?osmolal?ar?ity",),
    32: ("charlson(?: comorbidity)?",),
    38: ("(?:free )?water deficit",),
    40: ("fe ?na",),
    44: ("ldl(?:-c)?(?: chol\\w+)?",),
    46: (
        "(?:10|ten)-year (?:chd |cardiac )?risk",
        "(?:risk|probability) of (?:a )?(?:heart attack|mi)",
        "risk of (?:hard )?(?:chd|coronary heart disease)",
        "risk(?: score)?",
        r"(?:percentage|chance|probability|likelihood|risk) of [\w ]{0,40}(?:mi|dying|attack|disease|event)s?",
    ),
    49: (
        "morphine (?:milligram |equivalent )?equivalents?(?: dos(?:e|age))?",
        "(?:daily )?mmes?(?:/day| (?:per|a) day)?",
    ),
    51: ("sirs",),
    60: ("body surface area",),
    61: ("(?:target|goal|desired) (?:body )?weight",),
    65: ("(?:albumin[- ])?(?:corrected|adjusted) anion gap",),
    66: ("(?:albumin[- ])?(?:corrected|adjusted) delta gap",),
    67: ("(?:albumin[- ])?(?:corrected|adjusted) delta ratio",),
    68: ("(?:estimated )?(?:date of conception|conception date|conception)",),
    69: ("(?:estimated )?gestational age", "pregnancy"),
}
_QT: Final = ("qtc[bf]?", "(?:rate-)?corrected qt(?: interval)?")
_SHORTEST: Final = 2
"""Characters that are too few for a name."""
_TAIL: Final = re.compile(
    rf"(?i)\s(?:(?:for|in) .*|(?:{KINDS})s?|calculated|estimat\w+|\(?\d{{4}}\)?|by .*)$"
)
_OTHER: Final = ("corrected ", "adjusted ", "measured ")
"""What, after a name, makes it another quantity."""


@cache
def subject_of(calculator_id: int, kind: AnswerKind) -> Subject:
    """What replies about a calculator are searched for; an unknown calculator has no names."""
    calculator = next(
        (entry for entry in CALCULATORS if entry.id == calculator_id), None
    )
    names = None if calculator is None else _names(calculator)
    if kind == "date":
        return Subject(scan=dates, names=names)
    if kind == "gestational_age":
        return Subject(scan=ages, names=names)
    if kind == "days":
        return Subject(scan=_ages_in_days, names=names)

    points = calculator_id in SCORE_IDS or kind == "integer"
    return Subject(
        scan=scores if points else measurements,
        numeric=True,
        points=points,
        unit=unit_of(calculator.unit) if calculator and calculator.unit else NO_UNIT,
        unit_text=calculator.unit if calculator else "",
        names=names,
    )


def _ages_in_days(text: str) -> list[Quantity]:
    """The ages that a reply to a question for days gives; a bare number is one of days.

    Example:
        "99", "99 days" and "14 weeks 1 day" are 99.
    """
    return ages(text) or [number for number in measurements(text) if not number.unit]


def _names(calculator: AnyCalculator) -> Names:
    """All names of a calculator, the longest first."""
    names = {calculator.name, *calculator.aliases}
    outside, _, inside = calculator.name.partition("(")
    names |= {outside, *re.split(r"[/)]", inside)[:1]}
    names |= {_shortened(name) for name in tuple(names)}
    long_names = {name for name in names if len(name.strip()) > _SHORTEST}
    capitals = {name for name in long_names if name.isupper() and name.isalpha()}
    words = {_loose(name) for name in long_names - capitals}
    words |= set(_QT if "QTc" in calculator.name else _PHRASES.get(calculator.id, ()))

    return Names(
        Pattern(
            rf"(?:{_alternatives(words)}"
            rf"|(?P<capitals>{_alternatives(map(str.lower, capitals))}))(?![a-z0-9])"
        ),
        () if "orrected" in calculator.name else _OTHER,
    )


def _alternatives(words: Iterable[str]) -> str:
    """A pattern of any of some words, the longest first; of none it matches nowhere."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word))) or "(?!)"


def _shortened(name: str) -> str:
    """What is left of "Caprini Score for Venous Thromboembolism": "Caprini"."""
    short = name.strip()
    while (match := _TAIL.search(short)) is not None:
        short = short[: match.start()]
    return short


def _loose(name: str) -> str:
    """A pattern of a name in small letters, in any spelling of its blanks and hyphens."""
    parts = re.split(r"[\s-]+", name.strip().lower())
    return r"[\s-]?".join(re.escape(word).replace("'", "['’]?") for word in parts)
