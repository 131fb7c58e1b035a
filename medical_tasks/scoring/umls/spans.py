"""Which stretches of a text are looked up: two variants, as the two published scorers really do it.

- `aci-bench`: every window of one to five tokens. ACI-BENCH asks QuickUMLS to ignore syntax, and its release at that time did.
- `archehr`: QuickUMLS 1.4.1 and later take that request and do not heed it, so ArchEHR-QA's scorer (1.4.2) has the rules on:
  no punctuation, stop word, determiner or preposition at an end, determiners left out inside.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from medical_tasks.scoring.umls.index import WINDOW
from medical_tasks.scoring.umls.tokens import Token

__all__ = ["SHORTEST", "Span", "every_window", "phrases"]

SHORTEST = 3  # characters


Span = tuple[int, int, str]  # its characters in the text, from and to; what is looked up


def every_window(text: str, tokens: Sequence[Token]) -> list[Span]:
    """Finds every window (`aci-bench`).

    Args:
        text: the text.
        tokens: its tokens.

    Returns:
        Windows of up to five tokens with at least three characters, verbatim, by their beginning, then their length.
    """
    return [
        (start, end, text[start:end])
        for first, (start, _, _) in enumerate(tokens)
        for _, end, _ in tokens[first : first + WINDOW]
        if end - start >= SHORTEST
    ]


def phrases(text: str, tokens: Sequence[Token]) -> list[Span]:
    """Finds what may be a phrase (`archehr`).

    Args:
        text: the text.
        tokens: its tokens, with parts of speech as far as known.

    Returns:
        Spans by their beginning, then their length; the text's last token once more at the end, if it may end one.
    """
    ends = [end if word.ends else 0 for _, end, word in tokens]
    left_out = {place for place, (_, _, word) in enumerate(tokens) if word.left_out}
    found: list[Span] = []
    for first, (start, _, (_, begins, _, alone, _)) in enumerate(tokens):
        if begins:
            shortest = first if alone else first + 1
            longest = first + WINDOW
            if not left_out or left_out.isdisjoint(range(first, longest)):
                for end in ends[shortest:longest]:
                    if end - start >= SHORTEST:
                        found.append((start, end, text[start:end]))
            else:
                found += [
                    (start, end, _without(tokens[first : last + 1]))
                    for last, end in enumerate(ends[shortest:longest], shortest)
                    if end - start >= SHORTEST
                ]
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
