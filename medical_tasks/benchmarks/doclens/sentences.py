"""The sentences of a patient's question, numbered from 0: what a summary's citations point to.

DocLens put its questions into small letters and split them by NLTK's trained Punkt. Untrained Punkt, to which one tells a few
titles, splits 98 of its 100 questions at the same places; capitals do not count here either, so that numbers stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from medical_tasks.scoring.punkt import Punkt, punkt_spans

__all__ = ["numbered_question", "split_question"]

_PUNKT: Final = Punkt(abbreviations=frozenset({"dr", "mr", "mrs", "prof", "vs", "e.g", "i.e"}), name="titles")


def split_question(question: str) -> list[str]:
    """Splits a question into its sentences.

    Args:
        question: what somebody wrote, of any length.

    Returns:
        The sentences as they are written, without the white space around them; nothing else is left out. None for a question
        of white space.
    """
    return [text for start, end in punkt_spans(_small(question), _PUNKT) if (text := question[start:end].strip())]


def numbered_question(sentences: Sequence[str]) -> str:
    """Puts each sentence's number before it, as in DocLens's files: `[0] ... [1] ...`.

    Args:
        sentences: as `split_question` returns them.

    Returns:
        The numbered question, on one line if its sentences are.
    """
    return " ".join(f"[{number}] {sentence}" for number, sentence in enumerate(sentences))


def _small(text: str) -> str:
    """In small letters, character by character: a few letters would become two, and places would shift."""
    return "".join(small if len(small := each.lower()) == 1 else each for each in text)
