"""How often a gate's GO would be wrong: for runs as large as this one that stand exactly on the limit.

A run on the limit should pass as often as a fair rule allows, 2.5 % of the time. For shares of
independent items this is computed exactly, over all numbers of right answers. For everything else
it is simulated: the run's own clusters (items, notes, patients) are drawn again, each with a
probability that is raised or lowered by how far it lies above the limit, so that the drawn runs
have the limit for their true value (exponential tilting; Efron 1981, Can J Stat 9:139), and the
share of draws whose interval meets the rule is counted.

Example:
    Of 100 questions at least 80 % are to be right. A model that is right in exactly 80 % gets GO
    when Wilson's interval ends above 0.8, which takes 88 right answers: in 2.5 % of runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from medical_tasks.comparison.statistics import Columns
from medical_tasks.scoring.averages import average_of
from medical_tasks.scoring.estimates import Floats, cluster_codes
from medical_tasks.scoring.intervals import wilson_interval
from medical_tasks.scoring.means import average_interval
from medical_tasks.scoring.paired import paired_bootstrap_statistic

__all__ = ["FEWEST_SIMULATED", "MOST", "Limit", "Risk", "risk_of_difference", "risk_of_value"]

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
    table = _cluster_table(columns.second, columns.clusters)
    alone = table.shape[1] == int(np.isfinite(np.stack(columns.second)).all(axis=0).sum())
    if columns.metric.kind == "proportion" and alone:
        return Risk(_exact_share(table.shape[1], limit), exact=True)
    added = _added(columns.shares, table, limit.value)
    chances = _tilted(added)
    if chances is None:
        return None
    met = []
    for drawn in _draws(table, chances, _DRAWS):
        found = average_interval(list(drawn), columns.shares, limits=columns.metric.limits)
        met.append(limit.met(found.ci_low, found.ci_high))
    return Risk(float(np.mean(met)), exact=False)


def risk_of_difference(columns: Columns, limit: Limit) -> Risk | None:
    """The risk of a margin between two runs; None where no pair of runs like these stands on it."""
    width = len(columns.first)
    table = _cluster_table((*columns.first, *columns.second), columns.clusters)
    first, second = table[:width], table[width:]
    before = _value(columns.shares, first)
    added = _added(columns.shares, second, before + limit.value)
    chances = _tilted(added - _added(columns.shares, first, before))
    if chances is None:
        return None
    ends = columns.metric.limits
    settings: dict[str, Any] = {
        "limits": ends if all(map(math.isfinite, ends)) else None,
        "resamples": _RESAMPLES,
    }
    statistic = average_of(columns.shares)
    met = []
    for drawn in _draws(table, chances, _DRAWS_OF_PAIRS):
        found = paired_bootstrap_statistic(
            list(drawn[:width]), list(drawn[width:]), statistic, **settings
        )
        met.append(limit.met(found.ci_low, found.ci_high))
    return Risk(float(np.mean(met)), exact=False)


def _exact_share(items: int, limit: Limit) -> float:
    """The probability that Wilson's interval meets the limit if each item is right with it."""
    p = limit.value
    if not 0.0 < p < 1.0:
        return 0.0
    total = 0.0
    for right in range(items + 1):
        if limit.met(*wilson_interval(right, items)):
            ways = math.lgamma(items + 1) - math.lgamma(right + 1) - math.lgamma(items - right + 1)
            total += math.exp(ways + right * math.log(p) + (items - right) * math.log1p(-p))
    return min(total, 1.0)


def _cluster_table(columns: Any, clusters: Any) -> Floats:
    """Sums by cluster of the items that have all columns; shape (columns, clusters)."""
    stacked = np.stack(columns)
    known = np.isfinite(stacked).all(axis=0)
    if clusters is None:
        return np.asarray(stacked[:, known])
    codes = np.unique(cluster_codes(clusters, len(known))[known], return_inverse=True)[1]
    return np.stack([np.bincount(codes, weights=column) for column in stacked[:, known]])


def _added(shares: Sequence[float], table: Floats, target: float) -> Floats:
    """What each cluster adds to the distance of an average of ratios from a target.

    Of one ratio that is `numerator - target * denominator`, but for a factor; of several it is so
    to first order.
    """
    distance = np.zeros(table.shape[1])
    for place, share in enumerate(shares):
        above, below = table[2 * place], table[2 * place + 1]
        if not below.any():
            return np.full(table.shape[1], np.nan)
        ratio = above.sum() / below.sum()
        distance += share * (above - ratio * below) / below.mean()
    return distance + (_value(shares, table) - target) * _weights(shares, table)


def _value(shares: Sequence[float], table: Floats) -> float:
    """The average of the ratios of the table's sums."""
    return float(average_of(shares)(*table.sum(axis=1)))


def _weights(shares: Sequence[float], table: Floats) -> Floats:
    """How much of the denominators each cluster has; 1 on average, as the shares add up to 1."""
    weights = np.zeros(table.shape[1])
    for share, below in zip(shares, table[1::2], strict=True):
        weights += share * below / below.mean()
    return weights


def _tilted(added: Floats) -> npt.NDArray[np.float64] | None:
    """Probabilities of the clusters for which the expected distance is 0; None where there are none."""
    if not added.size or not np.isfinite(added).all() or not added.min() < 0.0 < added.max():
        return None
    scaled = added / np.abs(added).max()

    def chances(strength: float) -> Floats:
        exponents = strength * scaled
        odds = np.exp(exponents - exponents.max())
        return np.asarray(odds / odds.sum())

    low, high = -1.0, 1.0
    while chances(low) @ scaled > 0.0 and low > -1e6:
        low *= 2.0
    while chances(high) @ scaled < 0.0 and high < 1e6:
        high *= 2.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if chances(middle) @ scaled < 0.0 else (low, middle)
    return chances((low + high) / 2.0)


def _draws(table: Floats, chances: Floats, draws: int) -> Iterator[Floats]:
    """Tables of as many clusters, drawn with these probabilities."""
    generator = np.random.default_rng(_SEED)
    clusters = table.shape[1]
    for _ in range(draws):
        yield table[:, generator.choice(clusters, size=clusters, p=chances)]
