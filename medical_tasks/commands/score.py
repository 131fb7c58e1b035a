"""Score answers you already have; no model is run.

    medical-tasks score medcalc --responses answers.jsonl

The file has one line an item, {"id": "17", "response": "the model's raw text"}. Ids are the dataset's own (for MedCalc-Bench
the `Row Number`). Items without a line are reported as unanswered, never counted as wrong.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import Any

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("task", metavar="TASK", help="medcalc, medical:medcalc or medical|medcalc")
    parser.add_argument("--responses", required=True, type=Path, metavar="FILE", help="JSON Lines: id and response")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of the built dataset (default: the user's data home)"
    )
    parser.add_argument("--config", metavar="NAME", help="dataset configuration")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results (default: runs/RESPONSES-HASH)")


def run(arguments: argparse.Namespace) -> int:
    """Scores the file; exit code 5 when items are unanswered or unscored."""
    from medical_tasks.catalog import dataset_spec
    from medical_tasks.commands.run import report_results
    from medical_tasks.errors import UsageError
    from medical_tasks.recipe import make_recipe
    from medical_tasks.responses import read_file, read_responses
    from medical_tasks.run_folder import default_folder, locked, open_run_folder
    from medical_tasks.runner import AnsweredTask, finish
    from medical_tasks.task_data import load_task_data
    from medical_tasks.task_names import parse_task_names

    tasks = parse_task_names(arguments.task)
    if len(tasks) != 1:
        raise UsageError(f"score takes one task, got {arguments.task!r} ({', '.join(task.name for task in tasks)}).")
    task = tasks[0]
    data = load_task_data(task, dataset_spec(task.dataset), data=arguments.data, config=arguments.config)
    content = read_file(arguments.responses)
    responses = read_responses(arguments.responses, [item.id for item in data.items], content=content)
    name = f"responses/{arguments.responses.name}"
    # Not their content: a corrected file is scored again into the same folder, in which nothing else lies.
    settings: dict[str, Any] = {"tasks": [task.name], "model": name, "data": {task.name: data.identity}}
    folder = open_run_folder(arguments.out or default_folder(arguments.responses.stem, settings), settings)
    source = {"name": name, "sha256": hashlib.sha256(content).hexdigest()}
    recipe = make_recipe(task, data=data.revision, prompts=None, model=source, max_new_tokens=None, max_samples=None)
    unanswered = {item.id: "not in the responses" for item in data.items if item.id not in responses}
    answered = AnsweredTask(task=task, items=data.items, responses=responses, unanswered=unanswered, recipe=recipe)
    with locked(folder):
        results = finish([answered], folder)
        return report_results(results, folder.path, next_step="Add the missing lines and give the same command again.")
