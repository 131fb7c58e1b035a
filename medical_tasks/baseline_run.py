"""Answering a task with a baseline: no model is asked, and nothing is kept but the results."""

from __future__ import annotations

from collections.abc import Mapping

from medical_tasks.models.baselines import baseline_responses
from medical_tasks.recipe import make_recipe
from medical_tasks.runner import AnsweredTask
from medical_tasks.spec import TaskSpec
from medical_tasks.task_data import TaskData, benchmark_module

__all__ = ["run_baseline"]


def run_baseline(
    name: str,
    task: TaskSpec,
    data: TaskData,
    *,
    max_samples: int | None,
    task_args: Mapping[str, str] | None = None,
) -> AnsweredTask:
    """Answers a task with a baseline.

    Args:
        name: one of `baselines.BASELINES`.
        task: the task.
        data: its items.
        max_samples: the limit given, for the recipe.
        task_args: settings given, of which those of the scoring are used.
    """
    gold_response = benchmark_module(task, "prompts").gold_response
    responses = baseline_responses(name, task, data.items, gold_response)
    recipe = make_recipe(
        task,
        data=data.revision,
        prompts=None,
        model={"name": f"baseline/{name}"},
        max_new_tokens=None,
        max_samples=max_samples,
    )
    pairs = zip(data.items, responses, strict=True)
    return AnsweredTask(
        task=task,
        items=data.items,
        responses={item.id: text for item, text in pairs},
        unanswered={},
        recipe=recipe,
        scoring_args=task.scoring_args(task_args or {}),
    )
