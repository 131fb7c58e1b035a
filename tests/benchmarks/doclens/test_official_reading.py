"""Decisions of the authors' scripts that the checked cases do not show, each with what it comes from."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.judge_reading import (
    read_official_batch,
    read_official_cited,
    read_official_cited_lines,
    read_official_lines,
    read_official_made,
    read_official_object,
)
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
from medical_tasks.judges.base import Unreadable
from medical_tasks.scoring.sentences import Punkt
from tests.benchmarks.doclens.doclens_judges import official_entries as _entries
from tests.benchmarks.doclens.their_scores import official_citation_scores, official_claim_scores, official_scores

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


def test_claims_are_read_from_lines() -> None:
    assert read_official_made("Claim 1: A.\nClaim 2: B.") == '["A.", "B."]'
    assert read_official_made("Sure:\n\n Claim 1: A\nb.\nClaim 1: B.\nClaim 7: B.") == '["A b.", "B."]'
    for reply in (
        "claim 1: lower",
        "Claim 1:A",
        "Claim 1: He said Claim 2: twice",
        "Claim 1: \nClaim 2: B.",
        "Claim 1: A. Claim 2: B.",
        "**Claim 1: A.**",
        "",
        "A.",
        "\n".join(f"Claim {number}: F{number}." for number in range(1, 32)),
    ):
        assert isinstance(read_official_made(reply), Unreadable)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (_entries(("A.", 1), ("B <3.", 0)), (True, False)),
        (_entries(("b <3", 0), ('"a."', 1)), (True, False)),
        (_entries(("A.", 1)), (True, None)),
        (f"```json\n{_entries(('A.', True), ('B <3.', 0.0))}\n```", (True, False)),
        (_entries(("A.", 1), ("B >3.", 0)), "none of those asked about"),
        (_entries(("A.", 1), ("A.", 0)), "a claim stands twice"),
        (_entries(("A.", 1), ("A.", 1)), "a claim stands twice"),
        (_entries(("A.", "1")), "entailment_prediction must be 1 or 0"),
        (_entries(("A.", 2)), "must be 1 or 0"),
        (_entries(("A.", 1), key="verdict"), "one entailment_prediction is needed"),
        ('[{"entailment_prediction": 1}]', "an object with the claim"),
        ('{"A.": 1}', "a list of objects"),
        ("[]", "a list of objects"),
        ("1\n0", "no JSON"),
    ],
)
def test_verdicts_on_claims_are_matched_by_the_claim(reply: str, value: Any) -> None:
    found = read_official_batch(["A.", "B <3."])(reply)
    if isinstance(value, str):
        assert isinstance(found, Unreadable)
        assert value in found.problem
    else:
        assert found == value


def test_claims_that_look_alike_are_not_confused() -> None:
    read = read_official_batch(["A.", "a", "B."])
    assert read(_entries(("A.", 1), ("B.", 1))) == (None, None, True)
    assert read(_entries(("A.", 1), ("a", 1), ("B.", 0))) == (True, True, False)
    assert isinstance(read(_entries(("A.", 1), ("a", 0))), Unreadable)


@pytest.mark.parametrize(
    ("reply", "entailed"),
    [
        ('{"explanation": "x", "prediction": 1}', True),
        ('{"explanation": "x", "entailment_prediction": 0}', False),
        ('{"prediction": 1, "entailment_prediction": 0}', None),
        ('{"explanation": "x"}', None),
        ('[{"prediction": 1}]', None),
        ("prediction: 1", None),
    ],
)
def test_verdicts_on_questions(reply: str, entailed: bool | None) -> None:
    found = read_official_object(reply)
    assert isinstance(found, Unreadable) if entailed is None else found is entailed


@pytest.mark.parametrize(
    ("reply", "entailed"),
    [
        ("explanation: x\nentailment_prediction: 1", True),
        ("explanation: x\n prediction: 0", False),
        ("explanation: x\nEntailment prediction: 1.", True),
        ("explanation: x\nentailment\\_prediction: 1", True),
        ("explanation: the note says prediction: 1\nentailment_prediction: 0", False),
        ("prediction: 1\nentailment_prediction: 0", None),
        ("explanation: x\nprediction: 10", None),
        ("prediction: 1 or 0", None),
        ("prediction: 1\nThat is all.", None),
        ("no verdict", None),
    ],
)
def test_verdicts_of_mistral(reply: str, entailed: bool | None) -> None:
    found = read_official_lines(reply)
    assert isinstance(found, Unreadable) if entailed is None else found is entailed


def test_verdicts_on_sentences() -> None:
    read = read_official_cited([8, 3])
    assert read('{"explanation": "", "provenance": [3], "entailment_prediction": 1}') == (True, (3,))
    assert read('{"provenance": [], "prediction": 0}') == (False, ())  # their prompt for questions asks for this name
    for reply in (
        '{"provenance": ["3"], "entailment_prediction": 1}',
        '{"provenance": [4], "entailment_prediction": 1}',
        '{"provenance": [], "entailment_prediction": 1}',
        '{"entailment_prediction": 1}',
        "[]",
    ):
        assert isinstance(read(reply), Unreadable)
    lines = read_official_cited_lines([8, 3])
    assert lines("explanation: x\nprovenance: [1]\nentailment_prediction: 1") == (True, (3,))
    assert lines("explanation: x\nentailment_prediction: 0") == (False, ())
    for given_ in ("provenance: [2]", "provenance: none", "", "provenance: [0]\nprovenance: [1]"):
        assert isinstance(lines(f"{given_}\nentailment_prediction: 1"), Unreadable)
    assert read_official_cited_lines([8])("entailment_prediction: 1") == (True, (8,))


@given(st.text(alphabet='[]{}":,01 \nclaimprdto_', max_size=60))
@settings(deadline=None, max_examples=100)
def test_readers_never_raise(text: str) -> None:
    for read in (
        read_official_made,
        read_official_batch(["a"]),
        read_official_object,
        read_official_lines,
        read_official_cited([1, 2]),
        read_official_cited_lines([1, 2]),
    ):
        found = read(text)
        assert isinstance(found, Unreadable) or hash(found) == hash(found)


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
