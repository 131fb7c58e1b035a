"""Attributes of calculators found in notes, by a model or by words alone, and how well.

Paper, section 2.2, appendix A.1. A model is asked three times: which attributes that
calculators share a note gives; whether its patient is one whom a calculator is meant
for; and for the rest of that calculator's attributes. Prompts and criteria are ours.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Final, Literal, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.gold import entities_of
from medical_tasks.calculators import (
    CALCULATORS,
    AnyCalculator,
    CalculatorInputError,
    find,
)
from medical_tasks.calculators.inputs import (
    REQUIRED,
    Choice,
    Day,
    Flag,
    Input,
    Quantity,
    is_missing,
)
from medical_tasks.calculators.steps import quiet
from medical_tasks.io.files import packaged
from medical_tasks.judges.base import Question
from medical_tasks.judges.reading import (
    Checker,
    boolean,
    free_text,
    quoted,
    read_object,
    schema_of,
)
from medical_tasks.runs.asking import ConstructionModel
from medical_tasks.runs.results import JsonDict
from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.means import ratio_interval
from medical_tasks.scoring.numbers.quantities import dates, plain
from medical_tasks.spec import Row

Kind = Literal["numeric", "categorical", "date"]
Entities = dict[str, object]

CRITERIA: Final[Mapping[str, Mapping[str, str]]] = packaged(
    __file__, "eligibility.json"
)
"""Calculator's slug to whom it is meant for, `for`, and who says so, `source`."""
_TEXTS: Final = packaged(__file__, "construction.json")
_TEMPLATE: Final = hashlib.sha256(
    json.dumps([_TEXTS, CRITERIA], sort_keys=True).encode()
).hexdigest()
_CUES: Final[Mapping[str, Sequence[str]]] = _TEXTS["cues"]
# they stand in nearly every note, and so select none
_EVERYBODYS: Final = "age_years", "sex"
_BLOCK: Final = 1_000
# Commas stand between thousands; what may be a decimal one is no number.
_MEASURED: Final = re.compile(
    r"([+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?+)(?![.,]?\d)\s*(.*)", re.DOTALL
)


def kind_of(item: Input) -> Kind:
    """The type of an attribute."""
    if isinstance(item, Day):
        return "date"
    return (
        "categorical"
        if isinstance(item, Flag | Choice) or item.absent is False
        else "numeric"
    )


def usable(item: Input, value: object) -> tuple[object, str]:
    """Makes an entity of a value in a reply, or says why it cannot be one.

    Example, for creatinine: `"1.2 mg/dL"` gives `[1.2, "mg/dL"]`; 1.2 alone gives
    nothing, since its unit would be a guess.
    """
    if value is None or (isinstance(value, str) and is_missing(value)):
        return None, ""

    raw = value
    if (
        isinstance(value, str)
        and kind_of(item) == "numeric"
        and (measured := _MEASURED.fullmatch(value.strip()))
    ):
        number, unit = float(measured[1].replace(",", "")), measured[2].strip()
        raw = [number, unit] if unit else number

    if isinstance(item, Quantity) and item.measure.unit and type(raw) in (int, float):
        return None, "a number without its unit"

    for form in (raw, value):  # "5 ft 4 in" is read as a text
        try:
            item.read(form, quiet)
        except CalculatorInputError:
            continue

        return form, ""

    return None, _TEXTS["unusable"][kind_of(item)]


def read_values(
    items: Sequence[Input], values: Mapping[str, object]
) -> tuple[Entities, str]:
    """Makes entities of what a reply gives, and says the first thing that is wrong with it."""
    found = {item.name: usable(item, values.get(item.name)) for item in items}
    problem = next((why for _, why in found.values() if why), "")
    return {
        name: value for name, (value, _) in found.items() if value is not None
    }, problem


def lacking(calculator: AnyCalculator, entities: Mapping[str, object]) -> str:
    """Why a note is not kept for a calculator, "" where it is.

    All numbers, half of all attributes (paper, A.1), and an answer.
    """
    needed = [
        item
        for item in calculator.inputs
        if item.absent is REQUIRED and kind_of(item) != "categorical"
    ]
    asked = [item for item in calculator.inputs if not item.silent]
    if any(item.name not in entities for item in needed):
        return "a number or a date is missing"
    if 2 * sum(item.name in entities for item in asked) < len(asked) or not entities:
        return "fewer than half of the attributes"

    try:
        result = calculator.calculate(entities)
    except CalculatorInputError:
        return "the calculator has no answer"

    return "a unit that cannot be meant" if result.unit_doubts else ""


def _form(item: Input) -> Checker:
    if isinstance(item, Flag):
        truth = {"type": ["boolean", "null"]}
        return Checker(
            lambda value: value in (None, True, False),
            "must be true, false or null",
            truth,
        )

    # Where a text may have any length, a small model goes on until its reply is cut.
    form = (
        {"enum": [*item.labels.values(), None]}
        if isinstance(item, Choice)
        else {"maxLength": 80}
    )
    schema = {"type": ["string", "null"], **form}
    return Checker(
        lambda value: isinstance(value, str | int | float | None),
        "must be a text or null",
        schema,
    )


def _question(
    name: str, note: str, texts: Sequence[str], form: str, keys: Mapping[str, Checker]
) -> Question:
    """Makes a question about one note, whose reply is an object with these keys."""
    parts = (
        _TEXTS["setting"],
        _TEXTS["note"].format(note=quoted(note)),
        *texts,
        _TEXTS["reply"].format(form=form),
    )
    return Question(
        id=name,
        messages=({"role": "user", "content": "\n\n".join(parts)},),
        template=_TEMPLATE,
        read=partial(read_object, keys=keys),
        again=_TEXTS["again"],
        max_tokens=2_000,
        schema=schema_of(keys),
    )


def values_question(
    name: str,
    note: str,
    items: Sequence[Input],
    calculator: AnyCalculator | None = None,
) -> Question:
    """Asks for attributes, of one calculator or of any.

    The form shows no values, which a small model would copy.
    """
    keys = {item.name: _form(item) for item in items}
    lines = (
        f"- {item.name}: {'true or false' if isinstance(item, Flag) else item.expects}"
        for item in items
    )
    task = (
        _TEXTS["extract"].format(name=calculator.name)
        if calculator
        else _TEXTS["attributes"]
    )
    texts = (task, _TEXTS["rules"], _TEXTS["table"].format(table="\n".join(lines)))

    return _question(
        name,
        note,
        texts,
        "{" + ", ".join(f"{json.dumps(key)}: ..." for key in keys) + "}",
        keys,
    )


def _eligible(name: str, note: str, calculator: AnyCalculator) -> Question:
    text = _TEXTS["eligibility"].format(
        name=calculator.name, criteria=CRITERIA[calculator.slug]["for"]
    )
    return _question(
        name,
        note,
        (text,),
        _TEXTS["eligible_form"],
        {"reason": free_text, "eligible": boolean},
    )


def shared_attributes(calculators: Sequence[AnyCalculator]) -> dict[str, Input]:
    """What the first pass asks for, by name.

    What two of the 55 share or more, and all of a calculator that shares nothing.
    """
    forms = Counter(
        (item.name, item.expects) for each in CALCULATORS for item in each.inputs
    )
    found: dict[str, Input] = {}
    for calculator in calculators:
        common = [
            item for item in calculator.inputs if forms[item.name, item.expects] > 1
        ]
        for item in (
            common
            if any(item.parameter not in _EVERYBODYS for item in common)
            else calculator.inputs
        ):
            found.setdefault(item.name, item)

    return found


Pair: TypeAlias = tuple[AnyCalculator, str, Entities]
"""A calculator, the name of a note, and what the note says of the calculator's inputs."""


@dataclass(frozen=True, kw_only=True)
class Extracted:
    """What came of notes.

    The pairs of calculator and note that are kept, and how the others ended.

    Attributes:
        passes: Questions of each pass.
    """

    kept: list[Pair] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)


def extract(
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    model: ConstructionModel,
) -> Extracted:
    """Asks about all notes, in three passes.

    So many notes are asked about at a time that their questions fit into memory.

    Args:
        notes: Name to text.
        calculators: For which pairs are made.
        model: Who is asked.

    Returns:
        The pairs that are kept, and how the others ended.
    """
    made, names = Extracted(), list(notes)
    for start in range(0, len(names), _BLOCK):
        _passes(
            made,
            {name: notes[name] for name in names[start : start + _BLOCK]},
            calculators,
            model,
        )

    made.dropped["no usable reply"] += len(model.failed)
    return made


def _passes(
    made: Extracted,
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    model: ConstructionModel,
) -> None:
    """Does the three passes for some notes.

    Which attributes a note has, whether each calculator is meant for its patient, and
    what values are left.
    """
    pairs = _with_attributes(made, notes, calculators, model)
    pairs = _eligible_pairs(made, notes, pairs, model)
    _complete(made, notes, pairs, model)


def _ask(
    made: Extracted, model: ConstructionModel, label: str, questions: Sequence[Question]
) -> JsonDict:
    made.passes[label] += len(questions)
    return model.ask(questions)


def _with_attributes(
    made: Extracted,
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    model: ConstructionModel,
) -> dict[str, Pair]:
    """The pairs for which the note has a telling attribute, by the key of their questions.

    Age and sex are not telling: nearly every note has them, and every calculator would
    be asked for.
    """
    shared = shared_attributes(calculators)
    questions = [
        values_question(f"attributes of {name}", note, [*shared.values()])
        for name, note in notes.items()
    ]
    pairs: dict[str, Pair] = {}
    for question, reply in _ask(made, model, "attributes", questions).items():
        name = question.removeprefix("attributes of ")
        for calculator in calculators:
            own = [
                item
                for item in calculator.inputs
                if item.name in shared and shared[item.name].expects == item.expects
            ]
            entities, _ = read_values(own, reply)
            if any(
                item.name in entities and item.parameter not in _EVERYBODYS
                for item in own
            ):
                pairs[f"{calculator.slug} for {name}"] = (calculator, name, entities)
            else:
                made.dropped["no attribute in the note"] += 1

    return pairs


def _eligible_pairs(
    made: Extracted,
    notes: Mapping[str, str],
    pairs: Mapping[str, Pair],
    model: ConstructionModel,
) -> dict[str, Pair]:
    """The pairs whose calculator is meant for the patient."""
    questions = [
        _eligible(f"who, {key}", notes[name], calculator)
        for key, (calculator, name, _) in pairs.items()
    ]
    replies = _ask(made, model, "eligibility", questions)
    made.dropped["not eligible"] += sum(
        not reply["eligible"] for reply in replies.values()
    )

    return {
        key: pair
        for key, pair in pairs.items()
        if replies.get(f"who, {key}", {}).get("eligible")
    }


def _complete(
    made: Extracted,
    notes: Mapping[str, str],
    pairs: Mapping[str, Pair],
    model: ConstructionModel,
) -> None:
    """Asks for the values that a calculator still needs, and keeps the pairs that then have all.

    What the first pass found is not asked for again.
    """
    open_items = {
        key: [item for item in calculator.inputs if item.name not in entities]
        for key, (calculator, _, entities) in pairs.items()
    }
    questions = [
        values_question(key, notes[pairs[key][1]], items, pairs[key][0])
        for key, items in open_items.items()
        if items
    ]
    replies = _ask(made, model, "values", questions)
    for key, (calculator, name, entities) in pairs.items():
        if key in model.failed:
            continue

        more, problem = read_values(open_items[key], replies.get(key, {}))
        problem = problem or lacking(calculator, entities | more)
        if problem:
            made.dropped[problem] += 1
        else:
            made.kept.append((calculator, name, entities | more))


# The floor: an extractor without a model.

_AFTER: Final = (
    r"[^.;\d]{0,30}?(\d+(?:,\d+)*(?:\.\d+)?\s*(?:[^\s,;()]{1,20}(?: [^\s,;()]{1,8})?)?)"
)
_DENIED: Final = re.compile(
    r"\b(?:no|not|denie[sd]|without|negative for|never|absence of)\b[^.;]{0,40}$",
    re.IGNORECASE,
)
_compiled: Final = lru_cache(maxsize=2048)(
    lambda pattern: re.compile(pattern, re.IGNORECASE)
)


def lexical(note: str, calculator: AnyCalculator) -> Entities:
    """Finds a calculator's attributes by their names and a few usual words.

    The value is the number and unit that stand behind the name. It is a floor for
    models, and no reader: "no fever" is a denial, and "mother had a stroke" is taken
    for the patient's.
    """
    text = plain(note)
    found = {item.name: _spotted(text, item) for item in calculator.inputs}
    return {name: value for name, value in found.items() if value is not None}


def extract_by_words(
    notes: Mapping[str, str], calculators: Sequence[AnyCalculator]
) -> Extracted:
    """Pairs without a model, by words alone; who is eligible is left to the reviewers."""
    made = Extracted()
    for name, note in notes.items():
        for calculator in calculators:
            entities = lexical(note, calculator)
            telling = any(
                each.name in entities and each.parameter not in _EVERYBODYS
                for each in calculator.inputs
            )
            problem = (
                lacking(calculator, entities) if telling else "no attribute in the note"
            )
            if problem:
                made.dropped[problem] += 1
            else:
                made.kept.append((calculator, name, entities))

    return made


def _spotted(text: str, item: Input) -> object:
    """An attribute that a note states, by words alone; None if none was recognised.

    A cue of the parameter goes before its names, since it reads how notes abbreviate
    it.
    """
    names = [
        rf"\b{re.escape(name)}"
        for name in dict.fromkeys((item.name, *item.aliases))
        if len(name) > 1
    ]
    if isinstance(item, Choice):
        return _spotted_choice(text, item, names)
    if kind_of(item) != "numeric":
        return _spotted_finding_or_day(text, item, names)

    cued = (_compiled(cue).search(text) for cue in _CUES.get(item.parameter, ()))
    own = (_first_usable(item, found[1], own_unit=True) for found in cued if found)
    named = (
        _first_usable(item, found[1])
        for name in names
        for found in _compiled(name + _AFTER).finditer(text)
    )

    return next((value for value in (*own, *named) if value is not None), None)


def _spotted_choice(text: str, item: Choice, names: Sequence[str]) -> str | None:
    """The first of a choice's words that stands behind its name, or in a usual form of words."""
    places: dict[int, str] = {}
    for word in item.labels.values():
        near = [rf"{name}\b[^.;]{{0,60}}\b{re.escape(word)}\b" for name in names]
        cues = (
            _compiled(cue).search(text)
            for cue in (*_CUES.get(f"{item.parameter}:{word}", ()), *near)
        )
        places |= {match.start(): word for match in cues if match}
    return places[min(places)] if places else None


def _spotted_finding_or_day(text: str, item: Input, names: Sequence[str]) -> object:
    """Whether a finding is there or denied, or the day behind the name.

    None where the name is not in the text.
    """
    matches = (_compiled(rf"{name}\b").search(text) for name in names)
    match = next(filter(None, matches), None)
    if match is None:
        return None
    if isinstance(item, Flag):
        return _DENIED.search(text, max(0, match.start() - 60), match.start()) is None

    behind = text[match.end() : match.end() + 60]
    days = [date.value for date in dates(behind) if date.value is not None]
    return f"{days[0]:%m/%d/%Y}" if days and isinstance(item, Day) else None


def _first_usable(item: Input, text: str, *, own_unit: bool = False) -> object:
    """The value in the longest beginning of a text that can be used, with its words.

    The attribute's own unit where asked.
    """
    words = text.strip().split()
    forms = [" ".join(words[:count]).rstrip(".:") for count in range(len(words), 0, -1)]
    if (
        own_unit
        and isinstance(item, Quantity)
        and (number := _MEASURED.match(forms[-1]))
    ):
        forms.append(f"{number[1]} {item.measure.unit}")

    return next(
        (value for form in forms if (value := usable(item, form)[0]) is not None), None
    )


# How well, on notes whose entities are known.

TOLERANCE: Final = 0.01
"""Relative difference of two values that rounding between units can make."""
_FIGURES: Final = {
    "attribute precision": ("both", "given"),
    "attribute recall": ("both", "gold"),
    "value precision": ("right", "given"),
    "value recall": ("right", "gold"),
}


def compared(
    calculator: AnyCalculator, gold: Mapping[str, object], given: Mapping[str, object]
) -> Counter[tuple[Kind, str]]:
    """Counts attributes by type.

    `gold` and `given` ones, `both`, and `right` ones, which have the same value.
    """
    counts: Counter[tuple[Kind, str]] = Counter()
    wanted, found = _values(calculator, gold), _values(calculator, given)
    for item in calculator.inputs:
        kind, there = kind_of(item), (item.name in wanted, item.name in found)
        counts.update(
            {
                (kind, "gold"): there[0],
                (kind, "given"): there[1],
                (kind, "both"): all(there),
            }
        )
        counts[kind, "right"] += all(there) and _same(
            wanted[item.name], found[item.name]
        )

    return counts


def _values(
    calculator: AnyCalculator, entities: Mapping[str, object]
) -> dict[str, object]:
    """The attributes that are given, read; None for what cannot be."""
    found: dict[str, object] = {}
    for key, raw in entities.items():
        item = calculator.input_named(key)
        if item is not None and not is_missing(raw):
            try:
                found.setdefault(item.name, item.read(raw, quiet))
            except CalculatorInputError:
                found.setdefault(item.name, None)
    return found


def _same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= TOLERANCE * abs(a)
    return a is not None and bool(a == b)


def figures(
    rows: Sequence[Row], given: Sequence[Mapping[str, object]]
) -> dict[str, dict[str, Estimate]]:
    """Precision and recall by type of attribute, pooled over the rows.

    Args:
        rows: Rows of the dataset, whose entities are the truth.
        given: The entities that were found in the note of each row.

    Returns:
        `all`, then each type, to figures with intervals in which notes are drawn whole:
        a note has several rows, and what is misread in one of them is misread in all.
    """
    pairs = zip(rows, given, strict=True)
    counts = [
        compared(find(int(row["calculator_id"])), entities_of(row), each)
        for row, each in pairs
    ]
    clusters = [
        name if not (name := str(row["note_id"])).isdigit() else row["patient_note"]
        for row in rows
    ]
    kinds: tuple[Kind, ...] = ("numeric", "categorical", "date")

    def column(name: str, label: str) -> list[int]:
        return [
            sum(each[kind, name] for kind in kinds if label in ("all", kind))
            for each in counts
        ]

    return {
        label: {
            name: ratio_interval(
                column(above, label), column(below, label), clusters=clusters
            )
            for name, (above, below) in _FIGURES.items()
        }
        for label in ("all", *kinds)
    }
