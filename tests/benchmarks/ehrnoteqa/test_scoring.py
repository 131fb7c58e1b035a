"""Scores of all formats, probabilities of choices, and questions without a score."""

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
from medical_tasks.benchmarks.ehrnoteqa.data import load_items, read_rows
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
from tests.benchmarks.ehrnoteqa.judged import golds, judge, perfect
from tests.benchmarks.ehrnoteqa.tiny_items import item, task_of
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


def _demo(task: TaskSpec) -> list[Item]:
    return load_items(task, list(read_rows("demo", "test", {})))


def _judging(task: TaskSpec, table: Any) -> Judging:
    return Judging(judge=TableJudge(table), prompts=load_judge_prompts(task))


def _probabilities(logprobs: Sequence[float | None], below: float | None = None) -> str:
    return ChoiceScores(
        logprobs=tuple(logprobs), tokens=(1,) * len(logprobs), below=below
    ).to_text()


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
    items = _demo(task)
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
def test_nothing_scores_nothing(task: TaskSpec) -> None:
    judging = _judging(task, lambda question: True) if task.judge else None
    items = _demo(task)
    for score in score_items(task, items, [""] * len(items), judging=judging):
        assert set(score.values.values()) == {0.0}
        assert score.unscored is None
        assert set(score.values) == {
            metric.name for metric in task.metrics if not metric.needs
        }


# Open answers


def test_an_open_answer_by_hand() -> None:
    about = item(
        choices=["He was given two units of red blood cells", "b", "c", "d", "e"],
        answer="A",
    )
    answer = "Two units of red blood cells were transfused."
    (score,) = score_items(
        task_of("open"),
        [about],
        [answer],
        judging=_judging(task_of("open"), {"100/open": True}),
    )
    # Longest common subsequence: two units of red blood cells = 6 of 8 and of 9 tokens.
    assert score.values["rouge_l"] == pytest.approx(
        2 * (6 / 8) * (6 / 9) / (6 / 8 + 6 / 9)
    )
    # Tokens of 13a: 9, the point is one; "Two" differs. Hits 5/9 4/8 3/7 2/6; as long
    # as the gold, so no penalty.
    assert score.values["bleu"] == pytest.approx(
        (5 / 9 * 4 / 8 * 3 / 7 * 2 / 6) ** 0.25
    )
    assert (score.values["exact_match"], score.values["accuracy"]) == (0.0, 1.0)
    assert (score.parsed, score.why) == ("1", "judge: 1 of votes 1")


def test_exact_match_passes_over_case_marks_and_blanks_and_is_not_more() -> None:
    for answer in ("a marble", "A  MARBLE!", "\n'A marble'\n", "A marble."):
        assert text_metrics(answer, ("A marble.",))["exact_match"] == 1.0
    for answer in ("marble", "A marble and a coin.", "Amarble", "", "A marblé"):
        assert text_metrics(answer, ("A marble.",))["exact_match"] == 0.0


def test_full_marks_of_short_gold_and_of_the_most_similar_of_several_passages() -> None:
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


def test_without_gold_text_metrics_have_no_value() -> None:
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
def test_a_choice_by_judge_and_by_letter(
    answer: str, judged: bool, values: list[float], parsed: str, why: str
) -> None:
    task = task_of("mc")
    (score,) = score_items(
        task, [MARBLE], [answer], judging=_judging(task, {"100/choice": judged})
    )
    assert [score.values["accuracy"], score.values["letter_accuracy"]] == values
    assert (score.parsed, score.why) == (parsed, why)


def test_the_letter_stands_also_where_the_judge_says_nothing() -> None:
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


def test_no_answer_is_quoted() -> None:
    secret = "xylographic"
    about = item(
        choices=[f"{secret} one two", "b c d", "e f g", "h i j", "k l m"],
        answer="A",
        question=secret,
    )
    for form in ("open", "mc"):
        task = task_of(form)
        (score,) = score_items(
            task,
            [about],
            [f"A. {secret} one two"],
            judging=_judging(task, lambda question: True),
        )
        assert secret not in f"{score.parsed} {score.why} {score.unscored}"


# Probabilities


def test_probabilities_by_hand() -> None:
    (score,) = score_items(
        task_of("mc_prob_index"), [MARBLE], [_probabilities((-2, -1, -3, -4, -5))]
    )
    assert set(score.values) == {"accuracy", "gold_probability"}
    total = sum(math.exp(-power) for power in range(1, 6))
    assert score.values["accuracy"] == 1.0
    assert score.values["gold_probability"] == pytest.approx(math.exp(-1) / total)
    assert (score.parsed, score.why, score.unscored) == ("B", "right: B", None)
    # Sums a character: coin 7, marble 9, {key} 8, ring 7, Nothing 8.
    (value,) = score_items(
        task_of("mc_prob_value"), [MARBLE], [_probabilities((-7, -8, -9, -14, -16))]
    )
    assert [
        value.values[name]
        for name in ("accuracy", "accuracy_per_token", "accuracy_per_character")
    ] == [0, 0, 1]
    assert value.parsed == "A"


def test_what_a_server_does_not_tell() -> None:
    task = task_of("mc_prob_index")
    text = _probabilities((-4.0, None, None, None, None), below=-3.0)
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
        task, [MARBLE], [_probabilities((-1.0, None, None, None, None), below=-3.0)]
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


def test_similarities_are_computed_for_arguments_given_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    def similarities(
        name: str, folder: str, pairs: Sequence[tuple[str, str]]
    ) -> list[float]:
        seen.append((name, folder, tuple(pairs)))
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
    assert seen == [("sentence_bert", "there", pairs)]
    values = [score.values["sentence_bert"] for score in scores]
    assert values[:2] == [0.09, len("\n".join(passages)) / 100]
    assert math.isnan(values[2])
    assert all("clinical_bert" not in score.values for score in scores)
    assert scoring_identity(task, {"sentence_bert": "there"}) == {
        "sentence_bert": {"folder": "there"}
    }
    assert scoring_identity(task, {}) == {}


def test_wrong_use_is_named() -> None:
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


def _scores(
    logprobs: Sequence[float | None],
    tokens: Sequence[int] = (1, 1, 1, 1, 1),
    below: float | None = None,
) -> ChoiceScores:
    return ChoiceScores(logprobs=tuple(logprobs), tokens=tuple(tokens), below=below)


def _found(
    logprobs: Sequence[float | None],
    gold: int,
    tokens: Sequence[int] = (1, 1, 1, 1, 1),
    below: float | None = None,
) -> dict[str, tuple[float, float]]:
    return score_choices(_scores(logprobs, tokens, below), CHOICES, gold).metrics


def test_by_hand() -> None:
    # Sums -4 -3 -8 -5 -6; a token: -2 -3 -1 -5 -2; a character: -1 -1.5 -1 -5 -2.
    logprobs, tokens = (-4.0, -3.0, -8.0, -5.0, -6.0), (2, 1, 8, 1, 3)
    by_gold = [_found(logprobs, gold, tokens) for gold in range(5)]
    assert [found["accuracy"][0] for found in by_gold] == [0, 1, 0, 0, 0]
    assert [found["accuracy_per_token"][0] for found in by_gold] == [0, 0, 1, 0, 0]
    # a tie of two
    assert [found["accuracy_per_character"][0] for found in by_gold] == [0, 0, 0, 0, 0]
    total = math.fsum(map(math.exp, logprobs))
    assert by_gold[0]["gold_probability"] == pytest.approx(
        (math.exp(-4) / total,) * 2, abs=1e-15
    )
    assert score_choices(_scores(logprobs, tokens), CHOICES, 0).chosen == 1
    # Characters are code points, without white space around.
    texts = ("é" * 4, " " * 3 + "ab ", "🩺", "b", "c")
    scores = _scores((-4, -2.4, -1.5, -9, -9))
    found = [
        score_choices(scores, texts, gold).metrics["accuracy_per_character"]
        for gold in range(5)
    ]
    assert found == [(1.0, 1.0), *[(0.0, 0.0)] * 4]


def test_ties_are_wrong_and_what_is_impossible_or_far_away_has_its_share() -> None:
    for gold in range(5):
        found = _found((-2, -2, -2, -2, -2), gold)
        assert found["accuracy"] == found["accuracy_per_token"] == (0.0, 0.0)
        assert found["gold_probability"] == pytest.approx((0.2, 0.2))
    assert score_choices(_scores((-1, -1, -2, -2, -2)), CHOICES, 0).chosen is None
    sure = [-math.inf] * 4 + [0.0]
    assert (
        _found(sure, 4)["accuracy"] == _found(sure, 4)["gold_probability"] == (1.0, 1.0)
    )
    assert _found(sure, 0)["gold_probability"] == (0.0, 0.0)
    far = (-5000.0, -5001.0, -6000.0, -7000.0, -8000.0)
    assert _found(far, 0)["gold_probability"][0] == pytest.approx(
        1 / (1 + math.exp(-1))
    )
    nothing = [-math.inf] * 5
    assert _found(nothing, 2)["accuracy"] == (0.0, 0.0)
    assert _found(nothing, 2)["gold_probability"] == (0.2, 0.2)


@tabled("logprobs", "below", "expected")
def test_choices_that_are_not_told(
    logprobs: tuple[float | None, ...], below: float, expected: tuple[float, float]
) -> None:
    assert _found(logprobs, 0, below=below)["accuracy"] == tuple(expected)


def test_limits_of_the_probability_by_hand() -> None:
    known, bound = math.exp(-1), math.exp(-3)
    low, high = _found((-1, None, None, -math.inf, -math.inf), 0, below=-3.0)[
        "gold_probability"
    ]
    assert [low, high] == pytest.approx([known / (known + 2 * bound), 1.0])
    low, high = _found((-1, None, None, -math.inf, -math.inf), 1, below=-3.0)[
        "gold_probability"
    ]
    assert [low, high] == pytest.approx([0.0, bound / (known + bound)])
    assert _found((None,) * 5, 0, below=-3.0)["gold_probability"] == (0.0, 1.0)


LOGPROBS = st.sampled_from((-0.25, -1.0, -2.0, -3.5, -6.0))


@given(
    st.lists(LOGPROBS, min_size=5, max_size=5),
    st.lists(st.integers(1, 4), min_size=5, max_size=5),
    st.integers(0, 4),
)
def test_shares_add_up_and_one_choice_at_most_leads(
    logprobs: list[float], tokens: list[int], gold: int
) -> None:
    all_of = [_found(logprobs, place, tokens) for place in range(5)]
    assert math.fsum(found["gold_probability"][0] for found in all_of) == pytest.approx(
        1
    )
    for name in METRICS[:3]:
        assert sum(found[name][0] for found in all_of) <= 1
        assert all(low == high for found in all_of for low, high in [found[name]])
    # Told less by the same number, all of it stays.
    moved = _found([value - 7 for value in logprobs], gold, tokens)
    assert moved["accuracy"] == all_of[gold]["accuracy"]
    assert moved["gold_probability"] == pytest.approx(all_of[gold]["gold_probability"])


@given(
    st.lists(LOGPROBS, min_size=5, max_size=5),
    st.lists(st.integers(1, 3), min_size=5, max_size=5),
    st.sets(st.integers(0, 4), min_size=1),
    st.integers(0, 4),
)
def test_limits_hold_whatever_the_untold_ones_are(
    logprobs: list[float], tokens: list[int], untold: set[int], gold: int
) -> None:
    told: list[float | None] = [
        None if place in untold else value for place, value in enumerate(logprobs)
    ]
    below = -2.0
    limits = _found(told, gold, tokens, below)
    for filled in itertools.product((-2.0 - 1e-9, -3.5, -math.inf), repeat=len(untold)):
        values = dict(zip(sorted(untold), filled, strict=True))
        # Below what is told, as a server ranks them.
        whole = [values.get(place, logprobs[place]) for place in range(5)]
        for name in METRICS:
            value = _found(whole, gold, tokens)[name][0]
            assert limits[name][0] - 1e-9 <= value <= limits[name][1] + 1e-9, (
                name,
                whole,
            )


def test_numbers_that_no_float_holds_are_refused_and_a_bound_of_no_probability_is_not() -> (
    None
):
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
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """The demo's questions of level 1, with the data and everything private in a folder of the test's."""
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
    found: dict[str, int] = entry["coverage"]["unscored"]
    return found


def test_log_probabilities_not_told(
    rows: list[dict[str, object]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    untold = {"logprobs": [None] * 5, "tokens": [1] * 5, "below": -3.0}
    lines = (
        json.dumps({"id": row["id"], "response": json.dumps(untold)}) + "\n"
        for row in rows
    )
    (tmp_path / "answers.jsonl").write_text("".join(lines), encoding="utf-8")
    asked = [
        "score",
        "ehrnoteqa_mc_prob_index_level1",
        "--config",
        "demo",
        "--responses",
        "answers.jsonl",
    ]
    assert main([*asked, "--out", "s"]) == 5
    assert unscored("s") == {"choice not among the log-probabilities told": len(rows)}
    said = capfd.readouterr().err
    assert "top_logprobs=N asks for more" in said
    assert "same command again" not in said


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


def test_cosines_of_pairs(bert: Path) -> None:
    pairs = [(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[4]), (TEXTS[1], TEXTS[0])]
    found = similarities("clinical_bert", bert, pairs)
    assert found == pytest.approx(
        [
            float(one @ other)
            for one, other in (expected(bert, pair, "mean") for pair in pairs)
        ],
        abs=1e-5,
    )
    assert found[0] == found[2]
    assert all(isinstance(value, float) and -1 <= value < 1 for value in found)
    # The gold has exactly 1, and nothing exactly 0.
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


def test_texts_that_are_cut_are_told(
    bert: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = " ".join(TEXTS)
    similarities(
        "clinical_bert",
        bert,
        [(long, TEXTS[0]), (TEXTS[1], f"{long} {long}"), (long, TEXTS[2])],
    )
    told = capsys.readouterr().err
    assert (
        told
        == "note: clinical_bert: 2 of 5 texts are longer than 24 tokens and were cut\n"
    )
    similarities("clinical_bert", bert, [(TEXTS[0], TEXTS[1])])
    assert capsys.readouterr().err == ""


def test_what_is_missing_is_told_by_metric(tmp_path: Path) -> None:
    metrics = {metric.name for task in TASKS for metric in task.metrics if metric.needs}
    checkpoints = {"sentence_bert": MINILM, "clinical_bert": CLINICAL_BERT}
    assert metrics >= set(checkpoints)
    for name, repository in checkpoints.items():
        with pytest.raises(
            MissingError,
            match=f"hf download {repository} --revision [0-9a-f]{{40}} --local-dir models/",
        ):
            similarities(name, tmp_path / "none", [("a", "b")])


def test_a_letter_that_cannot_be_told_is_unclear_until_somebody_reads_it() -> None:
    task = task_of("mc")
    asked = item()
    right = asked.fields["answer"]
    other = next(letter for letter in "ABCDE" if letter != right)
    for answer, reason in (
        (f"{right} or {other}", "several choices"),
        (f"Not {right}.", "a choice that is named and not taken"),
        (f"Perhaps {right}.", "a choice that is named and not taken"),
        ("I cannot say.", ""),
        (f"The answer is {right}.", ""),
    ):
        judging = _judging(task, {f"{asked.id}/choice": True})
        (score,) = score_items(task, [asked], [answer], judging=judging)
        told = float(answer.startswith("The answer"))
        assert (score.unclear, score.values) == (
            reason,
            {"accuracy": 1.0, "letter_accuracy": told},
        )
        assert score.could_be("letter_accuracy") == (told, 1.0 if reason else told)
        assert score.could_be("accuracy") == (1.0, 1.0)
    for reading, value in ((right, 1.0), (f"{other}.", 0.0), ("", 0.0)):
        (read,) = score_items(
            task, [asked], ["A or B"], judging=judging, readings={asked.id: reading}
        )
        assert (read.unclear, read.values) == ("", {"letter_accuracy": value})
