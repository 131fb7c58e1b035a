"""Which results can stand in one ranking: those of the same task version, data, prompts, protocol, judge and scoring.

The rules are those of `compare` (`comparison_recipes`), made strict: what it refuses, and what it warns of because the numbers may
differ by it, separates groups. What belongs to the model under test does not: its settings, the length of its answers, how much of
a question fits its context, the suite's version. These are told in an entry's setting.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from medical_tasks.runs.recipe_differences import mapping
from medical_tasks.spec import MetricSpec, TaskSpec

__all__ = ["group_label", "group_of", "measure_of", "setting_of"]

_DIGITS: Final = 10
# Each model's answers have claims of their own; only how they were made separates.
_OUTPUT_CLAIMS: Final = "output_claims"


def group_of(task: TaskSpec, recipe: Mapping[str, Any]) -> str:
    """Names the group of a result.

    Args:
        task: the task.
        recipe: of the result.

    Returns:
        A short hash: the same for results whose numbers can be ranked together.
    """
    needed = {metric.needs for metric in task.metrics}
    scoring = mapping(recipe.get("scoring"))
    return _short(
        {
            "task": task.name,
            "version": str(recipe.get("task_version")).partition("-")[0],
            # The same rows can come from a renamed file.
            "data": {key: value for key, value in mapping(recipe.get("data")).items() if key != "source"},
            "metrics": recipe.get("metrics"),
            "prompts": recipe.get("prompts"),
            "protocol": recipe.get("protocol"),
            "baseline": recipe.get("baseline"),
            "judge": recipe.get("judge"),
            # What only some metrics need separates these alone: `measure_of`.
            "scoring": {key: _setting(key, value) for key, value in scoring.items() if key not in needed},
        }
    )


def measure_of(metric: MetricSpec, entry: Mapping[str, Any], recipe: Mapping[str, Any]) -> str:
    """Names what else a metric's numbers depend on, within one group.

    Args:
        metric: the metric.
        entry: its entry in a result: an average says what it could not be taken of.
        recipe: of the result.

    Returns:
        A short hash; "" where they depend on nothing else.
    """
    scoring = mapping(recipe.get("scoring"))
    if metric.kind == "average":
        # Of other components, or of components by other checkpoints, it is another measure.
        return _short(
            {
                "scoring": {key: _setting(key, value) for key, value in scoring.items()},
                "of": entry.get("missing_components"),
            }
        )
    return _short(_setting(metric.needs, scoring.get(metric.needs))) if metric.needs else ""


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


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
