"""Answering a task with a baseline: no model is asked, and nothing is kept but the results."""

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
    own = {
        key: value for key, value in (task_args or {}).items() if key in task.arguments
    }
    responses: Iterable[str]
    identity: Json
    if name == COPY_EXAMPLE:
        shown = prompt_set(
            task,
            prompts,
            upstream,
            arguments=own,
            config=data.config,
            exemplars=data.exemplars,
        )
        if (example := shown.example) is None:
            raise UsageError(
                f"{task.name}: its questions show no worked example, so that "
                f"baseline/{COPY_EXAMPLE} has nothing to copy. Use it with a task that shows one, "
                "such as medcalc_one_shot."
            )

        responses = (example(item).reply for item in data.items)
        identity = {"prompts": shown.name, "sha256": shown.sha256}
        leaking = leaking_examples(task, shown, data.items)
    else:
        (responses, identity), leaking = _answered(name, task, data, own), []

    recipe = make_recipe(
        task,
        data=data.revision,
        model={"name": f"baseline/{name}"},
        max_samples=max_samples,
    )
    recipe |= data.part
    if own:
        recipe["task_args"] = own
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
        scoring_args={**data.found, **task.scoring_args(task_args or {})},
    )


def _conversations(
    name: str, task: TaskSpec, items: Sequence[Item], texts: Texts
) -> Texts:
    """What led to the answers of a task with tools: right calls, or none."""

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
    """A baseline's answers, and what its recipe says of it.

    A benchmark's own baseline comes before a general one of that name.
    """
    own = task.benchmark.baselines()
    if name in own:
        return own[name].respond(task, data.items, arguments), dict(
            own[name].identity(task, arguments)
        )

    if name not in BASELINES:
        names = ", ".join(f"baseline/{each}" for each in (*BASELINES, *own))
        raise UsageError(
            f"{task.name}: there is no baseline/{name}. Baselines: {names}."
        )

    return baseline_responses(name, task, data.items, task.benchmark.gold_response), {}
