"""Rows of the `fresh` configuration, with note, question and answer.

If published variants of a rule differ, every wording of the question names the variant
of the dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.demo import synthetic_row
from medical_tasks.benchmarks.medcalc_bench.questions import QUESTIONS, named_drugs
from medical_tasks.calculators import CALCULATORS, AnyCalculator, Result
from medical_tasks.construct.fresh.cases import draw_chart
from medical_tasks.construct.fresh.cases_measures import steroid_words
from medical_tasks.construct.fresh.chart import Chart, Fact
from medical_tasks.construct.fresh.notes import ASKED, note_of
from medical_tasks.construct.fresh.quantities import Draw

__all__ = ["FreshItem", "draw_item", "fresh_row", "fresh_rows"]


@dataclass(frozen=True, slots=True)
class FreshItem:
    """One drawn question.

    Attributes:
        entities: The calculator's inputs in the note.
        others: Old or copied statements about the inputs, and those about somebody else.
    """

    calculator: AnyCalculator
    note: str
    question: str
    entities: Mapping[str, object]
    result: Result
    chart: Chart
    others: Sequence[Fact] = ()


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


def fresh_row(seed: int, n: int, level: int = 2) -> dict[str, Any]:
    """Makes the `n`-th row, from 1, with the columns of the released rows.

    Any 55 consecutive rows have each calculator once.
    """
    item = draw_item(CALCULATORS[(n - 1) % len(CALCULATORS)], f"{seed}:{n}", level)
    case, result = (item.note, item.question, dict(item.entities)), item.result
    name = f"fresh-{seed}-{n}" + f"-{level}" * (level > 1)
    return synthetic_row(
        n, name, item.calculator, case, result.answer_text, result.explanation
    )


def fresh_rows(seed: int, n: int, level: int = 2) -> Iterator[dict[str, Any]]:
    """Yields the first `n` rows of a seed, in order."""
    for number in range(1, n + 1):
        yield fresh_row(seed, number, level)
