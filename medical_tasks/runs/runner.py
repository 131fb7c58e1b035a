"""Running tasks: questions of all items in rounds; a protocol decides what is asked next.

Answers are stored at once under a hash of model and question, so the same command
resumes; the main process alone decides.
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
from medical_tasks.models.usage import Meter, Prices, told_besides
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
"""What is done about a question that is too long.

The run is refused, the documents are cut, or it stays unanswered.
"""

ANSWER: Final = "answer"
_RECORDED: Final = ("text", "prompt_tokens", "output_tokens", "finish")
_NAMED: Final = 5
_LISTED: Final = 20
_BLOCK: Final = 4_000
"""Items whose questions and answers are in memory together."""
_BATCH: Final = 50_000
"""Items whose questions are asked in one batch, since the next one begins when it has ended."""
_UNMEASURED: Final = (
    "note: {task}: {model} does not say how long its context is, so that questions are not measured "
    "before they are asked; those that are too long stay unanswered. --model-args "
    "context=N,tokenizer=FOLDER tells it."
)
_TRIES: Final = 40
"""A search by halves takes as many as a document's word count has binary digits."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How tasks are run.

    Attributes:
        prompts: the prompt set.
        upstream: checkout of the authors' repository, for `official`.
        max_new_tokens: longest answer instead of the tasks' own.
        max_samples: how many items a task, None for all.
        repeats: how often each question is asked.
        repeat: which of these times it is.
        model_args: settings of the model as the user gave them, for the recipe.
        task_args: of the tasks' `arguments` and `scoring_arguments`.
        truncate: what is done about questions that are too long.
        shortened: item id to words left out, of a run that is replayed.
        role_choices: which model plays each of the tasks' `roles`.
        roles: these models, opened.
        budget: what all these models may take together, None for no limit.
        batch: whether the model is asked in batches.
        confidence: whether it is asked how sure it is.
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
        """The options of one of the `repeats`."""
        return replace(self, repeat=repeat)


@dataclass(frozen=True, kw_only=True)
class RoleChoice:
    """The model that plays a role, by name, with its settings as the user gave them."""

    name: str
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RoleModel:
    """A model that a protocol asks beside the one under test."""

    model: Model
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Items as they are asked.

    Attributes:
        items: in the given order; those that were too long are shortened, or what they
            were.
        shortened: item id to words left out.
        measured: False when the model cannot tell how long a question is.
    """

    items: Sequence[Item]
    shortened: Mapping[str, int] = field(default_factory=dict)
    measured: bool = True


@dataclass(kw_only=True)
class _TaskRun:
    """A task that a model is asked, and its conversations in the repeat at hand.

    Attributes:
        task: the task.
        data: its items.
        prompts: what writes the questions.
        fitted: the items as they are asked, some of them shortened.
        protocol: decides what is asked next; None for one question an item.
        meter: what the answers took; `role_meters` what those of each role took.
        conversations: those that are over.
        texts: final answers by item; `details` what is known beside them.
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
        """The first question about an item, shortened where it was."""
        if item.id in self.fitted.shortened:
            item = next(each for each in self.fitted.items if each.id == item.id)
        return self.prompts.render(item)


@dataclass(kw_only=True, slots=True)
class _Conversation:
    """What is asked and answered about one item.

    `role` is who is asked now, "" the model under test.

    Attributes:
        request: what is asked now.
        answers: all replies of the model under test, in turn; `calls` the tools that
            each of them calls.
        replies: those of each role.
        records: all that the store holds of the answers, by key.
        done: the final answer, once the protocol is satisfied.
        unanswered: why there is none.
        cut: whether the last reply was cut at the length limit.
        thought_only: whether reasoning left no tokens for it.
    """

    run: _TaskRun
    item: Item
    opening: tuple[Message, ...]
    request: Request
    role: str = ""
    # what the model under test was asked last, and its reply
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
        """Takes the reply of whom was asked."""
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
            self.chat = (*self.request.messages, self._said(text))

    def _said(self, text: str) -> Message:
        """The last reply of the model under test as a message."""
        said: Message = {"role": "assistant", "content": text}
        if self.calls[-1]:
            said["tool_calls"] = self.calls[-1]
        return said

    def dialogue(self) -> Dialogue:
        """What was said, as the protocol sees it."""
        replies = {role: tuple(texts) for role, texts in self.replies.items()}
        return Dialogue(
            item=self.item,
            opening=self.opening,
            answers=tuple(self.answers),
            replies=replies,
            calls=tuple(self.calls),
        )

    def close(self) -> None:
        """Puts the final answer away and lets go of all texts."""
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
            role: _without_text(each) for role, each in self.role_records.items()
        }

    def _details(self, done: Done) -> JsonDict:
        """What is known of the answer beside its text.

        The one question without a protocol is made anew.
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
    """Loads a task's prompts with its own settings, and the worked examples of its data."""
    prompts = prompt_set(
        task,
        options.prompts,
        options.upstream,
        arguments=_own(task, options),
        config=data.config,
        exemplars=data.exemplars,
    )
    return asking_for_confidence(prompts) if options.confidence == ASKED else prompts


def _own(task: TaskSpec, options: RunOptions) -> dict[str, str]:
    return {
        name: value
        for name, value in options.task_args.items()
        if name in task.arguments
    }


def open_protocols(
    tasks: Sequence[TaskSpec], options: RunOptions
) -> dict[str, MultiStep]:
    """Opens the tasks' protocols by task name, before a model is loaded.

    What they need may lack.
    """
    return {
        task.name: open_protocol(
            task,
            _own(task, options),
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
    """Asks a model all questions of all tasks, but for those it has answered before.

    Args:
        tasks: what is asked.
        data: the items, by task name.
        model: whom.
        folder: whose store keeps the answers.
        options: how.

    Returns:
        The answers to each task; None in all but the main process.
    """
    # In every process, so that a question that cannot be rendered or does not fit, or a
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
        again = options.of_repeat(repeat)
        for run in runs:
            # Beside the store, since they may hold what must not leave it.
            place = folder.answers.parent
            run.texts, run.details, run.conversations = (
                Texts(folder=place),
                Texts(folder=place),
                [],
            )

        with Store(folder.answers) as store:
            _converse(runs, model, store, again)

        made = batches_of(folder.answers, "model", ANSWER)
        repeats.append([_answered(run, model, again, made) for run in runs])

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
    """Loads prompts and protocols, fits questions to the model's context, renders each once."""
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
                    f"--batch: {task.name} asks how probable its choices are, which is asked one "
                    "by one. Leave it out for this task."
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
    """Asks all questions of all tasks, in blocks of items, each in rounds until all are through."""
    every = [(run, item) for run in runs for item in run.fitted.items]
    size = _BATCH if options.batch else _BLOCK
    for start in range(0, len(every), size):
        block = [
            _opened(run, item, model, options)
            for run, item in every[start : start + size]
        ]
        others = (start, len(every) - start - len(block))
        number, going_on = 1, block
        while going_on:
            for role in dict.fromkeys(each.role for each in going_on):
                asked = [each for each in going_on if each.role == role]
                _ask(
                    asked,
                    options.roles[role].model if role else model,
                    store,
                    number,
                    others,
                )

            going_on = _follow(runs, going_on, model, store, options)
            number += 1

        for conversation in block:
            conversation.close()


def _opened(
    run: _TaskRun, item: Item, model: Model, options: RunOptions
) -> _Conversation:
    request = opening_request(run.task, run.prompts, item, model, options)
    return _Conversation(run=run, item=item, opening=request.messages, request=request)


def opening_request(
    task: TaskSpec, prompts: PromptSet, item: Item, model: Model, options: RunOptions
) -> Request:
    """The first question about an item."""
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
    """A question, with the key under which its answer is kept.

    `turn` counts the questions of a dialogue, which may come to the same one twice: it
    is asked again then, and a model that samples may say another thing. So it is with
    `asking`, that of an item (`Item.asking`), whose seed is of none of the repeats.
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
        if is_local(model.name):  # whose probabilities do not change
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
    """Gets the answers of one round, from the store or the model; what gets none is unanswered.

    `others`: how many items were asked before these and how many come after, for the
    progress.
    """
    # Two items that ask the very same question share its answer.
    requests = {each.request.key: each.request for each in conversations}
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
            for together in _of_one_repeat(pending):
                if not role:
                    model.share([write_request(request) for request in together])

                failures |= _generate(model, together, store, progress, role=role)

        finished = store.get_many(ANSWER, requests)

    for each in conversations:
        key = each.request.key
        if key in finished:
            each.hear(finished[key])
        else:
            reason = failures.get(key, "not asked")
            each.unanswered = f"{each.role}: {reason}" if each.role else reason


def _of_one_repeat(requests: Sequence[Request]) -> list[list[Request]]:
    """The requests of each repeat: a model takes one at a time, for its seed."""
    by_repeat: dict[int, list[Request]] = {}
    for request in requests:
        by_repeat.setdefault(request.repeat, []).append(request)
    return list(by_repeat.values())


def _ask_ahead(
    runs: Sequence[_TaskRun], model: Model, store: Store, options: RunOptions
) -> None:
    """Gets the first answers of all repeats together: batches one after the other take a day each."""
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
    """Takes final answers, and makes the next questions; returns the conversations that go on."""
    going_on: list[_Conversation] = []
    for run in runs:
        own = [
            each
            for each in conversations
            if each.run is run and each.unanswered is None
        ]
        dialogues = [each.dialogue() for each in own]
        turns: list[Turn] = [Done(dialogue.answers[-1]) for dialogue in dialogues]
        if run.protocol is not None and dialogues:
            turns = run.protocol.next_turns(dialogues, store)

        for each, turn in zip(own, turns, strict=True):
            if isinstance(turn, Done):
                each.done = turn
                continue

            each.role = turn.role
            if turn.role not in {"", *run.task.roles}:
                raise ValueError(
                    f"{run.task.name}: its protocol asks {turn.role!r}, none of its roles"
                )

            number = 1 + len(
                each.replies.get(turn.role, ()) if turn.role else each.answers
            )
            asked = options.roles[turn.role].model if turn.role else model
            each.request = _request(
                run.task,
                turn.messages,
                asked,
                options,
                turn=number,
                role=turn.role,
                tools=turn.tools,
            )
            going_on.append(each)

    return going_on


def _generate(
    model: Model,
    requests: Sequence[Request],
    store: Store | None,
    progress: Progress,
    *,
    role: str = "",
) -> dict[str, str]:
    """Asks questions and keeps the answers; returns key to reason for those that finally failed."""
    failures: dict[str, str] = {}
    model.start()
    if store is not None:
        print(_asking(requests, model), file=sys.stderr, flush=True)

    by_key = {each.key: each for each in requests}
    last = time.monotonic()

    def on_result(result: ModelAnswer | Failure) -> None:
        """Keeps an answer as soon as it is there, or why there is none."""
        nonlocal last
        progress.step()
        # Answers that are made side by side share the time: together they take what the
        # clock says.
        before, last = last, time.monotonic()
        if isinstance(result, Failure):
            failures[result.key] = result.reason
        elif store is not None:
            record = _record(result, last - before) | ({"role": role} if role else {})
            if (
                result.output_tokens is None
            ):  # a later command's ceilings count it all the same
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
    """Says why nothing that is there is used, where the address of a server is part of the keys."""
    if "base_url" not in model.identity or not store.holds(ANSWER):
        return

    for run in runs:
        items = run.fitted.items[:_BLOCK]
        opened = [
            opening_request(run.task, run.prompts, item, model, options)
            for item in items
        ]
        if store.get_many(ANSWER, [request.key for request in opened]):
            return

    print(
        f"note: the answers in this folder are not used: they are another address's than "
        f"{model.endpoint}, or another model's. With --model-args served=NAME answers are known by "
        "that name, and the address may change.",
        file=sys.stderr,
        flush=True,
    )


def _asking(requests: Sequence[Request], model: Model) -> str:
    """Says what a model is about to be asked, since the first answer may take a while."""
    longest = max(map(model.longest, requests))
    each = (
        f"up to {longest:,} tokens each"
        if longest
        else "how probable their choices are"
    )
    where = f", at {model.endpoint}" if model.endpoint else ""

    return (
        f"asking {len(requests):,} question{'s' * (len(requests) != 1)}, {each}{where}"
    )


def _book_stored(
    store: Store, model: Model, options: RunOptions, budget: RunBudget
) -> None:
    """Counts what the answers of earlier commands took.

    What a server did not say is counted as it was estimated.
    """
    prices = {role: _prices(played) for role, played in options.roles.items()}
    prices[""] = read_prices(options.model_args, model=model.name)
    for kind, _, record in store.records():
        if kind != ANSWER:
            continue

        prompt, output = record.get("estimate", (0, 0))
        known = (record.get("prompt_tokens"), record.get("output_tokens"))
        taken = Amount(
            prompt if known[0] is None else known[0],
            output if known[1] is None else known[1],
            cached_tokens=record.get("cached_tokens") or 0,
        )
        budget.book(taken.at(prices.get(record.get("role", ""))))


def _note_stop(budget: RunBudget, repeats: Sequence[Sequence[AnsweredTask]]) -> None:
    """Says what was done when a ceiling stopped the asking, and how to go on."""
    tasks = [task for repeat in repeats for task in repeat]
    left = sum(
        reason.endswith(SPENT) for task in tasks for reason in task.unanswered.values()
    )
    if not left:
        return

    answered = sum(len(task.responses) for task in tasks)
    option, _, limit = budget.refused_by.partition(" ")
    go_on = (
        "The same command"
        if option == "--max-minutes"
        else (f"The same command with more than {option} {limit}, or without it,")
    )
    print(
        f"note: asking stopped before {budget.refused_by} was passed: {answered:,} answered, {left:,} "
        f"not asked; the answers took {budget.spent_text()}, and are kept. {go_on} goes on from there.",
        file=sys.stderr,
        flush=True,
    )


def _record(answer: ModelAnswer, seconds: float) -> JsonDict:
    """An answer as the store keeps it."""
    record: JsonDict = {name: getattr(answer, name) for name in _RECORDED}
    record |= told_besides(answer)
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
    """The answers of a repeat; `batches` are those of all answers so far."""
    task, data, conversations = run.task, run.data, run.conversations
    for each in conversations:
        run.meter.add(each.records)
        for role, records in each.role_records.items():
            run.role_meters.setdefault(role, Meter()).add(records)

    sources = run.prompts.sources
    return AnsweredTask(
        task=task,
        items=data.items,  # whole: a judge reads all that the model could have been given
        responses=run.texts,
        unanswered={
            each.item.id: each.unanswered
            for each in conversations
            if each.unanswered is not None
        },
        recipe=_recipe(run, model, options, batches),
        cut=frozenset(
            each.item.id for each in conversations if each.done is not None and each.cut
        ),
        thought_only=frozenset(
            each.item.id
            for each in conversations
            if each.done is not None and each.thought_only
        ),
        sources={each.item.id: sources(each.item) for each in conversations}
        if sources
        else {},
        scoring_args={**data.found, **task.scoring_args(options.task_args)},
        asked={each.item.id: len(each.answers) for each in conversations}
        if run.protocol
        else {},
        usage=run.meter.usage(read_prices(options.model_args, model=model.name)),
        details=run.details,
        opening=None if run.protocol else run.opening,
        role_usage={
            role: meter.usage(_prices(options.roles[role]))
            for role, meter in run.role_meters.items()
        },
    )


def _prices(role: RoleModel) -> Prices | None:
    return read_prices(role.args, model=role.model.name)


def _recipe(
    run: _TaskRun, model: Model, options: RunOptions, batches: Sequence[Json]
) -> JsonDict:
    """What decided the answers; what was not used is not named."""
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
        "task_args": _own(run.task, options) or None,
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
        **run.data.part,
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

    What a run that is replayed left out is not measured.

    Raises:
        UsageError: questions are too long and nothing says what is to be done; or there
            is nothing to leave out of them.
    """
    shorten, truncate, shortened = prompts.shorten, options.truncate, options.shortened
    if shorten is None:
        if truncate == "notes-from-the-oldest":
            raise UsageError(
                f"{task.name}: its questions have no notes to leave out, so that --truncate "
                f"{truncate} has no meaning for it. Leave it out, and run tasks with notes by "
                "themselves."
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

    over = _too_long(items, lengths)
    if not over or truncate == "unanswered":
        return Fitted(items=items, measured=measured)
    if truncate == "refuse":
        raise UsageError(_refusal(task, over, len(items), model))

    cut = _words_to_cut({item.id: item for item in items}, measure, shorten, over)
    fitted = [shorten(item, cut.get(item.id, 0)) for item in items]
    return Fitted(items=fitted, shortened=cut, measured=measured)


def _too_long(
    items: Sequence[Item], lengths: Sequence[Length | None]
) -> dict[str, Length]:
    """The lengths of questions that do not fit, by item id."""
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
    over: Mapping[str, Length],
) -> dict[str, int]:
    """Searches by halves, all items at once, for the fewest words without which each fits.

    A word has one token or more, so that leaving out as many words as there are tokens
    too many is mostly enough.
    """
    low = dict.fromkeys(over, 0)  # does not fit
    high: dict[str, int] = {}  # fits
    guess = {name: _excess(length) for name, length in over.items()}
    searched = set(over)
    for _ in range(_TRIES):
        if not searched:
            break

        names = sorted(searched)
        tried = [shorten(items[name], guess[name]) for name in names]
        for name, item, length in zip(names, tried, measure(tried), strict=True):
            words = guess[name]
            if length is not None and _excess(length) <= 0:
                high[name] = words
            else:
                emptied = shorten(items[name], words * 2 + 1).fields == item.fields
                if length is None or (emptied and name not in high):
                    searched.discard(name)  # even without its documents it does not fit
                    continue

                low[name] = words

            guess[name] = (low[name] + high[name]) // 2 if name in high else words * 2
            if name in high and high[name] - low[name] <= 1:
                searched.discard(name)

    return high


def _refusal(
    task: TaskSpec, over: Mapping[str, Length], n_items: int, model: Model
) -> str:
    """Why nothing is asked: which questions are too long, and what can be done."""
    ranked = sorted(over.items(), key=lambda each: (-_excess(each[1]), each[0]))
    way = longer_context(model.name)
    longer = f"a longer context if the model has one ({way}), " if way else ""
    lines = [
        f"{name}: {length.tokens:,} tokens, room for {length.room:,}"
        for name, length in ranked
    ]

    return (
        f"{task.name}: {len(over):,} of {n_items:,} questions do not fit the model's context "
        "together with the answer:\n  "
        + listed(lines, _LISTED, between="\n  ")
        + f"\nNothing was asked. Give {longer}fewer --max-new-tokens, or say what is to be done: "
        "--truncate notes-from-the-oldest leaves out the beginning of the oldest notes, --truncate unanswered "
        "asks the others and leaves these unanswered."
    )
