"""One spelling for the many spellings of a name, so that `FiO₂`, `FiO2` and `fio2` are the same input."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

__all__ = ["MISSING_WORDS", "fold", "is_missing"]

# Misspellings that stand in the published data files; values and names with them must still be found.
_SPELLING = (("faliure", "failure"), ("continous", "continuous"), ("mentinoed", "mentioned"))

MISSING_WORDS = frozenset(
    {
        "",
        "na",
        "nan",
        "null",
        "unknown",
        "missing",
        "notmentioned",
        "notgiven",
        "notavailable",
        "notreported",
        "notstated",
    }
)


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Letters and digits of a name in lower case: spacing, punctuation, subscripts and known misspellings drop out.

    Args:
        text: a name or a class word as it stands in the data or on the command line.

    Returns:
        The name's key; two names with the same key are the same input.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    letters = "".join(character for character in plain if character.isalnum())
    for wrong, right in _SPELLING:
        letters = letters.replace(wrong, right)
    return letters


def is_missing(raw: object) -> bool:
    """Whether a value says that nothing is known: None, an empty text, "Not mentioned" and the like.

    The word "None" is not among them: it is a class of its own in several scores (no liver disease, no surgery).
    """
    return raw is None or (isinstance(raw, str) and fold(raw) in MISSING_WORDS)
