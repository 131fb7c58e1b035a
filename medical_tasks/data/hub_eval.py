"""`eval.yaml` of a dataset's Hub repository: it makes the repository a benchmark, with a leaderboard for each task.

https://huggingface.co/docs/hub/eval-results. The ids are the names of our tasks; models' scores (`.eval_results/*.yaml`, written by
`medical-tasks submit --to eval-results`) name them. `evaluation_framework` is one of a list that Hugging Face keeps
(huggingface.js, packages/tasks/src/eval.ts): lighteval is not on it, inspect-ai is, and then each task has to say which columns,
solvers and scorers of inspect's own to use.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import yaml

from medical_tasks.data.dataset_store import split_names
from medical_tasks.spec import DatasetSpec, TaskSpec

__all__ = ["FRAMEWORK", "accepted_configs", "eval_metadata", "eval_text", "leaderboard_config", "leaderboard_tasks"]

FRAMEWORK: Final = "inspect-ai"
"""The one framework of the Hub's list that runs these tasks."""

_HEAD: Final = """\
# Makes this repository a benchmark of the Hub: https://huggingface.co/docs/hub/eval-results
# Solvers and scorers have to be ones that inspect has built in. They put the question and grade the answer in a plain way, and
# their numbers are not those of the tasks, whose own prompts, protocols and metrics are run by:
#   inspect eval medical_tasks/{task}        or        medical-tasks run --tasks {task} --model MODEL
"""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def leaderboard_tasks(spec: DatasetSpec, tasks: Sequence[TaskSpec]) -> tuple[TaskSpec, ...]:
    """Picks the tasks that have a leaderboard.

    Args:
        spec: a dataset.
        tasks: tasks of the suite.

    Returns:
        Those on the dataset that ask a model; none for a dataset of each user's own texts.
    """
    if spec.default_config == "own":
        return ()
    return tuple(task for task in tasks if task.dataset == spec.name and not task.baseline)


def leaderboard_config(task: TaskSpec, spec: DatasetSpec) -> str:
    """Names the configuration that holds the task's questions and no others."""
    level = f"level{task.options.get('level')}"
    return level if level in spec.configs else spec.default_config


def accepted_configs(task: TaskSpec, spec: DatasetSpec) -> tuple[str, ...]:
    """Names the configurations in which the task asks the leaderboard's questions."""
    return tuple(dict.fromkeys((leaderboard_config(task, spec), spec.default_config)))


def eval_metadata(
    spec: DatasetSpec, tasks: Sequence[TaskSpec], *, built: Mapping[str, Collection[str]] | None = None
) -> dict[str, Any]:
    """Makes the content of a dataset's `eval.yaml`.

    Args:
        spec: the dataset.
        tasks: tasks of the suite.
        built: the configurations that are there, each with its splits; None for all.

    Returns:
        Values of plain types, in the order they are written; empty for a dataset without a leaderboard.
    """
    chosen = [
        task
        for task in leaderboard_tasks(spec, tasks)
        if built is None or set(split_names(task.split)) <= set(built.get(leaderboard_config(task, spec), ()))
    ]
    if not chosen:
        return {}
    return {
        "name": spec.title,
        "description": f"{spec.title} as medical-tasks asks and scores it: {spec.paper}",
        "evaluation_framework": FRAMEWORK,
        "tasks": [
            {
                "id": task.name,
                "config": leaderboard_config(task, spec),
                "split": task.split,
                # A copy each, or YAML would write the second as an alias of the first.
                **copy.deepcopy(task.benchmark.eval_fields(task)),
            }
            for task in chosen
        ],
    }


def eval_text(
    spec: DatasetSpec, tasks: Sequence[TaskSpec], *, built: Mapping[str, Collection[str]] | None = None
) -> str:
    """Writes a dataset's `eval.yaml`.

    Args:
        spec: the dataset.
        tasks: tasks of the suite.
        built: the configurations that are there, each with its splits; None for all.

    Returns:
        The text; "" for a dataset without a leaderboard.
    """
    metadata = eval_metadata(spec, tasks, built=built)
    if not metadata:
        return ""
    body = yaml.dump(metadata, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return _HEAD.format(task=metadata["tasks"][0]["id"]) + body
