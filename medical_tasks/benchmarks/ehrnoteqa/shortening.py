"""Items whose notes are too long for a model: words are left out from the oldest on, and it is said how many.

Length is counted in words, runs of anything but white space, because the same number leaves out the same text whatever the
tokenizer. Which words are left out is a rule of ours; the paper asked only models whose context holds all notes.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Any, Final

from medical_tasks.benchmarks.ehrnoteqa.notes import prepared_text
from medical_tasks.spec import Item

__all__ = ["MARKER", "shortened", "word_count"]

MARKER: Final = "[words left out here: {words}]\n"
"""Stands in a note between its header and what is left of it."""

_WORD = re.compile(r"\S+")
# The three lines that `prepared_text` puts before a note; notes of sets without them are all body.
_LABELS: Final = tuple(
    line.partition(":")[0] + ":" for line in prepared_text("", patient_id="", hadm_id="", charttime="").splitlines()[:3]
)
_HEADER = re.compile("".join(rf"{re.escape(label)}[^\n]*\n" for label in _LABELS))


def word_count(item: Item) -> int:
    """Counts the words of an item's notes, those of their headers left aside."""
    return sum(_count(note["text"][_body_start(note["text"]) :]) for note in item.fields["notes"])


def shortened(item: Item, words: int) -> Item:
    """Leaves out words of an item's notes: the oldest note's first, from the beginning of its body.

    Headers stay. What stays of a body is as it was, white space included.

    Args:
        item: an item with all its notes, the oldest first.
        words: how many to leave out; with more than there are, all bodies are left out.

    Returns:
        The item with other notes and nothing else changed; the item itself for 0 words.

    Raises:
        ValueError: `words` is negative.
    """
    if words < 0:
        raise ValueError(f"words must be at least 0, got {words}")
    if words == 0:
        return item
    notes, left = [], words
    for note in item.fields["notes"]:
        made, gone = _without(note, left)
        notes.append(made)
        left -= gone
    return dataclasses.replace(item, fields={**item.fields, "notes": notes})


def _without(note: dict[str, Any], words: int) -> tuple[dict[str, Any], int]:
    """A note without so many words, or all it has, and their number."""
    text = note["text"]
    start = _body_start(text)
    places = [match.start() for match in itertools.islice(_WORD.finditer(text, start), words + 1)]
    gone = min(words, len(places))
    if gone == 0:
        return note, 0
    kept = text[places[gone] :] if gone < len(places) else ""
    return {**note, "text": text[:start] + MARKER.format(words=gone) + kept}, gone


def _body_start(text: str) -> int:
    header = _HEADER.match(text)
    return header.end() if header else 0


def _count(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))
