"""Laws of every task's figures: values are within their bounds and intervals within the metric's limits, whatever is missing."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.catalog import datasets, tasks
from medical_tasks.data.task_data import load_task_data
from medical_tasks.io.store import Store
from medical_tasks.judges.base import JudgeOptions, Judging, Question, Unscored, Verdict
from medical_tasks.judges.lexical import LexicalJudge
from medical_tasks.judges.session import JudgeSession
from medical_tasks.runs.estimation import Estimator
from medical_tasks.runs.finishing import _unanswered_limits
from medical_tasks.runs.results import TaskEntry
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import (
    Answer,
    Counts,
    Item,
    ItemScore,
    MetricSpec,
    Scoring,
    TaskSpec,
    Verdicts,
    unclear_limits,
)
from tests.support import own_tasks, toy_task

EXACT = 1e-9
JUDGED = sorted(name for name, task in own_tasks().items() if task.judge)
FIRST = (
    "kqa",
    "aci_bench",
    "aci_bench_section",
    "mimic_rrs",
    "meqsum",
    "ehrnoteqa_open_level1",
    "ehrnoteqa_mc_level1",
)
OTHERS = sorted(name for name, task in own_tasks().items() if not task.judge)


class LosingJudge:
    """The lexical judge, which loses verdicts at random."""

    name = "losing"
    comparable = False
    reads: Literal["prompt", "pair"] = "pair"

    def __init__(self, inner: JudgeSession) -> None:
        self.inner, self.share, self.seed = inner, 0.0, 0

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        lost = [
            random.Random(f"{self.seed} {question.id}").random() < self.share
            for question in questions
        ]
        return [
            Unscored(id=verdict.id, reason="judge: http 500") if is_lost else verdict
            for verdict, is_lost in zip(self.inner.ask(questions), lost, strict=True)
        ]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LosingJudge]:
    with Store(tmp_path_factory.mktemp("judge") / "judge.sqlite") as store:
        yield LosingJudge(
            JudgeSession(LexicalJudge(), JudgeOptions(), store, quiet=True)
        )


def _answers(
    task: TaskSpec, items: Sequence[Item], chance: random.Random
) -> dict[str, str]:
    """Gold answers, halves, others' answers, empty ones, abstentions; some items have none."""
    gold = task.benchmark.gold_response
    answers = {}
    for item in items:
        text: str = gold(task, item)
        forms = [
            text,
            text,
            text,
            text[: len(text) // 2],
            gold(task, chance.choice(items)),
            "",
            "I don't know.",
        ]
        forms = [text, text, ""] if task.asks == "choices" else forms
        if chance.random() < 0.85:
            answers[item.id] = chance.choice(forms)
    return answers


def _summary(
    task: TaskSpec,
    demos: Path,
    judge: LosingJudge,
    *,
    seed: int,
    share: float,
    whole: bool,
) -> TaskEntry:
    chance = random.Random(f"{task.name} {seed}")
    items = load_task_data(
        task, datasets()[task.dataset], data=demos, config="demo"
    ).items[:9]
    answers = _answers(task, items, chance)
    if whole:
        gold = task.benchmark.gold_response
        answers = {item.id: answers.get(item.id) or gold(task, item) for item in items}
    judge.share, judge.seed = share, seed
    scoring_options: dict[str, Any] = {}
    if task.judge:
        prompts = task.benchmark.load_judge_prompts(task)
        scoring_options["judging"] = Judging(
            judge=judge, prompts=prompts, mode=task.judging
        )
    if task.scoring_arguments:
        scoring_options["arguments"] = (
            {"official": "yes"} if "official" in task.scoring_arguments else {}
        )
    answered_items = [item for item in items if item.id in answers]
    texts = [Answer(text=answers[item.id]) for item in answered_items]
    scored = task.benchmark.score_items(
        task, answered_items, texts, Scoring(**scoring_options)
    )
    reported = task.reporting(("official",))
    return summarise(
        reported,
        items,
        {score.id: score for score in scored},
        {item.id: "timeout" for item in items if item.id not in answers},
        recipe={},
        unanswered_limits=_unanswered_limits(reported, items),
    )


def _all_metrics(
    task: TaskSpec, entry: Mapping[str, Any]
) -> Iterator[tuple[MetricSpec, Mapping[str, Any]]]:
    specs = {metric.name: metric for metric in task.metrics}
    for name, metric in entry["metrics"].items():
        yield specs[name], metric
    for groups in entry["breakdown"].values():
        for metrics in groups.values():
            for name, metric in metrics.items():
                yield specs[name], metric


def _check_law(
    metric: MetricSpec, entry: Mapping[str, Any], *, unclear: bool = False
) -> None:
    value, low, high = entry["value"], entry["bound_low"], entry["bound_high"]
    numbers = [
        entry[name]
        for name in ("value", "ci_low", "ci_high", "bound_low", "bound_high")
    ]
    assert all(number is None or math.isfinite(number) for number in numbers), (
        metric.name
    )
    if value is None:
        assert entry["reason"], metric.name
        assert (entry["ci_low"], entry["ci_high"], entry["n"]) == (None, None, 0), (
            metric.name
        )
        return
    assert "reason" not in entry
    assert entry["n"] >= 1
    assert low is None or low <= value, (metric.name, entry)
    assert high is None or value <= high, (metric.name, entry)
    for name, sign in (("ci_low", 1), ("ci_high", -1)):
        if entry[name] is not None:
            assert sign * (entry[name] - value) <= EXACT, (metric.name, entry)
            assert (
                metric.limits[0] - EXACT <= entry[name] <= metric.limits[1] + EXACT
            ), (
                metric.name,
                entry,
            )
    assert metric.limits[0] <= value <= metric.limits[1]
    if "scored" not in entry:
        assert (unclear and metric.read) or low == value == high, (metric.name, entry)
        assert "estimated" not in entry
    else:
        assert (
            entry["n"] <= entry["scored"] + entry.get("estimated", 0)
            or metric.kind == "average"
        )


@pytest.mark.parametrize("name", [*JUDGED, *OTHERS])
def test_every_task(name: str, demos: Path, judge: LosingJudge) -> None:
    task = tasks()[name]
    # Tasks of a family are scored alike; the first one is tried with more losses.
    more = (0.0, 0.1, 0.4) if name in FIRST else (0.25,)
    shares = (*more, 1.0) if task.judge else (0.0,)
    for seed, share in enumerate(shares):
        entry = _summary(task, demos, judge, seed=seed, share=share, whole=False)
        counts = entry["coverage"]
        assert (
            counts["scored"] + sum(counts["unscored"].values())
            == counts["asked"]
            == entry["n_items"]
        )
        for metric, metric_entry in _all_metrics(task, entry):
            _check_law(metric, metric_entry, unclear=bool(counts["unclear"]))
        if share == 1.0:
            # Without verdicts there is no value, even if empty answers have one.
            headline = entry["metrics"][task.metrics[0].name]
            assert headline["value"] is None
            assert headline["bound_low"] < headline["bound_high"]
    complete = _summary(task, demos, judge, seed=0, share=0.0, whole=True)
    assert complete["coverage"]["scored"] == complete["n_items"]
    for metric, metric_entry in _all_metrics(task, complete):
        _check_law(metric, metric_entry, unclear=bool(complete["coverage"]["unclear"]))
        assert "scored" not in metric_entry or metric.official


def test_there_are_tasks_of_both_kinds() -> None:
    assert JUDGED
    assert OTHERS
    assert set(FIRST) <= set(JUDGED)


# The estimator

LAW_TASK = toy_task(
    MetricSpec(name="share", kind="mean", description=""),
    MetricSpec(
        name="count",
        kind="mean",
        description="",
        limits=(0.0, math.inf),
        unit="per answer",
    ),
    MetricSpec(name="any", kind="proportion", description=""),
    MetricSpec(name="pooled", kind="ratio", description=""),
    name="law",
)
COUNTED = st.integers(0, 4)
HOWS: tuple[Literal["share", "count", "any"], ...] = ("share", "count", "any", "share")


@st.composite
def _verdicts(draw: st.DrawFn) -> Verdicts:
    decided = draw(COUNTED)
    return Verdicts(
        kind=draw(st.sampled_from(["", "a", "b", "a/b"])),
        hits=draw(st.integers(0, decided)),
        known=decided,
        missing=draw(st.sampled_from([0, 0, 1, 3])),
        unasked=draw(st.sampled_from([0, 0, 2])),
    )


@st.composite
def _score(draw: st.DrawFn) -> ItemScore:
    verdicts = tuple(draw(st.lists(_verdicts(), max_size=3)))
    listed = (Verdicts(kind="a", more=30),) if draw(st.integers(0, 5)) == 0 else ()
    judged = draw(st.integers(0, 4)) > 0 or any(group.missing for group in verdicts)
    counts = {
        "share": Counts(how="share", verdicts=verdicts),
        "count": Counts(how="count", verdicts=verdicts),
        "any": Counts(how="any", verdicts=verdicts),
        "pooled": Counts(how="share", verdicts=(*verdicts, *listed)),
    }
    weights = {"pooled": counts["pooled"].of}
    if not weights["pooled"]:
        weights, values = {"pooled": 0.0}, {"pooled": math.nan}
    else:
        values = {}
    score = ItemScore.counted(counts, id="", values=values, weights=weights)
    if judged:
        return score
    return ItemScore(id="", values=score.values, limits=score.limits, weights=weights)


@given(st.lists(st.one_of(st.none(), _score()), min_size=1, max_size=8), st.data())
def test_the_law_holds_whatever_is_missing(
    drawn: list[ItemScore | None], data: st.DataObject
) -> None:
    items = [
        Item(id=str(number), fields={}, groups={}, cluster=str(number // 2))
        for number in range(len(drawn))
    ]
    scores = {
        str(number): replace(score, id=str(number))
        for number, score in enumerate(drawn)
        if score is not None
    }
    task = replace(LAW_TASK, cluster="note") if data.draw(st.booleans()) else LAW_TASK
    highs = [
        score.counts["count"].limits[1] for score in scores.values() if score.counts
    ]
    values = [score.values.get("count", 0.0) for score in scores.values()]
    high = max([2.0, *highs, *values])
    count_limits = {
        item.id: (0.0, high if item.id in scores else 1.0) for item in items
    }
    estimator = Estimator(
        task,
        scores,
        items=len(items),
        unanswered_limits=lambda item: {"count": count_limits[item.id]},
    )
    for metric in task.metrics:
        entry = estimator.entry(metric, items)
        _check_law(metric, entry)
        item_values = (estimator.item_value(metric, score) for score in scores.values())
        pairs = [
            (value, weight)
            for value, weight in item_values
            if weight and not math.isnan(value)
        ]
        if all(
            score is not None
            and (metric.name in score.values or metric.name in score.counts)
            for score in drawn
        ):
            # The reported value is the average that harnesses compute.
            assert (entry["value"] is None) == (not pairs) or metric.name == "pooled"
            if pairs and entry["value"] is not None:
                total = math.fsum(weight for _, weight in pairs)
                assert entry["value"] == pytest.approx(
                    math.fsum(value * weight for value, weight in pairs) / total
                )


READ_TASK = toy_task(
    MetricSpec(name="right", kind="proportion", description="", read=True),
    MetricSpec(
        name="faults", kind="mean", description="", higher_is_better=False, read=True
    ),
    MetricSpec(name="pooled", kind="ratio", description="", read=True),
    MetricSpec(name="official", kind="proportion", description=""),
    MetricSpec(
        name="among_right", kind="proportion", description="", read=True, if_right=True
    ),
    MetricSpec(name="whole", kind="average", description="", of=("right", "pooled")),
    name="read",
    groups=("kind",),
    strata=("kind",),
    reads="the letter",
)
OUTCOMES = ("right", "wrong", "unclear", "unscored", "unanswered")


def _read(name: str, outcome: str) -> ItemScore:
    """The score of an answer; the official metric does not depend on the unclear reading."""
    weights = {"pooled": float(1 + int(name) % 3)}
    if outcome == "unscored":
        return ItemScore(id=name, values={}, weights=weights, unscored="lost")
    right = float(outcome == "right")
    values = {
        "right": right,
        "faults": 1.0 - right,
        "pooled": right,
        "official": int(name) % 2,
    }
    values["among_right"] = int(name) // 2 % 2 if right else math.nan
    if outcome != "unclear":
        return ItemScore(id=name, values=values, weights=weights)
    limits = unclear_limits(READ_TASK.metrics, values)
    return ItemScore(
        id=name, values=values, weights=weights, unclear="a bound", limits=limits
    )


@given(
    st.lists(st.sampled_from(OUTCOMES), min_size=2, max_size=9),
    st.lists(st.sampled_from(("right", "wrong", "unclear")), min_size=9, max_size=9),
    st.sampled_from([1.0, 2.0, 5.0]),
)
def test_an_unclear_answer_leaves_the_value_inside_the_bounds(
    outcomes: list[str], decisions: list[str], share: float
) -> None:
    """In a whole set and in a stratified sample; values after any decision are within the bounds before it."""
    kinds = ("odd", "even")
    items = [
        Item(id=str(n), fields={}, groups={"kind": kinds[n % 2]}, cluster=str(n))
        for n in range(len(outcomes))
    ]
    first = {
        item.id: _read(item.id, outcome)
        for item, outcome in zip(items, outcomes, strict=True)
        if outcome != "unanswered"
    }
    decided = {
        name: _read(name, decisions[int(name)]) if score.unclear else score
        for name, score in first.items()
    }
    strata = {"even": len(items) // 2, "odd": math.ceil(len(items) / 2 * share)}
    drawn = {"strata": strata, "drawn": len(items)}
    for metric in READ_TASK.metrics:
        estimators = [Estimator(READ_TASK, scores) for scores in (first, decided)]
        entries = [estimator.entry(metric, items) for estimator in estimators]
        sampled = [
            estimator.of_whole_set(entry.copy(), metric, items, drawn)
            for estimator, entry in zip(estimators, entries, strict=True)
        ]
        for before, after in (entries, sampled):
            if before["value"] is not None and after["value"] is not None:
                assert before["bound_low"] <= before["value"] <= before["bound_high"]
                assert before["bound_low"] - EXACT <= after["value"]
                assert after["value"] <= before["bound_high"] + EXACT
        before, after = entries
        if before["value"] is not None:
            assert before["bound_low"] - EXACT <= after["bound_low"]
            assert after["bound_high"] <= before["bound_high"] + EXACT
            if set(outcomes) <= {"right", "wrong"}:
                assert before["bound_low"] == before["bound_high"]


def test_estimates_by_hand() -> None:
    """Missing verdicts are estimated from the item's own, or from judged answers if it has none; never from empty ones."""
    share, count, any_of, pooled = LAW_TASK.metrics

    def counted_score(
        name: str, hits: int, decided: int, missing: int, *, judged: bool = True
    ) -> ItemScore:
        verdicts = (Verdicts(hits=hits, known=decided, missing=missing),)
        counts = {
            metric.name: Counts(how=how, verdicts=verdicts)
            for metric, how in zip(LAW_TASK.metrics, HOWS, strict=True)
        }
        score = ItemScore.counted(
            counts, id=name, weights={"pooled": float(decided + missing)}
        )
        if judged:
            return score
        return ItemScore(id=name, values=score.values, weights=score.weights)

    scores = {
        score.id: score
        for score in (
            counted_score("half", 1, 2, 2),  # 1 of 2 decided: 2 of 4
            counted_score("none", 0, 0, 4),  # nothing decided: like the judged answers
            counted_score("full", 3, 4, 0),
            counted_score("empty", 0, 4, 0, judged=False),
        )
    }
    items = [Item(id=name, fields={}, groups={}, cluster=name) for name in scores]
    estimator = Estimator(LAW_TASK, scores)
    assert estimator.item_value(share, scores["half"]) == (0.5, 1.0)
    # the mean of answers
    assert estimator.item_value(share, scores["none"]) == ((1 / 2 + 3 / 4) / 2, 1.0)
    assert estimator.item_value(count, scores["half"])[0] == 2.0
    # over all verdicts
    assert estimator.item_value(count, scores["none"])[0] == 4 * (1 + 3) / (2 + 4)
    assert estimator.item_value(pooled, scores["none"]) == (4 / 6, 4.0)
    entry = estimator.entry(share, items)
    assert entry["value"] == pytest.approx((0.5 + 0.625 + 0.75 + 0.0) / 4)
    assert (entry["n"], entry["scored"], entry["estimated"]) == (4, 2, 2)
    assert (entry["bound_low"], entry["bound_high"]) == (
        (0.25 + 0 + 0.75) / 4,
        (0.75 + 1 + 0.75) / 4,
    )
    # Three of four verdicts are decided, none a hit. Of complete answers with one hit,
    # hiding a verdict at random hides the hit in 1 of 4.
    lone = {
        score.id: score
        for score in (
            counted_score("lacks", 0, 3, 1),
            counted_score("one", 1, 4, 0),
            counted_score("clean", 0, 4, 0),
        )
    }
    hidden = Estimator(LAW_TASK, lone).item_value(any_of, lone["lacks"])[0]
    assert hidden == pytest.approx((1 / 4) / (1 / 4 + 1 + 1))
    groups = Estimator(LAW_TASK, scores).entry(share, items[1:2])
    assert (groups["value"], groups["reason"]) == (None, "nothing to estimate from")
