"""What the judged benchmarks share in asking.

A prompt with its slots filled, and one answer an item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.spec import Message

_SLOT: Final = re.compile(r"\{(\w+)\}")


def user_message(text: str, values: Mapping[str, str]) -> tuple[Message, ...]:
    """Fills the slots of a prompt, as the one message of a chat.

    All slots are filled at once, so that what stands in a note or an answer is never a slot, and
    braces that hold no name of a value, as in an example of JSON, stay what they are.

    Example: `'Reply {"x": 1}: {answer}'` with `{"answer": "{note}"}` says `Reply {"x": 1}: {note}`.
    """
    content = _SLOT.sub(lambda slot: values.get(slot[1], slot[0]), text)
    return ({"role": "user", "content": content},)


def check_different(ids: Iterable[str], what: str) -> None:
    """Refuses two answers to one item: verdicts and scores are told apart by its id."""
    known = list(ids)
    if len(set(known)) != len(known):
        raise UsageError(f"{what} have the same id. Give each item one response.")
