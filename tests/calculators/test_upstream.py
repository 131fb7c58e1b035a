"""The published rules against real inputs: checked fixtures, and the labels of the v1.0 test split."""

from __future__ import annotations

import ast
import json
from functools import cache
from typing import Any

import pytest

from medical_tasks.calculators import (
    CALCULATORS,
    AnyCalculator,
    CalculatorInputError,
    calculate,
    find,
)
from tests.benchmarks.medcalc_bench.official_csv import v1_cells
from tests.calculators.score_strategies import RANGES, SCORES
from tests.support import SHARED, needs_shared

pytestmark = [pytest.mark.upstream, needs_shared]

# Entities of v1.0 that a score does not use.
IGNORED = {
    17: {"Cerebrovascular disease history"},
    33: {
        "Altered mental status for PECARN head injury criteria",
        "Occipital, parietal or temporal scalp hematoma; history of level of conciousness (LOC) ≥5 sec; not acting "
        "normally per parent or severe mechanism of injury?",
    },
    36: {"sex"},
    43: {"Continuous veno-venous hemodialysis for ≥24 hours in the past week"},
}
IDS = [entry.id for entry in CALCULATORS]


def agrees(output: str, answer: Any, label: str) -> bool:
    """Applies the dataset's own rule: 5 % for decimals, equal integers, equal dates, equal pairs."""
    if output == "decimal":
        low, high = sorted((float(label) * 0.95, float(label) * 1.05))
        return low <= float(answer) <= high
    if output == "date":
        month_day_year = [int(number) for number in str(answer).split("/")]
        return month_day_year == [int(number) for number in label.split("/")]
    if isinstance(answer, tuple):
        return str(answer) == label
    return int(answer) == round(float(label))


@cache
def fixtures() -> tuple[dict[str, Any], ...]:
    text = (SHARED / "fixtures" / "calculators.jsonl").read_text(encoding="utf-8")
    rows = tuple(json.loads(line) for line in text.splitlines())
    assert len(rows) == 11 * len(IDS)
    return rows


labelled_rows = cache(v1_cells)


@pytest.mark.parametrize("calculator_id", IDS)
def test_answers_to_the_fixtures(calculator_id: int) -> None:
    rows = [row for row in fixtures() if row["calculator_id"] == calculator_id]
    assert len(rows) == 11
    for row in rows:
        if "has no total" in row.get("note", ""):
            # A coma score of which one part cannot be tested.
            with pytest.raises(CalculatorInputError):
                calculate(calculator_id, row["inputs"])
            continue
        result = calculate(calculator_id, row["inputs"])
        assert agrees(row["output_type"], result.answer, str(row["published"])), (
            row,
            result.explanation,
        )


@pytest.mark.parametrize("calculator_id", IDS)
def test_names_categories_and_outputs_are_the_datasets(calculator_id: int) -> None:
    row = next(
        row for row in labelled_rows() if int(row["Calculator ID"]) == calculator_id
    )
    entry = find(calculator_id)
    assert (entry.name, entry.category, entry.output) == (
        row["Calculator Name"],
        row["Category"],
        row["Output Type"],
    )


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.slug)
def test_scores_use_every_entity_and_stay_in_their_range(score: AnyCalculator) -> None:
    rows = [
        row["Relevant Entities"]
        for row in labelled_rows()
        if int(row["Calculator ID"]) == score.id
    ]
    entities: list[dict[str, Any]] = [ast.literal_eval(text) for text in rows]
    assert len(entities) == 20
    names = {name for row in entities for name in row}
    assert {name for name in names if score.input_named(name) is None} == IGNORED.get(
        score.id, set()
    )
    low, high = RANGES[score.slug]
    for row in entities:
        if "not testable" in row.values():
            with pytest.raises(
                CalculatorInputError, match="a total needs all three parts"
            ):
                calculate(score, row)
        else:
            answer = calculate(score, row).answer
            assert isinstance(answer, int | float)
            assert low <= answer <= high
