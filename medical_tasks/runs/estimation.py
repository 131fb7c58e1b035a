"""Computes a metric's figure from scored items: value, interval and bounds.

For a metric, every item is in one of four states. It is *decided*: it has a value. It has
*nothing to count*: its denominator is 0. It is *open*: verdicts of the judge are missing, or
it has no answer. Or it is *unclear*: the reader could not determine the answer, which counts
as not right but might be right.

Example:
    Three answers have four statements each. According to the judge, 3 of 4 statements of the
    first hold, and 1 of 2 of the second; two verdicts on the second are missing, and all on
    the third.

    - value: the second is estimated by its own verdicts as 0.5, the third by the judged answers'
      mean, (0.75 + 0.5) / 2 = 0.625. The value is (0.75 + 0.5 + 0.625) / 3 = 0.625.
    - bounds: the second lies between 1/4 and 3/4, the third between 0 and 1. So the value lies between
      (0.75 + 0.25 + 0) / 3 = 0.333 and (0.75 + 0.75 + 1) / 3 = 0.833.

docs/adr/0012-missing-verdicts.md explains why missing verdicts are estimated and not left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from medical_tasks.runs.results import (
    BOUNDS,
    ENDS,
    NO_ANSWER,
    NO_COMPONENT,
    NOTHING,
    BoundName,
    Figure,
    Json,
    unanswered_value,
)
from medical_tasks.scoring.averages import Components, Sums, components, in_turns, sums
from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.finite import strata_of, whole_set_estimate, whole_set_shift
from medical_tasks.scoring.means import (
    average_interval,
    mean_interval,
    proportion_interval,
    ratio_interval,
)
from medical_tasks.spec import Counts, Item, ItemScore, MetricSpec, TaskSpec, Verdicts

BOOTSTRAP_SEED: Final = 0
NO_VERDICT: Final = "nothing to estimate from"
NOT_ALL: Final = "needs all its metrics; not reported"
_ABOUT_AS_LONG: Final = 2
"""By how many verdicts answers of similar length may differ."""

Limits = Callable[[Item], Mapping[str, tuple[float, float]]]
"""Returns the limits of each metric on an item without an answer."""


class Estimated(NamedTuple):
    """An estimate for an undecided metric of an answered item.

    Attributes:
        value: the estimated value.
        weight: its denominator, 1 except for a pooled ratio.
        own: whether it rests on verdicts on the item itself.
    """

    value: float
    weight: float
    own: bool


class _Share(NamedTuple):
    """An item's contribution to a metric's numerator and denominator."""

    above: float
    below: float
    cluster: str


class _Open(NamedTuple):
    """The limits of an item's value, and its largest possible denominator, inf if unknown."""

    low: float
    high: float
    weight: float


class Estimator:
    """Computes figures from a task's scores, with estimates for missing verdicts.

    Figures of a group of items use the estimates of the whole task: the verdicts that
    estimate missing ones may come from answers outside the group.
    """

    def __init__(
        self,
        task: TaskSpec,
        scores: Mapping[str, ItemScore],
        *,
        items: int = 0,
        unanswered_limits: Limits | None = None,
    ) -> None:
        """Estimates the missing verdicts.

        Args:
            task: the task with the metrics that are reported.
            scores: the scores of the answered items, by id.
            items: how many items the task has, answered or not.
            unanswered_limits: the metrics' limits on an item without an answer; by default
                the metrics' own.
        """
        self._task, self._scores, self._limits = task, scores, unanswered_limits
        self._reported = {metric.name: metric for metric in task.metrics}
        self._ended = {
            metric.name: _official_end(metric, scores, items) for metric in task.metrics
        }
        self._without_value = {
            metric.name: self._ended[metric.name] or _undecided(metric, scores.values())
            for metric in task.metrics
        }
        self._estimates = {
            metric.name: estimated(metric, scores) if metric.official is None else {}
            for metric in task.metrics
        }
        # Caches the items' contributions, since each item is in the whole and in groups.
        self._plain: dict[str, dict[str, _Share]] = {}

    def item_value(self, metric: MetricSpec, score: ItemScore) -> tuple[float, float]:
        """Returns a metric's value on an item, estimated if undecided, and its denominator.

        The denominator is 1 for a mean. An item without a value has nan and 0.
        """
        if self._without_value[metric.name]:
            return math.nan, 0.0

        if metric.name in score.values:
            value = score.values[metric.name]
            return value, 0.0 if math.isnan(value) else score.weights.get(
                metric.name, 1.0
            )

        estimate = self._estimates[metric.name].get(score.id)
        return (
            (math.nan, 0.0) if estimate is None else (estimate.value, estimate.weight)
        )

    def entry(self, metric: MetricSpec, items: Sequence[Item]) -> Figure:
        """Computes a metric's figure; `reason` says why a number is None."""
        compute = self._average if metric.kind == "average" else self._single
        figure = compute(metric, items)
        if metric.unit:
            figure["unit"] = metric.unit
        return figure

    def of_whole_set(
        self, figure: Figure, metric: MetricSpec, items: Sequence[Item], sampling: Json
    ) -> Figure:
        """Turns a random sample's figure into one of the set that it was drawn from.

        Args:
            figure: the sample's figure; the new figure keeps its numbers as `sample`.
            metric: the metric.
            items: the sample.
            sampling: how the sample was drawn, as in the recipe.
        """
        value = figure["value"]
        if value is None:
            return figure

        shares = components(metric, self._reported).shares
        weights = list(shares.values())
        strata, units = strata_of(self._task, items, sampling)
        clusters = [item.cluster for item in items] if self._task.drawn_whole else None

        def columns(end: int | None = None) -> list[list[float]]:
            metrics = (self._reported[name] for name in shares)
            return in_turns(
                [self._sums(component, item, end) for item in items]
                for component in metrics
            )

        def estimate(columns: Sequence[Sequence[float]]) -> Estimate:
            return whole_set_estimate(
                columns,
                weights,
                strata,
                units,
                clusters=clusters,
                proportion=metric.kind == "proportion",
                limits=self._range(metric, items) or metric.limits,
            )

        counted = columns()
        whole = estimate(counted)
        if math.isnan(whole.value):
            return figure

        whole_figure = figure.copy()
        whole_figure["sample"] = {name: figure[name] for name in ENDS}
        whole_figure["value"] = whole.value
        whole_figure["ci_low"], whole_figure["ci_high"] = (
            _number(whole.ci_low),
            _number(whole.ci_high),
        )
        unclear = any(score.unclear for score in self._scores.values())
        for end, name in enumerate(BOUNDS):
            bound = figure[name]
            if bound is not None:
                decided = columns(end) if unclear else counted
                shift = whole_set_shift(
                    bound - value, end, counted, decided, weights, estimate
                )
                whole_figure[name] = _clip(whole.value + shift, metric.limits)

        whole_figure.pop("std", None)
        return whole_figure

    def _sums(self, metric: MetricSpec, item: Item, end: int | None) -> Sums:
        """Returns an item's contribution to a metric's numerator and denominator, nan if unknown.

        `end` is 0 or 1 for the smallest or largest possible value of an unclear answer, and
        None for the value that it counts as.
        """
        score = self._counted(metric, item)
        if score is None:
            return math.nan, math.nan

        value, weight = self.item_value(metric, score)
        if end is not None and metric.name in score.values:
            value = score.could_be(metric.name)[end]
            weight = weight or score.weight(metric)

        if math.isnan(value):
            return (0.0, 0.0) if metric.name in score.values else (math.nan, math.nan)

        return value * weight, weight

    def _counted(self, metric: MetricSpec, item: Item) -> ItemScore | None:
        """Returns an item's score as a metric counts it; None for an item without an answer."""
        score = self._scores.get(item.id)
        if score is None and self._scores and unanswered_value(metric) is not None:
            return ItemScore(id=item.id, values={metric.name: 0.0})
        return score

    def _range(
        self, metric: MetricSpec, items: Sequence[Item]
    ) -> tuple[float, float] | None:
        """Returns the range of a metric's values, its own or the items' widest; None if infinite."""
        low, high = metric.limits
        if self._limits is not None and items:
            limits = [
                self._limits(item).get(metric.name, metric.limits) for item in items
            ]
            low = (
                min(item_limits[0] for item_limits in limits)
                if math.isinf(low)
                else low
            )
            high = (
                max(item_limits[1] for item_limits in limits)
                if math.isinf(high)
                else high
            )

        return (low, high) if -math.inf < low < high < math.inf else None

    def _single(self, metric: MetricSpec, items: Sequence[Item]) -> Figure:
        """Computes the figure of a metric that is not an average."""
        tally = _Tally(metric, clustered=self._task.cluster is not None)
        shares = self._plain.setdefault(metric.name, {})
        for item in items:
            share = shares.get(item.id)
            if share is not None:
                tally.add_share(share)
            elif (share := self._add(tally, metric, item)) is not None:
                shares[item.id] = share

        answered = [self._scores[item.id] for item in items if item.id in self._scores]
        ended = self._ended[metric.name]
        reason = ended or _undecided(metric, answered) or tally.reason(answered)
        limits = self._range(metric, items)
        figure = tally.without_value(reason) if reason else tally.figure(limits)
        if ended and not metric.judged:
            # The answers themselves end the official script: no verdict could bring a figure.
            figure["bound_low"] = figure["bound_high"] = None

        if unanswered_value(metric) is not None and len(answered) < len(items):
            figure["unanswered"] = len(items) - len(answered)

        return figure

    def _add(self, tally: _Tally, metric: MetricSpec, item: Item) -> _Share | None:
        """Adds an item to a tally: its decided value, or its limits.

        Returns:
            Its contribution if nothing else about the item matters, as for most items.
        """
        score = self._counted(metric, item)
        if score is None:
            item_limits = self._limits(item) if self._limits else {}
            tally.add_open(
                item, _Open(*item_limits.get(metric.name, metric.limits), math.inf)
            )
            return None

        if metric.name in score.values:
            return tally.add(item, score)

        limits = score.limits.get(metric.name, metric.limits)
        opened = _Open(*limits, score.weights.get(metric.name, math.inf))
        tally.add_open(item, opened, self._estimates[metric.name].get(item.id))

        return None

    def _average(self, metric: MetricSpec, items: Sequence[Item]) -> Figure:
        """Averages other metrics' totals, over the items on which all of them are decided."""
        parts = components(metric, self._reported)
        totals = [
            (share, self.entry(self._reported[name], items))
            for name, share in parts.shares.items()
        ]
        answered = [item for item in items if item.id in self._scores]
        lacking = _lacking_component(metric, parts, totals)
        figure: Figure = {"value": None, "ci_low": None, "ci_high": None, "n": 0}
        if parts.shares and not lacking:
            average = self._average_interval(metric, parts, answered)
            figure["value"] = _number(average.value)
            figure["ci_low"], figure["ci_high"] = (
                _number(average.ci_low),
                _number(average.ci_high),
            )
            figure["n"] = average.n

        for name in BOUNDS:
            figure[name] = None if lacking else _average_bound(name, totals)

        scored = (total.get("scored", len(items)) for _, total in totals)
        decided = min([len(answered), *scored])
        if decided < len(items):
            figure["scored"] = decided
        if figure["value"] is None:
            figure["reason"] = lacking or (NO_COMPONENT if answered else NO_ANSWER)

        figure["components"] = list(parts.shares)
        if parts.missing:
            figure["missing_components"], figure["comparable"] = (
                list(parts.missing),
                False,
            )

        clear = all(total["bound_low"] == total["bound_high"] for _, total in totals)
        return _with_consistent_bounds(figure, whole=clear and decided == len(items))

    def _average_interval(
        self, metric: MetricSpec, parts: Components, answered: Sequence[Item]
    ) -> Estimate:
        """Averages some components over answered items, with an interval."""
        scores = [self._scores[item.id] for item in answered]
        columns = in_turns(
            [
                sums(
                    self._reported[name],
                    score.values.get(name),
                    score.weights.get(name),
                )
                for score in scores
            ]
            for name in parts.shares
        )

        return average_interval(
            columns,
            list(parts.shares.values()),
            clusters=[item.cluster for item in answered]
            if self._task.cluster
            else None,
            limits=metric.limits,
        )


def _lacking_component(
    metric: MetricSpec, parts: Components, totals: Sequence[tuple[float, Figure]]
) -> str:
    """Says why an official average has no value: it needs all its metrics."""
    if not metric.official:
        return ""
    reasons = (total["reason"] for _, total in totals if "reason" in total)
    missing = f"{NOT_ALL}: {', '.join(parts.missing)}" if parts.missing else ""
    return next(reasons, "") or missing


def _average_bound(
    name: BoundName, totals: Sequence[tuple[float, Figure]]
) -> float | None:
    """Returns a bound of an average; its components need not reach their bounds together."""
    ends = [(share, total[name]) for share, total in totals]
    finite = [share * end for share, end in ends if end is not None]
    return math.fsum(finite) if ends and len(finite) == len(ends) else None


class _Tally:
    """The contributions of some items to one metric.

    Attributes:
        decided: numerators and denominators of items with a value.
        estimated: the same for items whose value is estimated.
        partly: the members of `estimated` with verdicts of their own.
        due: values of items whose denominator is 0 although something should count.
        missing: open items.
        left: the members of `missing` without an estimate.
        unclear: by how much each unclear answer could lower and raise the numerator.
        joining: unclear answers that count only if they are right.
    """

    def __init__(self, metric: MetricSpec, *, clustered: bool) -> None:
        """Starts without items; `clustered` where clusters widen intervals."""
        self.metric, self.clustered, self.pooled = (
            metric,
            clustered,
            metric.kind == "ratio",
        )
        self.items = 0
        self.decided: list[_Share] = []
        self.estimated: list[_Share] = []
        self.partly: list[_Share] = []
        self.due: list[float] = []
        self.missing: list[_Open] = []
        self.left: list[_Open] = []
        self.unclear: list[tuple[float, float]] = []
        self.joining: list[_Open] = []

    def add(self, item: Item, score: ItemScore) -> _Share | None:
        """Adds an item on which the metric is decided.

        Returns:
            Its contribution if nothing else about the item matters: its answer is clear.
        """
        self.items += 1
        value = score.values[self.metric.name]
        if math.isnan(value):
            low, high = score.could_be(self.metric.name)
            if not math.isnan(low):
                self.joining.append(_Open(low, high, score.weight(self.metric)))

            return None

        weight = score.weights[self.metric.name] if self.pooled else 1.0
        if not weight:
            self.due.append(value)
            return None

        share = _Share(value * weight, weight, item.cluster)
        self.decided.append(share)
        if not score.unclear:
            return share

        low, high = score.could_be(self.metric.name)
        self.unclear.append(((low - value) * weight, (high - value) * weight))
        return None

    def add_share(self, share: _Share) -> None:
        """Adds an item's known contribution."""
        self.items += 1
        self.decided.append(share)

    def add_open(
        self, item: Item, limits: _Open, estimate: Estimated | None = None
    ) -> None:
        """Adds an item on which the metric is not decided."""
        self.items += 1
        if not self.pooled:
            limits = limits._replace(weight=1.0)
        if not limits.weight and self.metric.official is None:
            return

        self.missing.append(limits)
        if estimate is None:
            self.left.append(limits)
            return

        share = _Share(estimate.value * estimate.weight, estimate.weight, item.cluster)
        self.estimated.append(share)
        if estimate.own:
            self.partly.append(share)

    def reason(self, answered: Iterable[ItemScore]) -> str:
        """Says why there is no value; "" if there is one."""
        if self.decided or self.estimated or self.due:
            return ""
        if not self.missing:
            return NOTHING
        return (
            _commonest_reason(s for s in answered if self.metric.name not in s.values)
            or NO_ANSWER
        )

    def without_value(self, reason: str) -> Figure:
        """Makes a figure without a value."""
        figure = self._figure(None, None, None, 0)
        figure["reason"] = reason
        return figure

    def figure(self, limits: tuple[float, float] | None) -> Figure:
        """Makes the figure, with estimates for open items.

        Args:
            limits: the limits of all values; None if they are infinite.
        """
        if not self.decided and not self.estimated:
            # Only items that lack what they should count: the worst of their values.
            low, high = map(_number, self.metric.limits)
            figure = self._figure(min(self.due), low, high, len(self.due))
            return _with_consistent_bounds(figure, whole=self._settled)

        shares = [*self.decided, *self.estimated]
        complete = self._interval(self.decided)
        low, high = complete.ci_low, complete.ci_high
        value = self._with_left(
            _ratio(shares) if self.estimated else complete.value, shares
        )
        if value != complete.value:
            partly = self._interval([*self.decided, *self.partly], fractions=True)
            low, high = _interval_around(value, (complete, partly), self.metric.limits)

        # A metric without a largest value still has a smallest.
        least, most = limits or self.metric.limits
        ends = _number(max(low, least)), _number(min(high, most))
        figure = self._figure(value, *ends, len(shares), shares)
        if self.metric.kind == "proportion" and self.decided:
            # The papers' plus-minus: standard error of a proportion, items taken as
            # independent.
            figure["std"] = math.sqrt(value * (1 - value) / len(self.decided))

        return _with_consistent_bounds(figure, whole=self._settled)

    @property
    def _settled(self) -> bool:
        """Whether nothing is open and no answer is unclear, so that the bounds are the value."""
        return not (self.missing or self.unclear or self.joining)

    def _figure(
        self,
        value: float | None,
        low: float | None,
        high: float | None,
        n: int,
        shares: Sequence[_Share] = (),
    ) -> Figure:
        """Makes a figure with its bounds, and the number of decided items if not all are.

        A settled value equals its bounds. A pooled figure has the denominator of its `shares`.
        """
        settled = self._settled and value is not None
        bounds = (value, value) if settled else (self._bound(0), self._bound(1))
        figure: Figure = {"value": value, "ci_low": low, "ci_high": high, "n": n}
        figure["bound_low"], figure["bound_high"] = bounds
        if self.pooled:
            figure["of"] = math.fsum(share.below for share in shares)

        if self.missing:
            figure["scored"] = self.items - len(self.missing)
            if self.estimated and value is not None:
                figure["estimated"] = len(self.estimated)

        return figure

    def _with_left(self, value: float, shares: Sequence[_Share]) -> float:
        """Returns the value with open items that nothing estimates set to it, or close to it.

        The authors' scripts leave such items out.
        """
        fits = all(limits.low <= value <= limits.high for limits in self.left)
        if fits or self.metric.official is not None:
            return value

        stand_ins = [
            _Share(_clip(value, (low, high)) * weight, weight, "")
            for low, high, weight in self.left
            if weight < math.inf
        ]
        return _ratio([*shares, *stand_ins])

    def _interval(
        self, shares: Sequence[_Share], *, fractions: bool = False
    ) -> Estimate:
        """Computes the value of some items with its interval; `fractions` if not all are 0 or 1."""
        above = [share.above for share in shares]
        clusters = [share.cluster for share in shares] if self.clustered else None
        limits = self.metric.limits
        if self.pooled:
            below = [share.below for share in shares]
            return ratio_interval(above, below, clusters=clusters, limits=limits)
        if self.metric.kind == "proportion" and not fractions:
            return proportion_interval(above, clusters=clusters)
        return mean_interval(above, clusters=clusters, limits=limits)

    def _bound(self, end: int) -> float | None:
        """Computes the value if all open or unclear items were the worst (`end` 0) or the best (1).

        The denominator is the largest possible one. None if there is no bound: an item may
        have any value, or nothing counts.

        Example: two items are right, one is wrong, one is unclear and counts as wrong, one
            has no answer. The bounds are 2/5 and 4/5: the last two are both wrong, or both
            right.
        """
        limited = [limits for limits in self.missing if limits.weight < math.inf]
        below = [
            *(share.below for share in self.decided),
            *(open_.weight for open_ in limited),
        ]
        above = [
            *(share.above for share in self.decided),
            *(moves[end] for moves in self.unclear),
            *(limits[end] * limits.weight for limits in limited),
        ]
        ends = [limits[end] for limits in self.missing if limits.weight == math.inf]
        top, bottom = math.fsum(above), math.fsum(below)
        if bottom:
            ends.append(top / bottom)

        if self.joining:
            more = math.fsum(limits[end] * limits.weight for limits in self.joining)
            ends.append(
                (top + more)
                / (bottom + math.fsum(open_.weight for open_ in self.joining))
            )

        if not ends:
            return None

        # In a pooled share an unclear answer leaves the denominator open as well: see
        # `ItemScore.limits`.
        worst = min if end == 0 else max
        return _number(_clip(worst(ends), self.metric.limits))


def _ratio(shares: Sequence[_Share]) -> float:
    return math.fsum(share.above for share in shares) / math.fsum(
        share.below for share in shares
    )


def _clip(value: float, limits: tuple[float, float]) -> float:
    return min(max(value, limits[0]), limits[1])


def _commonest_reason(scores: Iterable[ItemScore]) -> str:
    """Returns the most frequent reason why these scores are undecided; "" if there is none."""
    reasons = Counter(score.unscored for score in scores if score.unscored)
    return (
        f"{NO_VERDICT}: {max(sorted(reasons), key=reasons.__getitem__)}"
        if reasons
        else ""
    )


def _undecided(metric: MetricSpec, scores: Iterable[ItemScore]) -> str:
    """Says why the missing verdicts of these scores cannot be estimated.

    "" if they can, or if none is missing.
    """
    judged = [score for score in scores if metric.name in score.counts]
    missing = [score for score in judged if metric.name not in score.values]
    if not missing:
        return ""

    if any(score.counts[metric.name].known for score in judged) and all(
        score.counts[metric.name].told for score in missing
    ):
        return ""

    return _commonest_reason(missing) or NO_VERDICT


def _official_end(
    metric: MetricSpec, scores: Mapping[str, ItemScore], items: int
) -> str:
    """Says why an official figure has no value, with the number of items; "" if it has one.

    The authors' scripts have no missing values: they need a verdict on every item, and some
    end with an error on an unanswered one. A figure of the rest would not be theirs.
    """
    official = metric.official
    if (
        official is None or metric.kind == "average"
    ):  # an average's components end instead
        return ""

    items = max(items, len(scores))
    undecided = sum(metric.name not in score.values for score in scores.values())
    if undecided:
        return f"{official.undecided or NO_VERDICT} ({undecided} of {items} items)"

    if official.unanswered == "ends" and scores and items > len(scores):
        return (
            f"official script ends: no answer ({items - len(scores)} of {items} items)"
        )

    return ""


def _interval_around(
    value: float, estimates: Iterable[Estimate], limits: tuple[float, float]
) -> tuple[float, float]:
    """Returns an interval around a value that on no side is narrower than the estimates'.

    Example: the value is 0.95, and the decided items give 0.9 with an interval from 0.85 to
        0.97. The upper end, 0.95 + 0.07, exceeds 1 by 0.02, by which the lower end goes down:
        0.88 to 1.
    """
    sides = [
        (estimate.value - estimate.ci_low, estimate.ci_high - estimate.value)
        for estimate in estimates
    ]
    sides = [side for side in sides if not math.isnan(sum(side))]
    if not sides:
        return math.nan, math.nan

    low, high = (
        value - max(down for down, _ in sides),
        value + max(up for _, up in sides),
    )
    # Width beyond the limits on one side is added on the other.
    over, under = max(0.0, high - limits[1]), max(0.0, limits[0] - low)
    return max(limits[0], low - over), min(limits[1], high + under)


def _with_consistent_bounds(figure: Figure, *, whole: bool) -> Figure:
    """Makes a figure's bounds include its value; with nothing open (`whole`) they equal it.

    Otherwise rounding could move the value past a bound.
    """
    value = figure["value"]
    if value is not None:
        low, high = figure["bound_low"], figure["bound_high"]
        figure["bound_low"] = (
            value if whole else low if low is None else min(low, value)
        )
        figure["bound_high"] = (
            value if whole else high if high is None else max(high, value)
        )

    return figure


def _number(value: float) -> float | None:
    """Returns None for nan and inf, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def estimated(
    metric: MetricSpec, scores: Mapping[str, ItemScore]
) -> dict[str, Estimated]:
    """Estimates undecided items by id.

    An answer's own verdicts of a kind estimate its missing ones; if it has none, those of all
    judged answers do; if these have none, those of the parent kind (`subjective/entailed` is
    within `subjective`).

    Example: of four statements two have a verdict, of which one holds. The value is
    0.5, and `own`.
    """
    judged = {
        name: score.counts[metric.name]
        for name, score in scores.items()
        if metric.name in score.counts
    }
    lacking = {
        name: counts
        for name, counts in judged.items()
        if metric.name not in scores[name].values
    }
    if not lacking or not any(counts.known for counts in judged.values()):
        return {}

    rates = _Rates(judged.values(), by_item=metric.kind != "ratio")
    estimates: dict[str, Estimated] = {}
    for name, counts in lacking.items():
        hits, weight = rates.completed(counts)
        limits = scores[name].limits.get(metric.name, metric.limits)
        estimates[name] = Estimated(
            value=_clip(hits / weight if weight else 0.0, limits),
            weight=weight if metric.kind == "ratio" else 1.0,
            own=any(verdicts.known for verdicts in counts.verdicts),
        )

    return estimates


class _Rates:
    """Rates of hits in the verdicts of judged answers, which estimate missing verdicts.

    A rate is that of the answer's own known verdicts of the kind; if it has none, that of all
    judged answers; if these have none either, that of the more general kind
    (`subjective/entailed`, then `subjective`, then all verdicts).
    """

    def __init__(self, judged: Collection[Counts], *, by_item: bool) -> None:
        self._judged, self._by_item = judged, by_item
        self._sums: dict[str, tuple[float, float]] = {}
        self._lengths: dict[str, float] = {}

    def completed(self, counts: Counts) -> tuple[float, float]:
        """Returns an answer's hits and the denominator of its value, with estimates for missing verdicts.

        Example: of four statements three have verdicts, of which two hold. The fourth
            counts as 2/3, so that the hits are 2.67 of 4.
        """
        if counts.how == "any":
            missing = sum(verdicts.missing for verdicts in counts.verdicts)
            return self._any_of(round(counts.of), missing), 1.0

        hits: list[float] = []
        of: list[float] = []
        for verdicts in counts.verdicts:
            open_ = verdicts.missing + self._unlisted(verdicts)
            rate = self._rate_within(verdicts.kind, counts) if open_ else 0.0
            hits.append(verdicts.weight * (verdicts.hits + rate * open_))
            if counts.how != "points" or verdicts.weight > 0:
                of.append(verdicts.weight * (verdicts.known + open_ + verdicts.unasked))

        return math.fsum(hits), math.fsum(of) if counts.is_share else 1.0

    def _unlisted(self, verdicts: Verdicts) -> float:
        """Estimates the length of a list that could not be made: the others' mean, 1 at least.

        Example: the other lists have 2, 3 and 4 entries, and this one could have 10. Three
            entries are assumed; at most 2 if it could have only 2.
        """
        return (
            min(max(self._length(verdicts.kind), 1.0), verdicts.more)
            if verdicts.more
            else 0.0
        )

    def _any_of(self, of: int, missing: int) -> float:
        """Estimates the probability that missing verdicts include a hit when none is known.

        It imagines as many verdicts hidden at random in answers of similar length. Example: 1
        of an answer's 4 verdicts is missing, and the others are no hits. An answer with 1 hit
        in 4 hides exactly that one in 1 of 4 cases; two answers without hits always look
        clean: (1/4) / (1/4 + 1 + 1) = 0.11.
        """
        judged = [counts for counts in self._judged if counts.known]
        similar = [
            counts for counts in judged if abs(round(counts.of) - of) <= _ABOUT_AS_LONG
        ]
        sizes = Counter(
            (counts.known, int(sum(verdicts.hits for verdicts in counts.verdicts)))
            for counts in similar or judged
        )
        clean, hidden = [], []
        for (n_known, hits), count in sizes.items():
            n_hidden = min(missing, n_known)
            if hits <= n_hidden:
                share = (
                    count
                    * math.comb(n_known - hits, n_hidden - hits)
                    / math.comb(n_known, n_hidden)
                )
                clean.append(share)
                hidden.append(share if hits else 0.0)

        return math.fsum(hidden) / math.fsum(clean) if clean else 1.0

    def _rate_within(self, kind: str, counts: Counts) -> float:
        """Returns the share of hits in a kind, among the answer's own verdicts or all answers'."""
        hits, n_known = _within(kind, counts.verdicts)
        return hits / n_known if n_known else self._rate(kind, counts.how)

    def _rate(self, kind: str, how: str) -> float:
        """Returns the share of hits in a kind: a mean over answers for shares, else over verdicts.

        Example: of one answer's verdicts 1 of 1 is a hit, of another's 1 of 3. The mean over
            answers is 2/3, as for a metric that averages items; over verdicts it is 2/4, as for
            one that pools them (`ratio`).
        """
        if kind not in self._sums:
            pairs = [_within(kind, counts.verdicts) for counts in self._judged]
            pairs = [(hits, n_known) for hits, n_known in pairs if n_known]
            if how == "share" and self._by_item:
                pairs = [(hits / n_known, 1.0) for hits, n_known in pairs]

            self._sums[kind] = (
                math.fsum(pair[0] for pair in pairs),
                math.fsum(p[1] for p in pairs),
            )

        hits, n_known = self._sums[kind]
        return hits / n_known if n_known else self._rate(kind.rpartition("/")[0], how)

    def _length(self, kind: str) -> float:
        """Returns the mean length of a kind's lists."""
        if kind not in self._lengths:
            lengths = [
                verdicts.known + verdicts.missing
                for counts in self._judged
                for verdicts in counts.verdicts
                if _is_within(verdicts.kind, kind) and verdicts.known + verdicts.missing
            ]
            self._lengths[kind] = math.fsum(lengths) / len(lengths) if lengths else 0.0
        return self._lengths[kind] or self._length(kind.rpartition("/")[0])


def _is_within(kind: str, other: str) -> bool:
    """Whether a kind is another one or one of its sub-kinds.

    Example:
        >>> [_is_within("plan/entailed", kind) for kind in ("", "plan", "plan/entailed", "pla")]
        [True, True, True, False]
    """
    return not other or kind == other or kind.startswith(f"{other}/")


def _within(kind: str, verdicts: Iterable[Verdicts]) -> tuple[float, float]:
    """Returns the hits and the known verdicts of a kind."""
    within = [counts for counts in verdicts if _is_within(counts.kind, kind)]
    hits = sum(counts.hits for counts in within)
    return float(hits), float(sum(counts.known for counts in within))
