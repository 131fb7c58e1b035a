"""Twins: families of notes about one patient that differ in one thing.

A family is about one invented patient and one value of that patient, its subject. Each
member has an exact gold answer:

* `base`: the original note;
* `threshold`: the subject (for Wells' DVT and FeverPAIN a finding) has another value,
  which changes the answer;
* `missing`: the subject is nowhere in the note, so that there is no answer;
* `contradiction`: the note has two different values of the subject, so that there is no
  answer;
* `unit`: a value is in another unit, and the answer stays the same;
* `distractor`: irrelevant statements are added, and the answer stays the same;
* `negated`: a value of another person or time is added, and a finding is denied; the
  answer stays the same.

The threshold is found by trial: one random number of the base's stream is exchanged for
another, and the patient is drawn again. If the two patients differ in one value and its
one statement, and no reply is right for both answers, that value is the subject. So every
member is a patient that fresh notes could have, and only the necessary words change.
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
# How far, relatively, the printed steps of a unit may move a value; published thresholds
# are as close to one another.
_NEAR: Final = 0.01
_TRIES, _TRIES_A_NUMBER = 100, 6
_FRAME: Final = ("setting", "reason", "story", "voice", "style", "side")


class _Exchanged(Draw):
    """The stream of draws of a key, with one draw replaced.

    Everything else that is drawn from it stays the same, unless the new draw leads to
    another number of draws.

    Attributes:
        drawn: counts the draws, so that its next number is how many there were.

    Example:
        >>> usual, exchanged = Draw("k"), _Exchanged("k", at=1, instead=0.99)
        >>> [usual.whole(1, 100) for _ in range(4)]
        [4, 50, 52, 64]
        >>> [exchanged.whole(1, 100) for _ in range(4)]
        [4, 100, 52, 64]
    """

    __slots__ = ("drawn",)

    def __init__(self, key: str, at: int = -1, instead: float = 0.0) -> None:
        super().__init__(key)
        usual, self.drawn = self._next, itertools.count()
        self._next = lambda: (usual(), instead)[next(self.drawn) == at]


class Steady(Draw):
    """Draws that depend on the key and the choices alone, not on earlier draws.

    So removing something from a note moves nothing else. Example: if `shuffled` orders a,
    b, c and d as b, c, a, d, it orders a, b and d as b, a, d; a stream of draws could give
    any order.
    """

    __slots__ = ("_key",)

    tries = 1  # the second of two draws is the first

    def __init__(self, key: str) -> None:
        self._key = key

    def _share(self, text: str) -> float:
        return (
            int.from_bytes(hashlib.sha256(f"{self._key}|{text}".encode()).digest()[:6])
            / 2**48
        )

    def chance(self, probability: float) -> bool:
        """Returns True with this probability; always the same for the same probability."""
        return self._share(str(probability)) < probability

    def pick(self, choices: Sequence[_Choice]) -> _Choice:
        """One of `choices`; always the same for the same choices."""
        return choices[int(self._share(repr(choices)) * len(choices))]

    def whole(self, low: int, high: int) -> int:
        """A whole number in the range; always the same for the same range."""
        return low + int(self._share(f"{low}-{high}") * (high - low + 1))

    def shuffled(self, choices: Sequence[_Choice]) -> list[_Choice]:
        """All of `choices`, in an order that adding or removing one does not change."""
        return sorted(
            choices,
            key=lambda choice: self._share(
                choice.name if isinstance(choice, Reading) else str(choice)
            ),
        )


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """The value that a family is about, and another value that changes the answer.

    Attributes:
        new: The entity with the other value.
        label: Its name in gold answers.
        kind: `vitals`, `labs` or `gas` for readings, `words`, `age`, or `finding` for a
            finding that the base leaves out.
        statement: The statement of the other value: a reading or a text.
        position: Where its statement is: attribute of the chart, key and index.
        exchange: The exchanged draw: its number and its new value.
    """

    item: Input
    new: object
    label: str
    kind: str
    statement: Any
    position: tuple[str, Any, int] = (
        "",
        None,
        0,
    )
    exchange: tuple[int, float] = (-1, 0.0)


_Statement: TypeAlias = tuple[tuple[str, Any, int], Any, Any]
"""The position of a statement (attribute of the chart, key, index); the statement; that of the
other chart."""


def _steps(calculator: AnyCalculator, method: str) -> tuple[list[str], ...]:
    """Returns the arguments of a case's steps with one method, such as `find`."""
    steps = _DATA["cases"][CASE_OF[calculator.id]]["steps"]
    return tuple(
        [argument for argument in step[1:] if isinstance(argument, str)]
        for step in steps
        if step[0] == method
    )


def twin_rows(seed: int, n: int) -> Iterator[dict[str, Any]]:
    """Yields the first `n` rows of a seed's families, one family after another.

    Any 55 consecutive families have each calculator once.

    Example: seed 1 begins with a family of creatinine clearance (calculator 2), about
    the patient's age. Its gold answers:

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
    """Yields the members of one family, as rows of the dataset.

    The number of a family determines its calculator and the key of its draws, so that it
    does not depend on other families. Keys without a subject are skipped.
    """
    calculator = CALCULATORS[(number - 1) % len(CALCULATORS)]
    keys = (f"twin:{seed}:{number}:{attempt}" for attempt in range(_TRIES))
    key, subject = next(
        (key, drawn_subject)
        for key in keys
        if (drawn_subject := _subject(calculator, key))
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
        # Each member draws the patient again, since the edits change the chart.
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

        case = (note, question, dict(member.entities))
        answer = result if isinstance(gold, str) else gold
        row = synthetic_row(
            0,
            f"twin-{seed}-{number}",
            calculator,
            case,
            answer.answer_text,
            answer.explanation,
        )
        row["note_type"] = f"Twin: {kind}"
        if isinstance(gold, str):
            row |= dict.fromkeys(
                ("ground_truth_answer", "lower_limit", "upper_limit"), gold
            )
            row["ground_truth_explanation"] = (
                f"{subject.label} {_TEXTS[kind]} in the note, so that there is no answer."
            )

        yield row


def _with_more(note: str, background: Background, draw: Draw) -> str:
    """Adds sentences of the background to a note, each at the end of a line.

    The rest of the note does not change.
    """
    lines = note.split("\n")
    prose = [number for number, line in enumerate(lines) if line.endswith(".")]
    for section, sentence in background.take(_ADDED):
        beside = [
            text
            for clause_section, text in background.clauses
            if clause_section == section
        ]
        fitting = [
            number for number in prose if any(text in lines[number] for text in beside)
        ]
        lines[draw.pick(fitting or prose)] += f" {sentence}"

    return "\n".join(lines)


def _without_age(note: str, person: Person) -> str:
    """Removes the patient's age from a note: `A 61-year-old woman` becomes `A woman`.

    The age is in the description of the person and not in a separate statement, so that
    it cannot be removed from the chart.
    """
    described = f"{person.article} {person.described}"
    note = note.replace(described, f"A {person.noun}")
    note = note.replace(described.lower(), f"a {person.noun}")

    return note.replace(person.described, person.noun).replace(
        person.brief, person.brief[-1]
    )


def _subject(calculator: AnyCalculator, key: str) -> _Subject | None:
    """Finds a required value, else one that changes the answer, else an unstated finding.

    None if readers could call another value missing.

    Each draw of the base is exchanged for several other numbers. An exchange counts if the
    patient changes in one value and one statement (`_difference`) and the answer moves
    (`_moved`).
    """
    base, draw, second = (
        draw_chart(calculator, counted := _Exchanged(key)),
        Draw(f"{key}:subject"),
        None,
    )
    needed = {step[0] for step in _steps(calculator, "perhaps")} | {"cycle_length_days"}
    if any(
        item.parameter in needed and item.name not in base.entities
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
                item=item, new=True, label=item.name, kind="finding", statement=name
            )

    return second


def _moved(before: Answer, after: Answer) -> bool:
    """Whether no reply is right for both answers, with 5 % tolerance for measurements.

    Example: 104 is right for 100 and 109, but no reply is right for 100 and 120, or for
    scores of 3 and 4.
    """
    apart = (
        abs(before - after) > 0.1 * max(abs(before), abs(after))
        if isinstance(before, float) and isinstance(after, int | float)
        else before != after
    )
    return bool(apart)


def _difference(base: Chart, other: Chart) -> _Subject | None:
    """Finds the one value in which two charts of a patient differ.

    Args:
        base: The base's chart.
        other: The chart with one draw exchanged.

    Returns:
        The value that differs, with its statement in the other chart. None if more than
        one value or statement differs, or if it is a finding, since a reader may regard
        an unmentioned finding as absent.
    """
    names = [
        name
        for name in base.entities
        if base.entities[name] != other.entities.get(name)
    ]
    if len(names) != 1 or base.entities.keys() != other.entities.keys():
        return None

    item = next(item for item in base.calculator.inputs if item.name == names[0])
    if isinstance(item, Flag) or item.parameter in ("sex", "target_steroid"):
        return None
    if not _same_frame(base, other):
        return None

    statements = _differing_statements(base, other)
    if statements is None:
        return None

    if item.name == "age" and not statements:
        text = f"{other.person.age} {'months' if base.person.months else 'years'}"
        new = other.entities[item.name]
        return _Subject(item=item, new=new, label="age", kind="age", statement=text)

    return _stated_subject(item, base, other, statements)


def _stated_subject(
    item: Input, base: Chart, other: Chart, statements: Sequence[_Statement]
) -> _Subject | None:
    """Makes a subject of the one statement that differs; None if it is not about `item`."""
    if len(statements) != 1 or base.person != other.person:
        return None

    ((position, before, after),) = statements
    reading = position[0] == "values"
    if (reading and before.name != after.name) or (
        position[0] == "phrases" and not position[1][1]
    ):
        return None

    spoken = "blood pressure" if item.parameter.endswith("tolic_mm_hg") else item.name
    if item.name == "input steroid":
        spoken += f" ({steroid_words(_steroid(base)[2:-1])})"

    return _Subject(
        item=item,
        new=other.entities[item.name],
        label=spoken,
        kind=position[1] if reading else "words",
        statement=after,
        position=position,
    )


def _steroid(chart: Chart) -> str:
    """Returns the drug that a patient converts from, as in the entity and the question."""
    return str(chart.entities.get("input steroid")).split(",")[0]


def _same_frame(base: Chart, other: Chart) -> bool:
    """Whether two charts have the same patient, except for age, setting and question."""
    same_person = replace(other.person, age=base.person.age) == base.person
    same_drug = _steroid(base) == _steroid(other)
    return (
        same_person
        and same_drug
        and all(getattr(base, name) == getattr(other, name) for name in _FRAME)
    )


def _differing_statements(base: Chart, other: Chart) -> list[_Statement] | None:
    """Lists the statements in which two charts differ: position, before and after.

    None if the charts have different numbers of statements.
    """
    differing: list[_Statement] = []
    for attribute in ("values", "sentences", "phrases"):
        ours, theirs = getattr(base, attribute), getattr(other, attribute)
        if {at: len(texts) for at, texts in ours.items()} != {
            at: len(texts) for at, texts in theirs.items()
        }:
            return None

        for at in ours:
            pairs = enumerate(zip(ours[at], theirs[at], strict=True))
            differing += [
                ((attribute, at, index), old, new)
                for index, (old, new) in pairs
                if old != new
            ]

    return differing


def _unstated(chart: Chart, draw: Draw) -> list[tuple[Input, str]]:
    """Lists the calculator's findings that the note leaves out, with their names."""
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
    """Edits a base's chart to make another member, and returns its gold answer.

    None if the family has no such member.
    """
    entities, name, finding = (
        chart.entities,
        subject.item.name,
        subject.kind == "finding",
    )
    if kind == "threshold":
        if finding:
            chart.state(FINDINGS[subject.statement], is_there=True)
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
    """Adds the subject of another person or time, and denies an unstated finding."""
    if subject.kind != "finding":
        # The last frame is about a relative, since infants have no long past.
        frames = _TEXTS["elsewhere"][subject.kind]
        _say(chart, subject, draw.pick(frames[-1:] if chart.person.months else frames))
    for item, unstated in _unstated(chart, draw)[:1]:
        chart.state(FINDINGS[unstated], is_there=False)
        chart.entities[item.name] = False


def _without_answer(kind: str, chart: Chart, subject: _Subject) -> str | None:
    """Removes the subject's value from a chart, or contradicts it; the gold says so.

    None if there would still be an answer.
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
        attribute, at, index = subject.position
        statements = getattr(chart, attribute)
        del statements[at][index]
        if not statements[at]:
            del statements[at]

    pressures = {"Diastolic Blood Pressure", "Systolic Blood Pressure"}  # one statement
    removed = pressures if subject.item.name in pressures else {subject.item.name}
    for name in removed:
        chart.entities.pop(name, None)

    return f"{kind}: {subject.label}"


def _say(chart: Chart, subject: _Subject, frame: str) -> None:
    """Adds another statement of the subject to the same section, in a frame."""
    statement = subject.statement
    if isinstance(statement, Reading):
        frame, statement = (
            frame.replace("{name}", statement.name).replace("{short}", statement.short),
            statement.text,
        )

    section = (
        subject.position[1]
        if subject.position[0] == "sentences"
        else _TEXTS["places"].get(subject.kind, "story")
    )
    # A sibling of the same sex, who has the same pronouns.
    sibling = "brother" if chart.person.sex == "male" else "sister"
    chart.say(section, frame.replace("{text}", statement).replace("{sibling}", sibling))


def _rewrite(chart: Chart, draw: Draw, result: Result) -> Result | None:
    """Writes a value in another unit that does not change the answer."""
    names = {id(entity): name for name, entity in chart.entities.items()}
    stated = [
        (readings, index)
        for readings in chart.values.values()
        for index in range(len(readings))
    ]
    for readings, index in draw.shuffled(
        [
            (readings, index)
            for readings, index in stated
            if id(readings[index].entity) in names
        ]
    ):
        name = names[id(readings[index].entity)]
        for new in _other_units(readings[index], draw):
            rewritten = _same_answer(chart, name, new.entity, result)
            if rewritten is not None:
                readings[index], chart.entities[name] = new, new.entity
                return rewritten

    return None


def _same_answer(
    chart: Chart, name: str, value: object, result: Result
) -> Result | None:
    """Returns the result with a rewritten entity if the answer stays the same, else None.

    A score must also stay the same slightly below and above the value, since the reader
    may round.
    """
    values = [value]
    if isinstance(result.answer, int) and isinstance(value, list) and len(value) == 2:
        values += [[value[0] * factor, value[1]] for factor in (1 - _NEAR, 1 + _NEAR)]

    try:
        results = [
            chart.calculator.calculate({**chart.entities, name: written})
            for written in values
        ]
    except CalculatorInputError:
        # The value is close to a threshold beyond which another input is required.
        return None

    same = all(_close(result.answer, other.answer) for other in results)
    return results[0] if same else None


def _close(before: Answer, after: Answer) -> bool:
    if isinstance(before, float) and isinstance(after, int | float):
        return math.isclose(before, after, rel_tol=2 * _NEAR)
    return before == after


def _other_units(reading: Reading, draw: Draw) -> Iterator[Reading]:
    """Yields the same value in other units, on the grid of each.

    A unit whose printed steps would move the value by more than 1 % is left out, since
    the answer would move as well.
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
    """The forms of an amount with this unit and this name."""
    with_unit = (form for form in amount.forms if form.unit == unit)
    return [form for form in with_unit if name in (form.names or amount.names)]


def _converts(own: Form, other: Form) -> bool:
    """Whether the number differs in the other unit; it does not for sodium in mEq/L."""
    return own.unit != other.unit and (own.factor, own.shift) != (
        other.factor,
        other.shift,
    )
