"""Which results can stand in one ranking, their ranks as ranges, and the overall table (rules: `docs/leaderboard.md`).

The overall mean has the MOVER interval (method of variance estimates recovery, Zou and Donner, Statistics in Medicine 2008):
benchmarks share no items, so the squared distances from value to limit add up.
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from medical_tasks.benchmarks.catalog import BENCHMARKS, tasks
from medical_tasks.leaderboard.records import Entry
from medical_tasks.leaderboard.submission_package.submitters import model_key
from medical_tasks.leaderboard.submission_package.values import is_number
from medical_tasks.runs.recipes import mapping
from medical_tasks.spec import MetricSpec, TaskSpec


@dataclass(frozen=True, kw_only=True)
class RankRange:
    """The best and worst place an entry can have, from 1."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def rank_ranges(entries: Sequence[Entry], metric: MetricSpec) -> list[RankRange | None]:
    """Ranks entries by one metric, those of each group among themselves; None for one without a rank."""
    groups: dict[tuple[str, ...], list[tuple[int, float, float]]] = {}
    for index, entry in enumerate(entries):
        found = mapping(entry.metrics.get(metric.name))
        bounds = _interval(found)
        if bounds is None or entry.state == "reported" or entry.differences:
            continue
        key = (entry.task, entry.group, measure_of(metric, found, entry.recipe))
        groups.setdefault(key, []).append((index, *bounds))
    places: list[RankRange | None] = [None] * len(entries)
    for members in groups.values():
        ranked = ranges([member[1:] for member in members], higher_is_better=metric.higher_is_better)
        for (index, _, _), place in zip(members, ranked, strict=True):
            places[index] = place
    return places


def ranges(intervals: Sequence[tuple[float, float]], *, higher_is_better: bool = True) -> list[RankRange]:
    """Ranks intervals (lower, upper), in their order; those that touch overlap."""
    turned = intervals if higher_is_better else [(-high, -low) for low, high in intervals]
    lows, highs = sorted(low for low, _ in turned), sorted(high for _, high in turned)
    n = len(turned)
    return [RankRange(first=1 + n - bisect_right(lows, high), last=n - bisect_left(highs, low)) for low, high in turned]


def _interval(found: Mapping[str, Any]) -> tuple[float, float] | None:
    value, low, high = (found.get(key) for key in ("value", "ci_low", "ci_high"))
    if not (is_number(value) and is_number(low) and is_number(high)) or low > high or found.get("comparable") is False:
        return None
    return float(low), float(high)


_DIGITS: Final = 10
# Each model's answers have claims of their own; only how they were made separates.
_OUTPUT_CLAIMS: Final = "output_claims"


def group_of(task: TaskSpec, recipe: Mapping[str, Any]) -> str:
    """Names the group of a result: a short hash, the same for results whose numbers can be ranked together."""
    needed = {metric.needs for metric in task.metrics}
    scoring = mapping(recipe.get("scoring"))
    decides = {key: recipe.get(key) for key in ("metrics", "prompts", "protocol", "baseline", "judge")}
    return _digest(
        {
            "task": task.name,
            "version": str(recipe.get("task_version")).partition("-")[0],
            # The same rows can come from a renamed file.
            "data": {key: value for key, value in mapping(recipe.get("data")).items() if key != "source"},
            **decides,
            # What only some metrics need separates these alone: `measure_of`.
            "scoring": {key: _setting(key, value) for key, value in scoring.items() if key not in needed},
        }
    )


def measure_of(metric: MetricSpec, entry: Mapping[str, Any], recipe: Mapping[str, Any]) -> str:
    """Names what else a metric's numbers depend on within a group: a short hash, "" for nothing; `entry` is the metric's."""
    scoring = mapping(recipe.get("scoring"))
    if metric.kind == "average":
        # Of other components, or of components by other checkpoints, it is another measure.
        known = {key: _setting(key, value) for key, value in scoring.items()}
        return _digest({"scoring": known, "of": entry.get("missing_components")})
    return _digest(_setting(metric.needs, scoring.get(metric.needs))) if metric.needs else ""


def group_label(recipe: Mapping[str, Any]) -> str:
    """Says in words what a group has in common, beside the task (`v1.0 test (952aa5a194), prompts own, judge X, 5 votes`)."""
    data = mapping(recipe.get("data"))
    parts = [f"{data.get('config')} {data.get('split')} ({str(data.get('rows_sha256'))[:_DIGITS]})"]
    prompts = mapping(recipe.get("prompts"))
    if prompts:
        parts.append(f"prompts {prompts.get('set')} ({str(prompts.get('sha256'))[:_DIGITS]})")
    judge = mapping(recipe.get("judge"))
    if judge:
        votes = judge.get("votes")
        parts.append(f"judge {judge.get('name')}" + (f", {votes} votes" if votes != 1 else ""))
    return ", ".join(parts)


def setting_of(task: TaskSpec, recipe: Mapping[str, Any]) -> str:
    """Says what tells a result from others of the same model: its group, and the settings that belong to the model."""
    parts = [group_label(recipe)]
    parts += [f"{key}={value}" for key, value in mapping(recipe.get("task_args")).items()]
    longest = mapping(recipe.get("generation")).get("max_new_tokens")
    if longest is not None and longest != task.generation_size:
        parts.append(f"answers of at most {longest} tokens")
    cut = len(mapping(mapping(recipe.get("truncation")).get("words_left_out")))
    if cut:
        parts.append(f"{cut} questions shortened")
    return ", ".join(parts)


def _setting(key: str, value: Any) -> Any:
    if key == _OUTPUT_CLAIMS:
        return isinstance(value, Mapping)
    # A file is known by its hash, not by its name.
    return {**value, "file": None} if isinstance(value, Mapping) and "sha256" in value else value


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


HEADLINES: Final = tuple(each.tasks[0] for each in BENCHMARKS)
"""Each benchmark counts by its first task, asked plainly, and that task's first metric, a share (1 less it, if lower is better)."""


@dataclass(frozen=True, kw_only=True)
class OverallEntry:
    """One model over all benchmarks: `value` is the mean of its headline metrics (0-1), without a rank where one is missing."""

    model: str
    organisation: str
    value: float
    ci_low: float | None
    ci_high: float | None
    parts: Mapping[str, Entry]
    missing: tuple[str, ...]
    rank: RankRange | None = None
    group: str = ""


def overall_entries(entries: Sequence[Entry]) -> list[OverallEntry]:
    """Makes the overall table, complete models first; of several results on a task the one in the commonest group counts."""
    titles = {one.name: one.benchmark.title for one in HEADLINES}
    usable = [
        each
        for each in entries
        if each.task in titles and each.state != "reported" and not each.differences and _point(each) is not None
    ]
    # Of equally common groups the one of the latest entry, so that the order of the entries plays no part.
    common = Counter((each.task, each.group) for each in usable)
    latest: dict[tuple[str, str], str] = {}
    for each in usable:
        latest[each.task, each.group] = max(latest.get((each.task, each.group), ""), each.at)
    models: dict[tuple[str, str], dict[str, list[Entry]]] = {}
    for each in usable:
        parts = models.setdefault(model_key(each.organisation, each.model), {})
        parts.setdefault(titles[each.task], []).append(each)

    def order(one: Entry) -> tuple[Any, ...]:
        return (common[one.task, one.group], latest[one.task, one.group], one.group, one.at, one.submission)

    rows = [_overall_entry({title: max(of, key=order) for title, of in parts.items()}) for parts in models.values()]
    groups: dict[str, list[OverallEntry]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    made = groups.pop("", [])  # those that lack a benchmark
    for members in groups.values():
        places = ranges([(row.ci_low or 0.0, row.ci_high or 0.0) for row in members])
        made += [replace(row, rank=place) for row, place in zip(members, places, strict=True)]
    return sorted(made, key=lambda row: (len(row.missing), -row.value, row.model, row.organisation))


def mover_mean(points: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Returns mean, lower and upper MOVER limit of independent estimates (value, lower, upper) at one confidence."""
    if not points:
        raise ValueError("the mean of no estimates was asked for")
    k = len(points)
    mean = math.fsum(value for value, _, _ in points) / k
    below = math.sqrt(math.fsum((value - low) ** 2 for value, low, _ in points)) / k
    above = math.sqrt(math.fsum((high - value) ** 2 for value, _, high in points)) / k
    return mean, mean - below, mean + above


def _point(entry: Entry) -> tuple[float, float, float] | None:
    """Value and limits of an entry's headline, turned so that more is better; None where it has none that counts."""
    metric = tasks()[entry.task].metrics[0]
    found = mapping(entry.metrics.get(metric.name))
    if (limits := _interval(found)) is None:
        return None
    value, (low, high) = float(found["value"]), limits
    if not 0.0 <= low <= value <= high <= 1.0:  # no share with its interval
        return None
    return (value, low, high) if metric.higher_is_better else (1.0 - value, 1.0 - high, 1.0 - low)


def _overall_entry(parts: Mapping[str, Entry]) -> OverallEntry:
    titles = [one.benchmark.title for one in HEADLINES]
    newest = max(parts.values(), key=lambda each: (each.at, each.submission))
    missing = tuple(title for title in titles if title not in parts)
    whole = {title: parts[title] for title in titles if title in parts}
    mean, low, high = mover_mean([point for each in whole.values() if (point := _point(each)) is not None])
    return OverallEntry(
        model=newest.model,
        organisation=newest.organisation,
        value=mean,
        ci_low=None if missing else low,
        ci_high=None if missing else high,
        parts=whole,
        missing=missing,
        group="" if missing else " ".join(each.group for each in whole.values()),
    )
