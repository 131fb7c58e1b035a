"""Scores, their limits if verdicts are missing, and the scores of the gold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.kqa.data import demo_rows, load_items, read_rows
from medical_tasks.benchmarks.kqa.declarations import METRICS
from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.kqa.judging import (
    AnswerVerdict,
    Case,
    StatementVerdict,
    judge_answers,
)
from medical_tasks.benchmarks.kqa.prompts import gold_response
from medical_tasks.benchmarks.kqa.scoring import (
    case_of,
    item_score,
    score_items,
    unanswered_limits,
)
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging, NoReply
from medical_tasks.judges.lexical import LexicalJudge
from medical_tasks.runs.numbers import value_notes
from medical_tasks.runs.results import NO_ANSWER, TaskEntry
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item, ItemScore
from tests.benchmarks.kqa.kqa_judges import (
    by_lines,
    item,
    judge,
    prompt_content,
    scripted,
)
from tests.judges.scripted import TableJudge
from tests.support import SHARED, needs_shared

NAMES = {metric.name for metric in METRICS}
OWN_NAMES = {metric.name for metric in KQA.reporting(()).metrics}
OFFICIAL = [metric.name for metric in METRICS if metric.official]
KQA_PLAIN = replace(KQA, groups=())
COUNTS = (
    "hallucination_rate",
    "hallucination_rate_answered",
    "hallucination_official",
    "hallucination_norm_official",
)


def _score(
    must: str, nice: str = "", answer: str = "Take it easy.", *, official: bool = False
) -> ItemScore:
    """Scores one answer whose statements have labels in letters: e, n, c, and ? for a missing verdict.

    `official`: with the authors' prompts, to which the judge replies
    these labels.
    """
    letters = {"e": "entailment", "n": "neutral", "c": "contradiction", "?": None}
    table = {f"i/must/{index}": letters[letter] for index, letter in enumerate(must)}
    table |= {f"i/nice/{index}": letters[letter] for index, letter in enumerate(nice)}
    judging = Judging(judge=TableJudge(table), prompts=load_judge_prompts(KQA))
    scored_item = item("i", list(must), list(nice))
    if official:
        case = case_of("i", scored_item.fields, answer)
        (verdict,) = judge_answers([case], judging)
        stated = sum(statement.stated for statement in verdict.statements)
        return item_score(case, verdict, most_statements=stated, official=True)
    (score,) = score_items(KQA, [scored_item], [answer], judging=judging)
    return score


def test_scores_with_our_prompts_calculated_by_hand() -> None:
    score = _score("eenc", "ecn")
    assert set(score.values) == OWN_NAMES
    assert score.values == {
        "comprehensiveness": 0.5,
        "hallucination_rate": 2.0,
        "comprehensiveness_answered": 0.5,
        "hallucination_rate_answered": 2.0,
        "contradicted": 1.0,
        "answered": 1.0,
        "words": 3.0,
    }
    assert score.parsed == "must 2/4, nice 1/3, contradicted 2"
    assert score.why == "missed: must/2 must/3; contradicted: must/3 nice/1"
    assert (score.unscored, score.limits) == (None, {})


def test_scores_with_official_prompts_calculated_by_hand() -> None:
    score = _score("eenc", "ecn", official=True)
    assert set(score.values) == NAMES
    assert [score.values[name] for name in OFFICIAL] == [0.5, 0.5, 2.0, 2.0]
    # The authors' prompts do not ask whether a nice-to-have is entailed.
    assert score.parsed == "must 2/4, contradicted 2"


def test_an_abstention_scores_0() -> None:
    score = _score("ee", "c", answer="I don't know.")
    for name in (
        "comprehensiveness",
        "hallucination_rate",
        "contradicted",
        "answered",
    ):
        assert score.values[name] == 0
    for name in ("comprehensiveness_answered", "hallucination_rate_answered", "words"):
        assert math.isnan(score.values[name])
    assert score.why.startswith("abstained by the rule")


def test_metrics_without_statements_are_undefined() -> None:
    values = _score("", "c", official=True).values
    assert math.isnan(values["comprehensiveness"])
    assert math.isnan(values["comprehensiveness_norm_official"])
    assert values["comprehensiveness_official"] == 0.0
    assert values["hallucination_rate"] == 1.0
    score = _score("", official=True)
    for name in ("comprehensiveness", "hallucination_rate", "contradicted"):
        assert math.isnan(score.values[name])
    assert score.values["hallucination_official"] == 0.0
    assert score.values["words"] == 3.0
    assert score.unscored is None


def test_missing_verdicts_leave_limits() -> None:
    score = _score("ee?n", "c?", official=True)
    assert score.unscored == "judge: http 500"
    for name in ("comprehensiveness", "comprehensiveness_norm_official"):
        assert score.limits[name] == (0.5, 0.75)
    for name in ("hallucination_rate", "hallucination_official"):
        assert score.limits[name] == (1.0, 3.0)
    # One contradiction is enough for `contradicted`.
    assert score.values == {"contradicted": 1.0, "answered": 1.0, "words": 3.0}
    assert score.parsed == "must 2 to 3/4, contradicted 1 to 3"
    assert "without a verdict: must/2 nice/1" in score.why


def test_the_most_frequent_reason_is_reported(tmp_path: Path) -> None:
    reasons = iter(["timeout", "http 500", "http 500", "timeout", "http 500"])
    score = judge(
        tmp_path,
        [item("i", list("abcde"))],
        ["A."],
        lambda call: NoReply(key=call.key, reason=next(reasons)),
    ).score
    assert score.unscored == "judge: http 500"
    assert score.limits["comprehensiveness"] == (0.0, 1.0)


@given(
    st.text("enc?", max_size=3),
    st.text("enc?", max_size=2),
    st.sampled_from(["A.", "I don't know.", ""]),
)
def test_limits_are_those_of_all_completions(must: str, nice: str, answer: str) -> None:
    score = _score(must, nice, answer, official=True)
    n_open = (must + nice).count("?")
    wholes = []
    for letters in itertools.product("enc", repeat=n_open):
        chosen = iter(letters)
        filled = "".join(
            next(chosen) if letter == "?" else letter for letter in must + nice
        )
        whole = _score(filled[: len(must)], filled[len(must) :], answer, official=True)
        wholes.append(whole.values)
    for name in NAMES:
        values = [whole[name] for whole in wholes]
        if name in score.values:
            assert all(
                value == score.values[name] or math.isnan(value) for value in values
            ), name
            assert math.isnan(values[0]) == math.isnan(score.values[name])
        else:
            assert (min(values), max(values)) == score.limits[name], name
    assert (score.unscored is None) == (not score.limits)


def test_an_open_abstention_moves_the_means_within_its_limits() -> None:
    """Brute force over both outcomes of the open abstention and all values of the other items."""
    verdict = AnswerVerdict(
        statements=tuple(
            StatementVerdict(name=f"must/{n}", contradicted=True) for n in range(2)
        ),
        answered=None,
    )
    for others in itertools.product([0.0, 1.0, 5.0], repeat=2):
        case = Case(
            id="i",
            question="",
            answer="word " * 7,
            must_have=("a", "b"),
            nice_to_have=(),
        )
        limits = item_score(case, verdict, most_statements=5).limits
        for name in ("comprehensiveness_answered", "hallucination_rate_answered"):
            low, high = limits[name]
            rest = [
                min(value, 1.0) if name.startswith("comp") else value
                for value in others
            ]
            own = {
                "comprehensiveness_answered": 0.0,
                "hallucination_rate_answered": 2.0,
            }[name]
            means = [sum(rest) / 2, (sum(rest) + own) / 3]
            assert (sum(rest) + low) / 3 <= min(means) + 1e-12
            assert (sum(rest) + high) / 3 >= max(means) - 1e-12


def test_limits_of_an_item_without_an_answer() -> None:
    limits = unanswered_limits(KQA, item("i", ["a", " ", "b"], ["c"]))
    assert limits == {
        "hallucination_rate": (0.0, 3.0),
        "hallucination_rate_answered": (0.0, 3.0),
        "hallucination_official": (0.0, 4.0),
        "hallucination_norm_official": (0.0, 4.0),
    }
    endless = {metric.name for metric in METRICS if math.isinf(metric.limits[1])}
    assert endless == {*limits, "words"}
    judging = Judging(judge=TableJudge({}), prompts=load_judge_prompts(KQA))
    with pytest.raises(UsageError, match="kqa: 1 items but 0 responses"):
        score_items(KQA, [item("i", ["a"])], [], judging=judging)


# Gold in, full marks out


def _gold(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Item], list[str]]:
    items = load_items(KQA, rows)
    return items, [gold_response(KQA, item) for item in items]


def _released() -> tuple[list[Item], list[str]]:
    return _gold(
        list(
            read_rows(
                "answered",
                "test",
                {"test": SHARED / "data" / "kqa" / "questions_w_answers.jsonl"},
            )
        )
    )


def _full_marks(scores: list[ItemScore]) -> None:
    for score in scores:
        assert score.unscored is None
        for name, value in score.values.items():
            if name != "words":
                expected = 0.0 if name in COUNTS or name == "contradicted" else 1.0
                assert value == expected, (score.id, name, score.why)


@pytest.mark.parametrize("mode", ["single", "batched"])
def test_gold_of_the_demo(tmp_path: Path, mode: str) -> None:
    items, answers = _gold(demo_rows())
    assert len(items) >= 10
    _full_marks(judge(tmp_path, items, answers, scripted(by_lines), mode=mode).scores)
    _full_marks(judge(tmp_path, items, answers, LexicalJudge(), mode=mode).scores)


@pytest.mark.upstream
@needs_shared
def test_gold_of_every_row(tmp_path: Path) -> None:
    items, answers = _released()
    assert len(items) == 201
    assert [line for answer in answers for line in answer.split("\n")] == [
        text.strip()
        for item in items
        for text in (*item.fields["must_have"], *item.fields["nice_to_have"])
        if text.strip()
    ]
    done = judge(tmp_path, items, answers, scripted(by_lines), mode="batched")
    _full_marks(done.scores)
    assert len(done.backend.calls) == 201
    asked_about = sum(
        len(prompt_content(call).statements) for call in done.backend.calls
    )
    assert asked_about == 892 + 697 - 3  # three blank ones
    _full_marks(judge(tmp_path, items, answers, LexicalJudge()).scores)


OF_THREE = ("ee", "ec", "nn")


def _summary_of(labels: Sequence[str], items: int, **named: Any) -> TaskEntry:
    scores = {
        f"q{index}": replace(_score(letters, official=True), id=f"q{index}")
        for index, letters in enumerate(labels)
    }
    asked_items = [item(f"q{index}", ["a", "b"], []) for index in range(items)]
    missing = {
        letters.id: "not in the file"
        for letters in asked_items
        if letters.id not in scores
    }
    return summarise(KQA_PLAIN, asked_items, scores, missing, recipe={}, **named)


def test_official_means_divide_by_all_questions() -> None:
    """By hand: recalls 1, 1/2 and 0 of three answers to four questions, one statement contradicted."""
    entry = _summary_of(OF_THREE, 4)
    metrics = {
        name: entry["metrics"][name] for name in ("comprehensiveness", *OFFICIAL)
    }
    assert [(metric["value"], metric["n"]) for metric in metrics.values()] == [
        (1.5 / 3, 3),
        (1.5 / 4, 4),
        (1.5 / 3, 3),
        (1 / 4, 4),
        (1 / 3, 3),
    ]
    # Our metric leaves the unanswered question open; the official ones leave nothing
    # open, and their interval is that of four questions.
    assert (
        metrics["comprehensiveness"]["bound_low"],
        metrics["comprehensiveness"]["bound_high"],
    ) == (
        1.5 / 4,
        2.5 / 4,
    )
    comp = metrics["comprehensiveness_official"]
    assert comp["bound_low"] == comp["bound_high"] == comp["value"]
    assert comp["ci_low"] <= comp["value"] <= comp["ci_high"]
    assert (comp["unanswered"], "scored" in comp) == (1, False)
    note = "comprehensiveness_official, hallucination_official: an item without an answer counts as 0, as in the authors' script."
    assert note in value_notes(entry)
    # A question with one statement cannot have as many contradictions as the others'
    # mean; the official metric ignores that.
    most = {"q0": 2.0, "q1": 2.0, "q2": 1.0}
    few = _summary_of(
        ("cc", "cc"),
        3,
        unanswered_limits=lambda metric: dict.fromkeys(COUNTS, (0.0, most[metric.id])),
    )
    assert few["metrics"]["hallucination_norm_official"]["value"] == 2.0
    assert few["metrics"]["hallucination_rate"]["value"] == (2 + 2 + 1) / 3
    # Without any answer there is no figure at all.
    empty = _summary_of((), 2)["metrics"]["comprehensiveness_official"]
    assert (empty["value"], empty["reason"]) == (None, NO_ANSWER)


def test_a_missing_verdict_leaves_the_official_metrics_without_a_value() -> None:
    metrics = _summary_of(("ee", "e?"), 4)["metrics"]
    for name in OFFICIAL:
        assert metrics[name]["value"] is None
        assert metrics[name]["reason"] == "a judge's reply is missing (1 of 4 items)"
    assert metrics["comprehensiveness"]["value"] is not None
