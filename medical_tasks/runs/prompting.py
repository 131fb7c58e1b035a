"""Renders one prompt of a run as the model would get it, without asking."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from medical_tasks.catalog import dataset_spec, parse_task_names
from medical_tasks.data.task_data import TaskData, load_task_data, read_drawn
from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.guard import policy
from medical_tasks.models.base import Model
from medical_tasks.models.opener import full_name, is_local
from medical_tasks.models.opening import open_unloaded
from medical_tasks.options import Run
from medical_tasks.runs.baselines import check_truncate
from medical_tasks.runs.confidence import ASKED, check_askable
from medical_tasks.runs.rescoring import checked_task_args
from medical_tasks.runs.runner import (
    RunOptions,
    fit_items,
    load_task_prompts,
    opening_request,
)
from medical_tasks.spec import Item, Message, PromptSet, TaskSpec


@dataclass(frozen=True, kw_only=True)
class ShownPrompt:
    """The first question about an item.

    Attributes:
        task: the task's name.
        item: the item's id.
        model: the model that would be asked.
        messages: the chat; a server gets it unchanged.
        tools: the names of the tools that are offered with it.
        text: the chat as rendered by the model's chat template; "" if a server applies
            the template.
        continuations: the texts whose probabilities are requested.
        private: whether it holds text of credentialed data.
        note: what the run does since the prompt is too long; "" if it fits.
    """

    task: str
    item: str
    model: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    text: str
    continuations: tuple[str, ...]
    private: bool
    note: str = ""

    def __str__(self) -> str:
        """Formats the prompt for people."""
        head = f"{self.task}, item {self.item!r}, for {self.model}"
        parts = [f"{head}, by its chat template:", self.text]
        if not self.text:
            messages = [
                f"[{message['role']}]\n{message['content']}"
                for message in self.messages
            ]
            parts = [f"{head}, as messages:", *messages]

        if self.tools:
            parts.append(f"Tools offered: {', '.join(self.tools)}.")

        if self.continuations:
            continuations = "\n".join(map(repr, self.continuations))
            parts.append(f"Asked for: the probability of each of\n{continuations}")

        if self.note:
            parts.append(self.note)

        return "\n\n".join(parts)


def render_prompt(arguments: Run, item: str = "") -> ShownPrompt:
    """Renders one prompt of a run.

    Args:
        arguments: the options of the run.
        item: the id of the item; the first one of the first task by default.

    Raises:
        UsageError: No task has such an item, or the task asks no model.
    """
    tasks = parse_task_names(arguments.tasks)
    checked_task_args(arguments.task_args, tasks)
    name = full_name(arguments.model)
    check_truncate(name, arguments.truncate)
    if arguments.confidence == ASKED:
        check_askable(tasks, name)

    seen_ids: list[str] = []
    for task in (task.asked_with(arguments.task_args) for task in tasks):
        spec = dataset_spec(task.dataset)
        with policy.protect(
            [policy.Subject.of(spec, task=task.name)],
            policy.attestation_from(arguments),
        ):
            data = _data(task, arguments)
            matches = [
                candidate for candidate in data.items if item in ("", candidate.id)
            ]
            if matches:
                return _render(task, data, matches[0], name, arguments)

            seen_ids += [candidate.id for candidate in data.items]

    names = ", ".join(task.name for task in tasks)
    if not seen_ids:
        raise UsageError(f"--show-prompt: this part of {names} has no item.")

    raise UsageError(
        f"--show-prompt {item}: no item of {names} has this id."
        f"{did_you_mean(item, seen_ids)} The first is {seen_ids[0]}."
    )


def _data(task: TaskSpec, arguments: Run) -> TaskData:
    """Loads the items that the run would ask about."""
    return load_task_data(
        task,
        dataset_spec(task.dataset),
        data=arguments.data,
        config=arguments.config,
        split=arguments.split,
        max_samples=arguments.max_samples,
        shard=arguments.shard,
        drawn=read_drawn(arguments, max_samples=arguments.max_samples),
    )


def _render(
    task: TaskSpec, data: TaskData, item: Item, name: str, arguments: Run
) -> ShownPrompt:
    options = RunOptions(
        prompts=arguments.prompts,
        upstream=arguments.upstream,
        task_args=dict(arguments.task_args),
        model_args=dict(arguments.model_args),
        max_new_tokens=arguments.max_new_tokens,
        truncate=arguments.truncate,
        confidence=arguments.confidence,
    )
    prompts = load_task_prompts(task, options, data)
    with _unloaded(name, arguments) as model:
        note = ""
        if model is not None:
            item, note = _fitted(task, prompts, item, model, options)

        messages = prompts.render(item)
        tools = prompts.tools(item) if prompts.tools else ()
        text = "" if model is None else model.rendered(messages, tools)

    return ShownPrompt(
        task=task.name,
        item=item.id,
        model=name,
        messages=messages,
        tools=tuple(tool.name for tool in tools),
        text=text,
        continuations=prompts.continuations(item) if prompts.continuations else (),
        private=not policy.text_allowed(dataset_spec(task.dataset)),
        note=note,
    )


@contextlib.contextmanager
def _unloaded(name: str, arguments: Run) -> Iterator[Model | None]:
    """Opens the model without its weights.

    None for a model behind a server, unless the run may shorten its prompts.
    """
    if not is_local(name) and arguments.truncate == "refuse":
        yield None
        return

    with (
        tempfile.TemporaryDirectory() as scratch,
        contextlib.closing(
            open_unloaded(name, arguments.model_args, log_dir=Path(scratch))
        ) as model,
    ):
        yield model


def _fitted(
    task: TaskSpec, prompts: PromptSet, item: Item, model: Model, options: RunOptions
) -> tuple[Item, str]:
    """Shortens an item as the run does; also returns a note about what the run does.

    Raises:
        UsageError: The prompt is too long, and the run would refuse it.
    """
    if prompts.shorten is not None and not model.measures_alone:
        return item, (
            f"Only the server can tell whether this is too long for {model.name}, so "
            f"--truncate {options.truncate} was not applied. --model-args context=N and "
            "tokenizer=FOLDER measure it here."
        )

    fitted = fit_items(task, prompts, [item], model, options)
    (item,) = fitted.items
    words = fitted.shortened.get(item.id, 0)
    if words:
        return item, (
            f"--truncate {options.truncate} left out {words:,} words, so that the prompt fits "
            "the model's context."
        )

    if not model.measures_alone:
        return item, ""

    (length,) = model.lengths([opening_request(task, prompts, item, model, options)])
    if length is None or length.tokens <= length.room:
        return item, ""

    return item, (
        f"The prompt does not fit the model's context ({length.tokens:,} tokens, room for "
        f"{length.room:,}), so the run leaves it unanswered."
    )
