"""One metric of two runs on the same items: values, difference, interval, test, what so many items can show, what flipped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from medical_tasks.comparison.columns import Columns
from medical_tasks.scoring.averages import average_of
from medical_tasks.scoring.columns import Floats
from medical_tasks.scoring.statistics import (
    Comparison,
    as_json,
    holm,
    mcnemar,
    minimum_detectable_difference,
    paired_bootstrap,
    paired_bootstrap_statistic,
)

__all__ = ["CHANGED", "FEWEST", "GROUP_RESAMPLES", "RESAMPLES", "adjust", "compare_columns"]

FEWEST: Final = 10
"""Fewer independent pairs than these, and no interval is to be relied on; a group of fewer gets none."""
RESAMPLES: Final = 2000
"""Draws of the bootstrap for a whole task."""
GROUP_RESAMPLES: Final = 1000
"""Draws for a group of a breakdown, of which there can be many."""
CHANGED: Final = 1e-12
"""Values that are closer than this are the same but for rounding."""


def compare_columns(columns: Columns, *, resamples: int = RESAMPLES, whole: bool = True) -> dict[str, Any]:
    """Compares two runs, the second minus the first.

    Args:
        columns: the metric on the items of both.
        resamples: draws of the bootstrap.
        whole: whether this is a task and not a group; a group of few pairs gets no interval and no test.

    Returns:
        JSON values: `value_a`, `value_b`, `difference`, `ci_low`, `ci_high`, `p_value` (bootstrap), `n`, `n_clusters`,
        `minimum_detectable_difference`; `mcnemar` for proportions; `test` and `p`, the test to read; `flips`; `notes`.

    Raises:
        ValueError: Values that the metric cannot have.
    """
    metric = columns.metric
    limits = metric.limits if all(map(math.isfinite, metric.limits)) else None
    made = _bootstrap(columns, limits, resamples)
    # Without -0.0, which swapping runs leaves.
    entry: dict[str, Any] = {name: value if value is None else value + 0 for name, value in as_json(made).items()}
    entry["minimum_detectable_difference"] = _detectable(columns, limits)
    entry["test"], entry["p"] = "bootstrap", entry["p_value"]
    if metric.kind == "proportion" and columns.values is not None:
        tested = mcnemar(*columns.values, clusters=columns.clusters)
        entry["mcnemar"] = as_json(tested)
        entry["test"], entry["p"] = "McNemar", tested.p_exact if tested.n else None
    entry["flips"] = _flips(columns)
    entry["higher_is_better"] = metric.higher_is_better
    if metric.unit:
        entry["unit"] = metric.unit
    if columns.missing:
        entry |= {"missing_components": list(columns.missing), "comparable": False}
    few = made.n_clusters < FEWEST
    if few and not whole:
        entry |= {"ci_low": None, "ci_high": None, "p_value": None, "p": None, "minimum_detectable_difference": None}
        entry.pop("mcnemar", None)
        entry["too_few"] = True
    entry["notes"] = [_few_said(made)] if few else []
    return entry


def adjust(entries: Sequence[dict[str, Any]]) -> None:
    """Adds to a family of tests their p values adjusted by Holm (`p_holm`), and how many there are (`tests`).

    Args:
        entries: of `compare_columns`; changed. Those without a p value are no members of the family.
    """
    adjusted = holm([math.nan if entry["p"] is None else entry["p"] for entry in entries])
    tests = sum(entry["p"] is not None for entry in entries)
    for entry, value in zip(entries, adjusted, strict=True):
        entry["p_holm"], entry["tests"] = None if math.isnan(value) else value, tests


def _bootstrap(columns: Columns, limits: tuple[float, float] | None, resamples: int) -> Comparison:
    if columns.metric.kind in ("proportion", "mean") and columns.values is not None:
        return paired_bootstrap(*columns.values, clusters=columns.clusters, limits=limits, resamples=resamples)
    return paired_bootstrap_statistic(
        columns.first,
        columns.second,
        average_of(columns.shares),
        clusters=columns.clusters,
        limits=limits,
        resamples=resamples,
    )


def _detectable(columns: Columns, limits: tuple[float, float] | None) -> float | None:
    if columns.metric.kind in ("proportion", "mean") and columns.values is not None:
        sides, ends = columns.values, limits
    else:
        # What an item adds to a statistic of sums (its linear part): the mean of these is the statistic, their spread its error.
        counted = np.isfinite(np.stack([*columns.first, *columns.second])).all(axis=0)
        sides = (_linear(columns.shares, columns.first, counted), _linear(columns.shares, columns.second, counted))
        ends = None
    found = minimum_detectable_difference(*sides, clusters=columns.clusters, limits=ends)
    return None if math.isnan(found) else found


def _linear(shares: Sequence[float], columns: Sequence[Floats], counted: Any) -> Floats:
    made = np.where(counted, 0.0, np.nan)
    for share, above, below in zip(shares, columns[::2], columns[1::2], strict=True):
        total = math.fsum(below[counted])
        if not total:
            return np.full(len(made), np.nan)
        ratio, mean = math.fsum(above[counted]) / total, total / int(counted.sum())
        made = made + share * (ratio + (above - ratio * below) / mean)
    return made


def _flips(columns: Columns) -> dict[str, int] | None:
    """How many items are better in the second run, worse, and the same; None where items have no values of their own."""
    if columns.values is None:
        return None
    change = columns.values[1] - columns.values[0]
    change = change[np.isfinite(change)] * (1.0 if columns.metric.higher_is_better else -1.0)
    improved, worsened = int((change > CHANGED).sum()), int((change < -CHANGED).sum())
    return {"improved": improved, "worsened": worsened, "same": len(change) - improved - worsened}


def _few_said(made: Comparison) -> str:
    if not made.n:
        return "no item has a value in both runs, so that nothing can be said"
    pairs = f"{made.n} pair" + ("" if made.n == 1 else "s")
    if made.n_clusters < made.n:
        pairs += f" in {made.n_clusters} independent group" + ("" if made.n_clusters == 1 else "s")
    if made.n_clusters == 1:
        return f"only {pairs}: nothing tells how much it would vary, so that the interval is all that is possible"
    return f"only {pairs}, fewer than {FEWEST}: the interval is rough, at worst all that is possible; conclude nothing from it"
