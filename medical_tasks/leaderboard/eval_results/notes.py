"""Notes of an eval result: what a reader needs to weigh the number, in one line.

No path of this machine stands in them: of a local judge the folder's name, of settings that name files that they were given.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from medical_tasks.runs.numbers import bounds, coverage, interval, metric_label
from medical_tasks.runs.recipe_differences import one_line
from medical_tasks.spec import TaskSpec

__all__ = ["result_notes"]

_HASH: Final = 12
_LONGEST: Final = 5000


def result_notes(task: TaskSpec, entry: Mapping[str, Any], *, variant: str = "", more: str = "") -> str:
    """Writes a result's notes.

    Args:
        task: the task.
        entry: its entry of `results.json`.
        variant: what tells the result from another one of the same benchmark; "" for nothing.
        more: the submitter's own words; "" for none.

    Returns:
        One line.
    """
    recipe, metric = entry["recipe"], entry["metrics"][task.metrics[0].name]
    name = metric_label(task.metrics[0].name, metric) + ("" if metric.get("unit") else " in %")
    parts = [
        variant,
        more,
        f"{name}, 95 % CI {interval(metric)}, n {metric['n']}, scored {coverage(entry, metric)}",
    ]
    if entry["coverage"]["scored"] < entry["coverage"]["asked"]:
        parts.append(
            f"PARTIAL: what is missing is estimated or left out; whatever it is, the value lies in {bounds(metric)}"
        )
    parts += [f"{recipe['suite']}, task {task.name} {recipe['task_version']}", _prompts(recipe), *_settings(recipe)]
    parts += [_judge(recipe), *_cut(entry)]
    data = recipe["data"]
    parts.append(f"data {data['config']} {data['version']}, rows {data['rows_sha256'][:_HASH]}")
    return one_line("; ".join(part for part in parts if part), _LONGEST)


def _prompts(recipe: Mapping[str, Any]) -> str:
    prompts = recipe["prompts"]
    if prompts is None:
        return "answers made outside the suite, prompts unknown"
    return f"prompts {prompts['set']} {prompts['sha256'][:_HASH]}"


def _settings(recipe: Mapping[str, Any]) -> list[str]:
    given = recipe.get("task_args") or {}
    told = [f"{name}={_public(str(value))}" for name, value in sorted(given.items())]
    return [f"settings {' '.join(told)}"] if told else []


def _judge(recipe: Mapping[str, Any]) -> str:
    judge = recipe["judge"]
    if judge is None:
        return ""
    votes = f", mode of {judge['votes']} votes" if judge["votes"] > 1 else ""
    prompts = judge.get("prompts")
    asked = f", prompts {prompts['set']} {prompts['sha256'][:_HASH]}" if prompts else ""
    kind, _, name = str(judge["name"]).partition("/")
    return f"judge {kind}/{_public(name)}{votes}{asked}" if name else f"judge {kind}{asked}"


def _public(value: str) -> str:
    """A value as strangers may read it: of a path the last part, of anything else all."""
    path = PurePath(value)
    return f"[{path.name}]" if path.is_absolute() or value.startswith(("~", ".")) or len(path.parts) > 2 else value


def _cut(entry: Mapping[str, Any]) -> list[str]:
    parts = []
    if entry.get("cut_at_length"):
        parts.append(f"{entry['cut_at_length']} answers were cut at the length limit")
    if entry.get("shortened"):
        parts.append(f"{entry['shortened']} items were shortened to fit the model's context")
    return parts
