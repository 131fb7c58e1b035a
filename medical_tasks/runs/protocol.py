"""Tasks that take more than one question: what a benchmark's `protocol.py` offers, and the runner follows.

Every item opens with the task's own prompt. After each answer the protocol says, for all items at once, what is asked next
or what the final answer is. The runner asks a round's questions together, through the same store as all questions, so a
resumed run repeats none of them and comes to the same place. The round is part of a question's key: a dialogue that comes to
the same question a second time asks it again. What a protocol works out between two questions (a program's
run) it keeps in the store as well, so that what follows from it is the same again.

    <package>.protocol.open_protocol(task)      -> Protocol; with `arguments=` for a task that has some, and with `prompts=` and
        `upstream=` for a prompt set other than `own`
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from medical_tasks.spec import Item, Message

__all__ = ["Ask", "Dialogue", "Done", "MultiStep", "Records", "Turn"]


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """An item and what the model has answered about it so far.

    Attributes:
        item: the item.
        opening: the first question, as the task's prompts render it.
        answers: the model's answers, the latest last; never empty.
    """

    item: Item
    opening: tuple[Message, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Ask:
    """The next question: a whole chat, which ends with a message of the user, or of the model to let it go on."""

    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Done:
    """The final answer, which is scored."""

    text: str


Turn: TypeAlias = Ask | Done


class Records(Protocol):
    """Where finished work is kept between runs; `store.Store` is one."""

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Reads the records that are there."""
        ...

    def put(self, kind: str, key: str, payload: Mapping[str, Any]) -> None:
        """Keeps one record."""
        ...


class MultiStep(Protocol):
    """A task's protocol.

    Attributes:
        identity: what of it decides the final answers (limits, versions); part of the recipe. JSON values.
    """

    identity: Mapping[str, Any]

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Says how each dialogue goes on.

        Given the same dialogues and records it says the same; it must come to an end with every dialogue.

        Args:
            dialogues: those that have a new answer.
            records: where it keeps what it works out.

        Returns:
            A turn a dialogue, in the same order.
        """
        ...
