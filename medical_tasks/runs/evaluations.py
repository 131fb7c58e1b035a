"""How far several evaluations of the same answers agree (`--evaluations`).

`--repeats` asks the model anew; here the answers stay, and a judge that samples decides
them again. Value, interval and bounds are those of `repeating`, with evaluations in
place of repeats: the mean over all is a better estimate than any one, and its interval
holds what the judge's sampling adds.

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
"""Ends the name of the column with the standard deviation of an item's values."""
_WORD: Final = re.compile(r"[\w /-]{1,40}")
"""A verdict in words; a longer text is what a judge wrote, and no class."""


def reliability(
    scored: ScoredTask, figures: Figures, decided: Sequence[Row]
) -> JsonDict:
    """How far a task's evaluations agree: by metric over items, and over all verdicts.

    Args:
        scored: the task with the scores of each evaluation.
        figures: of all items, which hold the value in each evaluation.
        decided: every question of every evaluation with its verdict.
    """
    metrics = {
        metric.name: _of_metric(metric, scored, figures)
        for metric in scored.task.metrics
        if metric.judged and "evaluations" in figures.get(metric.name, {})
    }
    return {
        "n": len(scored.repeats),
        "metrics": metrics,
        "verdicts": _of_verdicts(scored, decided),
    }


def sd_columns(task: TaskSpec) -> list[str]:
    """The columns with the standard deviations of items' values over evaluations."""
    return [metric.name + SD for metric in _with_items(task)]


def with_sd(
    task: TaskSpec, rows: Sequence[Row], evaluations: Sequence[Scores]
) -> list[JsonDict]:
    """The items' rows with the standard deviation of each judged value over evaluations."""
    added = []
    for row in rows:
        values = {
            metric.name + SD: _values(metric, row["id"], evaluations)
            for metric in _with_items(task)
        }
        spread = {
            name: stdev(some) if len(some) > 1 else None
            for name, some in values.items()
        }
        added.append({**row, **spread})

    return added


def _with_items(task: TaskSpec) -> list[MetricSpec]:
    """The judged metrics of which an item has a value."""
    return [
        metric for metric in task.metrics if metric.judged and metric.kind != "average"
    ]


def _values(
    metric: MetricSpec, item: str, evaluations: Sequence[Scores]
) -> list[float]:
    """An item's values in the evaluations that decide it."""
    values = (_value(metric, scores.get(item)) for scores in evaluations)
    return [value for value in values if not math.isnan(value)]


def _value(metric: MetricSpec, score: ItemScore | None) -> float:
    """An item's value; `nan` where it is not decided, or counts nothing."""
    if score is None or not score.weights.get(metric.name, 1.0):
        return math.nan
    return score.values.get(metric.name, math.nan)


def _of_metric(metric: MetricSpec, scored: ScoredTask, figures: Figures) -> JsonDict:
    """How far evaluations agree on a metric: its values, and agreement over the items.

    Intraclass correlation and exact agreement need items that all evaluations decide;
    alpha needs two values of an item.
    """
    figure = figures[metric.name]
    values = figure["evaluations"]["values"]
    known = [value for value in values if value is not None]
    found: JsonDict = {
        "values": values,
        "mean": figure["value"],
        "sd": stdev(known) if len(known) > 1 else None,
        "min": min(known, default=None),
        "max": max(known, default=None),
    }
    if metric.kind == "average":  # of totals: items have no value of it
        return found

    table = np.array(
        [
            [_value(metric, scores.get(item.id)) for scores in scored.repeats]
            for item in scored.items
        ]
    ).reshape(len(scored.items), len(scored.repeats))
    whole = np.isfinite(table).all(axis=1)
    labels = _labels(scored)
    clusters = [label for label, kept in zip(labels, whole, strict=True) if kept]
    same = proportion_interval(_alike(table), clusters=labels)
    spread = within_sd(table[whole])

    return {
        **found,
        "items": int(whole.sum()),
        "within_item_sd": None if math.isnan(spread) else spread,
        "icc": as_json(intraclass_interval(table[whole], clusters=clusters)),
        "alpha": as_json(interval_alpha(table, clusters=labels)),
        "exact_agreement": as_json(same),
    }


def _alike(table: Floats) -> Floats:
    """Of each item whether it has one value in all evaluations; `nan` where one lacks it."""
    reach = np.ptp(table, axis=1)
    return np.where(np.isnan(reach), np.nan, reach <= ALIKE)


def _labels(scored: ScoredTask) -> list[str]:
    """The cluster of each item, or its id where items stand alone."""
    clustered = scored.task.cluster is not None
    return [
        str(item.cluster) if clustered and item.cluster else item.id
        for item in scored.items
    ]


def _of_verdicts(scored: ScoredTask, decided: Sequence[Row]) -> JsonDict:
    """Agreement of verdicts as classes.

    Questions on what the judge itself wrote, as claims that it took a text apart into,
    may be put in one evaluation alone: they are left out.
    """
    evaluations = len(scored.repeats)
    units: dict[tuple[str, str, int], list[Hashable | None]] = {}
    for row in decided:
        for place, verdict in enumerate(_classes(row.get("value"))):
            key = (str(row["id"]), str(row["sha256"]), place)
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
    """The classes that a verdict names: one, or one for each statement of a batch.

    None are in a text that the judge wrote. Example: `True` is one class, `(True, None,
    False)` are two and a missing one, and `(True, (1, 4))` is one, a sentence with the
    citations that it needs.
    """
    if isinstance(value, bool | int | float):
        return [value]
    if isinstance(value, str):
        return [value] if _WORD.fullmatch(value) else []

    if isinstance(value, tuple | list):
        plain = all(isinstance(each, bool | str | None) for each in value)
        if not plain:
            return [str(value)]

        words = (_WORD.fullmatch(each) for each in value if isinstance(each, str))
        return tuple(value) if all(words) else []

    return []
