"""How many items an interval, a test or a gate needs, by what `run`, `compare` and `gate` compute.

For items that are right or wrong and stand alone, everything but a margin is computed
exactly, by summing over all numbers of right answers, or of items on which two models
differ. Such a chance rises in teeth, since only whole numbers of items can be right:
what is given is the number from which on it stays at least `POWER`. For everything else
runs are drawn from the clusters of past ones, as `gate_risk` does, and tested; a probit
line through all draws says how many are needed.

Example:
    Exact McNemar tests two models that agree on 70 % of the items and differ by five
    points:

    >>> needed_as_assumed(Goal("difference", 0.05, apart=0.3), whole=500).clusters
    975
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Final, Literal

import numpy as np

from medical_tasks.comparison.compared import Compared, rows_by_task, shared_rows
from medical_tasks.comparison.gate_risk import (
    FEWEST_SIMULATED,
    MOST,
    Limit,
    Population,
    chance_of_go,
    stands_alone,
)
from medical_tasks.comparison.statistics import Columns, columns_of
from medical_tasks.data.task_data import TaskData, asked_part, draw
from medical_tasks.errors import UsageError
from medical_tasks.runs.numbers import FEWEST
from medical_tasks.runs.recipes import mapping
from medical_tasks.scoring.estimates import Floats
from medical_tasks.scoring.finite import strata_of, whole_set_estimate
from medical_tasks.scoring.intervals import (
    binomial_tail,
    normal_cdf,
    normal_quantile,
    wilson_interval,
)
from medical_tasks.scoring.paired import ALPHA, POWER, sign_flip_p_values
from medical_tasks.spec import Item, MetricSpec, TaskSpec

__all__ = [
    "Goal",
    "Kind",
    "Needed",
    "fewest",
    "mcnemar_power",
    "needed_as_assumed",
    "needed_from_runs",
    "planted_columns",
    "runs_columns",
    "sample_needed",
    "wilson_half_width",
]

Kind = Literal["half_width", "difference", "at_least", "at_most", "margin"]

_TRUE: Final[Mapping[Kind, str]] = {
    "difference": "difference",
    "margin": "difference",
    "at_least": "value",
    "at_most": "value",
}
MOST_ITEMS: Final = 1_000_000
_TOO_MANY: Final = (
    f"more than {MOST_ITEMS:,} items would be needed. Plan for a larger difference or width, or a "
    "true value further from the limit."
)
_WIDTHS: Final = 60
"""Runs of one size, whose widths are averaged."""
_SAMPLES: Final = 20
"""Samples of one size, whose widths are averaged."""
_ROUNDS: Final = 8
_DRAWS: Final = 4000
_DRAWS_OF_PAIRS: Final = 2000
_RISKS: Final = 400
_SEED: Final = 0
_ERROR: Final = 0.005
"""The standard error of the chance at a number found by draws, which is aimed above the one wanted."""
_FAR: Final = 5.5
"""Standard deviations beyond which a binomial count is left out."""


@dataclass(frozen=True)
class Goal:
    """What is wanted, and of which models.

    Attributes:
        kind: an interval's `half_width`; a `difference` that `compare` finds; a gate's
            rule (`at_least`, `at_most`, `margin`) that says GO.
        value: the width, difference, limit or margin.
        truth: the true value of the model; None where a past run has it, or it does not
            matter.
        apart: the share of items on which two models differ; None as `truth`.
    """

    kind: Kind
    value: float
    truth: float | None = None
    apart: float | None = None

    @property
    def limit(self) -> Limit:
        """A gate's limit, on the difference for a margin."""
        value = -self.value if self.kind == "margin" else self.value
        return Limit(value, at_most=self.kind == "at_most")


@dataclass(frozen=True)
class Needed:
    """How many clusters (items that stand alone, notes, patients) are needed.

    Attributes:
        clusters: from how many on the half-width, or the chance, is as wanted.
        of: how many the set has.
        whole_set: the half-width, or the chance, that all of them give.
    """

    clusters: int
    of: int
    whole_set: float


def needed_as_assumed(goal: Goal, whole: int) -> Needed:
    """The number of items that a goal needs, each right or wrong by itself, and what `whole` give."""
    truth, apart = goal.truth, goal.apart
    if goal.kind == "half_width" and truth is not None:
        clusters = fewest(lambda n: wilson_half_width(n, truth) <= goal.value, teeth=1)
        return Needed(clusters, whole, wilson_half_width(whole, truth))

    if goal.kind == "difference" and apart is not None:

        def power(items: int) -> float:
            return mcnemar_power(items, goal.value, apart)

        return Needed(
            fewest(lambda n: power(n) >= POWER, teeth=math.ceil(2.0 / apart)),
            whole,
            power(whole),
        )

    if goal.kind == "margin" and apart is not None:
        return _simulated(goal, _planted(apart), whole, items=whole)

    if truth is None:
        raise ValueError(
            f"{goal.kind} needs a true value, or the share on which models differ"
        )

    def chance(items: int) -> float:
        risk = chance_of_go(items, goal.limit, goal.value)
        refused = items < FEWEST or risk > MOST
        return 0.0 if refused else chance_of_go(items, goal.limit, truth)

    teeth = math.ceil(1.0 / min(goal.value, 1.0 - goal.value))
    return Needed(
        fewest(lambda n: chance(n) >= POWER, teeth=teeth), whole, chance(whole)
    )


def needed_from_runs(goal: Goal, columns: Columns) -> Needed:
    """The number of clusters that a goal needs by past runs: one, or for two models a pair.

    Raises:
        UsageError: nothing varies on the runs' items, or no runs like these have the
            true value.
    """
    counted = np.isfinite(np.stack([*columns.first, *columns.second])).all(axis=0)
    if (
        columns.metric.kind == "proportion"
        and stands_alone(columns)
        and goal.kind != "margin"
    ):
        first, second = columns.first[0][counted], columns.second[0][counted]
        apart = float(np.mean(first != second))
        truth = float(second.mean()) if goal.truth is None else goal.truth
        if goal.kind == "difference" and apart < goal.value:
            raise UsageError(
                f"the two runs differ on {apart:.1%} of the items, so that a difference of "
                f"{goal.value:.1%} is not one of such models. Give --agreement in place of --run."
            )

        return needed_as_assumed(
            replace(goal, truth=truth, apart=apart), int(counted.sum())
        )

    if goal.kind == "half_width":
        return _narrow(goal, columns)

    population = _population(goal, columns)
    if population is None:
        wanted = {"difference": goal.value, "margin": 0.0}.get(goal.kind, goal.truth)
        raise UsageError(
            f"no mix of the past runs' items has a true {_TRUE[goal.kind]} of {wanted:g}: it is "
            "outside the range of those runs, or all their items are alike. Give other runs, or "
            "assume a value."
        )

    return _simulated(
        goal, population, population.table.shape[1], items=int(counted.sum())
    )


def runs_columns(
    task: TaskSpec, metric: MetricSpec, runs: tuple[Compared, Compared]
) -> tuple[TaskData, Columns]:
    """A metric's columns of two past runs, which may be the same one, and their items.

    Raises:
        UsageError: a run is not of all items, asked each item several times, or lacks
            the metric.
    """
    for run in runs:
        entry = mapping(run.results["tasks"].get(task.name))
        figure = mapping(mapping(entry.get("metrics")).get(metric.name))
        recipe = mapping(entry.get("recipe"))
        several = bool({"repeats", "evaluations"} & recipe.keys())
        lacking = figure.get("ci_low") is None or figure.get("ci_high") is None
        if lacking or any(asked_part(recipe).values()) or several:
            raise UsageError(
                f"{run.label}: is no run of all items of {task.name}, each asked and judged once, with an "
                f"interval of {metric.name}. Give one, or assume something instead of --run."
            )

    first, second = shared_rows(*(rows_by_task(run)[task.name] for run in runs))
    items = [
        Item(
            id=row["id"],
            fields={},
            groups={by: row[f"group_{by}"] for by in task.groups},
            cluster=row["cluster"],
        )
        for row in first
    ]
    reported = {each.name: each for each in task.metrics}
    clusters = [item.cluster for item in items] if task.cluster else None
    columns = columns_of(metric, reported, first, second, clusters)

    return TaskData(items=items, config="", folder=Path(), revision={}), columns


def planted_columns(metric: MetricSpec, items: Sequence[Item], share: float) -> Columns:
    """A run that has such a share of items right, whichever they are."""
    values = np.zeros(len(items))
    values[: round(share * len(items))] = 1.0
    np.random.default_rng(_SEED).shuffle(values)
    side, clusters = (values, np.ones(len(items))), [item.cluster for item in items]

    return Columns(
        metric=metric,
        shares=(1.0,),
        first=side,
        second=side,
        values=(values, values),
        clusters=clusters,
    )


def sample_needed(
    task: TaskSpec, data: TaskData, columns: Columns, half_width: float
) -> int:
    """How many items `run --subset` must draw to know the score on all of a set so well."""
    positions = {item.id: number for number, item in enumerate(data.items)}
    alone = columns if task.drawn_whole else replace(columns, clusters=None)

    def width(size: int, seed: int) -> float:
        """Half the interval's width of one sample, drawn as `run --subset` draws it."""
        sample = draw(task, data, (size, seed))
        drawn = alone.part(np.array([positions[item.id] for item in sample.items]))
        strata, units = strata_of(task, sample.items, sample.subset or {})
        estimate = whole_set_estimate(
            drawn.second,
            drawn.shares,
            strata,
            units,
            clusters=drawn.clusters,
            limits=columns.metric.limits,
            proportion=columns.metric.kind == "proportion",
        )

        return (estimate.ci_high - estimate.ci_low) / 2.0

    sizes = range(min(2, len(data.items)), len(data.items))

    return sizes.start + bisect_left(
        sizes,
        True,
        key=lambda size: (
            fmean(width(size, seed) for seed in range(_SAMPLES)) <= half_width
        ),
    )


def wilson_half_width(items: int, share: float) -> float:
    """The expected half-width of Wilson's interval.

    Example: a model that is right on 80 % of 100 items has an interval of about ±7.7
        points.
    """
    total = 0.0
    for right, chance in _binomial(items, share):
        low, high = wilson_interval(right, items)
        total += chance * (high - low) / 2.0
    return total


def mcnemar_power(items: int, difference: float, apart: float) -> float:
    """The probability that McNemar's exact test finds a difference, by its two-sided 5 %.

    Args:
        items: that stand alone.
        difference: of the two shares of right items.
        apart: the share of items that one model has right and the other wrong.

    Example:
        Two models differ on 30 % of the items and by five points. 500 items show it
        half of the time, 975 four times in five:

        >>> [round(mcnemar_power(items, 0.05, 0.3), 2) for items in (500, 975)]
        [0.5, 0.8]
    """
    better = (apart + difference) / (2.0 * apart)
    return math.fsum(
        chance * _found(discordant, better)
        for discordant, chance in _binomial(items, apart)
    )


def fewest(enough: Callable[[int], bool], *, teeth: int) -> int:
    """The number of items from which on there are enough.

    Args:
        enough: whether so many are; yes for all large numbers, in teeth before them.
        teeth: how many items a tooth is wide, at most. The number is sought upwards
            from one that is enough, until five teeth in a row are.
    """
    high = 2
    while not enough(high):
        if high > MOST_ITEMS:
            raise UsageError(_TOO_MANY)

        high *= 2

    first = bisect_left(range(high), True, lo=max(1, high // 2), key=enough)
    number = first
    while number < first + 5 * max(teeth, 2):
        if not enough(number):
            first = number + 1

        number += 1

    return first


@lru_cache(maxsize=100_000)
def _found(discordant: int, better: float) -> float:
    """The probability that the exact test calls so many discordant items a difference.

    It does where one model wins so many of them that as many coins fall so in under 2.5
    %.
    """
    half = discordant // 2
    wins = half + bisect_left(
        range(half, discordant + 1),
        True,
        key=lambda number: 2.0 * binomial_tail(number, discordant, 0.5) < ALPHA,
    )

    return binomial_tail(wins, discordant, better) + binomial_tail(
        wins, discordant, 1.0 - better
    )


def _binomial(n: int, p: float) -> list[tuple[int, float]]:
    """The counts that are not all too improbable, with their probabilities."""
    if p in (0.0, 1.0):
        return [(round(n * p), 1.0)]

    reach = _FAR * math.sqrt(n * p * (1.0 - p)) + _FAR
    counts = range(
        max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach)) + 1
    )
    base = math.lgamma(n + 1)

    return [
        (
            k,
            math.exp(
                base
                - math.lgamma(k + 1)
                - math.lgamma(n - k + 1)
                + k * math.log(p)
                + (n - k) * math.log1p(-p)
            ),
        )
        for k in counts
    ]


def _narrow(goal: Goal, columns: Columns) -> Needed:
    """For an interval: runs are drawn from one run as it is."""
    population = Population.as_drawn(columns)
    whole = population.table.shape[1]

    @lru_cache
    def width(clusters: int) -> float:
        generator = np.random.default_rng(_SEED)
        estimates = [
            population.estimated(population.drawn(clusters, generator))
            for _ in range(_WIDTHS)
        ]
        return (
            fmean(
                math.inf
                if math.isnan(each.ci_high - each.ci_low)
                else each.ci_high - each.ci_low
                for each in estimates
            )
            / 2.0
        )

    return Needed(
        fewest(lambda n: width(n) <= goal.value, teeth=1), whole, width(whole)
    )


def _population(goal: Goal, columns: Columns) -> Population | None:
    """Runs like the past ones, for which the goal is to be reached; None where there are none."""
    if goal.kind == "margin":
        return Population.of_difference(columns, 0.0)
    if goal.kind == "difference":
        # In the direction in which the past runs differ.
        observed = Population.as_drawn(columns, of_pairs=True).value
        return Population.of_difference(columns, math.copysign(goal.value, observed))
    return None if goal.truth is None else Population.of_value(columns, goal.truth)


def _planted(apart: float) -> Population:
    """Pairs of models that are right on different items, and on equally many."""
    right = MetricSpec(
        name="right", kind="proportion", description="whether an item is right"
    )
    table = np.array([[1.0, 0.0, 1.0], [1.0] * 3, [0.0, 1.0, 1.0], [1.0] * 3])
    chances = np.array([apart / 2.0, apart / 2.0, 1.0 - apart])
    return Population(right, (1.0,), table, chances, table[2] - table[0])


def _simulated(goal: Goal, population: Population, whole: int, *, items: int) -> Needed:
    """The number of clusters, by draws at sizes ever closer to it; `whole` have so many items."""
    generator = np.random.default_rng(_SEED)

    def chance(clusters: int, draws: int) -> float:
        met = sum(
            _met(goal, population, population.drawn(clusters, generator))
            for _ in range(draws)
        )
        return (met + 0.5) / (draws + 1.0)

    by_bootstrap = population.of_pairs and not _by_signs(goal, population)
    draws = (_DRAWS_OF_PAIRS if by_bootstrap else _DRAWS) // _ROUNDS
    effect = goal.value if goal.truth is None else goal.truth - goal.value
    slope = abs(effect) / population.spread
    tried: dict[int, list[float]] = {}
    for _ in range(_ROUNDS):
        size = _size_at(slope)
        tried.setdefault(size, []).append(chance(size, draws))
        slope = _slope(tried)

    size = _size_at(slope)
    if goal.kind != "difference":
        fewest_clusters = max(FEWEST, math.ceil(FEWEST_SIMULATED * whole / items))
        size = _safe(goal, population, max(size, fewest_clusters))

    return Needed(size, whole, chance(whole, draws))


def _met(goal: Goal, population: Population, drawn: Floats) -> bool:
    """Whether a drawn run, or pair of runs, gives what is wanted."""
    if goal.kind != "difference":
        return population.meets(drawn, goal.limit)
    if _by_signs(goal, population):
        differences = np.rint(drawn[2] - drawn[0]).astype(np.int64)
        return sign_flip_p_values(differences[differences != 0])[0] < ALPHA
    return population.compared(drawn).p_value < ALPHA


def _by_signs(goal: Goal, population: Population) -> bool:
    """Whether `compare` tests by the exact test that exchanges clusters."""
    return goal.kind == "difference" and population.metric.kind == "proportion"


def _size_at(slope: float) -> int:
    """The number of clusters with the chance that is wanted, and the draws' error above it."""
    wanted = normal_quantile(POWER + _ERROR)
    size = ((normal_quantile(1.0 - ALPHA / 2.0) + wanted) / slope) ** 2
    if size > MOST_ITEMS:
        raise UsageError(_TOO_MANY)
    return max(2, math.ceil(size))


def _slope(tried: Mapping[int, Sequence[float]]) -> float:
    """The slope b of the chances, normal_cdf(b sqrt(n) - z), by what was found.

    Those near 1/2 tell most.
    """
    z = normal_quantile(1.0 - ALPHA / 2.0)
    points = [
        (math.sqrt(size), share) for size, shares in tried.items() for share in shares
    ]

    def excess(slope: float) -> float:
        return math.fsum(
            share * (1.0 - share) * (normal_cdf(slope * root - z) - share)
            for root, share in points
        )

    low, high = 0.0, 8.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if excess(middle) < 0.0 else (low, middle)

    return high


def _safe(goal: Goal, population: Population, clusters: int) -> int:
    """As many clusters, or more where a gate of so few would refuse to say GO."""
    on_limit = population.moved_to(goal.limit.value)
    while (
        on_limit is not None
        and on_limit.risk(goal.limit, _RISKS, clusters).share > MOST
    ):
        clusters = math.ceil(1.1 * clusters)
    return clusters
