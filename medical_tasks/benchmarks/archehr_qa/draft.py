"""The sentences of an answer as they were written, whole: what a second step cites, and has to repeat.

`parsing.read_answer` tells what counts of an answer, which ends at 75 words; here nothing is cut.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from medical_tasks.benchmarks.archehr_qa.citation_groups import Group, bracket_groups, pipe_groups
from medical_tasks.benchmarks.archehr_qa.evidence import one_line
from medical_tasks.benchmarks.archehr_qa.reply_text import unfenced
from medical_tasks.scoring.reasoning import spoken
from medical_tasks.scoring.sentences import split_sentences

__all__ = ["cited_ids", "same_words", "written_sentences"]

_WORD: Final = re.compile(r"\w+")


def written_sentences(reply: str, known_ids: Collection[str]) -> tuple[str, ...]:
    """Takes the sentences out of a reply.

    Args:
        reply: any text.
        known_ids: ids of the note's sentences.

    Returns:
        They, without citations, each on one line. A line ends a sentence; within it the rules of `scoring.sentences` do.
    """
    bare = [_uncited(line, known_ids) for line in _lines(reply)]
    return tuple(one_line(sentence) for line in bare for sentence in split_sentences(line))


def cited_ids(reply: str, known_ids: Collection[str]) -> tuple[str, ...]:
    """Takes the ids that a reply cites, anywhere in it, in order of first mention.

    Args:
        reply: any text.
        known_ids: ids of the note's sentences.
    """
    groups = [group for line in _lines(reply) for group in _groups(line, known_ids)]
    return tuple(dict.fromkeys(each for group in groups for each in group.ids))


def same_words(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two texts have the same words in the same order; capitals, marks and line ends play no part."""
    return _words(some) == _words(others)


def _lines(reply: str) -> list[str]:
    return [line.strip() for line in unfenced(spoken(reply).strip()).split("\n")]


def _groups(line: str, known_ids: Collection[str]) -> list[Group]:
    return pipe_groups(line, known_ids) or bracket_groups(line, known_ids)


def _uncited(line: str, known_ids: Collection[str]) -> str:
    parts: list[str] = []
    start = 0
    for group in _groups(line, known_ids):
        parts.append(line[start : group.start].rstrip())
        start = group.end
    return "".join((*parts, line[start:]))


def _words(texts: Sequence[str]) -> list[str]:
    return _WORD.findall(" ".join(texts).casefold())
