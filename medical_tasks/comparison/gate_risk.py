"""How often a gate's GO would be wrong, for runs of this size that stand exactly on the limit.

A run on the limit should pass as often as a fair rule allows, 2.5 % of the time. For
shares of independent items this is computed exactly, over all numbers of right answers.
For everything else it is simulated: the run's own clusters (items, notes, patients) are
drawn again, each with a probability that is raised or lowered by how far it lies above
the limit, so that the drawn runs have the limit for their true value (exponential
tilting; Efron 1981, Can J Stat 9:139), and the share of draws whose interval meets the
rule is counted.

Example:
    Of 100 questions at least 80 % are to be right. A model that is right in exactly 80
    % gets GO when Wilson's interval ends above 0.8, which takes 88 right answers: in
    2.5 % of runs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

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
"""How many items a GO needs where its risk is not exact: fewer stand for too little to draw from."""
_DRAWS: Final = 1000
_DRAWS_OF_PAIRS: Final = 400
_RESAMPLES: Final = 400
_SEED: Final = 0
_STEPS: Final = 200


@dataclass(frozen=True)
class Limit:
    """A limit, which a value must reach, or must not exceed."""

    value: float
    at_most: bool = False

    def met(self, low: float, high: float) -> bool:
        """Whether a whole interval meets it."""
        return high <= self.value if self.at_most else low >= self.value


@dataclass(frozen=True)
class Risk:
    """How often runs on the limit get GO, and whether that was computed or simulated."""

    share: float
    exact: bool

    @property
    def said(self) -> str:
        """The risk in words."""
        how = "" if self.exact else ", simulated"
        return f"a wrong GO in {100 * self.share:.1f} % of runs{how}"


def risk_of_value(columns: Columns, limit: Limit) -> Risk | None:
    """The risk of a limit on a metric's value; None where no run like this stands on the limit."""
    if columns.metric.kind == "proportion" and stands_alone(columns):
        items = int(np.isfinite(np.stack(columns.second)).all(axis=0).sum())
        return Risk(chance_of_go(items, limit, limit.value), exact=True)
    population = Population.of_value(columns, limit.value)
    return None if population is None else population.risk(limit, _DRAWS)


def risk_of_difference(columns: Columns, limit: Limit) -> Risk | None:
    """The risk of a margin between two runs; None where no pair of runs like these stands on it."""
    population = Population.of_difference(columns, limit.value)
    return None if population is None else population.risk(limit, _DRAWS_OF_PAIRS)


def chance_of_go(items: int, limit: Limit, share: float) -> float:
    """The probability that Wilson's interval meets the limit if each item is right with this share.

    Example:
        >>> round(chance_of_go(100, Limit(0.8), 0.8), 3)
        0.025
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
    """What runs are drawn from whose true value, or difference, is known.

    Attributes:
        metric: what is measured.
        shares: of each ratio in it.
        table: the sums of clusters, of shape (columns, clusters); of a pair the first
            run's come first.
        chances: the probability of each cluster.
        distance: what each adds to the distance of the value from the true one.
    """

    metric: MetricSpec
    shares: tuple[float, ...]
    table: Floats
    chances: Floats
    distance: Floats

    @classmethod
    def as_drawn(cls, columns: Columns, *, of_pairs: bool = False) -> Population:
        """Runs, or pairs of runs, as the one at hand."""
        sides = (*columns.first, *columns.second) if of_pairs else columns.second
        table = _cluster_table(sides, columns.clusters)
        alike = np.full(table.shape[1], 1.0 / table.shape[1])
        return cls(
            columns.metric, columns.shares, table, alike, np.zeros(table.shape[1])
        )

    @classmethod
    def of_value(cls, columns: Columns, value: float) -> Population | None:
        """Runs like this one with another true value; None where there are none."""
        return cls.as_drawn(columns).moved_to(value)

    @classmethod
    def of_difference(cls, columns: Columns, difference: float) -> Population | None:
        """Pairs of runs like these with another true difference; None where there are none."""
        return cls.as_drawn(columns, of_pairs=True).moved_to(difference)

    def moved_to(self, value: float) -> Population | None:
        """The same with another true value, or difference of two runs; None where it has none."""
        distance = self._distance(value)
        chances = _tilted(distance, self.chances)
        return (
            None
            if chances is None
            else replace(self, chances=chances, distance=distance)
        )

    def _distance(self, value: float) -> Floats:
        if not self.of_pairs:
            return _added(self.shares, self.table, value)
        first, second = np.split(self.table, 2)
        before = _value(self.shares, first)
        return _added(self.shares, second, before + value) - _added(
            self.shares, first, before
        )

    @property
    def value(self) -> float:
        """The value of the clusters at hand, or the difference of their two runs."""
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
        """The standard deviation of what a cluster adds."""
        return math.sqrt(float(self.chances @ self.distance**2))

    def drawn(self, clusters: int, generator: np.random.Generator) -> Floats:
        """The table of a run, or pair, of so many clusters."""
        return self.table[
            :, generator.choice(len(self.chances), size=clusters, p=self.chances)
        ]

    def compared(self, drawn: Floats) -> Comparison:
        """Two runs as `compare` compares them."""
        ends = self.metric.limits
        first, second = np.split(drawn, 2)
        return paired_bootstrap_statistic(
            list(first),
            list(second),
            average_of(self.shares),
            limits=ends if all(map(math.isfinite, ends)) else None,
            resamples=_RESAMPLES,
        )

    def estimated(self, drawn: Floats) -> Estimate:
        """A run's value with the interval that it is reported with."""
        return average_interval(list(drawn), self.shares, limits=self.metric.limits)

    def meets(self, drawn: Floats, limit: Limit) -> bool:
        """Whether the interval of a run, or of a pair's difference, meets a limit."""
        result = self.compared(drawn) if self.of_pairs else self.estimated(drawn)
        return limit.met(result.ci_low, result.ci_high)

    def risk(self, limit: Limit, draws: int, clusters: int | None = None) -> Risk:
        """How often runs of so many clusters, by default as many as there are, meet the limit."""
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
    """Sums by cluster of the items that have all columns; shape (columns, clusters)."""
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
    """What each cluster adds to the distance of an average of ratios from a target.

    Of one ratio that is `numerator - target * denominator`, but for a factor; of
    several it is so to first order.
    """
    clusters = table.shape[1]
    if not table[1::2].any(axis=1).all():
        return np.full(clusters, np.nan)

    value = _value(shares, table)
    added = linear(shares, list(table), np.ones(clusters, dtype=np.bool_))
    return added - value + (value - target) * _weights(shares, table)


def _value(shares: Sequence[float], table: Floats) -> float:
    """The average of the ratios of the table's sums."""
    return float(average_of(shares)(*table.sum(axis=1)))


def _weights(shares: Sequence[float], table: Floats) -> Floats:
    """How much of the denominators each cluster has; 1 on average, as the shares add up to 1."""
    weights = np.zeros(table.shape[1])
    for share, below in zip(shares, table[1::2], strict=True):
        weights += share * below / below.mean()
    return weights


def _tilted(added: Floats, chances: Floats) -> npt.NDArray[np.float64] | None:
    """The clusters' chances, changed so that the expected distance is 0; None where none are so."""
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
