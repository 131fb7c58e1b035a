"""Counts of a judge session."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["SessionStats"]


@dataclass(slots=True)
class SessionStats:
    """What a session did so far.

    Attributes:
        asked: questions put to it.
        decided: those that got a verdict.
        unscored: those that did not, by reason.
        from_store: replies that were in the store.
        replies: replies got now.
        calls: requests sent now, retries and failures included.
        saved: votes that decided questions did not need, against asking all of them.
        reasked: unreadable replies that were asked for again.
        prompt_tokens: tokens read for the replies got now.
        output_tokens: tokens written for them.
        estimated: whether some of the tokens are estimates, because the judge did not say.
    """

    asked: int = 0
    decided: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    from_store: int = 0
    replies: int = 0
    calls: int = 0
    saved: int = 0
    reasked: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
