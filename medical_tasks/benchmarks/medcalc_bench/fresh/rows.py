"""Rows of the `fresh` configuration: case, question, note and answer, put together.

Where published variants of a rule differ, every wording of the question names the variant of the dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench.demo import synthetic_row
from medical_tasks.benchmarks.medcalc_bench.fresh.cases import draw_chart
from medical_tasks.benchmarks.medcalc_bench.fresh.cases_measures import steroid_words
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart, note_text
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import Draw, read_json
from medical_tasks.benchmarks.medcalc_bench.fresh.remarks import add_background
from medical_tasks.calculators import CALCULATORS, AnyCalculator, Result

__all__ = ["LONGEST", "QUESTIONS", "SHORTEST", "FreshItem", "draw_item", "fresh_row", "fresh_rows"]


SHORTEST, LONGEST = 60, 250
"""Words of a note, at least and at most."""

_AIM, _BRIEF_AIM = (80, 125), (72, 95)


QUESTIONS: Final[Mapping[int, Sequence[str]]] = {int(key): texts for key, texts in read_json("questions.json").items()}


@dataclass(frozen=True, slots=True)
class FreshItem:
    """One drawn question."""

    calculator: AnyCalculator
    note: str
    question: str
    entities: Mapping[str, object]  # what the note says of the calculator's inputs
    result: Result


def draw_item(calculator: AnyCalculator, key: str) -> FreshItem:
    """Draws a patient for a calculator; the item depends on calculator and key alone."""
    draw = Draw(key)
    chart = draw_chart(calculator, draw)
    aim = draw.whole(*(_BRIEF_AIM if chart.brief else _AIM))
    add_background(chart, _words(chart), aim)
    question = draw.pick(QUESTIONS[calculator.id])
    if calculator.slug == "steroid_conversion":
        source, target = chart.entities["input steroid"], chart.entities["target steroid"]
        question = question.replace("{source}", steroid_words(source[0])).replace("{target}", steroid_words(target))  # type: ignore[index, arg-type]
    return FreshItem(calculator, note_text(chart), question, chart.entities, calculator.calculate(chart.entities))


def _words(chart: Chart) -> int:
    """About how long the note is already: its frame and everything stated so far."""
    parts = [*chart.story]
    parts += [text for texts in (*chart.sentences.values(), *chart.phrases.values()) for text in texts]
    parts += [reading.written(brief=chart.brief) for readings in chart.values.values() for reading in readings]
    return (5 if chart.brief else 12) + len(chart.reason.split()) + sum(len(part.split()) for part in parts)


def fresh_row(seed: int, n: int) -> dict[str, Any]:
    """The `n`-th row, from 1, with the names and types of the released rows; 55 rows in a row hold each calculator once."""
    item = draw_item(CALCULATORS[(n - 1) % len(CALCULATORS)], f"{seed}:{n}")
    asked = (item.note, item.question, dict(item.entities))
    result = item.result
    return synthetic_row(n, f"fresh-{seed}-{n}", item.calculator, asked, result.answer_text, result.explanation)


def fresh_rows(seed: int, n: int) -> Iterator[dict[str, Any]]:
    """The first `n` rows of a seed's set, in order."""
    for number in range(1, n + 1):
        yield fresh_row(seed, number)
