"""Scores in the four formats, the gold through its own scorer, and metrics beside the judge."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.ehrnoteqa.data import load_items, read_rows
from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.ehrnoteqa.scoring import NOT_TOLD, score_items, scoring_identity, text_metrics
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.errors import UsageError
from medical_tasks.guard.private_store import redact_reason
from medical_tasks.io.store import Store
from medical_tasks.judges.base import JudgeOptions, Judging
from medical_tasks.judges.lexical import LexicalJudge
from medical_tasks.judges.session import JudgeSession
from medical_tasks.models.base import ChoiceScores
from medical_tasks.runs.results import summarise
from medical_tasks.spec import Item, ItemScore, TaskSpec
from tests.benchmarks.ehrnoteqa.judged import by_text, golds, judge, perfect, twin_items
from tests.benchmarks.ehrnoteqa.tiny_items import item, task_of
from tests.judges.scripted import TableJudge

MARBLE = item()
EVIDENCE = item(
    choices=[], answer="", evidence=["He swallowed a small marble.", "It was a glass marble of his brother."]
)
SAME = (
    "accuracy",
    "exact_match",
    "rouge_l",
    "letter_accuracy",
    "accuracy_per_token",
    "accuracy_per_character",
    "gold_probability",
)


def _demo(task: TaskSpec) -> list[Item]:
    return load_items(task, list(read_rows("demo", "test", {})))


def _judging(task: TaskSpec, table: Any) -> Judging:
    return Judging(judge=TableJudge(table), prompts=load_judge_prompts(task))


def _probabilities(logprobs: Sequence[float | None], below: float | None = None) -> str:
    return ChoiceScores(logprobs=tuple(logprobs), tokens=(1,) * len(logprobs), below=below).to_text()


def _summary(task: TaskSpec, items: Sequence[Item], scores: Sequence[ItemScore]) -> dict[str, Any]:
    reported = replace(task, groups=(), metrics=tuple(metric for metric in task.metrics if not metric.needs))
    return dict(summarise(reported, items, {score.id: score for score in scores}, {}, recipe={}))


# Gold in, full marks out


def _full_marks(task: TaskSpec, items: Sequence[Item], scores: Sequence[ItemScore]) -> None:
    summary = _summary(task, items, scores)
    assert summary["coverage"] == {"asked": len(items), "answered": len(items), "scored": len(items), "unscored": {}}
    metrics = {name: entry["value"] for name, entry in summary["metrics"].items()}
    assert metrics == pytest.approx(dict.fromkeys(metrics, 1.0))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_gold_of_the_demo(tmp_path: Path, task: TaskSpec) -> None:
    items = _demo(task)
    assert len(items) == {1: 8, 2: 6}[int(task.options["level"])]
    if task.judge:
        done = judge(
            tmp_path, task.options["format"], items, golds(task, items), perfect, level=int(task.options["level"])
        )
        _full_marks(task, items, done.scores)
    else:
        _full_marks(task, items, score_items(task, items, golds(task, items)))


@pytest.mark.parametrize("form", ["open", "mc", "mc_prob_index", "mc_prob_value"])
def test_gold_of_a_twin(form: str) -> None:
    counts = []
    for level in (1, 2):
        task = task_of(form, level)
        items = twin_items(task, 400)
        judging = _judging(task, by_text) if task.judge else None
        _full_marks(task, items, score_items(task, items, golds(task, items), judging=judging))
        counts.append(len(items))
    assert sum(counts) == 400


@pytest.mark.parametrize("form", ["open", "mc"])
def test_gold_by_the_lexical_judge(tmp_path: Path, form: str) -> None:
    task = task_of(form)
    items = twin_items(task, 60)
    with Store(tmp_path / "s.sqlite") as store:
        session = JudgeSession(LexicalJudge(), JudgeOptions(), store, quiet=True)
        judging = Judging(judge=session, prompts=load_judge_prompts(task))
        _full_marks(task, items, score_items(task, items, golds(task, items), judging=judging))


def test_gold_of_evidence(tmp_path: Path) -> None:
    task = task_of("open")
    done = judge(tmp_path, "open", [EVIDENCE], golds(task, [EVIDENCE]), perfect)
    _full_marks(task, [EVIDENCE], done.scores)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_nothing_scores_nothing(task: TaskSpec) -> None:
    judging = _judging(task, lambda question: True) if task.judge else None
    items = _demo(task)
    for score in score_items(task, items, [""] * len(items), judging=judging):
        assert set(score.values.values()) == {0.0}
        assert score.unscored is None
        assert set(score.values) == {metric.name for metric in task.metrics if not metric.needs}


# Open answers


def test_an_open_answer_by_hand() -> None:
    about = item(choices=["He was given two units of red blood cells", "b", "c", "d", "e"], answer="A")
    answer = "Two units of red blood cells were transfused."
    (score,) = score_items(task_of("open"), [about], [answer], judging=_judging(task_of("open"), {"100/open": True}))
    # Longest common subsequence: two units of red blood cells = 6 of 8 and of 9 tokens.
    assert score.values["rouge_l"] == pytest.approx(2 * (6 / 8) * (6 / 9) / (6 / 8 + 6 / 9))
    # Tokens of 13a: 9, the point is one; "Two" differs. Hits 5/9 4/8 3/7 2/6; as long as the gold, so no penalty.
    assert score.values["bleu"] == pytest.approx((5 / 9 * 4 / 8 * 3 / 7 * 2 / 6) ** 0.25)
    assert (score.values["exact_match"], score.values["accuracy"]) == (0.0, 1.0)
    assert (score.parsed, score.why) == ("1", "judge: 1 of votes 1")


@pytest.mark.parametrize("answer", ["a marble", "A  MARBLE!", "\n'A marble'\n", "A marble."])
def test_exact_match_passes_over_case_marks_and_blanks(answer: str) -> None:
    assert text_metrics(answer, ("A marble.",))["exact_match"] == 1.0


def test_exact_match_is_not_more() -> None:
    for answer in ("marble", "A marble and a coin.", "Amarble", "", "A marblé"):
        assert text_metrics(answer, ("A marble.",))["exact_match"] == 0.0


def test_short_gold_has_full_marks_too() -> None:
    for gold in ("aspirin 81 mg", "129/72", "sepsis"):
        assert text_metrics(gold, (gold,)) == {"rouge_l": 1.0, "bleu": pytest.approx(1.0), "exact_match": 1.0}


def test_of_several_passages_the_most_similar_one_counts() -> None:
    golds = ("He swallowed a small marble.", "It was made of glass and blue.")
    for gold in (*golds, "\n".join(golds)):
        assert text_metrics(gold, golds) == {"rouge_l": 1.0, "bleu": pytest.approx(1.0), "exact_match": 1.0}


def test_without_gold_text_metrics_have_no_value() -> None:
    task = task_of("open")
    (score,) = score_items(
        task, [item(choices=[], answer="")], ["A marble."], judging=_judging(task, lambda question: True)
    )
    assert all(math.isnan(score.values[name]) for name in ("rouge_l", "bleu", "exact_match"))
    assert "accuracy" not in score.values
    summary = _summary(task, [MARBLE], [score])
    assert summary["coverage"]["unscored"] == {"no gold: for people to score": 1}


# Answered choices


@pytest.mark.parametrize(
    ("answer", "judged", "values", "parsed", "why"),
    [
        ("B. A marble.", True, (1.0, 1.0), "B", "judge: 1 of votes 1; rule: the answer begins with it"),
        ("It was a ring.", False, (0.0, 0.0), "D", "judge: 0 of votes 0; rule: the only choice whose text it has"),
        ("The round toy.", True, (1.0, 0.0), "", "judge: 1 of votes 1; rule: no letter"),
        ("The answer is B.", False, (0.0, 1.0), "B", "judge: 0 of votes 0; rule: named as the answer"),
        ("", True, (0.0, 0.0), "", "judge: not asked, empty answer; rule: no letter"),
    ],
)
def test_a_choice_by_judge_and_by_letter(
    answer: str, judged: bool, values: tuple[float, float], parsed: str, why: str
) -> None:
    task = task_of("mc")
    (score,) = score_items(task, [MARBLE], [answer], judging=_judging(task, {"100/choice": judged}))
    assert (score.values["accuracy"], score.values["letter_accuracy"]) == values
    assert (score.parsed, score.why) == (parsed, why)


def test_the_letter_stands_also_where_the_judge_says_nothing() -> None:
    task = task_of("mc")
    items = [MARBLE, replace(MARBLE, id="101"), replace(MARBLE, id="102")]
    scores = score_items(task, items, ["B", "B", "A"], judging=_judging(task, {"100/choice": True}))
    assert [score.values["letter_accuracy"] for score in scores] == [1.0, 1.0, 0.0]
    assert [score.unscored for score in scores] == [None, "judge: http 500", "judge: http 500"]
    accuracy = _summary(task, items, scores)["metrics"]["accuracy"]
    assert (accuracy["value"], accuracy["n"], accuracy["scored"], accuracy["estimated"]) == (1.0, 3, 1, 2)
    assert (accuracy["bound_low"], accuracy["bound_high"]) == (pytest.approx(1 / 3), 1.0)


def test_no_answer_is_quoted() -> None:
    secret = "xylographic"
    about = item(choices=[f"{secret} one two", "b c d", "e f g", "h i j", "k l m"], answer="A", question=secret)
    for form in ("open", "mc"):
        task = task_of(form)
        (score,) = score_items(task, [about], [f"A. {secret} one two"], judging=_judging(task, lambda question: True))
        assert secret not in f"{score.parsed} {score.why} {score.unscored}"


# Probabilities


def test_probabilities_by_hand() -> None:
    (score,) = score_items(task_of("mc_prob_index"), [MARBLE], [_probabilities((-2, -1, -3, -4, -5))])
    assert set(score.values) == {"accuracy", "gold_probability"}
    total = sum(math.exp(-power) for power in range(1, 6))
    assert score.values["accuracy"] == 1.0
    assert score.values["gold_probability"] == pytest.approx(math.exp(-1) / total)
    assert (score.parsed, score.why, score.unscored) == ("B", "right: B", None)
    # Sums a character: coin 7, marble 9, {key} 8, ring 7, Nothing 8.
    (value,) = score_items(task_of("mc_prob_value"), [MARBLE], [_probabilities((-7, -8, -9, -14, -16))])
    assert [value.values[name] for name in ("accuracy", "accuracy_per_token", "accuracy_per_character")] == [0, 0, 1]
    assert value.parsed == "A"


def test_what_a_server_does_not_tell() -> None:
    task = task_of("mc_prob_index")
    text = _probabilities((-4.0, None, None, None, None), below=-3.0)
    (score,) = score_items(task, [MARBLE], [text])
    assert score.values == {}
    assert (score.unscored, score.parsed, score.why) == (NOT_TOLD, "", "right: B; not told: 4 of 5")
    assert score.limits["accuracy"] == (0.0, 1.0)
    assert redact_reason(NOT_TOLD) == NOT_TOLD
    (decided,) = score_items(task, [MARBLE], [_probabilities((-1.0, None, None, None, None), below=-3.0)])
    assert (decided.values, decided.parsed) == ({"accuracy": 0.0}, "A")
    low, high = decided.limits["gold_probability"]
    assert low == 0.0
    assert high == pytest.approx(math.exp(-3) / (math.exp(-1) + math.exp(-3)))
    assert decided.unscored == NOT_TOLD


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ("B", "not JSON"),
        ('{"logprobs": [-1, -2, -3, -4], "tokens": [1, 1, 1, 1]}', "has 4 log-probabilities, the question 5 choices"),
        ('{"logprobs": [-1, -2, -3, -4, 1], "tokens": [1, 1, 1, 1, 1]}', "is at most 0"),
        ('{"logprobs": [-1, -2, -3, -4, null], "tokens": [1, 1, 1, 1, 1]}', "`below`"),
        ('{"xylographic": 1}', "must be an object with logprobs"),
        ('["xylographic"]', "must be an object with logprobs"),
    ],
)
def test_a_response_of_another_form_is_named_by_its_item(response: str, message: str) -> None:
    for form in ("mc_prob_index", "mc_prob_value"):
        with pytest.raises(UsageError, match="the response to item 100 is not how probable") as caught:
            score_items(task_of(form), [MARBLE], [response])
        assert message in str(caught.value)
        assert "xylographic" not in str(caught.value)


# Arguments and wrong use


def test_similarities_are_computed_for_arguments_given_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from medical_tasks.benchmarks.ehrnoteqa import similarity

    seen: list[Any] = []

    def similarities(name: str, folder: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        seen.append((name, folder, tuple(pairs)))
        return [len(gold) / 100 for _, gold in pairs]

    monkeypatch.setattr(similarity, "similarities", similarities)
    monkeypatch.setattr(similarity, "similarity_identity", lambda folder: {"folder": folder})
    task = task_of("open")
    items = [MARBLE, replace(EVIDENCE, id="e"), replace(item(choices=[], answer=""), id="n")]
    scores = score_items(
        task, items, ["x", "<think>r</think>y", "z"], judging=_judging(task, lambda question: True),
        arguments={"sentence_bert": "there"},
    )  # fmt: skip
    passages = EVIDENCE.fields["evidence"]
    pairs = (("x", "A marble."), ("y", passages[0]), ("y", passages[1]), ("y", "\n".join(passages)))
    assert seen == [("sentence_bert", "there", pairs)]
    values = [score.values["sentence_bert"] for score in scores]
    assert values[:2] == [0.09, len("\n".join(passages)) / 100]
    assert math.isnan(values[2])
    assert all("clinical_bert" not in score.values for score in scores)
    assert scoring_identity(task, {"sentence_bert": "there"}) == {"sentence_bert": {"folder": "there"}}
    assert scoring_identity(task, {}) == {}


def test_wrong_use_is_named() -> None:
    task = task_of("open")
    with pytest.raises(UsageError, match="1 items but 2 responses"):
        score_items(task, [MARBLE], ["a", "b"], judging=_judging(task, {}))
    with pytest.raises(UsageError, match="Name one with --judge"):
        score_items(task, [MARBLE], ["a"])
    with pytest.raises(UsageError, match="takes no argument 'bert'. Arguments: sentence_bert, clinical_bert"):
        score_items(task, [MARBLE], ["a"], judging=_judging(task, {"100/open": True}), arguments={"bert": "x"})
    with pytest.raises(UsageError, match="takes no argument 'bert'"):
        scoring_identity(task, {"bert": "x"})
    assert score_items(task, [], [], judging=_judging(task, {})) == []
    assert score_items(task_of("mc_prob_index"), [], []) == []


def test_what_the_metrics_are_called() -> None:
    for task in TASKS:
        judging = _judging(task, lambda question: True) if task.judge else None
        answer = "B" if task.judge else json.dumps({"logprobs": [-1, -2, -3, -4, -5], "tokens": [1] * 5})
        (score,) = score_items(task, [MARBLE], [answer], judging=judging)
        assert set(score.values) == {metric.name for metric in task.metrics if not metric.needs}
