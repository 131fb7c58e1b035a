"""The law of every number of every task: it lies within its bounds, and its interval within the metric's limits, whatever lacks."""

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
    """The judge that compares words, which loses verdicts at random."""

    name = "losing"
    comparable = False
    reads: Literal["prompt", "pair"] = "pair"

    def __init__(self, inner: JudgeSession) -> None:
        self.inner, self.share, self.seed = inner, 0.0, 0

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        lost = [
            random.Random(f"{self.seed} {each.id}").random() < self.share
            for each in questions
        ]
        return [
            Unscored(id=each.id, reason="judge: http 500") if gone else each
            for each, gone in zip(self.inner.ask(questions), lost, strict=True)
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
    """Right ones, halves, others', empty ones, abstentions, and some that are not there."""
    gold = task.benchmark.gold_response
    made = {}
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
            made[item.id] = chance.choice(forms)
    return made


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
    given: dict[str, Any] = {}
    if task.judge:
        prompts = task.benchmark.load_judge_prompts(task)
        given["judging"] = Judging(judge=judge, prompts=prompts, mode=task.judging)
    if task.scoring_arguments:
        given["arguments"] = (
            {"official": "yes"} if "official" in task.scoring_arguments else {}
        )
    asked = [item for item in items if item.id in answers]
    texts = [Answer(text=answers[item.id]) for item in asked]
    scored = task.benchmark.score_items(task, asked, texts, Scoring(**given))
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
    known = {metric.name: metric for metric in task.metrics}
    for name, metric in entry["metrics"].items():
        yield known[name], metric
    for groups in entry["breakdown"].values():
        for metrics in groups.values():
            for name, metric in metrics.items():
                yield known[name], metric


def _law(
    metric: MetricSpec, entry: Mapping[str, Any], *, unclear: bool = False
) -> None:
    value, low, high = entry["value"], entry["bound_low"], entry["bound_high"]
    numbers = [
        entry[name]
        for name in ("value", "ci_low", "ci_high", "bound_low", "bound_high")
    ]
    assert all(each is None or math.isfinite(each) for each in numbers), metric.name
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
    # Tasks of a family are scored alike: the first one in more ways.
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
        for metric, found in _all_metrics(task, entry):
            _law(metric, found, unclear=bool(counts["unclear"]))
        if share == 1.0:
            # Whatever an empty answer is worth, no verdict is no value.
            headline = entry["metrics"][task.metrics[0].name]
            assert headline["value"] is None
            assert headline["bound_low"] < headline["bound_high"]
    complete = _summary(task, demos, judge, seed=0, share=0.0, whole=True)
    assert complete["coverage"]["scored"] == complete["n_items"]
    for metric, found in _all_metrics(task, complete):
        _law(metric, found, unclear=bool(complete["coverage"]["unclear"]))
        assert "scored" not in found or metric.official


def test_there_are_tasks_of_both_kinds() -> None:
    assert JUDGED
    assert OTHERS
    assert set(FIRST) <= set(JUDGED)


# The estimator by itself

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
    known = draw(COUNTED)
    return Verdicts(
        kind=draw(st.sampled_from(["", "a", "b", "a/b"])),
        hits=draw(st.integers(0, known)),
        known=known,
        missing=draw(st.sampled_from([0, 0, 1, 3])),
        unasked=draw(st.sampled_from([0, 0, 2])),
    )


@st.composite
def _score(draw: st.DrawFn) -> ItemScore:
    verdicts = tuple(draw(st.lists(_verdicts(), max_size=3)))
    listed = (Verdicts(kind="a", more=30),) if draw(st.integers(0, 5)) == 0 else ()
    judged = draw(st.integers(0, 4)) > 0 or any(one.missing for one in verdicts)
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
    made = ItemScore.counted(counts, id="", values=values, weights=weights)
    return (
        made
        if judged
        else ItemScore(id="", values=made.values, limits=made.limits, weights=weights)
    )


@given(st.lists(st.one_of(st.none(), _score()), min_size=1, max_size=8), st.data())
def test_whatever_is_missing(
    drawn: list[ItemScore | None], data: st.DataObject
) -> None:
    items = [
        Item(id=str(number), fields={}, groups={}, cluster=str(number // 2))
        for number in range(len(drawn))
    ]
    scores = {
        str(number): replace(one, id=str(number))
        for number, one in enumerate(drawn)
        if one is not None
    }
    task = replace(LAW_TASK, cluster="note") if data.draw(st.booleans()) else LAW_TASK
    most = max(
        [2.0, *(one.counts["count"].limits[1] for one in scores.values() if one.counts)]
    )
    most = max([most, *(one.values.get("count", 0.0) for one in scores.values())])
    least = {item.id: (0.0, 1.0 if item.id not in scores else most) for item in items}
    estimator = Estimator(
        task,
        scores,
        items=len(items),
        unanswered_limits=lambda item: {"count": least[item.id]},
    )
    for metric in task.metrics:
        entry = estimator.entry(metric, items)
        _law(metric, entry)
        values = [estimator.item_value(metric, score) for score in scores.values()]
        pairs = [
            (value, weight)
            for value, weight in values
            if weight and not math.isnan(value)
        ]
        if all(
            one is not None and (metric.name in one.values or metric.name in one.counts)
            for one in drawn
        ):
            # What harnesses average is what is reported.
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
    """The score of an answer; the official metric does not rest on the reader that can be unclear."""
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
    """Of a whole set and of a stratified sample; and whatever is decided afterwards lies within the bounds before it."""
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
        before, after = (Estimator(READ_TASK, each) for each in (first, decided))
        entries = [one.entry(metric, items) for one in (before, after)]
        sampled = [
            one.of_whole_set(entry.copy(), metric, items, drawn)
            for one, entry in zip((before, after), entries, strict=True)
        ]
        for told, decision in (entries, sampled):
            if told["value"] is not None and decision["value"] is not None:
                assert told["bound_low"] <= told["value"] <= told["bound_high"]
                assert told["bound_low"] - EXACT <= decision["value"]
                assert decision["value"] <= told["bound_high"] + EXACT
        told, decision = entries
        if told["value"] is not None:
            assert told["bound_low"] - EXACT <= decision["bound_low"]
            assert decision["bound_high"] <= told["bound_high"] + EXACT
            if set(outcomes) <= {"right", "wrong"}:
                assert told["bound_low"] == told["bound_high"]


def test_estimates_by_hand() -> None:
    """Known verdicts of an item stand for its missing ones; where there are none, those of judged answers, never of empty ones."""
    share, count, any_of, pooled = LAW_TASK.metrics

    def one(
        name: str, hits: int, known: int, missing: int, *, judged: bool = True
    ) -> ItemScore:
        verdicts = (Verdicts(hits=hits, known=known, missing=missing),)
        counts = {
            metric.name: Counts(how=how, verdicts=verdicts)
            for metric, how in zip(LAW_TASK.metrics, HOWS, strict=True)
        }
        made = ItemScore.counted(
            counts, id=name, weights={"pooled": float(known + missing)}
        )
        return (
            made
            if judged
            else ItemScore(id=name, values=made.values, weights=made.weights)
        )

    scores = {
        score.id: score
        for score in (
            one("half", 1, 2, 2),  # 1 of 2 known: 2 of 4
            one("none", 0, 0, 4),  # nothing known: as the judged answers
            one("full", 3, 4, 0),
            one("empty", 0, 4, 0, judged=False),
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
    # An answer of four verdicts, one hidden and none a hit: of those of 3 in 4, hidden
    # at random, none leaves the others clean.
    lone = {
        score.id: score
        for score in (one("lacks", 0, 3, 1), one("one", 1, 4, 0), one("clean", 0, 4, 0))
    }
    hidden = Estimator(LAW_TASK, lone).item_value(any_of, lone["lacks"])[0]
    assert hidden == pytest.approx((1 / 4) / (1 / 4 + 1 + 1))
    groups = Estimator(LAW_TASK, scores).entry(share, items[1:2])
    assert (groups["value"], groups["reason"]) == (None, "nothing to estimate from")
