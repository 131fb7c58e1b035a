"""Score answers you already have; no model is run.

    medical-tasks score medcalc --responses answers.csv
    medical-tasks score kqa --responses answers.xlsx --judge openai-api/my-host/judge-model
    medical-tasks score kqa --responses runs/my-run --judge nli/path/to/model
    medical-tasks score doclens_own --source notes.json --responses outputs.json --judge openai-api/my-host/judge-model
    medical-tasks score archehr_together --source RELEASE --split dev --responses submission.json
    medical-tasks score archehr_evidence --source RELEASE --split dev --responses submission.zip

The file is a table (CSV, XLSX, parquet) with the columns id and response, or JSON Lines with one line an item,
{"id": "17", "response": "the model's raw text"}. Ids are the dataset's own (for MedCalc-Bench the `Row Number`, which a table's
column may be called too); where each item has a question of its own, a column `question` names it as well. A JSON list of such
records may have the names example_id and output, or those of a submission to ArchEHR-QA's shared tasks: case_id and answer (2025),
or case_id and prediction (2026), zipped or not, which is scored only if it has no problems. Items without an answer are reported
as unanswered, never counted as wrong. Instead of a file, the folder of a run can be given: its answers are scored anew, by another
judge for example.

Your own questions or notes (K-QA, MedCalc-Bench, DocLens) need no build: --source takes the file that configuration `own` is built
from. For ArchEHR-QA it takes the folder of the release.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medical_tasks.errors import UsageError
from medical_tasks.guard.policy import add_guard_arguments
from medical_tasks.runs.judge_arguments import add_judge_arguments

if TYPE_CHECKING:
    from medical_tasks.runs.runner import AnsweredTask
    from medical_tasks.spec import DatasetSpec, TaskSpec

__all__ = ["add_arguments", "run"]

_FINISH = "Give that run's command again to answer the missing ones, then this one."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("task", metavar="TASK", help="medcalc, medical:medcalc or medical|medcalc")
    parser.add_argument(
        "--responses",
        required=True,
        type=Path,
        metavar="FILE",
        help="CSV, XLSX, parquet, JSON Lines or a JSON list, with id and response (other names: see above), or a run",
    )
    parser.add_argument(
        "--source",
        type=Path,
        metavar="FILE",
        help="the one file a dataset of your own is made of, or ArchEHR-QA's folder, in place of --data",
    )
    parser.add_argument("--split", metavar="NAME", help="split that was answered, or a+b, instead of the task's own")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of the built dataset (default: the user's data home)"
    )
    parser.add_argument("--config", metavar="NAME", help="dataset configuration")
    parser.add_argument(
        "--prompts", default="own", metavar="SET", help="the judge's prompts: own (default) or official"
    )
    parser.add_argument(
        "--upstream", type=Path, metavar="DIR", help="checkout of the authors' repository, for --prompts official"
    )
    parser.add_argument(
        "--task-args", default="", metavar="K=V,...", help="settings of the task's scoring, e.g. sentence_bert=FOLDER"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results (default: runs/RESPONSES-HASH)")
    add_judge_arguments(parser)
    add_guard_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Scores the answers; exit code 5 when items are unanswered or unscored."""
    from medical_tasks.cli.run import AGAIN, report_results

    done = evaluate(arguments)
    if done is None:
        return 0
    results, folder, unanswered = done
    mended = _FINISH if arguments.responses.is_dir() else "Add the missing lines and give the same command again."
    return report_results(results, folder, next_step=mended if unanswered else AGAIN)


def evaluate(arguments: argparse.Namespace) -> tuple[dict[str, Any], Path, bool] | None:
    """Scores the answers and writes the results.

    Returns:
        What was written, the folder, and whether an item has no answer; None after a forecast, and in further processes.
    """
    from medical_tasks.benchmarks.catalog import dataset_spec, parse_task_names
    from medical_tasks.data.task_data import with_source
    from medical_tasks.guard import policy
    from medical_tasks.runs.finishing import finish, score_responses
    from medical_tasks.runs.folder import default_folder, is_main_process, locked, open_run_folder
    from medical_tasks.runs.judge_arguments import judge_request
    from medical_tasks.runs.judging import RunJudge, check_request

    if not is_main_process():
        return None  # there is nothing to share among processes
    tasks = parse_task_names(arguments.task)
    if len(tasks) != 1:
        raise UsageError(f"score takes one task, got {arguments.task!r} ({', '.join(task.name for task in tasks)}).")
    task = tasks[0]
    spec = dataset_spec(task.dataset)
    request = judge_request(arguments, tasks, prompts=arguments.prompts)
    if request is None and arguments.prompts != "own":
        raise UsageError(
            f"--prompts {arguments.prompts}: {task.name} needs no judge, and no model is asked. Leave it out."
        )
    with policy.protect([policy.Subject.of(spec, task=task.name)], policy.attestation_from(arguments)):
        if request is not None:
            check_request(request, tasks)
        with with_source(arguments, task) as given:
            answered, settings = _answered(task, spec, given)
        answered = replace(answered, scoring_args=_scoring_args(arguments.task_args, task, answered.recipe))
        settings |= {"judge": request.identity} if request is not None else {}
        path = arguments.out or default_folder(arguments.responses.stem, settings)
        if request is not None and request.options.forecast:
            with (
                tempfile.TemporaryDirectory() as scratch,
                RunJudge(request, store=_kept(path) or Path(scratch) / "none.sqlite", log_dir=Path(scratch)) as judge,
            ):
                score_responses(answered, judge.task_judge(task).judging)
            print("No judge was asked and nothing is written.")
            return None
        folder = open_run_folder(path, settings, private=not policy.text_allowed(spec))
        with locked(folder):
            if request is None:
                results = finish([answered], folder)
            else:
                with RunJudge(request, store=folder.answers, log_dir=folder.logs) as judge:
                    results = finish([answered], folder, judge)
            return results, folder.path, bool(answered.unanswered)


def _scoring_args(text: str, task: TaskSpec, recipe: Mapping[str, Any]) -> dict[str, str]:
    """The settings given, and those of the run's questions that its scoring must know too."""
    from medical_tasks.cli.run import read_task_args

    given = read_task_args(text, [task])
    questions = [name for name in given if name not in task.scoring_arguments]
    if questions:
        raise UsageError(
            f"--task-args: {', '.join(questions)} is about the questions, and none is asked. Leave it out."
        )
    asked = task.scoring_args(recipe.get("task_args", {}))
    for name, value in asked.items():
        if given.get(name, value) != value:
            raise UsageError(
                f"--task-args: {name}={given[name]}, but the run's questions were asked with {name}={value}. Leave it out."
            )
    return {**asked, **given}


def _kept(path: Path) -> Path | None:
    """The store of a scoring that was begun, so that a forecast leaves out what was judged already."""
    from medical_tasks.guard.private_store import SETTINGS_FILE
    from medical_tasks.runs.folder import existing_run_folder

    store = existing_run_folder(path).answers if (path / SETTINGS_FILE).is_file() else None
    return store if store is not None and store.is_file() else None


def _answered(task: TaskSpec, spec: DatasetSpec, arguments: argparse.Namespace) -> tuple[AnsweredTask, dict[str, Any]]:
    """Reads the answers; returns them, and what tells this scoring from others."""
    from medical_tasks.data.task_data import load_task_data
    from medical_tasks.runs.recipes import make_recipe
    from medical_tasks.runs.responses import read_file, read_responses
    from medical_tasks.runs.runner import AnsweredTask

    if isinstance(arguments.responses, Path) and arguments.responses.is_dir():
        return _from_run(task, spec, arguments)
    data = load_task_data(task, spec, data=arguments.data, config=arguments.config, split=arguments.split)
    content = read_file(arguments.responses)
    ids = [item.id for item in data.items]
    # Says what is wrong with a submission, for a benchmark whose shared task has a form of its own.
    check = task.benchmark.submission_check(task, data.items)
    responses = read_responses(arguments.responses, ids, content=content, check=check, task=task, items=data.items)
    name = f"responses/{arguments.responses.name}"
    source = {"name": name, "sha256": hashlib.sha256(content).hexdigest()}
    recipe = make_recipe(task, data=data.revision, prompts=None, model=source, max_new_tokens=None, max_samples=None)
    unanswered = {item.id: "not in the responses" for item in data.items if item.id not in responses}
    answered = AnsweredTask(task=task, items=data.items, responses=responses, unanswered=unanswered, recipe=recipe)
    # Not their content: a corrected file is scored again into the same folder, in which nothing else lies.
    return answered, {"tasks": [task.name], "model": name, "data": {task.name: data.identity}}


def _from_run(task: TaskSpec, spec: DatasetSpec, arguments: argparse.Namespace) -> tuple[AnsweredTask, dict[str, Any]]:
    from medical_tasks.data.dataset_store import split_names
    from medical_tasks.data.task_data import load_task_data
    from medical_tasks.runs.responses import check_recipe, run_responses
    from medical_tasks.runs.results import read_results
    from medical_tasks.runs.runner import AnsweredTask

    folder: Path = arguments.responses
    entries = read_results(folder)["tasks"]
    if task.name not in entries:
        raise UsageError(f"{folder}: has no answers to {task.name}, but to {', '.join(entries)}.")
    recipe = entries[task.name]["recipe"]
    check_recipe(folder, recipe)
    config, split = recipe["data"]["config"], recipe["data"]["split"]
    if arguments.config not in (None, config):
        raise UsageError(f"{folder}: ran on configuration {config}, got --config {arguments.config}. Leave it out.")
    if arguments.split is not None and set(split_names(arguments.split)) != set(split_names(split)):
        raise UsageError(f"{folder}: ran on split {split}, got --split {arguments.split}. Leave it out.")
    data = load_task_data(
        task, spec, data=arguments.data, config=config, split=split, max_samples=recipe["max_samples"]
    )
    responses = run_responses(task, data, recipe, folder, upstream=arguments.upstream)
    unanswered = {item.id: "not answered in the run" for item in data.items if item.id not in responses}
    answered = AnsweredTask(task=task, items=data.items, responses=responses, unanswered=unanswered, recipe=recipe)
    # Answers to other prompts are another run's, though the model is the same.
    asked = {"prompts": recipe["prompts"], "max_new_tokens": (recipe["generation"] or {}).get("max_new_tokens")}
    asked |= {name: recipe[name] for name in ("task_args", "protocol") if name in recipe}
    settings = {"tasks": [task.name], "model": recipe["model"], "asked": asked, "data": {task.name: data.identity}}
    return answered, settings
