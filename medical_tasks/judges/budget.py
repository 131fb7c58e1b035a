"""What a run may spend on its judge, and what a round of judging will cost.

Calls and tokens are counted against the budget before they are spent; the forecast is made before the first call.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Verdict
from medical_tasks.judges.case import Case
from medical_tasks.spec import Message

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
    """What a run may still spend. Thread-safe; requests in flight count with their estimate."""

    def __init__(self, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        for name, limit in (("--max-judge-calls", max_calls), ("--max-judge-tokens", max_tokens)):
            if limit is not None and limit < 0:
                raise UsageError(f"{name} must be 0 or more, got {limit}. Leave it out for no limit.")
        self.max_calls = max_calls
        self.max_tokens = max_tokens
        self._lock = threading.Lock()
        self.calls = 0  # requests admitted so far
        self.tokens = 0  # booked for requests that have ended
        self._reserved = 0

    def admit(self, *, prompt_tokens: int, output_tokens: int) -> bool:
        """Asks for one request before it is sent, with an upper estimate of its tokens."""
        wanted = prompt_tokens + output_tokens
        with self._lock:
            if self.max_calls is not None and self.calls >= self.max_calls:
                return False
            if self.max_tokens is not None and self.tokens + self._reserved + wanted > self.max_tokens:
                return False
            self.calls += 1
            self._reserved += wanted
            return True

    def settle(self, *, prompt_tokens: int, output_tokens: int, used: int | None) -> None:
        """Ends one admitted request; `used` is 0 if it never arrived, None if unknown, which books the estimate."""
        wanted = prompt_tokens + output_tokens
        with self._lock:
            self._reserved -= wanted
            self.tokens += wanted if used is None else used


_MILLION = 1_000_000
Span = tuple[int, int]
"""Least and most."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What is about to be asked. What depends on these verdicts is not foreseen."""

    judge: str
    label: str
    verdicts: int
    stored: int
    calls: Span  # replies to be asked for; the most counts every vote and every re-ask
    prompt_tokens: Span | None  # estimated, when every reply can be read; None for a judge that reads no prompts
    output_tokens: Span | None  # the longest replies that are allowed, when every one can be read; None likewise
    prices: tuple[float, float] | None = None  # USD for a million tokens read and written, None when unknown

    @property
    def cost(self) -> tuple[float, float] | None:
        """Estimated cost in USD, with the longest replies; None when no price is known."""
        if self.prices is None or self.prompt_tokens is None or self.output_tokens is None:
            return None
        read, written = self.prices
        low, high = (
            (prompt * read + output * written) / _MILLION
            for prompt, output in zip(self.prompt_tokens, self.output_tokens, strict=True)
        )
        return low, high

    def line(self) -> str:
        """The forecast in one line."""
        of = f" ({self.label})" if self.label else ""
        parts = [
            f"judge {self.judge}{of}: {self.verdicts:,} verdict{'s' * (self.verdicts != 1)}, {self.stored:,} in the store",
            f"{_span(*(f'{count:,}' for count in self.calls))} call{'s' * (self.calls != (1, 1))}",
        ]
        tokens = []
        if self.prompt_tokens is not None and self.output_tokens is not None:
            tokens.append(f"about {_span(*map(_tokens, self.prompt_tokens))} prompt tokens")
            tokens.append(f"at most {_span(*map(_tokens, self.output_tokens))} output tokens")
        if self.cost is not None:
            tokens.append(f"about $ {_span(*(f'{amount:,.2f}' for amount in self.cost))}")
        return "; ".join((parts[0], ", ".join((parts[1], *tokens))))


def make_forecast(cases: Sequence[Case], *, judge: str, label: str, prices: tuple[float, float] | None) -> Forecast:
    """Forecasts what is still undecided; the cases have already taken in what the store knows."""
    calls, prompts, outputs = [0, 0], [0, 0], [0, 0]
    seen: set[str] = set()
    for case in cases:
        waiting = [thread for thread in case.waiting if thread.key not in seen]
        seen.update(thread.key for thread in waiting)
        if not waiting:
            continue  # decided, or the same as a question before it
        rules = case.rules
        unopened = case.votes - len(case.threads)
        again = rules.reasks if rules.reads == "prompt" and not case.question.once else 0
        calls[0] += len(waiting)
        calls[1] += sum(1 + again - thread.reasks for thread in waiting) + unopened * (1 + again)
        now = sum(estimate_chat(thread.messages) for thread in waiting) if rules.reads == "prompt" else 0
        later = unopened * estimate_chat(case.question.messages) if unopened else 0
        for place, (prompt, count) in enumerate(((now, len(waiting)), (now + later, len(waiting) + unopened))):
            prompts[place] += prompt
            outputs[place] += count * case.question.max_tokens
    reads_prompts = bool(cases) and cases[0].rules.reads == "prompt"
    return Forecast(
        judge=judge,
        label=label,
        verdicts=len(cases),
        stored=sum(isinstance(case.outcome, Verdict) for case in cases),
        calls=(calls[0], calls[1]),
        prompt_tokens=(prompts[0], prompts[1]) if reads_prompts else None,
        output_tokens=(outputs[0], outputs[1]) if reads_prompts else None,
        prices=prices,
    )


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _tokens(count: int) -> str:
    return f"{count:,}" if count < _MILLION // 10 else f"{count / _MILLION:,.1f} million"
