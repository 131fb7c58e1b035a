"""How a question is asked."""

from __future__ import annotations

from medical_tasks.judges.judged import user_message
from medical_tasks.spec import Item, Message, PromptSet, texts_sha256

__all__ = ["load_prompts"]

QUESTION = "{question}\n\n{choices}\n\nEnd with a line of the form: Answer: B"


def load_prompts() -> PromptSet:
    """The one set there is, `own`."""
    return PromptSet(name="own", sha256=texts_sha256(QUESTION), render=_render)


def _render(item: Item) -> tuple[Message, ...]:
    choices = "\n".join(
        f"{letter}. {text}" for letter, text in zip("ABCD", item.fields["choices"], strict=True)
    )
    return user_message(QUESTION, {"question": item.fields["question"], "choices": choices})
