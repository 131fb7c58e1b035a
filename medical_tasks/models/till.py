"""Admits the requests of an event loop within a run's budget (`budget`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from medical_tasks.models.base import Model, Request
from medical_tasks.models.budget import SPENT, Amount, Ceiling, RunBudget
from medical_tasks.models.chat_client import CallFailed
from medical_tasks.models.chat_reply import Reply
from medical_tasks.models.spending import REFUSED, most_of

Client = TypeVar("Client")
Result = TypeVar("Result")


class Till:
    """The requests to one model that an event loop sends within a budget."""

    def __init__(self, ceiling: Ceiling | None) -> None:
        """Opens a till; None for no ceiling."""
        ceiling = ceiling or Ceiling(RunBudget())
        self.budget = ceiling.budget
        self.prices = ceiling.prices
        self.under_way = 0
        self.ended = asyncio.Event()

    def call(self, most: Amount) -> CallSpending:
        """Counts the requests of a call, each with an upper estimate."""
        return CallSpending(self, most)

    async def fits(self, most: Amount) -> bool:
        """Returns whether a request may be sent; waits while one in flight may free what it needs."""
        while not self.budget.fits(most):
            if not self.under_way:
                return False
            await self.ended.wait()
        return True


class ModelTill(Till):
    """The till of a model under test, by upper estimates of its requests."""

    def __init__(self, model: Model) -> None:
        super().__init__(model.ceiling)
        self._model = model

    def most(self, request: Request) -> Amount:
        """Returns an upper estimate of what a request takes."""
        return most_of(request, self.prices, self._model.longest(request))

    def admitting(
        self, ask: Callable[[Client, Request], Awaitable[Result]]
    ) -> Callable[[Client, Request], Awaitable[Result]]:
        """Refuses requests over the budget before they are asked, so that thousands take no time."""

        async def within(client: Client, request: Request) -> Result:
            if not await self.fits(self.most(request)):
                raise CallFailed(SPENT, REFUSED, attempts=0)

            return await ask(client, request)

        return within


@dataclass
class CallSpending:
    """The requests of one call, all alike: `chat_client.Spending` for a `RunBudget`."""

    till: Till
    most: Amount

    async def admit(self) -> bool:
        """Returns whether one more request may be sent; False is final."""
        while not self.till.budget.admit(self.most):
            if not await self.till.fits(self.most):
                return False
        self.till.under_way += 1
        return True

    def settle(self, reply: Reply | None, *, free: bool = False) -> None:
        """Ends a request that was admitted."""
        till = self.till
        till.budget.settle(self.most, Amount() if free else self._used(reply))
        till.under_way -= 1
        till.ended.set()
        till.ended = asyncio.Event()

    def _used(self, reply: Reply | None) -> Amount | None:
        if reply is None or reply.prompt_tokens is None or reply.output_tokens is None:
            return None
        used = Amount(
            reply.prompt_tokens,
            reply.output_tokens,
            cached_tokens=reply.cached_tokens or 0,
        )
        return used.at(self.till.prices)
