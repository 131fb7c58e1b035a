"""The results computed again from the items of a package: what catches every edited number with no data at hand.

What items do not tell is left to `verifying`, which scores the answers again: the estimate where a metric is not decided on some
answer, which here has to lie where every such answer may have any value; and intervals of metrics without a largest value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard

from medical_tasks.leaderboard.submission_package.comparing import TOLERANCE, Difference, differences
from medical_tasks.leaderboard.submission_package.limits import ReadLimits
from medical_tasks.leaderboard.submission_package.problems import PackageError
from medical_tasks.runs.estimation import NO_VERDICT
from medical_tasks.runs.results import summarise, weight_column
from medical_tasks.scoring.averages import components
from medical_tasks.spec import Item, ItemScore, TaskSpec

__all__ = ["mark_incomparable", "recompute", "result_differences"]

_UNANSWERED: Final = "no answer: "
_BOUNDS: Final = frozenset({"bound_low", "bound_high"})
_INTERVAL: Final = frozenset({"ci_low", "ci_high"})
_ESTIMATE: Final = _BOUNDS | _INTERVAL | {"value", "n", "of", "std", "estimated", "reason"}
_COMPARED: Final = ("n_items", "metrics", "coverage", "breakdown")


def recompute(
    task: TaskSpec, entry: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], limits: ReadLimits
) -> dict[str, Any]:
    """Computes a task's entry of `results.json` from its items.

    Args:
        task: with the metrics that are reported.
        entry: what the package says; its breakdown tells how groups are called.
        rows: the task's items.
        limits: of the package.

    Raises:
        PackageError: The items are in more groups than a package may have, or no number can be made of them.
    """
    items: list[Item] = []
    scores: dict[str, ItemScore] = {}
    unanswered: dict[str, str] = {}
    for row in rows:
        groups = {by: _groups(str(row[f"group_{by}"]), entry["breakdown"].get(by, {})) for by in task.groups}
        if any(len(each) > limits.item_groups for each in groups.values()):
            raise PackageError(f"items.jsonl: an item is in more than {limits.item_groups} groups of one breakdown.")
        items.append(Item(id=row["id"], fields={}, groups=groups, cluster=row["cluster"]))
        reason = row["unscored"]
        if reason is not None and reason.startswith(_UNANSWERED):
            unanswered[row["id"]] = reason.removeprefix(_UNANSWERED)
        else:
            scores[row["id"]] = _score(task, row)
    for by in task.groups:
        if len({group for item in items for group in item.groups[by]}) > limits.groups:
            raise PackageError(f"items.jsonl, group_{by}: more than {limits.groups} groups. Is it the official data?")
    try:
        made = summarise(task, items, scores, unanswered, recipe={})
    except (ValueError, OverflowError) as error:
        raise PackageError(f"items.jsonl: no result can be computed of the items of {task.name} ({error}).") from error
    if not entry["recipe"].get("judge") or entry["recipe"]["judge"]["comparable"]:
        return made
    mark_incomparable(task, made)
    return made


def mark_incomparable(task: TaskSpec, entry: dict[str, Any]) -> None:
    """Marks the judged metrics of an entry as runs do for a judge that is not comparable."""
    judged = {metric.whole or metric.name for metric in task.metrics if metric.judged}
    for metrics in (entry["metrics"], *(group for by in entry["breakdown"].values() for group in by.values())):
        for name in judged.intersection(metrics):
            metrics[name]["comparable"] = False


def result_differences(
    task: TaskSpec, entry: Mapping[str, Any], made: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> Iterator[Difference]:
    """Compares what a package says with what its items give.

    Args:
        task: with the metrics that are reported.
        entry: of the package.
        made: from `recompute`.
        rows: the task's items.

    Yields:
        Each difference, but for what the items do not tell.
    """
    unknown = _unknown(task, rows)
    reasons = {NO_VERDICT, *(f"{NO_VERDICT}: {row['unscored']}" for row in rows if row["unscored"])}
    for name in _COMPARED:
        for found in differences(entry[name], made[name], (name,)):
            place, said, _ = found
            if unknown(place) and (
                said in reasons if isinstance(said, str) else not isinstance(said, bool | Mapping | list)
            ):
                continue
            yield found
    outer = dict(_metrics(made))
    for place, metric in _metrics(entry):
        for names in (
            ("ci_low", "value", "ci_high"),
            ("bound_low", "value", "bound_high"),
            ("bound_low", "bound_high"),
        ):
            known = [end for end in map(metric.get, names) if _is_number(end)]
            if known != sorted(known):
                yield (*place, names[0]), metric.get(names[0]), metric.get(names[1])
        limits, value = outer.get(place, {}), metric.get("value")
        low, high = limits.get("bound_low"), limits.get("bound_high")
        if not _is_number(value) or not unknown((*place, "value")):
            continue
        if metric.get("n") != limits.get("n", 0) + metric.get("estimated", 0):
            yield (*place, "n"), metric.get("n"), limits.get("n")
        if (_is_number(low) and value < low - TOLERANCE) or (_is_number(high) and value > high + TOLERANCE):
            yield (*place, "value"), value, low


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _metrics(entry: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    for name, metric in entry["metrics"].items():
        yield ("metrics", name), metric if isinstance(metric, Mapping) else {}
    for by, groups in entry["breakdown"].items():
        for group, metrics in groups.items():
            for name, metric in metrics.items():
                yield ("breakdown", by, group, name), metric if isinstance(metric, Mapping) else {}


def _unknown(task: TaskSpec, rows: Sequence[Mapping[str, Any]]) -> Callable[[tuple[str, ...]], bool]:
    """Says of a place in an entry whether the items do not decide what stands there."""
    own = {metric.name: metric for metric in task.metrics}
    endless = {name for name, metric in own.items() if not all(map(math.isfinite, metric.limits))}
    lacking = {
        name: {bool(row["answer_sha256"]) for row in rows if row[name] is None}
        for name, metric in own.items()
        if metric.kind != "average"
    }
    # What an unanswered item can be at most, only the benchmark knows.
    estimated = {
        name for name, found in lacking.items() if (True in found or (found and name in endless)) and not own[name].ends
    }
    open_bounds = estimated | {name for name, found in lacking.items() if True in found or (found and endless)}
    for name, metric in own.items():
        if metric.kind == "average":
            parts = components(metric, own).shares
            open_bounds |= {name} if open_bounds.intersection(parts) else set()
            estimated |= {name} if estimated.intersection(parts) else set()
    open_intervals = {name for name in endless if own[name].kind == "mean"}
    for names in (open_bounds, open_intervals, estimated):
        names |= {own[name].whole for name in tuple(names) if own[name].whole}

    def unknown(place: tuple[str, ...]) -> bool:
        if len(place) < 3:
            return False
        leaf, name = place[-1], place[-2]
        known = (leaf in _BOUNDS and name in open_bounds) or (leaf in _INTERVAL and name in open_intervals)
        return known or (leaf in _ESTIMATE and name in estimated)

    return unknown


def _groups(said: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    """The groups that a cell names: one, whose name may hold spaces, or several with spaces between."""
    return (said,) if said in known else tuple(dict.fromkeys(said.split(" ")))


def _score(task: TaskSpec, row: Mapping[str, Any]) -> ItemScore:
    values: dict[str, float] = {}
    weights: dict[str, float] = {}
    for metric in task.metrics:
        if metric.kind == "average" or row[metric.name] is None:
            continue
        values[metric.name] = float(row[metric.name])
        if metric.kind == "ratio":
            weights[metric.name] = float(row[weight_column(metric.name)])
    return ItemScore(id=row["id"], values=values, weights=weights, unscored=row["unscored"])
