"""Concepts of texts by exact lookup: what QuickUMLS finds at a threshold of 1, without its near-exact slips.

QuickUMLS compares sets of three-letter pieces, so it also takes a few terms whose pieces are the same in another order
("riberibe" for "beriberi"); here a term must be equal. In its overlap rule a stretch with accents, whose pieces differ from
those of the decomposed term, comes behind those without; that is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from medical_tasks.errors import UsageError
from medical_tasks.scoring.umls.index import UmlsIndex
from medical_tasks.scoring.umls.spans import Span, every_window, phrases
from medical_tasks.scoring.umls.tokens import CLOSED_CLASSES, Token, tokenizer

__all__ = ["VARIANTS", "Match", "Matcher"]

VARIANTS: Mapping[str, Callable[[str, Sequence[Token]], list[Span]]] = {
    "aci-bench": every_window,
    "archehr": phrases,
}

_PIECE = 3
_KNOWN = 300_000

_Hit = tuple[float, str, tuple[str, ...]]  # likeness, term, concepts


class Match(NamedTuple):
    """A stretch with concepts.

    Attributes:
        start, end: its characters in the text.
        term: as the index has it.
        concepts: ids, sorted.
    """

    start: int
    end: int
    term: str
    concepts: tuple[str, ...]


class Matcher:
    """Finds concepts.

    Args:
        index: over the user's UMLS.
        variant: one of `VARIANTS`.
        parts: words in small letters that are determiners (`DET`) or prepositions (`ADP`), for the rules of `archehr`.

    Raises:
        UsageError: There is no such variant.
        MissingError: spaCy is not installed.
    """

    def __init__(self, index: UmlsIndex, *, variant: str, parts: Mapping[str, str] = CLOSED_CLASSES) -> None:
        if variant not in VARIANTS:
            raise UsageError(f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}")
        self._index = index
        self._spans = VARIANTS[variant]
        self._tokens = tokenizer(parts)
        self._known: dict[str, _Hit | None] = {}  # stretches that were looked up

    def matches(self, text: str) -> list[Match]:
        """Finds stretches that do not overlap: those most like their term first, then the longest, then the earliest.

        Args:
            text: any text.

        Returns:
            They, in the order in which they were chosen.
        """
        if len(self._known) > _KNOWN:
            self._known.clear()
        spans = self._spans(text, self._tokens(text))
        known = self._known
        try:
            hits = [(start, end, hit) for start, end, stretch in spans if (hit := known[stretch]) is not None]
        except KeyError:
            self._look_up(list({stretch for _, _, stretch in spans if stretch not in known}))
            hits = [(start, end, hit) for start, end, stretch in spans if (hit := known[stretch]) is not None]
        found = [
            (likeness, end - start, Match(start, end, term, concepts))
            for start, end, (likeness, term, concepts) in hits
        ]
        if len(found) > 1:
            found.sort(key=_rank, reverse=True)
        chosen: list[Match] = []
        for _, _, match in found:
            if all(match.end <= other.start or match.start >= other.end for other in chosen):
                chosen.append(match)
        return chosen

    def _look_up(self, stretches: Sequence[str]) -> None:
        asked = [self._index.folding.asked(stretch) for stretch in stretches]
        self._known.update(dict.fromkeys(stretches))
        for position, term, concepts in self._index.find(asked):
            likeness = 1.0 if asked[position] == term else _likeness(asked[position], term)
            if likeness:
                self._known[stretches[position]] = (likeness, term, concepts)

    def concepts(self, text: str) -> dict[str, frozenset[str]]:
        """Finds the terms of a text.

        Args:
            text: any text.

        Returns:
            Term as the index has it to the ids of its concepts.
        """
        return {match.term: frozenset(match.concepts) for match in self.matches(text)}


_rank = itemgetter(0, 1)


def _likeness(asked: str, term: str) -> float:
    first, second = _pieces(asked), _pieces(term)
    return len(first & second) / len(first | second)


def _pieces(text: str) -> set[str]:
    size = min(_PIECE, len(text))
    return {text[at : at + size] for at in range(len(text) - size + 1)}
