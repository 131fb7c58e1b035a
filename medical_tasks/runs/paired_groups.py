"""Computes the paired figures of groups, from a benchmark's own pairs of items (`Benchmark.pairs`).

    items and scores -> pairs of a group and its reference
    -> difference of the headline metric with its 95 % interval: Tango's where items are
       right or wrong, else the bootstrap's (families are drawn whole)
    -> test: McNemar's exact one where items are right or wrong, else the bootstrap's
    -> Holm's correction over all groups tested -> flagged below 0.05

An item without a value (unanswered, unscored) excludes its pair. An unclear answer counts as
it does in the metric: as not right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.runs.numbers import FEWEST
from medical_tasks.runs.results import PairedFigure
from medical_tasks.scoring.estimates import as_json
from medical_tasks.spec import Item, ItemScore, MetricSpec, Pairs, TaskSpec

__all__ = ["paired_figures"]

_RESAMPLES: Final = 2000
"""Draws of each group's bootstrap."""

Values = npt.NDArray[np.float64]


def paired_figures(
    task: TaskSpec, items: Sequence[Item], scores: Mapping[str, ItemScore]
) -> list[PairedFigure]:
    """Computes each group's difference from its reference, within pairs; empty for most tasks.

    Args:
        task: the task, whose first metric is compared.
        items: all items that were asked.
        scores: the scores by item id.
    """
    pairs = task.benchmark.pairs(task, items)
    if not pairs:
        return []

    # For the few tasks that have pairs.
    from medical_tasks.scoring.paired import ALPHA, holm

    metric = task.metrics[0]
    clusters = {item.id: item.cluster for item in items}
    figures = [_figure(metric, group, scores, clusters) for group in pairs]
    adjusted = holm(
        [math.nan if (p := figure["p"]) is None else p for figure in figures]
    )
    for figure, p_holm in zip(figures, adjusted, strict=True):
        figure["p_holm"] = None if math.isnan(p_holm) else p_holm
        figure["flagged"] = p_holm < ALPHA

    return figures


def _figure(
    metric: MetricSpec,
    group: Pairs,
    scores: Mapping[str, ItemScore],
    clusters: Mapping[str, str],
) -> PairedFigure:
    """Makes one group's figure before Holm's correction; few pairs get no interval and no test."""
    values = {
        item: score.values.get(metric.name, math.nan) for item, score in scores.items()
    }
    ours, theirs = (
        np.array([values.get(pair[side], math.nan) for pair in group.items])
        for side in (0, 1)
    )
    families = [clusters[item] for item, _ in group.items]
    limits = metric.limits if all(map(math.isfinite, metric.limits)) else None
    from medical_tasks.scoring import paired

    binary = _right_or_wrong(ours, theirs)
    compared = (
        paired.paired_proportions(theirs, ours, clusters=families)
        if binary
        else paired.paired_bootstrap(
            theirs, ours, clusters=families, limits=limits, resamples=_RESAMPLES
        )
    )
    # Without -0.0, which a mirrored interval has.
    numbers = {
        name: value if value is None else value + 0
        for name, value in as_json(compared).items()
    }
    figure: PairedFigure = {
        "by": group.by,
        "group": group.group,
        "reference": group.reference,
        "metric": metric.name,
        "pairs": len(group.items),
        "n": compared.n,
        "value": numbers["value_b"],
        "reference_value": numbers["value_a"],
        "difference": numbers["difference"],
        "ci_low": numbers["ci_low"],
        "ci_high": numbers["ci_high"],
        "test": "McNemar" if binary else "bootstrap",
        "p": numbers["p_value"],
        "p_holm": None,
        "flagged": False,
    }
    if compared.n_clusters < FEWEST:
        figure |= {"ci_low": None, "ci_high": None, "p": None, "too_few": True}
    elif binary:
        figure["p"] = paired.mcnemar(theirs, ours, clusters=families).p_exact

    return figure


def _right_or_wrong(*columns: Values) -> bool:
    """Whether all items are right or wrong; over repeats they may be shares."""
    return all(
        bool(np.isin(column[~np.isnan(column)], (0, 1)).all()) for column in columns
    )
