"""Words as the lexical judge sees them: content, numbers with their units, negation and opposites. English."""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

from medical_tasks.judges.windows import sentence_spans

__all__ = ["Sentence", "split_sentences"]

STEM = 6
"""Letters that count of a word: `recommended` and `recommendation` are one, `increases` and `increasing` too."""

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|%")

_STOP = frozenset(
    """a about after again all also am an and any are as at be because been before being between both but by can could did
    do does doing during each few for from further had has have having he her here hers him his how i if in into is it its
    itself just may me might more most must my of off on once one only or other our out over own per same shall she should so
    some such than that the their them then there these they this those through to too until up upon us very was we were
    what when where which while who whom why will with within would you your""".split()
)
_NEGATIONS = frozenset(
    "no not never none nor neither without cannot lack lacks lacking avoid avoided avoiding unlikely insufficient".split()
)
_NUMBERS = dict(zip("two three four five six seven eight nine ten".split(), "2 3 4 5 6 7 8 9 10".split(), strict=True))
_OPPOSITES = (
    ("safe safely harmless", "unsafe dangerous harmful"),
    ("increase increases increased increasing raise raises raised higher", "decrease decreases decreased decreasing "
     "reduce reduces reduced reducing lower lowers lowered lowering"),
    ("effective", "ineffective"),
    ("improve improves improved improving", "worsen worsens worsened worsening exacerbate exacerbates"),
    ("recommended advised", "contraindicated"),
    ("common", "uncommon rare"),
    ("normal", "abnormal"),
    ("contagious infectious", "noncontagious"),
    ("benign", "malignant"),
    ("possible", "impossible"),
    ("start starts starting", "stop stops stopping"),
)  # fmt: skip
_SIDES = {word: (pair[0].split()[0], side) for pair in _OPPOSITES for side in (0, 1) for word in pair[side].split()}


def split_sentences(text: str) -> list[str]:
    """Splits a text into its sentences; parts without a word are left out."""
    parts = (text[start:end] for start, end in sentence_spans(text))
    return [part for part in parts if _TOKEN.search(part)]


@dataclass(frozen=True)
class Sentence:
    """A text read as words.

    Attributes:
        text: as it is written.
    """

    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words in order, in lower case; numbers without thousands separators and trailing zeros."""
        folded = unicodedata.normalize("NFKC", self.text).casefold().replace("’", "'")
        return tuple(_plain(word) for word in _TOKEN.findall(folded))

    @cached_property
    def content(self) -> frozenset[str]:
        """What it is about: stems without function words and negations, opposites under one name, and numbers."""
        return frozenset(_stem(word) for word in self.words if word not in _STOP and not _negates(word))

    @cached_property
    def numbers(self) -> dict[str, frozenset[str]]:
        """Numbers by the stem of the word that follows them (`""` at the end)."""
        found: dict[str, set[str]] = {}
        for word, unit in itertools.pairwise((*self.words, "")):
            if word[0].isdigit():
                found.setdefault(_stem(unit), set()).add(word)
        return {unit: frozenset(values) for unit, values in found.items()}

    @cached_property
    def negated(self) -> bool:
        """Whether it holds an odd number of negations."""
        return sum(map(_negates, self.words)) % 2 == 1

    @cached_property
    def sides(self) -> dict[str, int]:
        """For each pair of opposites of which it holds one side only: which."""
        found: dict[str, set[int]] = {}
        for word in self.words:
            if word in _SIDES:
                name, side = _SIDES[word]
                found.setdefault(name, set()).add(side)
        return {name: min(sides) for name, sides in found.items() if len(sides) == 1}

    def clashes(self, other: Sentence) -> bool:
        """Whether one says the opposite of the other, if they are about the same.

        So it is when negation and opposites differ an odd number of times (`not safe` against `unsafe` differs twice), or
        when all numbers with a unit differ from all numbers with this unit in the other.
        """
        flips = self.negated != other.negated
        for name, side in self.sides.items():
            flips ^= other.sides.get(name, side) != side
        return flips or any(values.isdisjoint(other.numbers.get(unit, values)) for unit, values in self.numbers.items())


def _plain(word: str) -> str:
    if word == "%":
        return "percent"
    if not word[0].isdigit():
        return _NUMBERS.get(word, word)
    word = re.sub(r",(?=\d{3}(?!\d))", "", word).replace(",", ".")
    return (word.rstrip("0").rstrip(".") or "0") if "." in word else word


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


def _stem(word: str) -> str:
    if word[:1].isdigit():
        return word
    return _SIDES[word][0][:STEM] if word in _SIDES else word[:STEM]
