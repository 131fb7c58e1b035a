"""What a run may spend on a model or a judge, counted before it is spent.

A request is admitted with an upper estimate of its tokens, and settled with what it
really took. Requests in flight count with their estimates, so that a run exceeds no
ceiling by more than one request.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from medical_tasks.errors import UsageError
from medical_tasks.models.usage import Prices, cost_usd, dollars
from medical_tasks.spec import Message

SPENT: Final = "budget spent"
"""The failure reason of a request that a ceiling did not admit."""

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \n\t"
_LETTERS_A_TOKEN = 3
_AROUND_A_MESSAGE = 8
_MINUTE = 60.0
_MILLION = 1_000_000


def estimate_tokens(text: str) -> int:
    """Estimates a text's tokens without a tokenizer, rather too high.

    One token for 3 ASCII letters or blanks, or for 1 other byte.

    Example:
        >>> estimate_tokens("heart failure"), estimate_tokens("NYHA 3")
        (5, 3)
    """
    raw = text.encode("utf-8", "surrogatepass")
    others = len(raw.translate(None, _LETTERS))

    return others - (others - len(raw)) // _LETTERS_A_TOKEN


def estimate_chat(messages: Sequence[Message]) -> int:
    """Estimates the tokens of a chat: its texts, and what a chat template adds around each."""
    return sum(
        estimate_tokens(message["content"]) + _AROUND_A_MESSAGE for message in messages
    )


def count_said(count: int) -> str:
    """Writes a number of tokens."""
    return (
        f"{count:,}" if count < _MILLION // 10 else f"{count / _MILLION:,.1f} million"
    )


@dataclass(frozen=True)
class Amount:
    """Tokens read and written, how many of those read came from a cache, and their cost in USD."""

    prompt_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    cached_tokens: int = 0

    def at(self, prices: Prices | None) -> Amount:
        """Returns the same tokens with their cost, which is 0 without prices."""
        cost = cost_usd(
            self.prompt_tokens, self.output_tokens, prices, self.cached_tokens
        )
        return replace(self, cost=cost or 0.0)

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.output_tokens


class RunBudget:
    """The ceilings of a run and what has been spent. Thread-safe.

    Example: with `max_tokens=100` two requests of at most 60 tokens are not in flight
    together. When the first has ended and took 30, the second is admitted: 30 + 60 is
    within the ceiling.
    """

    def __init__(
        self,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        *,
        max_cost: float | None = None,
        max_minutes: float | None = None,
    ) -> None:
        """Sets the ceilings, None for none.

        Args:
            max_calls: requests.
            max_tokens: tokens read and written.
            max_cost: USD.
            max_minutes: minutes from now on after which nothing more is asked.
        """
        limits = {
            "requests": max_calls,
            "tokens": max_tokens,
            "USD": max_cost,
            "minutes": max_minutes,
        }
        for unit, limit in limits.items():
            if limit is not None and not limit >= 0:
                raise UsageError(
                    f"a ceiling must be 0 or more {unit}, got {limit:g}. Leave it out for no limit."
                )

        self.max_calls = max_calls
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self.max_minutes = max_minutes
        self.calls = 0
        """Requests admitted so far."""
        self.tokens = 0
        """Tokens of requests that have ended, and of answers from earlier commands."""
        self.cost = 0.0
        """USD for these tokens."""
        self.refused_by = ""
        """The last ceiling that refused a request, such as `--max-cost 5`; "" for none."""
        self._reserved = Amount()
        self._lock = threading.Lock()
        self._began = time.monotonic()

    def admit(self, most: Amount) -> bool:
        """Admits a request before it is sent, or refuses it, by an upper estimate."""
        with self._lock:
            if not self._fits(most):
                return False
            self.calls += 1
            self._reserve(most, 1)
            return True

    def hold(self, most: Amount) -> None:
        """Reserves for a request that is already in flight, whatever the ceilings are."""
        with self._lock:
            self.calls += 1
            self._reserve(most, 1)

    def fits(self, most: Amount) -> bool:
        """Returns whether `admit` would admit a request."""
        with self._lock:
            return self._fits(most)

    def _fits(self, most: Amount) -> bool:
        ceiling = self._ceiling(most)
        self.refused_by = ceiling or self.refused_by
        return not ceiling

    def settle(self, most: Amount, used: Amount | None) -> None:
        """Ends one admitted request.

        Args:
            most: the estimate it was admitted with.
            used: what it took; None where that is unknown and the estimate counts.
        """
        with self._lock:
            self._reserve(most, -1)
            self._book(most if used is None else used)

    def book(self, used: Amount) -> None:
        """Adds what was already spent, such as on the answers of an earlier command."""
        with self._lock:
            self._book(used)

    def _book(self, used: Amount) -> None:
        self.tokens += used.tokens
        self.cost += used.cost

    def spent_text(self) -> str:
        """Describes what was spent so far."""
        cost = f", {dollars(self.cost)}" if self.max_cost is not None else ""
        return f"{self.tokens:,} tokens{cost}"

    def _ceiling(self, most: Amount) -> str:
        """Returns the ceiling that a request would exceed; "" for none.

        Requests in flight count with the most that each may use. Example: of 1,000 tokens 700 are
        spent, and requests in flight may use 200. One of up to 100 is admitted, one of 101 is
        not.
        """
        tokens = self.tokens + self._reserved.tokens + most.tokens
        cost = self.cost + self._reserved.cost + most.cost
        minutes = (time.monotonic() - self._began) / _MINUTE
        if self.max_calls is not None and self.calls >= self.max_calls:
            return f"{self.max_calls:,} requests"
        if self.max_tokens is not None and tokens > self.max_tokens:
            return f"--max-tokens-total {self.max_tokens}"
        if self.max_cost is not None and cost > self.max_cost:
            return f"--max-cost {self.max_cost:.15g}"
        if self.max_minutes is not None and minutes >= self.max_minutes:
            return f"--max-minutes {self.max_minutes:.15g}"

        return ""

    def _reserve(self, most: Amount, sign: int) -> None:
        before = self._reserved
        self._reserved = Amount(
            before.prompt_tokens + sign * most.prompt_tokens,
            before.output_tokens + sign * most.output_tokens,
            before.cost + sign * most.cost,
        )


@dataclass(frozen=True)
class Ceiling:
    """A run's budget, with the prices of one of the models that share it."""

    budget: RunBudget
    prices: Prices | None = None


class Reserved:
    """The requests of batches: admitted when they are written to a file, settled by its results."""

    def __init__(self, budget: RunBudget) -> None:
        self._budget = budget
        self._most: dict[str, Amount] = {}  # by key, for requests in flight

    def admit(self, key: str, most: Amount) -> bool:
        """Admits a request before it is put into a file; counts it once."""
        if key not in self._most and not self._budget.admit(most):
            return False
        self._most[key] = most
        return True

    def hold(self, key: str, most: Amount) -> None:
        """Reserves for a request that an earlier command sent."""
        self._budget.hold(most)
        self._most[key] = most

    def settle(self, key: str, used: Amount | None) -> None:
        """Ends a request; does nothing for one that was not admitted."""
        most = self._most.pop(key, None)
        if most is not None:
            self._budget.settle(most, used)


Job = TypeVar("Job")


def admitted(
    jobs: Sequence[Job],
    most: Callable[[Job], Amount],
    budget: RunBudget,
    refuse: Callable[[Job], None],
    size: int | None = None,
) -> Iterator[list[Job]]:
    """Yields jobs in groups that the budget admits together, for models that answer in batches.

    A group must be settled before the next is taken. Jobs that do not fit are tried again
    after each group; those left when no job is admitted are refused.

    Args:
        jobs: in the order in which they are tried.
        most: an upper estimate of what a job takes.
        budget: admits each job.
        refuse: called with each job that is never admitted.
        size: the most jobs in a group; None for no limit.

    Example: with 100 tokens left, three jobs of at most 60 come one by one, since two
    of them do not fit together. If each then takes 15, all three are answered, and 45
    tokens are spent.
    """
    waiting = list(jobs)
    while waiting:
        group: list[Job] = []
        left: list[Job] = []
        for job in waiting:
            full = size is not None and len(group) >= size
            (left if full or not budget.admit(most(job)) else group).append(job)

        if not group:
            for job in left:
                refuse(job)

            return

        yield group
        waiting = left
