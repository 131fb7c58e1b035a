"""Running tasks: items to questions, questions to answers, answers to scores, scores to files.

Every finished answer goes to the store before the next one is asked for, under a hash of the model and the whole question.
A run that was killed is therefore resumed by the same command, and no finished answer is made twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.models.base import Answer, Failure, Model, Request
from medical_tasks.models.baselines import baseline_responses
from medical_tasks.progress import Progress
from medical_tasks.recipe import make_recipe
from medical_tasks.results import SCHEMA_VERSION, item_rows, summarise, write_run
from medical_tasks.run_folder import RunFolder
from medical_tasks.spec import Item, ItemScore, PromptSet, TaskSpec
from medical_tasks.store import Store, content_key
from medical_tasks.task_data import TaskData, benchmark_module

__all__ = ["AnsweredTask", "RunOptions", "finish", "run_baseline", "run_model", "score_responses"]

ANSWER = "answer"


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How tasks are run.

    Attributes:
        prompts: prompt set, `own` or `official`.
        upstream: checkout of the authors' repository, for `official`.
        max_new_tokens: longest answer instead of the task's own.
        max_samples: how many items a task, None for all.
    """

    prompts: str = "own"
    upstream: Path | None = None
    max_new_tokens: int | None = None
    max_samples: int | None = None


@dataclass(frozen=True, kw_only=True)
class AnsweredTask:
    """A task with the answers there are.

    Attributes:
        task: the task.
        items: all items asked.
        responses: item id to the model's text, for each answered item.
        unanswered: item id to the reason, for the others.
        recipe: what the numbers depend on.
    """

    task: TaskSpec
    items: Sequence[Item]
    responses: Mapping[str, str]
    unanswered: Mapping[str, str]
    recipe: Mapping[str, Any]


def run_model(
    tasks: Sequence[TaskSpec], data: Mapping[str, TaskData], model: Model, folder: RunFolder, options: RunOptions
) -> list[AnsweredTask] | None:
    """Asks a model all questions of all tasks, but for those it has answered before.

    Args:
        tasks: what to run.
        data: task name to its items.
        model: the model under test.
        folder: where the answers are kept.
        options: how to ask.

    Returns:
        The answered tasks; None in all but the main process of a distributed run.
    """
    prompts: dict[str, PromptSet] = {}
    requests: dict[str, Request] = {}
    keys: dict[str, list[str]] = {}
    for task in tasks:
        prompt_set = benchmark_module(task, "prompts").load_prompts(task, options.prompts, options.upstream)
        prompts[task.name] = prompt_set
        made = [_request(task, prompt_set, item, model, options) for item in data[task.name].items]
        keys[task.name] = [request.key for request in made]
        # Two items that ask the very same question share its answer.
        requests.update({request.key: request for request in made})
    if not model.is_main:
        _generate(model, requests, model.share([]), None, 0)
        return None
    with Store(folder.answers) as store:
        finished = store.get_many(ANSWER, requests)
        pending = model.share([key for key in requests if key not in finished])
        failures = _generate(model, requests, pending, store, len(requests) - len(pending))
        answers = store.get_many(ANSWER, requests)
    return [
        _answered(task, data[task.name], keys[task.name], answers, failures, prompts[task.name], model, options)
        for task in tasks
    ]


def _request(task: TaskSpec, prompts: PromptSet, item: Item, model: Model, options: RunOptions) -> Request:
    messages = prompts.render(item)
    size = options.max_new_tokens or task.generation_size
    key = content_key(
        {"model": dict(model.identity), "messages": list(messages), "max_new_tokens": size, "stop": list(task.stop)}
    )
    return Request(key=key, messages=messages, max_new_tokens=size, stop=task.stop)


def _generate(
    model: Model, requests: Mapping[str, Request], pending: Sequence[str], store: Store | None, done: int
) -> dict[str, str]:
    """Asks the pending questions; returns key to reason for those that finally failed."""
    failures: dict[str, str] = {}
    with Progress("answers", len(requests), done=done, quiet=store is None) as progress:

        def on_result(result: Answer | Failure) -> None:
            progress.step()
            if isinstance(result, Failure):
                failures[result.key] = result.reason
            elif store is not None:
                store.put(
                    ANSWER,
                    result.key,
                    {"text": result.text, "output_tokens": result.output_tokens, "finish": result.finish},
                )

        if pending:
            model.generate([requests[key] for key in pending], on_result)
    return failures


def _answered(
    task: TaskSpec,
    data: TaskData,
    keys: Sequence[str],
    answers: Mapping[str, Mapping[str, Any]],
    failures: Mapping[str, str],
    prompts: PromptSet,
    model: Model,
    options: RunOptions,
) -> AnsweredTask:
    responses: dict[str, str] = {}
    unanswered: dict[str, str] = {}
    for item, key in zip(data.items, keys, strict=True):
        if key in answers:
            responses[item.id] = answers[key]["text"]
        else:
            unanswered[item.id] = failures.get(key, "not asked")
    recipe = make_recipe(
        task,
        data=data.revision,
        prompts=prompts,
        model={"name": model.name, **model.identity},
        max_new_tokens=options.max_new_tokens or task.generation_size,
        max_samples=options.max_samples,
    )
    return AnsweredTask(task=task, items=data.items, responses=responses, unanswered=unanswered, recipe=recipe)


def run_baseline(name: str, task: TaskSpec, data: TaskData, *, max_samples: int | None) -> AnsweredTask:
    """Answers a task with a baseline.

    Args:
        name: one of `baselines.BASELINES`.
        task: the task.
        data: its items.
        max_samples: the limit given, for the recipe.
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
        task=task, items=data.items, responses={item.id: text for item, text in pairs}, unanswered={}, recipe=recipe
    )


def score_responses(answered: AnsweredTask) -> dict[str, ItemScore]:
    """Scores the answered items of a task with the benchmark's own scorer."""
    asked = [item for item in answered.items if item.id in answered.responses]
    scores: list[ItemScore] = benchmark_module(answered.task, "scoring").score_items(
        answered.task, asked, [answered.responses[item.id] for item in asked]
    )
    return {score.id: score for score in scores}


def finish(answered: Sequence[AnsweredTask], folder: RunFolder) -> dict[str, Any]:
    """Scores answered tasks and writes the run's results.

    Returns:
        What was written to `results.json`.
    """
    entries: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for part in answered:
        scores = score_responses(part)
        entries[part.task.name] = summarise(part.task, part.items, scores, part.unanswered, recipe=part.recipe)
        rows.extend(item_rows(part.task, part.items, scores, part.unanswered))
    results = {"schema_version": SCHEMA_VERSION, "tasks": entries}
    write_run(folder.path, results, rows)
    return results
