"""The coverage of 95 % intervals: the share of simulated samples whose interval holds the truth, with fixed seeds."""

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
    interval: Interval, truth: float, *, correlation: float, clustered: bool
) -> float:
    """Returns the coverage of samples of 40 clusters of 1 to 9 items, which are right with the cluster's chance."""
    generator = np.random.default_rng(77)
    covered = 0
    for _ in range(SIMULATIONS):
        members = generator.integers(1, 10, 40)
        chance = np.full(40, truth)
        if correlation:
            strength = (1 - correlation) / correlation
            chance = generator.beta(truth * strength, (1 - truth) * strength, 40)
        clusters = np.repeat(np.arange(40), members)
        values = (generator.random(len(clusters)) < chance[clusters]).astype(float)
        estimate = interval(values, clusters=clusters.tolist() if clustered else None)
        covered += estimate.ci_low <= truth <= estimate.ci_high
    return covered / SIMULATIONS


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("truth", [0.5, 0.7])
def test_items_of_a_cluster_are_covered_only_with_clusters(
    interval: Interval, truth: float
) -> None:
    assert 0.93 <= coverage(interval, truth, correlation=0.4, clustered=True) <= 0.975
    assert coverage(interval, truth, correlation=0.4, clustered=False) < 0.85


@pytest.mark.parametrize("interval", INTERVALS)
def test_coverage_of_independent_items(interval: Interval) -> None:
    assert 0.93 <= coverage(interval, 0.6, correlation=0.0, clustered=False) <= 0.97
    # Clusters that do not matter cost little.
    assert 0.93 <= coverage(interval, 0.6, correlation=0.0, clustered=True) <= 0.98


def test_coverage_of_a_pooled_ratio() -> None:
    # Micro-precision: an item's chance and its number of predictions go together, so
    # the pooled value is not the mean.
    generator = np.random.default_rng(5)
    chances, sizes = np.array([0.3, 0.8]), np.array([2, 8])
    truth = float((chances * sizes).sum() / sizes.sum())
    covered = 0
    for _ in range(SIMULATIONS):
        kind = generator.integers(0, 2, 60)
        estimate = ratio_interval(
            generator.binomial(sizes[kind], chances[kind]), sizes[kind]
        )
        covered += estimate.ci_low <= truth <= estimate.ci_high
    assert 0.93 <= covered / SIMULATIONS <= 0.97
