"""Answers a task with a baseline: no model is asked, and only the results are kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from medical_tasks.data.task_data import TaskData, leaking_examples, prompt_set
from medical_tasks.errors import UsageError
from medical_tasks.io.store import Texts
from medical_tasks.models.stand_ins import (
    BASELINES,
    COPY_EXAMPLE,
    REFERENCE,
    baseline_responses,
)
from medical_tasks.runs.answered import AnsweredTask
from medical_tasks.runs.recipes import make_recipe
from medical_tasks.runs.results import Json
from medical_tasks.spec import Item, Message, TaskSpec


def check_truncate(model: str, truncate: str) -> None:
    """Refuses `--truncate` for a baseline, which is asked nothing that could be shortened."""
    if model.startswith("baseline/") and truncate != "refuse":
        raise UsageError(
            f"{model} is asked nothing, so --truncate has no meaning for it. Leave it out."
        )


def run_baseline(
    name: str,
    task: TaskSpec,
    data: TaskData,
    *,
    max_samples: int | None,
    task_args: Mapping[str, str] | None = None,
    prompts: str = "own",
    upstream: Path | None = None,
) -> AnsweredTask:
    """Answers a task with a baseline of `stand_ins.BASELINES` or of its benchmark.

    `copy-example` copies from the set `prompts`.
    """
    prompt_args = {
        key: value for key, value in (task_args or {}).items() if key in task.arguments
    }
    responses: Iterable[str]
    identity: Json
    if name == COPY_EXAMPLE:
        example_prompts = prompt_set(
            task,
            prompts,
            upstream,
            arguments=prompt_args,
            config=data.config,
            exemplars=data.exemplars,
        )
        if (example := example_prompts.example) is None:
            raise UsageError(
                f"{task.name}: its questions show no worked example, so that "
                f"baseline/{COPY_EXAMPLE} has nothing to copy. Use it with a task that shows one, "
                "such as medcalc_one_shot."
            )

        responses = (example(item).reply for item in data.items)
        identity = {"prompts": example_prompts.name, "sha256": example_prompts.sha256}
        leaking = leaking_examples(task, example_prompts, data.items)
    else:
        (responses, identity), leaking = _answered(name, task, data, prompt_args), []

    recipe = make_recipe(
        task,
        data=data.revision,
        model={"name": f"baseline/{name}"},
        max_samples=max_samples,
    )
    recipe |= data.recipe_part
    if prompt_args:
        recipe["task_args"] = prompt_args
    if identity:
        recipe["baseline"] = identity
    if leaking:
        recipe["leaking_examples"] = leaking

    texts = Texts(zip((item.id for item in data.items), responses, strict=True))
    return AnsweredTask(
        task=task,
        items=data.items,
        responses=texts,
        details=_conversations(name, task, data.items, texts) if task.tools else {},
        unanswered={},
        recipe=recipe,
        scoring_args={**data.scoring_args, **task.scoring_args(task_args or {})},
    )


def _conversations(
    name: str, task: TaskSpec, items: Sequence[Item], texts: Texts
) -> Texts:
    """Makes the conversations behind the answers to a task with tools: right calls, or none."""

    def conversation(item: Item) -> tuple[Message, ...]:
        if name == REFERENCE:
            return task.benchmark.gold_answer(task, item).conversation
        return (Message(role="assistant", content=texts[item.id]),)

    return Texts(
        (item.id, json.dumps({"conversation": conversation(item)})) for item in items
    )


def _answered(
    name: str, task: TaskSpec, data: TaskData, arguments: Mapping[str, str]
) -> tuple[Iterable[str], Json]:
    """Makes a baseline's answers and its description for the recipe.

    A benchmark's own baseline takes precedence over a general one with the same name.
    """
    own_baselines = task.benchmark.baselines()
    if name in own_baselines:
        return own_baselines[name].respond(task, data.items, arguments), dict(
            own_baselines[name].identity(task, arguments)
        )

    if name not in BASELINES:
        names = ", ".join(
            f"baseline/{baseline}" for baseline in (*BASELINES, *own_baselines)
        )
        raise UsageError(
            f"{task.name}: there is no baseline/{name}. Baselines: {names}."
        )

    return baseline_responses(name, task, data.items, task.benchmark.gold_response), {}
