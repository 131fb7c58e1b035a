"""Texts as they stand on sheets and in the files of a release: on one line, without signs that XML cannot hold."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["LONGEST_ID", "is_id", "one_line", "without_controls"]

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
