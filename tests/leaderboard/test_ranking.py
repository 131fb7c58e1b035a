from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.catalog import task_spec
from medical_tasks.leaderboard.ranking import RankRange, ranges, rank_ranges
from medical_tasks.leaderboard.records import Entry
from medical_tasks.spec import MetricSpec

ACCURACY = task_spec("medcalc").metrics[0]
HALLUCINATION = next(metric for metric in task_spec("kqa").metrics if metric.name == "hallucination_rate")


def entry(low: float | None, high: float | None, metric: MetricSpec = ACCURACY, **named: Any) -> Entry:
    value = None if low is None or high is None else (low + high) / 2
    told = {"value": value, "ci_low": low, "ci_high": high, "n": 100}
    usual = {
        "model": "m",
        "organisation": "o",
        "task": "medcalc",
        "benchmark": "b",
        "state": "unverified",
        "group": "g",
    }
    return Entry(**{"metrics": {metric.name: told}, **usual, **named})


def shown(entries: list[Entry], metric: MetricSpec = ACCURACY) -> list[str]:
    return [str(place or "n/a") for place in rank_ranges(entries, metric)]


def test_by_hand() -> None:
    # 70-80 is above all; 50-60 and 55-65 overlap; 20-30 is below all.
    assert shown([entry(0.5, 0.6), entry(0.7, 0.8), entry(0.2, 0.3), entry(0.55, 0.65)]) == ["2-3", "1", "4", "2-3"]
    # A chain: the first and the last do not overlap, both overlap the middle one.
    assert shown([entry(0.1, 0.3), entry(0.2, 0.5), entry(0.4, 0.6)]) == ["2-3", "1-3", "1-2"]
    assert shown([entry(0.1, 0.2), entry(0.2, 0.3)]) == ["1-2", "1-2"]  # those that touch overlap
    assert shown([entry(0.5, 0.5), entry(0.5, 0.5)]) == ["1-2", "1-2"]
    assert shown([entry(0.5, 0.6)]) == ["1"]
    assert shown([]) == []


def test_where_lower_is_better() -> None:
    assert not HALLUCINATION.higher_is_better
    entries = [entry(0.5, 0.6, HALLUCINATION), entry(0.1, 0.2, HALLUCINATION), entry(0.15, 0.55, HALLUCINATION)]
    assert shown(entries, HALLUCINATION) == ["2-3", "1-2", "1-3"]


def test_groups_tasks_and_measures_are_ranked_apart() -> None:
    assert shown([entry(0.5, 0.6), entry(0.7, 0.8, group="h"), entry(0.7, 0.8, task="medcalc_direct")]) == [
        "1",
        "1",
        "1",
    ]
    bert = next(metric for metric in task_spec("ehrnoteqa_open_level1").metrics if metric.needs == "sentence_bert")
    recipes = [
        {"scoring": {"sentence_bert": {"sha256": digest, "file": name}}}
        for digest, name in (("a", "x"), ("b", "x"), ("a", "y"))
    ]
    entries = [entry(0.5, 0.6, bert, recipe=recipe) for recipe in recipes]
    assert shown(entries, bert) == ["1-2", "1", "1-2"]  # by another checkpoint it is another measure
    score = next(metric for metric in task_spec("archehr_together").metrics if metric.name == "overall_score")
    whole = entry(0.5, 0.6, score)
    part = replace(whole, metrics={score.name: {**whole.metrics[score.name], "missing_components": ["medcon"]}})
    assert shown([whole, part], score) == ["1", "1"]


@pytest.mark.parametrize(
    "odd",
    [
        entry(None, None),
        entry(0.9, 0.95, state="reported"),
        entry(0.9, 0.95, differences=("Only a part.",)),
        entry(0.9, 0.95, metrics={}),
        entry(0.9, 0.95, metrics={"accuracy": {"value": 0.9, "ci_low": None, "ci_high": None}}),
        entry(0.9, 0.95, metrics={"accuracy": {"value": 0.9, "ci_low": 0.9, "ci_high": 0.8}}),
        entry(0.9, 0.95, metrics={"accuracy": {"value": 0.9, "ci_low": 0.9, "ci_high": "1"}}),
        entry(0.9, 0.95, metrics={"accuracy": {"value": 0.9, "ci_low": 0.9, "ci_high": 0.95, "comparable": False}}),
        entry(0.9, 0.95, metrics={"accuracy": 0.9}),
    ],
)
def test_what_has_no_rank_takes_no_place(odd: Entry) -> None:
    assert shown([odd, entry(0.5, 0.6)]) == ["n/a", "1"]


Intervals = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 8)).map(lambda pair: (float(pair[0]), float(sum(pair)))),
    min_size=1,
    max_size=12,
)
laws = settings(deadline=None, max_examples=25, derandomize=True)


@laws
@given(Intervals, st.data())
def test_every_rank_that_the_intervals_allow_is_in_the_range(
    intervals: list[tuple[float, float]], data: st.DataObject
) -> None:
    truth = [data.draw(st.floats(low, high)) for low, high in intervals]
    for value, place in zip(truth, ranges(intervals), strict=True):
        best, worst = 1 + sum(other > value for other in truth), sum(other >= value for other in truth)
        assert place.first <= best <= worst <= place.last


@laws
@given(Intervals)
def test_both_ends_of_a_range_can_be_reached(intervals: list[tuple[float, float]]) -> None:
    for index, place in enumerate(ranges(intervals)):
        others = [each for number, each in enumerate(intervals) if number != index]
        low, high = intervals[index]
        # At its own upper end with all others at their lower ends, and the other way round.
        assert place.first == 1 + sum(other > high for other, _ in others)
        assert place.last == 1 + sum(other >= low for _, other in others)


@laws
@given(Intervals, st.randoms(use_true_random=False))
def test_the_order_plays_no_part(intervals: list[tuple[float, float]], random: Any) -> None:
    places = ranges(intervals)
    order = list(range(len(intervals)))
    random.shuffle(order)
    assert ranges([intervals[index] for index in order]) == [places[index] for index in order]


@laws
@given(Intervals)
def test_a_far_worse_entry_changes_nobodys_place(intervals: list[tuple[float, float]]) -> None:
    *places, added = ranges([*intervals, (-10.0, -9.0)])
    assert places == ranges(intervals)
    assert added == RankRange(first=len(intervals) + 1, last=len(intervals) + 1)


@laws
@given(Intervals)
def test_turned_round_the_ranks_are_turned_round(intervals: list[tuple[float, float]]) -> None:
    n = len(intervals)
    for best, worst in zip(ranges(intervals), ranges(intervals, higher_is_better=False), strict=True):
        assert (best.first, best.last) == (n + 1 - worst.last, n + 1 - worst.first)
