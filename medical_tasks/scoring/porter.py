"""Porter's stemmer (1980, Program 14:130) with the additions of NLTK's default mode, as ROUGE uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}

# Only the first matching ending of each list is tried; the word before it must have the
# required measure.
_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4 = tuple(
    (ending, "")
    for ending in "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split()
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Returns the stem of a word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in _STEPS:
        word = step(word)
    return word


def _shape(word: str) -> str:
    """Maps each letter to v (vowel) or c (consonant); y is a vowel after a consonant."""
    shape = ""
    kinds = []
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape == "c")
        shape = "v" if vowel else "c"
        kinds.append(shape)
    return "".join(kinds)


def _measure(word: str) -> int:
    """Returns Porter's m: how often consonants follow vowels."""
    return _shape(word).count("vc")


def _ends_short(word: str) -> bool:
    """Whether a word ends with consonant, vowel, consonant, the last not w, x or y.

    A vowel and a consonant alone (as in "us") count too.
    """
    shape = _shape(word)
    return (shape[-3:] == "cvc" and word[-1] not in "wxy") or shape == "vc"


def _swap(word: str, endings: Sequence[tuple[str, str]], measure: int) -> str:
    for ending, replacement in endings:
        if word.endswith(ending):
            before = word.removesuffix(ending)
            return before + replacement if _measure(before) >= measure else word
    return word


def _plurals(word: str) -> str:
    """Step 1a."""
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _participles(word: str) -> str:
    """Step 1b."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word

    before = next(
        (
            word.removesuffix(ending)
            for ending in ("ed", "ing")
            if word.endswith(ending)
        ),
        "",
    )
    if "v" not in _shape(before):
        return word
    if before.endswith(("at", "bl", "iz")):
        return before + "e"
    if before[-2:-1] == before[-1] and _shape(before)[-1] == "c":
        return before if before[-1] in "lsz" else before[:-1]

    return before + "e" if _measure(before) == 1 and _ends_short(before) else before


def _last_y(word: str) -> str:
    """Step 1c."""
    before = word[:-1]
    return (
        before + "i"
        if word.endswith("y") and len(before) > 1 and _shape(before)[-1] == "c"
        else word
    )


def _double_endings(word: str) -> str:
    """Step 2."""
    if word.endswith("alli") and _measure(word[:-4]):
        word = word[:-2]
    if word.endswith("logi"):
        # The l counts as part of the stem, so that "geologi" is long enough.
        return word[:-1] if _measure(word[:-3]) else word
    return _swap(word, _STEP_2, 1)


def _single_endings(word: str) -> str:
    """Step 4."""
    return (
        word
        if word.endswith("ion") and word[-4:-3] not in ("s", "t")
        else _swap(word, _STEP_4, 2)
    )


def _last_e(word: str) -> str:
    """Steps 5a and 5b."""
    if word.endswith("e"):
        before = word[:-1]
        measure = _measure(before)
        if measure > 1 or (measure == 1 and not _ends_short(before)):
            word = before
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


_STEPS: tuple[Callable[[str], str], ...] = (
    _plurals,
    _participles,
    _last_y,
    _double_endings,
    lambda word: _swap(word, _STEP_3, 1),
    _single_endings,
    _last_e,
)
