"""How a question is asked."""

from __future__ import annotations

import hashlib

from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, Message, PromptSet

__all__ = ["load_prompts"]

QUESTION = "{question}\n\n{choices}\n\nEnd with a line of the form: Answer: B"


def load_prompts(name: str) -> PromptSet:
    """The one set there is, `own`."""
    if name != "own":
        raise UsageError(
            f"--prompts {name}: Medical MCQ has no other prompts than own. Leave it out."
        )
    return PromptSet(
        name=name, sha256=hashlib.sha256(QUESTION.encode()).hexdigest(), render=_render
    )


def _render(item: Item) -> tuple[Message, ...]:
    choices = "\n".join(
        f"{letter}. {text}" for letter, text in zip("ABCD", item.fields["choices"], strict=True)
    )
    return (
        Message(
            role="user", content=QUESTION.format(question=item.fields["question"], choices=choices)
        ),
    )
