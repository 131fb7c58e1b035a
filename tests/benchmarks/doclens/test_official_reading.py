"""Decisions of the authors' scripts that the checked cases do not show, each with what it comes from."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.official_scoring import (
    gpt_citation_reply,
    gpt_question_reply,
    mistral_citation_reply,
    official_ids,
    official_segments,
    official_sentences,
    official_sources,
    remove_citations_official,
)
from medical_tasks.errors import UsageError
from tests.benchmarks.doclens.task_items import cases
from tests.benchmarks.doclens.their_scores import official_citation_scores, official_claim_scores, official_scores

TWENTY = {number: f"Sentence {number}." for number in range(20)}
TEXTS = st.text(alphabet="aB 12[]|+-. \n", max_size=50)


@pytest.mark.parametrize(("method", "text", "found"), cases("official_reading", "sentences", tuples=True))
def test_sentences(method: Any, text: str, found: tuple[tuple[Any, ...], ...]) -> None:
    sentences = official_sentences(text, method=method, sources=TWENTY)
    assert tuple((one.target, one.citations, one.asked, one.borrowed) for one in sentences) == found


def test_a_source_numbered_otherwise_is_named() -> None:
    with pytest.raises(UsageError, match=r"\[0\] is cited, and the source's 2 sentences have no such number"):
        official_sentences("Pain [0]", method="sent", sources={1: "A.", 2: "B."})
    (one,) = official_sentences("Pain [2]", method="sent", sources={1: "A.", 2: "B."})
    assert one.asked is False


@pytest.mark.parametrize(
    ("text", "sources"),
    [("lost [0] A [1][2] B\n C", {0: "A", 1: "", 2: "B C"}), ("[0] A [0] B", {0: "B"}), ("none", {})],
)
def test_sources(text: str, sources: dict[int, str]) -> None:
    assert official_sources(text) == sources


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_removal_is_their_two_steps(text: str) -> None:
    without = re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", text))
    assert remove_citations_official(text) == without.replace(" |", "").replace("]", "")


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_the_citation_split_drops_the_rest_alone(text: str) -> None:
    segments = official_segments(text, method="citation")
    joined = "".join(segments)
    assert text.startswith(joined)
    assert not re.search(r"[\[\]+0-9]", text[len(joined) :])


@given(TEXTS)
@settings(deadline=None, max_examples=200)
def test_no_output_is_an_error(text: str) -> None:
    for method in ("sent", "citation", "meqsum"):
        for one in official_sentences(text, method=method, sources=TWENTY):
            assert one.asked or not (set(one.citations) and max(one.citations) < 20)
            assert set(one.citations) <= set(official_ids(text))


def test_a_number_of_many_digits_is_too_large_and_no_error() -> None:
    (one,) = official_sentences(f"Pain [{'9' * 5000}]", method="sent", sources=TWENTY)
    assert one.asked is False


@pytest.mark.parametrize(("reply", "citations", "said"), cases("official_reading", "test_mistral_replies"))
def test_mistral_replies(reply: str, citations: list[int], said: list[Any] | None) -> None:
    read = mistral_citation_reply([reply], citations=citations)
    assert (list(read.values()) if read else None) == said


def test_gpt_replies_need_their_keys() -> None:
    whole = '{"entailment_prediction": "1", "explanation": "", "provenance": ["0"], "more": 1}'
    assert gpt_citation_reply(whole) == {
        "entailment_prediction": "1",
        "explanation": "",
        "provenance": ["0"],
        "more": 1,
    }
    for reply in ('{"entailment_prediction": 1, "explanation": ""}', f"```json\n{whole}\n```", "[]", "", "[" * 100000):
        assert gpt_citation_reply(reply) is None
    assert gpt_question_reply('{"prediction": 1}') == {"prediction": 1, "entailment_prediction": 1}
    assert gpt_question_reply('{"entailment_prediction": 1}') is None


def _said(*predictions: Any) -> list[dict[str, Any]]:
    return [{"entailment_prediction": prediction} for prediction in predictions]


def _cited(prediction: Any, citations: Any, provenance: Any) -> dict[str, Any]:
    return {"entailment_prediction": prediction, "citations": citations, "provenance": provenance}


@pytest.mark.parametrize(("given", "message"), cases("official_reading", "test_claims_their_script_fails_on"))
def test_claims_their_script_fails_on(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        official_claim_scores({"full": {"7": given}})


def test_an_empty_object_is_no_claims() -> None:
    scores: Any = {"full": {"1": {}, "2": _said(1)}}
    assert official_claim_scores(scores) == {"full": 1.0, "total": 1.0}


@pytest.mark.parametrize(("record", "message"), cases("official_reading", "test_citations_their_script_fails_on"))
def test_citations_their_script_fails_on(record: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"full, 7: a record {message}"):
        official_citation_scores({"full": {"7": [record]}})


@pytest.mark.parametrize(("record", "recall", "precision"), cases("official_reading", "test_citations_they_count"))
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
