"""Texts: on one line, as they stand on sheets and in the files of a release, and as words.

Words, by which notes are searched and answers compared, are runs of letters and digits, case folded; function words are left out,
the others stemmed by Porter's rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from medical_tasks.scoring.porter import stem

__all__ = [
    "LONGEST_ID",
    "WORDS",
    "content_words",
    "is_id",
    "one_line",
    "raw_words",
    "searched",
    "without_controls",
]

LONGEST_ID: Final = 64
"""Characters of an id; what is longer may be a text in the wrong place."""

# XML 1.0, section 2.2: what is no character there.
_NO_CHARACTER: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def without_controls(text: str) -> str:
    """Makes line ends line feeds, and a blank of each sign that XML has no place for."""
    return _NO_CHARACTER.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Puts a text on one line, so that a spreadsheet's way with white space changes nothing."""
    return " ".join(without_controls(text).split())


def is_id(value: object) -> bool:
    """Whether a value may be an id: a printable text without white space, of at most 64 characters."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= LONGEST_ID
        and value.isprintable()
        and not any(map(str.isspace, value))
    )


WORDS: Final = "words-1: case folded runs of letters and digits, English function words left out, Porter stems"
"""What recipes say; the number changes whenever the words do."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_FUNCTION_WORDS: Final = frozenset(
    (
        "a about after again all also am an and any are as at be because been before being both but by can can't cannot could "
        "couldn't did didn't do does doesn't doing don't down during each few for from further had hadn't has hasn't have haven't "
        "having he he's her here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just "
        "me more most my myself no nor not now of off on once only or other our ours ourselves out over own same she she's should "
        "shouldn't so some such than that that's the their theirs them themselves then there there's these they they're this those "
        "through to too under until up very was wasn't we we're we've were weren't what when where which while who whom why will "
        "with won't would wouldn't you you're your yours yourself yourselves"
    ).split()
)


def raw_words(text: str) -> list[str]:
    """The words of a text in order, case folded, none left out."""
    return _WORD.findall(text.casefold())


@lru_cache(maxsize=1 << 16)
def searched(word: str) -> str:
    """What a word is compared by: its stem; "" for a function word.

    Args:
        word: of `raw_words`.
    """
    plain = word.replace("’", "'")
    return "" if plain in _FUNCTION_WORDS else stem(plain.removesuffix("'s"))


def content_words(text: str) -> Iterator[str]:
    """The stems of a text in order, repeats kept, function words left out."""
    return (word for word in map(searched, raw_words(text)) if word)
