"""The authors' decisions, compared with their scripts' results on invented texts (`../shared/fixtures/doclens`)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from medical_tasks.benchmarks.doclens.official_scoring import (
    OfficialSentence,
    SplitMethod,
    gpt_cited,
    gpt_claims,
    gpt_question,
    mistral_cited,
    mistral_claim,
    official_claims,
    official_ids,
    official_segments,
    official_sentences,
    official_sources,
    remove_citations_official,
)
from medical_tasks.judges.base import Unreadable
from tests.benchmarks.doclens.their_scores import official_scores
from tests.case_tables import json_of
from tests.support import SHARED, needs_shared

pytestmark = [pytest.mark.upstream, needs_shared]

FOLDER = SHARED / "fixtures" / "doclens"
SPLITS: dict[str, SplitMethod] = {
    "gpt_citation_split_citation": "citation",
    "gpt_citation_bad_json": "sent",
    "mistral_citation_citation": "citation",
    "mistral_citation_never_parses": "sent",
}
CRASHES = {"gpt_citation_bad_json", "mistral_citation_never_parses"}
"""The cases in which the authors' aggregation ends with a KeyError."""
TRIES = 15
"""How often the authors' script asks Mistral again for a readable reply."""


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    content: dict[str, Any] = json_of(FOLDER / "expected.json")
    return content


@pytest.fixture(scope="module")
def generation() -> dict[str, Any]:
    rows = json_of(FOLDER / "generation.json")
    assert len(rows) == 10
    return {row["example_id"]: row for row in rows}


def _case(expected: dict[str, Any], name: str) -> dict[str, Any]:
    (case,) = [entry for entry in expected["end_to_end"] if entry["name"] == name]
    content: dict[str, Any] = case
    return content


def _sentences(row: dict[str, Any], method: SplitMethod) -> list[OfficialSentence]:
    return official_sentences(
        row["output"], method=method, sources=len(official_sources(row["input"]))
    )


def test_the_fixtures_have_these_cases(expected: dict[str, Any]) -> None:
    kinds = {
        key: len(value) for key, value in expected.items() if isinstance(value, list)
    }
    assert kinds == {
        "aggregation": 9,
        "end_to_end": 8,
        "remove_citations": 9,
        "citation_split": 8,
        "subclaim_split": 4,
    }
    names = {case["name"] for case in expected["end_to_end"]}
    assert names == {
        *SPLITS,
        "gpt_claim_recall",
        "gpt_meqsum_recall",
        "mistral_claim_never",
        "TRUE_claim_recall",
    }


def test_citations_are_removed_and_outputs_and_claims_split(
    expected: dict[str, Any],
) -> None:
    for case in expected["remove_citations"]:
        assert remove_citations_official(case["text"]) == case["expected"], case
    for case in expected["citation_split"]:
        segments = official_segments(case["text"], method="citation")
        assert segments == case["segments"], case
        assert [official_ids(segment) for segment in segments] == case[
            "ref_ids_per_segment"
        ], case
    for case in expected["subclaim_split"]:
        assert official_claims(case["text"]) == case["expected"], case


@pytest.mark.parametrize("name", SPLITS)
def test_sentences_equal_those_of_the_score_files(
    expected: dict[str, Any], generation: dict[str, Any], name: str
) -> None:
    case = _case(expected, name)
    saved = case["saved"]["full"]
    assert saved
    refused = total = 0
    for example, records in saved.items():
        sources = official_sources(generation[example]["input"])
        sentences = _sentences(generation[example], SPLITS[name])
        total += len(sentences)
        refused += sum(not sentence.judged for sentence in sentences)
        assert len(sentences) == len(records), example
        for sentence, record in zip(sentences, records, strict=True):
            target = remove_citations_official(record["output"])
            assert (sentence.target, list(sentence.citations)) == (
                target,
                record["citations"],
            ), example
            assert sentence.judged is bool(record["cited_sents"]), (example, record)
            if isinstance(record["cited_sents"], str):
                assert record["cited_sents"] == _shown(sentence, sources)
            elif record["cited_sents"]:
                assert [
                    cited_sentence["content"]
                    for cited_sentence in record["cited_sents"]
                ] == [sources[n] for n in sentence.citations]
    assert f"Wrong format count: {refused}/{total}" in case["counts"]


def _shown(sentence: OfficialSentence, sources: dict[int, str]) -> str:
    return "\n".join(
        f"[{index}] {sources[number]}"
        for index, number in enumerate(sentence.citations)
    )


@pytest.mark.parametrize("name", SPLITS)
def test_citation_scores_equal_those_of_the_scripts(
    expected: dict[str, Any], generation: dict[str, Any], name: str
) -> None:
    case = _case(expected, name)
    calls = iter(case["calls"])
    judged = {
        example: [
            _judged(sentence, calls, official_sources(row["input"]))
            for sentence in _sentences(row, SPLITS[name])
        ]
        for example, row in generation.items()
        if example in case["saved"]["full"]
    }
    assert next(calls, None) is None
    for example, records in case["saved"]["full"].items():
        for ours, record in zip(judged[example], records, strict=True):
            assert ours["citations"] == record["citations"]
            assert ours.get("entailment_prediction") == record.get(
                "entailment_prediction"
            )
            if ours.get("entailment_prediction"):
                supporting = set(record["citations"]) & set(record["provenance"])
                assert set(ours["provenance"]) == supporting
    if name in CRASHES:
        assert case["aggregate"] == {"error": "KeyError: 'entailment_prediction'"}
        with pytest.raises(KeyError, match="entailment_prediction"):
            official_scores(citations={"full": judged})
    else:
        assert official_scores(citations={"full": judged}) == case["aggregate"]


def _judged(
    sentence: OfficialSentence, calls: Iterator[dict[str, Any]], sources: dict[int, str]
) -> dict[str, Any]:
    """A record as in the authors' score files, from the replies.

    Mistral is asked again until a reply is readable.
    """
    record: dict[str, Any] = {"citations": list(sentence.citations)}
    if not sentence.judged:
        return record | {"entailment_prediction": 0}
    call = next(calls)
    if "user" in call:
        request = json.loads(call["user"])
        assert request["generated_sentence"] == sentence.target
        assert [
            int(source["idx"]) for source in request["sentence_in_clinical_report"]
        ] == list(sentence.citations)
        reading = gpt_cited(
            call["response"] if call["response"] != "__FAIL__" else "",
            sentence.citations,
        )
    else:
        for attempt in itertools.islice(itertools.chain([call], calls), TRIES):
            assert attempt["tail"].endswith(
                f"{_shown(sentence, sources)}\nsentence_in_report: {sentence.target}"
            )
            reading = mistral_cited(attempt["response"], sentence.citations)
            if not isinstance(reading, Unreadable):
                break
    if isinstance(reading, Unreadable):
        return record
    supporting = [
        number
        for number, holds in zip(sentence.citations, reading[1], strict=True)
        if holds
    ]
    return record | {"entailment_prediction": int(reading[0]), "provenance": supporting}


def test_verdicts_on_gpt_claims_equal_the_records(
    expected: dict[str, Any], generation: dict[str, Any]
) -> None:
    case = _case(expected, "gpt_claim_recall")
    calls = iter(case["calls"])
    for example, row in generation.items():
        target = remove_citations_official(row["output"])
        saved = case["saved"]["full"].get(example, [])
        if not target:
            assert [record["entailment_prediction"] for record in saved] == [0, 0]
            continue
        call = next(calls)
        assert json.loads(call["user"])["clinical_report"] == target
        assert gpt_claims(call["response"]) == tuple(
            record["entailment_prediction"] == 1 for record in saved
        )
    assert next(calls, None) is None


def test_verdicts_on_gpt_questions_equal_the_records(expected: dict[str, Any]) -> None:
    case = _case(expected, "gpt_meqsum_recall")
    saved = case["saved"]["full"]
    assert len(case["calls"]) == len(saved) == 3
    for call, records in zip(case["calls"], saved.values(), strict=True):
        assert gpt_question(call["response"]) == tuple(
            record["entailment_prediction"] == 1 for record in records
        )


def test_unreadable_mistral_replies_have_no_verdict(expected: dict[str, Any]) -> None:
    case = _case(expected, "mistral_claim_never")
    records = case["saved"]["full"]["e1"]
    assert len(case["calls"]) == TRIES * len(records) == 30
    assert all(
        isinstance(mistral_claim(call["response"]), Unreadable)
        for call in case["calls"]
    )
    assert not any("entailment_prediction" in record for record in records)
