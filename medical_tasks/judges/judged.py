"""What judged benchmarks share: prompts with their slots filled, and verdicts counted.

The project's each have a `judge_prompts.py` (what a judge is asked), `judging.py` (from
answers to questions, and from replies to verdicts) and `scoring.py` (from verdicts to
metrics). What benchmarks with a rubric share beside is in `rubrics`.
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

    All slots are filled at once, so that what stands in a note or an answer is never a
    slot, and braces that hold no name of a value, as in an example of JSON, stay what
    they are.

    Example: `'Reply {"x": 1}: {answer}'` with `{"answer": "{note}"}` says `Reply {"x":
    1}: {note}`.
    """
    return _SLOT.sub(lambda slot: values.get(slot[1], slot[0]), text)


def check_different(ids: Iterable[str], what: str) -> None:
    """Refuses two answers to one item: verdicts and scores are told apart by its id."""
    known = list(ids)
    if len(set(known)) != len(known):
        raise UsageError(f"{what} have the same id. Give each item one response.")


def count_verdicts(
    outcomes: Sequence[bool | None],
    kind: str = "",
    *,
    unasked: int = 0,
    weight: float = 1.0,
    classes: Iterable[str] = (),
) -> Verdicts:
    """Counts outcomes of one kind; None is a verdict that is missing.

    Example: of True, None, False and True there are two hits among three that are
    known; with the missing one the share lies between 2/4 and 3/4.

    Args:
        outcomes: whether each is a hit.
        kind: what they have in common; see `spec.Verdicts`.
        unasked: how many more are no hits, known without a judge.
        weight: what a hit adds.
        classes: of each its class, where a judge tells several.
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
