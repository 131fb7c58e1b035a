"""The Brier score of two runs as a metric: a mean over items, compared like any other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from medical_tasks.runs.confidence import COLUMN
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import Json, JsonDict, Row
from medical_tasks.spec import MetricSpec, TaskSpec

BRIER: Final = "confidence_brier"


def brier_metric(task: TaskSpec, recipes: Sequence[Json]) -> MetricSpec | None:
    """Makes the Brier score a metric of two runs; None if single answers have no such score.

    With `--repeats` an item's row has means, and the error of a mean is not the mean error.
    """
    headline = task.metrics[0]
    repeated = any("repeats" in mapping(recipe) for recipe in recipes)
    if headline.kind != "proportion" or repeated:
        return None

    return MetricSpec(
        name=BRIER,
        kind="mean",
        description="mean squared error of the confidence",
        higher_is_better=False,
        unit="score",
        judged=headline.judged,
    )


def with_brier(task: TaskSpec, rows: Sequence[Row]) -> list[JsonDict]:
    """Adds the squared error of each confidence to the rows, null if it is unknown."""
    headline = task.metrics[0].name
    return [{**row, BRIER: _squared_error(row, headline)} for row in rows]


def _squared_error(row: Row, headline: str) -> float | None:
    sure, right = row.get(COLUMN), row.get(headline)
    if sure is None or right is None or row.get("unclear") or math.isnan(right):
        return None
    return float((sure - right) ** 2)
