"""Rows of the `fresh` configuration: chart, note, question and the calculator's answer, put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.demo import decimal_limits
from medical_tasks.benchmarks.medcalc_bench.entities import canonical_entities
from medical_tasks.benchmarks.medcalc_bench.fresh.background import add_background
from medical_tasks.benchmarks.medcalc_bench.fresh.cases import CASES
from medical_tasks.benchmarks.medcalc_bench.fresh.cases_drugs import steroid_words
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.questions import QUESTIONS
from medical_tasks.benchmarks.medcalc_bench.fresh.styles import note_text
from medical_tasks.calculators import CALCULATORS, AnyCalculator, Result

__all__ = ["FreshItem", "draw_item", "fresh_row", "fresh_rows"]

SHORTEST, LONGEST = 60, 250
"""Words of a note, at least and at most."""

_AIM, _BRIEF_AIM = (80, 125), (72, 95)


@dataclass(frozen=True, slots=True)
class FreshItem:
    """One drawn question.

    Attributes:
        calculator: what is asked for.
        note: the note.
        question: the question.
        entities: what the note says of the calculator's inputs.
        result: the calculator's answer with its steps.
    """

    calculator: AnyCalculator
    note: str
    question: str
    entities: Mapping[str, object]
    result: Result


def draw_item(calculator: AnyCalculator, key: str) -> FreshItem:
    """Draws a patient for a calculator.

    Args:
        calculator: one of the 55.
        key: seeds the draws; the item depends on calculator and key alone.

    Returns:
        The item.
    """
    draw = Draw(key)
    chart = CASES[calculator.id](calculator, draw)
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
    """Makes one row.

    Args:
        seed: of the whole set.
        n: number of the row, from 1; calculators take turns, so 55 rows in a row hold each once.

    Returns:
        The row, with the names and types of the released rows. It depends on `seed` and `n` alone.
    """
    item = draw_item(CALCULATORS[(n - 1) % len(CALCULATORS)], f"{seed}:{n}")
    calculator, answer = item.calculator, item.result.answer_text
    low, high = decimal_limits(answer) if calculator.output == "decimal" else (answer, answer)
    return {
        "row_number": n,
        "calculator_id": calculator.id,
        "calculator_name": calculator.name,
        "category": calculator.category,
        "output_type": calculator.output,
        "note_id": f"fresh-{seed}-{n}",
        "note_type": "Synthetic",
        "patient_note": item.note,
        "question": item.question,
        "relevant_entities": canonical_entities(repr(dict(item.entities))),
        "ground_truth_answer": answer,
        "lower_limit": low,
        "upper_limit": high,
        "ground_truth_explanation": item.result.explanation,
        "source_category": calculator.category,
    }


def fresh_rows(seed: int, n: int) -> Iterator[dict[str, Any]]:
    """Makes the rows of a set.

    Args:
        seed: any whole number; another seed gives other questions.
        n: how many.

    Yields:
        The rows in order; those of a smaller set of the same seed are the first of a larger one.
    """
    for number in range(1, n + 1):
        yield fresh_row(seed, number)
