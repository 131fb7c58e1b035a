"""What requests to a model under test take, within the ceilings of a run (`budget`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

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


def most_of(
    request: Request, prices: Prices | None, longest: int | None = None
) -> Amount:
    """An upper estimate of what a request takes.

    Each continuation is read once more behind the whole chat, as most servers must be
    asked.

    Args:
        request: what is asked.
        prices: the model's, None for no cost.
        longest: most tokens of the answer by `Model.longest`, None for what the request
            says.
    """
    longest = request.max_new_tokens if longest is None else longest
    prompt = estimate_chat(request.messages)
    prompt += estimate_tokens(offered_text(request.tools))
    behind = [prompt + estimate_tokens(text) for text in request.continuations]

    return Amount(prompt + sum(behind), longest + len(behind)).at(prices)


def taken_by(answer: Answer, most: Amount, prices: Prices | None) -> Amount:
    """What an answer took: what its model says, else the estimate."""
    prompt, output = answer.prompt_tokens, answer.output_tokens
    if output is None:
        return most
    read = most.prompt_tokens if prompt is None else prompt
    return Amount(read, output, cached_tokens=answer.cached_tokens or 0).at(prices)


Made = TypeVar("Made")


def in_groups(
    made: Sequence[Made],
    request_of: Callable[[Made], Request],
    most_of_one: Callable[[Made], Amount],
    ceiling: Ceiling | None,
    on_result: OnResult,
    size: int | None = None,
) -> Iterator[tuple[list[Made], OnResult]]:
    """Yields what a model in batches may answer next, with whom to tell of the results.

    Each group is to be answered, and told of, before the next is taken.

    Args:
        made: requests, or what an engine makes of them.
        request_of: the request of one.
        most_of_one: the tokens that one takes at most.
        ceiling: None for none: then there is one group.
        on_result: told of every result, and of the requests that the ceiling did not
            admit.
        size: most of a group where minutes are limited, since a group is answered as a
            whole.
    """
    if ceiling is None:
        yield list(made), on_result
        return

    prices, budget = ceiling.prices, ceiling.budget
    most = {request_of(each).key: most_of_one(each).at(prices) for each in made}

    def settled(result: Answer | Failure) -> None:
        estimate = most[result.key]
        used = Amount()
        if isinstance(result, Answer):
            used = taken_by(result, estimate, prices)

        budget.settle(estimate, used)
        on_result(result)

    def refuse(one: Made) -> None:
        on_result(refusal(request_of(one).key))

    size = None if budget.max_minutes is None else size
    for group in admitted(
        made, lambda one: most[request_of(one).key], budget, refuse, size
    ):
        yield group, settled


def refusal(key: str) -> Failure:
    """The outcome of a request that a ceiling did not admit."""
    return Failure(key=key, reason=SPENT, detail="refused before it was sent")
