"""Combines several answers to each item (`run --repeats`) into scores and a metric's figure.

Example:
    Two items were answered three times, with these outcomes:

    | item | run 1 | run 2 | run 3 | mean |
    |---|---|---|---|---|
    | a | 1 | 1 | 0 | 0.667 |
    | b | 0 | 0 | 0 | 0 |

    The value is the mean of the runs, (0.5 + 0.5 + 0) / 3 = 0.333, and its bounds are the means of
    the runs' bounds. Its interval is that of six answers in two clusters, the items, widened by how
    much whole runs differ. One of two items has the same outcome in all runs: the stability is 0.5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from medical_tasks.runs.estimation import Estimator
from medical_tasks.runs.results import (
    BOUNDS,
    Figure,
    JsonDict,
    unanswered_value,
)
from medical_tasks.scoring.averages import components, sums
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.spec import UNANSWERED, Item, ItemScore, MetricSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.scoring.bootstrap import Repeats

Scores = Mapping[str, ItemScore]
"""Scores by item id."""
ALIKE: Final = 1e-9
"""Values this close are one outcome."""
Source = Literal["repeats", "evaluations"]
"""Why an item has several scores: the model was asked again, or the judge decided again."""


def over_repeats(
    task: TaskSpec, repeats: Sequence[Scores], unanswered: Sequence[Mapping[str, str]]
) -> Scores:
    """Averages each item over the repeats that decide it, weighted by the denominators.

    An item is unscored or unclear if one of its repeats is. Bounds are computed from the
    repeats themselves. A single repeat is returned unchanged.

    Args:
        task: the task with the metrics that are reported.
        repeats: the scores of each repeat.
        unanswered: why items have no answer, in each repeat.
    """
    if len(repeats) == 1:
        return repeats[0]

    lacking = {
        item: UNANSWERED + reason
        for reasons in unanswered
        for item, reason in reasons.items()
    }
    return {
        item: _mean_score(
            task,
            [repeat[item] for repeat in repeats if item in repeat],
            lacking.get(item),
        )
        for item in dict.fromkeys(item for scores in repeats for item in scores)
    }


def _mean_score(
    task: TaskSpec, scores: Sequence[ItemScore], lacking: str | None
) -> ItemScore:
    """Averages an item's scores; `lacking` is why a repeat has none."""
    values: dict[str, float] = {}
    weights: dict[str, float] = {}
    for metric in task.metrics:
        mean = _mean(metric.name, scores)
        if mean is not None:
            values[metric.name], weights[metric.name] = mean

    return replace(
        scores[0],
        values=values,
        weights=weights,
        unscored=lacking
        or next((score.unscored for score in scores if score.unscored), None),
        unclear=next((score.unclear for score in scores if score.unclear), ""),
        limits={},
        counts={},
    )


def _mean(metric: str, scores: Sequence[ItemScore]) -> tuple[float, float] | None:
    """Averages a metric over an item's scores; returns the mean and the mean denominator.

    None if no score decides the metric.

    Example: 1 of 2 claims hold in one repeat, 3 of 4 in another. The mean is 4/6, and
        its denominator 3.
    """
    decided = [
        (score.values[metric], score.weights.get(metric, 1.0))
        for score in scores
        if metric in score.values
    ]
    counted = [
        cell for cell in decided if cell[1] and not math.isnan(cell[0])
    ] or decided[:1]
    if not counted:
        return None

    of = math.fsum(weight for _, weight in counted)
    total = math.fsum(value * weight for value, weight in counted)
    return total / of if of else counted[0][0], of / len(counted)


def _widen(
    figure: Figure, value: float, margin: float, limits: tuple[float, float]
) -> None:
    """Sets a figure to the mean of runs, with its interval widened by how much runs differ.

    Example: an end 0.3 away and a margin of 0.4 give an end 0.5 away.
    """
    middle, low, high = figure["value"], figure["ci_low"], figure["ci_high"]
    figure["value"] = value
    if low is not None:
        figure["ci_low"] = max(value - math.hypot(low - middle, margin), limits[0])
    if high is not None:
        figure["ci_high"] = min(value + math.hypot(high - middle, margin), limits[1])


def _set_bounds(figure: Figure, repeats: Sequence[Figure]) -> None:
    """Sets a figure's bounds to the means of the repeats' bounds."""
    for name in BOUNDS:
        bounds = [repeat[name] for repeat in repeats]
        figure[name] = None if None in bounds else fmean(bounds)


def _set_counts(figure: Figure, scored: int, items: int, estimated: int) -> None:
    """Sets the numbers of decided and estimated items, unless they are all and none."""
    figure["scored"], figure["estimated"] = scored, estimated
    if scored == items:
        del figure["scored"]
    if not estimated:
        del figure["estimated"]


class RepeatedEstimator(Estimator):
    """Estimates a task whose items were answered, or whose answers were judged, several times.

    A figure's value is the mean of the values that the repeats give, so that a pooled metric
    (`ratio`) is computed within each repeat. Its interval is that of all answers together,
    where the answers to an item count as one item or one cluster: repeats make the items no
    more numerous. Between repeats of a model it is widened by how much whole runs differ,
    since one run may shift all items at once.
    """

    def __init__(
        self,
        task: TaskSpec,
        scores: Scores,
        repeats: Sequence[Scores],
        votes: Sequence[Sequence[Scores]],
        source: Source = "repeats",
        **settings: Any,
    ) -> None:
        """Prepares the estimates of each repeat, and of all together.

        Args:
            task: the task with the metrics that are reported.
            scores: the scores of all repeats together, from `over_repeats`.
            repeats: the scores of each repeat.
            votes: the scores by each vote of each repeat, for a judge with several votes.
            source: what the repeats are. A metric that no judge decides is the same in all
                evaluations; its figure is that of the first.
            settings: further arguments of `Estimator`.
        """
        # An item that is right in some of the repeats is a mean.
        metrics = tuple(
            replace(metric, kind="mean") if metric.kind == "proportion" else metric
            for metric in task.metrics
        )
        super().__init__(replace(task, metrics=metrics), scores, **settings)
        self._estimators = [Estimator(task, repeat, **settings) for repeat in repeats]
        self._repeats, self._votes, self._source = repeats, votes, source

    def entry(self, metric: MetricSpec, items: Sequence[Item]) -> Figure:
        """Computes a metric's figure: the mean over repeats, the interval of all answers.

        An official figure that one repeat lacks has no value, like that of the repeat. Any other
        is the mean over the repeats that have one.
        """
        if self._source == "evaluations" and not metric.judged:
            return self._estimators[0].entry(metric, items)

        figures = [estimator.entry(metric, items) for estimator in self._estimators]
        values = [figure["value"] for figure in figures]
        valued = [figure for figure in figures if figure["value"] is not None]
        repeats: JsonDict = {"k": len(figures), "values": values}
        if len(valued) < len(figures) and (metric.official or not valued):
            figure = figures[values.index(None)]
            figure[self._source] = repeats
            return figure

        figure = self._together(metric, items)
        if figure["value"] is None:
            # No repeat decides an item whole: take the interval of one repeat, with its estimates.
            figure = valued[0].copy()

        decided, stability, spread = self._split(metric, items, [self._repeats])
        by_votes = self._split(metric, items, self._votes)[2] if self._votes else spread
        value = fmean(repeat_figure["value"] for repeat_figure in valued)
        # A judge's votes are independent, so evaluations have no error in common; whole runs
        # of a model may.
        margin = spread.margin if self._source == "repeats" else 0.0
        _widen(figure, value, margin, metric.limits)
        _set_bounds(figure, figures)
        estimated = max(repeat_figure.get("estimated", 0) for repeat_figure in figures)
        _set_counts(figure, decided, len(items), estimated)
        figure[self._source] = {**repeats, **self._spread_json(by_votes, stability)}

        return figure

    def _spread_json(self, spread: Repeats, stability: float) -> JsonDict:
        """Returns how answers vary: between items, from run to run, and between votes."""
        numbers = {
            "sd_items": spread.sd_items,
            "sd_run": spread.sd_run,
            "stability": stability,
        }
        numbers |= {"sd_judge": spread.sd_judge} if self._votes else {}

        return {
            name: None if math.isnan(number) else number
            for name, number in numbers.items()
        }

    def _together(self, metric: MetricSpec, items: Sequence[Item]) -> Figure:
        """Computes the figure over all answers, those to one item being a cluster."""
        figure = super().entry(self._reported[metric.name], items)
        if figure["value"] is None or metric.kind != "proportion":
            return figure

        cells = [
            (
                item.cluster if self._task.cluster else item.id,
                scores[item.id].values[metric.name],
            )
            for item in items
            for scores in self._repeats
            if item.id in scores and metric.name in scores[item.id].values
        ]
        labels, right = zip(*cells, strict=True)
        interval = asdict(proportion_interval(right, clusters=labels))
        for name in ("value", "ci_low", "ci_high"):
            figure[name] = interval[name]

        return figure

    def _split(
        self,
        metric: MetricSpec,
        items: Sequence[Item],
        votes: Sequence[Sequence[Scores]],
    ) -> tuple[int, float, Repeats]:
        """Measures how stable the answers to an item are.

        Returns:
            How many items all repeats decide, the share of these with one value in all
            repeats, and the components of the variance.
        """
        # Slow, and needed for runs with repeats alone.
        from medical_tasks.scoring.bootstrap import Repeats, linear
        from medical_tasks.scoring.bootstrap import repeats as spread_of

        def cell(metric: MetricSpec, score: ItemScore | None) -> tuple[float, float]:
            if score is None:
                return sums(metric, unanswered_value(metric), None)

            return sums(
                metric, score.values.get(metric.name), score.weights.get(metric.name)
            )

        shares = components(self._reported[metric.name], self._reported).shares
        # Numerators and denominators in turn, of shape (items, repeats, votes).
        columns = []
        for name in shares:
            component = self._reported[name]
            cells = [
                [
                    [cell(component, scores.get(item.id)) for scores in vote]
                    for vote in votes
                ]
                for item in items
            ]
            columns += [*np.moveaxis(np.array(cells), -1, 0).swapaxes(2, 3)]

        decided = np.all(
            [np.isfinite(column).all(axis=(1, 2)) for column in columns], axis=0
        )
        counted = decided & np.any(
            [column.any(axis=(1, 2)) for column in columns[1::2]], axis=0
        )
        above, below, *_ = columns = [column[counted] for column in columns]
        clusters = None
        if self._task.cluster:
            clusters = [
                item.cluster for item, kept in zip(items, counted, strict=True) if kept
            ]

        added = linear(
            [*shares.values()], columns, np.ones(above.shape, dtype=np.bool_)
        )
        spread = (
            spread_of(added, clusters=clusters)
            if np.isfinite(added).all()
            else Repeats()
        )
        own = np.where(below, above / np.where(below, below, 1.0), np.inf)
        alike = np.isclose(own, own[:, :1, :1], rtol=0.0, atol=ALIKE).all(axis=(1, 2))
        stability = (
            float(alike.mean())
            if counted.any() and metric.kind != "average"
            else math.nan
        )

        return int(decided.sum()), stability, spread
