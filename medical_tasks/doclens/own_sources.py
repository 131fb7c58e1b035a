"""The sentences of a source that somebody gives of their own, numbered from 0 by their place: what an output's citations point to.

A source that is numbered already, as in the authors' files (`[0][doctor] ... [1][patient] ...`), keeps its sentences. Its numbers
must be the places, or citations would point elsewhere: a gap, another first number and text before it are errors.
"""

from __future__ import annotations

import re
from typing import Final

from medical_tasks.doclens.sources import read_sources
from medical_tasks.scoring.sentences import split_sentences

__all__ = ["NumberingError", "is_numbered", "source_sentences"]

_NUMBER: Final = re.compile(r"\[([0-9]{1,6})\]")
_CLOSERS: Final = "\"'”’)]}»"
_ENDS: Final = ".!?\n\r"
_SPACES: Final = " \t\u00a0"


class NumberingError(ValueError):
    """A source is numbered, but not 0, 1, 2 and so on from its beginning; says which number is wrong, and quotes nothing."""


def is_numbered(source: str) -> bool:
    """Says whether a source begins with a number in square brackets."""
    return _NUMBER.match(source.lstrip()) is not None


def source_sentences(source: str) -> list[str]:
    """Splits a source into its sentences.

    In a numbered one a number begins a sentence when it goes on from the one before (`a dose of [5]` behind `[2]` is text).

    Args:
        source: any text.

    Returns:
        The sentences without their numbers, white space run together, in order; a numbered one can be blank. None for a blank
        source.

    Raises:
        NumberingError: The numbering does not begin at 0 with the source, or a number that stands where a sentence begins (on a
            new line, or behind the end of a sentence) is not the next.
    """
    if not is_numbered(source):
        _check_unnumbered(source)
        return [" ".join(sentence.split()) for sentence in split_sentences(source)]
    _check_numbers(source)
    return list(read_sources(source).values())


def _check_unnumbered(source: str) -> None:
    numbers = [int(found[1]) for found in _NUMBER.finditer(source)]
    if 0 in numbers and 1 in numbers[numbers.index(0) :]:
        raise NumberingError("is numbered from [0] on, but text stands before it")


def _check_numbers(source: str) -> None:
    after = -1
    for found in _NUMBER.finditer(source):
        number = int(found[1])
        if number == after + 1:
            after = number
        elif after < 0:
            raise NumberingError(f"begins with [{number}], the first number must be [0]")
        elif _begins_sentence(source, found.start()):
            raise NumberingError(f"has [{number}] behind [{after}], where [{after + 1}] comes next")


def _begins_sentence(source: str, place: int) -> bool:
    before = source[max(0, place - 100) : place].rstrip(_SPACES)
    return not before or before.rstrip(_CLOSERS)[-1:] in _ENDS
