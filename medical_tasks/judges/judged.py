"""Helpers of judged benchmarks: fill the slots of prompts, and count verdicts.

Each of the project's has a `judge_prompts.py` (the judge's prompts), a `judging.py`
(answers to questions, and replies to verdicts) and a `scoring.py` (verdicts to
metrics). `rubrics` has more for benchmarks with a rubric.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.spec import Message, Verdicts

_SLOT: Final = re.compile(r"\{(\w[\w ]*)\}")


def user_message(text: str, values: Mapping[str, str]) -> tuple[Message, ...]:
    """The filled prompt as the one message of a chat."""
    return ({"role": "user", "content": filled(text, values)},)


def filled(text: str, values: Mapping[str, str]) -> str:
    """Fills the slots of a prompt.

    All slots are filled at once, so that text of a note or an answer is never taken for
    a slot. Braces without the name of a value, as in an example of JSON, stay.

    Example: `'Reply {"x": 1}: {answer}'` with `{"answer": "{note}"}` gives `Reply {"x":
    1}: {note}`.
    """
    return _SLOT.sub(lambda slot: values.get(slot[1], slot[0]), text)


def check_different(ids: Iterable[str], what: str) -> None:
    """Refuses two answers to one item: its id identifies verdicts and scores."""
    listed = list(ids)
    if len(set(listed)) != len(listed):
        raise UsageError(f"{what} have the same id. Give each item one response.")


def count_verdicts(
    outcomes: Sequence[bool | None],
    kind: str = "",
    *,
    unasked: int = 0,
    weight: float = 1.0,
    classes: Iterable[str] = (),
) -> Verdicts:
    """Counts outcomes of one kind; None is a missing verdict.

    Example: True, None, False and True are two hits of three known verdicts; with the
    missing one, the share lies between 2/4 and 3/4.

    Args:
        outcomes: whether each is a hit.
        kind: what they have in common; see `spec.Verdicts`.
        unasked: how many more are misses, known without a judge.
        weight: what a hit adds.
        classes: the class of each outcome, if the judge distinguishes several.
    """
    missing = outcomes.count(None)
    return Verdicts(
        kind=kind,
        hits=outcomes.count(True),
        known=len(outcomes) - missing,
        missing=missing,
        unasked=unasked,
        weight=weight,
        classes=Counter(classes),
    )
