"""Measures how far several evaluations of the same answers agree (`--evaluations`).

`--repeats` asks the model again; here the answers stay, and a judge that samples decides
them again. Value, interval and bounds are computed as in `repeating`, with evaluations in
place of repeats: the mean over all is a better estimate than any single one, and its
interval includes the variance that the judge's sampling adds.

Example:
    Two answers of four claims each were judged three times:

    | answer | evaluation 1 | 2 | 3 | mean | sd |
    |---|---|---|---|---|---|
    | a | 3/4 | 2/4 | 3/4 | 0.667 | 0.144 |
    | b | 1/4 | 1/4 | 1/4 | 0.25 | 0 |

    The score is 0.5, 0.375 and 0.5, with a standard deviation of 0.072; the mean sd of
    an answer is 0.072; one of two answers has one value in all evaluations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from statistics import stdev
from typing import Final

import numpy as np

from medical_tasks.runs.repeating import ALIKE, Scores
from medical_tasks.runs.results import Figures, JsonDict, Row, item_of
from medical_tasks.runs.summary import ScoredTask
from medical_tasks.scoring.estimates import Floats, as_json
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.scoring.reliability import (
    all_alike,
    alpha_interval,
    interval_alpha,
    intraclass_interval,
    within_sd,
)
from medical_tasks.spec import ItemScore, MetricSpec, TaskSpec

SD: Final = "_evaluation_sd"
"""The suffix of the column with the standard deviation of an item's values."""
_WORD: Final = re.compile(r"[\w /-]{1,40}")
"""A class in words; a longer verdict is a text that the judge wrote."""


def reliability(
    scored: ScoredTask, figures: Figures, decided: Sequence[Row]
) -> JsonDict:
    """Measures how far a task's evaluations agree, for each metric and over all verdicts.

    Args:
        scored: the task with the scores of each evaluation.
        figures: the figures over all items, with the value in each evaluation.
        decided: every question of every evaluation with its verdict.
    """
    metrics = {
        metric.name: _metric_agreement(metric, scored, figures)
        for metric in scored.task.metrics
        if metric.judged and "evaluations" in figures.get(metric.name, {})
    }
    return {
        "n": len(scored.repeats),
        "metrics": metrics,
        "verdicts": _verdict_agreement(scored, decided),
    }


def sd_columns(task: TaskSpec) -> list[str]:
    """Names the columns with the standard deviations of items' values over evaluations."""
    return [metric.name + SD for metric in _item_metrics(task)]


def with_sd(
    task: TaskSpec, rows: Sequence[Row], evaluations: Sequence[Scores]
) -> list[JsonDict]:
    """Adds to the items' rows the standard deviation of each judged value over evaluations."""
    added = []
    for row in rows:
        values = {
            metric.name + SD: _values(metric, row["id"], evaluations)
            for metric in _item_metrics(task)
        }
        spread = {
            name: stdev(decided) if len(decided) > 1 else None
            for name, decided in values.items()
        }
        added.append({**row, **spread})

    return added


def _item_metrics(task: TaskSpec) -> list[MetricSpec]:
    """Returns the judged metrics with a value for each item."""
    return [
        metric for metric in task.metrics if metric.judged and metric.kind != "average"
    ]


def _values(
    metric: MetricSpec, item: str, evaluations: Sequence[Scores]
) -> list[float]:
    """Returns an item's values in the evaluations that decide it."""
    values = (_value(metric, scores.get(item)) for scores in evaluations)
    return [value for value in values if not math.isnan(value)]


def _value(metric: MetricSpec, score: ItemScore | None) -> float:
    """Returns an item's value; `nan` if it is undecided or has no weight."""
    if score is None or not score.weights.get(metric.name, 1.0):
        return math.nan
    return score.values.get(metric.name, math.nan)


def _metric_agreement(
    metric: MetricSpec, scored: ScoredTask, figures: Figures
) -> JsonDict:
    """Measures the agreement on a metric: its values, and the agreement over items.

    Intraclass correlation and exact agreement need items that all evaluations decide;
    alpha needs two values of an item.
    """
    figure = figures[metric.name]
    values = figure["evaluations"]["values"]
    defined = [value for value in values if value is not None]
    agreement: JsonDict = {
        "values": values,
        "mean": figure["value"],
        "sd": stdev(defined) if len(defined) > 1 else None,
        "min": min(defined, default=None),
        "max": max(defined, default=None),
    }
    if metric.kind == "average":  # computed from totals: items have no value
        return agreement

    table = np.array(
        [
            [_value(metric, scores.get(item.id)) for scores in scored.repeats]
            for item in scored.items
        ]
    ).reshape(len(scored.items), len(scored.repeats))
    complete = np.isfinite(table).all(axis=1)
    labels = _labels(scored)
    clusters = [label for label, kept in zip(labels, complete, strict=True) if kept]
    same = proportion_interval(_alike(table), clusters=labels)
    spread = within_sd(table[complete])

    return {
        **agreement,
        "items": int(complete.sum()),
        "within_item_sd": None if math.isnan(spread) else spread,
        "icc": as_json(intraclass_interval(table[complete], clusters=clusters)),
        "alpha": as_json(interval_alpha(table, clusters=labels)),
        "exact_agreement": as_json(same),
    }


def _alike(table: Floats) -> Floats:
    """Whether each item has the same value in all evaluations; `nan` if one evaluation lacks it.

    Example:
        >>> _alike(np.array([[1.0, 1.0], [0.0, 1.0], [np.nan, 1.0]])).tolist()
        [1.0, 0.0, nan]
    """
    reach = np.ptp(table, axis=1)
    return np.where(np.isnan(reach), np.nan, reach <= ALIKE)


def _labels(scored: ScoredTask) -> list[str]:
    """Returns the cluster of each item, or its id if items are not clustered."""
    clustered = scored.task.cluster is not None
    return [
        str(item.cluster) if clustered and item.cluster else item.id
        for item in scored.items
    ]


def _verdict_agreement(scored: ScoredTask, decided: Sequence[Row]) -> JsonDict:
    """Measures the agreement of verdicts as classes.

    Questions about texts that the judge itself wrote, such as claims that it extracted, may
    occur in one evaluation only; these are left out.

    A unit is one statement of one question, with its class in each evaluation: for a batch
    whose verdicts are (True, False) and then (True, True) there are two, of which the first
    agrees. The key holds the hash of what was asked, since the same id may ask about another
    text.
    """
    evaluations = len(scored.repeats)
    units: dict[tuple[str, str, int], list[Hashable | None]] = {}
    for row in decided:
        for index, verdict in enumerate(_classes(row.get("value"))):
            key = (str(row["id"]), str(row["sha256"]), index)
            unit = units.setdefault(key, [None] * evaluations)
            unit[row.get("evaluation", 1) - 1] = verdict

    several = {
        key: unit
        for key, unit in units.items()
        if sum(verdict is not None for verdict in unit) > 1
    }
    by_item = dict(
        zip((item.id for item in scored.items), _labels(scored), strict=True)
    )
    labels = [_label(question, by_item) for question, *_ in several]
    ratings = list(several.values())
    same = proportion_interval(all_alike(ratings), clusters=labels)

    return {
        "questions": len(ratings),
        "alpha": as_json(alpha_interval(ratings, clusters=labels)),
        "exact_agreement": as_json(same),
    }


def _label(question: str, by_item: Mapping[str, str]) -> str:
    item = item_of(question, by_item)
    return question if item is None else by_item[item]


def _classes(value: object) -> Sequence[Hashable | None]:
    """Returns the classes that a verdict names: one, or one for each statement of a batch.

    A text that the judge wrote has none. Example: `True` is one class, `(True, None, False)`
    are two and a missing one, and `(True, (1, 4))` is one: a sentence with the citations
    that it needs.
    """
    if isinstance(value, bool | int | float):
        return [value]
    if isinstance(value, str):
        return [value] if _WORD.fullmatch(value) else []

    if isinstance(value, tuple | list):
        plain = all(isinstance(element, bool | str | None) for element in value)
        if not plain:
            return [str(value)]

        words = (
            _WORD.fullmatch(element) for element in value if isinstance(element, str)
        )
        return tuple(value) if all(words) else []

    return []
