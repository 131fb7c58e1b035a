"""The metric as users load it: by path, offline."""

from __future__ import annotations

import math
from typing import Any

import pytest

from medical_tasks.benchmarks.ehrnoteqa.metric import score_answers
from medical_tasks.errors import UsageError
from medical_tasks.scoring.intervals import wilson_interval
from tests.case_tables import tables
from tests.metrics.conftest import shortened
from tests.support import ROOT

CASES = tables(__file__, "ehrnoteqa_metric")

FOLDER = ROOT / "metrics" / "ehrnoteqa"
ANSWERS = [
    "Two stents were placed in the left coronary artery.",
    "The notes do not say.",
]
RIGHT = ["Two stents were placed.", "Warfarin was stopped."]
VOTES = [[1, 1, 0, 1, 1], [0, 0, 0, 0, 0]]
CHOICES = ["Vitamin C", "Vitamin D", "Hepatitis B vaccine", "Folate", "Thiamine"]
PROBABILITIES = (
    '{"logprobs": [-4.5, -0.25, -6.0, -3.0, -2.5], "tokens": [2, 2, 4, 2, 3]}'
)
UNTOLD = '{"logprobs": [-0.5, null, null, null, null], "tokens": [1, 1, 1, 1, 1], "below": -9.0}'
METRICS = {
    "open": {"accuracy", "rouge_l", "bleu", "exact_match"},
    "mc": {"accuracy", "letter_accuracy"},
    "prob_index": {"accuracy", "gold_probability"},
    "prob_value": {
        "accuracy",
        "accuracy_per_token",
        "accuracy_per_character",
        "gold_probability",
    },
}


def _lettered(letter: str) -> dict[str, Any]:
    return {"choices": CHOICES, "answer": letter}


def test_the_examples_of_the_card(metric: Any, card: str, card_output: str) -> None:
    result = metric.compute(predictions=ANSWERS, references=RIGHT, verdicts=VOTES)
    for name in (
        "judge",
        "accuracy",
        "accuracy_bound_low",
        "accuracy_bound_high",
        "exact_match",
        "coverage",
    ):
        assert f"'{name}': {result[name]!r}" in card_output, name
    assert (result["accuracy_ci_low"], result["accuracy_ci_high"]) == wilson_interval(
        1, 2
    )
    for end in ("low", "high"):
        assert (
            f"'accuracy_ci_{end}': {shortened(result[f'accuracy_ci_{end}'])}"
            in card_output
        )
    holed = metric.compute(
        predictions=ANSWERS, references=RIGHT, verdicts=[VOTES[0], None]
    )
    assert (
        holed["accuracy"],
        holed["accuracy_bound_low"],
        holed["accuracy_bound_high"],
    ) == (
        1.0,
        0.5,
        1.0,
    )
    assert holed["coverage"] == {"answers": 2, "missing": 1}
    letters = metric.compute(
        predictions=[
            "She took vitamin D before, and was given thiamine. So the answer is E.",
            "Vitamin D",
        ],
        references=[_lettered("E"), _lettered("B")],
        format="mc",
        verdicts=[1, 1],
    )
    assert (letters["letter_accuracy"], letters["accuracy"]) == (1.0, 1.0)
    by_value = metric.compute(
        predictions=[PROBABILITIES], references=[_lettered("B")], format="prob_value"
    )
    assert (by_value["accuracy"], by_value["judge"]) == (1.0, "none")
    for text in (*ANSWERS, *RIGHT, PROBABILITIES):
        assert text in card


@pytest.mark.parametrize("form", list(METRICS))
def test_every_metric_of_the_format_is_there_with_its_ends(
    metric: Any, form: str
) -> None:
    answer = "B" if form in ("open", "mc") else PROBABILITIES
    result = metric.compute(
        predictions=[answer], references=[_lettered("B")], format=form
    )
    for name in METRICS[form]:
        ends = [result[f"{name}{end}"] for end in ("_bound_low", "", "_bound_high")]
        assert ends == sorted(ends)
    assert len(result) == len(METRICS[form]) * 5 + 3


def test_a_right_answer_may_be_text_or_letter(metric: Any) -> None:
    by_text = metric.compute(predictions=["Vitamin D"], references=["Vitamin D"])
    assert by_text == metric.compute(
        predictions=["Vitamin D"], references=[_lettered("B")]
    )
    assert (by_text["exact_match"], by_text["rouge_l"], by_text["accuracy"]) == (
        1.0,
        1.0,
        1.0,
    )
    assert by_text["judge"] == "lexical (not comparable)"


def test_votes_and_missing_probabilities() -> None:
    def accuracy(votes: Any, answer: str = "B") -> float:
        result = score_answers([answer], ["B"], verdicts=[votes])
        return float(result["accuracy"])

    assert accuracy([1, 0, 1, 0, 1]) == accuracy(True) == accuracy(1) == 1.0
    assert accuracy([True, False, None, False, False]) == accuracy([0]) == 0.0
    assert accuracy([1, 1, None, 1, 0]) == 1.0
    assert math.isnan(accuracy([1, 1, None, 0, 0]))
    assert math.isnan(accuracy([None, None]))
    assert accuracy(1, answer=" ") == 0.0
    result = score_answers([], [])
    assert result.pop("coverage") == {"answers": 0, "missing": 0}
    assert result.pop("judge")
    assert set(result.pop("reasons").values()) == {"nothing to count on any item"}
    assert all(math.isnan(value) for value in result.values())
    result = score_answers(
        [UNTOLD, PROBABILITIES], [_lettered("A"), _lettered("B")], format="prob_index"
    )
    assert (result["accuracy"], result["coverage"]) == (
        1.0,
        {"answers": 2, "missing": 1},
    )
    probability = score_answers([PROBABILITIES], [_lettered("B")], format="prob_index")[
        "gold_probability"
    ]
    # as near to the other's as it can be
    assert result["gold_probability"] == result["gold_probability_bound_low"]
    assert result["gold_probability_bound_low"] == pytest.approx(
        (probability + 1 / (1 + 4 * math.exp(-8.5))) / 2
    )
    assert result["gold_probability_bound_high"] == (probability + 1.0) / 2


@pytest.mark.parametrize(("changes", "message"), CASES["bad_input_is_named"])
def test_bad_input_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, UsageError), match=message):
        score_answers(ANSWERS, **{"references": RIGHT, **changes})
