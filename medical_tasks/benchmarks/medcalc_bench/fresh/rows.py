"""Rows of the `fresh` configuration: case, question, note and answer, put together.

Where published variants of a rule differ, every wording of the question names the variant of the dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.demo import synthetic_row
from medical_tasks.benchmarks.medcalc_bench.fresh.cases import draw_chart
from medical_tasks.benchmarks.medcalc_bench.fresh.cases_measures import steroid_words
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import (
    Chart,
    Fact,
    Remark,
    Setting,
    note_text,
    remark,
    settings_of,
)
from medical_tasks.benchmarks.medcalc_bench.fresh.findings import Finding, finding
from medical_tasks.benchmarks.medcalc_bench.fresh.long_notes import ASKED, long_note
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import (
    AMOUNTS,
    Draw,
    background,
    read_json,
)
from medical_tasks.calculators import CALCULATORS, AnyCalculator, Result

__all__ = ["QUESTIONS", "FreshItem", "draw_item", "fresh_row", "fresh_rows", "named_drugs"]


_AIM, _BRIEF_AIM = (80, 125), (72, 95)


QUESTIONS: Final[Mapping[int, Sequence[str]]] = {
    int(key): texts for key, texts in read_json("questions.json").items()
}


@dataclass(frozen=True, slots=True)
class FreshItem:
    """One drawn question."""

    calculator: AnyCalculator
    note: str
    question: str
    entities: Mapping[str, object]  # what the note says of the calculator's inputs
    result: Result
    chart: Chart
    others: Sequence[
        Fact
    ] = ()  # what the note says of the inputs that is old, copied or of somebody else


def draw_item(calculator: AnyCalculator, key: str, level: int = 1) -> FreshItem:
    """Draws a patient for a calculator; the item depends on calculator, key and level alone."""
    draw = Draw(key if level == 1 else f"{key}:{level}")
    chart = draw_chart(calculator, draw)
    others: Sequence[Fact] = ()
    if level == 1:
        aim = draw.whole(*(_BRIEF_AIM if chart.brief else _AIM))
        add_background(chart, _words(chart), aim)
    question = draw.pick(QUESTIONS[calculator.id])
    question = named_drugs(question, chart.entities, steroid_words)
    if level == 1:
        note = note_text(chart)
    else:
        note, others = long_note(chart)
        question = f"{question} {draw.pick(ASKED)}"
    return FreshItem(
        calculator,
        note,
        question,
        chart.entities,
        calculator.calculate(chart.entities),
        chart,
        others,
    )


def named_drugs(
    question: str, entities: Mapping[str, Any], words: Callable[[str], str] = str
) -> str:
    """The question of the calculator that converts a steroid names both drugs, in `words` of their names in the entities."""
    if "{source}" not in question:
        return question
    source, target = entities["input steroid"][0], entities["target steroid"]
    return question.replace("{source}", words(source)).replace("{target}", words(target))


def _words(chart: Chart) -> int:
    """About how long the note is already: its frame and everything stated so far."""
    parts = [*chart.story]
    parts += [
        text for texts in (*chart.sentences.values(), *chart.phrases.values()) for text in texts
    ]
    parts += [
        reading.written(brief=chart.brief)
        for readings in chart.values.values()
        for reading in readings
    ]
    return (
        (5 if chart.brief else 12)
        + len(chart.reason.split())
        + sum(len(part.split()) for part in parts)
    )


def fresh_row(seed: int, n: int, level: int = 2) -> dict[str, Any]:
    """The `n`-th row, from 1, with the names and types of the released rows; 55 rows in a row hold each calculator once."""
    item = draw_item(CALCULATORS[(n - 1) % len(CALCULATORS)], f"{seed}:{n}", level)
    asked, result = (item.note, item.question, dict(item.entities)), item.result
    name = f"fresh-{seed}-{n}" + f"-{level}" * (level > 1)
    return synthetic_row(n, name, item.calculator, asked, result.answer_text, result.explanation)


def fresh_rows(seed: int, n: int, level: int = 2) -> Iterator[dict[str, Any]]:
    """The first `n` rows of a seed's set, in order."""
    for number in range(1, n + 1):
        yield fresh_row(seed, number, level)


# Distractors: what a note says besides, which the calculator does not use. Each carries the concepts it tells of; a note whose
# calculator needs one of these does not get it.

Aside: TypeAlias = tuple[frozenset[str], Finding, float]
"""Where a finding by the way can be written, the finding, and how often it is there."""


_DATA: Final = read_json("remarks.json")
REMARKS: Final = tuple(
    remark(place, line) for place, lines in _DATA["remarks"].items() for line in lines
)
ASIDES: Final[tuple[Aside, ...]] = tuple(
    (settings_of(settings), finding(kind, concepts, yes=yes, no=no), share)
    for settings, kind, concepts, yes, no, share in _DATA["asides"]
)


_MOST_WORDS: Final = 225
_MOST_VITALS, _MOST_LABS = 3, 4
_FEWEST: Final = 2
_MOST_ASIDES: Final = 5


@lru_cache(maxsize=1024)
def _candidates(
    setting: Setting, concepts: frozenset[str], asides: bool
) -> tuple[Remark | Aside, ...]:
    remarks = (
        remark
        for remark in REMARKS
        if setting in remark.settings and not remark.concepts & concepts
    )
    findings = (
        aside
        for aside in ASIDES
        if asides and setting in aside[0] and not aside[1].concepts & concepts
    )
    return (*remarks, *findings)


def add_background(chart: Chart, words: int, least: int) -> None:
    """Adds distractors, one or two at least, to a complete chart until its note, now of `words` words, has `least`."""
    draw = chart.draw
    words += _add_values(chart, room=words < least - 20)
    talks = chart.voice != "none"
    blocked = chart.concepts if talks else chart.concepts | {"talk"}
    told: set[str] = (
        set()
    )  # two remarks on one topic (two homes, two allergies) would contradict each other
    count = asides = 0
    for candidate in draw.shuffled(_candidates(chart.setting, frozenset(blocked), talks)):
        if (words >= least and count >= _FEWEST) or words >= _MOST_WORDS:
            break
        if isinstance(candidate, Remark):
            if candidate.concepts & told or not candidate.fits(chart.person):
                continue
            told |= candidate.concepts
            text = candidate.brief if chart.brief else candidate.text
            chart.say(candidate.place, text)
            words += len(text.split())
        else:
            _, entry, present = candidate
            if entry.concepts & told or asides == _MOST_ASIDES:
                continue
            told |= entry.concepts
            chart.state(entry, there=draw.chance(present))
            words += 2
            asides += 1
        count += 1


def _add_values(chart: Chart, *, room: bool) -> int:
    draw = chart.draw
    taken = set(chart.concepts)
    added = 0
    # Usual values are those of adults; what is usual in a child or in pregnancy depends on too much.
    vitals = (
        [AMOUNTS["temperature"], AMOUNTS["spo2"]] if chart.person.child else background("vitals")
    )
    labs = [] if chart.person.child or chart.setting == "obstetric" else background("labs")
    for pool, most in ((vitals, _MOST_VITALS), (labs, _MOST_LABS)):
        if not draw.chance(0.75 if room else 0.4):
            continue
        for amount in draw.some(pool, draw.whole(1, most)):
            if amount.concepts & taken:
                continue
            if (
                "red" in amount.concepts
            ):  # hemoglobin and hematocrit drawn apart might not fit each other
                taken.add("red")
            low, high = amount.usual
            reading = amount.read(draw, chart.system, low, high)
            chart.note_value(amount.place, reading)
            added += len(reading.written(brief=chart.brief).split())
    return added
