"""Rows of the `fresh` configuration: case, question, note and answer, put together.

Where published variants of a rule differ, every wording of the question names the variant of the dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench.demo import synthetic_row
from medical_tasks.benchmarks.medcalc_bench.fresh.cases import draw_chart
from medical_tasks.benchmarks.medcalc_bench.fresh.cases_measures import steroid_words
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart, Fact
from medical_tasks.benchmarks.medcalc_bench.fresh.notes import ASKED, note_of
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import Draw, read_json
from medical_tasks.calculators import CALCULATORS, AnyCalculator, Result

__all__ = ["QUESTIONS", "FreshItem", "draw_item", "fresh_row", "fresh_rows", "named_drugs"]


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
    question = draw.pick(QUESTIONS[calculator.id])
    question = named_drugs(question, chart.entities, steroid_words)
    note, others = note_of(chart, long=level > 1)
    if level > 1:
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
