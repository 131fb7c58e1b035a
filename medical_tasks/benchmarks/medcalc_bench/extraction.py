"""Attributes of calculators found in notes, by a model or by words alone, and how well (paper, section 2.2, appendix A.1).

The model is asked which attributes that calculators share a note gives, whether its patient is one whom a calculator is meant for,
and for the rest of that calculator's attributes. Prompts and criteria are ours.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal

from medical_tasks.benchmarks.medcalc_bench.gold import entities_of
from medical_tasks.benchmarks.medcalc_bench.quantities import dates, plain
from medical_tasks.calculators import CALCULATORS, AnyCalculator, CalculatorInputError, find
from medical_tasks.calculators.inputs import REQUIRED, Choice, Day, Flag, Input, Quantity, is_missing
from medical_tasks.calculators.steps import quiet
from medical_tasks.io.files import packaged
from medical_tasks.judges.base import Judge, Question, Unreadable, Unscored
from medical_tasks.judges.reading import Checker, boolean, free_text, quoted, read_json, read_object, schema_of
from medical_tasks.scoring.bootstrap import bootstrap_ratio
from medical_tasks.scoring.estimates import Estimate

Kind = Literal["numeric", "categorical", "date"]
KINDS: Final[tuple[Kind, ...]] = ("numeric", "categorical", "date")

MAX_TOKENS: Final = 1_500
CRITERIA: Final[Mapping[str, Mapping[str, str]]] = packaged(__file__, "eligibility.json")
"""Calculator's slug to whom it is meant for, `for`, and who says so, `source`."""
_TEXTS: Final[Mapping[str, Any]] = packaged(__file__, "construction.json")
_TEMPLATE: Final = hashlib.sha256(json.dumps([_TEXTS, CRITERIA], sort_keys=True).encode()).hexdigest()
_EVERYBODYS: Final = ("age_years", "sex")  # they stand in nearly every note, and so select none
_UNUSABLE: Final[Mapping[Kind, str]] = {
    "numeric": "a unit that is not accepted, or a value outside the possible range",
    "categorical": "a class that is not among those allowed",
    "date": "a date that is none",
}
NO_UNIT: Final = "a number without its unit"
_MEASURED: Final = re.compile(r"([+-]?\d[\d,]*(?:\.\d+)?)\s*(.*)", re.DOTALL)

Entities = dict[str, object]


def kind_of(item: Input) -> Kind:
    """The type of an attribute."""
    if isinstance(item, Day):
        return "date"
    return "categorical" if isinstance(item, Flag | Choice) or item.absent is False else "numeric"


def classes_of(item: Choice) -> list[str]:
    """The classes of an attribute, one word each."""
    return list({value: word for word, value in reversed(item.words.items())}.values())[::-1]


def usable(item: Input, value: object) -> tuple[object, str]:
    """A value as the dataset holds it, None for one that is not there; and why it cannot be used, "" where it can."""
    if value is None or (isinstance(value, str) and is_missing(value)):
        return None, ""
    raw = value
    if isinstance(value, str) and kind_of(item) == "numeric" and (measured := _MEASURED.fullmatch(value.strip())):
        number, unit = float(measured[1].replace(",", "")), measured[2].strip()
        raw = [number, unit] if unit else number
    if isinstance(item, Quantity) and item.measure.unit and type(raw) in (int, float):
        return None, NO_UNIT
    for form in (raw, value):  # "5 ft 4 in" is read as a text
        try:
            item.read(form, quiet)
        except CalculatorInputError:
            continue
        return form, ""
    return None, _UNUSABLE[kind_of(item)]


def lacking(calculator: AnyCalculator, entities: Mapping[str, object]) -> str:
    """Why a note is not kept for a calculator, "" where it is: all numbers, half of all attributes (paper, A.1), and an answer."""
    asked = [item for item in calculator.inputs if not item.silent]
    given = [item for item in asked if item.name in entities]
    if any(
        kind_of(item) != "categorical" and item.absent is REQUIRED and item.name not in entities
        for item in calculator.inputs
    ):
        return "a number or a date is missing"
    if 2 * len(given) < len(asked) or not entities:
        return "fewer than half of the attributes"
    try:
        result = calculator.calculate(entities)
    except CalculatorInputError:
        return "the calculator has no answer"
    return "a unit that cannot be meant" if result.unit_doubts else ""


def _form(item: Input) -> Checker:
    if isinstance(item, Flag):
        holds: Callable[[Any], bool] = lambda value: value is None or isinstance(value, bool)  # noqa: E731
        return Checker(holds, "must be true, false or null", {"type": ["boolean", "null"]})
    schema: dict[str, Any] = {"type": ["string", "null"]}
    if isinstance(item, Choice):
        schema["enum"] = [*classes_of(item), None]
    return Checker(
        lambda value: value is None or isinstance(value, str | int | float), "must be a text or null", schema
    )


def _table(items: Sequence[Input]) -> str:
    lines = []
    for item in items:
        said = "true or false" if isinstance(item, Flag) else item.expects
        lines.append(f"- {item.name}: {'one of ' + ', '.join(classes_of(item)) if isinstance(item, Choice) else said}")
    return "\n".join(lines)


def _question(name: str, note: str, texts: Sequence[str], read: Callable[[str], Any], schema: Any) -> Question:
    parts = (_TEXTS["setting"], *texts, _TEXTS["note"].format(note=quoted(note)))
    return Question(
        id=name,
        messages=({"role": "user", "content": "\n\n".join(parts)},),
        template=_TEMPLATE,
        read=read,
        again=_TEXTS["again"],
        max_tokens=MAX_TOKENS,
        schema=schema,
    )


def values_question(name: str, note: str, items: Sequence[Input], calculator: AnyCalculator | None = None) -> Question:
    """Asks for attributes, of one calculator or of any; the verdict's value is JSON, name to what the reply gives."""
    forms = {item.name: _form(item) for item in items}

    def read(text: str) -> str | Unreadable:
        value = read_json(text)
        if not isinstance(value, dict):
            return value if isinstance(value, Unreadable) else Unreadable("one JSON object is asked for")
        if unknown := value.keys() - forms.keys():
            return Unreadable(f"{len(unknown)} of its keys are no attributes of the list")
        broken = (f"{key} {problem}" for key in value if (problem := forms[key](value[key])))
        problem = next(broken, None)
        return Unreadable(problem) if problem else json.dumps(value)

    task = _TEXTS["attributes"] if calculator is None else _TEXTS["extract"].format(name=calculator.name)
    texts = (task, _TEXTS["rules"], _TEXTS["table"].format(table=_table(items)))
    return _question(name, note, texts, read, schema_of(forms))


def _eligible(name: str, note: str, calculator: AnyCalculator) -> Question:
    forms = {"reason": free_text, "eligible": boolean}

    def read(text: str) -> bool | Unreadable:
        found = read_object(text, forms)
        return found if isinstance(found, Unreadable) else bool(found["eligible"])

    text = _TEXTS["eligibility"].format(name=calculator.name, criteria=CRITERIA[calculator.slug]["for"])
    return _question(name, note, (text,), read, schema_of(forms))


def shared_attributes(calculators: Sequence[AnyCalculator]) -> list[Input]:
    """What the first pass asks for: what at least two of the 55 share, and all of a calculator that shares nothing."""
    forms = Counter((item.name, item.expects) for each in CALCULATORS for item in each.inputs)
    found: dict[str, Input] = {}
    for calculator in calculators:
        common = [item for item in calculator.inputs if forms[item.name, item.expects] > 1]
        selects = any(item.parameter not in _EVERYBODYS for item in common)
        for item in common if selects else calculator.inputs:
            found.setdefault(item.name, item)
    return list(found.values())


@dataclass(frozen=True, kw_only=True)
class Extracted:
    """What came of notes: the pairs of calculator and note that are kept, and how the others ended."""

    kept: list[tuple[AnyCalculator, str, Entities]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    passes: dict[str, int] = field(default_factory=dict)  # questions of each pass
    failed: dict[str, str] = field(default_factory=dict)  # question to the reason why it has no usable reply


def extract(notes: Mapping[str, str], calculators: Sequence[AnyCalculator], judge: Judge) -> Extracted:
    """Asks about all notes, in the three passes of the paper."""
    made = Extracted()

    def ask(label: str, questions: Sequence[Question]) -> dict[str, Any]:
        made.passes[label] = len(questions)
        outcomes = judge.ask(questions)
        made.failed.update({each.id: each.reason for each in outcomes if isinstance(each, Unscored)})
        return {each.id: each.value for each in outcomes if not isinstance(each, Unscored)}

    shared = {item.name: item for item in shared_attributes(calculators)}
    said = ask(
        "attributes", [values_question(f"attributes of {name}", notes[name], [*shared.values()]) for name in notes]
    )
    pairs: dict[str, tuple[AnyCalculator, str, Entities]] = {}
    for name in notes:
        values = json.loads(said.get(f"attributes of {name}", "{}"))
        for calculator in calculators:
            own = [
                item
                for item in calculator.inputs
                if (item.name in shared and item.expects == shared[item.name].expects)
            ]
            entities = {
                item.name: value for item in own if (value := usable(item, values.get(item.name))[0]) is not None
            }
            if any(item.name in entities and item.parameter not in _EVERYBODYS for item in own):
                pairs[f"{calculator.slug} for {name}"] = (calculator, name, entities)
            else:
                made.dropped["no attribute in the note"] += 1
    fits = ask(
        "eligibility", [_eligible(f"{key}: eligible", notes[name], each) for key, (each, name, _) in pairs.items()]
    )
    made.dropped["not eligible"] += sum(value is False for value in fits.values())
    pairs = {key: pair for key, pair in pairs.items() if fits.get(f"{key}: eligible")}
    open_ones = {
        key: [item for item in each.inputs if item.name not in entities] for key, (each, _, entities) in pairs.items()
    }
    rest = ask(
        "values",
        [values_question(key, notes[pairs[key][1]], items, pairs[key][0]) for key, items in open_ones.items() if items],
    )
    for key, (calculator, name, entities) in pairs.items():
        if key in made.failed:
            continue
        values = json.loads(rest.get(key, "{}"))
        problem = ""
        for item in open_ones[key]:
            value, why = usable(item, values.get(item.name))
            problem = problem or why
            entities |= {} if value is None else {item.name: value}
        if problem := problem or lacking(calculator, entities):
            made.dropped[problem] += 1
        else:
            made.kept.append((calculator, name, entities))
    made.dropped["no usable reply"] += len(made.failed)
    return made


# The floor: an extractor without a model.

_CUES: Final[Mapping[str, Sequence[str]]] = _TEXTS["cues"]
_AFTER: Final = r"[^.;\d]{0,30}?(\d[\d,]*(?:\.\d+)?\s*(?:[^\s,;()]{1,20}(?: [^\s,;()]{1,8})?)?)"
_DENIED: Final = re.compile(
    r"\b(?:no|not|denie[sd]|without|negative for|never|absence of)\b[^.;]{0,40}$", re.IGNORECASE
)


@lru_cache(maxsize=2048)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def lexical(note: str, calculator: AnyCalculator) -> Entities:
    """Finds a calculator's attributes by their names and a few usual words, with the number and unit that stand behind them."""
    text = plain(note)
    found = {item.name: _spotted(text, item) for item in calculator.inputs}
    return {name: value for name, value in found.items() if value is not None}


def _spotted(text: str, item: Input) -> object:
    for cue in _CUES.get(item.parameter, ()):
        if (match := _compiled(cue).search(text)) and (
            value := _first_usable(item, match[1], own_unit=True)
        ) is not None:
            return value
    if isinstance(item, Choice):
        spoken = {
            word: match.start()
            for word in classes_of(item)
            for cue in (
                *_CUES.get(f"{item.parameter}:{word.casefold()}", ()),
                *_named(item, rf"\b[^.;]{{0,60}}\b{re.escape(word)}\b"),
            )
            if (match := _compiled(cue).search(text))
        }
        return min(spoken, key=lambda word: spoken[word]) if spoken else None
    for pattern in _named(item, r"\b" if isinstance(item, Flag | Day) else _AFTER):
        for match in _compiled(pattern).finditer(text):
            if isinstance(item, Flag):
                return _DENIED.search(text, max(0, match.start() - 60), match.start()) is None
            if isinstance(item, Day):
                days = [each.value for each in dates(text[match.end() : match.end() + 60]) if each.value is not None]
                return f"{days[0]:%m/%d/%Y}" if days else None
            if (value := _first_usable(item, match[1])) is not None:
                return value
    return None


def _named(item: Input, behind: str) -> list[str]:
    names = dict.fromkeys((item.name, *item.aliases))
    return [rf"\b{re.escape(name)}{behind}" for name in names if len(name) > 1]


def _first_usable(item: Input, text: str, *, own_unit: bool = False) -> object:
    """The value in the longest beginning of a text that can be used, with its words; the attribute's own unit where asked."""
    words = text.strip().split()
    forms = [" ".join(words[:count]).rstrip(".:") for count in range(len(words), 0, -1)]
    if own_unit and isinstance(item, Quantity) and (number := _MEASURED.match(forms[-1])):
        forms.append(f"{number[1]} {item.measure.unit}")
    return next((value for form in forms if (value := usable(item, form)[0]) is not None), None)


# How well, on notes whose entities are known.

Extractor = Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, object]]]
TOLERANCE: Final = 0.01
"""Relative difference of two values that rounding between units can make."""


def compared(
    calculator: AnyCalculator, gold: Mapping[str, object], given: Mapping[str, object]
) -> Counter[tuple[Kind, str]]:
    """Counts attributes by type: `gold` and `given` ones, `both`, and `right` ones, which have the same value."""
    counts: Counter[tuple[Kind, str]] = Counter()
    for item in calculator.inputs:
        kind, values = kind_of(item), []
        for name, entities in (("gold", gold), ("given", given)):
            raw = next((value for key, value in entities.items() if calculator.input_named(key) is item), None)
            if raw is None or (isinstance(raw, str) and is_missing(raw)):
                continue
            counts[kind, name] += 1
            try:
                values.append(item.read(raw, quiet))
            except CalculatorInputError:
                values.append(None)
        if len(values) == 2:
            counts[kind, "both"] += 1
            counts[kind, "right"] += _same(*values)
    return counts


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= TOLERANCE * abs(a)
    return a is not None and bool(a == b)


_FIGURES: Final = {
    "attribute precision": ("both", "given"),
    "attribute recall": ("both", "gold"),
    "value precision": ("right", "given"),
    "value recall": ("right", "gold"),
}


def figures(rows: Sequence[Mapping[str, Any]], given: Sequence[Mapping[str, object]]) -> dict[str, dict[str, Estimate]]:
    """Precision and recall by type, `all` first, pooled over the rows, with intervals in which notes are drawn whole."""
    counts = [
        compared(find(int(row["calculator_id"])), entities_of(row), entities)
        for row, entities in zip(rows, given, strict=True)
    ]
    clusters = [name if not (name := str(row["note_id"])).isdigit() else row["patient_note"] for row in rows]

    def column(name: str, kinds: Iterable[Kind]) -> list[int]:
        return [sum(each[kind, name] for kind in kinds) for each in counts]

    return {
        label: {
            name: bootstrap_ratio(column(above, kinds), column(below, kinds), clusters=clusters)
            for name, (above, below) in _FIGURES.items()
        }
        for label, kinds in {"all": KINDS, **{kind: (kind,) for kind in KINDS}}.items()
    }
