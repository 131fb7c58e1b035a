"""Runs tasks: asks the questions of all items in rounds; a protocol decides what is asked next.

Each answer is stored at once under a hash of model and question, so the same command
resumes a run. Only the main process decides.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from medical_tasks.data.task_data import (
    TaskData,
    leaking_examples,
    open_protocol,
    prompt_set,
)
from medical_tasks.errors import UsageError, listed
from medical_tasks.io.progress import Progress
from medical_tasks.io.store import Store, Texts, content_key
from medical_tasks.models.base import Answer as ModelAnswer
from medical_tasks.models.base import (
    Failure,
    Length,
    Model,
    Request,
    processes,
    read_request,
    write_request,
)
from medical_tasks.models.batch_journal import batches_of
from medical_tasks.models.budget import SPENT, Amount, RunBudget
from medical_tasks.models.opener import is_local, longer_context, read_prices
from medical_tasks.models.spending import most_of
from medical_tasks.models.usage import Meter, Prices, reply_metadata
from medical_tasks.runs.answered import AnsweredTask
from medical_tasks.runs.confidence import (
    ASKED,
    RECIPE_KEY,
    Confidence,
    asking_for_confidence,
)
from medical_tasks.runs.folder import RunFolder
from medical_tasks.runs.recipes import make_recipe
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import (
    Ask,
    Dialogue,
    Done,
    Item,
    Message,
    MultiStep,
    PromptSet,
    TaskSpec,
    Tool,
    ToolCall,
    Turn,
)

Truncate = Literal["refuse", "notes-from-the-oldest", "unanswered"]
"""How to treat a question that is too long.

Refuse the run, shorten the question's documents, or leave it unanswered.
"""

ANSWER: Final = "answer"
_RECORDED: Final = ("text", "prompt_tokens", "output_tokens", "finish")
_NAMED: Final = 5
_LISTED: Final = 20
_BLOCK: Final = 4_000
"""Items whose questions and answers are held in memory together."""
_BATCH: Final = 50_000
"""Items asked in one batch; the next batch begins only when this one has ended."""
_UNMEASURED: Final = (
    "note: {task}: {model} does not report its context length, so questions are not measured "
    "before they are asked; those that are too long stay unanswered. Set it with --model-args "
    "context=N,tokenizer=FOLDER."
)
_TRIES: Final = 40
"""A binary search takes as many steps as a document's word count has binary digits."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How tasks are run.

    Attributes:
        prompts: the prompt set.
        upstream: checkout of the authors' repository, for `official`.
        max_new_tokens: the answer's length limit, instead of the tasks' own.
        max_samples: the number of items per task, None for all.
        repeats: how often each question is asked.
        repeat: the current repeat, counted from 1.
        model_args: settings of the model as the user gave them, for the recipe.
        task_args: values of the tasks' `arguments` and `scoring_arguments`.
        truncate: how to treat questions that are too long.
        shortened: item id to words left out, when a run is replayed.
        role_choices: which model plays each of the tasks' `roles`.
        roles: these models, opened.
        budget: the ceiling for all these models together, None for no limit.
        batch: whether the model is asked in batches.
        confidence: whether the model is asked how sure it is.
    """

    prompts: str = "own"
    upstream: Path | None = None
    max_new_tokens: int | None = None
    max_samples: int | None = None
    repeats: int = 1
    repeat: int = 1
    model_args: Mapping[str, str] = field(default_factory=dict)
    task_args: Mapping[str, str] = field(default_factory=dict)
    truncate: Truncate = "refuse"
    shortened: Mapping[str, int] | None = None
    role_choices: Mapping[str, RoleChoice] = field(default_factory=dict)
    roles: Mapping[str, RoleModel] = field(default_factory=dict)
    budget: RunBudget | None = None
    batch: bool = False
    confidence: Confidence = "none"

    def of_repeat(self, repeat: int) -> RunOptions:
        """Returns the options for one of the `repeats`."""
        return replace(self, repeat=repeat)


@dataclass(frozen=True, kw_only=True)
class RoleChoice:
    """The model that plays a role, by name, with its settings as the user gave them."""

    name: str
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RoleModel:
    """A model that a protocol asks besides the one under test."""

    model: Model
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Items as the model is asked about them.

    Attributes:
        items: in the original order; items that were too long may be shortened.
        shortened: item id to words left out.
        measured: False when the model cannot measure a question's length.
    """

    items: Sequence[Item]
    shortened: Mapping[str, int] = field(default_factory=dict)
    measured: bool = True


@dataclass(kw_only=True)
class _TaskRun:
    """A task that a model is asked, and its conversations in the current repeat.

    Attributes:
        task: the task.
        data: its items.
        prompts: renders the questions.
        fitted: the items as they are asked, some of them shortened.
        protocol: decides what is asked next; None for one question per item.
        meter: the usage of the answers; `role_meters` holds that of each role.
        conversations: the finished ones.
        texts: final answers by item id; `details` holds the rest of what is known about them.
    """

    task: TaskSpec
    data: TaskData
    prompts: PromptSet
    fitted: Fitted
    protocol: MultiStep | None
    leaking: list[str]
    meter: Meter = field(default_factory=Meter)
    conversations: list[_Conversation] = field(default_factory=list)
    texts: Texts = field(default_factory=Texts)
    details: Texts = field(default_factory=Texts)
    role_meters: dict[str, Meter] = field(default_factory=dict)

    def opening(self, item: Item) -> tuple[Message, ...]:
        """Renders the first question about an item, as it was shortened."""
        if item.id in self.fitted.shortened:
            item = next(fitted for fitted in self.fitted.items if fitted.id == item.id)
        return self.prompts.render(item)

    def count_usage(self) -> None:
        """Adds the usage of this repeat's answers to that of the earlier repeats."""
        for conversation in self.conversations:
            self.meter.add(conversation.records)
            for role, records in conversation.role_records.items():
                self.role_meters.setdefault(role, Meter()).add(records)


@dataclass(kw_only=True, slots=True)
class _Conversation:
    """The questions and answers about one item.

    Attributes:
        request: the current question.
        role: who is asked it, "" for the model under test.
        chat: the last question to the model under test, and its reply.
        answers: all replies of the model under test, in order; `calls` holds each one's
            tool calls.
        replies: the replies of each role.
        records: the stored records of the answers, by key; `role_records` those of each
            role's replies.
        done: the final answer, once the protocol is satisfied.
        unanswered: why there is no final answer.
        cut: whether the last reply was cut at the length limit.
        thought_only: whether reasoning left no tokens for the last reply.
    """

    run: _TaskRun
    item: Item
    opening: tuple[Message, ...]
    request: Request
    role: str = ""
    chat: tuple[Message, ...] = ()
    answers: list[str] = field(default_factory=list)
    replies: dict[str, list[str]] = field(default_factory=dict)
    calls: list[tuple[ToolCall, ...]] = field(default_factory=list)
    records: dict[str, Json] = field(default_factory=dict)
    role_records: dict[str, dict[str, Json]] = field(default_factory=dict)
    done: Done | None = None
    unanswered: str | None = None
    cut: bool = False
    thought_only: bool = False

    def hear(self, record: Json) -> None:
        """Records the reply to the current question."""
        key, text = self.request.key, record["text"]
        if self.role:
            self.replies.setdefault(self.role, []).append(text)
            self.role_records.setdefault(self.role, {})[key] = record
            return

        self.records[key] = record
        self.answers.append(text)
        self.calls.append(tuple(record.get("tool_calls", ())))
        self.cut = record.get("finish") == "length"
        self.thought_only = bool(record.get("thought_only"))
        if self.run.protocol is not None:
            self.chat = (*self.request.messages, self._as_message(text))

    def _as_message(self, text: str) -> Message:
        """Returns the last reply of the model under test as a message."""
        message: Message = {"role": "assistant", "content": text}
        if self.calls[-1]:
            message["tool_calls"] = self.calls[-1]
        return message

    def dialogue(self) -> Dialogue:
        """Returns the conversation as the protocol sees it."""
        replies = {role: tuple(texts) for role, texts in self.replies.items()}
        return Dialogue(
            item=self.item,
            opening=self.opening,
            answers=tuple(self.answers),
            replies=replies,
            calls=tuple(self.calls),
        )

    def close(self) -> None:
        """Saves the final answer and releases all texts from memory."""
        if self.done is not None:
            self.run.texts.put(self.item.id, self.done.text)
            self.run.details.put(self.item.id, json.dumps(self._details(self.done)))
            self.done = Done("")

        self.run.conversations.append(self)
        self.opening, self.chat, self.replies = (), (), {}
        self.answers = [""] * len(self.answers)
        self.calls = []
        self.request = replace(self.request, messages=(), continuations=(), tools=())
        self.records = _without_text(self.records)
        self.role_records = {
            role: _without_text(records) for role, records in self.role_records.items()
        }

    def _details(self, done: Done) -> JsonDict:
        """Collects what is known about the answer besides its text.

        Without a protocol the conversation is left out: its one question can be rendered again.
        """
        records = list(self.records.values())
        finish = str(records[-1].get("finish") or "") if records else ""
        details: JsonDict = {
            "conversation": done.conversation or self.chat,
            "finish": finish,
        }
        for name in (
            "prompt_tokens",
            "output_tokens",
            "reasoning_tokens",
            "cached_tokens",
        ):
            counts = [record.get(name) for record in records]
            details[name] = None if None in counts else sum(counts)

        for name in ("reasoning", "provider", "served_model"):
            details[name] = str(records[-1].get(name) or "") if records else ""

        if self.calls and self.calls[-1]:
            details["tool_calls"] = self.calls[-1]

        return details


def _without_text(records: Mapping[str, Json]) -> dict[str, Json]:
    return {
        key: {**record, "text": "", "reasoning": "", "tool_calls": ()}
        for key, record in records.items()
    }


def load_task_prompts(task: TaskSpec, options: RunOptions, data: TaskData) -> PromptSet:
    """Loads a task's prompts with its own settings and the worked examples of its data."""
    prompts = prompt_set(
        task,
        options.prompts,
        options.upstream,
        arguments=_prompt_args(task, options),
        config=data.config,
        exemplars=data.exemplars,
    )
    return asking_for_confidence(prompts) if options.confidence == ASKED else prompts


def _prompt_args(task: TaskSpec, options: RunOptions) -> dict[str, str]:
    return {
        name: value
        for name, value in options.task_args.items()
        if name in task.arguments
    }


def open_protocols(
    tasks: Sequence[TaskSpec], options: RunOptions
) -> dict[str, MultiStep]:
    """Opens the tasks' protocols, by task name.

    Call it before a model is loaded, since something that a protocol needs may be missing.
    """
    return {
        task.name: open_protocol(
            task,
            _prompt_args(task, options),
            prompts=options.prompts,
            upstream=options.upstream,
        )
        for task in tasks
        if task.protocol
    }


def run_model(
    tasks: Sequence[TaskSpec],
    data: Mapping[str, TaskData],
    model: Model,
    folder: RunFolder,
    options: RunOptions,
) -> list[AnsweredTask] | None:
    """Asks a model all questions of all tasks, except those it has already answered.

    Args:
        tasks: the tasks to run.
        data: the items, by task name.
        model: the model under test.
        folder: the run's folder, whose store keeps the answers.
        options: how the tasks are run.

    Returns:
        The answers to each task; None in every process but the main one.
    """
    # Every process prepares, so that a question that cannot be rendered or does not fit, or a
    # missing protocol, ends all of them.
    runs = _prepared(tasks, data, model, options)
    if not model.is_main:
        while requests := [read_request(text) for text in model.share([])]:
            _generate(model, requests, None, Progress("", 0, quiet=True))

        return None

    with Store(folder.answers) as store:
        _note_moved(store, runs, model, options)
        if options.budget is not None:
            _book_stored(store, model, options, options.budget)

        several = any(item.asking > 1 for run in runs for item in run.fitted.items)
        if options.batch and (options.repeats > 1 or several):
            _ask_ahead(runs, model, store, options)

    repeats = []
    for repeat in range(1, options.repeats + 1):
        repeat_options = options.of_repeat(repeat)
        for run in runs:
            # Next to the store, since they may hold text that must not leave it.
            store_folder = folder.answers.parent
            run.texts, run.details, run.conversations = (
                Texts(folder=store_folder),
                Texts(folder=store_folder),
                [],
            )

        with Store(folder.answers) as store:
            _converse(runs, model, store, repeat_options)

        batches = batches_of(folder.answers, "model", ANSWER)
        repeats.append([_answered(run, model, repeat_options, batches) for run in runs])

    model.share([])
    if options.budget is not None:
        _note_stop(options.budget, repeats)

    return [
        replace(
            first,
            usage=[first, *others][-1].usage,
            role_usage=[first, *others][-1].role_usage,
            repeats=others,
        )
        for first, *others in zip(*repeats, strict=True)
    ]


def _prepared(
    tasks: Sequence[TaskSpec],
    data: Mapping[str, TaskData],
    model: Model,
    options: RunOptions,
) -> list[_TaskRun]:
    """Loads prompts and protocols, fits questions to the model's context and renders each once."""
    prompts = {
        task.name: load_task_prompts(task, options, data[task.name]) for task in tasks
    }
    fitted = {
        task.name: fit_items(
            task, prompts[task.name], data[task.name].items, model, options
        )
        for task in tasks
    }
    for task in tasks:
        for item in fitted[task.name].items:
            request = opening_request(task, prompts[task.name], item, model, options)
            if options.batch and request.continuations:
                raise UsageError(
                    f"--batch: {task.name} asks how probable its choices are, and such questions are "
                    "asked one by one. Omit --batch for this task."
                )

    protocols = open_protocols(tasks, options)
    return [
        _TaskRun(
            task=task,
            data=data[task.name],
            prompts=prompts[task.name],
            fitted=fitted[task.name],
            protocol=protocols.get(task.name),
            leaking=leaking_examples(
                task, prompts[task.name], data[task.name].items, tell=model.is_main
            ),
        )
        for task in tasks
    ]


def _converse(
    runs: Sequence[_TaskRun], model: Model, store: Store, options: RunOptions
) -> None:
    """Asks all questions of all tasks in blocks of items, each block in rounds until it is finished."""
    questions = [(run, item) for run in runs for item in run.fitted.items]
    size = _BATCH if options.batch else _BLOCK
    for start in range(0, len(questions), size):
        block = [
            _open_conversation(run, item, model, options)
            for run, item in questions[start : start + size]
        ]
        others = (start, len(questions) - start - len(block))
        number, active = 1, block
        while active:
            for role in dict.fromkeys(conversation.role for conversation in active):
                conversations = [
                    conversation for conversation in active if conversation.role == role
                ]
                _ask(
                    conversations,
                    options.roles[role].model if role else model,
                    store,
                    number,
                    others,
                )

            active = _follow(runs, active, model, store, options)
            number += 1

        for conversation in block:
            conversation.close()


def _open_conversation(
    run: _TaskRun, item: Item, model: Model, options: RunOptions
) -> _Conversation:
    request = opening_request(run.task, run.prompts, item, model, options)
    return _Conversation(run=run, item=item, opening=request.messages, request=request)


def opening_request(
    task: TaskSpec, prompts: PromptSet, item: Item, model: Model, options: RunOptions
) -> Request:
    """Makes the first question about an item."""
    continuations = prompts.continuations(item) if prompts.continuations else ()
    return _request(
        task,
        prompts.render(item),
        model,
        options,
        continuations=continuations,
        asking=item.asking,
        tools=prompts.tools(item) if prompts.tools else (),
    )


def _request(
    task: TaskSpec,
    messages: tuple[Message, ...],
    model: Model,
    options: RunOptions,
    *,
    continuations: tuple[str, ...] = (),
    turn: int = 1,
    role: str = "",
    asking: int = 1,
    tools: tuple[Tool, ...] = (),
) -> Request:
    """Makes a question and the key under which its answer is stored.

    `turn` counts the questions of a dialogue. A dialogue may reach the same question twice;
    it is then asked again, since a model that samples may answer differently. The same holds
    for `asking` (`Item.asking`), whose seed differs from those of all repeats.
    """
    content: JsonDict = {"model": dict(model.identity), "messages": list(messages)}
    content |= {"role": role} if role else {}
    if tools:
        if refused := model.no_tools():
            raise UsageError(f"{task.name}: {refused}")

        content["tools"] = [tool.sha256 for tool in tools]

    stop = () if role else task.stop
    size, repeat = options.max_new_tokens or task.generation_size, options.repeat
    if continuations:
        content["continuations"] = list(continuations)
        size = 0
        if is_local(model.name):  # its probabilities are the same in every repeat
            repeat = 1
    else:
        content |= {"max_new_tokens": size, "stop": list(stop)}
        content |= {"turn": turn} if turn > 1 else {}

    content |= {"repeat": repeat} if repeat > 1 else {}
    content |= {"asking": asking} if asking > 1 else {}
    return Request(
        key=content_key(content),
        messages=messages,
        max_new_tokens=size,
        stop=stop,
        continuations=continuations,
        repeat=repeat + options.repeats * (asking - 1),
        tools=tools,
    )


def _ask(
    conversations: Sequence[_Conversation],
    model: Model,
    store: Store,
    number: int,
    others: tuple[int, int],
) -> None:
    """Gets the answers of one round, from the store or the model, or notes why there is none.

    `others` counts the items asked before these and those still to come, for the progress bar.
    """
    # Two items with the very same question share its answer.
    requests = {
        conversation.request.key: conversation.request for conversation in conversations
    }
    finished = store.get_many(ANSWER, requests)
    pending = [request for key, request in requests.items() if key not in finished]
    failures: dict[str, str] = {}
    if pending:
        role = conversations[0].role
        label = role or "answers"
        label += f", round {number}" if number > 1 else ""
        with Progress(
            label, len(requests) + sum(others), done=len(finished) + others[0]
        ) as progress:
            for together in _by_repeat(pending):
                if not role:
                    model.share([write_request(request) for request in together])

                failures |= _generate(model, together, store, progress, role=role)

        finished = store.get_many(ANSWER, requests)

    for conversation in conversations:
        key = conversation.request.key
        if key in finished:
            conversation.hear(finished[key])
        else:
            reason = failures.get(key, "not asked")
            conversation.unanswered = (
                f"{conversation.role}: {reason}" if conversation.role else reason
            )


def _by_repeat(requests: Sequence[Request]) -> list[list[Request]]:
    """Groups requests by repeat: each repeat has its own seed, so a model answers one at a time."""
    groups: dict[int, list[Request]] = {}
    for request in requests:
        groups.setdefault(request.repeat, []).append(request)
    return list(groups.values())


def _ask_ahead(
    runs: Sequence[_TaskRun], model: Model, store: Store, options: RunOptions
) -> None:
    """Gets the first answers of all repeats in one batch: successive batches take a day each."""
    opened = (
        opening_request(run.task, run.prompts, item, model, options.of_repeat(repeat))
        for repeat in range(1, options.repeats + 1)
        for run in runs
        for item in run.fitted.items
    )
    requests = {request.key: request for request in opened}
    finished = store.get_many(ANSWER, requests)
    pending = [request for key, request in requests.items() if key not in finished]
    if pending:
        with Progress(
            "answers of all repeats", len(requests), done=len(finished)
        ) as progress:
            _generate(model, pending, store, progress)


def _follow(
    runs: Sequence[_TaskRun],
    conversations: Sequence[_Conversation],
    model: Model,
    store: Store,
    options: RunOptions,
) -> list[_Conversation]:
    """Takes each conversation's next turn; returns the conversations that continue."""
    active: list[_Conversation] = []
    for run in runs:
        answered = [
            conversation
            for conversation in conversations
            if conversation.run is run and conversation.unanswered is None
        ]
        dialogues = [conversation.dialogue() for conversation in answered]
        turns: list[Turn] = [Done(dialogue.answers[-1]) for dialogue in dialogues]
        if run.protocol is not None and dialogues:
            turns = run.protocol.next_turns(dialogues, store)

        for conversation, turn in zip(answered, turns, strict=True):
            if isinstance(turn, Done):
                conversation.done = turn
            else:
                _put_question(conversation, turn, model, options)
                active.append(conversation)

    return active


def _put_question(
    conversation: _Conversation, turn: Ask, model: Model, options: RunOptions
) -> None:
    """Sets a conversation's current question to the one its protocol asks next."""
    role, task = turn.role, conversation.run.task
    if role not in {"", *task.roles}:
        raise ValueError(f"{task.name}: its protocol asks {role!r}, none of its roles")

    replies = conversation.replies.get(role, ()) if role else conversation.answers
    conversation.role = role
    conversation.request = _request(
        task,
        turn.messages,
        options.roles[role].model if role else model,
        options,
        turn=1 + len(replies),
        role=role,
        tools=turn.tools,
    )


def _generate(
    model: Model,
    requests: Sequence[Request],
    store: Store | None,
    progress: Progress,
    *,
    role: str = "",
) -> dict[str, str]:
    """Asks questions and stores the answers; returns the failures' reasons by key."""
    failures: dict[str, str] = {}
    model.start()
    if store is not None:
        print(_announcement(requests, model), file=sys.stderr, flush=True)

    by_key = {request.key: request for request in requests}
    last = time.monotonic()

    def on_result(result: ModelAnswer | Failure) -> None:
        """Stores an answer as soon as it arrives, or notes why there is none."""
        nonlocal last
        progress.step()
        # Concurrent answers share the elapsed time: together they take what the clock says.
        before, last = last, time.monotonic()
        if isinstance(result, Failure):
            failures[result.key] = result.reason
        elif store is not None:
            record = _record(result, last - before) | ({"role": role} if role else {})
            if result.output_tokens is None:
                # A later command counts the estimate against its ceilings.
                request = by_key[result.key]
                most = most_of(request, None, model.longest(request))
                record["estimate"] = [most.prompt_tokens, most.output_tokens]

            store.put(ANSWER, result.key, record)

    written = [request for request in requests if not request.continuations]
    chosen = [request for request in requests if request.continuations]
    if written:
        model.generate(written, on_result)
    if chosen:
        model.loglikelihood(chosen, on_result)

    return failures


def _note_moved(
    store: Store, runs: Sequence[_TaskRun], model: Model, options: RunOptions
) -> None:
    """Says why stored answers are not used, when a server's address is part of their keys."""
    if "base_url" not in model.identity or not store.holds(ANSWER):
        return

    for run in runs:
        items = run.fitted.items[:_BLOCK]
        requests = [
            opening_request(run.task, run.prompts, item, model, options)
            for item in items
        ]
        if store.get_many(ANSWER, [request.key for request in requests]):
            return

    print(
        f"note: the answers in this folder are not used: they came from an address other than "
        f"{model.endpoint}, or from another model. With --model-args served=NAME answers are stored "
        "under that name, and the address may change.",
        file=sys.stderr,
        flush=True,
    )


def _announcement(requests: Sequence[Request], model: Model) -> str:
    """Describes what a model is about to be asked, since the first answer may take a while."""
    longest = max(map(model.longest, requests))
    expected = (
        f"up to {longest:,} tokens each"
        if longest
        else "how probable their choices are"
    )
    where = f", at {model.endpoint}" if model.endpoint else ""

    return f"asking {len(requests):,} question{'s' * (len(requests) != 1)}, {expected}{where}"


def _book_stored(
    store: Store, model: Model, options: RunOptions, budget: RunBudget
) -> None:
    """Counts the usage of earlier commands' answers against the budget.

    Where a server reported no usage, the stored estimate counts.
    """
    prices = {role: _prices(choice) for role, choice in options.roles.items()}
    prices[""] = read_prices(options.model_args, model=model.name)
    for kind, _, record in store.records():
        if kind != ANSWER:
            continue

        estimate = record.get("estimate", (0, 0))
        reported = (record.get("prompt_tokens"), record.get("output_tokens"))
        prompt_tokens, output_tokens = (
            guess if count is None else count
            for guess, count in zip(estimate, reported, strict=True)
        )
        amount = Amount(
            prompt_tokens,
            output_tokens,
            cached_tokens=record.get("cached_tokens") or 0,
        )
        budget.book(amount.at(prices.get(record.get("role", ""))))


def _note_stop(budget: RunBudget, repeats: Sequence[Sequence[AnsweredTask]]) -> None:
    """Says how much was asked before a ceiling stopped the run, and how to continue."""
    tasks = [task for repeat in repeats for task in repeat]
    left = sum(
        reason.endswith(SPENT) for task in tasks for reason in task.unanswered.values()
    )
    if not left:
        return

    answered = sum(len(task.responses) for task in tasks)
    option, _, limit = budget.refused_by.partition(" ")
    command = "The same command"
    if option != "--max-minutes":
        command += f" with more than {option} {limit}, or without it,"

    print(
        f"note: asking stopped before {budget.refused_by} was passed: {answered:,} answered, {left:,} "
        f"not asked; the answers took {budget.spent_text()}, and are kept. {command} continues from there.",
        file=sys.stderr,
        flush=True,
    )


def _record(answer: ModelAnswer, seconds: float) -> JsonDict:
    """Returns an answer as the store keeps it."""
    record: JsonDict = {name: getattr(answer, name) for name in _RECORDED}
    record |= reply_metadata(answer)
    if answer.tool_calls:
        record["tool_calls"] = list(answer.tool_calls)
    if answer.reasoning:
        record["reasoning"] = answer.reasoning
    if answer.thought_only:
        record["thought_only"] = True
    return {**record, "seconds": round(seconds, 6)}


def _answered(
    run: _TaskRun, model: Model, options: RunOptions, batches: Sequence[Json]
) -> AnsweredTask:
    """Collects the answers of a repeat; `batches` covers all repeats so far."""
    run.count_usage()
    conversations = run.conversations
    finished = [
        conversation for conversation in conversations if conversation.done is not None
    ]
    return AnsweredTask(
        task=run.task,
        items=run.data.items,  # whole: a judge reads all that the model could have been given
        responses=run.texts,
        unanswered={
            conversation.item.id: conversation.unanswered
            for conversation in conversations
            if conversation.unanswered is not None
        },
        recipe=_recipe(run, model, options, batches),
        cut=frozenset(
            conversation.item.id for conversation in finished if conversation.cut
        ),
        thought_only=frozenset(
            conversation.item.id
            for conversation in finished
            if conversation.thought_only
        ),
        sources=_sources(run),
        scoring_args={
            **run.data.scoring_args,
            **run.task.scoring_args(options.task_args),
        },
        question_counts={
            conversation.item.id: len(conversation.answers)
            for conversation in conversations
        }
        if run.protocol
        else {},
        details=run.details,
        opening=None if run.protocol else run.opening,
        usage=run.meter.usage(read_prices(options.model_args, model=model.name)),
        role_usage={
            role: meter.usage(_prices(options.roles[role]))
            for role, meter in run.role_meters.items()
        },
    )


def _sources(run: _TaskRun) -> dict[str, tuple[str, ...]]:
    """The documents that each item's question was given besides the item."""
    sources = run.prompts.sources
    if not sources:
        return {}
    return {
        conversation.item.id: sources(conversation.item)
        for conversation in run.conversations
    }


def _prices(role: RoleModel) -> Prices | None:
    return read_prices(role.args, model=role.model.name)


def _recipe(
    run: _TaskRun, model: Model, options: RunOptions, batches: Sequence[Json]
) -> JsonDict:
    """Records everything that decided the answers; unused settings are omitted."""
    recipe = make_recipe(
        run.task,
        data=run.data.revision,
        prompts=run.prompts,
        model={"name": model.name, **model.identity},
        max_new_tokens=options.max_new_tokens or run.task.generation_size,
        max_samples=options.max_samples,
    )
    recipe["generation"] |= {
        "model_args": dict(options.model_args),
        "processes": processes(),
    }
    recipe["generation"] |= {"batches": list(batches)} if batches else {}
    if run.meter.adapted:
        recipe["generation"]["adapted"] = dict(sorted(run.meter.adapted.items()))

    optional = {
        "repeats": options.repeats if options.repeats > 1 else None,
        "protocol": dict(run.protocol.identity) if run.protocol is not None else None,
        "leaking_examples": run.leaking or None,
        "task_args": _prompt_args(run.task, options) or None,
        RECIPE_KEY: ASKED if options.confidence == ASKED else None,
        "roles": {
            role: {
                "name": options.roles[role].model.name,
                **options.roles[role].model.identity,
            }
            for role in run.task.roles
        }
        or None,
    }
    recipe |= {
        **run.data.recipe_part,
        **{k: value for k, value in optional.items() if value is not None},
    }
    if run.prompts.shorten is not None:
        recipe["truncation"] = {
            "rule": options.truncate,
            "measured": run.fitted.measured,
            "words_left_out": dict(sorted(run.fitted.shortened.items())),
        }

    return recipe


def fit_items(
    task: TaskSpec,
    prompts: PromptSet,
    items: Sequence[Item],
    model: Model,
    options: RunOptions,
) -> Fitted:
    """Makes questions fit the model's context by leaving out the fewest words, or refuses.

    A replayed run leaves out the same words again, without measuring.

    Raises:
        UsageError: questions are too long and the options do not allow for it, or the
            prompts have no notes to shorten.
    """
    shorten, truncate, shortened = prompts.shorten, options.truncate, options.shortened
    if shorten is None:
        if truncate == "notes-from-the-oldest":
            raise UsageError(
                f"{task.name}: its questions have no notes to leave out, so --truncate "
                f"{truncate} has no meaning for it. Omit the option, and run tasks with notes "
                "separately."
            )

        return Fitted(items=items)

    if shortened is not None:
        cut = {item.id: shortened[item.id] for item in items if item.id in shortened}
        return Fitted(
            items=[shorten(item, cut.get(item.id, 0)) for item in items], shortened=cut
        )

    def measure(items: Sequence[Item]) -> list[Length | None]:
        requests = [
            opening_request(task, prompts, item, model, options) for item in items
        ]
        return model.lengths(requests)

    lengths = []
    for start in range(0, len(items), _BLOCK):
        lengths += measure(items[start : start + _BLOCK])

    measured = None not in lengths
    if not measured and model.is_main:
        print(_UNMEASURED.format(task=task.name, model=model.name), file=sys.stderr)

    too_long = _too_long(items, lengths)
    if not too_long or truncate == "unanswered":
        return Fitted(items=items, measured=measured)
    if truncate == "refuse":
        raise UsageError(_refusal(task, too_long, len(items), model))

    cut = _words_to_cut({item.id: item for item in items}, measure, shorten, too_long)
    fitted = [shorten(item, cut.get(item.id, 0)) for item in items]
    return Fitted(items=fitted, shortened=cut, measured=measured)


def _too_long(
    items: Sequence[Item], lengths: Sequence[Length | None]
) -> dict[str, Length]:
    """Returns the lengths of the questions that do not fit, by item id."""
    return {
        item.id: length
        for item, length in zip(items, lengths, strict=True)
        if length and _excess(length) > 0
    }


def _excess(length: Length) -> int:
    return length.tokens - length.room


def _words_to_cut(
    items: Mapping[str, Item],
    measure: Callable[[Sequence[Item]], Sequence[Length | None]],
    shorten: Callable[[Item, int], Item],
    too_long: Mapping[str, Length],
) -> dict[str, int]:
    """Finds by binary search, for all items at once, the fewest words to leave out.

    A word has one token or more, so leaving out as many words as there are excess tokens is
    mostly enough.
    """
    low = dict.fromkeys(too_long, 0)  # the most words known to be too few
    high: dict[str, int] = {}  # the fewest words known to be enough
    guess = {name: _excess(length) for name, length in too_long.items()}
    open_ids = set(too_long)
    for _ in range(_TRIES):
        if not open_ids:
            break

        names = sorted(open_ids)
        attempts = [shorten(items[name], guess[name]) for name in names]
        for name, item, length in zip(names, attempts, measure(attempts), strict=True):
            words = guess[name]
            if length is not None and _excess(length) <= 0:
                high[name] = words
            else:
                emptied = shorten(items[name], words * 2 + 1).fields == item.fields
                if length is None or (emptied and name not in high):
                    open_ids.discard(name)  # too long even without its documents
                    continue

                low[name] = words

            guess[name] = (low[name] + high[name]) // 2 if name in high else words * 2
            if name in high and high[name] - low[name] <= 1:
                open_ids.discard(name)

    return high


def _refusal(
    task: TaskSpec, too_long: Mapping[str, Length], n_items: int, model: Model
) -> str:
    """Explains why nothing was asked: which questions are too long, and what to do about them."""
    ranked = sorted(too_long, key=lambda name: (-_excess(too_long[name]), name))
    hint = longer_context(model.name)
    longer = f"a longer context if the model has one ({hint}), " if hint else ""
    lines = [
        f"{name}: {too_long[name].tokens:,} tokens, room for {too_long[name].room:,}"
        for name in ranked
    ]

    return (
        f"{task.name}: {len(too_long):,} of {n_items:,} questions do not fit the model's context "
        "together with the answer:\n  "
        + listed(lines, _LISTED, between="\n  ")
        + f"\nNothing was asked. Give {longer}fewer --max-new-tokens, or choose what to do with them: "
        "--truncate notes-from-the-oldest leaves out the beginning of the oldest notes, --truncate unanswered "
        "asks the others and leaves these unanswered."
    )
