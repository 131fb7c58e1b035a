"""Judging with the authors' prompts: the questions, both readings of the replies, and the scores of the authors' script."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.judging import CANNOT_TELL
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Call, NoReply, Reply
from medical_tasks.spec import Item
from tests.benchmarks.kqa.kqa_judges import ANSWER, ITEM, Judged, item, judge
from tests.case_tables import json_of
from tests.support import SHARED, needs_shared

pytestmark = [pytest.mark.upstream, needs_shared]

BLANK = item("q", ["Rest.", " "])
"""An item with a blank statement."""


def official(
    folder: Path,
    script: Callable[[Call], Any],
    judged: Item = ITEM,
    answer: str = ANSWER,
    **options: Any,
) -> Judged:
    """Judges one answer with the authors' prompts."""
    return judge(folder, [judged], [answer], script, prompts="official", **options)


def test_a_must_have_has_two_questions_and_a_nice_to_have_one(tmp_path: Path) -> None:
    answer = f"\n {ANSWER} \n"  # sent with the white space around it
    done = official(tmp_path, lambda call: "The answer is False.", answer=answer)
    assert [call.question.id for call in done.backend.calls] == [
        "q1/must/0/entails",
        "q1/must/0/contradicts",
        "q1/must/1/entails",
        "q1/must/1/contradicts",
        "q1/nice/0/contradicts",
        "q1/nice/1/contradicts",
    ]
    assert done.score.parsed == "must 0/2, contradicted 0"
    assert str(done.backend.calls[0].messages[0]["content"]).endswith(
        f"Premise: {answer}\nHypothesis: Ibuprofen helps.\nAnswer:"
    )


def test_our_and_the_official_reading_of_the_same_replies(tmp_path: Path) -> None:
    replies = {
        # ours: no; official: entailed
        "q1/must/0/entails": "The answer is not true.",
        # ours: entailed; official: no
        "q1/must/1/entails": "The answer is True because both texts say it.",
        # ours: no; official: counted
        "q1/must/0/contradicts": "It is True that they differ. The answer is False.",
        # ours: contradicted; official: not counted
        "q1/must/1/contradicts": "the answer is true.",
        "q1/nice/0/contradicts": "The answer is True.",
        "q1/nice/1/contradicts": "The answer is False.",
    }
    score = official(tmp_path, lambda call: replies[call.question.id]).score
    values = score.values
    assert values["comprehensiveness"] == values["comprehensiveness_official"] == 0.5
    assert values["hallucination_rate"] == values["hallucination_official"] == 2.0
    assert score.parsed == "must 1/2, contradicted 2"
    assert "official differs: must/0 must/1" in score.why
    assert "missed: must/0; contradicted: must/1 nice/0" in score.why


def test_an_unreadable_reply_is_asked_again(tmp_path: Path) -> None:
    def script(call: Call) -> str:
        return "The answer is True." if len(call.messages) > 1 else "Label: 1"

    done = official(tmp_path, script)
    assert len(done.backend.calls) == 12
    assert done.score.values["comprehensiveness"] == 1.0
    # The authors' script reads the first reply.
    assert done.score.values["comprehensiveness_official"] == 0.0


def test_a_truncated_reply_is_unscored(tmp_path: Path) -> None:
    cut = Reply(key="", text="The answer is True", finish="length")
    score = official(tmp_path, lambda call: cut).score
    assert score.unscored == "judge: cut reply"
    for name in ("comprehensiveness", "comprehensiveness_official"):
        assert score.limits[name] == (0.0, 1.0)

    def healed(call: Call) -> str | Reply:
        return "The answer is True." if len(call.messages) > 1 else cut

    score = official(tmp_path, healed).score
    assert score.values["comprehensiveness"] == 1.0
    assert score.limits["comprehensiveness_official"] == (0.0, 1.0)
    assert score.unscored == "judge: cut reply"


def test_an_abstention_is_judged(tmp_path: Path) -> None:
    done = official(
        tmp_path, lambda call: "The answer is False.", BLANK, "I don't know."
    )
    assert len(done.backend.calls) == 4
    assert done.score.values["answered"] == 0.0


def test_a_blank_statement_counts_only_for_the_authors(tmp_path: Path) -> None:
    def script(call: Call) -> str:
        return f"The answer is {'must/0/e' in call.question.id}"

    score = official(tmp_path, script, BLANK, "Rest.").score
    assert score.values["comprehensiveness"] == 1.0
    assert score.values["comprehensiveness_official"] == 0.5


@pytest.mark.parametrize("answer", ["", " \n"])
def test_a_blank_answer_entails_nothing_whatever_the_reply(
    tmp_path: Path, answer: str
) -> None:
    """The authors' script counts the judge's replies."""
    done = official(tmp_path, lambda call: "The answer is True.", BLANK, answer)
    prompts = [str(call.messages[0]["content"]) for call in done.backend.calls]
    assert len(prompts) == 4
    assert f"Premise: {answer}\nHypothesis: Rest.\nAnswer:" in prompts[0]
    values = done.score.values
    assert values["comprehensiveness_official"] == 1.0
    assert values["hallucination_official"] == 2.0
    assert values["comprehensiveness"] == values["answered"] == 0.0
    assert values["hallucination_rate"] == 0.0


@pytest.mark.parametrize("answer", ["", " \n"])
def test_a_blank_answer_without_replies(tmp_path: Path, answer: str) -> None:
    def timeout(call: Call) -> NoReply:
        return NoReply(key=call.key, reason="timeout")

    score = official(tmp_path, timeout, BLANK, answer).score
    assert score.limits["comprehensiveness_official"] == (0.0, 1.0)
    assert score.unscored == "judge: timeout"
    assert score.values["comprehensiveness"] == 0.0
    pairs = official(tmp_path, lambda call: "entailment", BLANK, answer, reads="pair")
    assert pairs.backend.calls == []


def test_judges_of_entailment_decide_by_label(tmp_path: Path) -> None:
    values = official(tmp_path, lambda call: "contradiction", reads="pair").score.values
    assert values["hallucination_official"] == values["hallucination_rate"] == 4.0
    two_way = official(tmp_path, lambda call: "not_entailment", reads="pair").score
    assert two_way.values["comprehensiveness_official"] == 0.0
    assert two_way.unscored == CANNOT_TELL


def test_official_prompts_are_not_batched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be batched"):
        official(tmp_path, lambda call: "True", mode="batched")


@pytest.mark.parametrize(
    "name",
    [
        "five_of_seven_answered",
        "extra_unknown_question_dropped",
        "empty_must_have_gives_nan_recall",
    ],
)
def test_scores_equal_those_of_the_authors_script(tmp_path: Path, name: str) -> None:
    fixture = json_of(SHARED / "fixtures" / "metrics.json")["kqa"]
    (case,) = [case for case in fixture["cases"] if case["name"] == name]
    rows = (*fixture["gold"], *fixture["gold_extra"])
    gold = {row["Question"]: row for row in rows}
    texts = {
        (entry["task"], entry["question"], entry["statement"]): entry["text"]
        for entry in fixture["judge_texts"]
    }
    assert (len(gold), len(texts)) == (10, 24)
    expected = {entry["Question"]: entry for entry in case["per_question"]}
    items = [
        item(q, gold[q]["Must_have"], gold[q]["Nice_to_have"], question=q)
        for q in expected
    ]
    columns = {"must": "Must_have", "nice": "Nice_to_have"}
    tasks = {"entails": "is_entails", "contradicts": "is_contradict"}

    def script(call: Call) -> str:
        name = call.question.id.removesuffix("/official")
        question, importance, number, kind = name.rsplit("/", 3)
        statement = gold[question][columns[importance]][int(number)]
        return str(texts[tasks[kind], question, statement])

    answers = ["Some answer"] * len(items)
    done = judge(tmp_path, items, answers, script, prompts="official", reasks=0)
    for score in done.scores:
        recall = score.values["comprehensiveness_norm_official"]
        record = expected[score.id]
        assert (None if math.isnan(recall) else recall) == record["recall"]
        assert score.values["hallucination_official"] == record["n_contra"]
    # Comp and Hall are sums over 201, whatever was answered.
    comp, hall = (
        sum(score.values[f"{name}_official"] for score in done.scores)
        for name in ("comprehensiveness", "hallucination")
    )
    assert comp / 201 == pytest.approx(case["expected"]["Comp"], rel=1e-12)
    assert hall / 201 == pytest.approx(case["expected"]["Hall"], rel=1e-12)
