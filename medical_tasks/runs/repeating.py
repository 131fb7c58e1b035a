"""Several answers to each item of a task (`run --repeats`): what they are together, and a metric's number over all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.runs.estimation import Estimator, Limits
from medical_tasks.scoring.averages import components, sums
from medical_tasks.spec import Item, ItemScore, MetricSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.runs.runner import AnsweredTask

Scores = Mapping[str, ItemScore]
_ALIKE: Final = 1e-9  # values this near are one outcome


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """The scores of each repeat by item id, and the same by single votes of the judge, where it had several."""

    scores: Sequence[Scores]
    votes: Sequence[Sequence[Scores]] = ()  # of each vote, each repeat


def repeat_columns(task: TaskSpec, item: str, scores: Sequence[Scores]) -> dict[str, float | None]:
    """What an item's row has besides: each metric's value in each repeat, such as `accuracy_repeat_2`."""
    return {
        f"{metric.name}_repeat_{number}": each[item].values.get(metric.name) if item in each else None
        for metric in task.metrics
        if metric.kind != "average"
        for number, each in enumerate(scores, 1)
    }


def over_repeats(answered: Sequence[AnsweredTask], scores: Sequence[Scores]) -> Scores:
    """Each item's mean over the repeats that decide it, weighted by its denominators; what one lacks is said of the item."""
    if len(scores) == 1:
        return scores[0]
    task = answered[0].task
    lacking = {name: f"no answer: {why}" for each in answered[::-1] for name, why in each.unanswered.items()}
    made = {}
    for name in dict.fromkeys(name for each in scores for name in each):
        there = [each[name] for each in scores if name in each]
        values: dict[str, float] = {}
        weights: dict[str, float] = {}
        for metric in task.metrics:
            cells = [
                (one.values[metric.name], one.weights.get(metric.name, 1.0))
                for one in there
                if metric.name in one.values
            ]
            cells = [cell for cell in cells if not math.isnan(cell[0])] or cells[:1]
            if cells:
                of = math.fsum(weight for _, weight in cells)
                top = math.fsum(value * (weight if of else 1.0) for value, weight in cells)
                values[metric.name], weights[metric.name] = top / (of or len(cells)), of / len(cells)
        unscored = lacking.get(name) or next((one.unscored for one in there if one.unscored), None)
        notes = tuple(dict.fromkeys(note for one in there for note in one.notes))
        made[name] = replace(
            there[0], values=values, weights=weights, unscored=unscored, notes=notes, limits={}, counts={}
        )
    return made


class RepeatedEstimator:
    """As `Estimator`, of a task whose items were answered several times."""

    def __init__(
        self, task: TaskSpec, scores: Scores, repeated: Repeated, *, items: int, unanswered_limits: Limits | None
    ) -> None:
        """Estimates what is missing in each repeat; `scores` are those of `over_repeats`."""
        # An item that is right in some of the repeats is a mean.
        plain = [replace(each, kind="mean") if each.kind == "proportion" else each for each in task.metrics]
        self._metrics = {metric.name: metric for metric in plain}
        known: dict[str, Any] = {"items": items, "unanswered_limits": unanswered_limits}
        self._whole = Estimator(replace(task, metrics=tuple(plain)), scores, **known)
        self._each = [Estimator(task, each, **known) for each in repeated.scores]
        self._repeated, self._clustered = repeated, task.cluster is not None

    def entry(self, metric: MetricSpec, items: Sequence[Item]) -> dict[str, Any]:
        """Computes a metric's entry: the mean over repeats, the interval around the items' means widened by the runs."""
        from medical_tasks.scoring.bootstrap import repeats

        each = [one.entry(metric, items) for one in self._each]
        values = [one["value"] for one in each]
        known = [value for value in values if value is not None]
        told: dict[str, Any] = {"k": len(each), "values": values}
        if len(known) < len(each) and (metric.ends or not known):
            return {**next(one for one in each if one["value"] is None), "repeats": told}
        whole = self._whole.entry(self._metrics[metric.name], items)
        if whole["value"] is None:  # no item is decided whole: the interval of one repeat
            whole = next(one for one in each if one["value"] is not None)
        clusters, table, alike = self._values(metric, items, [self._repeated.scores])
        found = split = repeats(table[:, :, 0], clusters=clusters)
        if self._repeated.votes:
            clusters, table, _ = self._values(metric, items, self._repeated.votes)
            split = repeats(table, clusters=clusters)
        entry = {name: part for name, part in whole.items() if name not in ("scored", "estimated", "std")}
        entry["value"] = fmean(known)
        for name, sign in (("ci_low", -1.0), ("ci_high", 1.0)):
            if whole[name] is not None:
                moved = entry["value"] + sign * math.hypot(whole[name] - whole["value"], found.margin)
                entry[name] = min(max(moved, metric.limits[0]), metric.limits[1])
        for name in ("bound_low", "bound_high"):
            ends = [one[name] for one in each]
            entry[name] = None if None in ends else fmean(ends)
        names = components(metric, self._metrics).shares.keys()
        scored = [
            [item.id in one and names <= one[item.id].values.keys() for one in self._repeated.scores] for item in items
        ]
        entry |= {"scored": sum(map(all, scored))} if not all(map(all, scored)) else {}
        entry |= (
            {"estimated": max(one.get("estimated", 0) for one in each)}
            if any("estimated" in one for one in each)
            else {}
        )
        parts = {"sd_items": split.sd_items, "sd_run": split.sd_run, "sd_judge": split.sd_judge}
        parts["stability"] = float(alike.mean()) if metric.kind != "average" and len(alike) else math.nan
        told |= {
            name: None if math.isnan(part) else part
            for name, part in parts.items()
            if name != "sd_judge" or self._repeated.votes
        }
        return {**entry, "repeats": told}

    def _values(
        self, metric: MetricSpec, items: Sequence[Item], votes: Sequence[Sequence[Scores]]
    ) -> tuple[Any, Any, Any]:
        """What each item adds to the metric, of shape (items, repeats, votes), its cluster, and whether all are alike."""
        import numpy as np

        def cell(name: str, scores: Scores, item: Item) -> tuple[float, float]:
            score = scores.get(item.id)
            if score is None:
                return math.nan, math.nan
            return sums(self._metrics[name], score.values.get(name), score.weights.get(name))

        shares = components(self._metrics[metric.name], self._metrics).shares
        tables = [
            np.array([[[cell(name, each, item) for each in one] for one in votes] for item in items])
            .reshape(len(items), len(votes), -1, 2)
            .swapaxes(1, 2)
            for name in shares
        ]
        kept = np.all([np.isfinite(each).all(axis=(1, 2, 3)) for each in tables], axis=0)
        kept &= np.any([(each[..., 1] != 0.0).any(axis=(1, 2)) for each in tables], axis=0)
        values, alike = 0.0, np.ones(int(kept.sum()), dtype=bool)
        for share, each in zip(shares.values(), tables, strict=True):
            top, below = each[kept, :, :, 0], each[kept, :, :, 1]
            ratio, mean = top.sum() / (below.sum() or 1.0), below.mean() if below.any() else 1.0
            values = values + share * (ratio + (top - ratio * below) / mean)
            own = np.divide(top, below, out=np.full_like(top, -1.0), where=below != 0.0)
            alike &= np.ptp(own, axis=(1, 2)) < _ALIKE
        clusters = [item.cluster for item, one in zip(items, kept, strict=True) if one] if self._clustered else None
        return clusters, values, alike
