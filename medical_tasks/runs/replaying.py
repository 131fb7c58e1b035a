"""Recovers the answers of a run: from its store, the file that it scored, or its import.

No model is opened: `_Replay` takes the place of the run's model, and an answer that the
store lacks stays unanswered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from medical_tasks.data.task_data import TaskData
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.cell_forms import TableChoice, reading_tables, table_choice
from medical_tasks.io.files import read_bytes
from medical_tasks.models.base import Failure, Length, Model, OnResult, Request
from medical_tasks.runs.answered import AnsweredTask
from medical_tasks.runs.baselines import run_baseline
from medical_tasks.runs.confidence import RECIPE_KEY, Confidence
from medical_tasks.runs.folder import existing_run_folder
from medical_tasks.runs.imported import IMPORTED, kept_answers
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.responses import read_responses
from medical_tasks.runs.results import Json
from medical_tasks.runs.runner import (
    RoleModel,
    RunOptions,
    load_task_prompts,
    run_model,
)
from medical_tasks.spec import TaskSpec

_RESPONSES: Final = "responses/"
_BASELINE: Final = "baseline/"


class _Replay(Model):
    """Takes the place of the run's model and answers nothing.

    It has the recorded name and identity of the model. These are part of each answer's key,
    so the same questions find their answers in the store.
    """

    def __init__(self, recorded: Json) -> None:
        self.name = str(recorded["name"])
        self.identity: Mapping[str, str] = {
            key: value for key, value in recorded.items() if key != "name"
        }

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for request in requests:
            on_result(
                Failure(
                    key=request.key,
                    reason="not in the store",
                    detail="the run did not answer it",
                )
            )

    loglikelihood = generate

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        return [None for _ in requests]

    def no_tools(self) -> str:
        return ""


def check_recipe(folder: Path, recipe: object) -> None:
    """Refuses a recipe that lacks the parts needed to replay its run, or has malformed ones."""
    parts = mapping(recipe)
    name = str(mapping(parts.get("model")).get("name"))
    by_model = not name.startswith((_RESPONSES, _BASELINE, IMPORTED))
    required = {
        "data": {"config"},
        "model": {"name"},
        **({"generation": {"max_new_tokens"}} if by_model else {}),
    }
    required |= (
        {"prompts": {"set", "sha256"}}
        if by_model or parts.get("prompts") is not None
        else {}
    )
    objects = [parts.get(name, {}) for name in ("task_args", "truncation")]
    objects.append(mapping(objects[-1]).get("words_left_out", {}))
    names = [
        mapping(parts.get("data")).get(name, "")
        for name in ("config", "split", "rows_sha256")
    ]
    sound = {"max_samples", "prompts", "generation"} <= parts.keys() and isinstance(
        parts["max_samples"], int | None
    )
    subset = mapping(parts.get("subset", {"asked": 1, "seed": 0}))
    numbers = [parts.get("repeats", 1), subset.get("asked"), subset.get("seed")]
    for kind, values in ((Mapping, objects), (str, names), (int, numbers)):
        sound = sound and all(isinstance(value, kind) for value in values)

    if not sound or not all(
        names <= mapping(parts.get(section)).keys()
        for section, names in required.items()
    ):
        raise UsageError(
            f"{folder}: its results.json does not say how it was run (the recipe is damaged). Give "
            "that run's command again to rewrite it."
        )


def check_same_data(task: TaskSpec, data: TaskData, recipe: Json) -> None:
    """Refuses data with other rows than the run used."""
    recorded, current = recipe["data"].get("rows_sha256"), data.revision["rows_sha256"]
    if recorded != current:
        raise UsageError(
            f"{data.folder}: {task.name} ran on other rows (rows_sha256 {str(recorded)[:12]}, here "
            f"{current[:12]}). Give --data the folder the run was made with, or run again on this one."
        )


def run_responses(
    task: TaskSpec,
    data: TaskData,
    recipe: Json,
    folder: Path,
    *,
    responses: Path | None = None,
    upstream: Path | None = None,
) -> Mapping[str, str]:
    """Recovers the answers that a run scored, by item id.

    `responses` is the file that a run of `medical-tasks score` scored.
    """
    check_recipe(folder, recipe)
    check_same_data(task, data, recipe)
    name = str(recipe["model"]["name"])
    if name.startswith(_RESPONSES):
        return _from_file(name, task, data, recipe, responses)
    if name.startswith(IMPORTED):
        return kept_answers(task, data, recipe, folder).responses

    if responses is not None:
        raise UsageError(
            f"{folder}: --responses is for runs of `medical-tasks score`; this one asked {name}. "
            "Leave it out."
        )

    return replayed(task, data, recipe, folder, upstream=upstream).responses


def run_answers(
    task: TaskSpec,
    data: TaskData,
    recipe: Json,
    folder: Path,
    *,
    upstream: Path | None = None,
) -> AnsweredTask:
    """Recovers the answers that a run scored with all their details, those of its repeats included."""
    check_recipe(folder, recipe)
    check_same_data(task, data, recipe)
    name = str(recipe["model"]["name"])
    if name.startswith(_RESPONSES):
        _from_file(name, task, data, recipe, None)
    if name.startswith(IMPORTED):
        return kept_answers(task, data, recipe, folder)
    return replayed(task, data, recipe, folder, upstream=upstream)


def replayed(
    task: TaskSpec,
    data: TaskData,
    recipe: Json,
    folder: Path,
    *,
    upstream: Path | None = None,
    prices: Mapping[str, str] | None = None,
) -> AnsweredTask:
    """Answers items as a recipe's run did, from its folder's store or by its baseline.

    No model is opened. Answers are stored under a hash of model, question and settings. With
    other prompts or settings no key would match, and all items would look unanswered. These
    are therefore compared first, and a difference raises an error that names them.
    """
    name = str(recipe["model"]["name"])
    if name.startswith(_BASELINE):
        answered = run_baseline(
            name.removeprefix(_BASELINE),
            task,
            data,
            max_samples=None,
            task_args=recipe.get("task_args", {}),
            prompts=recipe.get("baseline", {}).get("prompts", "own"),
            upstream=upstream,
        )
        _check_same(
            folder, "baseline", recipe.get("baseline"), answered.recipe.get("baseline")
        )
        return answered

    run = existing_run_folder(folder)
    if not run.answers.is_file():
        raise MissingError(
            f"{run.answers}: not there. Give the folder that `medical-tasks run` wrote, whole."
        )

    recorded_prompts = recipe["prompts"]
    confidence: Confidence = recipe.get(RECIPE_KEY, "none")
    prompts = load_task_prompts(
        task,
        RunOptions(
            prompts=recorded_prompts["set"],
            upstream=upstream,
            task_args=recipe.get("task_args", {}),
            confidence=confidence,
        ),
        data,
    )
    if prompts.sha256 != recorded_prompts["sha256"]:
        raise UsageError(
            f"{folder}: the run asked with other prompts ({recorded_prompts['set']}, sha256 "
            f"{recorded_prompts['sha256'][:12]}, now {prompts.sha256[:12]}), so its answers cannot be found. "
            f"Use the version that made it ({recipe['suite']}), or run again."
        )

    _check_same(
        folder, "prompts", recorded_prompts.get("settings"), dict(prompts.settings)
    )
    options = RunOptions(
        prompts=recorded_prompts["set"],
        upstream=upstream,
        max_new_tokens=recipe["generation"]["max_new_tokens"],
        repeats=recipe.get("repeats", 1),
        model_args=prices or {},
        task_args=recipe.get("task_args", {}),
        confidence=confidence,
        shortened=recipe.get("truncation", {}).get("words_left_out", {}),
        roles={
            role: RoleModel(model=_Replay(recorded))
            for role, recorded in recipe.get("roles", {}).items()
        },
    )
    return (
        run_model([task], {task.name: data}, _Replay(recipe["model"]), run, options)
        or []
    )[0]


def _check_same(folder: Path, section: str, recorded: object, current: object) -> None:
    """Refuses settings that differ from the recipe's."""
    if (recorded or {}) != (json.loads(json.dumps(current)) or {}):
        raise UsageError(
            f"{folder}: the run's answers cannot be found again: its {section} had the settings "
            f"{recorded!r}, here they are {current!r}. Bring back what has changed (a checkpoint, "
            "documents), or run again."
        )


def _from_file(
    name: str, task: TaskSpec, data: TaskData, recipe: Json, responses: Path | None
) -> Mapping[str, str]:
    """Reads the answers of a run of `score` from the very file that it scored."""
    if responses is None:
        raise MissingError(
            f"{name.removeprefix(_RESPONSES)}: this run scored it and keeps no texts. Give it with "
            "--responses FILE."
        )

    ids = [item.id for item in data.answerable]
    tables = recipe["model"].get("tables")
    with reading_tables(TableChoice(**tables) if tables else table_choice()):
        answers = read_responses(responses, ids, task=task, items=data.answerable)

    digest = hashlib.sha256(read_bytes(responses)).hexdigest()
    if digest != recipe["model"].get("sha256"):
        raise UsageError(
            f"{responses}: not the file that was scored (its sha256 differs). Give that one, or "
            "score this one."
        )

    return answers
