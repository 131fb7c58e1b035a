"""The metric as users load it: by path, offline."""

from __future__ import annotations

import math
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.scoring.intervals import wilson_interval
from tests.case_tables import tables
from tests.metrics.conftest import shortened
from tests.support import ROOT

CASES = tables(__file__, "kqa_metric")

FOLDER = ROOT / "metrics" / "kqa"
ANSWERS = [
    "Ibuprofen can raise blood pressure. Acetaminophen should not be taken instead.",
    "I don't know.",
]
REFERENCES = CASES["REFERENCES"]
VERDICTS: list[list[str | None]] = [
    ["entailment", "neutral", "contradiction"],
    ["neutral"],
]
HOLED: list[list[str | None]] = [["entailment", None, "contradiction"], ["neutral"]]


def test_the_example_of_the_card(metric: Any, card_output: str) -> None:
    result = metric.compute(
        predictions=ANSWERS, references=REFERENCES, verdicts=VERDICTS
    )
    exact = "judge comprehensiveness comprehensiveness_answered hallucination_rate answered words coverage contradicted".split()
    for name in (*exact, "comprehensiveness_bound_low", "comprehensiveness_bound_high"):
        assert f"'{name}': {result[name]!r}" in card_output, name
    low, high = wilson_interval(1, 2)
    assert (result["contradicted_ci_low"], result["contradicted_ci_high"]) == (
        low,
        high,
    )
    for end in ("low", "high"):
        assert (
            f"'contradicted_ci_{end}': {shortened(result[f'contradicted_ci_{end}'])}"
            in card_output
        )
    holed = metric.compute(predictions=ANSWERS, references=REFERENCES, verdicts=HOLED)
    # its known statement replaces the missing one
    assert holed["comprehensiveness"] == 0.5
    assert (
        holed["comprehensiveness_bound_low"],
        holed["comprehensiveness_bound_high"],
    ) == (
        0.25,
        0.5,
    )
    assert holed["hallucination_rate_bound_high"] == 1.0
    assert holed["contradicted"] == 0.5
    assert holed["coverage"] == {"answers": 2, "statements": 4, "missing": 1}


def test_the_general_score(metric: Any) -> None:
    weights = {"must_have": 1, "nice_to_have": 0.5}
    result = metric.compute(
        predictions=ANSWERS,
        references=REFERENCES,
        verdicts=VERDICTS,
        weights=weights,
        relation="does not contradict",
    )
    assert result["weighted"] == (2 + 1) / 2
    listed = metric.compute(
        predictions=ANSWERS,
        references=REFERENCES,
        verdicts=HOLED,
        weights=[[3, 1, 1], [2]],
        normalised=True,
    )
    # The first answer has 3 of 5, or 4 of 5 with the missing one; the second none.
    assert listed["weighted"] == pytest.approx(0.4)
    assert (
        listed["weighted_bound_low"],
        listed["weighted_bound_high"],
    ) == pytest.approx((0.3, 0.4))
    same = {"weights": {"must_have": 1, "nice_to_have": 0}, "normalised": True}
    as_comp = metric.compute(
        predictions=ANSWERS, references=REFERENCES, verdicts=VERDICTS, **same
    )
    assert as_comp["weighted"] == as_comp["comprehensiveness"]


def test_two_way_judges_the_lexical_judge_and_empty_input(metric: Any) -> None:
    result = metric.compute(
        predictions=ANSWERS[:1],
        references=REFERENCES[:1],
        verdicts=[["entailment", "not_entailment", "not_entailment"]],
    )
    assert result["comprehensiveness"] == 0.5
    assert math.isnan(result["hallucination_rate"])
    assert (
        result["hallucination_rate_bound_low"],
        result["hallucination_rate_bound_high"],
    ) == (
        0.0,
        2.0,
    )
    assert result["coverage"]["missing"] == 2
    assert (
        result["reasons"]["hallucination_rate"]
        == "nothing to estimate from: judge: cannot tell contradiction"
    )
    result = metric.compute(predictions=ANSWERS, references=REFERENCES)
    assert result["judge"] == "lexical (not comparable)"
    assert (result["comprehensiveness_answered"], result["answered"]) == (1.0, 0.5)
    assert result["comprehensiveness"] == 0.5
    result = metric.compute(predictions=[], references=[])
    assert result.pop("coverage") == {"answers": 0, "statements": 0, "missing": 0}
    assert result.pop("judge")
    assert set(result.pop("reasons").values()) == {"nothing to count on any item"}
    assert all(math.isnan(value) for value in result.values())
    result = metric.compute(
        predictions=ANSWERS, references=REFERENCES, verdicts=VERDICTS
    )
    reported = KQA.reporting(()).metrics  # no answer is to the authors' prompts
    for spec in reported:
        ends = [
            result[f"{spec.name}{end}"] for end in ("_bound_low", "", "_bound_high")
        ]
        assert ends == sorted(ends)
    assert len(result) == len(reported) * 5 + 3


@pytest.mark.parametrize(("changes", "message"), CASES["bad_input_is_named"])
def test_bad_input_is_named(metric: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(**{"predictions": ANSWERS, "references": REFERENCES, **changes})
