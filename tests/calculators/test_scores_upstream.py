"""The rule-based scores against the real rows of the v1.0 test split (counts of agreement: `test_upstream.py`)."""

from __future__ import annotations

import ast
import csv
from functools import cache
from typing import Any

import pytest

from medical_tasks.calculators import AnyCalculator, CalculatorInputError, calculate
from tests.calculators.score_strategies import RANGES, SCORES
from tests.support import SHARED, needs_shared

pytestmark = [pytest.mark.upstream, needs_shared]

# Labels of the 20 rows of each score that its published rule gives.
AGREEING = {
    **{8: 20, 15: 5, 16: 20, 17: 7, 18: 20, 20: 20, 21: 0, 25: 20, 27: 17, 28: 0, 29: 18, 32: 4, 33: 7, 36: 0, 43: 1},
    **{45: 20, 48: 20, 51: 10},
}
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


@cache
def rows() -> dict[int, list[tuple[dict[str, Any], float]]]:
    """Entities and label of every row, by calculator."""
    found: dict[int, list[tuple[dict[str, Any], float]]] = {score.id: [] for score in SCORES}
    with (SHARED / "data" / "medcalc" / "test_data_v1.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if int(row["Calculator ID"]) in found:
                label = float(row["Ground Truth Answer"])
                found[int(row["Calculator ID"])].append((ast.literal_eval(row["Relevant Entities"]), label))
    return found


def agreeing(calculator_id: int, conventions: frozenset[str] = frozenset()) -> int:
    count = 0
    for entities, label in rows()[calculator_id]:
        if "not testable" in entities.values():
            with pytest.raises(CalculatorInputError, match="a total needs all three parts"):
                calculate(calculator_id, entities)
        else:
            count += calculate(calculator_id, entities, conventions=conventions).answer == label
    return count


@pytest.mark.parametrize(("calculator_id", "labels"), AGREEING.items())
def test_labels_that_agree(calculator_id: int, labels: int) -> None:
    assert len(rows()[calculator_id]) == 20
    assert agreeing(calculator_id) == labels


def test_the_cough_convention_brings_thirteen_labels() -> None:
    convention = frozenset({"cough-unmentioned-is-zero"})
    assert agreeing(33, convention) == 20
    assert sum(agreeing(score.id, convention) - AGREEING[score.id] for score in SCORES) == 13


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.slug)
def test_every_entity_of_the_rows_is_known(score: AnyCalculator) -> None:
    names = {name for entities, _ in rows()[score.id] for name in entities}
    assert len(names) >= 3
    assert {name for name in names if score.input_named(name) is None} == IGNORED.get(score.id, set())


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.slug)
def test_every_answer_is_in_the_published_range(score: AnyCalculator) -> None:
    low, high = RANGES[score.slug]
    for entities, _ in rows()[score.id]:
        if "not testable" not in entities.values():
            answer = calculate(score, entities).answer
            assert isinstance(answer, int | float)
            assert low <= answer <= high
