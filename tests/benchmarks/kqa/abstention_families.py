"""Generated abstentions, and answers that contain the same wordings in passing."""

from __future__ import annotations

import random

from tests.benchmarks.kqa.kqa_judges import cases

__all__ = ["abstaining", "answering"]

_WORDS = cases("abstention")


def _answers(kind: str, seed: int, per_form: int) -> list[str]:
    draw = random.Random(seed)
    answers = []
    for form in _WORDS[kind]:
        for _ in range(per_form):
            source, topic, fact = (
                draw.choice(_WORDS[name]) for name in ("sources", "topics", "facts")
            )
            answers.append(
                form.format(
                    s=source,
                    S=source[0].upper() + source[1:],
                    t=topic,
                    f=fact,
                    f2=fact[0].lower() + fact[1:],
                )
            )
    return answers


def abstaining() -> list[str]:
    """Texts that say nothing except that there is no answer."""
    return _answers("abstaining", seed=1, per_form=8)


def answering() -> list[str]:
    """Texts that say something, each with words of an abstention or of the sources."""
    return _answers("answering", seed=2, per_form=13)
