"""A note in numbered sentences and paragraphs, and the excerpt that is left of it (section Question and Answer Creation).

A paragraph ends at a blank line. A line that ends with a colon and has few words is a heading, and a sentence of its own. All
else is `scoring.sentences`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from medical_tasks.archehr_qa.construction.texts import one_line, without_controls
from medical_tasks.scoring.sentences import split_sentences

__all__ = ["NoteSentence", "excerpt_text", "kept_paragraphs", "numbered", "offsets", "split_note"]

_BLANK: Final = re.compile(r"\n[^\S\n]*\n")
_HEADING_WORDS: Final = 8


class NoteSentence(NamedTuple):
    """A sentence of a note.

    Attributes:
        id: its number in the note, from 1, as text.
        paragraph: number of its paragraph, from 0, as text.
        text: on one line.
    """

    id: str
    paragraph: str
    text: str


def split_note(text: str) -> tuple[NoteSentence, ...]:
    """Cuts a note into numbered sentences; no word is lost."""
    paragraphs = (tuple(_sentences(part)) for part in _BLANK.split(without_controls(text)))
    return numbered(paragraphs)


def numbered(paragraphs: Iterator[tuple[str, ...]]) -> tuple[NoteSentence, ...]:
    """Numbers the sentences of paragraphs; paragraphs without any are none."""
    found: list[NoteSentence] = []
    for number, sentences in enumerate(each for each in paragraphs if each):
        found += [
            NoteSentence(str(len(found) + place), str(number), text) for place, text in enumerate(sentences, start=1)
        ]
    return tuple(found)


def _sentences(paragraph: str) -> Iterator[str]:
    lines = paragraph.split("\n")
    for heading, block in groupby(enumerate(lines), key=lambda each: each[0] if _is_heading(each[1]) else -1):
        text = "\n".join(line for _, line in block)
        if heading >= 0:
            yield one_line(text)
        else:
            yield from map(one_line, split_sentences(text))


def _is_heading(line: str) -> bool:
    words = line.split()
    return 0 < len(words) <= _HEADING_WORDS and words[-1].endswith(":")


def kept_paragraphs(sentences: Sequence[NoteSentence], wanted: Collection[str]) -> tuple[NoteSentence, ...]:
    """Leaves out paragraphs none of whose sentences is wanted; ids stay those of the note.

    Args:
        sentences: of a note.
        wanted: ids of sentences.
    """
    kept = {sentence.paragraph for sentence in sentences if sentence.id in wanted}
    return tuple(sentence for sentence in sentences if sentence.paragraph in kept)


def excerpt_text(sentences: Sequence[NoteSentence]) -> str:
    """Writes sentences as one text: a line each, a blank line between paragraphs."""
    parts = ["\n".join(each.text for each in group) for _, group in groupby(sentences, key=lambda each: each.paragraph)]
    return "\n\n".join(parts)


def offsets(sentences: Sequence[NoteSentence]) -> list[int]:
    """Where each sentence begins in its paragraph of `excerpt_text`, in characters."""
    found: list[int] = []
    for _, group in groupby(sentences, key=lambda each: each.paragraph):
        place = 0
        for sentence in group:
            found.append(place)
            place += len(sentence.text) + 1
    return found
