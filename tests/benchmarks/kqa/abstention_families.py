"""Abstentions by the hundred, and answers that have such wordings in passing."""

from __future__ import annotations

import random

from tests.benchmarks.kqa.kqa_judges import cases

__all__ = ["abstaining", "answering"]

_WORDS = cases("abstention")


def _answers(kind: str, seed: int, each: int) -> list[str]:
    draw = random.Random(seed)
    found = []
    for form in _WORDS[kind]:
        for _ in range(each):
            source, topic, fact = (
                draw.choice(_WORDS[name]) for name in ("sources", "topics", "facts")
            )
            found.append(
                form.format(
                    s=source,
                    S=source[0].upper() + source[1:],
                    t=topic,
                    f=fact,
                    f2=fact[0].lower() + fact[1:],
                )
            )
    return found


def abstaining() -> list[str]:
    """Texts in which nothing is said but that there is no answer."""
    return _answers("abstaining", seed=1, each=8)


def answering() -> list[str]:
    """Texts that say something, each with words of an abstention or of the sources."""
    return _answers("answering", seed=2, each=13)
