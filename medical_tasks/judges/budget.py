"""How many calls and tokens a run may spend on its judge, kept before the spending and not after it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Budget
from medical_tasks.spec import Message

__all__ = ["CountedBudget", "RunBudget", "estimate_chat", "estimate_tokens"]

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \n\t"
_LETTERS_A_TOKEN = 3
_AROUND_A_MESSAGE = 8


def estimate_tokens(text: str) -> int:
    """Estimates a text's tokens without its tokenizer, rather above than below.

    A token for every three ASCII letters or blanks (English has four to five), and one for every other byte of UTF-8: no
    tokenizer in use cuts digits, signs or bytes any smaller.
    """
    raw = text.encode("utf-8", "surrogatepass")
    others = len(raw.translate(None, _LETTERS))
    return others - (others - len(raw)) // _LETTERS_A_TOKEN


def estimate_chat(messages: Sequence[Message]) -> int:
    """Estimates the tokens of a chat: its texts, and what a chat template puts around each."""
    return sum(estimate_tokens(message["content"]) + _AROUND_A_MESSAGE for message in messages)


class RunBudget:
    """What a run may still spend. Implements `judges.base.Budget`; safe to ask from several threads.

    Args:
        max_calls: most requests, None for no limit.
        max_tokens: most tokens, prompt and reply together, None for no limit. What is under way counts with its estimate,
            so the limit is never exceeded as long as no request takes more than was estimated for it.

    Raises:
        UsageError: A limit is below 0.
    """

    def __init__(self, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        for name, limit in (("--max-judge-calls", max_calls), ("--max-judge-tokens", max_tokens)):
            if limit is not None and limit < 0:
                raise UsageError(f"{name} must be 0 or more, got {limit}. Leave it out for no limit.")
        self.max_calls = max_calls
        self.max_tokens = max_tokens
        self._lock = threading.Lock()
        self._calls = 0
        self._reserved = 0
        self._used = 0
        self._estimated = False

    @property
    def calls(self) -> int:
        """Requests admitted so far."""
        return self._calls

    @property
    def tokens(self) -> int:
        """Tokens booked for requests that have ended."""
        return self._used

    @property
    def estimated(self) -> bool:
        """Whether some of `tokens` are estimates, because the judge did not say."""
        return self._estimated

    def admit(self, *, prompt_tokens: int, output_tokens: int) -> bool:
        """Asks for one request before it is sent.

        Args:
            prompt_tokens: upper estimate of what is read.
            output_tokens: longest reply.

        Returns:
            Whether it may be sent; its tokens are reserved until `settle`.
        """
        wanted = prompt_tokens + output_tokens
        with self._lock:
            if self.max_calls is not None and self._calls >= self.max_calls:
                return False
            if self.max_tokens is not None and self._used + self._reserved + wanted > self.max_tokens:
                return False
            self._calls += 1
            self._reserved += wanted
            return True

    def settle(self, *, prompt_tokens: int, output_tokens: int, used: int | None) -> None:
        """Ends one admitted request.

        Args:
            prompt_tokens: as it was admitted with.
            output_tokens: as it was admitted with.
            used: tokens it really took, 0 when it never arrived; None when unknown, which books the estimate.
        """
        wanted = prompt_tokens + output_tokens
        with self._lock:
            if wanted > self._reserved:
                raise ValueError(f"settle of {wanted} tokens, but only {self._reserved} are reserved")
            self._reserved -= wanted
            self._used += wanted if used is None else used
            self._estimated = self._estimated or used is None


class CountedBudget:
    """A budget that counts the requests of one use of it. Implements `judges.base.Budget`.

    Args:
        budget: what decides.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self.admitted = 0

    def admit(self, *, prompt_tokens: int, output_tokens: int) -> bool:
        """As `RunBudget.admit`."""
        admitted = self._budget.admit(prompt_tokens=prompt_tokens, output_tokens=output_tokens)
        with self._lock:
            self.admitted += admitted
        return admitted

    def settle(self, *, prompt_tokens: int, output_tokens: int, used: int | None) -> None:
        """As `RunBudget.settle`."""
        self._budget.settle(prompt_tokens=prompt_tokens, output_tokens=output_tokens, used=used)
