"""Several answers to each item (`run --repeats`): what they are together, and a metric's number over all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.runs.estimation import Estimator, Limits
from medical_tasks.scoring.averages import components, sums
from medical_tasks.spec import Item, ItemScore, MetricSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.scoring.bootstrap import Repeats

Scores = Mapping[str, ItemScore]
_ALIKE: Final = 1e-9  # values this near are one outcome


def repeat_columns(task: TaskSpec, item: str, scores: Sequence[Scores]) -> dict[str, float | None]:
    """What an item's row has besides: each metric's value in each repeat, such as `accuracy_repeat_2`."""
    return {
        f"{metric.name}_repeat_{number}": each[item].values.get(metric.name) if item in each else None
        for metric in task.metrics
        if metric.kind != "average"
        for number, each in enumerate(scores, 1)
    }


def over_repeats(task: TaskSpec, scores: Sequence[Scores], unanswered: Sequence[Mapping[str, str]] = ()) -> Scores:
    """Each item's mean over the repeats that decide it, weighted by its denominators; what one lacks is said of the item."""
    if len(scores) == 1:
        return scores[0]
    lacking = {name: f"no answer: {why}" for each in unanswered[::-1] for name, why in each.items()}
    made = {}
    for item in dict.fromkeys(item for each in scores for item in each):
        there = [each[item] for each in scores if item in each]
        values, weights = {}, {}
        for name in (metric.name for metric in task.metrics):
            cells = [(one.values[name], one.weights.get(name, 1.0)) for one in there if name in one.values]
            cells = [cell for cell in cells if cell[1] and not math.isnan(cell[0])] or cells[:1]
            if cells:
                of = math.fsum(weight for _, weight in cells)
                values[name] = math.fsum(math.prod(cell) for cell in cells) / of if of else cells[0][0]
                weights[name] = of / len(cells)
        why = lacking.get(item) or next((one.unscored for one in there if one.unscored), None)
        notes = tuple(dict.fromkeys(note for one in there for note in one.notes))
        known: dict[str, Any] = {"values": values, "weights": weights, "unscored": why, "notes": notes}
        made[item] = replace(there[0], **known, limits={}, counts={})
    return made


class RepeatedEstimator(Estimator):
    """Of a task whose items were answered several times."""

    def __init__(
        self,
        task: TaskSpec,
        scores: Scores,
        repeats: Sequence[Scores],
        votes: Sequence[Sequence[Scores]],
        *,
        items: int,
        unanswered_limits: Limits | None = None,
    ) -> None:
        """Estimates what is missing in each repeat.

        `scores`: those of `over_repeats`; `votes`: of each of a judge's votes, each repeat scored by that alone.
        """
        # An item that is right in some of the repeats is a mean.
        plain = [replace(each, kind="mean") if each.kind == "proportion" else each for each in task.metrics]
        known: dict[str, Any] = {"items": items, "unanswered_limits": unanswered_limits}
        super().__init__(replace(task, metrics=tuple(plain)), scores, **known)
        self._each = [Estimator(task, each, **known) for each in repeats]
        self._metrics, self._repeats, self._votes = {metric.name: metric for metric in plain}, repeats, votes

    def entry(self, metric: MetricSpec, items: Sequence[Item]) -> dict[str, Any]:
        """Computes a metric's entry: the mean over repeats, the interval around the items' means widened by the runs."""
        each = [one.entry(metric, items) for one in self._each]
        values = [one["value"] for one in each]
        known = [value for value in values if value is not None]
        told: dict[str, Any] = {"k": len(each), "values": values}
        if len(known) < len(each) and (metric.ends or not known):
            return {**each[values.index(None)], "repeats": told}
        whole = super().entry(self._metrics[metric.name], items)
        if whole["value"] is None:  # no item is decided whole: the interval of one repeat
            whole = next(one for one in each if one["value"] is not None)
        decided, stability, found = self._split(metric, items, [self._repeats])
        split = self._split(metric, items, self._votes)[2] if self._votes else found
        entry = {name: part for name, part in whole.items() if name not in ("scored", "estimated")}
        entry["value"] = fmean(known)
        for name, sign in (("ci_low", -1.0), ("ci_high", 1.0)):
            if whole[name] is not None:
                moved = entry["value"] + sign * math.hypot(whole[name] - whole["value"], found.margin)
                entry[name] = min(max(moved, metric.limits[0]), metric.limits[1])
        for name in ("bound_low", "bound_high"):
            ends = [one[name] for one in each]
            entry[name] = None if None in ends else fmean(ends)
        entry |= {"scored": decided} if decided < len(items) else {}
        entry |= {"estimated": most} if (most := max(one.get("estimated", 0) for one in each)) else {}
        parts = {"sd_items": split.sd_items, "sd_run": split.sd_run, "stability": stability}
        parts |= {"sd_judge": split.sd_judge} if self._votes else {}
        return {**entry, "repeats": told | {name: None if math.isnan(part) else part for name, part in parts.items()}}

    def _split(
        self, metric: MetricSpec, items: Sequence[Item], votes: Sequence[Sequence[Scores]]
    ) -> tuple[int, float, Repeats]:
        """How many items all repeats decide, the share of those with one value in all, and the parts of the variance."""
        import numpy as np

        from medical_tasks.scoring.bootstrap import Repeats, linear, repeats

        def cell(name: str, score: ItemScore | None) -> tuple[float, float]:
            known = (None, None) if score is None else (score.values.get(name), score.weights.get(name))
            return sums(self._metrics[name], *known)

        columns: list[Any] = []  # a numerator and a denominator of each metric in it, of shape (items, repeats, votes)
        shares = components(self._metrics[metric.name], self._metrics).shares
        for name in shares:
            cells = [[[cell(name, each.get(item.id)) for each in one] for one in votes] for item in items]
            columns += [*np.moveaxis(np.array(cells), -1, 0).swapaxes(2, 3)]
        decided = np.all([np.isfinite(column).all(axis=(1, 2)) for column in columns], axis=0)
        counted = decided & np.any([column.any(axis=(1, 2)) for column in columns[1::2]], axis=0)
        above, below, *_ = columns = [column[counted] for column in columns]
        if not all(column.any() for column in columns[1::2]):
            return int(decided.sum()), math.nan, Repeats(sd_items=math.nan, sd_run=math.nan, sd_judge=math.nan)
        own = np.where(below, above / np.where(below, below, 1.0), np.inf)
        alike = np.isclose(own, own[:, :1, :1], rtol=0.0, atol=_ALIKE).all(axis=(1, 2)).mean()
        values = linear([*shares.values()], columns, np.ones(above.shape, dtype=np.bool_))
        clusters = (
            [item.cluster for item, one in zip(items, counted, strict=True) if one] if self._task.cluster else None
        )
        stability = math.nan if metric.kind == "average" else float(alike)
        return int(decided.sum()), stability, repeats(values if len(votes) > 1 else values[:, :, 0], clusters=clusters)
