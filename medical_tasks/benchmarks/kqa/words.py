"""How texts become the words that BM25 counts."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["TOKENIZER", "search_words"]

TOKENIZER = "words-1: NFKC, case folded, English function words left out, plural s taken off"
"""What the recipe says; the number changes whenever the words do."""

# A decimal number is one word: 6.0 has nothing to do with 6.
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")

# Left out because in a small folder of documents no count of theirs is large enough to show that they mean nothing.
_FUNCTION_WORDS = frozenset(
    (
        "a about after all also am an and any are as at be because been before being but by can cant could did didnt do does "
        "doesnt dont for from had has have he her him his how i if im in into is isnt it its ive just me my no not of off on "
        "once or other our out over she should so some than that the their them then there these they this those through to "
        "too up very was we were what when where whether which while who whom whose why will with would you your"
    ).split()
)


def search_words(text: str) -> list[str]:
    """Splits a text into the words it is searched by.

    Args:
        text: a passage or a question.

    Returns:
        Its words in order, repeats kept; digits count as letters (`B12`).
    """
    folded = _APOSTROPHE.sub("", unicodedata.normalize("NFKC", text).casefold())
    return [word for found in _WORD.findall(folded) if (word := _search_word(found))]


@lru_cache(maxsize=1 << 16)
def _search_word(word: str) -> str:
    """Takes the s of a plural off, after the weakest of Harman's stemmers (1991); "" for a function word."""
    if word in _FUNCTION_WORDS:
        return ""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    return word[:-1]
