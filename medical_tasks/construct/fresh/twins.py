"""Twins: families of notes about one patient that differ in one thing.

A family is about one invented patient and one value of that patient, its subject. Each
member has an exact gold:

* `base`: the note as it is;
* `threshold`: the subject has another value, and the answer another one;
* `missing`: the subject is nowhere in the note, so there is no answer;
* `contradiction`: the note gives the subject twice, differently, so there is no answer;
* `unit`: a value is written in another unit, and the answer stays;
* `distractor`: more is told that has no say in the answer, which stays;
* `negated`: a value of somebody or some time else is told, and a finding denied; the answer stays.

The threshold is found by trying: one random number of the base's stream is exchanged
for another, and the patient drawn anew. Where the two patients differ in one value and
one statement of it, and no reply is right for both answers, that value is the subject.
So every member is a patient that the fresh notes could have, and not a word changes
beside what has to.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

from medical_tasks.benchmarks.medcalc_bench.demo import synthetic_row
from medical_tasks.benchmarks.medcalc_bench.questions import QUESTIONS, named_drugs
from medical_tasks.benchmarks.medcalc_bench.twins import TWIN_TEXTS
from medical_tasks.calculators import (
    CALCULATORS,
    AnyCalculator,
    CalculatorInputError,
    Result,
)
from medical_tasks.calculators.base import Answer
from medical_tasks.calculators.inputs import REQUIRED, Flag, Input
from medical_tasks.construct.fresh.cases import CASE_OF, draw_chart
from medical_tasks.construct.fresh.cases_measures import steroid_words
from medical_tasks.construct.fresh.chart import Chart, Person
from medical_tasks.construct.fresh.findings import FINDINGS
from medical_tasks.construct.fresh.notes import Background, note_with
from medical_tasks.construct.fresh.quantities import (
    AMOUNTS,
    Amount,
    Draw,
    Form,
    Reading,
    read_json,
)

__all__ = ["KINDS", "Steady", "twin_rows"]

KINDS: Final = (
    "base",
    "threshold",
    "missing",
    "contradiction",
    "unit",
    "distractor",
    "negated",
)  # in this order

_Choice = TypeVar("_Choice")
_TEXTS: Final = TWIN_TEXTS
_DATA: Final = read_json("cases.json")
_AIM = (110, 150)  # words of a base
_ADDED = 80  # words that a distractor adds
_NEAR: Final = 0.01  # how far a unit's printed steps may move a value; printed thresholds lie as close
_TRIES, _TRIES_A_NUMBER = 100, 6
_FRAME: Final = ("setting", "reason", "story", "voice", "style", "side")


class _Exchanged(Draw):
    """The draws of a key, but for one of them."""

    __slots__ = ("drawn",)

    def __init__(self, key: str, at: int = -1, instead: float = 0.0) -> None:
        super().__init__(key)
        usual, self.drawn = self._next, itertools.count()
        self._next = lambda: (usual(), instead)[next(self.drawn) == at]


class Steady(Draw):
    """Choices that depend on what they are among alone.

    What is taken out of a note moves nothing else in it. Example: if `shuffled` orders
    a, b, c and d as b, c, a, d, it orders a, b and d as b, a, d; a stream of draws
    would give these any order.
    """

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key

    def _share(self, text: str) -> float:
        return (
            int.from_bytes(hashlib.sha256(f"{self._key}|{text}".encode()).digest()[:6])
            / 2**48
        )

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens: always the same for one probability."""
        return self._share(str(probability)) < probability

    def pick(self, choices: Sequence[_Choice]) -> _Choice:
        """One of `choices`: always the same among the same."""
        return choices[int(self._share(repr(choices)) * len(choices))]

    def whole(self, low: int, high: int) -> int:
        """A whole number of the range: always the same for one range."""
        return low + int(self._share(f"{low}-{high}") * (high - low + 1))

    def shuffled(self, choices: Sequence[_Choice]) -> list[_Choice]:
        """All of `choices`, in an order that one more or less leaves as it is."""
        return sorted(
            choices,
            key=lambda each: self._share(
                each.name if isinstance(each, Reading) else str(each)
            ),
        )


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """The value that a family is about, and another one of it that changes the answer.

    Attributes:
        new: The other entity.
        spoken: How a gold names it.
        kind: `vitals`, `labs` and `gas` for readings, `words`, `age`, or `finding` for
            one that the base leaves out.
        said: The other statement: a reading or a text.
        place: Attribute of the chart, key and place of its statement.
        exchange: The random number exchanged.
    """

    item: Input
    new: object
    spoken: str
    kind: str
    said: Any
    place: tuple[str, Any, int] = (
        "",
        None,
        0,
    )
    exchange: tuple[int, float] = (-1, 0.0)


_Statement: TypeAlias = tuple[tuple[str, Any, int], Any, Any]
"""Attribute of the chart, key and place of a statement; the statement; that of the other chart."""


def _steps(calculator: AnyCalculator, method: str) -> tuple[list[str], ...]:
    """The arguments of a case's steps of one method, such as `find` or `perhaps`."""
    steps = _DATA["cases"][CASE_OF[calculator.id]]["steps"]
    return tuple(
        [part for part in step[1:] if isinstance(part, str)]
        for step in steps
        if step[0] == method
    )


def twin_rows(seed: int, n: int) -> Iterator[dict[str, Any]]:
    """The first `n` rows of a seed's families, one family after another.

    55 families hold each calculator once.

    Example: seed 1 begins with a family of creatinine clearance (calculator 2), about
    the patient's age. Its golds:

        base           65.53
        threshold      39.82              another age
        missing        missing: age       the age is nowhere
        contradiction  contradiction: age two ages
        unit           65.21              a value in another unit, rounded as printed
        distractor     65.53              80 words more
        negated        65.53              somebody else's age
    """
    rows = itertools.chain.from_iterable(
        _family(seed, number) for number in itertools.count(1)
    )
    for number, row in zip(range(1, n + 1), rows, strict=False):
        yield {**row, "row_number": number}


def _family(seed: int, number: int) -> Iterator[dict[str, Any]]:
    """The members of one family, as rows of the dataset.

    A family's number names its calculator and the key of its draws, so that the family
    stays what it is whatever others are drawn. A key under which no subject is found is
    passed over for the next.
    """
    calculator = CALCULATORS[(number - 1) % len(CALCULATORS)]
    keys = (f"twin:{seed}:{number}:{attempt}" for attempt in range(_TRIES))
    key, subject = next(
        (key, found) for key in keys if (found := _subject(calculator, key))
    )
    draw, chart = Draw(f"{key}:family"), draw_chart(calculator, Draw(key))
    question = draw.pick(QUESTIONS[calculator.id])
    question = named_drugs(question, chart.entities, steroid_words)
    result = calculator.calculate(chart.entities)
    background, steady = (
        Background(chart, Draw(f"{key}:background"), long=False),
        f"{key}:note",
    )
    words = len(note_with(chart, background, Steady(steady)).split())
    background.clauses = background.take(draw.whole(*_AIM) - words)
    for kind in KINDS:
        # Each member draws the patient anew, since a chart is changed by what is
        # written into it.
        member = draw_chart(
            calculator,
            _Exchanged(key, *(subject.exchange if kind == "threshold" else ())),
        )
        gold = _member(kind, member, subject, Draw(f"{key}:{kind}"), result)
        if gold is None:
            continue

        note = note_with(member, background, Steady(steady))
        if kind == "distractor":
            note = _with_more(note, background, draw)
        if kind == "missing" and subject.kind == "age":
            note = _without_age(note, member.person)

        asked = (note, question, dict(member.entities))
        told = result if isinstance(gold, str) else gold
        row = synthetic_row(
            0,
            f"twin-{seed}-{number}",
            calculator,
            asked,
            told.answer_text,
            told.explanation,
        )
        row["note_type"] = f"Twin: {kind}"
        if isinstance(gold, str):
            row |= dict.fromkeys(
                ("ground_truth_answer", "lower_limit", "upper_limit"), gold
            )
            row["ground_truth_explanation"] = (
                f"{subject.spoken} {_TEXTS[kind]} in the note, so that there is no answer."
            )

        yield row


def _with_more(note: str, background: Background, draw: Draw) -> str:
    """The note with more sentences of the background, each at the end of a line.

    Not a character of the rest changes.
    """
    lines = note.split("\n")
    prose = [number for number, line in enumerate(lines) if line.endswith(".")]
    for place, sentence in background.take(_ADDED):
        beside = [text for where, text in background.clauses if where == place]
        fitting = [
            number for number in prose if any(text in lines[number] for text in beside)
        ]
        lines[draw.pick(fitting or prose)] += f" {sentence}"

    return "\n".join(lines)


def _without_age(note: str, person: Person) -> str:
    """The note without the patient's age: `A woman` for `A 61-year-old woman`.

    The age stands where the person is described, not in a statement of its own, so that
    it cannot be taken out of the chart.
    """
    described = f"{person.article} {person.described}"
    note = note.replace(described, f"A {person.noun}")
    note = note.replace(described.lower(), f"a {person.noun}")

    return note.replace(person.described, person.noun).replace(
        person.brief, person.brief[-1]
    )


def _subject(calculator: AnyCalculator, key: str) -> _Subject | None:
    """A value that is needed, else one that counts, else a finding left out.

    None where readers may call another value missing.
    """
    base, draw, second = (
        draw_chart(calculator, counted := _Exchanged(key)),
        Draw(f"{key}:subject"),
        None,
    )
    wanted = {step[0] for step in _steps(calculator, "perhaps")} | {"cycle_length_days"}
    if any(
        item.parameter in wanted and item.name not in base.entities
        for item in calculator.inputs
    ):
        return None

    before = calculator.calculate(base.entities).answer
    tries = [
        (at, draw.between(0, 1))
        for at in range(next(counted.drawn))
        for _ in range(_TRIES_A_NUMBER)
    ]
    for exchange in draw.shuffled(tries):
        subject = _difference(base, draw_chart(calculator, _Exchanged(key, *exchange)))
        if subject and _moved(
            before,
            calculator.calculate(
                {**base.entities, subject.item.name: subject.new}
            ).answer,
        ):
            if subject.item.absent is REQUIRED:
                return replace(subject, exchange=exchange)

            second = second or replace(subject, exchange=exchange)

    for item, name in [] if second else _unstated(base, draw):
        if _moved(
            before, calculator.calculate({**base.entities, item.name: True}).answer
        ):
            return _Subject(
                item=item, new=True, spoken=item.name, kind="finding", said=name
            )

    return second


def _moved(before: Answer, after: Answer) -> bool:
    """Whether no reply is right for both answers; of measurements, all within 5 % are.

    Example: 100 and 120 have no reply in common, 100 and 109 have 104; scores of 3 and
    4 have none.
    """
    apart = (
        abs(before - after) > 0.1 * max(abs(before), abs(after))
        if isinstance(before, float) and isinstance(after, int | float)
        else before != after
    )
    return bool(apart)


def _difference(one: Chart, other: Chart) -> _Subject | None:
    """The subject that two charts of a patient differ in, if they differ in no more.

    Args:
        one: The base's chart.
        other: The chart with one random number exchanged.

    Returns:
        The value that differs, with how the other chart states it. None where more than
        one value
        or statement differs, or where it is a finding: whether a finding that is not
        mentioned is absent is for the reader to say.
    """
    names = [
        name for name in one.entities if one.entities[name] != other.entities.get(name)
    ]
    if len(names) != 1 or one.entities.keys() != other.entities.keys():
        return None

    item = next(item for item in one.calculator.inputs if item.name == names[0])
    if isinstance(item, Flag) or item.parameter in ("sex", "target_steroid"):
        return None
    if not _same_frame(one, other):
        return None

    statements = _differing_statements(one, other)
    if statements is None:
        return None

    if item.name == "age" and not statements:
        text = f"{other.person.age} {'months' if one.person.months else 'years'}"
        new = other.entities[item.name]
        return _Subject(item=item, new=new, spoken="age", kind="age", said=text)

    return _stated_subject(item, one, other, statements)


def _stated_subject(
    item: Input, one: Chart, other: Chart, statements: Sequence[_Statement]
) -> _Subject | None:
    """The subject that one statement of the charts is about; None where it is about another."""
    if len(statements) != 1 or one.person != other.person:
        return None

    ((place, before, after),) = statements
    reading = place[0] == "values"
    if (reading and before.name != after.name) or (
        place[0] == "phrases" and not place[1][1]
    ):
        return None

    spoken = "blood pressure" if item.parameter.endswith("tolic_mm_hg") else item.name
    if item.name == "input steroid":
        spoken += f" ({steroid_words(_steroid(one)[2:-1])})"

    return _Subject(
        item=item,
        new=other.entities[item.name],
        spoken=spoken,
        kind=place[1] if reading else "words",
        said=after,
        place=place,
    )


def _steroid(chart: Chart) -> str:
    """The drug that a patient converts from, as the entity is written.

    It stands in the question.
    """
    return str(chart.entities.get("input steroid")).split(",")[0]


def _same_frame(one: Chart, other: Chart) -> bool:
    """Whether two charts are of one patient, age aside, in one setting, with one question."""
    same_person = replace(other.person, age=one.person.age) == one.person
    same_drug = _steroid(one) == _steroid(other)
    return (
        same_person
        and same_drug
        and all(getattr(one, name) == getattr(other, name) for name in _FRAME)
    )


def _differing_statements(one: Chart, other: Chart) -> list[_Statement] | None:
    """The statements of two charts that differ.

    Place, before and after; None where the charts have others.
    """
    found: list[_Statement] = []
    for attribute in ("values", "sentences", "phrases"):
        ours, theirs = getattr(one, attribute), getattr(other, attribute)
        if {at: len(texts) for at, texts in ours.items()} != {
            at: len(texts) for at, texts in theirs.items()
        }:
            return None

        for at in ours:
            pairs = enumerate(zip(ours[at], theirs[at], strict=True))
            found += [
                ((attribute, at, place), old, new)
                for place, (old, new) in pairs
                if old != new
            ]

    return found


def _unstated(chart: Chart, draw: Draw) -> list[tuple[Input, str]]:
    """The findings that the calculator counts and the note leaves out.

    Each has the name of its wordings.
    """
    inputs = {item.parameter: item for item in chart.calculator.inputs}
    steps = _steps(chart.calculator, "find")

    return draw.shuffled(
        [
            (inputs[at[0]], at[-1])
            for at in steps
            if inputs[at[0]].name not in chart.entities
        ]
    )


def _member(
    kind: str, chart: Chart, subject: _Subject, draw: Draw, result: Result
) -> Result | str | None:
    """Writes into a base's chart what makes it another member, whose gold it returns.

    None where the family has no such one.
    """
    entities, name, finding = (
        chart.entities,
        subject.item.name,
        subject.kind == "finding",
    )
    if kind == "threshold":
        if finding:
            chart.state(FINDINGS[subject.said], there=True)
            entities[name] = True

        return chart.calculator.calculate(entities)

    if kind == "unit":
        return _rewrite(chart, draw, result)
    if kind in ("missing", "contradiction"):
        return _without_answer(kind, chart, subject)
    if kind == "negated":
        _negate(chart, subject, draw)

    return result


def _negate(chart: Chart, subject: _Subject, draw: Draw) -> None:
    """Writes the subject of somebody or some time else, and denies a finding that was left out."""
    if subject.kind != "finding":
        # The last frame is of a relative: infants have no long past.
        frames = _TEXTS["elsewhere"][subject.kind]
        _say(chart, subject, draw.pick(frames[-1:] if chart.person.months else frames))
    for item, unstated in _unstated(chart, draw)[:1]:
        chart.state(FINDINGS[unstated], there=False)
        chart.entities[item.name] = False


def _without_answer(kind: str, chart: Chart, subject: _Subject) -> str | None:
    """Takes the subject's value out of a chart, or contradicts it; the gold is to say so.

    None where that leaves an answer.
    """
    if subject.kind == "finding" or (
        kind == "missing" and subject.item.absent is not REQUIRED
    ):
        return None

    if kind == "contradiction":
        _say(
            chart,
            subject,
            _TEXTS["brief_second" if chart.brief else "second"][subject.kind],
        )
    elif subject.kind != "age":
        attribute, at, place = subject.place
        statements = getattr(chart, attribute)
        del statements[at][place]
        if not statements[at]:
            del statements[at]

    pressures = {"Diastolic Blood Pressure", "Systolic Blood Pressure"}  # one statement
    removed = pressures if subject.item.name in pressures else {subject.item.name}
    for name in removed:
        chart.entities.pop(name, None)

    return f"{kind}: {subject.spoken}"


def _say(chart: Chart, subject: _Subject, frame: str) -> None:
    """Adds another statement of the subject where the first one stands, in a frame."""
    said = subject.said
    if isinstance(said, Reading):
        frame, said = (
            frame.replace("{name}", said.name).replace("{short}", said.short),
            said.text,
        )

    place = (
        subject.place[1]
        if subject.place[0] == "sentences"
        else _TEXTS["places"].get(subject.kind, "story")
    )
    # one for whom the pronouns are right
    sibling = "brother" if chart.person.sex == "male" else "sister"
    chart.say(place, frame.replace("{text}", said).replace("{sibling}", sibling))


def _rewrite(chart: Chart, draw: Draw, result: Result) -> Result | None:
    """Writes a value in another unit, where the answer stays.

    A score's also a little below and above the value.
    """
    names = {id(entity): name for name, entity in chart.entities.items()}
    stated = [
        (each, place) for each in chart.values.values() for place in range(len(each))
    ]
    for readings, place in draw.shuffled(
        [(each, at) for each, at in stated if id(each[at].entity) in names]
    ):
        name = names[id(readings[place].entity)]
        for new in _other_units(readings[place], draw):
            rewritten = _same_answer(chart, name, new.entity, result)
            if rewritten is not None:
                readings[place], chart.entities[name] = new, new.entity
                return rewritten

    return None


def _same_answer(
    chart: Chart, name: str, value: object, result: Result
) -> Result | None:
    """The result with another way to write an entity, where the answer stays; else None.

    A score's answer has to stay a little below and above the value too: the reader may
    round.
    """
    values = [value]
    if isinstance(result.answer, int) and isinstance(value, list) and len(value) == 2:
        values += [[value[0] * factor, value[1]] for factor in (1 - _NEAR, 1 + _NEAR)]

    try:
        results = [
            chart.calculator.calculate({**chart.entities, name: each})
            for each in values
        ]
    except (
        CalculatorInputError
    ):  # beside a threshold beyond which another value is needed
        return None

    same = all(_close(result.answer, other.answer) for other in results)
    return results[0] if same else None


def _close(one: Answer, other: Answer) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=2 * _NEAR)
    return one == other


def _other_units(reading: Reading, draw: Draw) -> Iterator[Reading]:
    """The same value in other units, on the grid that each is printed on.

    A unit whose printed steps would move the value by more than 1 % is left out: the
    answer would move with it.
    """
    entity = reading.entity
    unit = (
        ""
        if not isinstance(entity, list)
        else "ft in"
        if len(entity) == 4
        else entity[-1]
    )
    for amount in AMOUNTS.values():
        own = _forms_of(amount, unit, reading.name)
        others = [form for form in amount.forms if own and _converts(own[0], form)]
        for form in draw.shuffled(others):
            grid = form.grid(reading.base)
            # Urea and urea nitrogen are names of one amount by its units.
            name = draw.pick(
                form.names or (amount.names if own[0].names else (reading.name,))
            )
            short = draw.pick(
                form.short or (amount.short if own[0].short else (reading.short,))
            )
            if abs(form.base(grid) / reading.base - 1) <= _NEAR:
                yield Reading(
                    form.entity(grid),
                    form.text(grid, draw),
                    name,
                    short,
                    form.base(grid),
                )


def _forms_of(amount: Amount, unit: str, name: str) -> list[Form]:
    """The forms of an amount that have this unit and may have this name."""
    with_unit = (form for form in amount.forms if form.unit == unit)
    return [form for form in with_unit if name in (form.names or amount.names)]


def _converts(one: Form, other: Form) -> bool:
    """Whether another unit has another number: 140 mmol/L of sodium is 140 mEq/L."""
    return one.unit != other.unit and (one.factor, one.shift) != (
        other.factor,
        other.shift,
    )
