"""Extracts calculators' attributes from notes, by a model or by words alone.

Paper, section 2.2, appendix A.1. A model is asked three times: for the attributes that
calculators share, whether the patient is eligible for a calculator, and for the remaining
attributes of that calculator. Prompts and criteria are ours. Extraction is measured on
notes whose entities are known.
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
"""Calculator's slug to its eligible patients, `for`, and the `source` of the criteria."""
_TEXTS: Final = packaged(__file__, "construction.json")
_TEMPLATE: Final = hashlib.sha256(
    json.dumps([_TEXTS, CRITERIA], sort_keys=True).encode()
).hexdigest()
_CUES: Final[Mapping[str, Sequence[str]]] = _TEXTS["cues"]
# These are in nearly every note and select none.
_EVERYBODYS: Final = "age_years", "sex"
_BLOCK: Final = 1_000
# A comma separates thousands; a number with a comma that may be decimal does not match.
_MEASURED: Final = re.compile(
    r"([+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?+)(?![.,]?\d)\s*(.*)", re.DOTALL
)


def kind_of(item: Input) -> Kind:
    """Returns the type of an attribute."""
    if isinstance(item, Day):
        return "date"
    return (
        "categorical"
        if isinstance(item, Flag | Choice) or item.absent is False
        else "numeric"
    )


def usable(item: Input, value: object) -> tuple[object, str]:
    """Makes an entity of a value in a reply, or says why it is unusable.

    Example, for creatinine: `"1.2 mg/dL"` gives `[1.2, "mg/dL"]`; 1.2 alone is refused,
    since its unit would be a guess.
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

    for form in (raw, value):  # the second for texts such as "5 ft 4 in"
        try:
            item.read(form, quiet)
        except CalculatorInputError:
            continue

        return form, ""

    return None, _TEXTS["unusable"][kind_of(item)]


def read_values(
    items: Sequence[Input], values: Mapping[str, object]
) -> tuple[Entities, str]:
    """Makes entities of the values in a reply, and returns the first problem."""
    read = {item.name: usable(item, values.get(item.name)) for item in items}
    problem = next((why for _, why in read.values() if why), "")
    return {
        name: value for name, (value, _) in read.items() if value is not None
    }, problem


def lacking(calculator: AnyCalculator, entities: Mapping[str, object]) -> str:
    """Says why a pair is not kept; "" if it is.

    A pair needs all numbers and dates, half of all attributes (paper, A.1), and an answer.
    """
    needed = [
        item
        for item in calculator.inputs
        if item.absent is REQUIRED and kind_of(item) != "categorical"
    ]
    expected = [item for item in calculator.inputs if not item.silent]
    if any(item.name not in entities for item in needed):
        return "a number or a date is missing"
    if (
        2 * sum(item.name in entities for item in expected) < len(expected)
        or not entities
    ):
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

    # Without a limit on texts, a small model may continue until its reply is truncated.
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
    """Makes a question about a note whose reply is an object with these keys."""
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

    The form shows no values, since a small model would copy them.
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
    """Returns the attributes that the first pass asks for, by name.

    These are the attributes shared by at least two of the 55 calculators, and all
    attributes of a calculator that shares none.
    """
    forms = Counter(
        (item.name, item.expects)
        for calculator in CALCULATORS
        for item in calculator.inputs
    )
    attributes: dict[str, Input] = {}
    for calculator in calculators:
        common = [
            item for item in calculator.inputs if forms[item.name, item.expects] > 1
        ]
        for item in (
            common
            if any(item.parameter not in _EVERYBODYS for item in common)
            else calculator.inputs
        ):
            attributes.setdefault(item.name, item)

    return attributes


Pair: TypeAlias = tuple[AnyCalculator, str, Entities]
"""A calculator, the name of a note, and the entities of the calculator's inputs."""


@dataclass(frozen=True, kw_only=True)
class Extracted:
    """The extracted pairs.

    Attributes:
        kept: The pairs that are kept.
        dropped: Reason to the number of other pairs.
        passes: Pass to the number of questions.
    """

    kept: list[Pair] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)


def extract(
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    model: ConstructionModel,
) -> Extracted:
    """Asks a model about all notes, in three passes.

    Notes are processed in blocks whose questions fit into memory.

    Args:
        notes: Name to text.
        calculators: The calculators for which pairs are made.
        model: The model.
    """
    extracted, names = Extracted(), list(notes)
    for start in range(0, len(names), _BLOCK):
        _passes(
            extracted,
            {name: notes[name] for name in names[start : start + _BLOCK]},
            calculators,
            model,
        )

    extracted.dropped["no usable reply"] += len(model.failed)
    return extracted


def _passes(
    extracted: Extracted,
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    model: ConstructionModel,
) -> None:
    """Makes the three passes for some notes: attributes, eligibility, remaining values."""
    pairs = _with_attributes(extracted, notes, calculators, model)
    pairs = _eligible_pairs(extracted, notes, pairs, model)
    _complete(extracted, notes, pairs, model)


def _ask(
    extracted: Extracted,
    model: ConstructionModel,
    label: str,
    questions: Sequence[Question],
) -> JsonDict:
    extracted.passes[label] += len(questions)
    return model.ask(questions)


def _with_attributes(
    extracted: Extracted,
    notes: Mapping[str, str],
    calculators: Sequence[AnyCalculator],
    model: ConstructionModel,
) -> dict[str, Pair]:
    """Returns the pairs whose note has a selective attribute, by the key of their questions.

    Age and sex are not selective, since nearly every note has them.
    """
    shared = shared_attributes(calculators)
    questions = [
        values_question(f"attributes of {name}", note, [*shared.values()])
        for name, note in notes.items()
    ]
    pairs: dict[str, Pair] = {}
    for question, reply in _ask(extracted, model, "attributes", questions).items():
        name = question.removeprefix("attributes of ")
        for calculator in calculators:
            own_items = [
                item
                for item in calculator.inputs
                if item.name in shared and shared[item.name].expects == item.expects
            ]
            entities, _ = read_values(own_items, reply)
            if any(
                item.name in entities and item.parameter not in _EVERYBODYS
                for item in own_items
            ):
                pairs[f"{calculator.slug} for {name}"] = (calculator, name, entities)
            else:
                extracted.dropped["no attribute in the note"] += 1

    return pairs


def _eligible_pairs(
    extracted: Extracted,
    notes: Mapping[str, str],
    pairs: Mapping[str, Pair],
    model: ConstructionModel,
) -> dict[str, Pair]:
    """Returns the pairs whose patient is eligible for the calculator."""
    questions = [
        _eligible(f"who, {key}", notes[name], calculator)
        for key, (calculator, name, _) in pairs.items()
    ]
    replies = _ask(extracted, model, "eligibility", questions)
    extracted.dropped["not eligible"] += sum(
        not reply["eligible"] for reply in replies.values()
    )

    return {
        key: pair
        for key, pair in pairs.items()
        if replies.get(f"who, {key}", {}).get("eligible")
    }


def _complete(
    extracted: Extracted,
    notes: Mapping[str, str],
    pairs: Mapping[str, Pair],
    model: ConstructionModel,
) -> None:
    """Asks for the values that the first pass did not find, and keeps complete pairs."""
    open_items = {
        key: [item for item in calculator.inputs if item.name not in entities]
        for key, (calculator, _, entities) in pairs.items()
    }
    questions = [
        values_question(key, notes[pairs[key][1]], items, pairs[key][0])
        for key, items in open_items.items()
        if items
    ]
    replies = _ask(extracted, model, "values", questions)
    for key, (calculator, name, entities) in pairs.items():
        if key in model.failed:
            continue

        more, problem = read_values(open_items[key], replies.get(key, {}))
        problem = problem or lacking(calculator, entities | more)
        if problem:
            extracted.dropped[problem] += 1
        else:
            extracted.kept.append((calculator, name, entities | more))


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

    The value is the number and unit that follow the name. This baseline for models does
    not understand text: "no fever" counts as a denial, but "mother had a stroke" counts
    as the patient's stroke.
    """
    text = plain(note)
    values = {item.name: _spotted(text, item) for item in calculator.inputs}
    return {name: value for name, value in values.items() if value is not None}


def extract_by_words(
    notes: Mapping[str, str], calculators: Sequence[AnyCalculator]
) -> Extracted:
    """Extracts pairs by words alone; eligibility is left to the reviewers."""
    extracted = Extracted()
    for name, note in notes.items():
        for calculator in calculators:
            entities = lexical(note, calculator)
            telling = any(
                item.name in entities and item.parameter not in _EVERYBODYS
                for item in calculator.inputs
            )
            problem = (
                lacking(calculator, entities) if telling else "no attribute in the note"
            )
            if problem:
                extracted.dropped[problem] += 1
            else:
                extracted.kept.append((calculator, name, entities))

    return extracted


def _spotted(text: str, item: Input) -> object:
    """Returns an attribute's value in a note, by words alone; None if it is not recognised.

    The parameter's cues, which match abbreviations in notes, take precedence over names.
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
    own = (_first_usable(item, match[1], own_unit=True) for match in cued if match)
    named = (
        _first_usable(item, match[1])
        for name in names
        for match in _compiled(name + _AFTER).finditer(text)
    )

    return next((value for value in (*own, *named) if value is not None), None)


def _spotted_choice(text: str, item: Choice, names: Sequence[str]) -> str | None:
    """Returns the first of a choice's labels that follows its name or matches a cue."""
    words_by_start: dict[int, str] = {}
    for word in item.labels.values():
        near = [rf"{name}\b[^.;]{{0,60}}\b{re.escape(word)}\b" for name in names]
        cues = (
            _compiled(cue).search(text)
            for cue in (*_CUES.get(f"{item.parameter}:{word}", ()), *near)
        )
        words_by_start |= {match.start(): word for match in cues if match}
    return words_by_start[min(words_by_start)] if words_by_start else None


def _spotted_finding_or_day(text: str, item: Input, names: Sequence[str]) -> object:
    """Returns whether a finding is present or denied, or the day that follows the name.

    None if the name is not in the text.
    """
    matches = (_compiled(rf"{name}\b").search(text) for name in names)
    match = next(filter(None, matches), None)
    if match is None:
        return None
    if isinstance(item, Flag):
        return _DENIED.search(text, max(0, match.start() - 60), match.start()) is None

    following = text[match.end() : match.end() + 60]
    days = [date.value for date in dates(following) if date.value is not None]
    return f"{days[0]:%m/%d/%Y}" if days and isinstance(item, Day) else None


def _first_usable(item: Input, text: str, *, own_unit: bool = False) -> object:
    """Returns the usable value in the longest possible prefix of a text.

    With `own_unit`, a number without a usable unit gets the unit of the attribute.
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


# Measuring an extractor on notes whose entities are known.

TOLERANCE: Final = 0.01
"""The relative difference of two values that rounding between units can cause."""
_FIGURES: Final = {
    "attribute precision": ("both", "given"),
    "attribute recall": ("both", "gold"),
    "value precision": ("right", "given"),
    "value recall": ("right", "gold"),
}


def compared(
    calculator: AnyCalculator,
    gold: Mapping[str, object],
    predicted: Mapping[str, object],
) -> Counter[tuple[Kind, str]]:
    """Counts attributes by type.

    The second part of a key is `gold`, `given` (predicted), `both`, or `right` if both
    have the same value.
    """
    counts: Counter[tuple[Kind, str]] = Counter()
    gold_values, predicted_values = (
        _values(calculator, gold),
        _values(calculator, predicted),
    )
    for item in calculator.inputs:
        kind = kind_of(item)
        in_gold = item.name in gold_values
        in_predicted = item.name in predicted_values
        in_both = in_gold and in_predicted
        counts[kind, "gold"] += in_gold
        counts[kind, "given"] += in_predicted
        counts[kind, "both"] += in_both
        counts[kind, "right"] += in_both and _same(
            gold_values[item.name], predicted_values[item.name]
        )

    return counts


def _values(
    calculator: AnyCalculator, entities: Mapping[str, object]
) -> dict[str, object]:
    """Reads the values of attributes; None for an unreadable value."""
    values: dict[str, object] = {}
    for key, raw in entities.items():
        item = calculator.input_named(key)
        if item is not None and not is_missing(raw):
            try:
                values.setdefault(item.name, item.read(raw, quiet))
            except CalculatorInputError:
                values.setdefault(item.name, None)
    return values


def _same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= TOLERANCE * abs(a)
    return a is not None and bool(a == b)


def figures(
    rows: Sequence[Row], predicted: Sequence[Mapping[str, object]]
) -> dict[str, dict[str, Estimate]]:
    """Measures precision and recall by type of attribute, pooled over the rows.

    Args:
        rows: Rows of the dataset, with the gold entities.
        predicted: The entities extracted from the note of each row.

    Returns:
        Figures of `all` attributes, then of each type. Their intervals draw whole notes,
        since an error in a note affects all of its rows.
    """
    pairs = zip(rows, predicted, strict=True)
    counts = [
        compared(find(int(row["calculator_id"])), entities_of(row), counted)
        for row, counted in pairs
    ]
    clusters = [
        name if not (name := str(row["note_id"])).isdigit() else row["patient_note"]
        for row in rows
    ]
    kinds: tuple[Kind, ...] = ("numeric", "categorical", "date")

    def column(name: str, label: str) -> list[int]:
        return [
            sum(counted[kind, name] for kind in kinds if label in ("all", kind))
            for counted in counts
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
