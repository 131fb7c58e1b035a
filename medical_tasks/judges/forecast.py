"""What a round of judging would cost, said before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medical_tasks.judges.base import Verdict
from medical_tasks.judges.budget import estimate_chat
from medical_tasks.judges.case import Case

__all__ = ["Forecast", "make_forecast"]

_MILLION = 1_000_000
Span = tuple[int, int]
"""Least and most."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What is about to be asked. What depends on these verdicts is not foreseen.

    Attributes:
        judge: the judge's name.
        label: what is judged; "" for nothing to say.
        verdicts: verdicts wanted.
        stored: those that the store decides.
        calls: replies to be asked for; the most counts every vote and every re-ask.
        prompt_tokens: estimated, when every reply can be read; None for a judge that reads no prompts.
        output_tokens: the longest replies that are allowed, when every one can be read; None likewise.
        prices: USD for a million tokens read and written, None when unknown.
    """

    judge: str
    label: str
    verdicts: int
    stored: int
    calls: Span
    prompt_tokens: Span | None
    output_tokens: Span | None
    prices: tuple[float, float] | None = None

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
    """Makes the forecast of what is still undecided.

    Args:
        cases: every question of the round, with what the store knew already taken in.
        judge: the judge's name.
        label: what is judged.
        prices: USD for a million tokens read and written.
    """
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
