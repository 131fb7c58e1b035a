"""The metric as users load it: by path, offline."""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import medical_tasks
from medical_tasks.benchmarks.doclens.measures import METRICS
from medical_tasks.benchmarks.doclens.metric import given_verdict, score_texts
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.benchmarks.doclens.spec import OWN
from medical_tasks.errors import UsageError
from tests.support import ROOT

FOLDER = ROOT / "metrics" / "doclens"
CARD = (FOLDER / "README.md").read_text(encoding="utf-8")
ENDS = ("", "_ci_low", "_ci_high", "_bound_low", "_bound_high")


def _example() -> dict[str, Any]:
    """What the card's first call is given."""
    code = ast.parse(CARD.split("```python")[1].split("```")[0])
    (call,) = [
        node for node in ast.walk(code) if isinstance(node, ast.Call) and ast.unparse(node.func) == "doclens.compute"
    ]
    return {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}


GIVEN = _example()
TEXTS = {name: GIVEN[name] for name in ("predictions", "references")}


@pytest.fixture
def metric(load_metric: Callable[[Path], Any]) -> Any:
    return load_metric(FOLDER)


def test_the_example_of_the_card(metric: Any) -> None:
    assert Path(medical_tasks.metric_path("doclens")) == FOLDER
    result = metric.compute(**GIVEN)
    shown = CARD.split("gives, among others,")[1].split("```")[1]
    told = ast.literal_eval(shown.removeprefix("python\n"))
    assert set(told) == {"judge", *METRICS, "claim_recall_bound_low", "claim_recall_bound_high", "coverage"}
    assert told == {name: result[name] for name in told}
    assert set(result) == {"judge", "coverage", "reasons"} | {f"{name}{end}" for name in METRICS for end in ENDS}
    holed = copy.deepcopy(GIVEN)
    holed["verdicts"][1]["reference_claims"][1] = None
    again = metric.compute(**holed)
    assert (again["claim_recall"], again["claim_recall_bound_low"], again["claim_recall_bound_high"]) == (
        1.0,
        0.75,
        1.0,
    )
    assert again["coverage"] == {"texts": 2, "missing": 1}
    assert OWN.citation.strip() in CARD


def test_from_texts_words_are_counted_and_the_result_says_so(metric: Any) -> None:
    result = metric.compute(**TEXTS)
    assert result["judge"] == "lexical (not comparable)"
    assert (result["claim_recall"], result["citation_recall"]) == (0.75, pytest.approx(2 / 3))
    claims = metric.compute(
        **TEXTS, reference_claims=[["No fracture.", "Dislocation."], ["No edema."]], output_claims=[[], []]
    )
    assert claims["claim_recall"] == pytest.approx(1 / 3)
    assert math.isnan(claims["claim_precision"])  # a list without claims is no claims
    bare = metric.compute(**TEXTS, citations=False)
    assert math.isnan(bare["citation_recall"])
    assert bare["claim_recall"] == 0.75


def test_notes_by_section() -> None:
    note = "CHIEF COMPLAINT\nCough [0].\n\nEXAM\nLungs are clear [1].\n"
    reference = {
        "reference": "CHIEF COMPLAINT\nCough.\n\nEXAM\nLungs are clear.\n",
        "sentences": ["Cough.", "Lungs are clear."],
    }
    result = score_texts([note], [reference], form="note")
    assert [result[f"claim_recall_{section}"] for section in SECTIONS[:2]] == [1.0, 1.0]
    assert math.isnan(result["claim_recall_objective_results"])
    assert result["claim_recall"] == 1.0
    claims = {"subjective": ["Cough."], "objective_exam": ["Lungs are clear.", "Heart is enlarged."]}
    more = score_texts([note], [reference], form="note", reference_claims=[claims])
    assert more["claim_recall"] == pytest.approx(2 / 3)
    given = score_texts([note], [reference], form="note", verdicts=[{"subjective": {"reference_claims": [1, 0]}}])
    assert given["claim_recall_subjective"] == given["claim_recall"] == 0.5


def test_questions_are_one_claim() -> None:
    reference = {"reference": "Is the flu contagious?", "sentences": ["is it contagious, the flu?"]}
    result = score_texts(["Is the flu contagious? [0]"], [reference], form="question")
    assert [result[name] for name in METRICS] == [1.0] * 4


def test_nothing() -> None:
    result = score_texts([], [])
    assert result["coverage"] == {"texts": 0, "missing": 0}
    assert all(math.isnan(result[name]) for name in METRICS)
    empty = score_texts([""], [{"reference": "Normal.", "sentences": []}])
    assert empty["claim_recall"] == 0.0
    assert math.isnan(empty["claim_precision"])


def test_what_does_not_fit_is_refused() -> None:
    texts, references, verdicts = (GIVEN[name] for name in ("predictions", "references", "verdicts"))
    with pytest.raises(ValueError, match="form must be one of text, note, question; got 'letter'"):
        score_texts(texts, references, form="letter")
    with pytest.raises(ValueError, match="verdicts must be as many as predictions, 2; got 1"):
        score_texts(texts, references, verdicts=verdicts[:1])
    with pytest.raises(ValueError, match="references must be as many as predictions, 2; got 0"):
        score_texts(texts, [])
    with pytest.raises(ValueError, match="output_claims must be as many as predictions, 2; got 1"):
        score_texts(texts, references, output_claims=[["a"]])
    with pytest.raises(ValueError, match="claims are judged, and verdicts are given"):
        score_texts(texts, references, verdicts=verdicts, output_claims=[["a"], ["b"]])
    with pytest.raises(ValueError, match="judge must be lexical or nli/FOLDER"):
        score_texts(texts, references, judge="openai-api/host/m")
    with pytest.raises(UsageError, match="output_claims: no claims of the output of 0/subjective"):
        score_texts(texts[:1], references[:1], form="note", output_claims=[{"objective_exam": []}])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reference_claims": [2]}, "verdict 3: a verdict is 1, 0 or None; got 2"),
        ({"claims": [1]}, "verdict 3: keys are reference_claims, output_claims, sentences; got 'claims'"),
        (
            {"sentences": [{"entailed": 0, "supports": [1]}]},
            "verdict 3: no citation supports a sentence that its citations do not entail",
        ),
    ],
)
def test_verdicts_that_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        given_verdict(3, given, ("full",))
    with pytest.raises(ValueError, match="verdict 0: sections are subjective, .*; got 'plan'"):
        given_verdict(0, {"plan": given}, SECTIONS)
