from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.catalog import BENCHMARKS, tasks
from medical_tasks.leaderboard.ranking import HEADLINES, OverallEntry, mover_mean, overall_entries
from medical_tasks.leaderboard.records import Entry
from medical_tasks.scoring.intervals import wilson_interval


def entry(
    number: int, value: float = 0.6, *, half: float = 0.05, model: str = "m", group: str = "g", at: str = "2026-01-01"
) -> Entry:
    headline = HEADLINES[number]
    told = {"value": value, "ci_low": max(0.0, value - half), "ci_high": min(1.0, value + half), "n": 100}
    return Entry(
        model=model,
        organisation="o",
        task=headline.task,
        benchmark=headline.benchmark,
        metrics={headline.metric: told},
        state="unverified",
        group=f"{group}{number}",
        at=at,
        submission=f"{model}{number}",
    )


def everything(value: float, *, model: str, half: float = 0.05) -> list[Entry]:
    return [entry(number, value, model=model, half=half) for number in range(len(HEADLINES))]


def test_every_benchmark_counts_once_by_a_share() -> None:
    assert [one.benchmark for one in HEADLINES] == [benchmark.title for benchmark in BENCHMARKS]
    for one in HEADLINES:
        task = tasks()[one.task]
        metric = next(each for each in task.metrics if each.name == one.metric)
        assert metric is task.metrics[0]
        assert (metric.limits, metric.unit, metric.higher_is_better) == ((0.0, 1.0), "", True)


def test_mover_by_hand() -> None:
    # Two: 0.5 (0.4 to 0.7) and 0.9 (0.6 to 0.94). Below: sqrt(0.1^2 + 0.3^2)/2, above: sqrt(0.2^2 + 0.04^2)/2.
    mean, low, high = mover_mean([(0.5, 0.4, 0.7), (0.9, 0.6, 0.94)])
    assert (mean, low, high) == pytest.approx((0.7, 0.7 - 0.158113883, 0.7 + 0.101980390))
    assert mover_mean([(0.5, 0.4, 0.7)]) == pytest.approx((0.5, 0.4, 0.7))
    with pytest.raises(ValueError, match="the mean of no estimates"):
        mover_mean([])


shares = st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)).map(
    lambda three: (sorted(three)[1], min(three), max(three))
)


@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.lists(shares, min_size=1, max_size=6))
def test_the_mean_of_shares_is_a_share_with_a_narrower_interval(points: list[tuple[float, float, float]]) -> None:
    mean, low, high = mover_mean(points)
    k = len(points)
    assert -1e-9 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1 + 1e-9
    # Never wider than the mean of the limits, never narrower than that by more than the square root of their number.
    below, above = (
        sum(value - bottom for value, bottom, _ in points) / k,
        sum(top - value for value, _, top in points) / k,
    )
    assert below / k**0.5 - 1e-9 <= mean - low <= below + 1e-9
    assert above / k**0.5 - 1e-9 <= high - mean <= above + 1e-9


def test_mover_covers_what_it_says() -> None:
    # Five proportions, near and far from 1, from as many items as the benchmarks have; Wilson intervals of 95 %.
    true, sizes, rounds = (0.97, 0.85, 0.6, 0.3, 0.08), (1047, 201, 529, 40, 100), 2000
    generator = np.random.default_rng(8)
    drawn = [generator.binomial(n, p, size=rounds) for p, n in zip(true, sizes, strict=True)]
    known: list[dict[int, tuple[float, float, float]]] = [{} for _ in sizes]
    covered = 0
    for index in range(rounds):
        points = []
        for column, n, seen in zip(drawn, sizes, known, strict=True):
            right = int(column[index])
            if right not in seen:
                seen[right] = (right / n, *wilson_interval(right, n))
            points.append(seen[right])
        _, low, high = mover_mean(points)
        covered += low <= sum(true) / len(true) <= high
    assert 0.94 <= covered / rounds <= 0.96


def test_models_with_all_benchmarks_are_ranked() -> None:
    rows = overall_entries([*everything(0.5, model="b"), *everything(0.7, model="a"), *everything(0.71, model="c")])
    assert [(row.model, str(row.rank)) for row in rows] == [("c", "1-2"), ("a", "1-2"), ("b", "3")]
    row = rows[2]
    assert (row.value, row.ci_low, row.ci_high) == pytest.approx((0.5, 0.5 - 0.05 / 5**0.5, 0.5 + 0.05 / 5**0.5))
    assert (row.missing, row.partial, list(row.parts)) == ((), False, [one.benchmark for one in HEADLINES])


def test_a_model_that_lacks_one_is_partial_and_has_no_rank() -> None:
    rows = overall_entries([*everything(0.5, model="a"), *everything(0.9, model="b")[:4]])
    assert [(row.model, row.partial, row.missing) for row in rows] == [("a", False, ()), ("b", True, ("ArchEHR-QA",))]
    assert rows[1].value == pytest.approx(0.9)
    assert (rows[1].rank, rows[1].ci_low, rows[1].ci_high, rows[1].group) == (None, None, None, "")
    assert str(rows[0].rank) == "1"


def test_what_cannot_be_ranked_does_not_count() -> None:
    sound, (last, metric) = everything(0.5, model="a"), (HEADLINES[-1], HEADLINES[-1].metric)
    told = sound[-1].metrics[metric]
    for odd in (
        replace(sound[-1], state="reported"),
        replace(sound[-1], differences=("Marked.",)),
        replace(sound[-1], metrics={}),
        replace(sound[-1], metrics={metric: {**told, "value": None}}),
        replace(sound[-1], metrics={metric: {**told, "ci_low": None}}),
        replace(sound[-1], metrics={metric: {**told, "comparable": False}}),
        replace(sound[-1], metrics={metric: {**told, "ci_high": 1.5}}),
        replace(sound[-1], task="archehr_question"),
    ):
        (row,) = overall_entries([*sound[:-1], odd])
        assert row.missing == (last.benchmark,)
    assert overall_entries([]) == []


def test_other_settings_are_other_groups_and_the_common_one_counts() -> None:
    common = [*everything(0.5, model="a"), *everything(0.6, model="b")]
    both = [*everything(0.7, model="c"), entry(0, 1.0, model="c", group="other", at="2026-09-09")]
    rows = {row.model: row for row in overall_entries([*common, *both])}
    assert rows["c"].parts["MedCalc-Bench"].group == "g0"  # not the better and newer one in a setting of its own
    alone = [entry(0, 1.0, model="d", group="other"), *everything(0.9, model="d")[1:]]
    rows = {row.model: row for row in overall_entries([*common, *alone])}
    assert str(rows["d"].rank) == "1"
    assert rows["d"].group != rows["a"].group
    assert [str(rows[name].rank) for name in "ba"] == ["1", "2"]


def test_names_are_one_model_however_they_are_written() -> None:
    parts = everything(0.5, model="My  Model")
    parts[2] = replace(parts[2], model="my model", at="2026-02-02")
    (row,) = overall_entries(parts)
    assert (row.model, row.partial) == ("my model", False)
    assert len(overall_entries([*parts[:2], *(replace(each, organisation="other") for each in parts[2:])])) == 2


def test_the_order_of_the_entries_plays_no_part() -> None:
    entries = [
        *everything(0.5, model="a"),
        *everything(0.7, model="b")[1:],
        entry(0, 0.4, model="b", group="x"),
        entry(0, 0.9, model="a", group="y"),
    ]

    def made(some: list[Entry]) -> list[OverallEntry]:
        return overall_entries(some)

    expected = made(entries)
    for seed in range(5):
        assert made(random.Random(seed).sample(entries, len(entries))) == expected
