"""Do 95 % intervals hold the truth in 95 % of simulated samples? Seeded, so the shares are the same on every run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.means import (
    mean_interval,
    proportion_interval,
    ratio_interval,
)

SIMULATIONS = 1000
Interval = Callable[..., Estimate]
INTERVALS: list[Interval] = [proportion_interval, mean_interval]


def coverage(
    interval: Interval, truth: float, *, correlation: float, told: bool
) -> float:
    """Share of samples whose interval holds the truth: 40 clusters of 1 to 9 items, right with the cluster's chance."""
    generator = np.random.default_rng(77)
    held = 0
    for _ in range(SIMULATIONS):
        members = generator.integers(1, 10, 40)
        chance = np.full(40, truth)
        if correlation:
            strength = (1 - correlation) / correlation
            chance = generator.beta(truth * strength, (1 - truth) * strength, 40)
        clusters = np.repeat(np.arange(40), members)
        values = (generator.random(len(clusters)) < chance[clusters]).astype(float)
        estimate = interval(values, clusters=clusters.tolist() if told else None)
        held += estimate.ci_low <= truth <= estimate.ci_high
    return held / SIMULATIONS


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("truth", [0.5, 0.7])
def test_clustered_intervals_hold_and_unclustered_ones_do_not(
    interval: Interval, truth: float
) -> None:
    assert 0.93 <= coverage(interval, truth, correlation=0.4, told=True) <= 0.975
    assert coverage(interval, truth, correlation=0.4, told=False) < 0.85


@pytest.mark.parametrize("interval", INTERVALS)
def test_independent_items(interval: Interval) -> None:
    assert 0.93 <= coverage(interval, 0.6, correlation=0.0, told=False) <= 0.97
    # Clusters that do not matter cost little.
    assert 0.93 <= coverage(interval, 0.6, correlation=0.0, told=True) <= 0.98


def test_pooled_ratio() -> None:
    # Micro-precision: an item's chance and its number of predictions go together, so
    # the pooled value is not the mean.
    generator = np.random.default_rng(5)
    chances, sizes = np.array([0.3, 0.8]), np.array([2, 8])
    truth = float((chances * sizes).sum() / sizes.sum())
    held = 0
    for _ in range(SIMULATIONS):
        kind = generator.integers(0, 2, 60)
        estimate = ratio_interval(
            generator.binomial(sizes[kind], chances[kind]), sizes[kind]
        )
        held += estimate.ci_low <= truth <= estimate.ci_high
    assert 0.93 <= held / SIMULATIONS <= 0.97
