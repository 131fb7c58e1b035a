"""Admits the requests of an event loop within a run's budget (`budget`)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from medical_tasks.models.budget import Amount, Ceiling
from medical_tasks.models.chat_reply import Reply


class Till:
    """The requests to one model that an event loop sends within a budget."""

    def __init__(self, ceiling: Ceiling) -> None:
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
