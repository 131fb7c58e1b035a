"""Samples of a finite set: allocation to strata, the draw, and the interval of the whole set's score."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.catalog import tasks
from medical_tasks.data.task_data import TaskData, draw
from medical_tasks.scoring.finite import allocate, strata_of, whole_set_estimate
from medical_tasks.scoring.intervals import student_quantile, wilson
from medical_tasks.spec import Item, MetricSpec
from tests.scoring.interval_ends import ends
from tests.support import toy_task

RIGHT = MetricSpec(name="right", kind="proportion", description="right")
TASK = toy_task(RIGHT, groups=("kind",), strata=("kind",))
of_means_and_proportions = pytest.mark.parametrize("proportion", [True, False])
SIZES = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.integers(1, 40), min_size=1, max_size=12
)


def sample_of(
    task: Any, kinds: str, size: int, seed: int, *, cluster_size: int = 1
) -> TaskData:
    """Draws so many of the items, one for each letter of `kinds`."""
    items = [
        Item(id=f"{n}", fields={}, groups={"kind": k}, cluster=f"c{n // cluster_size}")
        for n, k in enumerate(kinds)
    ]
    data = TaskData(items=items, config="c", folder=Path(), revision={"split": "s"})
    return draw(task, data, (size, seed))


@given(SIZES, st.data())
def test_allocation_is_in_proportion_and_draws_two_of_every_stratum(
    sizes: dict[str, int], data: Any
) -> None:
    total = sum(sizes.values())
    size = data.draw(st.integers(1, total))
    strata = allocate(sizes, size)
    assert (sum(strata.drawn), sum(strata.units)) == (size, total)
    units_by_stratum = [0] * len(strata.units)
    for cell, stratum in strata.of_cell.items():
        units_by_stratum[stratum] += sizes[cell]
    assert units_by_stratum == list(strata.units)
    for units, drawn in zip(strata.units, strata.drawn, strict=True):
        assert abs(drawn - units * size / total) < 1
        assert drawn <= units
        assert drawn >= 2 or len(strata.units) == 1


def test_strata_of_all_tasks_are_groups() -> None:
    stratified = [task for task in tasks().values() if task.strata]
    assert len(stratified) > 25
    assert all(set(task.strata) <= set(task.groups) for task in stratified)


def test_the_seed_decides_the_sample_and_every_stratum_is_in_it() -> None:
    first, same, other = (
        sample_of(TASK, "aaabbb" * 10, 12, seed) for seed in (1, 1, 2)
    )
    assert first == same
    assert first.subset is not None
    assert other.subset is not None
    assert first.subset["ids_sha256"] != other.subset["ids_sha256"]
    assert first.subset["strata"] == {"a": 30, "b": 30}
    assert Counter(item.groups["kind"] for item in first.items) == {"a": 6, "b": 6}


def test_clusters_are_drawn_whole() -> None:
    task = replace(TASK, drawn_whole=True)
    items = sample_of(task, "aaabbb" * 10, 12, 1, cluster_size=3).items
    assert list(Counter(item.cluster for item in items).values()) == [3] * 4


def test_two_strata_by_hand() -> None:
    # Strata of 40 and 60, of each 4 drawn: (2, 4, 4, 6) and (1, 1, 3, 3). Means 4 and
    # 2, so 0.4 * 4 + 0.6 * 2 = 2.8.
    values = [2.0, 4.0, 4.0, 6.0, 1.0, 1.0, 3.0, 3.0]
    estimate = whole_set_estimate(
        [values, [1.0] * 8], [1.0], [0] * 4 + [1] * 4, [40, 60], limits=(0.0, 9.0)
    )
    assert estimate.value == pytest.approx(2.8)
    # Sums of squares 8 and 4, and half of a unit that varies as all do; 3 degrees of
    # freedom and the same half.
    more = sum((value - 2.8) ** 2 for value in values) / 8 / 2
    variance = (
        0.4**2 * (1 - 4 / 40) * (8 + more) / 3.5 / 4
        + 0.6**2 * (1 - 4 / 60) * (4 + more) / 3.5 / 4
    )
    share = 2.8 / 9.0
    low, high = wilson(
        share, share * (1.0 - share) * 9.0**2 / variance, student_quantile(0.975, 6.0)
    )
    assert ends(estimate) == pytest.approx((9.0 * low, 9.0 * high))


@of_means_and_proportions
def test_the_whole_set_has_an_exact_score(proportion: bool) -> None:
    values, weights = [0.0, 1.0, 1.0], [1.0] * 3
    estimate = whole_set_estimate(
        [values, weights], [1.0], [0, 0, 1], [2, 1], proportion=proportion
    )
    assert estimate.value == 2 / 3
    assert ends(estimate) == (2 / 3, 2 / 3)


@of_means_and_proportions
def test_a_missing_value_makes_the_score_uncertain(proportion: bool) -> None:
    values, weights = [0.0, 1.0, 1.0, math.nan], [1.0, 1.0, 1.0, math.nan]
    estimate = whole_set_estimate(
        [values, weights], [1.0], [0, 0, 1, 1], [2, 2], proportion=proportion
    )
    assert estimate.ci_low < estimate.value == 0.75 < estimate.ci_high
    nothing = whole_set_estimate(
        [[math.nan], [math.nan]], [1.0], [0], [5], proportion=proportion
    )
    assert math.isnan(nothing.value)


@of_means_and_proportions
def test_equal_values_are_less_certain_in_a_larger_set(proportion: bool) -> None:
    of_30, of_300 = (
        whole_set_estimate(
            [[0.0] * 20, [1.0] * 20], [1.0], [0] * 20, [n], proportion=proportion
        )
        for n in (30, 300)
    )
    assert of_30.value == of_30.ci_low == 0.0
    assert 0.0 < of_30.ci_high < of_300.ci_high < 0.2


def test_coverage_of_the_score_of_the_set() -> None:
    generator = np.random.default_rng(5)
    kinds = "".join("abcd"[n % 4] for n in range(300))
    right = generator.random(300) < np.array([0.1, 0.2, 0.5, 0.9])[np.arange(300) % 4]
    for task, cluster_size in ((TASK, 1), (replace(TASK, drawn_whole=True), 4)):
        covered = []
        for seed in range(400):
            data = sample_of(task, kinds, 80, seed, cluster_size=cluster_size)
            values = [float(right[int(item.id)]) for item in data.items]
            strata, units = strata_of(task, data.items, data.subset or {})
            clusters = (
                [item.cluster for item in data.items] if cluster_size > 1 else None
            )
            estimate = whole_set_estimate(
                [values, [1.0] * 80],
                [1.0],
                strata,
                units,
                clusters=clusters,
                proportion=True,
            )
            covered.append(estimate.ci_low <= right.mean() <= estimate.ci_high)
        assert 0.92 <= np.mean(covered) <= 0.98
