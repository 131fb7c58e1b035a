"""Makes an inspect task and scorer from a task of this suite: the same rows, prompts and scores.

The scorer is registered under the task's name, so that it also scores other logs on the
same questions:

    inspect score LOG --scorer medical_tasks/medcalc -S config=v1.0
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast, get_args

from inspect_ai import Task, task

# The one error that inspect shows without a traceback; it has no public name.
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, write_eval_log
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from rich.markup import escape

import medical_tasks.plugins as plugins
from medical_tasks.catalog import task_spec
from medical_tasks.data.task_data import (
    leaking_examples,
    load_task_data,
    open_protocol,
    prompt_set,
)
from medical_tasks.errors import MedicalTasksError, UsageError
from medical_tasks.guard import policy
from medical_tasks.harness.judging import (
    HarnessJudge,
    Weighted,
    harness_request,
    pooled_mean,
    score_checked,
    shown_metrics,
)
from medical_tasks.io.files import read_text
from medical_tasks.models.inspect_tools import (
    inspect_chat,
    read_inspect_calls,
    read_inspect_chat,
    tool_definitions,
)
from medical_tasks.runs.confidence import (
    ASKED,
    RECIPE_KEY,
    Confidence,
    asking_for_confidence,
    check_askable,
    confidence_figures,
)
from medical_tasks.runs.confidence import COLUMN as CONFIDENCE
from medical_tasks.runs.numbers import explanation
from medical_tasks.scoring.stated_confidence import Stated, split_confidence
from medical_tasks.spec import (
    Answer,
    Ask,
    DatasetSpec,
    Dialogue,
    Item,
    ItemScore,
    Message,
    MetricSpec,
    MultiStep,
    PromptSet,
    TaskSpec,
    ToolCall,
    Turn,
)

_CLUSTER = "cluster"
_WEIGHTS = "weights"
"""The metadata of a score that holds the denominators of pooled metrics."""
_OUTCOME = "outcome"
"""The metadata that holds the headline metric's smallest and largest possible value."""


def inspect_task(
    task: TaskSpec,
    items: list[Item],
    prompts: PromptSet,
    data_revision: Mapping[str, object],
    scorer: Scorer | None = None,
    upstream: Path | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Task:
    """Makes the inspect task, with the recipe in its metadata.

    Raises:
        PrerequisiteError: The task asks how probable its choices are.
    """
    _require_written(task)
    gold_response = task.benchmark.gold_response
    by_id = {item.id: item for item in items}
    steps = generate()
    if task.protocol:
        steps = _protocol_solver(
            open_protocol(
                task, arguments or {}, prompts=prompts.name, upstream=upstream
            ),
            by_id,
            prompts,
        )

    recipe = {
        "data": json.dumps(data_revision),
        "prompts": prompts.name,
        "prompts_sha256": prompts.sha256,
    }
    if "confidence_sha256" in prompts.settings:
        recipe[RECIPE_KEY] = ASKED
    if leaking := leaking_examples(task, prompts, items):
        recipe["leaking_examples"] = ", ".join(leaking)

    samples = [
        Sample(
            id=item.id,
            input=inspect_chat(prompts.render(item)),
            target=gold_response(task, item),
            metadata={"groups": dict(item.groups), _CLUSTER: item.cluster},
        )
        for item in items
    ]
    return Task(
        name=task.name,
        dataset=MemoryDataset(
            samples, name=task.dataset, location=str(data_revision.get("config", ""))
        ),
        solver=[steps],
        scorer=scorer,
        config=GenerateConfig(
            max_tokens=task.generation_size,
            temperature=0.0,
            stop_seqs=list(task.stop) or None,
        ),
        version=task.version,
        metadata=recipe,
    )


def _conversation(task: TaskSpec, state: TaskState) -> tuple[Message, ...]:
    """Returns the chat of a sample; without the messages of tools for a task without any."""
    if task.tools:
        return read_inspect_chat(state.messages)
    return tuple(
        Message(role=message.role, content=message.text)
        for message in state.messages
        if message.role != "tool"
    )


class _Memory(dict[tuple[str, str], dict[str, object]]):
    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, dict[str, object]]:
        return {key: self[kind, key] for key in keys if (kind, key) in self}

    def put(self, kind: str, key: str, payload: Mapping[str, object]) -> None:
        self[kind, key] = dict(payload)


def _protocol_solver(
    protocol: MultiStep, items: dict[str, Item], prompts: PromptSet
) -> Solver:
    """Makes the solver that follows the benchmark's protocol, turn by turn.

    The protocol decides in a thread, since it blocks, while other samples continue.
    """
    memory = _Memory()

    @solver(name="medical_protocol")
    def follow_protocol() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            item = items[str(state.sample_id)]
            dialogue = Dialogue(item=item, opening=prompts.render(item), answers=())
            tools = prompts.tools(item) if prompts.tools else ()
            turn: Turn = Ask(dialogue.opening, tools=tools)
            while isinstance(turn, Ask):
                state, dialogue = await _ask_turn(turn, state, dialogue, generate)
                (turn,) = await asyncio.to_thread(
                    protocol.next_turns, [dialogue], memory
                )

            state.output.completion = turn.text
            if turn.conversation:
                state.messages = inspect_chat(turn.conversation)

            return state

        return solve

    return follow_protocol()


async def _ask_turn(
    turn: Ask, state: TaskState, dialogue: Dialogue, generate: Generate
) -> tuple[TaskState, Dialogue]:
    """Asks the model, or the one that `--model-role` names for a role, and adds the answer."""
    chat = inspect_chat(turn.messages)
    if not turn.role:
        state.messages = chat
        state.tools = tool_definitions(turn.tools)
        # The protocol runs the tools.
        state = await generate(state, tool_calls="none")
        answers = (*dialogue.answers, state.output.completion)
        calls: tuple[ToolCall, ...] = ()
        if state.output.choices:
            calls = read_inspect_calls(state.output.message.tool_calls)

        return state, replace(dialogue, answers=answers, calls=(*dialogue.calls, calls))

    output = await get_model(role=turn.role, required=True).generate(chat)
    replies = (*dialogue.replies.get(turn.role, ()), output.completion)
    return state, replace(dialogue, replies={**dialogue.replies, turn.role: replies})


@metric(name="pooled")
def _pooled(name: str, official: bool = False) -> Metric:
    """Divides the sum of a metric's numerators by the sum of its denominators.

    Nan where an `official` figure lacks an item.
    """

    def compute(scores: list[SampleScore]) -> float:
        """Returns the ratio of sums; an item without a weight ends an official script."""
        values = []
        for sample in scores:
            value = sample.score.as_float()
            weights: Mapping[str, float] = (sample.score.metadata or {}).get(
                _WEIGHTS, {}
            )
            ended = official and name not in weights
            values.append(
                Weighted(
                    value,
                    math.inf if ended else 0.0 if math.isnan(value) else weights[name],
                )
            )

        return pooled_mean(values)

    return compute


@metric(name="cut_mean")
def _cut_mean(low: float, high: float) -> Metric:
    """Takes the mean of the scores that are numbers, limited as in `MetricSpec.total`."""

    def compute(scores: list[SampleScore]) -> float:
        values = [
            value
            for sample in scores
            if not math.isnan(value := sample.score.as_float())
        ]
        return (
            min(max(math.fsum(values) / len(values), low), high) if values else math.nan
        )

    return compute


@metric(name="asked")
def _confidence(name: str) -> Metric:
    """Computes the figures of stated confidences (`confidence_figures`) with their intervals."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        """Returns the figures of the samples that state a confidence: `ece`, `ece_ci_low` and so on."""
        task = task_spec(name)
        items = [_item_of(sample) for sample in scores]
        by_id = {
            item.id: _score_of(task, item.id, sample.score)
            for item, sample in zip(items, scores, strict=True)
        }
        figures = confidence_figures(task, items, [by_id], source="asked")
        shown = ("mean_confidence", "accuracy", "ece", "brier", "auroc", "aurc")

        return {"n": float(figures["n"])} | {
            key if end == "value" else f"{key}_{end}": value
            for key in shown
            for end, value in figures.get(key, {}).items()  # type: ignore[attr-defined]
            if end != "n" and value is not None
        }

    return compute


def _item_of(score: SampleScore) -> Item:
    """Makes an item from a sample, with what the figures of confidence need."""
    name, metadata = str(score.sample_id), score.score.metadata or {}
    return Item(id=name, fields={}, groups={}, cluster=str(metadata[_CLUSTER]))


def _score_of(task: TaskSpec, name: str, score: Score) -> ItemScore:
    """Returns a sample's score of the headline metric, with its confidence."""
    headline = task.metrics[0].name
    low, high = (score.metadata or {})[_OUTCOME]
    return ItemScore(
        id=name,
        values={headline: low},
        limits={} if low == high else {headline: (low, high)},
        confidence=score.as_float(),
    )


def _metrics(task: TaskSpec) -> dict[str, list[Metric]]:
    """Returns inspect's metrics, under both names of a judged metric.

    Which of the two the scores have depends on the judge, which is opened later.
    """
    return {CONFIDENCE: [_confidence(task.name)]} | {
        shown: [_pooled(metric.name, metric.official is not None)]
        if metric.kind == "ratio"
        else [mean() if metric.total is None else _cut_mean(*metric.total), stderr()]
        for comparable in (True, not task.judge)
        for shown, metric in shown_metrics(
            task, comparable=comparable, official=True
        ).items()
    }


def registered_scorer(
    task: TaskSpec, *, module: str = __name__
) -> Callable[..., Scorer]:
    """Registers a task's scorer as `medical_tasks/NAME`, with its `-S` options.

    The judge is that of the environment, as for tasks.
    """

    def make_scorer(
        config: str | None = None,
        data: str | None = None,
        prompts: str = "own",
        upstream: str | None = None,
        confidence: str = "none",
    ) -> Scorer:
        """Makes the scorer for one configuration of the task's data."""
        asks_confidence = _asks_for_confidence(task, confidence)
        items, judge = _items_and_judge(task, config, data, prompts, upstream)
        metrics = (
            shown_metrics(task)
            if judge is None
            else shown_metrics(
                task, comparable=judge.comparable, official=judge.official
            )
        )
        key = task.benchmark.source(task.dataset).key if task.items_a_row == 1 else ""

        async def score(state: TaskState, target: Target) -> Score:
            # with `eval.yaml`, sample ids are numbers
            name = str(state.metadata.get(key, state.sample_id))
            item = _checked_item(task, items, name, state, target)
            if not state.output.choices:  # no reply is not a wrong reply
                unscored = (*metrics, CONFIDENCE) if asks_confidence else metrics
                return Score(
                    value=dict.fromkeys(unscored, math.nan),
                    explanation="unscored: no answer",
                )

            text = state.output.completion
            stated = split_confidence(text) if asks_confidence else Stated(text, None)
            answer = Answer(
                text=stated.answer,
                conversation=_conversation(task, state),
                finish=str(state.output.stop_reason),
            )
            result = await _score_answer(task, judge, item, answer)
            scored = _as_score(result, metrics)
            if asks_confidence:
                _add_confidence(scored, task, item, result, stated.confidence)

            return scored

        return score

    make_scorer.__name__ = make_scorer.__qualname__ = task.name
    make_scorer.__module__ = module

    return scorer(metrics=_metrics(task), name=task.name)(make_scorer)


def _checked_item(
    task: TaskSpec,
    items: Mapping[str, Item],
    name: str,
    state: TaskState,
    target: Target,
) -> Item:
    """Returns the item of a log's sample.

    Raises:
        PrerequisiteError: The task has no such item, or the sample's gold differs.
    """
    item = items.get(name)
    if item is None:
        raise _refused(
            f"{task.name}: sample {name!r} of the log is no item of the task, whose ids "
            f"look like {', '.join(map(repr, list(items)[:3]))}. Name the configuration of "
            "the log's questions: -S config=NAME"
        )

    # `response_sha256` is in the logs that this suite exports
    ours = state.metadata.keys() & {_CLUSTER, "response_sha256"}
    answered = bool(state.output.choices)
    if ours and answered and target.text != task.benchmark.gold_response(task, item):
        raise _refused(
            f"{task.name}: sample {name!r} of the log is on other data, its answer key "
            "differs. Name the configuration of the log's questions: -S config=NAME"
        )

    return item


async def _score_answer(
    task: TaskSpec, judge: HarnessJudge | None, item: Item, answer: Answer
) -> ItemScore:
    """Scores one answer, in a thread if a judge is asked."""
    try:
        if judge is None:
            (score,) = score_checked(task, [item], [answer])
        else:
            (score,) = await asyncio.to_thread(judge.score, task, [item], [answer])
    except plugins.PluginError as error:
        raise _refused(str(error)) from error

    return score


def _as_score(score: ItemScore, metrics: Mapping[str, MetricSpec]) -> Score:
    """Converts a score to inspect's; a missing verdict is nan, which it counts as unscored."""
    pooled = (metric.name for metric in metrics.values() if metric.kind == "ratio")
    weights = {name: score.weights[name] for name in pooled if name in score.values}
    return Score(
        value={
            shown: score.values.get(metric.name, math.nan)
            for shown, metric in metrics.items()
        },
        answer=score.parsed,
        explanation=explanation(score.why, score.unscored, score.unclear),
        metadata={_WEIGHTS: weights},
    )


def _add_confidence(
    scored: Score,
    task: TaskSpec,
    item: Item,
    score: ItemScore,
    confidence: float | None,
) -> None:
    """Adds a stated confidence, and what its figures need, to inspect's score."""
    values = cast("dict[str, float]", scored.value)
    values[CONFIDENCE] = math.nan if confidence is None else confidence
    scored.metadata = {
        **(scored.metadata or {}),
        _CLUSTER: item.cluster,
        _OUTCOME: score.could_be(task.metrics[0].name),
    }


def _asks_for_confidence(task: TaskSpec, confidence: str) -> bool:
    """Reads the option `confidence`; rejects what `run` rejects too."""
    if confidence not in get_args(Confidence):
        raise _refused(
            f"confidence must be {' or '.join(get_args(Confidence))}; got {confidence!r}. "
            f"Give -T confidence={ASKED} to a task and -S confidence={ASKED} to a scorer, or leave "
            "it out."
        )

    if confidence != ASKED:
        return False

    try:
        check_askable([task], "the model")
    except UsageError as error:
        raise _options_error(error) from error

    return True


def _items_and_judge(
    task: TaskSpec,
    config: str | None,
    data: str | None,
    prompts: str,
    upstream: str | None,
) -> tuple[dict[str, Item], HarnessJudge | None]:
    """Returns the items by id, and the judge if the task has one."""
    spec = _dataset(task)
    _require_open(task, spec)
    _require_written(task)
    try:
        loaded = load_task_data(
            task, spec, data=None if data is None else Path(data), config=config
        )
        judge = (
            HarnessJudge(harness_request(prompts, upstream, task=task))
            if task.judge
            else None
        )
        if judge is not None:
            judge.check(task)
    except MedicalTasksError as error:
        raise _options_error(error) from error

    return {item.id: item for item in loaded.items}, judge


def _dataset(task: TaskSpec) -> DatasetSpec:
    return next(
        dataset for dataset in task.benchmark.datasets if dataset.name == task.dataset
    )


def load(
    task: TaskSpec,
    spec: DatasetSpec,
    *,
    config: str | None,
    data: str | None,
    prompts: str,
    upstream: str | None,
    max_samples: int | None = None,
    confidence: str = "none",
    arguments: Mapping[str, object] | None = None,
) -> Task:
    """Makes the inspect task from its `-T name=value` options.

    `max_samples` selects the same items as `medical-tasks run --max-samples`; inspect's
    own `--limit` takes the first ones of the file.

    Raises:
        PrerequisiteError: An option is wrong, or the task cannot run here.
    """
    _require_open(task, spec)
    _require_written(task)
    asks_confidence = _asks_for_confidence(task, confidence)
    try:
        return _make_task(
            task,
            spec,
            config,
            data,
            prompts,
            upstream,
            max_samples,
            arguments,
            asks_confidence=asks_confidence,
        )
    except MedicalTasksError as error:
        raise _options_error(error) from error


@plugins.attributing_errors()
def _make_task(
    task: TaskSpec,
    spec: DatasetSpec,
    config: str | None,
    data: str | None,
    prompts: str,
    upstream: str | None,
    max_samples: int | None,
    arguments: Mapping[str, object] | None,
    *,
    asks_confidence: bool,
) -> Task:
    """Makes the inspect task from rows, prompts and scorer with the user's `-T` options.

    The scorer gets the same options, so that it opens the same data.
    """
    rows = load_task_data(
        task,
        spec,
        data=None if data is None else Path(data),
        config=config,
        max_samples=None if max_samples is None else _whole_number(max_samples),
    )
    task_args = {
        name: str(value)
        for name, value in (arguments or {}).items()
        if value is not None
    }
    checkout = None if upstream is None else Path(upstream)
    rendered = prompt_set(
        task,
        prompts,
        checkout,
        arguments=task_args,
        config=rows.config,
        exemplars=rows.exemplars,
    )
    if asks_confidence:
        rendered = asking_for_confidence(rendered)

    options = {"config": config, "data": data, "prompts": prompts, "upstream": upstream}
    options["confidence"] = ASKED if asks_confidence else None
    scored = registered_scorer(task)(
        **{name: value for name, value in options.items() if value is not None}
    )

    return inspect_task(
        task, rows.items, rendered, rows.revision, scored, checkout, task_args
    )


def _whole_number(value: object) -> int:
    """Reads `-T max_samples=N`, which inspect may or may not have parsed as a number."""
    if isinstance(value, bool) or not str(value).isascii() or not str(value).isdigit():
        raise UsageError(f"--max-samples is a whole number, got {value!r}.")
    return int(str(value))


def _options_error(error: MedicalTasksError) -> PrerequisiteError:
    return _refused(
        f"{error}\nUnder inspect, options such as --config demo are written -T config=demo (for a "
        "scorer -S)."
    )


def _require_open(task: TaskSpec, spec: DatasetSpec) -> None:
    # inspect writes texts to logs, buffers and caches and serves them live; a task cannot
    # see which of these are on.
    if not policy.text_allowed(spec):
        rule = policy.Subject.of(spec, task=task.name).rule
        raise _refused(
            f"{task.name}: {rule}. inspect's logs, buffers and caches hold questions and answers "
            "as text, and a task cannot see that all of them are off, so it is refused here. Use: "
            f"medical-tasks run --tasks {task.name} --model hf/MODEL (or vllm/, vllm-server/, "
            "openai-api/ with a server on this machine)."
        )


def _require_written(task: TaskSpec) -> None:
    """Rejects tasks whose answer is not text.

    Inspect generates, and cannot ask how probable given words are.
    """
    if task.asks != "text":
        raise _refused(
            f"{task.name}: asks how probable each choice is, and inspect cannot ask a model for "
            f"that. Use: medical-tasks run --tasks {task.name} --model hf/MODEL (or vllm/, "
            "vllm-server/, or openai-api/ with a server that gives logprobs)."
        )


def _refused(message: str) -> PrerequisiteError:
    # inspect prints with rich, which reads square brackets as a style.
    return PrerequisiteError(escape(message))


def registered_task(spec: TaskSpec, *, module: str) -> Callable[..., Task]:
    """Registers a task with its `-T` options.

    `module` is the one that inspect imports.
    """
    dataset = _dataset(spec)
    # inspect makes the scorer separately, so arguments that also decide the scores or
    # the items are only for `medical-tasks run`.
    not_here = {*spec.scoring_arguments, *spec.item_arguments}
    own = [name for name in spec.arguments if name not in not_here]
    defaults: dict[str, Any] = {
        "config": None,
        "data": None,
        "prompts": "own",
        "upstream": None,
        "max_samples": None,
        "confidence": "none",
    }
    defaults |= dict.fromkeys(own)

    def make_task(**options: Any) -> Task:
        chosen = defaults | options
        return load(
            spec, dataset, arguments={name: chosen.pop(name) for name in own}, **chosen
        )

    make_task.__name__ = make_task.__qualname__ = spec.name
    make_task.__doc__, make_task.__module__ = spec.title, module
    make_task.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
            for name, value in defaults.items()
        ]
    )

    return task(make_task)


def eval_log(content: Mapping[str, object]) -> str:
    """Writes a log of inspect with inspect's own model and writer."""
    log = EvalLog.model_validate(content)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.json"
        write_eval_log(log, str(path), format="json")
        return read_text(path)
