"""Twins: families of notes about one invented patient that differ in one thing, with an exact gold each.

A family's subject is one value. Drawing the patient again with a single random number exchanged gives the same patient with
another value of it, and the difference of the two charts says which statement of the note it is.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, TypeVar

from medical_tasks.benchmarks.medcalc_bench.demo import decimal_limits, synthetic_row
from medical_tasks.benchmarks.medcalc_bench.fresh.cases import CASE_OF, draw_chart
from medical_tasks.benchmarks.medcalc_bench.fresh.cases_measures import steroid_words
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart, Person, note_text
from medical_tasks.benchmarks.medcalc_bench.fresh.findings import FINDINGS
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import AMOUNTS, Draw, Reading, read_json
from medical_tasks.benchmarks.medcalc_bench.fresh.rows import QUESTIONS, add_background
from medical_tasks.calculators import CALCULATORS, AnyCalculator, Result
from medical_tasks.calculators.inputs import REQUIRED, Flag, Input

__all__ = ["KINDS", "twin_rows"]

KINDS: Final = ("base", "threshold", "missing", "contradiction", "unit", "distractor", "negated")
"""The members of a family, in their order."""

T = TypeVar("T")
_TEXTS: Final = read_json("twins.json")
_CASES: Final = read_json("cases.json")["cases"]
_AIM, _LONG_AIM = (80, 115), 190
_SAME: Final = 0.01
"""How far a value, and an answer, may move when a unit's printed steps round it."""
_TRIES: Final = 100
_TRIES_A_NUMBER: Final = 6
_PLACES: Final = {"vitals": "exam", "labs": "tests", "gas": "tests"}


class _Exchanged(Draw):
    """The draws of a key, but for one of them."""

    __slots__ = ("drawn",)

    def __init__(self, key: str, at: int = -1, instead: float = 0.0) -> None:
        super().__init__(key)
        usual, self.drawn = self._next, 0

        def exchanged() -> float:
            self.drawn += 1
            value = usual()
            return instead if self.drawn - 1 == at else value

        self._next = exchanged


class _Steady(Draw):
    """Choices that depend on what they are among alone: what is taken out of a note moves nothing else in it."""

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key

    def _share(self, text: str) -> float:
        return int.from_bytes(hashlib.sha256(f"{self._key}|{text}".encode()).digest()[:6]) / 2**48

    def chance(self, probability: float) -> bool:
        return self._share(str(probability)) < probability

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self._share(repr(choices)) * len(choices))]

    def shuffled(self, choices: Sequence[T]) -> list[T]:
        return sorted(choices, key=lambda each: self._share(each.name if isinstance(each, Reading) else str(each)))


@dataclass(frozen=True, slots=True)
class _Ageless(Person):
    """A patient whose age the note does not say."""

    described = property(lambda self: self.noun)
    article = property(lambda self: "A")
    brief = property(lambda self: "M" if self.sex == "male" else "F")


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """The value that a family is about, and another one of it that changes the answer."""

    item: Input
    old: object  # its entity
    new: object
    spoken: str  # how a gold names it
    kind: str  # `vitals`, `labs` and `gas` for readings, `words`, `age`, or `finding` for one that the base leaves out
    place: tuple[str, Any, int] = ("", None, 0)  # attribute of the chart, key and place of its statement
    said: tuple[Any, Any] = ("", "")  # the statement, old and new
    exchange: tuple[int, float] = (-1, 0.0)  # the random number exchanged


@cache
def _steps(calculator: AnyCalculator, method: str) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(step[1:]) for step in _CASES[CASE_OF[calculator.id]]["steps"] if step[0] == method)


def twin_rows(seed: int, n: int) -> Iterator[dict[str, Any]]:
    """The first `n` rows of a seed's families, one family after another; 55 families hold each calculator once."""
    rows = itertools.chain.from_iterable(_family(seed, number) for number in itertools.count(1))
    for number, row in zip(range(1, n + 1), rows, strict=False):
        yield {**row, "row_number": number}


def _family(seed: int, number: int) -> Iterator[dict[str, Any]]:
    calculator = CALCULATORS[(number - 1) % len(CALCULATORS)]
    for attempt in range(_TRIES):
        key = f"twin:{seed}:{number}:{attempt}"
        chart = draw_chart(calculator, draw := _Exchanged(key))
        subject = _subject(chart, key, draw.drawn) if _complete(chart) else None
        if subject is not None:
            break
    else:
        raise RuntimeError(f"no twins of {calculator.name} with seed {seed} in {_TRIES} draws")
    draw = Draw(f"{key}:family")
    question = draw.pick(QUESTIONS[calculator.id])
    if calculator.slug == "steroid_conversion":
        source, target = chart.entities["input steroid"], chart.entities["target steroid"]
        question = question.replace("{source}", steroid_words(source[0])).replace("{target}", steroid_words(target))  # type: ignore[index, arg-type]
    words, aim = len(note_text(_copy(chart)).split()), draw.whole(*_AIM)
    result = calculator.calculate(chart.entities)
    for kind in KINDS:
        # Each member draws the patient anew, since a chart is changed by what is written into it.
        member = draw_chart(calculator, _Exchanged(key, *(subject.exchange if kind == "threshold" else ())))
        gold = _MEMBERS[kind](member, subject, Draw(f"{key}:{kind}"), result)
        if gold is None:
            continue
        again = ":again" if kind == "distractor" else ""
        member.draw = Draw(f"{key}:background")
        add_background(member, words, _LONG_AIM if again else aim)
        member.draw = _Steady(f"{key}:note{again}")
        asked = (note_text(member), question, dict(member.entities))
        answered = gold if isinstance(gold, Result) else result
        row = synthetic_row(0, f"twin-{seed}-{number}", calculator, asked, answered.answer_text, answered.explanation)
        row["note_type"] = f"Twin: {kind}"
        if isinstance(gold, str):
            why = "is not in the note" if kind == "missing" else "has two values at the same time in the note"
            row |= dict.fromkeys(("ground_truth_answer", "lower_limit", "upper_limit"), gold)
            row["ground_truth_explanation"] = f"{subject.spoken} {why}, so that there is no answer."
        yield row


def _copy(chart: Chart) -> Chart:
    """The chart with draws that leave those of the original alone."""
    made = object.__new__(Chart)
    made.__dict__.update(chart.__dict__, draw=_Steady("words"))
    return made


def _complete(chart: Chart) -> bool:
    """Whether every value that the calculator takes when there is one is stated: no reader may call one of them missing."""
    wanted = {step[1] for step in _steps(chart.calculator, "perhaps")} | {"cycle_length_days"}
    return all(item.name in chart.entities for item in chart.calculator.inputs if item.parameter in wanted)


def _subject(base: Chart, key: str, draws: int) -> _Subject | None:
    """A value without which there is no answer, else one that may be missing, else a finding that the note leaves out."""
    draw, before, second = Draw(f"{key}:subject"), base.calculator.calculate(base.entities), None
    for exchange in draw.shuffled([(at, draw.between(0, 1)) for at in range(draws) for _ in range(_TRIES_A_NUMBER)]):
        subject = _difference(base, draw_chart(base.calculator, _Exchanged(key, *exchange)))
        if subject and _moved(before, base.calculator.calculate({**base.entities, subject.item.name: subject.new})):
            if subject.item.absent is REQUIRED:
                return replace(subject, exchange=exchange)
            second = second or replace(subject, exchange=exchange)
    if second is not None:
        return second
    for item, name in _unstated(base, draw):
        if _moved(before, base.calculator.calculate({**base.entities, item.name: True})):
            return _Subject(item=item, old=None, new=True, spoken=item.name, kind="finding", said=("", name))
    return None


def _moved(before: Result, after: Result) -> bool:
    """Whether no reply is right for both answers."""
    if not isinstance(before.answer, float):
        return before.answer != after.answer
    ranges = [[float(end) for end in decimal_limits(each.answer_text)] for each in (before, after)]
    (_, high), (low, _) = sorted(ranges)
    return high < low


def _difference(one: Chart, other: Chart) -> _Subject | None:
    """What two charts of a patient differ in, where that is one value, no finding, and one statement of it."""
    names = [name for name in one.entities if one.entities[name] != other.entities.get(name)]
    if len(names) != 1 or one.entities.keys() != other.entities.keys():
        return None
    item = next(item for item in one.calculator.inputs if item.name == names[0])
    drugs = [str(chart.entities.get("input steroid")).split(",")[0] for chart in (one, other)]
    alike = replace(other.person, age=one.person.age) == one.person and drugs[0] == drugs[1]
    if not alike or isinstance(item, Flag) or item.parameter in ("sex", "target_steroid") or any(
        getattr(one, name) != getattr(other, name) for name in ("setting", "reason", "story", "voice", "style", "side")
    ):  # fmt: skip
        return None  # drugs stand in the question too
    said = [(*each, one_said, other_said) for *each, one_said, other_said in _statements(one, other) or ()]
    given: dict[str, Any] = {"item": item, "old": one.entities[item.name], "new": other.entities[item.name]}
    if one.person.age != other.person.age:
        unit = "months" if one.person.months else "years"
        ages = (f"{one.person.age} {unit}", f"{other.person.age} {unit}")
        return _Subject(**given, spoken="age", kind="age", said=ages) if said == [] and item.name == "age" else None
    if len(said) != 1:
        return None
    ((attribute, at, place, old, new),) = said
    if (attribute == "values" and old.name != new.name) or (attribute == "phrases" and not at[1]):
        return None
    spoken = "blood pressure" if item.parameter.endswith("tolic_mm_hg") else item.name
    if item.name == "input steroid":
        spoken += f" ({steroid_words(given['old'][0])})"
    kind = at if attribute == "values" else "words"
    return _Subject(**given, spoken=spoken, kind=kind, place=(attribute, at, place), said=(old, new))


def _statements(one: Chart, other: Chart) -> list[tuple[str, Any, int, Any, Any]] | None:
    """The statements in which two charts of the same form differ; None where the form does."""
    found = []
    for attribute in ("values", "sentences", "phrases"):
        ours, theirs = getattr(one, attribute), getattr(other, attribute)
        if {at: len(each) for at, each in ours.items()} != {at: len(each) for at, each in theirs.items()}:
            return None
        for at in ours:
            pairs = enumerate(zip(ours[at], theirs[at], strict=True))
            found += [(attribute, at, place, old, new) for place, (old, new) in pairs if old != new]
    return found


def _unstated(chart: Chart, draw: Draw) -> list[tuple[Input, str]]:
    """The findings that the calculator counts and the note leaves out, each with the name of its wordings."""
    inputs = {item.parameter: item for item in chart.calculator.inputs}
    steps = [[part for part in step if isinstance(part, str)] for step in _steps(chart.calculator, "find")]
    found = [(inputs[step[0]], step[-1]) for step in steps if inputs[step[0]].name not in chart.entities]
    return draw.shuffled(found)


Gold = Result | str | None
"""The answer, or the notice that there is none; None where a family has no such member."""


def _stays(chart: Chart, subject: _Subject, draw: Draw, result: Result) -> Gold:
    return result


def _threshold(chart: Chart, subject: _Subject, draw: Draw, result: Result) -> Gold:
    if subject.kind == "finding":
        chart.state(FINDINGS[subject.said[1]], there=True)
        chart.entities[subject.item.name] = True
    return chart.calculator.calculate(chart.entities)


def _missing(chart: Chart, subject: _Subject, draw: Draw, result: Result) -> Gold:
    if subject.item.absent is not REQUIRED:
        return None
    if subject.kind == "age":
        person = chart.person
        chart.person = _Ageless(person.sex, person.age, person.months, person.initials)
    else:
        attribute, at, place = subject.place
        statements = getattr(chart, attribute)
        del statements[at][place]
        if not statements[at]:
            del statements[at]
    del chart.entities[subject.item.name]
    if subject.spoken == "blood pressure":  # its two values are one statement
        chart.entities.pop("Diastolic Blood Pressure", None)
        chart.entities.pop("Systolic Blood Pressure", None)
    return f"missing: {subject.spoken}"


def _contradiction(chart: Chart, subject: _Subject, draw: Draw, result: Result) -> Gold:
    if subject.kind == "finding":
        return None
    _write(chart, subject, _TEXTS["brief_second" if chart.brief else "second"][subject.kind])
    del chart.entities[subject.item.name]
    return f"contradiction: {subject.spoken}"


def _write(chart: Chart, subject: _Subject, frame: str, draw: Draw | None = None) -> None:
    """Writes the subject's other value into a sentence of the note."""
    said = subject.said[1]
    if isinstance(said, Reading):
        frame = frame.replace("{name}", said.name).replace("{short}", said.short).replace("{text}", said.text)
    place: Any = _PLACES.get(subject.kind, "tests")
    if subject.kind == "words" and subject.place[0] == "sentences":
        place = subject.place[1]
    sibling = "brother" if chart.person.sex == "male" else "sister"  # of the sex of the pronouns quoted
    chart.say(place, frame.replace("{text}", str(said)).replace("{sibling}", sibling))


def _unit(chart: Chart, subject: _Subject, draw: Draw, result: Result) -> Gold:
    stated = [(at, place) for at, each in chart.values.items() for place in range(len(each))]
    names = {id(entity): name for name, entity in chart.entities.items()}
    for at, place in draw.shuffled(stated):
        old = chart.values[at][place]
        name = names.get(id(old.entity))
        for new in _rewritten(old, draw) if name else ():
            made = chart.calculator.calculate({**chart.entities, name: new.entity})
            if _alike(result, made) and all(
                _alike(result, chart.calculator.calculate({**chart.entities, name: each}))
                for each in _beside(new.entity)
            ):
                chart.values[at][place] = new
                chart.entities[name] = new.entity
                return made
    return None


def _alike(one: Result, other: Result) -> bool:
    if isinstance(one.answer, float) and isinstance(other.answer, float):
        return abs(one.answer - other.answer) <= 2 * _SAME * abs(one.answer)
    return one.answer == other.answer


def _beside(entity: object) -> list[object]:
    """The value a little lower and higher: the unit's printed thresholds may lie there."""
    if isinstance(entity, list) and len(entity) == 2 and not isinstance(entity[0], str):
        return [[entity[0] * factor, entity[1]] for factor in (1 - _SAME, 1 + _SAME)]
    return []


def _rewritten(reading: Reading, draw: Draw) -> Iterator[Reading]:
    """The same value in the other units that notes use for it."""
    unit = reading.entity[-1] if isinstance(reading.entity, list) else ""
    unit = "ft in" if isinstance(reading.entity, list) and len(reading.entity) == 4 else unit
    for amount in AMOUNTS.values():
        own = [form for form in amount.forms if form.unit == unit and reading.name in (form.names or amount.names)]
        for form in draw.shuffled(amount.forms) if own else ():
            grid = form.grid(reading.base)
            if form.unit != unit and abs(form.base(grid) / reading.base - 1) <= _SAME:
                name = draw.pick(form.names or amount.names) if form.names or own[0].names else reading.name
                short = draw.pick(form.short or amount.short) if form.short or own[0].short else reading.short
                yield Reading(form.entity(grid), form.text(grid, draw), name, short, form.base(grid))


def _distractor(chart: Chart, subject: _Subject, draw: Draw, result: Result) -> Gold:
    """More distractors; sections of another kind of note, where there is one, and all within them in another order."""
    styles = [style for style in _styles(chart) if style not in (chart.style, "telegraphic")]
    if styles and not chart.brief:  # what a telegraphic note says is no prose
        chart.style = draw.pick(styles)
    return result


def _styles(chart: Chart) -> list[Any]:
    return list(read_json("cases.json")["settings"][chart.setting]["styles"])


def _negated(chart: Chart, subject: _Subject, draw: Draw, result: Result) -> Gold:
    """Denies a finding, or tells of a relative's, and states the subject's other value as another time's or person's."""
    if subject.kind != "finding":
        _write(chart, subject, draw.pick(_TEXTS["elsewhere"][subject.kind]))
    for item, name in _unstated(chart, draw)[:1]:
        chart.state(FINDINGS[name], there=False)
        chart.entities[item.name] = False
    return result


_MEMBERS: Final = {
    "base": _stays,
    "threshold": _threshold,
    "missing": _missing,
    "contradiction": _contradiction,
    "unit": _unit,
    "distractor": _distractor,
    "negated": _negated,
}
