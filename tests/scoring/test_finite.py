"""Samples of a finite set: allocation, the draw, and what its interval says of the whole set."""

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
from tests.support import toy_task

RIGHT = MetricSpec(name="right", kind="proportion", description="right")
TASK = toy_task(RIGHT, groups=("kind",), strata=("kind",))
SIZES = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.integers(1, 40), min_size=1, max_size=12
)


def taken(
    task: Any, kinds: str, size: int, seed: int, *, together: int = 1
) -> TaskData:
    items = [
        Item(id=f"{n}", fields={}, groups={"kind": k}, cluster=f"c{n // together}")
        for n, k in enumerate(kinds)
    ]
    return draw(
        task,
        TaskData(items=items, config="c", folder=Path(), revision={"split": "s"}),
        (size, seed),
    )


@given(SIZES, st.data())
def test_allocation_is_in_proportion_and_gives_every_stratum_two_or_all_one(
    sizes: dict[str, int], data: Any
) -> None:
    total = sum(sizes.values())
    drawn = data.draw(st.integers(1, total))
    strata = allocate(sizes, drawn)
    assert (sum(strata.drawn), sum(strata.units)) == (drawn, total)
    counted = Counter(dict.fromkeys(range(len(strata.units)), 0))
    for cell, place in strata.of_cell.items():
        counted[place] += sizes[cell]
    assert [counted[place] for place in range(len(strata.units))] == list(strata.units)
    for units, each in zip(strata.units, strata.drawn, strict=True):
        assert abs(each - units * drawn / total) < 1
        assert each <= units
        assert each >= 2 or len(strata.units) == 1


def test_the_sample_is_of_the_seed_alone_and_of_every_stratum() -> None:
    stratified = [task for task in tasks().values() if task.strata]
    assert len(stratified) > 25
    assert all(set(task.strata) <= set(task.groups) for task in stratified)
    first, again, other = (taken(TASK, "aaabbb" * 10, 12, seed) for seed in (1, 1, 2))
    assert first == again
    assert first.subset is not None
    assert other.subset is not None
    assert first.subset["ids_sha256"] != other.subset["ids_sha256"]
    assert first.subset["strata"] == {"a": 30, "b": 30}
    assert Counter(item.groups["kind"] for item in first.items) == {"a": 6, "b": 6}
    whole = taken(replace(TASK, drawn_whole=True), "aaabbb" * 10, 12, 1, together=3)
    assert set(Counter(item.cluster for item in whole.items).values()) == {3}
    assert len(whole.items) == 12


def test_two_strata_by_hand() -> None:
    # Strata of 40 and 60, of each 4 drawn: (2, 4, 4, 6) and (1, 1, 3, 3). Means 4 and
    # 2, so 0.4 * 4 + 0.6 * 2 = 2.8.
    values = [2.0, 4.0, 4.0, 6.0, 1.0, 1.0, 3.0, 3.0]
    found = whole_set_estimate(
        [values, [1.0] * 8], [1.0], [0] * 4 + [1] * 4, [40, 60], limits=(0.0, 9.0)
    )
    assert found.value == pytest.approx(2.8)
    # Squares 8 and 4, and half of a unit that varies as all do; freedom 3 and the same
    # half.
    more = sum((value - 2.8) ** 2 for value in values) / 8 / 2
    variance = (
        0.4**2 * (1 - 4 / 40) * (8 + more) / 3.5 / 4
        + 0.6**2 * (1 - 4 / 60) * (4 + more) / 3.5 / 4
    )
    share = 2.8 / 9.0
    ends = wilson(
        share, share * (1.0 - share) * 9.0**2 / variance, student_quantile(0.975, 6.0)
    )
    assert (found.ci_low, found.ci_high) == pytest.approx(
        (9.0 * ends[0], 9.0 * ends[1])
    )


@pytest.mark.parametrize("proportion", [True, False])
def test_all_of_a_set_is_exact_and_without_variation_there_is_no_certainty(
    proportion: bool,
) -> None:
    values = [0.0, 1.0, 1.0, math.nan]
    known = [1.0, 1.0, 1.0, math.nan]
    found = whole_set_estimate(
        [values[:3], known[:3]], [1.0], [0, 0, 1], [2, 1], proportion=proportion
    )
    assert (found.value, found.ci_low, found.ci_high) == (2 / 3, 2 / 3, 2 / 3)
    part = whole_set_estimate(
        [values, known], [1.0], [0, 0, 1, 1], [2, 2], proportion=proportion
    )
    assert part.ci_low < part.value == 0.75 < part.ci_high
    alike = [
        whole_set_estimate(
            [[0.0] * 20, [1.0] * 20], [1.0], [0] * 20, [n], proportion=proportion
        )
        for n in (30, 300)
    ]
    assert (
        0.0
        == alike[0].value
        == alike[0].ci_low
        < alike[0].ci_high
        < alike[1].ci_high
        < 0.2
    )
    none = whole_set_estimate(
        [[math.nan], [math.nan]], [1.0], [0], [5], proportion=proportion
    )
    assert math.isnan(none.value)


def test_intervals_hold_the_score_of_the_set() -> None:
    generator = np.random.default_rng(5)
    kinds = "".join("abcd"[n % 4] for n in range(300))
    right = generator.random(300) < np.array([0.1, 0.2, 0.5, 0.9])[np.arange(300) % 4]
    for task, together in ((TASK, 1), (replace(TASK, drawn_whole=True), 4)):
        held = []
        for seed in range(400):
            made = taken(task, kinds, 80, seed, together=together)
            values = [float(right[int(item.id)]) for item in made.items]
            strata, units = strata_of(task, made.items, made.subset or {})
            clusters = [item.cluster for item in made.items] if together > 1 else None
            found = whole_set_estimate(
                [values, [1.0] * 80],
                [1.0],
                strata,
                units,
                clusters=clusters,
                proportion=True,
            )
            held.append(found.ci_low <= right.mean() <= found.ci_high)
        assert 0.92 <= np.mean(held) <= 0.98
