"""Scores existing answers, from a file, a run or another harness; no model is asked.

It also holds the checks that this shares with a model's run (`evaluating`).
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medical_tasks.catalog import dataset_spec, parse_task_names
from medical_tasks.data.dataset_store import split_names
from medical_tasks.data.task_data import (
    TaskData,
    asked_part,
    draw,
    load_task_data,
    read_drawn,
    with_source,
)
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import SETTINGS_FILE
from medical_tasks.io.cell_forms import table_choice
from medical_tasks.io.output import tell
from medical_tasks.runs.answered import Adjudication, AnsweredTask
from medical_tasks.runs.confidence import ASKED, RECIPE_KEY, check_taken_off
from medical_tasks.runs.finishing import finish, score_responses
from medical_tasks.runs.folder import (
    RunFolder,
    default_folder,
    existing_run_folder,
    is_main_process,
    locked,
    open_run_folder,
)
from medical_tasks.runs.imported import (
    IMPORTED,
    PublishedSource,
    answered_task,
    is_imported,
    keep_answers,
)
from medical_tasks.runs.judge_arguments import judge_request
from medical_tasks.runs.recipes import make_recipe, mapping
from medical_tasks.runs.responses import GivenAnswers, read_file, read_responses
from medical_tasks.runs.results import Json, JsonDict, read_results
from medical_tasks.spec import DatasetSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.options import Score
    from medical_tasks.runs.judging import JudgeRequest, RunJudge

NOT_GIVEN: Final = "none given"
"""The reason why an item without a row in a file of answers is unanswered."""


def rescore(
    arguments: Score, responses: Path | GivenAnswers | PublishedSource | None = None
) -> tuple[Path, bool] | None:
    """Scores existing answers.

    Args:
        arguments: what is scored, and how.
        responses: the answers, unless they are in the file `arguments.responses`.

    Returns:
        The folder, and whether an item has no answer; None after a forecast and in every
        process but the main one.
    """
    responses = responses or arguments.responses
    task, *others = parse_task_names(arguments.task)
    if others:
        names = ", ".join(chosen.name for chosen in (task, *others))
        raise UsageError(f"score takes one task, got {arguments.task!r} ({names}).")

    spec = dataset_spec(task.dataset)
    if not is_main_process():
        return None  # scoring is not shared among processes

    request = judge_request(
        arguments, [task], prompts=arguments.prompts, upstream=arguments.upstream
    )
    if request is None and arguments.prompts != "own":
        raise UsageError(
            f"--prompts {arguments.prompts}: {task.name} needs no judge, and no model is asked. "
            "Leave it out."
        )

    drawn = read_drawn(arguments)
    task = _task_as_asked(task, responses, arguments.task_args)
    with policy.protect(
        [policy.Subject.of(spec, task=task.name)], policy.attestation_from(arguments)
    ):
        check_judge(request, [task])
        with with_source(
            task, source=arguments.source, data=arguments.data, config=arguments.config
        ) as (data, config):
            located = replace(arguments, data=data, config=config)
            answered, settings = _read_answers(task, spec, located, responses)

        settings |= {"subset": list(drawn)} if drawn is not None else {}
        if arguments.confidence == ASKED:
            answered, settings = _read_as_stating_confidence(answered, settings)

        scoring_args = _scoring_args(arguments.task_args, task, answered.recipe)
        answered = replace(
            answered,
            scoring_args={**answered.scoring_args, **scoring_args},
            adjudication=_adjudication(arguments.adjudicated, task, answered),
        )
        # Not the sheet's content: a sheet with more rows filled in is scored into the same
        # folder.
        settings |= {"adjudicated": True} if answered.adjudication is not None else {}
        settings |= {"judge": request.identity} if request is not None else {}
        path = arguments.out or default_folder(responses.stem, settings)
        if request is not None and request.options.forecast:
            forecast_judging(request, [answered], store=existing_store(path))
            tell("No judge was asked and nothing is written.")
            return None

        folder = open_run_folder(path, settings, private=not policy.text_allowed(spec))
        with locked(folder):
            keep_answers(answered, folder)
            with judge_of(request, folder) as judge:
                finish([answered], folder, judge)

            return folder.path, bool(answered.unanswered)


def _read_as_stating_confidence(
    answered: AnsweredTask, settings: JsonDict
) -> tuple[AnsweredTask, JsonDict]:
    """Marks a file's answers as ending with a confidence; a run's recipe already says so."""
    check_taken_off([answered.task])
    if answered.states_confidence:
        return answered, settings

    if answered.recipe["prompts"] is not None:
        raise UsageError(
            "--confidence asked: the run's questions did not ask how sure the model is. Leave it "
            "out, or run again with it."
        )

    recipe = {**answered.recipe, RECIPE_KEY: ASKED}
    return replace(answered, recipe=recipe), {**settings, RECIPE_KEY: ASKED}


def _adjudication(
    path: Path | None, task: TaskSpec, answered: AnsweredTask
) -> Adjudication | None:
    """Reads a sheet's decisions on unclear answers."""
    if path is None:
        return None

    if answered.repeats:
        raise UsageError(
            f"--adjudicated {path}: each question was asked several times (--repeats), but a sheet "
            "has one answer to each. Leave it out."
        )

    # Slow: it imports the readers of judges' replies.
    from medical_tasks.runs.adjudicating import read_adjudication

    return read_adjudication(path, task, answered.responses)


def _scoring_args(
    task_args: Mapping[str, str], task: TaskSpec, recipe: Json
) -> dict[str, str]:
    """Combines the given scoring settings with those of the run's questions that scoring needs."""
    given_args = checked_task_args(task_args, [task])
    run_args = recipe.get("task_args", {})
    questions = [
        name
        for name, value in given_args.items()
        if name not in task.scoring_arguments
        and (name not in task.item_arguments or run_args.get(name) != value)
    ]
    if questions:
        raise UsageError(
            f"--task-args: {', '.join(questions)} is about the questions, and none is asked. Leave "
            "it out."
        )

    from_run = task.scoring_args(run_args)
    for name, value in from_run.items():
        if given_args.get(name, value) != value:
            raise UsageError(
                f"--task-args: {name}={given_args[name]}, but the run's questions were asked with "
                f"{name}={value}. Leave it out."
            )

    return {**from_run, **task.scoring_args(given_args)}


def _task_as_asked(
    task: TaskSpec,
    answers: Path | GivenAnswers | PublishedSource,
    task_args: Mapping[str, str],
) -> TaskSpec:
    """Returns the task as its questions were asked: by a run, or as the options say."""
    if not isinstance(answers, Path) or not answers.is_dir():
        return task.asked_with(task_args)
    entry = read_results(answers)["tasks"].get(task.name)
    recipe = {} if entry is None else mapping(entry.get("recipe"))
    return task.asked_with(mapping(recipe.get("task_args")))


def _read_answers(
    task: TaskSpec,
    spec: DatasetSpec,
    arguments: Score,
    file: Path | GivenAnswers | PublishedSource,
) -> tuple[AnsweredTask, JsonDict]:
    """Reads the answers; returns them with the settings that identify this scoring."""
    if isinstance(file, Path) and file.is_dir():
        return _read_run(task, spec, arguments)

    check_one_source_of_error(
        subset=arguments.subset,
        evaluations=arguments.evaluations > 1,
        calibration=arguments.calibration,
    )
    location = {name: getattr(arguments, name) for name in ("data", "config", "split")}
    data = load_task_data(task, spec, **location, drawn=read_drawn(arguments))
    if isinstance(file, PublishedSource):
        published = answered_task(
            task,
            data,
            file.find_answers(task, data.items),
            scoring_args=data.scoring_args,
        )
        name = f"{IMPORTED}{file.name}"
        settings = {
            "tasks": [task.name],
            "model": name,
            "data": {task.name: data.identity},
        }
        return published, settings

    content, items = read_file(file), data.answerable
    # A benchmark's shared task may have its own form of submissions.
    check = task.benchmark.submission_check(task, items)
    ids = [item.id for item in items]
    responses = read_responses(
        file, ids, content=content, check=check, task=task, items=items
    )
    choice = table_choice()
    sheet = f" ({', '.join(choice.sheet)})" if choice.sheet else ""
    name = f"responses/{file.name}{sheet}"
    source: JsonDict = {"name": name, "sha256": hashlib.sha256(content).hexdigest()}
    if choice.recorded:
        source["tables"] = choice.recorded

    recipe = make_recipe(task, data=data.revision, model=source) | data.recipe_part
    item_args = {
        name: value
        for name, value in arguments.task_args.items()
        if name in task.item_arguments
    }
    if item_args:
        recipe["task_args"] = item_args

    answered = _existing_answers(task, data, responses, recipe, NOT_GIVEN)
    # Not the answers' content: a corrected file is scored again into the same folder.
    return answered, {
        "tasks": [task.name],
        "model": name,
        "data": {task.name: data.identity},
        **({"task_args": item_args} if item_args else {}),
    }


def _read_run(
    task: TaskSpec, spec: DatasetSpec, arguments: Score
) -> tuple[AnsweredTask, JsonDict]:
    """Reads the answers of a run; returns them with the settings that identify this scoring."""
    # Slow, and needed for runs alone.
    from medical_tasks.runs.replaying import check_recipe, run_answers

    folder: Path = arguments.responses
    entries = read_results(folder)["tasks"]
    if task.name not in entries:
        raise UsageError(
            f"{folder}: has no answers to {task.name}, but to {', '.join(entries)}."
        )

    recipe = entries[task.name]["recipe"]
    check_recipe(folder, recipe)
    _check_same_items(folder, recipe, arguments)
    asked_items, drawn = asked_part(recipe), read_drawn(arguments)
    if drawn is not None and (any(asked_items.values()) or "repeats" in recipe):
        raise UsageError(
            f"{folder}: ran on some of the items, or several times; --subset draws from one whole "
            "run. Leave it out."
        )

    config, split = recipe["data"]["config"], recipe["data"]["split"]
    data = load_task_data(
        task, spec, data=arguments.data, config=config, split=split, **asked_items
    )
    check_one_source_of_error(
        subset=drawn or "subset" in recipe,
        repeats="repeats" in recipe,
        evaluations=arguments.evaluations > 1,
        calibration=arguments.calibration,
    )
    run = run_answers(task, data, recipe, folder, upstream=arguments.upstream)
    data = draw(task, data, drawn)
    recipe, ids = {**recipe, **data.recipe_part}, {item.id for item in data.items}
    if "truncation" in recipe:
        left = recipe["truncation"]["words_left_out"]
        left_of_items = {name: words for name, words in left.items() if name in ids}
        recipe["truncation"] = {
            **recipe["truncation"],
            "words_left_out": left_of_items,
        }

    answered = _existing_answers(
        task, data, run.responses, recipe, "not answered in the run"
    )
    answered = replace(
        answered, repeats=run.repeats, details=run.details, opening=run.opening
    )
    if is_imported(recipe):
        reasons = {item: run.unanswered[item] for item in answered.unanswered}
        reported = entries[task.name].get("reported", ())
        answered = replace(answered, unanswered=reasons, cut=run.cut, reported=reported)

    # Answers to other prompts belong to another run, even of the same model.
    questions = {
        "prompts": recipe["prompts"],
        "max_new_tokens": (recipe["generation"] or {}).get("max_new_tokens"),
    }
    optional = (
        "task_args", "protocol", "roles", "shard", "subset", "repeats", RECIPE_KEY,
    )  # fmt: skip
    questions |= {name: recipe[name] for name in optional if name in recipe}
    settings = {"tasks": [task.name], "model": recipe["model"], "asked": questions}

    return answered, {**settings, "data": {task.name: data.identity}}


def _check_same_items(folder: Path, recipe: Json, arguments: Score) -> None:
    """Refuses a configuration or split other than the run's."""
    config, split = recipe["data"]["config"], recipe["data"]["split"]
    other = None
    if arguments.config not in (None, config):
        other = f"configuration {config}, got --config {arguments.config}"
    elif arguments.split is not None and {*split_names(arguments.split)} != {
        *split_names(split)
    }:
        other = f"split {split}, got --split {arguments.split}"

    if other:
        raise UsageError(f"{folder}: ran on {other}. Leave it out.")


def _existing_answers(
    task: TaskSpec,
    data: TaskData,
    responses: Mapping[str, str],
    recipe: Json,
    reason: str,
) -> AnsweredTask:
    """Makes a task from existing answers; `reason` is why the other items have none."""
    return AnsweredTask(
        task=task,
        items=data.items,
        responses=responses,
        unanswered={item.id: reason for item in data.items if item.id not in responses},
        recipe=recipe,
        scoring_args=data.scoring_args,
    )


# ---- Shared with a model's run ----


def checked_task_args(
    arguments: Mapping[str, str], tasks: Sequence[TaskSpec]
) -> dict[str, str]:
    """Checks `--task-args`: each must be a setting of one of the tasks."""
    names = {
        name for task in tasks for name in (*task.arguments, *task.scoring_arguments)
    }
    for name in arguments:
        if name not in names:
            hint = (
                f"They take: {', '.join(sorted(names))}."
                if names
                else "They take none."
            )
            raise UsageError(
                f"--task-args: {name!r} is not a setting of "
                f"{', '.join(task.name for task in tasks)}. {hint}"
            )

    return dict(arguments)


def check_one_source_of_error(**sources: object) -> None:
    """Refuses two sources of error at once, named like their options."""
    names = [f"--{name}" for name, value in sources.items() if value]
    if len(names) > 1:
        raise UsageError(
            f"{' and '.join(names)}: the interval would include the error of only one of them. Give "
            "one."
        )


def check_judge(request: JudgeRequest | None, tasks: Sequence[TaskSpec]) -> None:
    """Refuses a judge that does not suit these tasks."""
    if request is not None:
        from medical_tasks.runs.judging import check_request

        check_request(request, tasks)


def judge_of(
    request: JudgeRequest | None, folder: RunFolder
) -> contextlib.AbstractContextManager[RunJudge | None]:
    """Opens the requested judge; without a request no module of judges is imported."""
    if request is None:
        return contextlib.nullcontext()
    from medical_tasks.runs.judging import run_judge

    return run_judge(request, folder)


def forecast_judging(
    request: JudgeRequest,
    answered: Iterable[AnsweredTask],
    *,
    store: Path | None = None,
) -> None:
    """Prints the cost of judging, without the verdicts that a `store` already has."""
    from medical_tasks.runs.judging import RunJudge

    with (
        tempfile.TemporaryDirectory() as scratch,
        RunJudge(
            request, store=store or Path(scratch) / "none.sqlite", log_dir=Path(scratch)
        ) as judge,
    ):
        for task_answers in answered:
            score_responses(task_answers, judge.task_judge(task_answers.task).judging)


def existing_store(path: Path) -> Path | None:
    """Returns the store of an earlier command, whose verdicts a forecast leaves out."""
    store = (
        existing_run_folder(path).answers if (path / SETTINGS_FILE).is_file() else None
    )
    return store if store is not None and store.is_file() else None
