"""Cutting texts into tokens with spaCy's English rules, those of MEDCON's reference; no model of spaCy's is needed.

Parts of speech would need one. In its place a closed list of determiners and prepositions may be given, which is what the
matcher asks of them.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from medical_tasks.errors import MissingError, install_command

__all__ = ["CLOSED_CLASSES", "STOP_WORDS", "Token", "Word", "tokenizer"]

_PIECE = re.compile(r"\s+|\S+")
_KNOWN = 100_000

_DETERMINERS = "a an the this that these those some any no each every either neither another such"
_PREPOSITIONS = (
    "about above across after against along among around at before behind below beneath beside besides between beyond by "
    "despite down during except for from in inside into near of off on onto outside over past per since through throughout "
    "to toward towards under underneath until up upon via with within without"
)
CLOSED_CLASSES: Mapping[str, str] = {
    **dict.fromkeys(_PREPOSITIONS.split(), "ADP"),
    **dict.fromkeys(_DETERMINERS.split(), "DET"),
}


# NLTK's English stop words with QuickUMLS's addition, compared as written: "No" at the beginning of a sentence is none.
STOP_WORDS = frozenset(
    """
    i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him his himself she
    she's her hers herself it it's its itself they them their theirs themselves what which who whom this that that'll these
    those am is are was were be been being have has had having do does did doing a an the and but if or because as until while
    of at by for with about against between into through during before after above below to from up down in out on off over
    under again further then once here there when where why how all any both each few more most other some such no nor not
    only own same so than too very s t can will just don don't should should've now d ll m o re ve y ain aren aren't couldn
    couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't haven haven't isn isn't ma mightn mightn't mustn mustn't needn
    needn't shan shan't shouldn shouldn't wasn wasn't weren weren't won won't wouldn wouldn't
    time
    """.split()
)
_PARTS = frozenset({"ADP", "DET"})


class Word(NamedTuple):
    """What a token is, wherever it stands.

    Attributes:
        text: verbatim.
        begins: whether a phrase may begin with it: no white space, punctuation, determiner or preposition.
        ends: whether a phrase may end with it: begins, and is no stop word.
        alone: whether it may be a phrase by itself: is no stop word and not like a number.
        left_out: whether it is left out inside a phrase: a determiner.
    """

    text: str
    begins: bool
    ends: bool
    alone: bool
    left_out: bool


Token = tuple[int, int, Word]  # its characters in the text, from and to; what it is


def tokenizer(parts: Mapping[str, str]) -> Callable[[str], list[Token]]:
    """Makes a tokenizer.

    Args:
        parts: word in small letters to its part of speech; others have none.

    Returns:
        Text to tokens, which hold every character but single spaces.

    Raises:
        MissingError: spaCy is not installed.
    """
    try:
        spacy = importlib.import_module("spacy")
    except ImportError as error:
        raise MissingError(
            "MEDCON cuts texts with spaCy's English rules, and spaCy is not installed: "
            f"{install_command('medcon')}; no model is needed."
        ) from error
    rules = spacy.blank("en").tokenizer
    # spaCy cuts at white space first, and what stands between without a look to its sides: each such piece is cut once.
    known: dict[str, list[Token]] = {}

    def cut(piece: str) -> list[Token]:
        if len(known) >= _KNOWN:
            known.clear()
        tokens = []
        for token in rules(piece):
            part = parts.get(token.text.lower(), "")
            begins = not (token.is_punct or token.is_space or part in _PARTS)
            stop = token.text in STOP_WORDS
            word = Word(token.text, begins, begins and not stop, not (stop or token.like_num), part == "DET")
            tokens.append((token.idx, token.idx + len(token.text), word))
        known[piece] = tokens
        return tokens

    def tokens(text: str) -> list[Token]:
        found: list[Token] = []
        if (pieces := text.split()) == text.split(" "):  # no white space but single spaces
            begin = 0
            for piece in pieces:
                for start, end, word in known.get(piece) or cut(piece):
                    found.append((begin + start, begin + end, word))
                begin += len(piece) + 1
            return found
        for match in _PIECE.finditer(text):
            begin, piece = match.start(), match[0]
            if piece.isspace() and begin and piece.startswith(" "):  # the first space belongs to the token before it
                begin, piece = begin + 1, piece[1:]
                if not piece:
                    continue
            for start, end, word in known.get(piece) or cut(piece):
                found.append((begin + start, begin + end, word))
        return found

    return tokens
