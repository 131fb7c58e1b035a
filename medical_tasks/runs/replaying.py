"""Finds the answers of a run again: in its store, the file that it scored, or what it imported.

No model is opened: `_Replay` stands for the run's, and what the store lacks stays
unanswered.
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
    """Stands for the run's model and answers nothing.

    It has the name and identity that the run recorded. These are part of the key of
    each answer, so that the questions, asked anew, meet the answers in the store.
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
    """Refuses a recipe that lacks what a run is found again by, or has it in another form."""
    parts = mapping(recipe)
    name = str(mapping(parts.get("model")).get("name"))
    by_model = not name.startswith((_RESPONSES, _BASELINE, IMPORTED))
    wanted = {
        "data": {"config"},
        "model": {"name"},
        **({"generation": {"max_new_tokens"}} if by_model else {}),
    }
    wanted |= (
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
    drawn = mapping(parts.get("subset", {"asked": 1, "seed": 0}))
    numbers = [parts.get("repeats", 1), drawn.get("asked"), drawn.get("seed")]
    for kind, held in ((Mapping, objects), (str, names), (int, numbers)):
        sound = sound and all(isinstance(each, kind) for each in held)

    if not sound or not all(
        names <= mapping(parts.get(name2)).keys() for name2, names in wanted.items()
    ):
        raise UsageError(
            f"{folder}: its results.json does not say how it was run (the recipe is damaged). Give "
            "that run's command again to write it anew."
        )


def check_same_data(task: TaskSpec, data: TaskData, recipe: Json) -> None:
    """Refuses data that is not what the run was on."""
    ran, here = recipe["data"].get("rows_sha256"), data.revision["rows_sha256"]
    if ran != here:
        raise UsageError(
            f"{data.folder}: {task.name} ran on other rows (rows_sha256 {str(ran)[:12]}, here "
            f"{here[:12]}). Give --data the folder the run was made with, or run again on this one."
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
    """Finds the answers a run scored, by item id.

    `responses` is the file of a run of `medical-tasks score`.
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
    """Finds the whole answers that a run scored, with what was asked, and those of its repeats."""
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
    """Answers items as the run of a recipe did: from its folder's store, or by its baseline.

    No model is opened.

    An answer is kept under a hash of model, question and settings. With other prompts
    or settings none would be met, and all items would look unanswered: so these are
    compared first, and a difference is an error that names them.
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

    ran = recipe["prompts"]
    confidence: Confidence = recipe.get(RECIPE_KEY, "none")
    prompts = load_task_prompts(
        task,
        RunOptions(
            prompts=ran["set"],
            upstream=upstream,
            task_args=recipe.get("task_args", {}),
            confidence=confidence,
        ),
        data,
    )
    if prompts.sha256 != ran["sha256"]:
        raise UsageError(
            f"{folder}: the run asked with other prompts ({ran['set']}, sha256 "
            f"{ran['sha256'][:12]}, now {prompts.sha256[:12]}), so its answers cannot be found. "
            f"Use the version that made it ({recipe['suite']}), or run again."
        )

    _check_same(folder, "prompts", ran.get("settings"), dict(prompts.settings))
    options = RunOptions(
        prompts=ran["set"],
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


def _check_same(folder: Path, part: str, ran: object, here: object) -> None:
    """Refuses deciding settings that are no longer what the recipe says."""
    if (ran or {}) != (json.loads(json.dumps(here)) or {}):
        raise UsageError(
            f"{folder}: the run's answers cannot be found again: its {part} had the settings "
            f"{ran!r}, here they are {here!r}. Bring back what has changed (a checkpoint, "
            "documents), or run again."
        )


def _from_file(
    name: str, task: TaskSpec, data: TaskData, recipe: Json, responses: Path | None
) -> Mapping[str, str]:
    """The answers of a run of `score`, from the very file that it scored."""
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
