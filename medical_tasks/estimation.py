"""From scored items to a metric's number: value, interval, and what the missing items could change."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from medical_tasks.metric_averages import average_of, components, sums
from medical_tasks.spec import Item, ItemScore, MetricSpec, TaskSpec

__all__ = ["BOOTSTRAP_SEED", "Limits", "estimate"]

BOOTSTRAP_SEED = 0
Limits = Callable[[Item], Mapping[str, tuple[float, float]]]
"""What each metric could have been on an item without an answer."""


def estimate(
    metric: MetricSpec,
    task: TaskSpec,
    items: Sequence[Item],
    scores: Mapping[str, ItemScore],
    unanswered_limits: Limits | None,
) -> dict[str, Any]:
    """Computes a metric's entry of `results.json`.

    Args:
        metric: the metric.
        task: its task, with the metrics that are reported.
        items: all items asked.
        scores: item id to its score.
        unanswered_limits: as in `results.summarise`.

    Returns:
        `value`, `ci_low`, `ci_high` and `n`, `bound_low` and `bound_high`, and what its kind has besides. What cannot be computed
        is None.
    """
    from medical_tasks.scoring.statistics import bootstrap_interval, proportion_interval

    if metric.kind == "ratio":
        return _pooled(metric, task, items, scores)
    if metric.kind == "average":
        return _average(metric, task, items, scores, unanswered_limits)
    values: list[float] = []
    clusters: list[str] = []
    lows: list[float] = []
    highs: list[float] = []
    for item in items:
        score = scores.get(item.id)
        if score is not None and metric.name in score.values:
            value = score.values[metric.name]
            if not math.isnan(value):
                values.append(value)
                clusters.append(item.cluster)
            continue
        known = score.limits if score is not None else unanswered_limits(item) if unanswered_limits else {}
        low, high = known.get(metric.name, metric.limits)
        lows.append(low)
        highs.append(high)
    groups = clusters if task.cluster else None
    if metric.kind == "proportion":
        estimate = proportion_interval(values, clusters=groups)
    else:
        ends = _limits(metric, items, unanswered_limits)
        estimate = bootstrap_interval(values, clusters=groups, seed=BOOTSTRAP_SEED, limits=ends)
    entry: dict[str, Any] = {
        "value": _number(estimate.value),
        # Where there is no largest value there is a smallest all the same.
        "ci_low": _number(max(estimate.ci_low, metric.limits[0])),
        "ci_high": _number(estimate.ci_high),
        "n": len(values),
    }
    if metric.unit:
        entry["unit"] = metric.unit
    if metric.kind == "proportion" and values:
        # The papers' plus-minus: standard error of a proportion, items taken as independent.
        entry["std"] = math.sqrt(estimate.value * (1 - estimate.value) / len(values))
    entry["bound_low"] = _bound(values, lows)
    entry["bound_high"] = _bound(values, highs)
    return entry


def _pooled(
    metric: MetricSpec, task: TaskSpec, items: Sequence[Item], scores: Mapping[str, ItemScore]
) -> dict[str, Any]:
    """A ratio of sums over items. What is missing is weighed by the largest denominator it can have."""
    from medical_tasks.scoring.statistics import bootstrap_ratio

    above: list[float] = []
    below: list[float] = []
    clusters: list[str] = []
    missing: list[tuple[float, float, float]] = []
    due: list[float] = []
    for item in items:
        score = scores.get(item.id)
        if score is None:
            missing.append((*metric.limits, math.inf))
        elif metric.name in score.values:
            value = score.values[metric.name]
            weight = 0.0 if math.isnan(value) else score.weights[metric.name]
            if weight:
                above.append(value * weight)
                below.append(weight)
                clusters.append(item.cluster)
            elif not math.isnan(value):
                due.append(value)
        else:
            weight = score.weights.get(metric.name, math.inf)
            if weight:
                missing.append((*score.limits.get(metric.name, metric.limits), weight))
    estimate = bootstrap_ratio(
        above, below, clusters=clusters if task.cluster else None, seed=BOOTSTRAP_SEED, limits=metric.limits
    )
    entry: dict[str, Any] = {
        "value": _number(estimate.value),
        "ci_low": _number(estimate.ci_low),
        "ci_high": _number(estimate.ci_high),
        "n": len(below),
        "of": math.fsum(below),
    }
    if metric.unit:
        entry["unit"] = metric.unit
    if due and not below:
        # Nothing to share anywhere, where there should have been something: what each item says of that.
        value = math.fsum(due) / len(due)
        entry |= {"value": value, "ci_low": metric.limits[0], "ci_high": metric.limits[1], "n": len(due)}
        if not missing:
            return {**entry, "bound_low": value, "bound_high": value}
    entry["bound_low"] = _pooled_bound(above, below, [(low, weight) for low, _, weight in missing], min)
    entry["bound_high"] = _pooled_bound(above, below, [(high, weight) for _, high, weight in missing], max)
    return entry


def _pooled_bound(
    above: Sequence[float], below: Sequence[float], missing: Sequence[tuple[float, float]], worst: Callable[..., float]
) -> float | None:
    """The ratio if everything missing had the given values; what has no known weight may outweigh all the others."""
    known = [(value * weight, weight) for value, weight in missing if weight < math.inf]
    bottom = math.fsum([*below, *(weight for _, weight in known)])
    ends = [value for value, weight in missing if weight == math.inf]
    if bottom:
        ends.append(math.fsum([*above, *(top for top, _ in known)]) / bottom)
    return _number(worst(ends)) if ends else None


def _average(
    metric: MetricSpec,
    task: TaskSpec,
    items: Sequence[Item],
    scores: Mapping[str, ItemScore],
    unanswered_limits: Limits | None,
) -> dict[str, Any]:
    """The average of other metrics' totals, over the items on which all of them are decided."""
    from medical_tasks.scoring.statistics import bootstrap_statistic

    reported = {each.name: each for each in task.metrics}
    parts = components(metric, reported)
    entry: dict[str, Any] = {"value": None, "ci_low": None, "ci_high": None, "n": 0}
    if parts.shares:
        columns: list[list[float]] = []
        known = {item.id: scores[item.id] for item in items if item.id in scores}
        for name in parts.shares:
            pairs = [sums(reported[name], score.values.get(name), score.weights.get(name)) for score in known.values()]
            columns += [[above for above, _ in pairs], [below for _, below in pairs]]
        clusters = [item.cluster for item in items if item.id in known] if task.cluster else None
        limits = metric.limits if all(map(math.isfinite, metric.limits)) else None
        made = bootstrap_statistic(
            columns, average_of(list(parts.shares.values())), clusters=clusters, seed=BOOTSTRAP_SEED, limits=limits
        )
        ends = (_number(made.value), _number(made.ci_low), _number(made.ci_high))
        entry |= {**dict(zip(("value", "ci_low", "ci_high"), ends, strict=True)), "n": made.n}
    if metric.unit:
        entry["unit"] = metric.unit
    for name in ("bound_low", "bound_high"):
        # Not all of them need be reached at once: no tighter than it can be.
        each = [
            (share, estimate(reported[part], task, items, scores, unanswered_limits)[name])
            for part, share in parts.shares.items()
        ]
        entry[name] = None if not each or any(end is None for _, end in each) else math.fsum(s * end for s, end in each)
    entry["components"] = list(parts.shares)
    if parts.missing:
        entry |= {"missing_components": list(parts.missing), "comparable": False}
    return entry


def _limits(metric: MetricSpec, items: Sequence[Item], unanswered_limits: Limits | None) -> tuple[float, float] | None:
    """The range of a metric's values: its own, or the widest of these items'; None where there is no end."""
    low, high = metric.limits
    if math.isinf(high) and unanswered_limits is not None and items:
        high = max(unanswered_limits(item).get(metric.name, metric.limits)[1] for item in items)
    return (low, high) if -math.inf < low < high < math.inf else None


def _bound(values: Sequence[float], missing: Sequence[float]) -> float | None:
    """The mean if everything missing had the given values; null when there is no end to it, or nothing at all."""
    together = [*values, *missing]
    return _number(math.fsum(together) / len(together)) if together else None


def _number(value: float) -> float | None:
    """JSON has neither nan nor inf; a value that cannot be computed, or has no end, is null."""
    return float(value) if math.isfinite(value) else None
