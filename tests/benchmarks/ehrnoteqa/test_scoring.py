"""Scores of all formats, probabilities of choices, and unscored questions."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa import scoring
from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.ehrnoteqa.scoring import (
    NOT_TOLD,
    score_choices,
    score_items,
    scoring_identity,
    text_metrics,
)
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import read_rows as built_rows
from medical_tasks.data.fetching import build_dataset
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard.private_store import redact_reason
from medical_tasks.judges.base import Judging
from medical_tasks.models.base import ChoiceScores
from medical_tasks.models.embedder import CLINICAL_BERT, MINILM, embedder_identity
from medical_tasks.models.text_metrics import similarities
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item, ItemScore, TaskSpec
from tests.benchmarks.common import write_jsonl
from tests.benchmarks.ehrnoteqa.judged import golds, judge, perfect
from tests.benchmarks.ehrnoteqa.tiny_items import demo_items, item, task_of
from tests.case_tables import json_of, tabled
from tests.judges.scripted import TableJudge
from tests.models.test_embedder import expected
from tests.models.tiny_embedder import TEXTS, make_bert

MARBLE = item()
EVIDENCE = item(
    choices=[],
    answer="",
    evidence=["He swallowed a small marble.", "It was a glass marble of his brother."],
)


def _judging(task: TaskSpec, table: Any) -> Judging:
    return Judging(judge=TableJudge(table), prompts=load_judge_prompts(task))


def _choice_scores(
    logprobs: Sequence[float | None],
    tokens: Sequence[int] = (1, 1, 1, 1, 1),
    below: float | None = None,
) -> ChoiceScores:
    return ChoiceScores(logprobs=tuple(logprobs), tokens=tuple(tokens), below=below)


def _summary(
    task: TaskSpec, items: Sequence[Item], scores: Sequence[ItemScore]
) -> dict[str, Any]:
    reported = replace(
        task,
        groups=(),
        metrics=tuple(metric for metric in task.metrics if not metric.needs),
    )
    return dict(
        summarise(reported, items, {score.id: score for score in scores}, {}, recipe={})
    )


# Gold in, full marks out


def _full_marks(
    task: TaskSpec, items: Sequence[Item], scores: Sequence[ItemScore]
) -> None:
    summary = _summary(task, items, scores)
    assert summary["coverage"] == {
        "asked": len(items),
        "answered": len(items),
        "scored": len(items),
        "unscored": {},
        "unclear": {},
    }
    metrics = {name: entry["value"] for name, entry in summary["metrics"].items()}
    assert metrics == pytest.approx(dict.fromkeys(metrics, 1.0))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_gold_of_the_demo_and_of_evidence(tmp_path: Path, task: TaskSpec) -> None:
    form, level = task.options["format"], int(task.options["level"])
    items = demo_items(task)
    assert len(items) == {1: 8, 2: 6}[level]
    if not task.judge:
        _full_marks(task, items, score_items(task, items, golds(task, items)))
        return
    items += [EVIDENCE] if form == "open" else []
    _full_marks(
        task,
        items,
        judge(tmp_path, form, items, golds(task, items), perfect, level=level).scores,
    )


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_empty_answers_score_0(task: TaskSpec) -> None:
    judging = _judging(task, lambda question: True) if task.judge else None
    items = demo_items(task)
    for score in score_items(task, items, [""] * len(items), judging=judging):
        assert set(score.values.values()) == {0.0}
        assert score.unscored is None
        assert set(score.values) == {
            metric.name for metric in task.metrics if not metric.needs
        }


# Open answers


def test_scores_of_an_open_answer_calculated_by_hand() -> None:
    question_item = item(
        choices=["He was given two units of red blood cells", "b", "c", "d", "e"],
        answer="A",
    )
    answer = "Two units of red blood cells were transfused."
    (score,) = score_items(
        task_of("open"),
        [question_item],
        [answer],
        judging=_judging(task_of("open"), {"100/open": True}),
    )
    # Longest common subsequence: two units of red blood cells = 6 of 8 and of 9 tokens.
    assert score.values["rouge_l"] == pytest.approx(
        2 * (6 / 8) * (6 / 9) / (6 / 8 + 6 / 9)
    )
    # Tokens of 13a: 9, the full stop is one; "Two" differs. Hits 5/9 4/8 3/7 2/6; as long
    # as the gold, so no penalty.
    assert score.values["bleu"] == pytest.approx(
        (5 / 9 * 4 / 8 * 3 / 7 * 2 / 6) ** 0.25
    )
    assert (score.values["exact_match"], score.values["accuracy"]) == (0.0, 1.0)
    assert (score.parsed, score.why) == ("1", "judge: 1 of votes 1")


def test_exact_match_ignores_case_punctuation_and_white_space_only() -> None:
    for answer in ("a marble", "A  MARBLE!", "\n'A marble'\n", "A marble."):
        assert text_metrics(answer, ("A marble.",))["exact_match"] == 1.0
    for answer in ("marble", "A marble and a coin.", "Amarble", "", "A marblé"):
        assert text_metrics(answer, ("A marble.",))["exact_match"] == 0.0


def test_a_repeated_gold_or_passage_has_full_text_metrics() -> None:
    golds = ("He swallowed a small marble.", "It was made of glass and blue.")
    short = [(gold, (gold,)) for gold in ("aspirin 81 mg", "129/72", "sepsis")]
    for answer, right in (
        *short,
        *((gold, golds) for gold in (*golds, "\n".join(golds))),
    ):
        assert text_metrics(answer, right) == {
            "rouge_l": 1.0,
            "bleu": pytest.approx(1.0),
            "exact_match": 1.0,
        }


def test_text_metrics_without_gold_have_no_value() -> None:
    task = task_of("open")
    (score,) = score_items(
        task,
        [item(choices=[], answer="")],
        ["A marble."],
        judging=_judging(task, lambda question: True),
    )
    assert all(
        math.isnan(score.values[name]) for name in ("rouge_l", "bleu", "exact_match")
    )
    assert "accuracy" not in score.values
    summary = _summary(task, [MARBLE], [score])
    assert summary["coverage"]["unscored"] == {"no gold: for people to score": 1}


# Answered choices


@tabled("answer", "judged", "values", "parsed", "why")
def test_a_choice_is_scored_by_judge_and_by_letter(
    answer: str, judged: bool, values: list[float], parsed: str, why: str
) -> None:
    task = task_of("mc")
    (score,) = score_items(
        task, [MARBLE], [answer], judging=_judging(task, {"100/choice": judged})
    )
    assert [score.values["accuracy"], score.values["letter_accuracy"]] == values
    assert (score.parsed, score.why) == (parsed, why)


def test_the_letter_is_scored_without_a_verdict() -> None:
    task = task_of("mc")
    items = [MARBLE, replace(MARBLE, id="101"), replace(MARBLE, id="102")]
    scores = score_items(
        task, items, ["B", "B", "A"], judging=_judging(task, {"100/choice": True})
    )
    assert [score.values["letter_accuracy"] for score in scores] == [1.0, 1.0, 0.0]
    assert [score.unscored for score in scores] == [
        None,
        "judge: http 500",
        "judge: http 500",
    ]
    accuracy = _summary(task, items, scores)["metrics"]["accuracy"]
    assert (
        accuracy["value"],
        accuracy["n"],
        accuracy["scored"],
        accuracy["estimated"],
    ) == (
        1.0,
        3,
        1,
        2,
    )
    assert (accuracy["bound_low"], accuracy["bound_high"]) == (
        pytest.approx(1 / 3),
        1.0,
    )


def test_scores_quote_no_answer() -> None:
    secret = "xylographic"
    secret_item = item(
        choices=[f"{secret} one two", "b c d", "e f g", "h i j", "k l m"],
        answer="A",
        question=secret,
    )
    for form in ("open", "mc"):
        task = task_of(form)
        (score,) = score_items(
            task,
            [secret_item],
            [f"A. {secret} one two"],
            judging=_judging(task, lambda question: True),
        )
        assert secret not in f"{score.parsed} {score.why} {score.unscored}"


# Probabilities


def test_scores_of_probabilities_calculated_by_hand() -> None:
    (score,) = score_items(
        task_of("mc_prob_index"),
        [MARBLE],
        [_choice_scores((-2, -1, -3, -4, -5)).to_text()],
    )
    assert set(score.values) == {"accuracy", "gold_probability"}
    total = sum(math.exp(-power) for power in range(1, 6))
    assert score.values["accuracy"] == 1.0
    assert score.values["gold_probability"] == pytest.approx(math.exp(-1) / total)
    assert (score.parsed, score.why, score.unscored) == ("B", "right: B", None)
    # Sums a character: coin 7, marble 9, {key} 8, ring 7, Nothing 8.
    (value,) = score_items(
        task_of("mc_prob_value"),
        [MARBLE],
        [_choice_scores((-7, -8, -9, -14, -16)).to_text()],
    )
    assert [
        value.values[name]
        for name in ("accuracy", "accuracy_per_token", "accuracy_per_character")
    ] == [0, 0, 1]
    assert value.parsed == "A"


def test_missing_log_probabilities_leave_limits() -> None:
    task = task_of("mc_prob_index")
    text = _choice_scores((-4.0, None, None, None, None), below=-3.0).to_text()
    (score,) = score_items(task, [MARBLE], [text])
    assert score.values == {}
    assert (score.unscored, score.parsed, score.why) == (
        NOT_TOLD,
        "",
        "right: B; not told: 4 of 5",
    )
    assert score.limits["accuracy"] == (0.0, 1.0)
    assert redact_reason(NOT_TOLD) == NOT_TOLD
    (decided,) = score_items(
        task,
        [MARBLE],
        [_choice_scores((-1.0, None, None, None, None), below=-3.0).to_text()],
    )
    assert (decided.values, decided.parsed) == ({"accuracy": 0.0}, "A")
    low, high = decided.limits["gold_probability"]
    assert low == 0.0
    assert high == pytest.approx(math.exp(-3) / (math.exp(-1) + math.exp(-3)))
    assert decided.unscored == NOT_TOLD


@tabled("response", "message")
def test_a_response_of_another_form_is_named_by_its_item(
    response: str, message: str
) -> None:
    for form in ("mc_prob_index", "mc_prob_value"):
        with pytest.raises(
            UsageError, match="the response to item 100 is not how probable"
        ) as caught:
            score_items(task_of(form), [MARBLE], [response])
        assert message in str(caught.value)
        assert "xylographic" not in str(caught.value)


# Arguments and wrong use


def test_only_requested_similarities_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Any] = []

    def similarities(
        name: str, folder: str, pairs: Sequence[tuple[str, str]]
    ) -> list[float]:
        calls.append((name, folder, tuple(pairs)))
        return [len(gold) / 100 for _, gold in pairs]

    monkeypatch.setattr(scoring, "similarities", similarities)
    monkeypatch.setattr(scoring, "embedder_identity", lambda folder: {"folder": folder})
    task = task_of("open")
    items = [
        MARBLE,
        replace(EVIDENCE, id="e"),
        replace(item(choices=[], answer=""), id="n"),
    ]
    scores = score_items(
        task, items, ["x", "<think>r</think>y", "z"], judging=_judging(task, lambda question: True),
        arguments={"sentence_bert": "there"},
    )  # fmt: skip
    passages = EVIDENCE.fields["evidence"]
    pairs = (
        ("x", "A marble."),
        ("y", passages[0]),
        ("y", passages[1]),
        ("y", "\n".join(passages)),
    )
    assert calls == [("sentence_bert", "there", pairs)]
    values = [score.values["sentence_bert"] for score in scores]
    assert values[:2] == [0.09, len("\n".join(passages)) / 100]
    assert math.isnan(values[2])
    assert all("clinical_bert" not in score.values for score in scores)
    assert scoring_identity(task, {"sentence_bert": "there"}) == {
        "sentence_bert": {"folder": "there"}
    }
    assert scoring_identity(task, {}) == {}


def test_wrong_arguments_are_refused() -> None:
    task = task_of("open")
    with pytest.raises(UsageError, match="1 items but 2 responses"):
        score_items(task, [MARBLE], ["a", "b"], judging=_judging(task, {}))
    with pytest.raises(UsageError, match="Name one with --judge"):
        score_items(task, [MARBLE], ["a"])
    with pytest.raises(
        UsageError,
        match="has no argument 'bert'. Arguments: sentence_bert, clinical_bert",
    ):
        score_items(
            task,
            [MARBLE],
            ["a"],
            judging=_judging(task, {"100/open": True}),
            arguments={"bert": "x"},
        )
    with pytest.raises(UsageError, match="has no argument 'bert'"):
        scoring_identity(task, {"bert": "x"})
    assert score_items(task, [], [], judging=_judging(task, {})) == []
    assert score_items(task_of("mc_prob_index"), [], []) == []


METRICS = (
    "accuracy",
    "accuracy_per_token",
    "accuracy_per_character",
    "gold_probability",
)
CHOICES = ("abcd", "ab", "abcdefgh", "a", "abc")


def _metrics(
    logprobs: Sequence[float | None],
    gold: int,
    tokens: Sequence[int] = (1, 1, 1, 1, 1),
    below: float | None = None,
) -> dict[str, tuple[float, float]]:
    return score_choices(_choice_scores(logprobs, tokens, below), CHOICES, gold).metrics


def test_metrics_of_choices_calculated_by_hand() -> None:
    # Sums -4 -3 -8 -5 -6; a token: -2 -3 -1 -5 -2; a character: -1 -1.5 -1 -5 -2.
    logprobs, tokens = (-4.0, -3.0, -8.0, -5.0, -6.0), (2, 1, 8, 1, 3)
    by_gold = [_metrics(logprobs, gold, tokens) for gold in range(5)]
    assert [metrics["accuracy"][0] for metrics in by_gold] == [0, 1, 0, 0, 0]
    assert [metrics["accuracy_per_token"][0] for metrics in by_gold] == [0, 0, 1, 0, 0]
    # a tie of two
    assert [metrics["accuracy_per_character"][0] for metrics in by_gold] == [
        0,
        0,
        0,
        0,
        0,
    ]
    total = math.fsum(map(math.exp, logprobs))
    assert by_gold[0]["gold_probability"] == pytest.approx(
        (math.exp(-4) / total,) * 2, abs=1e-15
    )
    assert score_choices(_choice_scores(logprobs, tokens), CHOICES, 0).chosen == 1
    # Characters are code points, without surrounding white space.
    texts = ("é" * 4, " " * 3 + "ab ", "🩺", "b", "c")
    scores = _choice_scores((-4, -2.4, -1.5, -9, -9))
    metrics = [
        score_choices(scores, texts, gold).metrics["accuracy_per_character"]
        for gold in range(5)
    ]
    assert metrics == [(1.0, 1.0), *[(0.0, 0.0)] * 4]


def test_ties_are_wrong_and_extreme_log_probabilities_are_exact() -> None:
    for gold in range(5):
        metrics = _metrics((-2, -2, -2, -2, -2), gold)
        assert metrics["accuracy"] == metrics["accuracy_per_token"] == (0.0, 0.0)
        assert metrics["gold_probability"] == pytest.approx((0.2, 0.2))
    assert (
        score_choices(_choice_scores((-1, -1, -2, -2, -2)), CHOICES, 0).chosen is None
    )
    sure = [-math.inf] * 4 + [0.0]
    assert (
        _metrics(sure, 4)["accuracy"]
        == _metrics(sure, 4)["gold_probability"]
        == (1.0, 1.0)
    )
    assert _metrics(sure, 0)["gold_probability"] == (0.0, 0.0)
    far = (-5000.0, -5001.0, -6000.0, -7000.0, -8000.0)
    assert _metrics(far, 0)["gold_probability"][0] == pytest.approx(
        1 / (1 + math.exp(-1))
    )
    impossible = [-math.inf] * 5
    assert _metrics(impossible, 2)["accuracy"] == (0.0, 0.0)
    assert _metrics(impossible, 2)["gold_probability"] == (0.2, 0.2)


@pytest.mark.parametrize(
    ("logprobs", "below", "expected"),
    [
        # The right choice is reported, above all that the missing ones could be.
        ([-1, -2, None, None, None], -3.0, [1.0, 1.0]),
        # Another choice is reported above it.
        ([-2, -1, None, None, None], -3.0, [0.0, 0.0]),
        # The last choice that the server reports ranks above those that it leaves out.
        ([-3, None, None, None, None], -3.0, [1.0, 1.0]),
        ([None, -3, None, None, None], -3.0, [0.0, 0.0]),
        # The right choice is missing, and another one is reported above the bound.
        ([None, -1, -2, None, None], -3.0, [0.0, 0.0]),
        # Missing ones may be above those that are reported, so that nothing is certain.
        ([None, -4, None, None, None], -3.0, [0.0, 1.0]),
        ([-4, None, -5, None, None], -3.0, [0.0, 1.0]),
        ([None, None, None, None, None], -3.0, [0.0, 1.0]),
    ],
)
def test_limits_of_accuracy_with_missing_log_probabilities(
    logprobs: tuple[float | None, ...], below: float, expected: tuple[float, float]
) -> None:
    assert _metrics(logprobs, 0, below=below)["accuracy"] == tuple(expected)


def test_limits_of_the_probability_calculated_by_hand() -> None:
    probability, bound = math.exp(-1), math.exp(-3)
    low, high = _metrics((-1, None, None, -math.inf, -math.inf), 0, below=-3.0)[
        "gold_probability"
    ]
    assert [low, high] == pytest.approx([probability / (probability + 2 * bound), 1.0])
    low, high = _metrics((-1, None, None, -math.inf, -math.inf), 1, below=-3.0)[
        "gold_probability"
    ]
    assert [low, high] == pytest.approx([0.0, bound / (probability + bound)])
    assert _metrics((None,) * 5, 0, below=-3.0)["gold_probability"] == (0.0, 1.0)


LOGPROBS = st.sampled_from((-0.25, -1.0, -2.0, -3.5, -6.0))


@given(
    st.lists(LOGPROBS, min_size=5, max_size=5),
    st.lists(st.integers(1, 4), min_size=5, max_size=5),
    st.integers(0, 4),
)
def test_probabilities_add_up_and_at_most_one_choice_is_right(
    logprobs: list[float], tokens: list[int], gold: int
) -> None:
    by_gold = [_metrics(logprobs, index, tokens) for index in range(5)]
    assert math.fsum(
        metrics["gold_probability"][0] for metrics in by_gold
    ) == pytest.approx(1)
    for name in METRICS[:3]:
        assert sum(metrics[name][0] for metrics in by_gold) <= 1
        assert all(low == high for metrics in by_gold for low, high in [metrics[name]])
    # A constant added to all log-probabilities changes nothing.
    moved = _metrics([value - 7 for value in logprobs], gold, tokens)
    assert moved["accuracy"] == by_gold[gold]["accuracy"]
    assert moved["gold_probability"] == pytest.approx(by_gold[gold]["gold_probability"])


@given(
    st.lists(LOGPROBS, min_size=5, max_size=5),
    st.lists(st.integers(1, 3), min_size=5, max_size=5),
    st.sets(st.integers(0, 4), min_size=1),
    st.integers(0, 4),
)
def test_limits_hold_for_all_missing_log_probabilities(
    logprobs: list[float], tokens: list[int], missing: set[int], gold: int
) -> None:
    returned: list[float | None] = [
        None if index in missing else value for index, value in enumerate(logprobs)
    ]
    below = -2.0
    limits = _metrics(returned, gold, tokens, below)
    for filled in itertools.product(
        (-2.0 - 1e-9, -3.5, -math.inf), repeat=len(missing)
    ):
        values = dict(zip(sorted(missing), filled, strict=True))
        # Below the returned ones, as a server ranks them.
        whole = [values.get(index, logprobs[index]) for index in range(5)]
        for name in METRICS:
            value = _metrics(whole, gold, tokens)[name][0]
            assert limits[name][0] - 1e-9 <= value <= limits[name][1] + 1e-9, (
                name,
                whole,
            )


def test_choice_scores_refuse_numbers_beyond_floats_and_keep_infinity() -> None:
    record: dict[str, Any] = {"logprobs": [-1.0, None], "tokens": [1, 1], "below": -2.0}
    for field, value in {
        "logprobs": [-(10**400), None],
        "tokens": [10**400, 1],
        "below": -(10**400),
    }.items():
        with pytest.raises(ValueError, match=field):
            ChoiceScores.from_text(json.dumps(record | {field: value}))
    scores = ChoiceScores(logprobs=(-1.0, None), tokens=(1, 1), below=-math.inf)
    assert ChoiceScores.from_text(scores.to_text()) == scores


@pytest.fixture
def demo_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[dict[str, object]]:
    """The demo's questions of level 1; data and private files are in the test's folder."""
    build_dataset(
        "ehrnoteqa", source=None, config="demo", out=tmp_path / "data" / "ehrnoteqa"
    )
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return [
        dict(row)
        for row in built_rows(tmp_path / "data" / "ehrnoteqa", "demo", "test")
        if row["level"] == 1
    ]


def unscored(folder: str) -> dict[str, int]:
    (entry,) = json_of(Path(folder) / "results.json")["tasks"].values()
    reasons: dict[str, int] = entry["coverage"]["unscored"]
    return reasons


def test_a_run_reports_missing_log_probabilities(
    demo_rows: list[dict[str, object]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    scores = {"logprobs": [None] * 5, "tokens": [1] * 5, "below": -3.0}
    answers = [{"id": row["id"], "response": json.dumps(scores)} for row in demo_rows]
    write_jsonl(tmp_path / "answers.jsonl", answers)
    score = "score ehrnoteqa_mc_prob_index_level1 --config demo --responses answers.jsonl --out s"
    assert main(score.split()) == 5
    assert unscored("s") == {
        "choice not among the log-probabilities told": len(demo_rows)
    }
    stderr = capfd.readouterr().err
    assert "top_logprobs=N asks for more" in stderr
    assert "same command again" not in stderr


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


def test_cosine_similarities_of_pairs(bert: Path) -> None:
    pairs = [(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[4]), (TEXTS[1], TEXTS[0])]
    cosines = similarities("clinical_bert", bert, pairs)
    assert cosines == pytest.approx(
        [
            float(first @ second)
            for first, second in (expected(bert, pair, "mean") for pair in pairs)
        ],
        abs=1e-5,
    )
    assert cosines[0] == cosines[2]
    assert all(isinstance(value, float) and -1 <= value < 1 for value in cosines)
    # The gold has exactly 1, an empty text exactly 0.
    pairs = [
        *((text, text) for text in TEXTS),
        ("", TEXTS[0]),
        (" \n", TEXTS[0]),
        (TEXTS[0], ""),
        ("", ""),
    ]
    assert (
        similarities("sentence_bert", str(bert), pairs)
        == [1.0] * len(TEXTS) + [0.0] * 4
    )
    assert similarities("sentence_bert", bert, []) == []
    identity = embedder_identity(bert)
    assert (identity["model"], identity["pooling"], len(identity["weights"])) == (
        "tiny-bert",
        "mean",
        64,
    )
    assert str(bert.parent) not in json.dumps(identity)


def test_truncated_texts_are_reported(
    bert: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = " ".join(TEXTS)
    similarities(
        "clinical_bert",
        bert,
        [(long, TEXTS[0]), (TEXTS[1], f"{long} {long}"), (long, TEXTS[2])],
    )
    stderr = capsys.readouterr().err
    assert (
        stderr
        == "note: clinical_bert: 2 of 5 texts are longer than 24 tokens and were cut\n"
    )
    similarities("clinical_bert", bert, [(TEXTS[0], TEXTS[1])])
    assert capsys.readouterr().err == ""


def test_a_missing_checkpoint_is_named(tmp_path: Path) -> None:
    metrics = {metric.name for task in TASKS for metric in task.metrics if metric.needs}
    checkpoints = {"sentence_bert": MINILM, "clinical_bert": CLINICAL_BERT}
    assert metrics >= set(checkpoints)
    for name, repository in checkpoints.items():
        with pytest.raises(
            MissingError,
            match=f"hf download {repository} --revision [0-9a-f]{{40}} --local-dir models/",
        ):
            similarities(name, tmp_path / "none", [("a", "b")])


def test_an_unreadable_letter_is_unclear_until_a_person_reads_it() -> None:
    task = task_of("mc")
    question_item = item()
    right = question_item.fields["answer"]
    other = next(letter for letter in "ABCDE" if letter != right)
    for answer, reason in (
        (f"{right} or {other}", "several choices"),
        (f"Not {right}.", "a choice that is named and not taken"),
        (f"Perhaps {right}.", "a choice that is named and not taken"),
        ("I cannot say.", ""),
        (f"The answer is {right}.", ""),
    ):
        judging = _judging(task, {f"{question_item.id}/choice": True})
        (score,) = score_items(task, [question_item], [answer], judging=judging)
        expected = float(answer.startswith("The answer"))
        assert (score.unclear, score.values) == (
            reason,
            {"accuracy": 1.0, "letter_accuracy": expected},
        )
        assert score.could_be("letter_accuracy") == (
            expected,
            1.0 if reason else expected,
        )
        assert score.could_be("accuracy") == (1.0, 1.0)
    for reading, value in ((right, 1.0), (f"{other}.", 0.0), ("", 0.0)):
        (read,) = score_items(
            task,
            [question_item],
            ["A or B"],
            judging=judging,
            readings={question_item.id: reading},
        )
        assert (read.unclear, read.values) == ("", {"letter_accuracy": value})
