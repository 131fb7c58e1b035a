"""Estimates and counts what requests to a model under test take of a run's `budget`.

Requests in flight (or a batch, before it is sent) and their retries count by an estimate
with the longest answer, then by what the server reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from medical_tasks.models.base import Answer, Failure, OnResult, Request
from medical_tasks.models.budget import (
    SPENT,
    Amount,
    Ceiling,
    admitted,
    estimate_chat,
    estimate_tokens,
)
from medical_tasks.models.tool_calls import offered_text
from medical_tasks.models.usage import Prices

REFUSED: Final = "refused before it was sent"


def most_of(
    request: Request, prices: Prices | None, longest: int | None = None
) -> Amount:
    """Returns an upper estimate of what a request takes.

    Each continuation is sent once more after the whole chat, as most servers require.

    Args:
        request: the request.
        prices: the model's prices; None for no cost.
        longest: the most tokens of the answer by `Model.longest`; None for the request's
            own limit.
    """
    longest = request.max_new_tokens if longest is None else longest
    prompt = estimate_chat(request.messages)
    prompt += estimate_tokens(offered_text(request.tools))
    behind = [prompt + estimate_tokens(text) for text in request.continuations]

    return Amount(prompt + sum(behind), longest + len(behind)).at(prices)


def taken_by(answer: Answer, most: Amount, prices: Prices | None) -> Amount:
    """Returns what an answer took: as its model reports, else the estimate."""
    prompt, output = answer.prompt_tokens, answer.output_tokens
    if output is None:
        return most
    read = most.prompt_tokens if prompt is None else prompt
    return Amount(read, output, cached_tokens=answer.cached_tokens or 0).at(prices)


Job = TypeVar("Job")


def in_groups(
    jobs: Sequence[Job],
    request_of: Callable[[Job], Request],
    most_of_job: Callable[[Job], Amount],
    ceiling: Ceiling | None,
    on_result: OnResult,
    size: int | None = None,
) -> Iterator[tuple[list[Job], OnResult]]:
    """Yields the groups that a model in batches may answer next, each with its callback.

    Each group must be answered, and its callback called, before the next is taken.

    Args:
        jobs: requests, or what an engine makes of them.
        request_of: returns the request of a job.
        most_of_job: returns the most tokens that a job takes.
        ceiling: None for none; then there is one group.
        on_result: called with every result, and with a failure for each request that the
            ceiling did not admit.
        size: the most jobs of a group when minutes are limited, since a group is
            answered as a whole.
    """
    if ceiling is None:
        yield list(jobs), on_result
        return

    prices, budget = ceiling.prices, ceiling.budget
    most = {request_of(job).key: most_of_job(job).at(prices) for job in jobs}

    def settled(result: Answer | Failure) -> None:
        estimate = most[result.key]
        used = Amount()
        if isinstance(result, Answer):
            used = taken_by(result, estimate, prices)

        budget.settle(estimate, used)
        on_result(result)

    def refuse(job: Job) -> None:
        on_result(refusal(request_of(job).key))

    size = None if budget.max_minutes is None else size
    for group in admitted(
        jobs, lambda job: most[request_of(job).key], budget, refuse, size
    ):
        yield group, settled


def refusal(key: str) -> Failure:
    """Returns the outcome of a request that a ceiling did not admit."""
    return Failure(key=key, reason=SPENT, detail=REFUSED)
