"""The metric as users load it: by path, offline."""

from __future__ import annotations

import math
from typing import Any

from medical_tasks.scoring.intervals import wilson_interval
from tests.metrics.conftest import shortened
from tests.support import ROOT

FOLDER = ROOT / "metrics" / "medcalc"
CLEARANCE = {
    "calculator_id": 2,
    "answer": "25.238",
    "lower": "23.9761",
    "upper": "26.4999",
}
SCORE = {"calculator_id": 4, "answer": "3", "lower": "3", "upper": "3"}
DUE = {
    "calculator_id": 13,
    "answer": "03/07/2021",
    "lower": "03/07/2021",
    "upper": "03/07/2021",
}


def test_both_accuracies_and_intervals(metric: Any) -> None:
    replies = [
        '{"answer": "25.2"}',
        "The score is 3.",
        '{"answer": "2021-03-07"}',
        '{"answer": "12"}',
    ]
    result = metric.compute(
        predictions=replies, references=[CLEARANCE, SCORE, DUE, SCORE]
    )
    low, high = wilson_interval(3, 4)
    assert result["accuracy"] == 0.75
    assert (result["accuracy_ci_low"], result["accuracy_ci_high"]) == (low, high)
    assert result["accuracy_official"] == 0.25
    assert (
        result["accuracy_official_ci_low"],
        result["accuracy_official_ci_high"],
    ) == wilson_interval(1, 4)
    assert result["n"] == 4
    wide = metric.compute(
        predictions=['{"answer": "3"}'], references=[SCORE], confidence=0.99
    )
    assert (
        wide["accuracy_ci_low"]
        == wilson_interval(1, 1, confidence=0.99)[0]
        < wilson_interval(1, 1)[0]
    )
    result = metric.compute(predictions=[], references=[])
    assert result["n"] == 0
    assert all(math.isnan(value) for name, value in result.items() if name != "n")


def test_the_example_of_the_card(metric: Any, card_output: str) -> None:
    replies = ['{"answer": "25.2 mL/min"}', "The final answer is March 7, 2021."]
    result = metric.compute(predictions=replies, references=[CLEARANCE, DUE])
    assert (result["accuracy"], result["accuracy_official"], result["n"]) == (
        1.0,
        0.5,
        2,
    )
    for name in (
        "accuracy_ci_low",
        "accuracy_official_ci_low",
        "accuracy_official_ci_high",
    ):
        assert f"'{name}': {shortened(result[name])}" in card_output
