"""Running tasks: questions of all items in rounds; where a task has a protocol, its answers decide what is asked next.

Answers are stored at once under a hash of model and question, so the same command resumes; the main process alone decides.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.data.task_data import TaskData, leaking_examples, open_protocol, prompt_set
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
from medical_tasks.models.opener import is_local, read_prices
from medical_tasks.models.usage import Meter, Usage
from medical_tasks.runs.folder import RunFolder
from medical_tasks.runs.recipes import make_recipe
from medical_tasks.spec import (
    Answer,
    Ask,
    Dialogue,
    Done,
    Item,
    Message,
    MultiStep,
    PromptSet,
    TaskSpec,
    Turn,
)

ANSWER = "answer"
_NAMED: Final = 5
_BLOCK: Final = 4_000
"""Items whose questions and answers are in memory together."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How tasks are run."""

    prompts: str = "own"
    upstream: Path | None = None  # checkout of the authors' repository, for `official`
    max_new_tokens: int | None = None  # longest answer instead of the task's own
    max_samples: int | None = None  # how many items a task, None for all
    repeats: int = 1  # how often each question is asked
    repeat: int = 1  # which of these times it is
    model_args: Mapping[str, str] = field(
        default_factory=dict
    )  # as the user gave them, for the recipe
    task_args: Mapping[str, str] = field(
        default_factory=dict
    )  # of its `arguments` and `scoring_arguments`
    truncate: Truncate = "refuse"
    shortened: Mapping[str, int] | None = (
        None  # item id to words left out, of a run that is replayed
    )


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One decision: the final answer of a reply, as somebody read it."""

    text: str  # "" where the reply gives none
    by: str  # `person`, or the judge's name


@dataclass(frozen=True, kw_only=True)
class Adjudication:
    """The decisions of a sheet on the answers to one task."""

    sha256: str  # of the file
    readings: Mapping[str, Reading]  # by item
    unfilled: int = 0  # rows without a reading, whose answers stay unclear

    @property
    def texts(self) -> dict[str, str]:
        """The readings as `Benchmark.score_items` takes them."""
        return {name: reading.text for name, reading in self.readings.items()}

    def recipe(self, used: Collection[str]) -> dict[str, Any]:
        """What the recipe says; `used` are the items whose answers were unclear, for which alone a reading counts."""
        by = Counter(self.readings[name].by for name in self.readings if name in used)
        return {
            "sha256": self.sha256,
            "decisions": by.total(),
            "by": dict(sorted(by.items())),
            "unfilled": self.unfilled,
            "unused": len(self.readings) - by.total(),
        }

    def note_unused(self, task: TaskSpec, used: Collection[str]) -> None:
        """Says which readings were not taken, since their answers are clear to this version's reader."""
        unused = [name for name in self.readings if name not in used]
        if unused:
            print(
                f"note: {len(unused)} readings of answers to {task.name} are not used, since these answers are not unclear: "
                f"{listed(unused, _NAMED)}",
                file=sys.stderr,
            )


@dataclass(frozen=True, kw_only=True)
class AnsweredTask:
    """A task with the answers there are."""

    task: TaskSpec
    items: Sequence[Item]
    responses: Mapping[str, str]  # item id to the model's text, for each answered item
    unanswered: Mapping[str, str]  # item id to the reason
    recipe: Mapping[str, Any]
    cut: frozenset[str] = frozenset()  # ids of items whose last answer was cut at the length limit
    sources: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # item id to what its question was given beside it
    scoring_args: Mapping[str, str] = field(
        default_factory=dict
    )  # `TaskSpec.scoring_arguments` that were given
    asked: Mapping[str, int] = field(
        default_factory=dict
    )  # of a task with a protocol, item id to questions answered
    usage: Usage | None = None  # what the answers took of the model, those of `repeats` included
    repeats: Sequence[AnsweredTask] = ()  # the same items asked again, from the second repeat on
    adjudication: Adjudication | None = None  # what people or a judge decided about unclear answers

    def answer(self, item: Item) -> Answer:
        """An item's answer, as its scorer gets it."""
        return Answer(text=self.responses[item.id])


@dataclass(kw_only=True, slots=True)
class _Conversation:
    """What is asked and answered about one item."""

    task: TaskSpec
    item: Item
    opening: tuple[Message, ...]
    request: Request
    answers: list[str] = field(default_factory=list)
    records: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    response: str | None = None
    unanswered: str | None = None
    cut: bool = False

    def close(self, texts: Texts) -> None:
        """Puts the final answer away and lets go of all texts."""
        if self.response is not None:
            texts.put(self.item.id, self.response)
            self.response = ""
        self.opening, self.answers = (), [""] * len(self.answers)
        self.request = replace(self.request, messages=(), continuations=())
        self.records = {key: {**record, "text": ""} for key, record in self.records.items()}


def load_task_prompts(task: TaskSpec, options: RunOptions, data: TaskData) -> PromptSet:
    """Loads a task's prompts with the settings that are its own, and the worked examples of its data."""
    return prompt_set(
        task,
        options.prompts,
        options.upstream,
        arguments=_own(task, options),
        config=data.config,
        exemplars=data.exemplars,
    )


def _own(task: TaskSpec, options: RunOptions) -> dict[str, str]:
    return {name: value for name, value in options.task_args.items() if name in task.arguments}


def open_protocols(tasks: Sequence[TaskSpec], options: RunOptions) -> dict[str, MultiStep]:
    """Opens the tasks' protocols by task name, before a model is loaded, since what they need may be missing."""
    return {
        task.name: open_protocol(
            task, _own(task, options), prompts=options.prompts, upstream=options.upstream
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
    """Asks a model all questions of all tasks, but for those it has answered before; None in all but the main process."""
    prompts = {task.name: load_task_prompts(task, options, data[task.name]) for task in tasks}
    # In every process, so that a question that cannot be rendered or does not fit, or a missing protocol, ends all of them.
    fitted = {
        task.name: fit_items(task, prompts[task.name], data[task.name].items, model, options)
        for task in tasks
    }
    for task in tasks:
        for item in fitted[task.name].items:
            _opened(task, prompts[task.name], item, model, options)
    protocols = open_protocols(tasks, options)
    leaking = {
        task.name: leaking_examples(
            task, prompts[task.name], data[task.name].items, tell=model.is_main
        )
        for task in tasks
    }
    if not model.is_main:
        while asked := [read_request(text) for text in model.share([])]:
            _generate(model, asked, None, Progress("", 0, quiet=True))
        return None
    every = [(task, item) for task in tasks for item in fitted[task.name].items]
    meters = {task.name: Meter() for task in tasks}
    runs = []
    for repeat in range(1, options.repeats + 1):
        again = replace(options, repeat=repeat)
        # Beside the store, since they may hold what must not leave it.
        texts = {task.name: Texts(folder=folder.answers.parent) for task in tasks}
        conversations: dict[str, list[_Conversation]] = {task.name: [] for task in tasks}
        with Store(folder.answers) as store:
            for start in range(0, len(every), _BLOCK):
                block = every[start : start + _BLOCK]
                opened = [
                    _opened(task, prompts[task.name], item, model, again) for task, item in block
                ]
                number, open_ones, others = 1, opened, (start, len(every) - start - len(block))
                while open_ones:
                    _ask(open_ones, model, store, number, others)
                    open_ones = _follow(open_ones, protocols, model, store, again)
                    number += 1
                for one in opened:
                    one.close(texts[one.task.name])
                    conversations[one.task.name].append(one)
        answered = []
        for task in tasks:
            name = task.name
            asked_of = (prompts[name], fitted[name], conversations[name], texts[name], meters[name])
            answered.append(
                _answered(
                    task, data[name], asked_of, protocols.get(name), model, again, leaking[name]
                )
            )
        runs.append(answered)
    model.share([])
    return [
        replace(each[0], usage=each[-1].usage, repeats=each[1:]) for each in zip(*runs, strict=True)
    ]


def _opened(
    task: TaskSpec, prompts: PromptSet, item: Item, model: Model, options: RunOptions
) -> _Conversation:
    opening = prompts.render(item)
    continuations = prompts.continuations(item) if prompts.continuations else ()
    request = _request(task, opening, model, options, continuations=continuations)
    return _Conversation(task=task, item=item, opening=opening, request=request)


def _request(
    task: TaskSpec,
    messages: tuple[Message, ...],
    model: Model,
    options: RunOptions,
    *,
    continuations: tuple[str, ...] = (),
    turn: int = 1,
) -> Request:
    size = options.max_new_tokens or task.generation_size
    asked: dict[str, Any] = {
        "model": dict(model.identity),
        "messages": list(messages),
        "max_new_tokens": size,
        "stop": list(task.stop),
    }
    if turn > 1:
        # A dialogue may come to the same question twice: it is asked again then, and a model that samples may say another thing.
        asked["turn"] = turn
    if continuations:
        size = 0
        asked = {
            "model": dict(model.identity),
            "messages": list(messages),
            "continuations": list(continuations),
        }
    repeat = (
        1 if continuations and is_local(model.name) else options.repeat
    )  # whose probabilities do not change
    asked |= {"repeat": repeat} if repeat > 1 else {}
    made: dict[str, Any] = {
        "messages": messages,
        "stop": task.stop,
        "continuations": continuations,
        "repeat": repeat,
    }
    return Request(key=content_key(asked), max_new_tokens=size, **made)


def _ask(
    conversations: Sequence[_Conversation],
    model: Model,
    store: Store,
    number: int,
    others: tuple[int, int],
) -> None:
    """Gets the answers of one round, from the store or from the model; what gets none is unanswered for good.

    `others`: how many items were asked before these and how many come after, for the progress.
    """
    # Two items that ask the very same question share its answer.
    requests = {one.request.key: one.request for one in conversations}
    finished = store.get_many(ANSWER, requests)
    pending = [request for key, request in requests.items() if key not in finished]
    failures: dict[str, str] = {}
    if pending:
        model.share([write_request(request) for request in pending])
        label = "answers" if number == 1 else f"answers, round {number}"
        with Progress(
            label, len(requests) + sum(others), done=len(finished) + others[0]
        ) as progress:
            failures = _generate(model, pending, store, progress)
        finished = store.get_many(ANSWER, requests)
    for one in conversations:
        if one.request.key in finished:
            record = one.records[one.request.key] = finished[one.request.key]
            one.answers.append(record["text"])
            one.cut = record.get("finish") == "length"
        else:
            one.unanswered = failures.get(one.request.key, "not asked")


def _follow(
    conversations: Sequence[_Conversation],
    protocols: Mapping[str, MultiStep],
    model: Model,
    store: Store,
    options: RunOptions,
) -> list[_Conversation]:
    """Takes final answers, and makes the next questions; returns the conversations that go on."""
    goes_on: list[_Conversation] = []
    for name in dict.fromkeys(one.task.name for one in conversations):
        part = [one for one in conversations if one.task.name == name and one.unanswered is None]
        dialogues = [
            Dialogue(item=one.item, opening=one.opening, answers=tuple(one.answers)) for one in part
        ]
        turns: list[Turn] = [Done(dialogue.answers[-1]) for dialogue in dialogues]
        if name in protocols:
            turns = protocols[name].next_turns(dialogues, store) if dialogues else []
        for one, turn in zip(part, turns, strict=True):
            if isinstance(turn, Ask):
                one.request = _request(
                    one.task, turn.messages, model, options, turn=len(one.answers) + 1
                )
                goes_on.append(one)
            else:
                one.response = turn.text
    return goes_on


def _generate(
    model: Model, requests: Sequence[Request], store: Store | None, progress: Progress
) -> dict[str, str]:
    """Asks questions and keeps the answers; returns key to reason for those that finally failed."""
    failures: dict[str, str] = {}
    model.start()
    last = time.monotonic()

    def on_result(result: ModelAnswer | Failure) -> None:
        nonlocal last
        progress.step()
        # Answers that are made side by side share the time: all of them together take as long as the wall clock says.
        before, last = last, time.monotonic()
        if isinstance(result, Failure):
            failures[result.key] = result.reason
        elif store is not None:
            record = {
                name: getattr(result, name)
                for name in ("text", "prompt_tokens", "output_tokens", "finish")
            }
            store.put(ANSWER, result.key, {**record, "seconds": round(last - before, 6)})

    written = [request for request in requests if not request.continuations]
    chosen = [request for request in requests if request.continuations]
    if written:
        model.generate(written, on_result)
    if chosen:
        model.loglikelihood(chosen, on_result)
    return failures


def _answered(
    task: TaskSpec,
    data: TaskData,
    asked: tuple[PromptSet, Fitted, Sequence[_Conversation], Texts, Meter],
    protocol: MultiStep | None,
    model: Model,
    options: RunOptions,
    leaking: list[str],
) -> AnsweredTask:
    prompts, fitted, conversations, texts, meter = asked
    recipe = make_recipe(
        task,
        data=data.revision,
        prompts=prompts,
        model={"name": model.name, **model.identity},
        max_new_tokens=options.max_new_tokens or task.generation_size,
        max_samples=options.max_samples,
    )
    recipe["generation"] |= {"model_args": dict(options.model_args), "processes": processes()}
    recipe |= data.part
    recipe |= {"repeats": options.repeats} if options.repeats > 1 else {}
    if protocol is not None:
        recipe["protocol"] = dict(protocol.identity)
    if leaking:
        recipe["leaking_examples"] = leaking
    own = _own(task, options)
    if own:
        recipe["task_args"] = own
    if prompts.shorten is not None:
        recipe["truncation"] = {
            "rule": options.truncate,
            "measured": fitted.measured,
            "words_left_out": dict(sorted(fitted.shortened.items())),
        }
    for one in conversations:
        meter.add(one.records)
    return AnsweredTask(
        task=task,
        items=data.items,  # whole: a judge reads all that the model could have been given
        responses=texts,
        unanswered={
            one.item.id: one.unanswered for one in conversations if one.unanswered is not None
        },
        recipe=recipe,
        cut=frozenset(one.item.id for one in conversations if one.response is not None and one.cut),
        sources={one.item.id: prompts.sources(one.item) for one in conversations}
        if prompts.sources
        else {},
        scoring_args={**data.found, **task.scoring_args(options.task_args)},
        asked={one.item.id: len(one.answers) for one in conversations}
        if protocol is not None
        else {},
        usage=meter.usage(read_prices(options.model_args, model=model.name)),
    )


Truncate = Literal["refuse", "notes-from-the-oldest", "unanswered"]
"""What is done about a question that is too long: the run is refused, the documents are cut, or it stays unanswered."""

_LISTED: Final = 20
_TRIES: Final = (
    40  # a search by halves is through after as many as a document's word count has binary digits
)


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Items as they are asked."""

    items: Sequence[
        Item
    ]  # in the given order; those that were too long are shortened, or what they were
    shortened: Mapping[str, int] = field(default_factory=dict)  # item id to words left out
    measured: bool = True  # false when the model cannot tell how long a question is


def fit_items(
    task: TaskSpec, prompts: PromptSet, items: Sequence[Item], model: Model, options: RunOptions
) -> Fitted:
    """Makes questions fit by leaving out the fewest words, or refuses; what a run that is replayed left out is not measured."""
    shorten, truncate, known = prompts.shorten, options.truncate, options.shortened
    if shorten is None:
        if truncate == "notes-from-the-oldest":
            raise UsageError(
                f"{task.name}: its questions have no notes to leave out, so that --truncate {truncate} has no meaning for it. "
                "Leave it out, and run tasks with notes by themselves."
            )
        return Fitted(items=items)
    if known is not None:
        cut = {item.id: known[item.id] for item in items if item.id in known}
        return Fitted(items=[shorten(item, cut.get(item.id, 0)) for item in items], shortened=cut)

    def measure(some: Sequence[Item]) -> list[Length | None]:
        return model.lengths(
            [_opened(task, prompts, item, model, options).request for item in some]
        )

    lengths = [
        length
        for start in range(0, len(items), _BLOCK)
        for length in measure(items[start : start + _BLOCK])
    ]
    over = {
        item.id: length
        for item, length in zip(items, lengths, strict=True)
        if length and _excess(length) > 0
    }
    measured = all(length is not None for length in lengths)
    if not measured and model.is_main:
        print(
            f"note: {task.name}: {model.name} does not say how long its context is, so that questions are not measured before "
            "they are asked; those that are too long stay unanswered. --model-args context=N,tokenizer=FOLDER tells it.",
            file=sys.stderr,
        )
    if not over or truncate == "unanswered":
        return Fitted(items=items, measured=measured)
    if truncate == "refuse":
        raise UsageError(_refusal(task, over, len(items)))
    cut = _words_to_cut(
        {item.id: item for item in items if item.id in over}, measure, shorten, over
    )
    return Fitted(
        items=[shorten(item, cut[item.id]) if item.id in cut else item for item in items],
        shortened=cut,
        measured=measured,
    )


def _excess(length: Length) -> int:
    return length.tokens - length.room


def _words_to_cut(
    items: Mapping[str, Item],
    measure: Callable[[Sequence[Item]], Sequence[Length | None]],
    shorten: Callable[[Item, int], Item],
    over: Mapping[str, Length],
) -> dict[str, int]:
    """Searches by halves, all items at once, for the fewest words without which each fits."""
    # A word has one token or more, so that leaving out as many words as there are tokens too many is mostly enough.
    low = dict.fromkeys(items, 0)  # does not fit
    high: dict[str, int] = {}  # fits
    guess = {name: _excess(over[name]) for name in items}
    open_ones = set(items)
    for _ in range(_TRIES):
        if not open_ones:
            break
        names = sorted(open_ones)
        tried = [shorten(items[name], guess[name]) for name in names]
        same = [
            shorten(items[name], guess[name] * 2 + 1).fields == each.fields
            for name, each in zip(names, tried, strict=True)
        ]
        for name, length, nothing_left in zip(names, measure(tried), same, strict=True):
            if length is None or (_excess(length) > 0 and nothing_left and name not in high):
                open_ones.discard(name)  # even without its documents it does not fit
            elif _excess(length) > 0:
                low[name] = guess[name]
                guess[name] = (low[name] + high[name]) // 2 if name in high else guess[name] * 2
            else:
                high[name] = guess[name]
                guess[name] = (low[name] + high[name]) // 2
            if name in high and high[name] - low[name] <= 1:
                open_ones.discard(name)
    return high


def _refusal(task: TaskSpec, over: Mapping[str, Length], n_items: int) -> str:
    ranked = sorted(over.items(), key=lambda each: (-_excess(each[1]), each[0]))
    lines = [
        f"{name}: {length.tokens:,} tokens, room for {length.room:,}" for name, length in ranked
    ]
    return (
        f"{task.name}: {len(over):,} of {n_items:,} questions do not fit the model's context together with the answer:\n  "
        + listed(lines, _LISTED, between="\n  ")
        + "\nNothing was asked. Give a longer context if the model has one (--model-args max_length=N for hf/, max_model_length=N "
        "for vllm/, context=N for a server that has more than it says), fewer --max-new-tokens, or say what is to be done: "
        "--truncate notes-from-the-oldest leaves out the beginning of the oldest notes, --truncate unanswered asks the others and "
        "leaves these unanswered."
    )
