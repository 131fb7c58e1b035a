"""A case as its XML file has it, before anything is known of its key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.io.json_records import named

__all__ = ["Case", "Sentence", "listed"]

_SHOWN: Final = 10


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of a note excerpt.

    Attributes:
        id: its number, as text.
        paragraph_id: of its paragraph; "" where the file does not say it.
        text: as released, white space at its ends removed; may have line ends within.
    """

    id: str
    paragraph_id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """A case, without its key.

    Attributes:
        id: of the case.
        narrative: what the patient wrote.
        phrases: the parts of it that ask, in order.
        clinician_question: the same question as a clinician would put it; "" where it is not released.
        sentences: of the note excerpt, in order; none in the organizers' open files.
    """

    id: str
    narrative: str
    phrases: tuple[str, ...]
    clinician_question: str
    sentences: tuple[Sentence, ...]


def listed(ids: Sequence[str]) -> str:
    """Ids as a message may show them: the first ten, and how many more there are."""
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return ", ".join(named(each) for each in ids[:_SHOWN]) + more
