"""Reads a grounded answer: its sentences, what each cites, and what is wrong with it (shared task's form, 2025 and 2026).

The form is a sentence a line with `|1,2|` at its end, 75 words in all. Read as well: spaces in a group, several groups, ranges,
other separators, `[1, 2]` in lines without pipes, several sentences in a line, a fenced block, reasoning before `</think>`. The
reading never fails. Bug for bug is `official`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from medical_tasks.benchmarks.archehr_qa.citation_groups import Group, bracket_groups, pipe_groups
from medical_tasks.benchmarks.archehr_qa.reply_text import unfenced
from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT
from medical_tasks.scoring.reasoning import spoken

__all__ = [
    "EMPTY",
    "NO_CITATIONS",
    "PROBLEMS",
    "TOO_LONG",
    "UNKNOWN_IDS",
    "WRONG_FORM",
    "Answer",
    "Sentence",
    "read_answer",
]

EMPTY: Final = "empty"
NO_CITATIONS: Final = "no citations"
UNKNOWN_IDS: Final = "unknown ids"
TOO_LONG: Final = "too long"
WRONG_FORM: Final = "wrong form"
PROBLEMS: Final = (EMPTY, NO_CITATIONS, UNKNOWN_IDS, TOO_LONG, WRONG_FORM)
"""What an answer can have, in this order."""

_ENDS: Final = (".", "!", "?")
_CLOSERS: Final = "\"'\u201d\u2019)]*_"
_BEHIND: Final = re.compile(r"[ \t]*([.!?]+)(?=\s|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence of an answer, or a line of it without words.

    Attributes:
        text: without citations, with a mark at its end; "" where citations stand by themselves.
        citations: ids it cites, in their order, each once.
    """

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An answer as it counts: at most 75 words of it, and what these cite.

    Attributes:
        sentences: those within the limit; the last one cut where it goes beyond.
        text: they in one line; what is compared with references.
        citations: ids in order of first mention, also such as the note does not have. Those of sentences beyond the limit are
            not there.
        words: of the whole answer, without citations.
        problems: out of `PROBLEMS`; none for an answer in the official form, cited, short enough, with ids that are known.
    """

    sentences: tuple[Sentence, ...]
    text: str
    citations: tuple[str, ...]
    words: int
    problems: tuple[str, ...]


def read_answer(text: str, known_ids: Collection[str]) -> Answer:
    """Reads an answer.

    Args:
        text: a model's reply, any text.
        known_ids: ids of the note's sentences.

    Returns:
        What it says and cites, and what is wrong with it.
    """
    said = spoken(text).strip()
    inside = unfenced(said)
    lines = [line.strip() for line in inside.split("\n") if line.strip()]
    groups = [pipe_groups(line, known_ids) or bracket_groups(line, known_ids) for line in lines]
    whole = _attached([each for line, some in zip(lines, groups, strict=True) for each in _sentences(line, some)])
    words = sum(len(sentence.text.split()) for sentence in whole)
    kept = whole if words <= WORD_LIMIT else _cut(whole)
    citations = _union(kept)
    found = {
        EMPTY: words == 0,
        NO_CITATIONS: not citations,
        UNKNOWN_IDS: any(cited not in known_ids for cited in _union(whole)),
        TOO_LONG: words > WORD_LIMIT,
        WRONG_FORM: inside != said or any(map(_off_form, lines, groups)),
    }
    return Answer(
        sentences=kept,
        text=" ".join(sentence.text for sentence in kept if sentence.text),
        citations=citations,
        words=words,
        problems=tuple(problem for problem in PROBLEMS if found[problem]),
    )


def _sentences(line: str, groups: list[Group]) -> Iterator[Sentence]:
    """The sentences of a line: one ends where the line does, and behind a group where its words do."""
    text, start = "", 0
    cited: list[str] = []
    for group in groups:
        text += line[start : group.start].rstrip()
        cited += group.ids
        start = group.end
        if behind := _BEHIND.match(line, start):
            start = behind.end()
            if not _ended(text):
                text += behind[1]
        if _ended(text):
            yield _sentence(text, cited)
            text, cited = "", []
    text += line[start:]
    words = any(map(str.isalnum, text))
    if words or cited or (text.strip() and not groups):
        yield _sentence(text if words or not groups else "", cited)


def _ended(text: str) -> bool:
    return text.rstrip(_CLOSERS).endswith(_ENDS)


def _sentence(text: str, cited: list[str]) -> Sentence:
    text = text.strip()
    # The script looks at the last character alone, so that a quotation gets a second mark; texts are compared as it has them.
    return Sentence(
        text=text if not text or text.endswith(_ENDS) else f"{text}.", citations=tuple(dict.fromkeys(cited))
    )


def _attached(sentences: list[Sentence]) -> tuple[Sentence, ...]:
    """Gives citations in a line of their own to the sentence before them."""
    made: list[Sentence] = []
    for sentence in sentences:
        if not sentence.text and made:
            together = tuple(dict.fromkeys((*made[-1].citations, *sentence.citations)))
            made[-1] = Sentence(text=made[-1].text, citations=together)
        else:
            made.append(sentence)
    return tuple(made)


def _cut(sentences: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
    """The first words up to the limit."""
    made: list[Sentence] = []
    left = WORD_LIMIT
    for sentence in sentences:
        words = sentence.text.split()[:left]
        if words or not sentence.text:
            made.append(Sentence(text=" ".join(words), citations=sentence.citations))
        left -= len(words)
        if not left:
            break
    return tuple(made)


def _union(sentences: tuple[Sentence, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cited for sentence in sentences for cited in sentence.citations))


def _off_form(line: str, groups: list[Group]) -> bool:
    """Whether a line has citations that the official script reads otherwise, or not at all."""
    parts = line.rsplit("|", 2)
    if len(parts) != 3:  # text, ids and what stands behind them
        return bool(groups) or "|" in line
    text, ids, rest = parts
    read = dict.fromkeys(cited for cited in ids.split(",") if cited.strip())
    # One group, that the script splits off where we do: in `A. |1| B. |1|` it leaves a group in the text.
    same = [(group.start, *group.ids) for group in groups] == [(len(text), *read)]
    return not same or not any(map(str.isalnum, text)) or bool(rest.strip()) or bool(bracket_groups(text))
