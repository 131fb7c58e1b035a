"""Points with signed weights: bounds compared with all outcomes of missing verdicts, and clipped totals."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Counts, Item, ItemScore, MetricSpec, TaskSpec, Verdicts
from tests.support import toy_task

WEIGHTS = st.sampled_from([-8.0, -3.0, 2.0, 5.0])
CRITERIA = st.lists(
    st.tuples(WEIGHTS, st.sampled_from(["met", "not", "missing"])), max_size=6
)
"""A criterion's points, and the judge's verdict."""
ENDS = ("ci_low", "value", "ci_high")


def verdicts_of(criteria: list[tuple[float, str]]) -> tuple[Verdicts, ...]:
    return tuple(
        Verdicts(
            kind="plus" if weight > 0 else "minus",
            hits=int(outcome == "met"),
            known=int(outcome != "missing"),
            missing=int(outcome == "missing"),
            weight=weight,
        )
        for weight, outcome in criteria
    )


def points(criteria: list[tuple[float, str]], met: tuple[bool, ...]) -> float:
    """HealthBench's score of a reply whose missing verdicts are replaced by `met`."""
    decisions = iter(met)
    earned = sum(
        weight
        for weight, outcome in criteria
        if outcome == "met" or (outcome == "missing" and next(decisions))
    )
    return earned / sum(weight for weight, _ in criteria if weight > 0)


@given(CRITERIA)
def test_the_limits_are_the_extremes_of_all_decisions(
    criteria: list[tuple[float, str]],
) -> None:
    low, high = Counts(how="points", verdicts=verdicts_of(criteria)).limits
    if not any(weight > 0 for weight, _ in criteria):
        assert math.isnan(low)
        assert math.isnan(high)
        return
    missing = sum(outcome == "missing" for _, outcome in criteria)
    ways = [
        points(criteria, met)
        for met in itertools.product((False, True), repeat=missing)
    ]
    assert (low, high) == pytest.approx((min(ways), max(ways)))


def rubric(total: tuple[float, float] | None) -> TaskSpec:
    return toy_task(
        MetricSpec(
            name="points",
            kind="mean",
            description="",
            limits=(-math.inf, 1.0),
            total=total,
        ),
        judge=True,
    )


@given(st.lists(CRITERIA, min_size=1, max_size=5))
def test_a_figure_is_inside_its_limits_and_bounds(
    replies: list[list[tuple[float, str]]],
) -> None:
    items = [
        Item(id=str(number), fields={}, groups={}, cluster=str(number))
        for number in range(len(replies))
    ]
    scores = {
        item.id: ItemScore.counted(
            {"points": Counts(how="points", verdicts=verdicts_of(criteria))}, id=item.id
        )
        for item, criteria in zip(items, replies, strict=True)
    }
    whole, clipped = (
        dict(
            summarise(rubric(total), items, scores, {}, recipe={})["metrics"]["points"]
        )
        for total in (None, (0.0, 1.0))
    )
    counted = [
        criteria for criteria in replies if any(weight > 0 for weight, _ in criteria)
    ]
    assert (whole["value"] is None) == (clipped["value"] is None)
    if whole["value"] is None or clipped["value"] is None:
        return
    numbers = [value for name in ENDS if isinstance(value := whole[name], float)]
    assert numbers == sorted(numbers)
    assert max(numbers) <= 1.0
    missing = [
        sum(outcome == "missing" for _, outcome in criteria) for criteria in counted
    ]
    ways = [
        [
            points(criteria, met)
            for met in itertools.product((False, True), repeat=count)
        ]
        for criteria, count in zip(counted, missing, strict=True)
    ]
    ends = whole["bound_low"], whole["bound_high"]
    assert ends == pytest.approx(
        (sum(map(min, ways)) / len(ways), sum(map(max, ways)) / len(ways)), abs=1e-9
    )
    for name in (*ENDS, "bound_low", "bound_high"):
        value = whole[name]
        assert clipped[name] == (
            min(max(value, 0.0), 1.0) if isinstance(value, float) else None
        )
