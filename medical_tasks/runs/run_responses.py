"""The answers of a finished run, item by item: what was scored, found again from the run's folder.

A run's answers are in its store under a hash of the model and the whole question. The recipe in `results.json` holds what
makes that hash, so the run is replayed with a model that has its identity and answers nothing: each answer comes out of the
store, through the same runner and protocol, and none is made anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.data.task_data import TaskData
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import read_bytes
from medical_tasks.models.base import Failure, Length, OnResult, Request
from medical_tasks.runs.baselines import run_baseline
from medical_tasks.runs.folder import existing_run_folder
from medical_tasks.runs.responses import read_responses
from medical_tasks.runs.runner import RunOptions, load_task_prompts, run_model
from medical_tasks.spec import TaskSpec

__all__ = ["check_recipe", "check_same_data", "run_responses"]

_RESPONSES = "responses/"
_BASELINE = "baseline/"


class _Replay:
    """Stands for the run's model and answers nothing. Implements `models.base.Model`."""

    endpoint: str | None = None
    is_main = True

    def __init__(self, recorded: Mapping[str, Any]) -> None:
        self.name = str(recorded["name"])
        self.identity: Mapping[str, str] = {key: value for key, value in recorded.items() if key != "name"}

    def share(self, keys: list[str]) -> list[str]:
        return keys

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for request in requests:
            on_result(Failure(key=request.key, reason="not in the store", detail="the run did not answer it"))

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        self.generate(requests, on_result)

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        return [None for _ in requests]

    def close(self) -> None:
        pass


def check_recipe(folder: Path, recipe: Any) -> None:
    """Refuses a recipe that lacks what a run is found again by.

    Args:
        folder: the run's folder.
        recipe: the task's recipe in `results.json`.

    Raises:
        UsageError: It is damaged.
    """
    parts: dict[str, Any] = dict(recipe) if isinstance(recipe, Mapping) else {}
    data, model = parts.get("data"), parts.get("model")
    sound = isinstance(data, Mapping) and "config" in data and isinstance(model, Mapping)
    if sound and isinstance(model, Mapping):
        asked = not str(model.get("name")).startswith((_RESPONSES, _BASELINE))
        wanted = {"prompts": ("set", "sha256"), "generation": ("max_new_tokens",)} if asked else {}
        sound = "name" in model and {"max_samples", "prompts", "generation"} <= set(parts)
        sound = sound and all(
            isinstance(parts[part], Mapping) and set(names) <= set(parts[part]) for part, names in wanted.items()
        )
    if not sound:
        raise UsageError(
            f"{folder}: its results.json does not say how it was run (the recipe is damaged). Give that run's command again "
            "to write it anew."
        )


def check_same_data(task: TaskSpec, data: TaskData, recipe: Mapping[str, Any]) -> None:
    """Refuses data that is not what the run was on.

    Raises:
        UsageError: The rows differ.
    """
    ran, here = recipe["data"].get("rows_sha256"), data.revision["rows_sha256"]
    if ran != here:
        raise UsageError(
            f"{data.folder}: {task.name} ran on other rows (rows_sha256 {str(ran)[:12]}, here {here[:12]}). Give --data the folder "
            "the run was made with, or run again on this one."
        )


def run_responses(
    task: TaskSpec,
    data: TaskData,
    recipe: Mapping[str, Any],
    folder: Path,
    *,
    responses: Path | None = None,
    upstream: Path | None = None,
) -> dict[str, str]:
    """Finds the answers a run scored.

    Args:
        task: the task.
        data: its items, the same as the run's.
        recipe: the task's recipe in `results.json`.
        folder: the run's folder.
        responses: for a run of `medical-tasks score`, the file that was scored.
        upstream: for a run with the official prompts, the authors' checkout.

    Returns:
        Item id to the model's text, for each answered item.

    Raises:
        MissingError: The file or the store is not there.
        UsageError: The file is another one than was scored, or the prompts are no longer the same.
    """
    check_recipe(folder, recipe)
    check_same_data(task, data, recipe)
    name = str(recipe["model"]["name"])
    if name.startswith(_RESPONSES):
        return _from_file(name, data, recipe, responses)
    if responses is not None:
        raise UsageError(
            f"{folder}: --responses is for runs of `medical-tasks score`; this one asked {name}. Leave it out."
        )
    if name.startswith(_BASELINE):
        made = run_baseline(
            name.removeprefix(_BASELINE),
            task,
            data,
            max_samples=None,
            task_args=recipe.get("task_args", {}),
            prompts=recipe.get("baseline", {}).get("prompts", "own"),
            upstream=upstream,
        )
        _check_same(folder, "baseline", recipe.get("baseline"), made.recipe.get("baseline"))
        return dict(made.responses)
    run = existing_run_folder(folder)
    if not run.answers.is_file():
        raise MissingError(f"{run.answers}: not there. Give the folder that `medical-tasks run` wrote, whole.")
    ran = recipe["prompts"]
    prompts = load_task_prompts(
        task, RunOptions(prompts=ran["set"], upstream=upstream, task_args=recipe.get("task_args", {})), data
    )
    if prompts.sha256 != ran["sha256"]:
        raise UsageError(
            f"{folder}: the run asked with other prompts ({ran['set']}, sha256 {ran['sha256'][:12]}, now {prompts.sha256[:12]}), "
            "so its answers cannot be found. Use the version that made it "
            f"({recipe['suite']}), or run again."
        )
    _check_same(folder, "prompts", ran.get("settings"), dict(prompts.settings))
    options = RunOptions(
        prompts=ran["set"],
        upstream=upstream,
        max_new_tokens=recipe["generation"]["max_new_tokens"],
        max_samples=None,
        task_args=recipe.get("task_args", {}),
        shortened=recipe.get("truncation", {}).get("words_left_out", {}),
    )
    answered = run_model([task], {task.name: data}, _Replay(recipe["model"]), run, options)
    return {} if answered is None else dict(answered[0].responses)


def _check_same(folder: Path, part: str, ran: Any, here: Any) -> None:
    """Refuses settings that decide the answers, or the questions, where they are no longer what the recipe says."""
    if (ran or {}) != (json.loads(json.dumps(here)) or {}):
        raise UsageError(
            f"{folder}: the run's answers cannot be found again: its {part} had the settings {ran!r}, here they are {here!r}. "
            "Bring back what has changed (a checkpoint, documents), or run again."
        )


def _from_file(name: str, data: TaskData, recipe: Mapping[str, Any], responses: Path | None) -> dict[str, str]:
    if responses is None:
        raise MissingError(
            f"{name.removeprefix(_RESPONSES)}: this run scored it and keeps no texts. Give it with --responses FILE."
        )
    found = read_responses(responses, [item.id for item in data.items])
    digest = hashlib.sha256(read_bytes(responses)).hexdigest()
    if digest != recipe["model"].get("sha256"):
        raise UsageError(
            f"{responses}: not the file that was scored (its sha256 differs). Give that one, or score this one."
        )
    return found
