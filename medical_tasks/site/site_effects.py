"""Converts shared figures to effects for pooling: a value and its variance on one scale.

A share is pooled on the scale of arcsines (arcsin √p), on which the variance of a share
of n items is 1 / (4 n + 2) whatever the share is (Anscombe 1948, Biometrika 35:246). On
the scale of logits a hospital with few errors weighs less *because* it has few, which
pulls the mean away from it: with ten hospitals at 97 % the interval held the truth in 8
of 10 cases (`measurements/site_pooling.py`). n follows from the interval: the number of
independent items whose Wilson interval would be as wide, so that clusters, missing
verdicts and the judge's errors count.

The error of a corrected share hardly depends on the share. So its n is that of a share
near the mean of all hospitals, and a share that is corrected to 1 has no extra weight.

Differences, and metrics that are not shares, are pooled on their own scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from medical_tasks.judges.checks import check_set_of
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.scoring.correction import (
    NotCorrectableError,
    Verdicts,
    judge_error,
    rescoring,
)
from medical_tasks.scoring.estimates import UNIT, Floats
from medical_tasks.scoring.intervals import normal_quantile, wilson
from medical_tasks.site.random_effects import pooled
from medical_tasks.spec import MetricSpec, TaskSpec

Scale = Literal["share", "plain"]
Z: Final = normal_quantile(0.975)
_LEAST_ITEMS: Final = 1.0
"""An interval that is wider than that of so many items is not pooled."""
_EDGE: Final = 0.375
_NEAR_EDGE: Final = 0.02
RAW: Final = "raw"


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One hospital's value with its uncertainty.

    Attributes:
        site: the hospital.
        value: its value; `low` and `high` are its 95 % interval.
        n: the number of items.
        off: how far the value may be from the true one, since a small cell is hidden.
        how: `raw`, `corrected there` by the site's own labels, or `corrected here` by
            its confusion matrix.
    """

    site: str
    value: float
    low: float
    high: float
    n: int
    off: float = 0.0
    how: str = "raw"

    @property
    def items(self) -> float:
        """The number of independent items for which a share's interval would be as wide."""
        below, above = (
            math.sqrt(max(0.0, end * (1.0 - end))) for end in (self.low, self.high)
        )
        width = self.high - self.low
        return (Z * (below + above) / width) ** 2 if width > 0.0 else math.inf

    @property
    def variance(self) -> float:
        """The variance by the interval's half-width, or its uncut half if it is cut at 0 or 1."""
        halves = (self.value - self.low, self.high - self.value)
        is_cut = self.how != RAW and (self.low <= 0.0 or self.high >= 1.0)
        half = max(halves) if is_cut else sum(halves) / 2.0
        return (half / Z) ** 2


def effect_of(site: str, figure: Json, how: str = "raw") -> Effect | None:
    """A shared figure as an effect; None if it is hidden."""
    estimate = figure["estimate"]
    if estimate is None:
        return None
    return Effect(site=site, n=figure["n"], how=how, **estimate)


def is_poolable(effect: Effect, scale: Scale) -> bool:
    """Whether the effect has a usable variance."""
    if scale == "share" and effect.how == RAW:
        return _LEAST_ITEMS <= effect.items < math.inf
    return effect.variance > 0.0


def on_scale(
    effects: Sequence[Effect], scale: Scale, shift: float = 0.0
) -> tuple[Floats, Floats]:
    """Values and variances of hospitals, each shifted by `shift` times its `off`.

    Args:
        effects: one per hospital.
        scale: `share` for the arcsine of the square root, `plain` for the values themselves.
        shift: -1 and 1 are the ends between which the true values lie: one that is shared
            for a hidden small count may be off by up to `off`.
    """
    values = np.array([effect.value + shift * effect.off for effect in effects])
    if scale == "plain":
        return values, np.array([effect.variance for effect in effects])
    items = _items(effects)
    inner = (np.clip(values, 0.0, 1.0) * items + _EDGE) / (items + 2.0 * _EDGE)
    return np.arcsin(np.sqrt(inner)), 1.0 / (4.0 * items + 2.0)


def _items(effects: Sequence[Effect]) -> Floats:
    """The number of independent items that each hospital's share is worth.

    A raw share's number follows from its own interval. A corrected share's is p (1 - p) /
    variance, where p is the mean of all hospitals: with its own value instead of p, a share
    corrected to 1 would be worth no items at all.
    """
    own = np.array([effect.items for effect in effects])
    corrected = np.array([effect.how != RAW for effect in effects])
    if not corrected.any():
        return own
    variances = np.array([effect.variance for effect in effects])
    values = np.array([effect.value for effect in effects])
    mean = float((values / variances).sum() / (1.0 / variances).sum())
    inner = min(max(mean, _NEAR_EDGE), 1.0 - _NEAR_EDGE)
    return np.where(corrected, inner * (1.0 - inner) / variances, own)


def off_scale(scale: Scale) -> Callable[[float], float]:
    """The function that converts a number back to the metric's own scale."""
    if scale == "plain":
        return float

    def back(angle: float) -> float:
        return math.sin(min(max(float(angle), 0.0), math.pi / 2.0)) ** 2

    return back


def corrected_here(
    effect: Effect, task: TaskSpec, metric: MetricSpec, checks: Sequence[Json]
) -> Effect:
    """Corrects a share of verdicts by its site's confusion matrix.

    Uses Rogan and Gladen's method (`scoring.correction`). The interval includes the error
    of the items and that of the labels, whose number is taken as that of their clusters.

    Raises:
        NotCorrectableError: there is no such matrix, or it does not suffice.
    """
    if metric.verdict in ("", "several") or metric.limits != UNIT:
        raise NotCorrectableError("the metric is no share of verdicts")

    fitting = [check for check in checks if check["set"] == check_set_of(task)]
    if not fitting:
        raise NotCorrectableError("the site shares no check of its judge on this task")

    check = fitting[0]
    if check["table"] is None:
        raise NotCorrectableError("its confusion matrix has a cell under five")

    hit, rest = metric.verdict, f"not {metric.verdict}"
    names = [name if name == hit else rest for name in check["classes"]]
    pairs = [
        (gold, judged)
        for gold, row in zip(names, check["table"], strict=True)
        for judged, count in zip(names, row, strict=True)
        for _ in range(count)
    ]
    gold, judged = zip(*pairs, strict=True)
    learnt = rescoring(gold, judged, (hit, rest))
    effective = check["pairs"] / max(1, check["clusters"])
    learnt = replace(learnt, covariance=learnt.covariance * effective)
    items = effect.items
    counts = np.array([[effect.value * items, (1.0 - effect.value) * items]])
    unit = np.ones(1)
    value, error = judge_error(
        learnt, Verdicts(counts, unit, np.zeros(1), np.array([items]))
    )
    slope = float(learnt.scores[0] - learnt.scores[1])
    inner = (effect.value * items + 0.5) / (items + 1.0)
    down, up = error.reach(Z, slope**2 * inner * (1.0 - inner) / items)
    if value - down > 1.0 or value + up < 0.0:
        raise NotCorrectableError(
            "its corrected interval is outside what is possible: the judge errs otherwise "
            "here than on the labelled answers"
        )

    low, middle, high = (
        min(max(end, 0.0), 1.0) for end in (value - down, value, value + up)
    )
    return replace(
        effect,
        value=middle,
        low=low,
        high=high,
        off=effect.off * abs(slope),
        how="corrected here",
    )


def together(effects: Sequence[Effect], scale: Scale) -> JsonDict:
    """Pools hospitals, and returns the result on the metric's own scale.

    If cells are hidden, the interval is the widest for all their possible values.
    """
    back = off_scale(scale)
    estimate = pooled(*on_scale(effects, scale))
    ends = {
        name: back(float(getattr(estimate, name)))
        for name in ("value", "low", "high", "new_low", "new_high")
    }
    if any(effect.off for effect in effects):
        for shift in (-1.0, 1.0):
            moved = pooled(*on_scale(effects, scale, shift))
            for name in ("low", "new_low"):
                ends[name] = min(ends[name], back(float(getattr(moved, name))))

            for name in ("high", "new_high"):
                ends[name] = max(ends[name], back(float(getattr(moved, name))))

    alone = _by_errors_alone(effects, scale)
    closer = ends["high"] - ends["low"] < alone[1] - alone[0]
    unit = 1.0
    if scale == "share":
        # One arcsine is 2 √(p q) of a share near p.
        unit = 2.0 * math.sqrt(max(0.0, ends["value"] * (1.0 - ends["value"])))

    tau = {
        name: unit * math.sqrt(float(getattr(estimate, of)))
        for name, of in (
            ("tau", "tau2"),
            ("tau_low", "tau2_low"),
            ("tau_high", "tau2_high"),
        )
    }
    rest = {
        name: float(getattr(estimate, name))
        for name in ("q", "q_p", "i2", "i2_low", "i2_high")
    }
    weights = [float(weight) for weight in estimate.weights]
    by_errors = list(alone) if closer else None

    return {**ends, **tau, **rest, "by_errors_alone": by_errors, "weights": weights}


def _by_errors_alone(effects: Sequence[Effect], scale: Scale) -> tuple[float, float]:
    """The interval by hospitals' own errors alone, as if all had the same true value.

    The report mentions it if it is wider than the pooled one, which happens if hospitals
    are closer together than chance makes likely.
    """
    values, variances = on_scale(effects, scale)
    weights = 1.0 / variances
    mean = float((weights * values).sum() / weights.sum())
    reach = Z / math.sqrt(float(weights.sum()))
    back = off_scale(scale)

    return back(mean - reach), back(mean + reach)


def ends_at(effect: Effect, scale: Scale, z: float) -> tuple[float, float]:
    """A hospital's interval at `z` standard errors."""
    if scale == "share":
        low, high = wilson(effect.value, effect.items, z)
        return low - effect.off, high + effect.off
    reach = z * math.sqrt(effect.variance)
    return effect.value - reach - effect.off, effect.value + reach + effect.off


def between(
    first: Effect, second: Effect, scale: Scale, z: float
) -> tuple[float, float, float]:
    """The first less the second, with its interval at `z` standard errors.

    The interval is built from those of the two (Donner and Zou 2012, Stat Methods Med Res
    21:347), which preserves the skew of shares.
    """
    (low, high), (other_low, other_high) = (
        ends_at(effect, scale, z) for effect in (first, second)
    )
    value = first.value - second.value
    down = math.hypot(first.value - low, other_high - second.value)
    up = math.hypot(high - first.value, second.value - other_low)

    return value, value - down, value + up
