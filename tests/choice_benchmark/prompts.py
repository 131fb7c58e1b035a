from __future__ import annotations

import math
from pathlib import Path

from medical_tasks.models.base import ChoiceScores
from medical_tasks.spec import Item, Message, PromptSet, TaskSpec

LETTERS = "ABC"


def _render(item: Item) -> tuple[Message, ...]:
    return (Message(role="user", content=item.fields["question"]),)


def load_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None
) -> PromptSet:
    return PromptSet(
        name=name,
        sha256="0" * 64,
        render=_render,
        continuations=lambda item: tuple(LETTERS),
    )


def gold_response(task: TaskSpec, item: Item) -> str:
    logprobs = tuple(
        0.0 if letter == item.fields["answer"] else -math.inf for letter in LETTERS
    )
    return ChoiceScores(logprobs=logprobs, tokens=(1, 1, 1)).to_text()
