"""Why a number may not stand on a leaderboard: nothing is written there that a reader would take for something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medical_tasks.data.hub_eval import accepted_configs
from medical_tasks.report.entry_notes import warning
from medical_tasks.spec import DatasetSpec, TaskSpec

__all__ = ["refusals"]


def refusals(task: TaskSpec, spec: DatasetSpec, entry: Mapping[str, Any], *, allow_partial: bool) -> list[str]:
    """Says what is wrong with a task's number as an eval result.

    Args:
        task: the task.
        spec: its dataset.
        entry: its entry of `results.json`.
        allow_partial: whether a number over a part of the items may be published, with a note that says so.

    Returns:
        Reasons, a sentence each; none when it can be published.
    """
    recipe, headline = entry["recipe"], entry["metrics"].get(task.metrics[0].name)
    name = str(recipe["model"]["name"])
    reasons: list[str] = []
    if name.startswith("baseline/"):
        reasons.append(f"{name} is a baseline of this suite and no model; there is no page its score belongs on.")
    reasons += _of_task(task, recipe)
    reasons += _of_data(task, spec, recipe)
    if recipe["max_samples"] is not None:
        reasons.append(
            f"it was asked only the first {recipe['max_samples']} items (--max-samples), which are no sample of the others. Run it "
            "without."
        )
    if headline is None or headline["value"] is None:
        reasons.append(f"there is no value of {task.metrics[0].name}, its headline metric.")
    elif not headline.get("comparable", True):
        reasons.append(warning(entry) or f"the judge of {task.metrics[0].name} cannot be compared with others.")
    counts = entry["coverage"]
    if counts["scored"] < counts["asked"] and not allow_partial:
        why = "; ".join(f"{count} x {reason}" for reason, count in counts["unscored"].items())
        reasons.append(
            f"{counts['asked'] - counts['scored']} of its {counts['asked']} items have no score ({why}). Give the run's command "
            "again to get them, or --allow-partial to publish the number of the others, with a note that says so."
        )
    return reasons


def _of_task(task: TaskSpec, recipe: Mapping[str, Any]) -> list[str]:
    if task.baseline:
        return [f"{task.name} asks no model; it has no leaderboard."]
    if recipe["task_version"].partition("-")[0] != task.version.partition("-")[0]:
        return [
            f"it was made with version {recipe['task_version']} of the task, this suite has {task.version}, whose scores are "
            "others. Run it anew."
        ]
    return []


def _of_data(task: TaskSpec, spec: DatasetSpec, recipe: Mapping[str, Any]) -> list[str]:
    config, split = recipe["data"]["config"], recipe["data"]["split"]
    if spec.default_config == "own":
        return ["it is over texts of your own; there is no leaderboard of these."]
    if config == "demo":
        return ["it was run on demo data, which were written to try a task. Run it on the dataset."]
    if config not in accepted_configs(task, spec) or split != task.split:
        wanted = " or ".join(accepted_configs(task, spec))
        return [
            f"it was run on {config}, split {split}; its leaderboard is of {wanted}, split {task.split}, and other questions are "
            "another benchmark."
        ]
    return []
