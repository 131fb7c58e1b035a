"""Computes how often a gate's GO would be wrong, for runs of this size exactly at the limit.

A run at the limit should pass as often as a fair rule allows, 2.5 % of the time. For shares of
independent items this is computed exactly, over all numbers of right answers. For everything
else it is simulated: the run's own clusters (items, notes, patients) are drawn again, each with
a probability that depends on its distance from the limit, so that the true value of the drawn
runs is the limit (exponential tilting; Efron 1981, Can J Stat 9:139). The result is the share
of draws whose interval meets the rule.

Example:
    At least 80 % of 100 questions must be right. A model that is right on exactly 80 % gets GO
    if Wilson's interval starts above 0.8, which takes 88 right answers: in 2.5 % of runs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from medical_tasks.comparison.statistics import Columns
from medical_tasks.scoring.averages import average_of
from medical_tasks.scoring.bootstrap import linear
from medical_tasks.scoring.estimates import (
    Clusters,
    Comparison,
    Estimate,
    Floats,
    cluster_codes,
)
from medical_tasks.scoring.intervals import binomial_tail, wilson_interval
from medical_tasks.scoring.means import average_interval
from medical_tasks.scoring.paired import paired_bootstrap_statistic
from medical_tasks.spec import MetricSpec

__all__ = [
    "FEWEST_SIMULATED",
    "MOST",
    "Chosen",
    "Limit",
    "Population",
    "Risk",
    "chance_of_go",
    "risk_of_difference",
    "risk_of_value",
]

MOST: Final = 0.055
"""The largest share of wrong GOs, at the limit, with which a gate still says GO."""
FEWEST_SIMULATED: Final = 40
"""The fewest items for a GO whose risk is simulated: fewer are too small a population."""
_DRAWS: Final = 1000
_DRAWS_OF_PAIRS: Final = 400
_RESAMPLES: Final = 400
_SEED: Final = 0
_STEPS: Final = 200
_FEW_KINDS: Final = 16

Chosen: TypeAlias = npt.NDArray[np.intp]
"""The indexes of the clusters of a drawn run, or pair."""


@dataclass(frozen=True)
class Limit:
    """A limit that a value must reach, or must not exceed (`at_most`)."""

    value: float
    at_most: bool = False

    def met(self, low: float, high: float) -> bool:
        """Whether a whole interval meets the limit."""
        return high <= self.value if self.at_most else low >= self.value


@dataclass(frozen=True)
class Risk:
    """How often runs whose true value is exactly the limit get GO.

    Attributes:
        share: the share of these runs, about 0.025 if intervals of 95 % hold their level.
        exact: whether it was computed for all possible runs; else it was simulated.
    """

    share: float
    exact: bool

    @property
    def description(self) -> str:
        """The risk in words."""
        how = "" if self.exact else ", simulated"
        return f"a wrong GO in {100 * self.share:.1f} % of runs{how}"


def risk_of_value(columns: Columns, limit: Limit) -> Risk | None:
    """Returns the risk of a limit on a metric's value; None if no run like this has that value."""
    if columns.metric.kind == "proportion" and stands_alone(columns):
        items = int(np.isfinite(np.stack(columns.second)).all(axis=0).sum())
        return Risk(chance_of_go(items, limit, limit.value), exact=True)
    population = Population.of_value(columns, limit.value)
    return None if population is None else population.risk(limit, _DRAWS)


def risk_of_difference(columns: Columns, limit: Limit) -> Risk | None:
    """Returns the risk of a margin between two runs; None if no pair like these has that difference."""
    population = Population.of_difference(columns, limit.value)
    return None if population is None else population.risk(limit, _DRAWS_OF_PAIRS)


def chance_of_go(items: int, limit: Limit, share: float) -> float:
    """Returns the probability that Wilson's interval meets the limit, for a true share.

    Example:
        >>> round(chance_of_go(100, Limit(0.8), 0.8), 3)
        0.025

    Example:
        Of 100 items at least 80 % must be right. A model with a true share of 70 % never
        gets GO, one of 90 % does in 80 % of runs:

        >>> [round(chance_of_go(100, Limit(0.8), share), 2) for share in (0.7, 0.9)]
        [0.0, 0.8]
    """
    if not 0.0 < limit.value < 1.0:
        return 0.0
    if limit.at_most:
        return chance_of_go(items, Limit(1.0 - limit.value), 1.0 - share)

    fewest = bisect_left(
        range(items + 1),
        True,
        key=lambda right: limit.met(*wilson_interval(right, items)),
    )
    return binomial_tail(fewest, items, share)


@dataclass(frozen=True, eq=False)
class Population:
    """The clusters from which runs with a known true value, or difference, are drawn.

    Attributes:
        metric: the metric.
        shares: the weight of each ratio in the metric.
        table: the clusters' sums, of shape (columns, clusters); for a pair the first run's
            columns come first.
        chances: the probability of each cluster.
        distance: each cluster's contribution to the distance from the true value.
    """

    metric: MetricSpec
    shares: tuple[float, ...]
    table: Floats
    chances: Floats
    distance: Floats

    @classmethod
    def as_drawn(cls, columns: Columns, *, of_pairs: bool = False) -> Population:
        """Makes the population of runs, or pairs of runs, like the observed one."""
        sides = (*columns.first, *columns.second) if of_pairs else columns.second
        table = _cluster_table(sides, columns.clusters)
        alike = np.full(table.shape[1], 1.0 / table.shape[1])
        return cls(
            columns.metric, columns.shares, table, alike, np.zeros(table.shape[1])
        )

    @classmethod
    def of_value(cls, columns: Columns, value: float) -> Population | None:
        """Makes a population of similar runs with another true value; None if there is none."""
        return cls.as_drawn(columns).moved_to(value)

    @classmethod
    def of_difference(cls, columns: Columns, difference: float) -> Population | None:
        """Makes a population of similar pairs with another true difference; None if there is none."""
        return cls.as_drawn(columns, of_pairs=True).moved_to(difference)

    def moved_to(self, value: float) -> Population | None:
        """Changes the true value, or difference of two runs; None if it cannot be reached.

        The clusters stay as they are and get other chances. Of four items with three right,
        each has the chance 1/4 and the value is 0.75; for 0.5 the wrong one gets 1/2 and each
        right one 1/6.
        """
        distance = self._distance(value)
        chances = _tilted(distance, self.chances)
        return (
            None
            if chances is None
            else replace(self, chances=chances, distance=distance)
        )

    def _distance(self, value: float) -> Floats:
        """Returns each cluster's contribution to the distance from a value (`_added`).

        For a difference, the second run's target is the first run's value plus it.
        """
        if not self.of_pairs:
            return _added(self.shares, self.table, value)
        first, second = np.split(self.table, 2)
        before = _value(self.shares, first)
        return _added(self.shares, second, before + value) - _added(
            self.shares, first, before
        )

    @property
    def value(self) -> float:
        """The observed value, or the difference of the two observed runs."""
        values = [
            _value(self.shares, side)
            for side in np.split(self.table, 1 + self.of_pairs)
        ]
        return values[-1] - values[0] if self.of_pairs else values[0]

    @property
    def of_pairs(self) -> bool:
        """Whether two runs are drawn together."""
        return len(self.table) > 2 * len(self.shares)

    @property
    def spread(self) -> float:
        """The standard deviation of a cluster's contribution."""
        return math.sqrt(float(self.chances @ self.distance**2))

    def drawn(self, clusters: int, generator: np.random.Generator) -> Chosen:
        """Draws a run, or pair, with this number of clusters."""
        return generator.choice(len(self.chances), size=clusters, p=self.chances)

    def compared(self, drawn: Chosen) -> Comparison:
        """Compares two drawn runs as `compare` does.

        The result does not depend on the order of the clusters, so that runs with as many
        clusters of each kind are compared once, unless there are so many kinds that no two
        runs are alike.
        """
        if self._kinds.max() >= _FEW_KINDS:
            return self._compared_anew(drawn)

        counts = np.bincount(self._kinds[drawn]).tobytes()
        if counts not in self._comparisons:
            self._comparisons[counts] = self._compared_anew(drawn)
        return self._comparisons[counts]

    @cached_property
    def _kinds(self) -> Chosen:
        """The number of each cluster's kind: those with the same sums have the same one."""
        return np.unique(self.table, axis=1, return_inverse=True)[1].reshape(-1)

    @cached_property
    def _comparisons(self) -> dict[bytes, Comparison]:
        """The comparisons of drawn runs, by how many clusters of each kind they have."""
        return {}

    def _compared_anew(self, drawn: Chosen) -> Comparison:
        """Compares two drawn runs."""
        ends = self.metric.limits
        first, second = np.split(self.table[:, drawn], 2)
        return paired_bootstrap_statistic(
            list(first),
            list(second),
            average_of(self.shares),
            limits=ends if all(map(math.isfinite, ends)) else None,
            resamples=_RESAMPLES,
        )

    def estimated(self, drawn: Chosen) -> Estimate:
        """Computes a drawn run's value with the interval that a run reports."""
        columns = list(self.table[:, drawn])
        return average_interval(columns, self.shares, limits=self.metric.limits)

    def meets(self, drawn: Chosen, limit: Limit) -> bool:
        """Whether the interval of a run, or of a pair's difference, meets a limit."""
        result = self.compared(drawn) if self.of_pairs else self.estimated(drawn)
        return limit.met(result.ci_low, result.ci_high)

    def risk(self, limit: Limit, draws: int, clusters: int | None = None) -> Risk:
        """Simulates how often runs of `clusters`, by default as many as observed, meet the limit."""
        generator = np.random.default_rng(_SEED)
        size = clusters or self.table.shape[1]
        met = [self.meets(self.drawn(size, generator), limit) for _ in range(draws)]
        return Risk(float(np.mean(met)), exact=False)


def stands_alone(columns: Columns) -> bool:
    """Whether no two items with a value share a cluster."""
    counted = np.isfinite(np.stack(columns.second)).all(axis=0)
    return bool(
        _cluster_table(columns.second, columns.clusters).shape[1] == counted.sum()
    )


def _cluster_table(columns: Sequence[Floats], clusters: Clusters | None) -> Floats:
    """Sums the items that have all columns by cluster; returns shape (columns, clusters).

    Example:
        Two items of patient p1, one of them right, and one of p2; that of p3 is undecided:

        >>> right = np.array([1.0, 0.0, 1.0, np.nan])
        >>> _cluster_table([right, np.ones(4)], ["p1", "p1", "p2", "p3"]).tolist()
        [[1.0, 1.0], [2.0, 1.0]]
    """
    stacked = np.stack(columns)
    counted = np.asarray(np.isfinite(stacked).all(axis=0))
    if clusters is None:
        return np.asarray(stacked[:, counted])

    codes = np.unique(
        cluster_codes(clusters, len(counted))[counted], return_inverse=True
    )[1]
    return np.stack(
        [np.bincount(codes, weights=column) for column in stacked[:, counted]]
    )


def _added(shares: Sequence[float], table: Floats, target: float) -> Floats:
    """Returns each cluster's contribution to the distance of an average of ratios from a target.

    For one ratio it is `numerator - target * denominator`, up to a factor; for several, the
    first-order approximation.
    """
    clusters = table.shape[1]
    if not table[1::2].any(axis=1).all():
        return np.full(clusters, np.nan)

    value = _value(shares, table)
    added = linear(shares, list(table), np.ones(clusters, dtype=np.bool_))
    return added - value + (value - target) * _weights(shares, table)


def _value(shares: Sequence[float], table: Floats) -> float:
    """Averages the ratios of the table's sums."""
    return float(average_of(shares)(*table.sum(axis=1)))


def _weights(shares: Sequence[float], table: Floats) -> Floats:
    """Returns each cluster's weight in the denominators; 1 on average, as the shares add up to 1."""
    weights = np.zeros(table.shape[1])
    for share, below in zip(shares, table[1::2], strict=True):
        weights += share * below / below.mean()
    return weights


def _tilted(added: Floats, chances: Floats) -> npt.NDArray[np.float64] | None:
    """Tilts the clusters' chances so that the expected distance is 0; None if that is impossible.

    Cluster i gets a chance proportional to `chances[i] * exp(strength * added[i])`
    (exponential tilting). The expected distance rises with the strength, which is found by
    bisection. It is impossible if all clusters are on one side of the target.

    Example:
        Four items with three right, and a target of 0.5:

        >>> added = np.array([-0.5, 0.5, 0.5, 0.5])
        >>> [round(float(chance), 3) for chance in _tilted(added, np.full(4, 0.25))]
        [0.5, 0.167, 0.167, 0.167]
    """
    if (
        not added.size
        or not np.isfinite(added).all()
        or not added.min() < 0.0 < added.max()
    ):
        return None

    scaled = added / np.abs(added).max()

    def tilted(strength: float) -> Floats:
        exponents = strength * scaled
        odds = chances * np.exp(exponents - exponents.max())
        return np.asarray(odds / odds.sum())

    low, high = -1.0, 1.0
    while tilted(low) @ scaled > 0.0 and low > -1e6:
        low *= 2.0

    while tilted(high) @ scaled < 0.0 and high < 1e6:
        high *= 2.0

    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if tilted(middle) @ scaled < 0.0 else (low, middle)

    return tilted((low + high) / 2.0)
