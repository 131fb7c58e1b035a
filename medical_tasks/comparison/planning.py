"""Computes how many items an interval, a test or a gate needs, as `run`, `compare` and `gate` do.

For independent items that are right or wrong, everything but a margin is computed exactly, by
summing over all numbers of right answers, or of items on which two models differ. Such a chance
rises like a saw's teeth, since only whole numbers of items can be right: the result is the
number from which on it stays at least `POWER`. For everything else, runs are drawn from the
clusters of past ones, as in `gate_risk`, and tested; a probit line through all draws gives the
number needed.

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
    Chosen,
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
"""The number of runs of one size whose widths are averaged."""
_SAMPLES: Final = 20
"""The number of samples of one size whose widths are averaged."""
_ROUNDS: Final = 8
_DRAWS: Final = 4000
_DRAWS_OF_PAIRS: Final = 2000
_RISKS: Final = 400
_SEED: Final = 0
_ERROR: Final = 0.005
"""The standard error of a simulated chance, by which the target is raised."""
_FAR: Final = 5.5
"""The number of standard deviations beyond which a binomial count is left out."""


@dataclass(frozen=True)
class Goal:
    """The goal of a plan, and the assumed models.

    Attributes:
        kind: an interval's `half_width`; a `difference` that `compare` detects; a gate's
            rule (`at_least`, `at_most`, `margin`) that says GO.
        value: the width, difference, limit or margin.
        truth: the true value of the model; None if a past run gives it, or if it does not
            matter.
        apart: the share of items on which two models differ; None as for `truth`.
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
    """How many clusters (independent items, notes, patients) are needed.

    Attributes:
        clusters: the number from which on the half-width, or the chance, reaches the goal.
        of: how many the set has.
        whole_set: the half-width, or the chance, with all of them.
    """

    clusters: int
    of: int
    whole_set: float


def needed_as_assumed(goal: Goal, whole: int) -> Needed:
    """Computes the number of independent items, right or wrong, that a goal needs.

    `whole` is the number of items of the set.

    Example:
        A gate requires 80 %, and the model is right on 85 %. 481 items let it say GO in
        `POWER` of the cases; all 500 do in 83 %:

        >>> needed = needed_as_assumed(Goal("at_least", 0.8, truth=0.85), whole=500)
        >>> needed.clusters, round(needed.whole_set, 2)
        (481, 0.83)
    """
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
    """Computes the number of clusters that a goal needs from past runs: one, or a pair of models.

    Raises:
        UsageError: nothing varies on the runs' items, or no similar runs have the true value.
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
                f"the two runs differ on {apart:.1%} of the items, so such models cannot have a "
                f"difference of {goal.value:.1%}. Give --agreement instead of --run."
            )

        return needed_as_assumed(
            replace(goal, truth=truth, apart=apart), int(counted.sum())
        )

    if goal.kind == "half_width":
        return _needed_for_width(goal, columns)

    population = _population(goal, columns)
    if population is None:
        target = {"difference": goal.value, "margin": 0.0}.get(goal.kind, goal.truth)
        raise UsageError(
            f"no mix of the past runs' items has a true {_TRUE[goal.kind]} of {target:g}: it is "
            "outside the range of those runs, or all their items are alike. Give other runs, or "
            "assume a value."
        )

    return _simulated(
        goal, population, population.table.shape[1], items=int(counted.sum())
    )


def runs_columns(
    task: TaskSpec, metric: MetricSpec, runs: tuple[Compared, Compared]
) -> tuple[TaskData, Columns]:
    """Returns the items of two past runs, which may be the same one, and a metric's columns.

    Raises:
        UsageError: a run is not over all items, asked each item several times, or lacks
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
                f"{run.label}: is not a run of all items of {task.name}, each asked and judged once, "
                f"with an interval of {metric.name}. Give one, or assume a value instead of --run."
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
    reported = {metric_spec.name: metric_spec for metric_spec in task.metrics}
    clusters = [item.cluster for item in items] if task.cluster else None
    columns = columns_of(metric, reported, first, second, clusters)

    return TaskData(items=items, config="", folder=Path(), revision={}), columns


def planted_columns(metric: MetricSpec, items: Sequence[Item], share: float) -> Columns:
    """Makes the columns of a run with this share of items right, chosen at random."""
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
    """Computes how many items `run --subset` must draw for this half-width on the whole set.

    Samples of each size are drawn with the seeds 0 to `_SAMPLES` - 1, so that the plan and
    a later run choose items by the same rule; their half-widths are averaged.

    Args:
        task: the task; it names the strata, and whether clusters are drawn whole.
        data: all items of the split.
        columns: the values of a past or planted run on these items, in the same order.
        half_width: half the largest width of the 95 % interval for the whole set.
    """
    positions = {item.id: number for number, item in enumerate(data.items)}
    alone = columns if task.drawn_whole else replace(columns, clusters=None)

    def width(size: int, seed: int) -> float:
        """Returns half the interval's width for one sample, drawn as by `run --subset`."""
        sample = draw(task, data, (size, seed))
        drawn = alone.of_items(np.array([positions[item.id] for item in sample.items]))
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
    """Returns the expected half-width of Wilson's interval.

    Example: a model that is right on 80 % of 100 items has an interval of about ±7.7
        points.
    """
    total = 0.0
    for right, chance in _binomial(items, share):
        low, high = wilson_interval(right, items)
        total += chance * (high - low) / 2.0
    return total


def mcnemar_power(items: int, difference: float, apart: float) -> float:
    """Returns the probability that McNemar's exact test detects a difference, two-sided at 5 %.

    Args:
        items: the number of independent items.
        difference: the difference between the two shares of right items.
        apart: the share of items on which exactly one model is right.

    Example:
        Two models differ on 30 % of the items and by five points. 500 items show it
        half of the time, 975 four times in five:

        >>> [round(mcnemar_power(items, 0.05, 0.3), 2) for items in (500, 975)]
        [0.5, 0.8]
    """
    better = (apart + difference) / (2.0 * apart)
    return math.fsum(
        chance * _power_given_discordant(discordant, better)
        for discordant, chance in _binomial(items, apart)
    )


def fewest(enough: Callable[[int], bool], *, teeth: int) -> int:
    """Returns the number of items from which on there are enough.

    Args:
        enough: whether a number of items is enough; true for all large numbers, and
            alternating like teeth below them.
        teeth: the largest width of a tooth, in items. The search goes upwards until five
            teeth in a row are enough.

    Example:
        25 and 26 are enough, 27 to 29 are not, and from 30 on all are:

        >>> fewest(lambda n: n >= 30 or n in (25, 26), teeth=5)
        30
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
def _power_given_discordant(discordant: int, better: float) -> float:
    """Returns the probability that the exact test detects a difference on this many discordant items.

    It does if one model wins so many of them that a fair coin would in under 2.5 % of cases.
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
    """Returns the binomial counts within `_FAR` standard deviations, with their probabilities."""
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


def _needed_for_width(goal: Goal, columns: Columns) -> Needed:
    """Computes the clusters for an interval's width, with runs drawn from the observed one."""
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
                if math.isnan(estimate.ci_high - estimate.ci_low)
                else estimate.ci_high - estimate.ci_low
                for estimate in estimates
            )
            / 2.0
        )

    return Needed(
        fewest(lambda n: width(n) <= goal.value, teeth=1), whole, width(whole)
    )


def _population(goal: Goal, columns: Columns) -> Population | None:
    """Makes the population of similar runs with the goal's true value; None if there is none."""
    if goal.kind == "margin":
        return Population.of_difference(columns, 0.0)
    if goal.kind == "difference":
        # In the direction in which the past runs differ.
        observed = Population.as_drawn(columns, of_pairs=True).value
        return Population.of_difference(columns, math.copysign(goal.value, observed))
    return None if goal.truth is None else Population.of_value(columns, goal.truth)


def _planted(apart: float) -> Population:
    """Makes a population of pairs of models that are right on equally many, different items.

    It has three kinds of items: right by the first model alone, by the second alone, and by
    both. Items that both have wrong change no difference either, so that one kind stands
    for all on which the models agree.

    Args:
        apart: the share of items on which exactly one model is right.
    """
    right = MetricSpec(
        name="right", kind="proportion", description="whether an item is right"
    )
    table = np.array([[1.0, 0.0, 1.0], [1.0] * 3, [0.0, 1.0, 1.0], [1.0] * 3])
    chances = np.array([apart / 2.0, apart / 2.0, 1.0 - apart])
    return Population(right, (1.0,), table, chances, table[2] - table[0])


def _simulated(goal: Goal, population: Population, whole: int, *, items: int) -> Needed:
    """Finds the number of clusters by draws at sizes ever closer to it.

    The chance to reach the goal with n clusters is about `normal_cdf(slope * sqrt(n) - z)`.
    The first slope is the effect in standard deviations of a cluster. Each round draws runs
    of the size that the present slope gives, and fits the slope to the draws of all rounds.

    Args:
        goal: the goal.
        population: the clusters to draw from, with the goal's true value.
        whole: the number of clusters of the set.
        items: the number of items in these clusters: a gate needs a minimum of both.
    """
    generator = np.random.default_rng(_SEED)

    def chance(clusters: int, draws: int) -> float:
        met = sum(
            _meets_goal(goal, population, population.drawn(clusters, generator))
            for _ in range(draws)
        )
        return (met + 0.5) / (draws + 1.0)

    by_bootstrap = population.of_pairs and not _by_signs(goal, population)
    draws = (_DRAWS_OF_PAIRS if by_bootstrap else _DRAWS) // _ROUNDS
    effect = goal.value if goal.truth is None else goal.truth - goal.value
    slope = abs(effect) / population.spread
    chances: dict[int, list[float]] = {}
    for _ in range(_ROUNDS):
        size = _size_at(slope)
        chances.setdefault(size, []).append(chance(size, draws))
        slope = _slope(chances)

    size = _size_at(slope)
    if goal.kind != "difference":
        fewest_clusters = max(FEWEST, math.ceil(FEWEST_SIMULATED * whole / items))
        size = _enough_for_gate(goal, population, max(size, fewest_clusters))

    return Needed(size, whole, chance(whole, draws))


def _meets_goal(goal: Goal, population: Population, drawn: Chosen) -> bool:
    """Whether a drawn run, or pair of runs, reaches the goal."""
    if goal.kind != "difference":
        return population.meets(drawn, goal.limit)
    if _by_signs(goal, population):
        first, _, second, _ = population.table[:, drawn]
        differences = np.rint(second - first).astype(np.int64)
        return sign_flip_p_values(differences[differences != 0])[0] < ALPHA
    return population.compared(drawn).p_value < ALPHA


def _by_signs(goal: Goal, population: Population) -> bool:
    """Whether `compare` tests by the exact test that exchanges clusters."""
    return goal.kind == "difference" and population.metric.kind == "proportion"


def _size_at(slope: float) -> int:
    """Returns the number of clusters whose chance is `POWER` plus the draws' error.

    It solves `slope * sqrt(n) - z = q` for n, with the normal quantiles z of the two-sided
    test at `ALPHA` and q of the power.
    """
    quantile = normal_quantile(POWER + _ERROR)
    size = ((normal_quantile(1.0 - ALPHA / 2.0) + quantile) / slope) ** 2
    if size > MOST_ITEMS:
        raise UsageError(_TOO_MANY)
    return max(2, math.ceil(size))


def _slope(chances: Mapping[int, Sequence[float]]) -> float:
    """Fits the slope b of the chances, normal_cdf(b sqrt(n) - z); those near 1/2 weigh most."""
    z = normal_quantile(1.0 - ALPHA / 2.0)
    points = [
        (math.sqrt(size), share) for size, shares in chances.items() for share in shares
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


def _enough_for_gate(goal: Goal, population: Population, clusters: int) -> int:
    """Returns `clusters`, or more if a gate with so few would refuse to say GO."""
    on_limit = population.moved_to(goal.limit.value)
    while (
        on_limit is not None
        and on_limit.risk(goal.limit, _RISKS, clusters).share > MOST
    ):
        clusters = math.ceil(1.1 * clusters)
    return clusters
