"""Whether the sentences of a case agree with the note excerpt they are cut from, and with the places that the file gives them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from medical_tasks.benchmarks.archehr_qa.cases import Sentence

__all__ = ["excerpt_problem", "offset_problem", "offsets_are_places"]

_SPACE: Final = re.compile(r"\s")


def excerpt_problem(excerpt: str, sentences: Sequence[Sentence]) -> str | None:
    """Says where sentences do not follow one another in the excerpt; white space does not count, so lines may be wrapped anew.

    Args:
        excerpt: the note excerpt.
        sentences: of it.

    Returns:
        None, or what is wrong, without any text of theirs.
    """
    whole, place, before = "".join(excerpt.split()), 0, "its beginning"
    for sentence in sentences:
        text = "".join(sentence.text.split())
        found = whole.find(text, place)
        if found < 0:
            return f"sentence {sentence.id} does not stand in <note_excerpt> behind {before}"
        place, before = found + len(text), f"sentence {sentence.id}"
    return None


def offset_problem(sentences: Sequence[Sentence], offsets: Sequence[int]) -> str | None:
    """Says where a sentence begins before the one before it has ended.

    Args:
        sentences: in order.
        offsets: where each begins in its paragraph, in characters.

    Returns:
        None, or what is wrong.
    """
    for (before, start), (sentence, offset) in pairwise(zip(sentences, offsets, strict=True)):
        if before.paragraph_id == sentence.paragraph_id and offset < start + len(before.text):
            return (
                f"sentence {sentence.id} has the start_char_index {offset:,}, where sentence {before.id} of the same paragraph, "
                f"which begins at {start:,}, has not ended"
            )
    return None


def offsets_are_places(excerpt: str, sentences: Sequence[Sentence], offsets: Sequence[int]) -> bool:
    """Says whether sentences of a paragraph are as far from one another in the excerpt as their offsets say.

    Args:
        excerpt: the note excerpt.
        sentences: of it, in order.
        offsets: where each begins in its paragraph, in characters.
    """
    whole, place = _SPACE.sub(" ", excerpt), 0
    begins: dict[str, int] = {}
    for sentence, offset in zip(sentences, offsets, strict=True):
        text = _SPACE.sub(" ", sentence.text)
        found = whole.find(text, place)
        if found < 0 or begins.setdefault(sentence.paragraph_id, found - offset) != found - offset:
            return False
        place = found + len(text)
    return True
