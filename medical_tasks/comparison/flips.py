"""The items that changed from one run to the other: which became better, which became worse."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from medical_tasks.comparison.columns import item_value
from medical_tasks.comparison.comparing import Compared, shared_rows
from medical_tasks.comparison.pairs import Pair
from medical_tasks.comparison.statistics import CHANGED
from medical_tasks.runs.recipe_differences import one_line
from medical_tasks.spec import MetricSpec, TaskSpec

__all__ = ["add_flips", "flipped_items"]

_DIGITS = re.compile(r"(\d+)")


def flipped_items(
    metric: MetricSpec,
    first: Sequence[Mapping[str, Any]],
    second: Sequence[Mapping[str, Any]],
    *,
    most: int,
    parsed: bool,
) -> dict[str, list[dict[str, Any]]]:
    """Lists the items on which a metric changed.

    Args:
        metric: one that items have values of.
        first: the first run's rows.
        second: the second run's rows of the same items, in the same order.
        most: how many of either direction at most; of proportions the first by id, of others the largest changes.
        parsed: whether the answers as they were read may be shown: for open data alone.

    Returns:
        `improved` and `worsened`, by the metric's direction: a list of `id`, `a`, `b` (both values), and with `parsed` the answers
        as they were read, `parsed_a` and `parsed_b`, on one line each.
    """
    changed = []
    for a, b in zip(first, second, strict=True):
        change = item_value(metric, b) - item_value(metric, a)
        if abs(change) > CHANGED:  # not for nan
            changed.append((change if metric.higher_is_better else -change, a, b))
    # By the size of the change, in a proportion all alike, then by id.
    changed.sort(key=lambda each: (-abs(each[0]), _by_number(str(each[1]["id"]))))
    return {
        name: [_told(metric, a, b, parsed=parsed) for change, a, b in changed if (change > 0) is better][:most]
        for name, better in (("improved", True), ("worsened", False))
    }


def add_flips(
    pair: Pair,
    runs: Sequence[Compared],
    tasks: Mapping[str, TaskSpec],
    *,
    most: int,
    metrics: Collection[str] = (),
    parsed: Collection[str] = (),
) -> None:
    """Adds to a pair's entries of metrics the items that changed, under `items`.

    Args:
        pair: the pair; changed.
        runs: all runs.
        tasks: all tasks by name.
        most: how many of either direction at most.
        metrics: names of metrics; the first one of each task when empty.
        parsed: names of the tasks whose answers may be shown as they were read.
    """
    sides = [_rows(runs[place]) for place in (pair.first, pair.second)]
    for name, entry in pair.tasks.items():
        if not entry["metrics"]:
            continue
        rows = shared_rows(sides[0].get(name, {}), sides[1].get(name, {}))
        known = {metric.name: metric for metric in tasks[name].metrics}
        for metric in metrics or [next(iter(entry["metrics"]))]:
            if metric in entry["metrics"] and known[metric].kind != "average":
                found = flipped_items(known[metric], *rows, most=most, parsed=name in parsed)
                entry["metrics"][metric]["items"] = found


def _rows(run: Compared) -> dict[str, dict[str, Mapping[str, Any]]]:
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in run.rows:
        found.setdefault(row["task"], {})[row["id"]] = row
    return found


def _by_number(text: str) -> list[tuple[int, int, str]]:
    """Orders 2 before 10."""
    return [
        (0, int(part[:18]), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in _DIGITS.split(text)
        if part
    ]


def _told(metric: MetricSpec, a: Mapping[str, Any], b: Mapping[str, Any], *, parsed: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"id": str(a["id"]), "a": item_value(metric, a), "b": item_value(metric, b)}
    # A row that was redacted has a hash of its answer, and no answer.
    if parsed and "response_sha256" not in a and "response_sha256" not in b:
        told |= {f"parsed_{side}": one_line(str(row.get("parsed") or "")) for side, row in (("a", a), ("b", b))}
    return told
