"""Finds the concepts of texts by exact lookup.

The results are those of QuickUMLS at a threshold of 1, without its inexact matches:
QuickUMLS compares sets of three-letter pieces, so it also matches a few terms with the
same pieces in another order. Its overlap rule is kept: a stretch with accents, whose
pieces differ from those of the decomposed term, ranks after those without.

The variants look up different windows:

- `aci-bench`: every window of one to five tokens with three characters, since ACI-BENCH
  asks QuickUMLS to ignore syntax
- `archehr`: the same, but with no punctuation, stop word, determiner or preposition at an
  end, and no determiner inside, since QuickUMLS 1.4.2, which ArchEHR-QA pins, no longer
  honours that request; determiners and prepositions are recognized by a list instead of
  `en_core_web_sm`
"""

from __future__ import annotations

import importlib
import itertools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.scoring.umls.index import WINDOW, UmlsIndex

SHORTEST = 3  # characters


# start and end in the text; the stretch that is looked up
Span = tuple[int, int, str]


def every_window(text: str, tokens: Sequence[Token]) -> list[Span]:
    """Returns every window of up to five tokens (`aci-bench`), verbatim, by start, then by length."""
    return [
        (start, end, text[start:end])
        for first, (start, _, _) in enumerate(tokens)
        for _, end, _ in tokens[first : first + WINDOW]
        if end - start >= SHORTEST
    ]


def phrases(text: str, tokens: Sequence[Token]) -> list[Span]:
    """Returns possible phrases (`archehr`).

    The last token is added again at the end if it may end a phrase.
    """
    ends = [end if word.ends else 0 for _, end, word in tokens]
    left_out = {index for index, (_, _, word) in enumerate(tokens) if word.left_out}
    spans: list[Span] = []
    for first, (start, _, (_, begins, _, alone, _)) in enumerate(tokens):
        if not begins:
            continue

        shortest = first if alone else first + 1
        longest = first + WINDOW
        whole = left_out.isdisjoint(range(first, longest))
        for last, end in enumerate(ends[shortest:longest], shortest):
            if end - start >= SHORTEST:
                words = text[start:end] if whole else _without(tokens[first : last + 1])
                spans.append((start, end, words))

    if tokens and tokens[-1][2].ends and len(tokens[-1][2].text) >= SHORTEST:
        start, end, word = tokens[-1]
        spans.append((start, end, word.text))

    return spans


def _without(tokens: Sequence[Token]) -> str:
    """Joins the text of tokens with their spaces, without those that are left out."""
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
"""NLTK's English stop words with QuickUMLS's addition, compared with case: "No" is none."""

_PARTS = frozenset({"ADP", "DET"})


class Word(NamedTuple):
    """The properties of a token, independent of its position.

    Attributes:
        text: verbatim.
        begins: whether a phrase may begin with it: it is no white space, punctuation,
            determiner or preposition.
        ends: whether a phrase may end with it: `begins`, and it is no stop word.
        alone: whether it may be a phrase by itself: it is no stop word or number.
        left_out: whether it is left out inside a phrase: it is a determiner.
    """

    text: str
    begins: bool
    ends: bool
    alone: bool
    left_out: bool


Token = tuple[int, int, Word]  # start and end in the text, and its properties


def tokenizer(parts: Mapping[str, str]) -> Callable[[str], list[Token]]:
    """Returns a tokenizer whose tokens cover every character except single spaces."""
    try:
        spacy = importlib.import_module("spacy")
    except ImportError as error:
        raise MissingError(
            "MEDCON cuts texts with spaCy's English rules, and spaCy is not installed: "
            f"{install_command('medcon')}; no model is needed."
        ) from error

    rules = spacy.blank("en").tokenizer
    # spaCy splits at white space first, and then each piece regardless of its context:
    # so each piece is split once.
    cached: dict[str, list[Token]] = {}

    def cut(piece: str) -> list[Token]:
        """Returns the tokens of a piece between white space, cached up to a limit."""
        if len(cached) >= _MOST_KNOWN_WORDS:
            cached.clear()

        tokens = []
        for token in rules(piece):
            part_of_speech = parts.get(token.text.lower(), "")
            begins = not (token.is_punct or token.is_space or part_of_speech in _PARTS)
            is_stop_word = token.text in STOP_WORDS
            word = Word(
                token.text,
                begins,
                begins and not is_stop_word,
                not (is_stop_word or token.like_num),
                part_of_speech == "DET",
            )
            tokens.append((token.idx, token.idx + len(token.text), word))

        cached[piece] = tokens
        return tokens

    def tokens(text: str) -> list[Token]:
        return [
            (begin + start, begin + end, word)
            for begin, piece in _words_and_blanks(text)
            for start, end, word in cached.get(piece) or cut(piece)
        ]

    return tokens


def _words_and_blanks(text: str) -> Iterator[tuple[int, str]]:
    """Yields words and the white space between them, except single spaces, with their positions."""
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

_Hit = tuple[float, str, tuple[str, ...]]  # similarity, term, concepts


class Match(NamedTuple):
    """A stretch with concepts."""

    start: int
    end: int
    term: str
    concepts: tuple[str, ...]


class Matcher:
    """Finds the concepts of texts."""

    def __init__(
        self,
        index: UmlsIndex,
        *,
        variant: str,
        parts: Mapping[str, str] = CLOSED_CLASSES,
    ) -> None:
        """Matches with an index, in one of the `VARIANTS`.

        Args:
            index: the UMLS index.
            variant: selects the stretches of a text that are looked up.
            parts: words in lower case that are determiners (`DET`) or prepositions
                (`ADP`).

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
        self._cache: dict[str, _Hit | None] = {}  # stretches that were looked up

    def matches(self, text: str) -> list[Match]:
        """Finds stretches without overlap, preferring the most similar, longest, earliest."""
        spans = self._spans(text, self._tokens(text))
        self._look_up({stretch for _, _, stretch in spans})
        hits = [
            (start, end, hit)
            for start, end, stretch in spans
            if (hit := self._cache[stretch]) is not None
        ]
        ranked = [
            (likeness, end - start, Match(start, end, term, concepts))
            for start, end, (likeness, term, concepts) in hits
        ]
        if len(ranked) > 1:
            ranked.sort(key=_rank, reverse=True)

        chosen: list[Match] = []
        for _, _, match in ranked:
            if all(
                match.end <= other.start or match.start >= other.end for other in chosen
            ):
                chosen.append(match)

        return chosen

    def _look_up(self, spans: Collection[str]) -> None:
        """Looks up new stretches all at once; None is cached for those without concepts."""
        if len(self._cache) > _MOST_KNOWN_SPANS:
            self._cache.clear()

        stretches = [stretch for stretch in spans if stretch not in self._cache]
        forms = [self._index.folding.looked_up(stretch) for stretch in stretches]
        self._cache.update(dict.fromkeys(stretches))
        for position, term, concepts in self._index.find(forms):
            likeness = (
                1.0 if forms[position] == term else _likeness(forms[position], term)
            )
            if likeness:
                self._cache[stretches[position]] = (likeness, term, concepts)

    def concepts(self, text: str) -> dict[str, frozenset[str]]:
        """Finds the terms of a text, as stored in the index, with their concept ids."""
        return {match.term: frozenset(match.concepts) for match in self.matches(text)}


_rank = itemgetter(0, 1)


def _likeness(form: str, term: str) -> float:
    first, second = _pieces(form), _pieces(term)
    return len(first & second) / len(first | second)


def _pieces(text: str) -> set[str]:
    size = min(_LETTERS_OF_A_PIECE, len(text))
    return {text[at : at + size] for at in range(len(text) - size + 1)}
