"""Pooled metrics in harnesses, which keep one number an item: a number that knows its denominator."""

from __future__ import annotations

import math
from collections.abc import Iterable

from medical_tasks.spec import ItemScore, MetricSpec

__all__ = ["Weighted", "is_pooled", "metric_value", "pooled_mean"]


class Weighted(float):
    """An item's share, with what it is a share of.

    Attributes:
        weight: the denominator; 0 for a share of nothing, which is nan; `inf` where an official script ends, and with it the
            figure of all items.
    """

    weight: float

    def __new__(cls, value: float, weight: float) -> Weighted:
        """Makes one of a share and its denominator."""
        made = super().__new__(cls, value)
        made.weight = weight
        return made

    def __reduce__(self) -> tuple[type[Weighted], tuple[float, float]]:
        """Copies and other processes keep the weight."""
        return Weighted, (float(self), self.weight)


def metric_value(metric: MetricSpec, score: ItemScore) -> float:
    """Takes a metric's value out of a score.

    Args:
        metric: the metric.
        score: of one item.

    Returns:
        Its value, with its denominator where the metric is pooled; nan where there is none.
    """
    value = score.values.get(metric.name, math.nan)
    if not is_pooled(metric):
        return value
    if metric.ends and metric.name not in score.values:
        return Weighted(math.nan, math.inf)
    return Weighted(value, 0.0 if math.isnan(value) else score.weights.get(metric.name, 1.0))


def is_pooled(metric: MetricSpec) -> bool:
    """Whether its total needs `pooled_mean`: a ratio, and what a single item can bring to an end."""
    return metric.kind == "ratio" or bool(metric.ends)


# lighteval takes the standard error of a mean for what has `mean` in its name, and draws in as many processes as there are
# cores for everything else.
def pooled_mean(values: Iterable[float]) -> float:
    """The sum of the numerators over the sum of the denominators; without any, the worst that is said of nothing, or nan.

    Args:
        values: as `metric_value` makes them.

    Raises:
        TypeError: A value lost its denominator.
    """
    known, due = [], []
    for value in values:
        if not isinstance(value, Weighted):
            raise TypeError(f"a pooled metric needs values with their weights; got {type(value).__name__}")
        if value.weight:
            known.append(value)
        elif not math.isnan(value):
            due.append(float(value))
    total = math.fsum(value.weight for value in known)
    if math.isinf(total):
        return math.nan
    return math.fsum(value * value.weight for value in known) / total if total else min(due, default=math.nan)
