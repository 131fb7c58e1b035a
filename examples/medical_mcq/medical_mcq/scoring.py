"""Which letter an answer gives, and whether it is the right one."""

from __future__ import annotations

import re

from medical_tasks.spec import Item, ItemScore

__all__ = ["letter_of", "score_item"]

_ANSWER = re.compile(r"^\W*answer\W*([A-D])\b", re.IGNORECASE | re.MULTILINE)


def letter_of(response: str) -> str:
    """Reads the letter of the last line that has one; "" without such a line."""
    return letters[-1].upper() if (letters := _ANSWER.findall(response)) else ""


def score_item(item: Item, response: str) -> ItemScore:
    """Scores an answer; one without a letter is wrong, since the question asks for one."""
    letter = letter_of(response)
    right = letter == item.fields["answer"]
    return ItemScore(
        id=item.id,
        values={"accuracy": float(right)},
        parsed=letter,
        why="" if letter else "no letter",
    )
