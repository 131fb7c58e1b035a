"""From a task of this suite to an inspect task and scorer: the same rows, prompts and scores.

The scorer is registered under the task's name, so that it scores other logs on the same
questions as well:

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
from typing import Any, get_args

from inspect_ai import Task, task

# The one error that inspect tells without a traceback; it has no public name.
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
    MultiStep,
    PromptSet,
    TaskSpec,
    ToolCall,
    Turn,
)

_CLUSTER = "cluster"
_WEIGHTS = "weights"
"""Where a score keeps the denominators of pooled metrics."""
_OUTCOME = "outcome"
"""Where it keeps the headline metric's smallest and largest possible value."""


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

    One that asks how probable its choices are is refused.
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

    told = {
        "data": json.dumps(data_revision),
        "prompts": prompts.name,
        "prompts_sha256": prompts.sha256,
    }
    if "confidence_sha256" in prompts.settings:
        told[RECIPE_KEY] = ASKED
    if leaking := leaking_examples(task, prompts, items):
        told["leaking_examples"] = ", ".join(leaking)

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
        metadata=told,
    )


def _conversation(task: TaskSpec, state: TaskState) -> tuple[Message, ...]:
    """The chat of a sample; of a task without tools what is of the three plain roles."""
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
    """A solver that asks what the benchmark's protocol wants, turn by turn.

    The protocol blocks while it decides. So it does in a thread, and other samples go
    on meanwhile.
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
                state, dialogue = await _asked(turn, state, dialogue, generate)
                (turn,) = await asyncio.to_thread(
                    protocol.next_turns, [dialogue], memory
                )

            state.output.completion = turn.text
            if turn.conversation:
                state.messages = inspect_chat(turn.conversation)

            return state

        return solve

    return follow_protocol()


async def _asked(
    turn: Ask, state: TaskState, dialogue: Dialogue, generate: Generate
) -> tuple[TaskState, Dialogue]:
    """Asks the model, or the one that `--model-role` names for a role, and adds what it says."""
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
    said = (*dialogue.replies.get(turn.role, ()), output.completion)
    return state, replace(dialogue, replies={**dialogue.replies, turn.role: said})


@metric(name="pooled")
def _pooled(name: str, official: bool = False) -> Metric:
    """The sum of an entry's numerators over the sum of its denominators.

    Nan where an `official` figure lacks an item.
    """

    def compute(scores: list[SampleScore]) -> float:
        """The ratio of sums; an item without a weight ends an official script."""
        values = []
        for each in scores:
            value = each.score.as_float()
            weights: Mapping[str, float] = (each.score.metadata or {}).get(_WEIGHTS, {})
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
    """The mean of the scores there are, cut as the suite's figure is (`MetricSpec.total`)."""

    def compute(scores: list[SampleScore]) -> float:
        values = [
            value for each in scores if not math.isnan(value := each.score.as_float())
        ]
        return (
            min(max(math.fsum(values) / len(values), low), high) if values else math.nan
        )

    return compute


@metric(name="asked")
def _confidence(name: str) -> Metric:
    """The figures of stated confidences (`confidence_figures`), each with its interval."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        """The figures of the samples that state one: `ece`, `ece_ci_low` and so on."""
        task = task_spec(name)
        items = [_item_of(each) for each in scores]
        by_id = {
            item.id: _score_of(task, item.id, each.score)
            for item, each in zip(items, scores, strict=True)
        }
        found = confidence_figures(task, items, [by_id], source="asked")
        shown = ("mean_confidence", "accuracy", "ece", "brier", "auroc", "aurc")

        return {"n": float(found["n"])} | {
            key if end == "value" else f"{key}_{end}": value
            for key in shown
            for end, value in found.get(key, {}).items()  # type: ignore[attr-defined]
            if end != "n" and value is not None
        }

    return compute


def _item_of(score: SampleScore) -> Item:
    """The sample as an item: what figures of confidence need of it."""
    name, known = str(score.sample_id), score.score.metadata or {}
    return Item(id=name, fields={}, groups={}, cluster=str(known[_CLUSTER]))


def _score_of(task: TaskSpec, name: str, score: Score) -> ItemScore:
    """A sample's score of the headline metric, with its confidence."""
    headline = task.metrics[0].name
    low, high = (score.metadata or {})[_OUTCOME]
    return ItemScore(
        id=name,
        values={headline: low},
        limits={} if low == high else {headline: (low, high)},
        confidence=score.as_float(),
    )


def _metrics(task: TaskSpec) -> dict[str, list[Metric]]:
    """By both names of a judged metric.

    Only the judge, which is opened later, tells which one scores have.
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

    The judge is the environment's, as for tasks.
    """

    def made(
        config: str | None = None,
        data: str | None = None,
        prompts: str = "own",
        upstream: str | None = None,
        confidence: str = "none",
    ) -> Scorer:
        """The scorer for one configuration of the task's data."""
        asked = _asks_for_confidence(task, confidence)
        items, judge = _held(task, config, data, prompts, upstream)
        metrics = (
            shown_metrics(task)
            if judge is None
            else shown_metrics(
                task, comparable=judge.comparable, official=judge.official
            )
        )
        key = task.benchmark.source(task.dataset).key if task.items_a_row == 1 else ""

        async def score(state: TaskState, target: Target) -> Score:
            # by `eval.yaml` samples are numbered
            name = str(state.metadata.get(key, state.sample_id))
            item, text = items.get(name), state.output.completion
            stated = Stated(text, None)
            if asked:
                stated = split_confidence(text)

            if item is None:
                raise _refused(
                    f"{task.name}: sample {name!r} of the log is no item of the task, whose ids "
                    f"look like {', '.join(map(repr, list(items)[:3]))}. Name the configuration of "
                    "the log's questions: -S config=NAME"
                )

            if not state.output.choices:  # no reply is no wrong reply
                unscored = (*metrics, CONFIDENCE) if asked else metrics
                return Score(
                    value=dict.fromkeys(unscored, math.nan),
                    explanation="unscored: no answer",
                )

            # the latter of logs that were exported
            ours = state.metadata.keys() & {_CLUSTER, "response_sha256"}
            if ours and target.text != task.benchmark.gold_response(task, item):
                raise _refused(
                    f"{task.name}: sample {name!r} of the log is on other data, its answer key "
                    "differs. Name the configuration of the log's questions: -S config=NAME"
                )

            answer = Answer(
                text=stated.answer,
                conversation=_conversation(task, state),
                finish=str(state.output.stop_reason),
            )
            try:
                if judge is not None:
                    (one,) = await asyncio.to_thread(
                        judge.score, task, [item], [answer]
                    )
                else:
                    (one,) = score_checked(task, [item], [answer])
            except plugins.PluginError as error:
                raise _refused(str(error)) from error

            # What has no verdict is nan, which inspect counts as unscored.
            value = {
                shown: one.values.get(metric.name, math.nan)
                for shown, metric in metrics.items()
            }
            why = explanation(one.why, one.unscored, one.unclear)
            pooled = (
                metric.name for metric in metrics.values() if metric.kind == "ratio"
            )
            weights = {name: one.weights[name] for name in pooled if name in one.values}
            told: dict[str, object] = {_WEIGHTS: weights}
            if asked:
                sure = stated.confidence
                value[CONFIDENCE] = math.nan if sure is None else sure
                told[_CLUSTER] = item.cluster
                told[_OUTCOME] = one.could_be(task.metrics[0].name)

            return Score(value=value, answer=one.parsed, explanation=why, metadata=told)

        return score

    made.__name__ = made.__qualname__ = task.name
    made.__module__ = module

    return scorer(metrics=_metrics(task), name=task.name)(made)


def _asks_for_confidence(task: TaskSpec, confidence: str) -> bool:
    """Reads the option `confidence`; what cannot be asked is refused as by `run`."""
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
        raise _options_told(error) from error

    return True


def _held(
    task: TaskSpec,
    config: str | None,
    data: str | None,
    prompts: str,
    upstream: str | None,
) -> tuple[dict[str, Item], HarnessJudge | None]:
    """The items by id, and the judge of a task that has one."""
    spec = _dataset(task)
    _require_open(task, spec)
    _require_written(task)
    try:
        part = load_task_data(
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
        raise _options_told(error) from error

    return {item.id: item for item in part.items}, judge


def _dataset(task: TaskSpec) -> DatasetSpec:
    return next(each for each in task.benchmark.datasets if each.name == task.dataset)


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
    """Makes the inspect task from its options, as `-T name=value` gives them.

    `max_samples` asks the very items that `medical-tasks run --max-samples` asks;
    inspect's own `--limit` takes the first ones of the file. What is wrong is a
    PrerequisiteError.
    """
    _require_open(task, spec)
    _require_written(task)
    asked = _asks_for_confidence(task, confidence)
    try:
        return _loaded(
            task,
            spec,
            config,
            data,
            prompts,
            upstream,
            max_samples,
            arguments,
            asked=asked,
        )
    except MedicalTasksError as error:
        raise _options_told(error) from error


@plugins.attributing_errors()
def _loaded(
    task: TaskSpec,
    spec: DatasetSpec,
    config: str | None,
    data: str | None,
    prompts: str,
    upstream: str | None,
    max_samples: int | None,
    arguments: Mapping[str, object] | None,
    *,
    asked: bool,
) -> Task:
    """The inspect task, made of rows, prompts and scorer with the user's `-T` options.

    The scorer gets the options that were given, so that it opens the same data.
    """
    part = load_task_data(
        task,
        spec,
        data=None if data is None else Path(data),
        config=config,
        max_samples=None if max_samples is None else _whole_number(max_samples),
    )
    given = {
        name: str(value)
        for name, value in (arguments or {}).items()
        if value is not None
    }
    checkout = None if upstream is None else Path(upstream)
    rendered = prompt_set(
        task,
        prompts,
        checkout,
        arguments=given,
        config=part.config,
        exemplars=part.exemplars,
    )
    if asked:
        rendered = asking_for_confidence(rendered)

    options = {"config": config, "data": data, "prompts": prompts, "upstream": upstream}
    options["confidence"] = ASKED if asked else None
    scored = registered_scorer(task)(
        **{name: value for name, value in options.items() if value is not None}
    )

    return inspect_task(
        task, part.items, rendered, part.revision, scored, checkout, given
    )


def _whole_number(value: object) -> int:
    """Reads `-T max_samples=N`, of which inspect makes a number, or leaves a text."""
    if isinstance(value, bool) or not str(value).isascii() or not str(value).isdigit():
        raise UsageError(f"--max-samples is a whole number, got {value!r}.")
    return int(str(value))


def _options_told(error: MedicalTasksError) -> PrerequisiteError:
    return _refused(
        f"{error}\nUnder inspect, options as --config demo are written -T config=demo (for a "
        "scorer -S)."
    )


def _require_open(task: TaskSpec, spec: DatasetSpec) -> None:
    # inspect writes texts into logs, buffers and caches and serves them live; a task
    # cannot see which of these are on.
    if not policy.text_allowed(spec):
        rule = policy.Subject.of(spec, task=task.name).rule
        raise _refused(
            f"{task.name}: {rule}. inspect's logs, buffers and caches hold questions and answers "
            "as text, and a task cannot see that all of them are off, so it is refused here. Use: "
            f"medical-tasks run --tasks {task.name} --model hf/MODEL (or vllm/, vllm-server/, "
            "openai-api/ with a server on this machine)."
        )


def _require_written(task: TaskSpec) -> None:
    """Refuses tasks whose answer is no text.

    Inspect generates, and has no way to ask how probable given words are.
    """
    if task.asks != "text":
        raise _refused(
            f"{task.name}: asks how probable each choice is, and inspect cannot ask a model for "
            f"that. Use: medical-tasks run --tasks {task.name} --model hf/MODEL (or vllm/, "
            "vllm-server/, or openai-api/ with a server that gives logprobs)."
        )


def _refused(said: str) -> PrerequisiteError:
    # inspect prints with rich, which would take what stands in square brackets for a
    # style.
    return PrerequisiteError(escape(said))


def registered_task(spec: TaskSpec, *, module: str) -> Callable[..., Task]:
    """Registers a task with its `-T` options.

    `module` is the one of the package that inspect imports.
    """
    dataset = _dataset(spec)
    # What decides the scores as well is for `medical-tasks run`, whose scoring is told.
    # So do other items: the scorer, which inspect makes apart, knows the usual ones.
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

    def made(**given: Any) -> Task:
        chosen = defaults | given
        return load(
            spec, dataset, arguments={name: chosen.pop(name) for name in own}, **chosen
        )

    made.__name__ = made.__qualname__ = spec.name
    made.__doc__, made.__module__ = spec.title, module
    made.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
            for name, value in defaults.items()
        ]
    )

    return task(made)


def eval_log(content: Mapping[str, object]) -> str:
    """Writes a log of inspect by inspect's own form and writer."""
    log = EvalLog.model_validate(content)
    with TemporaryDirectory() as folder:
        place = Path(folder) / "log.json"
        write_eval_log(log, str(place), format="json")
        return read_text(place)
