"""The metric as users load it: by path, offline."""

from __future__ import annotations

import ast
import copy
import math
from typing import Any

import pytest

from medical_tasks.benchmarks.doclens.measures import METRICS
from medical_tasks.benchmarks.doclens.metric import read_verdict, score_texts
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.errors import UsageError
from tests.case_tables import tables
from tests.support import ROOT

CASES = tables(__file__, "doclens_metric")

FOLDER = ROOT / "metrics" / "doclens"
ENDS = ("", "_ci_low", "_ci_high", "_bound_low", "_bound_high")


def test_the_example_of_the_card(
    metric: Any, example: dict[str, Any], card_output: str
) -> None:
    result = metric.compute(**example)
    expected = ast.literal_eval(card_output)
    assert set(expected) == {
        "judge",
        *METRICS,
        "claim_recall_bound_low",
        "claim_recall_bound_high",
        "coverage",
    }
    assert expected == {name: result[name] for name in expected}
    assert set(result) == {"judge", "coverage", "reasons"} | {
        f"{name}{end}" for name in METRICS for end in ENDS
    }
    holed = copy.deepcopy(example)
    holed["verdicts"][1]["reference_claims"][1] = None
    again = metric.compute(**holed)
    assert [
        again[f"claim_recall{end}"] for end in ("", "_bound_low", "_bound_high")
    ] == [
        1.0,
        0.75,
        1.0,
    ]
    assert again["coverage"] == {"texts": 2, "missing": 1}


def test_texts_without_verdicts_are_judged_by_words_and_marked(
    metric: Any, example: dict[str, Any]
) -> None:
    texts = {name: example[name] for name in ("predictions", "references")}
    result = metric.compute(**texts)
    assert result["judge"] == "lexical (not comparable)"
    assert (result["claim_recall"], result["citation_recall"]) == (
        0.75,
        pytest.approx(2 / 3),
    )
    claims = metric.compute(
        **texts,
        reference_claims=[["No fracture.", "Dislocation."], ["No edema."]],
        output_claims=[[], []],
    )
    assert claims["claim_recall"] == pytest.approx(1 / 3)
    assert math.isnan(claims["claim_precision"])  # a list without claims is no claims
    bare = metric.compute(**texts, citations=False)
    assert math.isnan(bare["citation_recall"])
    assert bare["claim_recall"] == 0.75


def test_notes_questions_and_empty_input() -> None:
    note = "CHIEF COMPLAINT\nCough [0].\n\nEXAM\nLungs are clear [1].\n"
    reference = {
        "reference": "CHIEF COMPLAINT\nCough.\n\nEXAM\nLungs are clear.\n",
        "sentences": ["Cough.", "Lungs are clear."],
    }
    result = score_texts([note], [reference], form="note")
    assert [result[f"claim_recall_{section}"] for section in SECTIONS[:2]] == [1.0, 1.0]
    assert math.isnan(result["claim_recall_objective_results"])
    assert result["claim_recall"] == 1.0
    claims = {
        "subjective": ["Cough."],
        "objective_exam": ["Lungs are clear.", "Heart is enlarged."],
    }
    more = score_texts([note], [reference], form="note", reference_claims=[claims])
    assert more["claim_recall"] == pytest.approx(2 / 3)
    judged = score_texts(
        [note],
        [reference],
        form="note",
        verdicts=[{"subjective": {"reference_claims": [1, 0]}}],
    )
    assert judged["claim_recall_subjective"] == judged["claim_recall"] == 0.5
    reference = {
        "reference": "Is the flu contagious?",
        "sentences": ["is it contagious, the flu?"],
    }
    result = score_texts(["Is the flu contagious? [0]"], [reference], form="question")
    assert [result[name] for name in METRICS] == [1.0] * 4
    result = score_texts([], [])
    assert result["coverage"] == {"texts": 0, "missing": 0}
    assert all(math.isnan(result[name]) for name in METRICS)
    empty = score_texts([""], [{"reference": "Normal.", "sentences": []}])
    assert empty["claim_recall"] == 0.0
    assert math.isnan(empty["claim_precision"])


def test_bad_input_is_refused(example: dict[str, Any]) -> None:
    texts, references, verdicts = (
        example[name] for name in ("predictions", "references", "verdicts")
    )
    for changed, message in (
        ({"form": "letter"}, "form must be one of text, note, question; got 'letter'"),
        (
            {"verdicts": verdicts[:1]},
            "verdicts must have one entry for each of the 2 predictions; got 1",
        ),
        (
            {"references": []},
            "references must have one entry for each of the 2 predictions; got 0",
        ),
        (
            {"output_claims": [["a"]]},
            "output_claims must have one entry for each of the 2 predictions; got 1",
        ),
        (
            {"verdicts": verdicts, "output_claims": [["a"], ["b"]]},
            "claims are judged, and verdicts are given",
        ),
        ({"judge": "openai-api/host/m"}, "judge must be lexical or nli/FOLDER"),
    ):
        with pytest.raises(ValueError, match=message):
            score_texts(texts, **{"references": references, **changed})
    with pytest.raises(
        UsageError, match="output_claims: no claims of the output of 0/subjective"
    ):
        score_texts(
            texts[:1],
            references[:1],
            form="note",
            output_claims=[{"objective_exam": []}],
        )


@pytest.mark.parametrize(("verdict", "message"), CASES["verdicts_that_are_refused"])
def test_verdicts_that_are_refused(verdict: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_verdict(3, verdict, ("full",))
    with pytest.raises(
        ValueError, match="verdict 0: sections are subjective, .*; got 'plan'"
    ):
        read_verdict(0, {"plan": verdict}, SECTIONS)
