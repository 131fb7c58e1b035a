"""Decisions of the authors' citation reading that the checked cases do not show, each with what it comes from in their script."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.official_reading import (
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
from medical_tasks.scoring.sentences import Punkt

TWENTY = {number: f"Sentence {number}." for number in range(20)}
TEXTS = st.text(alphabet="aB 12[]|+-. \n", max_size=50)


def test_ten_citations_in_the_order_of_a_set() -> None:
    text = "".join(f"[{number}]" for number in range(12))
    (one,) = official_sentences(f"All {text}", method="sent", sources=TWENTY)
    assert one.citations == tuple(range(10))
    # In a table of eight places 8 comes before 1: a set of small numbers is not always in order.
    (two,) = official_sentences("Two [1] [8]", method="sent", sources=TWENTY)
    assert two.citations == (8, 1)


def test_borrowed_citations_keep_repeats_and_are_cut_too() -> None:
    first, second = official_sentences("First. Second" + " [3]" * 12, method="sent", sources=TWENTY)
    assert (first.citations, first.borrowed) == ((3,) * 10, True)
    assert (second.citations, second.borrowed) == ((3,), False)
    assert (first.target, second.target) == ("First.", "Second")


def test_borrowing_skips_sentences_that_cite_nothing() -> None:
    first, second, third, last = official_sentences("One. Two. Three [4]. Four.", method="sent", sources=TWENTY)
    assert [one.citations for one in (first, second, third, last)] == [(4,), (4,), (4,), ()]
    assert [one.asked for one in (first, second, third, last)] == [True, True, True, False]


def test_a_number_too_large_spoils_the_sentence_and_keeps_the_denominator() -> None:
    (one,) = official_sentences("Pain [1] [2] [20]", method="sent", sources=TWENTY)
    assert (set(one.citations), one.asked) == ({1, 2, 20}, False)
    (many,) = official_sentences("Pain " + "".join(f"[{n}]" for n in range(21)), method="sent", sources=TWENTY)
    assert (len(many.citations), many.asked) == (21, False)  # what is not asked about is not cut to ten


def test_a_source_numbered_otherwise_is_named() -> None:
    with pytest.raises(UsageError, match=r"\[0\] is cited, and the source's 2 sentences have no such number"):
        official_sentences("Pain [0]", method="sent", sources={1: "A.", 2: "B."})
    (one,) = official_sentences("Pain [2]", method="sent", sources={1: "A.", 2: "B."})
    assert one.asked is False


def test_meqsum_is_one_sentence() -> None:
    (one,) = official_sentences("Is it? \n Or not? [1][3]", method="meqsum", sources=TWENTY)
    assert (one.output, one.target, one.citations) == ("Is it? Or not? [1][3]", "Is it? Or not?", (1, 3))


@pytest.mark.parametrize("method", ["sent", "citation", "meqsum"])
def test_an_empty_output_has_no_sentences(method: str) -> None:
    assert official_sentences("", method=method, sources=TWENTY) == []  # type: ignore[arg-type]


def test_the_parameters_of_punkt_are_the_callers() -> None:
    text = "Seen by Dr. Who [1]. Fine."
    assert len(official_segments(text, method="sent")) == 3
    assert len(official_segments(text, method="sent", punkt=Punkt(abbreviations=frozenset({"dr"}), name="dr"))) == 2


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("lost [0] A [1][2] B\n C", {0: "A", 1: "", 2: "B C"}),
        ("[0] A [0] B", {0: "B"}),
        ("none", {}),
    ],
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


@pytest.mark.parametrize(
    ("reply", "citations", "said"),
    [
        ("explanation: a\nprovenance: [1]\nentailment_prediction: 1", (5, 7), ("a", 1, [7])),
        ("provenance: [1], the 0th not\nprediction: 1", (5, 7), ("", 1, [7, 5])),
        ("2 of them, provenance: 1\nprediction: 1", (5, 7, 9), ("", 1, [9, 7])),  # digits before it count too
        ("provenance: [8]\nprovenance: [0]\nprediction: 1", (5, 7), ("", 1, [5])),
        ("prediction: 10", (5,), ("", 1, [5])),
        ("prediction: 0\nprediction: 1", (5, 7), ("", 0, [])),
        ("prediction: 1", (5, 7), None),
        ("Prediction: 1", (5,), None),
    ],
)
def test_mistral_replies(reply: str, citations: tuple[int, ...], said: tuple[str, int, list[int]] | None) -> None:
    read = mistral_citation_reply([reply], citations=citations)
    assert (tuple(read.values()) if read else None) == said


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
