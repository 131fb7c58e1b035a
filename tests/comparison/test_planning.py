"""Planned numbers of items against every outcome counted, and against draws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from medical_tasks.comparison.gate_risk import Limit, Population, chance_of_go
from medical_tasks.comparison.planning import (
    Goal,
    fewest,
    mcnemar_power,
    needed_as_assumed,
    needed_from_runs,
    wilson_half_width,
)
from medical_tasks.comparison.statistics import Columns
from medical_tasks.errors import UsageError
from medical_tasks.scoring.bootstrap import quotient
from medical_tasks.scoring.estimates import Floats
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.scoring.paired import mcnemar, paired_bootstrap_statistic
from medical_tasks.spec import MetricKind, MetricSpec


def columns(first: Floats, second: Floats, kind: MetricKind, size: int = 1) -> Columns:
    """Two runs whose items are in clusters of one size."""
    ones = np.ones(len(first))
    return Columns(
        metric=MetricSpec(name="m", kind=kind, description=""),
        shares=(1.0,),
        first=(first, ones),
        second=(second, ones),
        values=(first, second),
        clusters=(np.arange(len(first)) // size).tolist(),
    )


def test_the_power_counts_every_outcome_by_the_test_of_compare() -> None:
    items, difference, apart = 14, 0.3, 0.6
    better, worse = (apart + difference) / 2.0, (apart - difference) / 2.0
    expected = 0.0
    for ahead, behind in itertools.product(range(items + 1), repeat=2):
        if ahead + behind > items:
            continue
        a = np.array([0.0] * ahead + [1.0] * behind + [1.0] * (items - ahead - behind))
        b = np.array([1.0] * ahead + [0.0] * behind + [1.0] * (items - ahead - behind))
        if mcnemar(a, b).p_exact < 0.05:
            ways = math.comb(items, ahead) * math.comb(items - ahead, behind)
            same = (1.0 - apart) ** (items - ahead - behind)
            expected += ways * better**ahead * worse**behind * same
    assert mcnemar_power(items, difference, apart) == pytest.approx(expected)


def test_the_half_width_is_that_of_the_interval_of_run() -> None:
    expected = 0.0
    for right in range(21):
        interval = proportion_interval([1] * right + [0] * (20 - right))
        chance = math.comb(20, right) * 0.1**right * 0.9 ** (20 - right)
        expected += chance * (interval.ci_high - interval.ci_low) / 2.0
    assert wilson_half_width(20, 0.1) == pytest.approx(expected)
    # 2 % right and 5 points wanted: by the root of p (1 - p) / n 31 items, which give 7
    # points.
    plan = needed_as_assumed(Goal("half_width", 0.05, truth=0.02), 31)
    assert plan.clusters == 49
    assert plan.whole_set == pytest.approx(0.068, abs=0.001)


@pytest.mark.parametrize(
    ("limit", "truth"), [(0.8, 0.85), (0.5, 0.6), (0.97, 0.99), (0.05, 0.1)]
)
def test_a_gate_stays_as_likely_to_pass_with_more_items(
    limit: float, truth: float
) -> None:
    needed = needed_as_assumed(Goal("at_least", limit, truth=truth), 10).clusters
    chances = [
        chance_of_go(n, Limit(limit), truth) for n in range(needed - 1, 3 * needed)
    ]
    assert chances[0] < 0.8 <= min(chances[1:])
    mirrored = needed_as_assumed(Goal("at_most", 1.0 - limit, truth=1.0 - truth), 10)
    assert mirrored.clusters == needed


def test_the_smallest_size_is_searched_beyond_the_teeth_of_a_saw() -> None:
    assert fewest(lambda n: n >= 40 or n in (8, 9, 30, 31, 32), teeth=10) == 40
    with pytest.raises(UsageError, match="more than 1,000,000 items would be needed"):
        fewest(lambda n: False, teeth=1)


def test_simulated_and_exact_plans_agree() -> None:
    """Clusters of two items that are alike are worth one item each."""
    # 40 of 200 items are right in the second run alone, 20 in the first alone.
    first = np.repeat([0.0, 1.0, 1.0, 0.0], [40, 20, 80, 60])
    second = np.repeat([1.0, 0.0, 1.0, 0.0], [40, 20, 80, 60])
    alone = needed_from_runs(
        Goal("difference", 0.1), columns(first, second, "proportion")
    )
    pairs = columns(first.repeat(2), second.repeat(2), "proportion", 2)
    drawn = needed_from_runs(Goal("difference", 0.1), pairs)
    assert drawn.clusters == pytest.approx(alone.clusters, rel=0.06)
    assert (drawn.of, alone.of) == (200, 200)
    assert drawn.whole_set == pytest.approx(alone.whole_set, abs=0.06)


def test_a_mean_is_planned_by_its_own_interval() -> None:
    values = np.random.default_rng(4).beta(6.0, 2.0, 150)
    run = columns(values, values, "mean")
    plan = needed_from_runs(Goal("half_width", 0.02), run)
    # 1.96 sd / 0.02, squared, for values that are not skewed much.
    assert plan.clusters == pytest.approx((1.96 * values.std() / 0.02) ** 2, rel=0.05)
    gate = needed_from_runs(Goal("at_least", 0.7, truth=0.75), run)
    population = Population.of_value(run, 0.75)
    assert population is not None
    assert population.risk(Limit(0.7), 2000, gate.clusters).share == pytest.approx(
        0.8, abs=0.03
    )


def test_every_drawn_pair_of_runs_is_compared_as_if_it_were_the_only_one() -> None:
    generator = np.random.default_rng(5)
    first, second = generator.integers(0, 2, (2, 40)).astype(float)
    population = Population.as_drawn(
        columns(first, second, "proportion"), of_pairs=True
    )
    seen = set()
    # Of 4 kinds of items, 6 items can be drawn in 84 ways: many of 60 draws are alike.
    for _ in range(60):
        drawn = population.drawn(6, generator)
        a, b = first[drawn], second[drawn]
        sides = [a, np.ones(6)], [b, np.ones(6)]
        alone = paired_bootstrap_statistic(*sides, quotient, resamples=400)
        assert population.compared(drawn) == alone
        seen.add(tuple(sorted(zip(a, b, strict=True))))
    assert 10 < len(seen) < 55


def test_goals_that_past_runs_cannot_answer_are_refused() -> None:
    alike = np.array([1.0, 0.0] * 20)
    with pytest.raises(UsageError, match=r"differ on 0\.0% of the items"):
        needed_from_runs(Goal("difference", 0.1), columns(alike, alike, "proportion"))
    with pytest.raises(
        UsageError, match="no mix of the past runs' items has a true difference of 0:"
    ):
        needed_from_runs(Goal("margin", 0.1), columns(alike, alike, "proportion"))
    share = np.full(20, 0.6)
    with pytest.raises(UsageError, match=r"a true value of 0\.8:"):
        needed_from_runs(
            Goal("at_least", 0.7, truth=0.8), columns(share, share, "mean")
        )
    assert math.isfinite(
        needed_from_runs(
            Goal("half_width", 0.1), columns(share, share, "mean")
        ).whole_set
    )
