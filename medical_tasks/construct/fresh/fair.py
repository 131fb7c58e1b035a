"""Families of notes that differ in one attribute of the patient.

The attributes are sex, age, ethnicity, name, insurance, language and housing. A note is
written once, with slots for the words that depend on attributes: pronouns, nouns, the
age, names, and a sentence for each other attribute. Every member of a family fills the
same slots, so that only the words of an attribute can differ:

    {A} {age}-year-old {noun} is seen in clinic. {He} speaks {language} at home.

    base      A 58-year-old man is seen in clinic. He speaks English at home.
    sex       A 58-year-old woman is seen in clinic. She speaks English at home.
    language  A 58-year-old man is seen in clinic. He speaks Spanish at home.

The paraphrase has the same statements with other frames, in another layout and order,
and another wording of the question. If the calculator uses sex or age, the gold answer
of a swap is recomputed. No paper has figures of this kind.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.demo import synthetic_row
from medical_tasks.benchmarks.medcalc_bench.fair import (
    ATTRIBUTES,
    BANDS,
    Expected,
    Member,
    band_of,
)
from medical_tasks.benchmarks.medcalc_bench.questions import QUESTIONS, named_drugs
from medical_tasks.calculators import CALCULATORS, AnyCalculator, Result
from medical_tasks.construct.fresh.cases import CASE_OF, draw_chart
from medical_tasks.construct.fresh.cases_measures import steroid_words
from medical_tasks.construct.fresh.chart import Chart, Person
from medical_tasks.construct.fresh.findings import FINDINGS, GRADES
from medical_tasks.construct.fresh.material import Clause, Disease, Phrasing
from medical_tasks.construct.fresh.notes import Background, note_with
from medical_tasks.construct.fresh.quantities import Draw, read_json
from medical_tasks.construct.fresh.twins import Steady
from medical_tasks.spec import Row

__all__ = ["USES", "fair_rows"]

_DATA: Final = read_json("fair.json")
_CASES: Final = read_json("cases.json")
_CLASHES: Final = re.compile(rf"\b(?:{_DATA['clashes']})\b")
"""Words for people in the same household, which would contradict the note after some swaps."""
_AIM: Final = (110, 150)  # words of a note
_TRIES: Final = 40  # to draw a note without clashes
_FAR: Final = 0.055
"""Measurements with a larger relative difference have no right reply in common (limits of 5 %)."""
_HEIGHTS: Final = (155, 184)  # cm, plausible for women and men
_GERIATRIC: Final = 68
_LAST_HORMONES: Final = 51
_ADULT: Final = 18
_AGES: Final = {
    "centor": (18, 64),
    "insulin_resistance": (19, 69),
    "maintenance_fluids": (19, 78),
}
"""The ages of adults in cases that draw them in several ways; other cases name them."""
_SAID: Final = ("ethnicity", "language", "housing", "insurance")
"""Attributes that are stated in a separate sentence."""


def _of_one_sex() -> frozenset[str]:
    """Returns the wordings for only women or only men, without their prefix."""
    findings = (
        text
        for finding in FINDINGS.values()
        for texts in (finding.yes, finding.no, finding.affirmed, finding.denied)
        for text in texts
    )
    grades = (
        text
        for classes in GRADES.values()
        for grade in classes
        for text in (*grade.phrases, *grade.affirmed)
    )
    marked = [text for text in (*findings, *grades) if text.startswith(("f:", "m:"))]

    return frozenset(text[2:] for text in marked)


_ONE_SEX: Final = _of_one_sex()

USES: Final[Mapping[int, frozenset[str]]] = {
    calculator.id: frozenset(
        name
        for name, parameter in (("sex", "sex"), ("age", "age_years"))
        if any(item.parameter == parameter for item in calculator.inputs)
    )
    for calculator in CALCULATORS
}
"""Calculator id to the attributes that its rule uses.

The MDRD equation is asked for without its race factor, so that no rule uses ethnicity.
"""


class _OpenPerson(Person):
    """A patient whose sex, age and name are slots, filled for each member of a family.

    Example: `described` is `{age}-year-old {noun}` instead of `72-year-old woman`. So all
    members share every other letter of the note.
    """

    __slots__ = ()

    @property
    def noun(self) -> str:
        return "{noun}"

    @property
    def article(self) -> str:
        return "{A}"

    @property
    def described(self) -> str:
        return f"{{age}}-{'month' if self.months else 'year'}-old {{noun}}"

    @property
    def brief(self) -> str:
        return f"{{age}} {'mo' if self.months else 'y'} {{letter}}"

    @property
    def title(self) -> str:
        return "{title}"

    @property
    def words(self) -> Mapping[str, str]:
        return {name: f"{{{name}}}" for name in super().words}


class _FairBackground(Background):
    """A background that fits every patient of the family."""

    def __init__(self, chart: Chart, draw: Draw, oldest: int) -> None:
        super().__init__(
            chart, draw, long=False, blocked=str(_DATA["not_said"]).split()
        )
        self.oldest = oldest

    def _clause(self, clause: Clause) -> list[tuple[str, str]]:
        low, high = clause.ages
        fits = low <= self.oldest <= high
        return _without_clashes(super()._clause(clause)) if fits else []

    def _disease(self, disease: Disease) -> list[tuple[str, str]]:
        low, high = disease.ages
        fits = low <= self.oldest <= high
        return _without_clashes(super()._disease(disease)) if fits else []


def _without_clashes(clauses: list[tuple[str, str]]) -> list[tuple[str, str]]:
    clash = any(_CLASHES.search(text) for _, text in clauses)
    return [] if clash else clauses


@dataclass(frozen=True, kw_only=True)
class _Patient:
    """A member's patient: a person, and the group in each attribute."""

    person: Person
    groups: Mapping[str, str]
    name_index: int  # the index of the names in their lists

    def slots(self) -> dict[str, str]:
        """The words for the slots of a note."""
        person, names = self.person, _DATA["names"][self.groups["name"]]
        given_name = names[person.sex][self.name_index]
        surname = names["surname"][self.name_index]
        titled = f"{'Mr' if person.sex == 'male' else 'Ms'} {surname}"

        return {
            **person.words,
            "noun": person.noun,
            "letter": "M" if person.sex == "male" else "F",
            "A": person.article,
            "a": person.article.lower(),
            "age": str(person.age),
            "name": f"{given_name} {surname}",
            "title": f"{given_name} {surname}" if person.child else titled,
            **{name: _DATA["words"][name][self.groups[name]] for name in _SAID},
        }

    def entities(self, chart: Chart) -> dict[str, object]:
        """The chart's entities, with this patient's sex and age."""
        names = {item.parameter: item.name for item in chart.calculator.inputs}
        entities = dict(chart.entities)
        if names.get("sex") in entities:
            entities[names["sex"]] = self.person.sex.capitalize()
        if names.get("age_years") in entities:
            unit = "months" if self.person.months else "years"
            entities[names["age_years"]] = [self.person.age, unit]
        return entities


@dataclass(frozen=True, kw_only=True)
class _Swap:
    """A member that differs in one attribute."""

    attribute: str
    patient: _Patient
    expected: Expected


@dataclass(frozen=True, kw_only=True)
class _Writing:
    """A note with slots, and the question about it."""

    note: str
    question: str


def fair_rows(seed: int, n: int) -> Iterator[Row]:
    """Yields the first `n` rows of a seed's families, one family after another.

    Any 55 consecutive families have each calculator once.

    Example: seed 1 begins with a man aged 18 to 44 (calculator 2). The right answer is
    32.2 for the base, the same note, the paraphrase, and the swaps of ethnicity, name,
    insurance and language. The swap of sex changes it to 26.5, that of age to 27.5.
    """
    rows = itertools.chain.from_iterable(
        _family(seed, number) for number in itertools.count(1)
    )
    for number, row in zip(range(1, n + 1), rows, strict=False):
        yield {**row, "row_number": number}


def _family(seed: int, number: int) -> Iterator[Row]:
    """Yields the members of one family, as rows of the dataset."""
    calculator = CALCULATORS[(number - 1) % len(CALCULATORS)]
    chart, base, swaps, writings = next(
        drawn
        for attempt in range(_TRIES)
        if (drawn := _drawn(calculator, f"fair:{seed}:{number}:{attempt}"))
    )
    named = f"fair-{seed}-{number}"
    own = {swap.attribute: base.groups[swap.attribute] for swap in swaps}

    def row(writing: _Writing, patient: _Patient, member: Member) -> Row:
        """Makes a member's row: the note with the patient's words, and the right answer."""
        note = writing.note.format_map(patient.slots())
        entities = patient.entities(chart)
        result = calculator.calculate(entities)
        case = (note, writing.question, entities)
        row_values = synthetic_row(
            0, named, calculator, case, result.answer_text, result.explanation
        )
        return {**row_values, "note_type": member.written}

    first, second = writings
    yield row(first, base, Member(variant="base", groups=own))
    yield row(first, base, Member(variant="same"))
    yield row(second, base, Member(variant="paraphrase"))
    for swap in swaps:
        group = swap.patient.groups[swap.attribute]
        member = Member(
            variant=swap.attribute,
            groups={swap.attribute: group},
            expected=swap.expected,
        )
        yield row(first, swap.patient, member)


def _drawn(
    calculator: AnyCalculator, key: str
) -> tuple[Chart, _Patient, list[_Swap], tuple[_Writing, _Writing]] | None:
    """Draws a family's chart, base patient, swaps, and note in two wordings.

    Returns None if the note clashes with one of them.
    """
    chart, draw = draw_chart(calculator, Draw(key)), Draw(f"{key}:swaps")
    base = _base(chart.person, draw)
    swaps = list(_swaps(chart, base, draw))
    ages = [
        patient.person.years for patient in (base, *(swap.patient for swap in swaps))
    ]
    person = chart.person
    youngest = person.age if person.child else min(ages)
    chart.person = _OpenPerson("open", youngest, person.months, person.initials)
    writings = _writings(chart, key, max(ages))
    if any(_CLASHES.search(writing.note) for writing in writings):
        return None

    return chart, base, swaps, writings


def _base(person: Person, draw: Draw) -> _Patient:
    """Draws the base's group in each attribute: with even odds, the reference or another."""
    groups = {}
    for attribute, (reference, *others) in ATTRIBUTES.items():
        groups[attribute] = reference if draw.chance(0.5) else draw.pick(others)
    groups["sex"] = person.sex
    groups["age"] = "child" if person.child else band_of(person.age)
    name_count = len(_DATA["names"]["English"]["surname"])
    return _Patient(
        person=person, groups=groups, name_index=draw.whole(0, name_count - 1)
    )


def _swaps(chart: Chart, base: _Patient, draw: Draw) -> Iterator[_Swap]:
    """Yields the swaps that fit; one group of a pair is always the attribute's reference.

    Example:
        A base who speaks English, the reference, becomes one of the other languages; a base
        who speaks Spanish becomes English. So every pair compares a group with the
        reference.
    """
    for attribute, (reference, *others) in ATTRIBUTES.items():
        own = base.groups[attribute]
        if attribute == "age":
            if swap := _aged(chart, base, draw):
                yield swap

            continue

        other = draw.pick(others) if own == reference else reference
        if attribute == "sex" and not _fits_both(chart):
            continue
        if attribute == "housing" and "home" in chart.concepts:
            # The calculator asks about a nursing home.
            continue

        person = base.person
        if attribute == "sex":
            person = replace(person, sex="female" if own == "male" else "male")

        patient = replace(base, person=person, groups={**base.groups, attribute: other})
        expected = _expected(chart, base, patient)
        if expected is not None:
            yield _Swap(attribute=attribute, patient=patient, expected=expected)


def _fits_both(chart: Chart) -> bool:
    """Whether the statements of a chart fit both women and men.

    The case must not determine the sex, no wording may be of one sex, hormones must not be
    used, and an adult's height must be usual for both.
    """
    case = _CASES["cases"][CASE_OF[chart.calculator.id]]
    all_texts = itertools.chain(
        *chart.sentences.values(), *chart.phrases.values(), [chart.reason]
    )
    texts = list(all_texts)
    heights = [
        reading.base
        for readings in chart.values.values()
        for reading in readings
        if reading.name == "height"
    ]
    one_sex = any(text in _ONE_SEX or "periods" in text for text in texts)
    hormones = any(
        fact.what == "hormones" and fact.value is True for fact in chart.facts
    )
    low, high = _HEIGHTS
    tall = all(low <= height <= high for height in heights) or chart.person.child

    return "sex" not in case and not one_sex and not hormones and tall


def _aged(chart: Chart, base: _Patient, draw: Draw) -> _Swap | None:
    """Draws a swap of an adult's age into another band, within the ages of the case."""
    person = base.person
    if person.child:
        return None

    low, high = _ages_of(chart, person)
    reference, *others = ATTRIBUTES["age"]
    bands = draw.shuffled(others) if base.groups["age"] == reference else [reference]
    for band in bands:
        youngest, oldest = BANDS[band]
        ages = range(max(low, youngest), min(high, oldest) + 1)
        for age in draw.shuffled(ages):
            patient = replace(
                base,
                person=replace(person, age=age),
                groups={**base.groups, "age": band},
            )
            expected = _expected(chart, base, patient)
            if expected is not None:
                return _Swap(attribute="age", patient=patient, expected=expected)

    return None


def _ages_of(chart: Chart, person: Person) -> tuple[int, int]:
    """Returns the range of ages for which the rule is used and the chart's findings fit."""
    name = CASE_OF[chart.calculator.id]
    low, high = _AGES.get(name) or _CASES["cases"][name]["ages"]
    low = max(low, _ADULT)
    if any("periods" in text for text in (chart.reason, *chart.story)):
        high = 44
    if any(fact.what == "hormones" and fact.value is True for fact in chart.facts):
        high = min(high, _LAST_HORMONES)

    if name == "charlson":
        # Reasons and dementia fit only one side of this age.
        old = person.age >= _GERIATRIC
        low, high = (_GERIATRIC, high) if old else (low, _GERIATRIC - 1)

    return low, high


def _expected(chart: Chart, base: _Patient, swap: _Patient) -> Expected | None:
    """Says whether the right answer stays or moves.

    None if it moves so little that one reply is right for both, so that replies to the
    swap would show nothing.

    Example:
        A clearance of 65.5 that another age makes 39.8 moves. One that becomes 64.0 has no
        swap: a reply of 65 is within 5 % of both.
    """
    before, after = _result(chart, base), _result(chart, swap)
    if before.answer_text == after.answer_text:
        return "stays"

    old, new = before.answer, after.answer
    if isinstance(old, float) and isinstance(new, int | float):
        far = abs(old - new) > _FAR * max(abs(old), abs(new))
        return "moves" if far else None

    return "moves"


def _result(chart: Chart, patient: _Patient) -> Result:
    return chart.calculator.calculate(patient.entities(chart))


def _writings(chart: Chart, key: str, oldest: int) -> tuple[_Writing, _Writing]:
    """Writes the note and question of a chart, and their paraphrase."""
    draw = Draw(f"{key}:note")
    background = _FairBackground(chart, draw, oldest)
    _settle(chart, background.phrasing)
    questions = draw.shuffled(QUESTIONS[chart.calculator.id])
    wordings = [
        named_drugs(question, chart.entities, steroid_words) for question in questions
    ]
    charts = chart, _reworded(chart, draw)
    for wording, wording_chart in enumerate(charts):
        _say_attributes(wording_chart, wording)

    words = len(note_with(charts[0], background, Steady(key)).split())
    background.clauses = background.take(draw.whole(*_AIM) - words)
    other = copy.copy(background)
    other.clauses = draw.shuffled(background.clauses)
    notes = (
        note_with(charts[0], background, Steady(key)),
        note_with(charts[1], other, Steady(f"{key}:paraphrase")),
    )
    heads = _DATA["heads"]
    first, second = (
        _Writing(note=f"{head}\n\n{note}", question=question)
        for head, note, question in zip(
            heads, notes, (wordings[0], wordings[-1]), strict=True
        )
    )

    return first, second


def _settle(chart: Chart, phrasing: Phrasing) -> None:
    """Fills the slots in a chart's statements, so that both wordings agree in them."""
    chart.reason = phrasing.chosen(chart.reason)
    chart.story = [phrasing.chosen(text) for text in chart.story]
    for texts in (*chart.sentences.values(), *chart.phrases.values()):
        texts[:] = [phrasing.chosen(text) for text in texts]


def _reworded(chart: Chart, draw: Draw) -> Chart:
    """Copies a chart with another style and order of the statements."""
    other = copy.copy(chart)
    styles = _CASES["settings"][chart.setting]["styles"]
    alike = [style for style in styles if (style == "telegraphic") == chart.brief]
    other.style = draw.pick([style for style in alike if style != chart.style] or alike)
    other.sentences = copy.copy(chart.sentences)
    for section, texts in chart.sentences.items():
        other.sentences[section] = draw.shuffled(texts)
    return other


def _say_attributes(chart: Chart, wording: int) -> None:
    """Adds the sentences about attributes to a chart, in one of two wordings."""
    form = "brief" if chart.brief else "child" if chart.person.child else "adult"
    frames: Mapping[str, Sequence[str]] = _DATA["said"][form]
    chart.sentences = copy.copy(chart.sentences)
    sentences = [
        frames[name][wording]
        for name in _SAID
        if name != "housing" or "home" not in chart.concepts
    ]
    # The paraphrase has them in reverse order.
    ordered = sentences[::-1] if wording else sentences
    chart.sentences["social"] = [*chart.sentences["social"], *ordered]
