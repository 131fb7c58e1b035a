"""Several answers to each item (`run --repeats`): what they are together, and a metric's number over all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from statistics import fmean
from typing import Any, Final

from medical_tasks.runs.estimation import Estimator, unanswered_value
from medical_tasks.scoring.averages import components, sums
from medical_tasks.spec import UNANSWERED, Item, ItemScore, MetricSpec, TaskSpec

Scores = Mapping[str, ItemScore]
_ALIKE: Final = 1e-9  # values this near are one outcome


def over_repeats(
    task: TaskSpec, scores: Sequence[Scores], unanswered: Sequence[Mapping[str, str]]
) -> Scores:
    """Each item's mean over the repeats that decide it, weighted by its denominators.

    What one repeat lacks is said of the item, and so is why one is unclear; bounds are made of the repeats themselves.
    """
    if len(scores) == 1:
        return scores[0]
    lacking = {name: UNANSWERED + why for each in unanswered for name, why in each.items()}
    made = {}
    for item in dict.fromkeys(item for each in scores for item in each):
        there = [each[item] for each in scores if item in each]
        values, weights = {}, {}
        for name in (metric.name for metric in task.metrics):
            cells = [
                (one.values[name], one.weights.get(name, 1.0))
                for one in there
                if name in one.values
            ]
            if (
                cells := [cell for cell in cells if cell[1] and not math.isnan(cell[0])]
                or cells[:1]
            ):
                of = math.fsum(weight for _, weight in cells)
                values[name] = (
                    math.fsum(math.prod(cell) for cell in cells) / of if of else cells[0][0]
                )
                weights[name] = of / len(cells)
        unscored, unclear = _first_reasons(there)
        made[item] = replace(
            there[0],
            values=values,
            weights=weights,
            unscored=lacking.get(item) or unscored,
            unclear=unclear,
            limits={},
            counts={},
        )
    return made


def _first_reasons(scores: Sequence[ItemScore]) -> tuple[str | None, str]:
    """The first reason for which one of the repeats is unscored, and for which one is unclear."""
    unscored = next((score.unscored for score in scores if score.unscored), None)
    return unscored, next((score.unclear for score in scores if score.unclear), "")


class RepeatedEstimator(Estimator):
    """Of a task whose items were answered several times."""

    def __init__(
        self,
        task: TaskSpec,
        scores: Scores,
        repeats: Sequence[Scores],
        votes: Sequence[Sequence[Scores]],
        **known: Any,
    ) -> None:
        """Takes the scores of `over_repeats`, those of each repeat, and each vote's (of a judge with several) of each repeat."""
        # An item that is right in some of the repeats is a mean.
        plain = [
            replace(each, kind="mean") if each.kind == "proportion" else each
            for each in task.metrics
        ]
        super().__init__(replace(task, metrics=tuple(plain)), scores, **known)
        self._each = [Estimator(task, each, **known) for each in repeats]
        self._metrics, self._repeats, self._votes = (
            {metric.name: metric for metric in plain},
            repeats,
            votes,
        )

    def entry(self, metric: MetricSpec, items: Sequence[Item]) -> dict[str, Any]:
        """Computes a metric's entry: the mean over repeats, the interval around the items' means widened by the runs."""
        from medical_tasks.scoring.means import proportion_interval

        each = [one.entry(metric, items) for one in self._each]
        values = [one["value"] for one in each]
        known = [one for one in each if one["value"] is not None]
        told: dict[str, Any] = {"k": len(each), "values": values}
        if len(known) < len(each) and (metric.official or not known):
            return {**each[values.index(None)], "repeats": told}
        whole = super().entry(self._metrics[metric.name], items)
        if whole["value"] is None:  # no item is decided whole: the interval of one repeat
            whole = known[0]
        elif (
            metric.kind == "proportion"
        ):  # each answer is right or wrong, those to one item being a cluster
            scored = [
                (item, one[item.id].values)
                for item in items
                for one in self._repeats
                if item.id in one
            ]
            cells = [
                (each.cluster if self._task.cluster else each.id, values.get(metric.name))
                for each, values in scored
            ]
            labels, right = zip(*(cell for cell in cells if cell[1] is not None), strict=True)
            whole |= asdict(proportion_interval(right, clusters=labels)) | {"n": whole["n"]}
        decided, stability, found = self._split(metric, items, [self._repeats])
        split = self._split(metric, items, self._votes)[2] if self._votes else found
        entry = {name: part for name, part in whole.items() if name not in ("scored", "estimated")}
        entry["value"] = fmean(one["value"] for one in known)
        for name, sign, end in (("ci_low", -1.0, max), ("ci_high", 1.0, min)):
            if whole[name] is not None:
                moved = entry["value"] + sign * math.hypot(
                    whole[name] - whole["value"], found.margin
                )
                entry[name] = end(moved, metric.limits[sign > 0])
        for name in ("bound_low", "bound_high"):
            ends = [one[name] for one in each]
            entry[name] = None if None in ends else fmean(ends)
        entry |= {"scored": decided} if decided < len(items) else {}
        entry |= (
            {"estimated": most} if (most := max(one.get("estimated", 0) for one in each)) else {}
        )
        told |= {"sd_items": split.sd_items, "sd_run": split.sd_run, "stability": stability}
        told |= {"sd_judge": split.sd_judge} if self._votes else {}
        return {
            **entry,
            "repeats": {name: None if part != part else part for name, part in told.items()},
        }

    def _split(
        self, metric: MetricSpec, items: Sequence[Item], votes: Sequence[Sequence[Scores]]
    ) -> tuple[int, float, Any]:
        """How many items all repeats decide, the share of those with one value in all, and the parts of the variance."""
        import numpy as np

        from medical_tasks.scoring.bootstrap import Repeats, linear, repeats

        def cell(name: str, score: ItemScore | None) -> tuple[float, float]:
            metric = self._metrics[name]
            if score is None:
                return sums(metric, unanswered_value(metric), None)
            return sums(metric, score.values.get(name), score.weights.get(name))

        columns: list[
            Any
        ] = []  # numerators and denominators in turns, of shape (items, repeats, votes)
        shares = components(self._metrics[metric.name], self._metrics).shares
        for name in shares:
            cells = [
                [[cell(name, each.get(item.id)) for each in one] for one in votes] for item in items
            ]
            columns += [*np.moveaxis(np.array(cells), -1, 0).swapaxes(2, 3)]
        decided = np.all([np.isfinite(column).all(axis=(1, 2)) for column in columns], axis=0)
        counted = decided & np.any([column.any(axis=(1, 2)) for column in columns[1::2]], axis=0)
        above, below, *_ = columns = [column[counted] for column in columns]
        clusters = (
            [item.cluster for item, one in zip(items, counted, strict=True) if one]
            if self._task.cluster
            else None
        )
        added = linear([*shares.values()], columns, np.ones(above.shape, dtype=np.bool_))
        found = repeats(added, clusters=clusters) if np.isfinite(added).all() else Repeats()
        own = np.where(below, above / np.where(below, below, 1.0), np.inf)
        alike = np.isclose(own, own[:, :1, :1], rtol=0.0, atol=_ALIKE).all(axis=(1, 2))
        stability = float(alike.mean()) if counted.any() and metric.kind != "average" else math.nan
        return int(decided.sum()), stability, found
