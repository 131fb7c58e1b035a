"""The authors' aggregation beyond the checked cases: what it fails on is named, what it lets pass passes."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.errors import UsageError
from tests.benchmarks.doclens.their_scores import official_citation_scores, official_claim_scores, official_scores


def _said(*predictions: Any) -> list[dict[str, Any]]:
    return [{"entailment_prediction": prediction} for prediction in predictions]


def _cited(prediction: Any, citations: Any, provenance: Any) -> dict[str, Any]:
    return {"entailment_prediction": prediction, "citations": citations, "provenance": provenance}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        # Each of these ends their script with a KeyError or a TypeError.
        ([{"claim": "A."}], "full, 7: a record without entailment_prediction"),
        ({"entailment_prediction": 1}, "full, 7: a list of records is needed"),
        (["A."], "full, 7: a list of records is needed"),
        (1, "full, 7: a list of records is needed"),
        ("A.", "full, 7: a list of records is needed"),
    ],
)
def test_claims_their_script_fails_on(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        official_claim_scores({"full": {"7": given}})


def test_an_empty_object_is_no_claims() -> None:
    scores: Any = {"full": {"1": {}, "2": _said(1)}}
    assert official_claim_scores(scores) == {"full": 1.0, "total": 1.0}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"citations": [1], "response": ""}, "without entailment_prediction"),
        ({"entailment_prediction": 1}, "without a list of citations"),
        ({"entailment_prediction": 1, "citations": [1]}, "without a list of provenance"),
        (_cited(1, [1], "1"), "without a list of provenance"),
        (_cited(1, [1], None), "without a list of provenance"),
    ],
)
def test_citations_their_script_fails_on(record: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"full, 7: a record {message}"):
        official_citation_scores({"full": {"7": [record]}})


@pytest.mark.parametrize(
    ("record", "recall", "precision"),
    [
        (_cited(0, [1], None), 0.0, 0.0),  # provenance is not looked at
        ({"entailment_prediction": 0, "citations": [1]}, 0.0, 0.0),
        (_cited(1, [], ""), 1.0, 0.0),
        (_cited(1, [1, 2], ["1", 2]), 1.0, 0.5),  # "1" is not 1
        (_cited(1, [1, 1, 2], [1, 9]), 1.0, 2 / 3),
        (_cited("1", [1], [1]), 0.0, 0.0),
        (_cited(1, [1], {"1": "why"}), 1.0, 0.0),  # keys of JSON are texts
    ],
)
def test_citations_they_count(record: dict[str, Any], recall: float, precision: float) -> None:
    scores = official_citation_scores({"full": {"7": [record]}})
    assert [one["full"] for one in scores] == [recall, precision]


def test_sameness_goes_by_place_and_is_looked_at_where_needed() -> None:
    # The second has no partner; the partner of the third is never looked at.
    first = {"full": {"1": _said(0, 0), "2": _said(1)}}
    same: Any = {"full": {"1": _said(1), "2": [{}]}}
    assert official_claim_scores(first, same=same)["full"] == 2 / 3
    with pytest.raises(UsageError, match=r"full, 1 \(same\): a record without"):
        official_claim_scores({"full": {"1": _said(0)}}, same={"full": {"1": [{}]}})
    with pytest.raises(UsageError, match="full, 2: not among the judgements of sameness"):
        official_claim_scores({"full": {"2": _said(1)}}, same={"full": {"1": _said(1)}})


def test_nothing_is_0() -> None:
    names = ("claim_recall", "claim_precision", "citation_recall", "citation_precision")
    assert official_scores() == {name: {"total": 0.0} for name in names}
    assert official_claim_scores({"a": {}, "b": {"1": []}}) == {"a": 0.0, "b": 0.0, "total": 0.0}
