"""Groups and ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.catalog import task_spec
from medical_tasks.leaderboard import ranking
from medical_tasks.leaderboard.records import Entry
from medical_tasks.runs.recipes import recipe_differences
from medical_tasks.spec import MetricSpec
from tests.leaderboard.made_packages import cases, recipe_of

CASES = cases("ranking")

ACCURACY = task_spec("medcalc").metrics[0]
HALLUCINATION = next(
    metric for metric in task_spec("kqa").metrics if metric.name == "hallucination_rate"
)


def entry(
    low: float | None, high: float | None, metric: MetricSpec = ACCURACY, **named: Any
) -> Entry:
    value = None if low is None or high is None else (low + high) / 2
    figure = {"value": value, "ci_low": low, "ci_high": high, "n": 100}
    usual = {
        "model": "m",
        "organisation": "o",
        "task": "medcalc",
        "benchmark": "b",
        "state": "unverified",
        "group": "g",
    }
    return Entry(**{"metrics": {metric.name: figure}, **usual, **named})


def shown_ranks(entries: list[Entry], metric: MetricSpec = ACCURACY) -> list[str]:
    return [str(ranks or "n/a") for ranks in ranking.rank_ranges(entries, metric)]


def test_ranks_by_hand() -> None:
    # 70-80 is above all; 50-60 and 55-65 overlap; 20-30 is below all.
    assert shown_ranks(
        [entry(0.5, 0.6), entry(0.7, 0.8), entry(0.2, 0.3), entry(0.55, 0.65)]
    ) == [
        "2-3",
        "1",
        "4",
        "2-3",
    ]
    # A chain: the first and the last do not overlap, both overlap the middle one.
    assert shown_ranks([entry(0.1, 0.3), entry(0.2, 0.5), entry(0.4, 0.6)]) == [
        "2-3",
        "1-3",
        "1-2",
    ]
    # those that touch overlap
    assert shown_ranks([entry(0.1, 0.2), entry(0.2, 0.3)]) == ["1-2", "1-2"]
    assert shown_ranks([entry(0.5, 0.5), entry(0.5, 0.5)]) == ["1-2", "1-2"]
    assert shown_ranks([entry(0.5, 0.6)]) == ["1"]
    assert shown_ranks([]) == []
    assert not HALLUCINATION.higher_is_better
    entries = [
        entry(0.5, 0.6, HALLUCINATION),
        entry(0.1, 0.2, HALLUCINATION),
        entry(0.15, 0.55, HALLUCINATION),
    ]
    assert shown_ranks(entries, HALLUCINATION) == ["2-3", "1-2", "1-3"]


def test_groups_tasks_and_measures_are_ranked_separately() -> None:
    apart = [
        entry(0.5, 0.6),
        entry(0.7, 0.8, group="h"),
        entry(0.7, 0.8, task="medcalc_direct"),
    ]
    assert shown_ranks(apart) == ["1", "1", "1"]
    bert = next(
        metric
        for metric in task_spec("ehrnoteqa_open_level1").metrics
        if metric.needs == "sentence_bert"
    )
    recipes = [
        {"scoring": {"sentence_bert": {"sha256": digest, "file": name}}}
        for digest, name in (("a", "x"), ("b", "x"), ("a", "y"))
    ]
    entries = [entry(0.5, 0.6, bert, recipe=recipe) for recipe in recipes]
    # by another checkpoint it is another measure
    assert shown_ranks(entries, bert) == ["1-2", "1", "1-2"]
    score = next(
        metric
        for metric in task_spec("archehr_together").metrics
        if metric.name == "overall_score"
    )
    whole = entry(0.5, 0.6, score)
    partial = replace(
        whole,
        metrics={
            score.name: {**whole.metrics[score.name], "missing_components": ["medcon"]}
        },
    )
    assert shown_ranks([whole, partial], score) == ["1", "1"]


@pytest.mark.parametrize(("low", "high", "odd"), CASES["results_without_a_rank"])
def test_results_without_a_rank(
    low: float | None, high: float | None, odd: dict[str, Any]
) -> None:
    assert shown_ranks([entry(low, high, **odd), entry(0.5, 0.6)]) == ["n/a", "1"]


Intervals = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 8)).map(
        lambda pair: (float(pair[0]), float(sum(pair)))
    ),
    min_size=1,
    max_size=12,
)
laws = settings(max_examples=25, derandomize=True)


@laws
@given(Intervals, st.data())
def test_a_range_has_exactly_the_possible_ranks(
    intervals: list[tuple[float, float]], data: st.DataObject
) -> None:
    n, places, turned = (
        len(intervals),
        ranking.ranges(intervals),
        ranking.ranges(intervals, higher_is_better=False),
    )
    truth = [data.draw(st.floats(low, high)) for low, high in intervals]
    for index, (value, ranks, worst) in enumerate(
        zip(truth, places, turned, strict=True)
    ):
        best_rank, worst_rank = (
            1 + sum(other > value for other in truth),
            sum(other >= value for other in truth),
        )
        assert ranks.first <= best_rank <= worst_rank <= ranks.last
        # Both ends can be reached: at its own upper end with all others at their lower
        # ends, and the other way round.
        others = [
            interval for number, interval in enumerate(intervals) if number != index
        ]
        low, high = intervals[index]
        assert ranks.first == 1 + sum(other > high for other, _ in others)
        assert ranks.last == 1 + sum(other >= low for _, other in others)
        # If less is better, the ranks are reversed.
        assert (ranks.first, ranks.last) == (n + 1 - worst.last, n + 1 - worst.first)


KQA, MEDCALC = task_spec("kqa"), task_spec("medcalc")


@pytest.mark.parametrize("changes", CASES["changes_of_the_model_keep_the_group"])
def test_changes_of_the_model_keep_the_group(changes: dict[str, Any]) -> None:
    task = task_spec("ehrnoteqa_open_level1")
    assert ranking.group_of(task, recipe_of(MEDCALC)) == ranking.group_of(
        task, recipe_of(MEDCALC, **changes)
    )
    assert not recipe_differences(
        "medcalc", recipe_of(MEDCALC), recipe_of(MEDCALC, **changes)
    ).refused


@pytest.mark.parametrize("changes", CASES["changes_of_the_measurement_separate_groups"])
def test_changes_of_the_measurement_separate_groups(changes: dict[str, Any]) -> None:
    assert ranking.group_of(KQA, recipe_of(MEDCALC)) != ranking.group_of(
        KQA, recipe_of(MEDCALC, **changes)
    )
    assert ranking.group_of(KQA, recipe_of(MEDCALC)) != ranking.group_of(
        MEDCALC, recipe_of(MEDCALC)
    )
    # Recipes that `compare` refuses or warns about for this reason are not ranked together.
    differences = recipe_differences(
        "medcalc", recipe_of(MEDCALC), recipe_of(MEDCALC, **changes)
    )
    assert differences.refused or differences.warned or "baseline" in changes


def test_groups_identify_files_by_their_hash() -> None:
    def group(**scoring: Any) -> str:
        return ranking.group_of(KQA, recipe_of(KQA, scoring=scoring))

    assert group(claims={"file": "a", "sha256": "b"}) == group(
        claims={"file": "c", "sha256": "b"}
    )
    assert group(claims={"file": "a", "sha256": "b"}) != group(
        claims={"file": "a", "sha256": "c"}
    )
    # Each model's answers have claims of their own; how they were made is another
    # thing.
    assert (
        group(output_claims={"sha256": "b"})
        == group(output_claims={"sha256": "c"})
        != group(output_claims="judge")
    )
    recipe = recipe_of(KQA, judge=CASES["judge"])
    label = "answered test (9595959595), prompts own (ababababab), judge openai-api/[host]/judge, 5 votes"
    assert ranking.group_label(recipe) == ranking.setting_of(KQA, recipe) == label
    more = {
        "task_args": {"tries": "3"},
        "truncation": {"words_left_out": {"a": 1, "b": 2}},
    }
    more["generation"] = {"max_new_tokens": 99}
    longer = f"{label}, tries=3, answers of at most 99 tokens, 2 questions shortened"
    assert ranking.setting_of(KQA, {**recipe, **more}) == longer
    assert (
        ranking.group_label({}) == "None None (None)"
    )  # incomplete recipes raise nothing


def test_groups_are_named_in_words() -> None:
    task = task_spec("kqa")
    judge = {"name": "openai-api/host/m", "votes": 5}
    assert ranking.group_words(recipe_of(task, judge=judge)) == (
        "answered test, own prompts, judged by openai-api/host/m (5 votes)"
    )
    assert ranking.group_words(
        recipe_of(task, prompts=None, judge={**judge, "votes": 1})
    ) == ("answered test, no prompts, judged by openai-api/host/m")
