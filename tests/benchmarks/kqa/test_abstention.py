"""Abstentions by rule, in wordings of our own like those that the paper's prompts ask for and models use."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.kqa.abstention import ANSWER_WORDS, LONGEST, abstention
from tests.benchmarks.kqa.abstention_families import abstaining, answering
from tests.benchmarks.kqa.kqa_judges import cases
from tests.case_tables import json_of
from tests.support import SHARED, needs_shared

CASES = cases("abstention")
TEXTS = [(text, kind) for kind in ("sure", "none", "unsure") for text in CASES[kind]]


def test_the_table_is_long_enough() -> None:
    assert len(dict(TEXTS)) == len(TEXTS) >= 75


@pytest.mark.parametrize(("text", "kind"), TEXTS, ids=lambda value: repr(value[:50]))
def test_an_answer_is_classified(text: str, kind: str) -> None:
    assert abstention(text) == kind


def test_generated_wordings_are_classified() -> None:
    texts = abstaining()
    assert len(texts) >= 500
    missed = [text for text in texts if abstention(text) != "sure"]
    assert len(missed) <= len(texts) * 0.03, missed
    texts = answering()
    assert len(texts) >= 500
    taken = [text for text in texts if abstention(text) == "sure"]
    assert len(taken) <= len(texts) * 0.01, taken


def test_a_long_abstention_is_unsure() -> None:
    refusals = [
        f"I cannot answer question number {word} of yours."
        for word in map(str, range(40))
    ]
    assert len(" ".join(refusals).split()) > LONGEST
    assert abstention(" ".join(refusals)) == "unsure"
    filling = "Ibuprofen " + "helps " * (ANSWER_WORDS - 1)
    assert abstention(f"I don't know. {filling}") == "none"
    assert abstention(f"I don't know. {filling.removesuffix('helps ')}") == "unsure"


@given(
    st.sampled_from([text for text, _ in TEXTS]),
    st.sampled_from(["**{}**", "\n\n{}\n", "“{}”", "« {} »", "- {}", "> {}"]),
)
def test_markup_and_quotation_marks_make_no_difference(text: str, markup: str) -> None:
    assert abstention(markup.format(text)) == abstention(text)


@given(st.text(max_size=300))
def test_any_text_is_classified(text: str) -> None:
    verdict = abstention(text)
    assert verdict in ("sure", "unsure", "none")
    if not any(sign.isalnum() for sign in text):
        assert verdict == "sure"


@pytest.mark.parametrize(
    "piece",
    [
        "i don't ",
        "the ",
        "i do not have any ",
        "in the provided ",
        "a, ",
        "please see ",
        "-",
        " - ",
        "i am so sorry ",
    ],
)
def test_no_pattern_backtracks_without_end(piece: str) -> None:
    # A pattern that backtracked from every position would take minutes here; the suite's
    # time limit would stop it.
    assert abstention(piece * 4000) in ("sure", "unsure", "none")


@pytest.mark.upstream
@needs_shared
def test_texts_of_the_release() -> None:
    with (SHARED / "data" / "kqa" / "questions_w_answers.jsonl").open(
        encoding="utf-8"
    ) as lines:
        answers = [json.loads(line)["Free_form_answer"] for line in lines]
    assert len(answers) == 201
    assert [answer for answer in answers if abstention(answer) != "none"] == []
    # The authors' example file: 48 answers of GPT-3.5, none of which abstains.
    results = json_of(SHARED / "data" / "kqa" / "dummy_res.json")
    assert len(results) == 48
    assert [
        result["result"] for result in results if abstention(result["result"]) == "sure"
    ] == []
