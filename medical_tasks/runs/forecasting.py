"""Forecasts questions, tokens and cost of a model's answers, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypedDict

from medical_tasks.data.task_data import TaskData
from medical_tasks.io.store import Store
from medical_tasks.models.base import Model, Request
from medical_tasks.models.budget import Amount, count_said
from medical_tasks.models.opener import read_prices
from medical_tasks.models.spending import most_of
from medical_tasks.models.usage import cost_usd, dollars
from medical_tasks.runs.runner import (
    ANSWER,
    Fitted,
    RunOptions,
    fit_items,
    load_task_prompts,
    opening_request,
)
from medical_tasks.spec import TaskSpec

_BLOCK: Final = 2_000
"""Questions that are held in memory together."""


class TaskForecast(TypedDict):
    """The forecast for the answers to one task's questions.

    Attributes:
        questions: the first questions of all repeats.
        stored: how many of them earlier commands got answers to.
        to_ask: how many are left to ask.
        prompt_tokens: the tokens of the questions to ask.
        tokens_by: `tokenizer`, the model's own, or `estimate`, which tends to be too high.
        output_tokens_at_most: the most tokens of their answers.
        cost_usd_at_most: the most that these cost; None without prices.
        more_questions: whether a protocol asks more, depending on the answers.
    """

    questions: int
    stored: int
    to_ask: int
    prompt_tokens: int
    tokens_by: str
    output_tokens_at_most: int
    cost_usd_at_most: float | None
    more_questions: bool


def forecast_task(
    task: TaskSpec,
    data: TaskData,
    model: Model,
    options: RunOptions,
    store: Path | None,
) -> TaskForecast:
    """Forecasts the answers to a task without asking.

    Args:
        task: the task; only the first question about each item is counted.
        data: its items.
        model: the model, opened but not loaded.
        options: how the task would be run.
        store: the answers of an earlier command, None if there are none.
    """
    stored = to_ask = 0
    total, by = Amount(), "tokenizer"
    for block in _blocks(_requests(task, data, model, options)):
        pending = _pending(block, store)
        stored += len(block) - len(pending)
        to_ask += len(pending)
        counts = model.counted(pending)
        if counts is None:
            by = "estimate"

        for index, request in enumerate(pending):
            most = most_of(request, None, model.longest(request))
            prompt = most.prompt_tokens if counts is None else counts[index]
            total = Amount(
                total.prompt_tokens + prompt, total.output_tokens + most.output_tokens
            )

    prices = read_prices(options.model_args, model=model.name)
    return TaskForecast(
        questions=stored + to_ask,
        stored=stored,
        to_ask=to_ask,
        prompt_tokens=total.prompt_tokens,
        tokens_by=by,
        output_tokens_at_most=total.output_tokens,
        cost_usd_at_most=cost_usd(total.prompt_tokens, total.output_tokens, prices),
        more_questions=bool(task.protocol),
    )


def _requests(
    task: TaskSpec, data: TaskData, model: Model, options: RunOptions
) -> Iterator[Request]:
    """Yields the first question about each item in each repeat, the same question only once."""
    prompts = load_task_prompts(task, options, data)
    items = Fitted(items=data.items).items
    if model.measures_alone:
        items = fit_items(task, prompts, data.items, model, options).items

    seen: set[str] = set()
    for repeat in range(1, options.repeats + 1):
        for item in items:
            request = opening_request(
                task, prompts, item, model, options.of_repeat(repeat)
            )
            if request.key not in seen:
                seen.add(request.key)
                yield request


def _blocks(requests: Iterator[Request]) -> Iterator[list[Request]]:
    block: list[Request] = []
    for request in requests:
        block.append(request)
        if len(block) == _BLOCK:
            yield block
            block = []
    if block:
        yield block


def _pending(requests: Sequence[Request], store: Path | None) -> list[Request]:
    """Returns the requests without an answer in the store."""
    if store is None:
        return list(requests)
    with Store(store) as opened:
        answered = opened.get_many(ANSWER, [request.key for request in requests])
    return [request for request in requests if request.key not in answered]


def forecast_text(model: str, forecasts: Mapping[str, TaskForecast]) -> str:
    """Words the forecasts, one line per task."""
    return "\n".join(
        _line(model, task, forecast) for task, forecast in forecasts.items()
    )


def _line(model: str, task: str, forecast: TaskForecast) -> str:
    """Words a task's forecast in one line; unknown numbers are given as "at most"."""
    by = (
        "by the model's tokenizer"
        if forecast["tokens_by"] == "tokenizer"
        else "an estimate"
    )
    parts = [
        f"{forecast['questions']:,} questions",
        f"{forecast['stored']:,} in the store",
        f"{forecast['to_ask']:,} to ask",
    ]
    tokens = [
        f"{count_said(forecast['prompt_tokens'])} prompt tokens ({by})",
        f"at most {count_said(forecast['output_tokens_at_most'])} output tokens",
    ]
    cost = forecast["cost_usd_at_most"]
    tokens += [] if cost is None else [f"at most {dollars(cost)}"]
    more = ". Each item's first question; what follows depends on the answers"

    return (
        f"{task} with {model}: {', '.join(parts)}; {', '.join(tokens)}"
        f"{more if forecast['more_questions'] else ''}"
    )
