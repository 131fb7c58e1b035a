"""Plots of a report that every benchmark can have: components of averages, levels, the judge's agreement with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.judges.checks import check_set_of, describe, last_check
from medical_tasks.spec import MetricSpec, Plot, PlotPoint, TaskSpec

_JUDGE_RECIPE: Final = frozenset({"name", "comparable", "votes", "reasks", "reply_tokens", "mode", "prompts"})
"""What a judge's recipe has beside its identity."""


def component_plots(entry: Mapping[str, Any], metrics: Sequence[MetricSpec]) -> list[Plot]:
    """The parts of each average, side by side."""
    specs = {metric.name: metric for metric in metrics}
    made = []
    for metric in metrics:
        names = [name for name in metric.of if name in specs]
        points = [
            point for name in (*names, metric.name) if (point := _point(name, entry["metrics"][name])) is not None
        ]
        if names and len(points) > 1:
            missing = [name for name in metric.of if name not in specs]
            note = f"Not reported, and not part of {metric.name}: {', '.join(missing)}." if missing else ""
            made.append(
                Plot(
                    title=f"Components of {metric.name}",
                    x_label="Metric",
                    y_label="Value",
                    points=tuple(points),
                    note=note,
                )
            )
    return made


def level_plots(task: TaskSpec, entries: Mapping[str, Mapping[str, Any]]) -> list[Plot]:
    """The headline of a task by level, where the run has the task at more than one; it stands with the first of them."""
    base, mark, _ = task.name.rpartition("_level")
    levels = {name: name.removeprefix(base + mark) for name in sorted(entries) if mark and name.startswith(base + mark)}
    if len(levels) < 2 or task.name != next(iter(levels)):
        return []
    metric = task.metrics[0].name
    found = {level: _point(level, entries[name]["metrics"].get(metric, {})) for name, level in levels.items()}
    points = tuple(point for point in found.values() if point is not None)
    if len(points) < 2:
        return []
    return [Plot(title=f"{metric} by level", x_label="Level", y_label=metric, points=points)]


def _point(label: str, value: Mapping[str, Any]) -> PlotPoint | None:
    """A metric's value as a point; None for what is no share, or cannot be computed."""
    middle, low, high = (value.get(name) for name in ("value", "ci_low", "ci_high"))
    if value.get("unit") or middle is None or low is None or high is None:
        return None
    if not all(0 <= each <= 1 for each in (middle, low, high)):
        return None
    return PlotPoint(label=label, value=middle, low=low, high=high, n=value["n"])


def judge_plots(task: TaskSpec, entry: Mapping[str, Any]) -> list[Plot]:
    """How well the run's judge agrees with people, by the last check of it on record on this machine."""
    judge = entry["recipe"].get("judge")
    if not isinstance(judge, Mapping) or not isinstance(judge.get("prompts"), Mapping):
        return []
    identity = {name: value for name, value in judge.items() if name not in _JUDGE_RECIPE}
    asked = {
        "votes": judge.get("votes", 1),
        "mode": judge.get("mode", "single"),
        "prompts": judge["prompts"].get("set", "own"),
        "name": check_set_of(task),
    }
    check = last_check(identity, **asked)
    if check is None or "problem" in check:
        return []
    points = tuple(
        point
        for name in ("accuracy", "kappa")
        if (point := _point(name, {**check[name], "n": check["scored"]})) is not None
    )
    if not points:
        return []
    return [
        Plot(
            title="Agreement of the judge with people",
            x_label="Measure",
            y_label="Agreement",
            points=points,
            note=describe(check, judge=str(judge.get("name")), **asked) + ".",
        )
    ]
