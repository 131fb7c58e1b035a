"""The metric as users load it: by path, offline."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest

from medical_tasks.benchmarks.archehr_qa.metric import score_answers
from medical_tasks.errors import UsageError
from tests.support import ROOT, SHARED, needs_shared

FOLDER = ROOT / "metrics" / "archehr_qa"
MISSING = [
    f"{name}{suffix}"
    for suffix in ("", "_notes")
    for name in ("bertscore", "medcon", "alignscore")
]


def test_the_example_of_the_card(
    metric: Any, example: dict[str, Any], card_output: str
) -> None:
    result = metric.compute(**example)
    expected = ast.literal_eval(card_output)
    assert len(expected) == 7
    assert expected == {name: result[name] for name in expected}
    assert result["missing_components"] == MISSING
    assert result["overall_relevance"] == pytest.approx(
        (result["bleu"] + result["rougeLsum"] + result["sari"]) / 3
    )
    assert result["overall_score"] == pytest.approx(
        (result["factuality"] + result["overall_relevance"]) / 2
    )
    assert not any(name.endswith("_official") for name in result)
    assert (
        metric.compute(**example, official=True)["factuality_official"]
        == result["factuality"]
    )


@pytest.mark.upstream
@needs_shared
def test_with_a_metric_that_has_no_least_value(example: dict[str, Any]) -> None:
    folder = SHARED / "fixtures" / "bertscore" / "tiny-distilbert"
    rows = [
        {**example["references"][0], "clinician_answer": answer}
        for answer in ("A clot.", "He had a clot in a lung.")
    ]
    result = score_answers(example["predictions"] * 2, rows, bertscore=str(folder))
    assert (
        result["bertscore_ci_low"]
        < result["bertscore"]
        < result["bertscore_ci_high"]
        <= 1
    )
    assert not {"bertscore", "bertscore_notes"} & {*result["missing_components"]}
    parts = [result[name] for name in ("bleu", "rougeLsum", "sari", "bertscore")]
    assert result["overall_relevance"] == pytest.approx(sum(parts) / 4)


def test_no_answers() -> None:
    result = score_answers([], [])
    assert result["coverage"] == {"answers": 0, "cited": 0, "valid": 0}
    assert math.isnan(result["factuality"])
    assert math.isnan(result["overall_score"])


def test_bad_input_is_refused(example: dict[str, Any]) -> None:
    texts, (row,) = example["predictions"], example["references"]
    with pytest.raises(
        ValueError,
        match="references must have one entry for each of the 1 predictions; got 0",
    ):
        score_answers(texts, [])
    with pytest.raises(
        ValueError, match=r"references\[0\] must have .*; relevance is missing"
    ):
        score_answers(
            texts, [{name: value for name, value in row.items() if name != "relevance"}]
        )
    with pytest.raises(ValueError, match=r"as many as sentence_ids, 4 .*; got 4 and 1"):
        score_answers(texts, [{**row, "relevance": ["essential"]}])
    with pytest.raises(ValueError, match=r"sentence_ids must be different ones"):
        score_answers(texts, [{**row, "sentence_ids": ["1", "1", "2", "3"]}])
    with pytest.raises(
        ValueError,
        match="relevance must be out of essential, supplementary, not-relevant; got 'yes'",
    ):
        score_answers(texts, [{**row, "relevance": ["yes"] * 4}])
    with pytest.raises(UsageError, match="alignscore must be CKPT:FOLDER"):
        score_answers(texts, [row], alignscore="x.ckpt")
