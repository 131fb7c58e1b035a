"""Concepts of texts by exact lookup.

What QuickUMLS finds at a threshold of 1 (docs/medcon.md), without its near-exact slips.

QuickUMLS compares sets of three-letter pieces, so it also takes a few terms whose
pieces are the same in another order. In its overlap rule a stretch with accents, whose
pieces differ from the decomposed term's, comes behind those without; that is kept.
"""

from __future__ import annotations

import importlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.scoring.umls.index import WINDOW, UmlsIndex

SHORTEST = 3  # characters


# its characters in the text, from and to; what is looked up
Span = tuple[int, int, str]


def every_window(text: str, tokens: Sequence[Token]) -> list[Span]:
    """Finds every window of up to five tokens (`aci-bench`), verbatim, by their beginning, then their length."""
    return [
        (start, end, text[start:end])
        for first, (start, _, _) in enumerate(tokens)
        for _, end, _ in tokens[first : first + WINDOW]
        if end - start >= SHORTEST
    ]


def phrases(text: str, tokens: Sequence[Token]) -> list[Span]:
    """Finds what may be a phrase (`archehr`).

    The text's last token once more at the end, if it may end one.
    """
    ends = [end if word.ends else 0 for _, end, word in tokens]
    left_out = {place for place, (_, _, word) in enumerate(tokens) if word.left_out}
    found: list[Span] = []
    for first, (start, _, (_, begins, _, alone, _)) in enumerate(tokens):
        if not begins:
            continue

        shortest = first if alone else first + 1
        longest = first + WINDOW
        whole = left_out.isdisjoint(range(first, longest))
        for last, end in enumerate(ends[shortest:longest], shortest):
            if end - start >= SHORTEST:
                words = text[start:end] if whole else _without(tokens[first : last + 1])
                found.append((start, end, words))

    if tokens and tokens[-1][2].ends and len(tokens[-1][2].text) >= SHORTEST:
        start, end, word = tokens[-1]
        found.append((start, end, word.text))

    return found


def _without(tokens: Sequence[Token]) -> str:
    """The text of some tokens, each with the space behind it, but for those left out."""
    pieces = [
        word.text + (" " if after[0] > end else "")
        for (_, end, word), after in itertools.pairwise(tokens)
        if not word.left_out
    ]
    return "".join(pieces) + tokens[-1][2].text


_SPACE_OR_WORD = re.compile(r"\s+|\S+")
_MOST_KNOWN_WORDS = 100_000

_WORDS = json.loads(
    Path(__file__).with_name("word_classes.json").read_text(encoding="utf-8")
)
CLOSED_CLASSES: Mapping[str, str] = {
    **dict.fromkeys(_WORDS["prepositions"].split(), "ADP"),
    **dict.fromkeys(_WORDS["determiners"].split(), "DET"),
}
STOP_WORDS = frozenset(_WORDS["stop"].split())
"""NLTK's in English with QuickUMLS's addition, compared as written: "No" at the beginning of a sentence is none."""

_PARTS = frozenset({"ADP", "DET"})


class Word(NamedTuple):
    """What a token is, wherever it stands.

    Attributes:
        text: verbatim.
        begins: whether a phrase may begin with it: no white space, punctuation,
            determiner or preposition.
        ends: whether a phrase may end with it: begins, and is no stop word.
        alone: whether it may be a phrase by itself: is no stop word and not like a
            number.
        left_out: whether it is left out inside a phrase: a determiner.
    """

    text: str
    begins: bool
    ends: bool
    alone: bool
    left_out: bool


Token = tuple[int, int, Word]  # its characters in the text, from and to; what it is


def tokenizer(parts: Mapping[str, str]) -> Callable[[str], list[Token]]:
    """Makes a tokenizer, whose tokens hold every character but single spaces."""
    try:
        spacy = importlib.import_module("spacy")
    except ImportError as error:
        raise MissingError(
            "MEDCON cuts texts with spaCy's English rules, and spaCy is not installed: "
            f"{install_command('medcon')}; no model is needed."
        ) from error

    rules = spacy.blank("en").tokenizer
    # spaCy cuts at white space first, and what stands between without a look to its
    # sides: each such piece is cut once.
    known: dict[str, list[Token]] = {}

    def cut(piece: str) -> list[Token]:
        """The tokens of a piece between white space, kept until there are too many."""
        if len(known) >= _MOST_KNOWN_WORDS:
            known.clear()

        tokens = []
        for token in rules(piece):
            part = parts.get(token.text.lower(), "")
            begins = not (token.is_punct or token.is_space or part in _PARTS)
            stop = token.text in STOP_WORDS
            word = Word(
                token.text,
                begins,
                begins and not stop,
                not (stop or token.like_num),
                part == "DET",
            )
            tokens.append((token.idx, token.idx + len(token.text), word))

        known[piece] = tokens
        return tokens

    def tokens(text: str) -> list[Token]:
        return [
            (begin + start, begin + end, word)
            for begin, piece in _words_and_blanks(text)
            for start, end, word in known.get(piece) or cut(piece)
        ]

    return tokens


def _words_and_blanks(text: str) -> Iterator[tuple[int, str]]:
    """The words of a text and the white space between them, but for single spaces, with their places."""
    words = text.split()
    if words == text.split(" "):  # no white space but single spaces
        begin = 0
        for word in words:
            yield begin, word
            begin += len(word) + 1

        return

    for match in _SPACE_OR_WORD.finditer(text):
        begin, piece = match.start(), match[0]
        if begin and piece.isspace():
            # The first space belongs to the token before it.
            begin, piece = begin + piece.startswith(" "), piece.removeprefix(" ")
        if piece:
            yield begin, piece


VARIANTS: Mapping[str, Callable[[str, Sequence[Token]], list[Span]]] = {
    "aci-bench": every_window,
    "archehr": phrases,
}

_LETTERS_OF_A_PIECE = 3
_MOST_KNOWN_SPANS = 300_000

_Hit = tuple[float, str, tuple[str, ...]]  # likeness, term, concepts


class Match(NamedTuple):
    """A stretch with concepts."""

    start: int
    end: int
    term: str
    concepts: tuple[str, ...]


class Matcher:
    """Finds concepts.

    `parts` are words in small letters that are determiners (`DET`) or prepositions
    (`ADP`).
    """

    def __init__(
        self,
        index: UmlsIndex,
        *,
        variant: str,
        parts: Mapping[str, str] = CLOSED_CLASSES,
    ) -> None:
        """Matches by an index, in one of the `VARIANTS`.

        Args:
            index: of the UMLS.
            variant: which stretches of a text are looked up.
            parts: the part of speech of each word that is known to have one.

        Raises:
            UsageError: there is no such variant.
        """
        if variant not in VARIANTS:
            raise UsageError(
                f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}"
            )

        self._index = index
        self._spans = VARIANTS[variant]
        self._tokens = tokenizer(parts)
        self._known: dict[str, _Hit | None] = {}  # stretches that were looked up

    def matches(self, text: str) -> list[Match]:
        """Finds stretches that do not overlap, chosen in this order.

        Most like their term, longest, earliest.
        """
        if len(self._known) > _MOST_KNOWN_SPANS:
            self._known.clear()

        spans = self._spans(text, self._tokens(text))
        known = self._known
        try:
            hits = [
                (start, end, hit)
                for start, end, stretch in spans
                if (hit := known[stretch]) is not None
            ]
        except KeyError:
            self._look_up(
                list({stretch for _, _, stretch in spans if stretch not in known})
            )
            hits = [
                (start, end, hit)
                for start, end, stretch in spans
                if (hit := known[stretch]) is not None
            ]

        found = [
            (likeness, end - start, Match(start, end, term, concepts))
            for start, end, (likeness, term, concepts) in hits
        ]
        if len(found) > 1:
            found.sort(key=_rank, reverse=True)

        chosen: list[Match] = []
        for _, _, match in found:
            if all(
                match.end <= other.start or match.start >= other.end for other in chosen
            ):
                chosen.append(match)

        return chosen

    def _look_up(self, stretches: Sequence[str]) -> None:
        """Looks up new stretches all at once; None is kept for those without concepts."""
        asked = [self._index.folding.asked(stretch) for stretch in stretches]
        self._known.update(dict.fromkeys(stretches))
        for position, term, concepts in self._index.find(asked):
            likeness = (
                1.0 if asked[position] == term else _likeness(asked[position], term)
            )
            if likeness:
                self._known[stretches[position]] = (likeness, term, concepts)

    def concepts(self, text: str) -> dict[str, frozenset[str]]:
        """Finds the terms of a text, as the index has them, with the ids of their concepts."""
        return {match.term: frozenset(match.concepts) for match in self.matches(text)}


_rank = itemgetter(0, 1)


def _likeness(asked: str, term: str) -> float:
    first, second = _pieces(asked), _pieces(term)
    return len(first & second) / len(first | second)


def _pieces(text: str) -> set[str]:
    size = min(_LETTERS_OF_A_PIECE, len(text))
    return {text[at : at + size] for at in range(len(text) - size + 1)}
