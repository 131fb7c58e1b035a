"""Whether an entry of `results.json` is whole: nothing is published of a file that was cut or edited by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.spec import TaskSpec

__all__ = ["check_entry"]

_RECIPE: Final = ("suite", "task_version", "judge")
_DATA: Final = ("config", "split", "version", "rows_sha256")
_COUNTS: Final = ("asked", "scored")
_VALUES: Final = ("value", "ci_low", "ci_high", "bound_low", "bound_high")


def check_entry(folder: Path, task: TaskSpec, entry: Mapping[str, Any]) -> None:
    """Refuses an entry that lacks what a published number is told with, or holds what that cannot be.

    Args:
        folder: the run's.
        task: the task.
        entry: its entry of `results.json`, with a recipe that `run_responses.check_recipe` took.

    Raises:
        UsageError: Something is missing or impossible; the message names it.
    """
    if said := _lacking(task, entry) or _impossible(task, entry):
        raise UsageError(f"{folder}: its results.json is damaged: {said}. Give that run's command again.")


def _lacking(task: TaskSpec, entry: Mapping[str, Any]) -> str:
    recipe, headline = entry["recipe"], task.metrics[0].name
    lacking = [name for name in ("metrics", "coverage") if not isinstance(entry.get(name), Mapping)]
    lacking += [name for name in _RECIPE if name not in recipe]
    lacking += [f"data.{name}" for name in _DATA if name not in recipe["data"]]
    for name, wanted in (("prompts", ("set", "sha256")), ("judge", ("name", "votes"))):
        lacking += [f"{name}.{part}" for part in _absent(recipe.get(name), wanted)]
    if isinstance(recipe.get("judge"), Mapping):
        lacking += [f"judge.prompts.{part}" for part in _absent(recipe["judge"].get("prompts"), ("set", "sha256"))]
    if not lacking:
        lacking += [f"coverage.{name}" for name in (*_COUNTS, "unscored") if name not in entry["coverage"]]
        found = entry["metrics"].get(headline)
        lacking += [f"{headline}.{part}" for part in _absent(found, (*_VALUES, "n"))]
    return f"{task.name} lacks {', '.join(lacking)}" if lacking else ""


def _absent(part: Any, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The names that a part of the entry lacks; none where there is no such part."""
    if part is None:
        return ()
    return tuple(name for name in wanted if name not in part) if isinstance(part, Mapping) else wanted


def _impossible(task: TaskSpec, entry: Mapping[str, Any]) -> str:
    metric, coverage, recipe = task.metrics[0], entry["coverage"], entry["recipe"]
    told = {name: recipe[name] for name in ("suite", "task_version")}
    told |= {f"data.{name}": recipe["data"][name] for name in _DATA}
    for name, value in told.items():
        if not isinstance(value, str):
            return f"{task.name} has {name} {value!r}, which is no text"
    if wrong := [name for name in _COUNTS if not _is_count(coverage[name])]:
        return f"{task.name} has coverage.{wrong[0]} {coverage[wrong[0]]!r}, which is no count"
    if coverage["scored"] > coverage["asked"]:
        return f"{task.name} has {coverage['scored']} scored items of {coverage['asked']} asked"
    headline = entry["metrics"].get(metric.name)
    if headline is None or headline["value"] is None:
        return ""  # no value, which the refusals say
    low, high = metric.limits
    for name in _VALUES:
        value = headline[name]
        sound = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not (sound and low <= value <= high) and not (value is None and name != "value"):
            return f"{task.name} has {metric.name}.{name} {value!r}, which is no number from {low:g} to {high:g}"
    if not _is_count(headline["n"]):
        return f"{task.name} has {metric.name}.n {headline['n']!r}, which is no count"
    return ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
