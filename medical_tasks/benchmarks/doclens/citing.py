"""Citations for a reference: released notes and summaries have none, worked examples and gold answers need some.

The rule compares words, knows no medicine, and gives the same citations always:

- A word is a run of letters or a number, in small letters, by its stem (Porter). Function words and the small talk of a visit
  do not count.
- A sentence cites the turn that shares most words with it; of several the one with the fewest words, then the first.
- It goes on with the words that are left: a second and a third turn are cited too, if each adds two words or more.
- A sentence that shares no word with any turn cites the one with most words that count, the first of several.

So each sentence cites one to three turns. Measured on the two notes that DocLens's authors cited by hand (91 cited sentences):
80 % of its citations are theirs, it finds 48 % of theirs, and 82 % of the sentences have one in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from medical_tasks.benchmarks.doclens.markers import find_markers
from medical_tasks.benchmarks.doclens.sections import heading_section
from medical_tasks.benchmarks.doclens.sentence_ends import sentence_pieces
from medical_tasks.scoring.porter import stem

__all__ = ["MAX_CITED", "MIN_ADDED", "Source", "cite"]

MAX_CITED: Final = 3
"""Most turns that a sentence cites."""

MIN_ADDED: Final = 2
"""Words that a further turn has to add."""

_WORD = re.compile(r"[0-9]+(?:\.[0-9]+)?|[^\W\d_]+")
_SPEAKER = re.compile(r"\[[A-Za-z]\w*\]")
_LAST_MARKS = re.compile(r"[.!?…。！？]+\Z")
_SKIPPED: Final = frozenset(
    (
        "a about after again all also am an and any are as at be because been before being between both but by can could did "
        "do does doing during each few for from further had has have having he her here hers him his how i if in into is it "
        "its itself just may me might more most must my no not of off on once one only or other our out over own per same "
        "shall she should so some such than that the their them then there these they this those through to too until up upon "
        "us very was we were what when where which while who whom why will with within would you your "
        "doctor patient get go going gonna good got hey hi hm hmm know like mm okay really right said say thing think uh um "
        "well yeah yes"
    ).split()
)


class Source:
    """The turns or sentences that can be cited, by their words.

    Args:
        texts: one for each number, from 0.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        bare = [_SPEAKER.sub("", text, count=1) if _SPEAKER.match(text) else text for text in texts]
        self._words = [_words(text) for text in bare]
        self._longest = max(range(len(bare)), key=lambda place: (len(self._words[place]), -place), default=None)

    def cited_by(self, sentence: str) -> tuple[int, ...]:
        """Says what a sentence cites.

        Args:
            sentence: without markers.

        Returns:
            One to `MAX_CITED` numbers, ascending; none where there is nothing to cite.
        """
        if self._longest is None:
            return ()
        left = _words(sentence)
        best, added = self._best(left)
        if not added:
            return (self._longest,)
        cited: list[int] = []
        while len(cited) < MAX_CITED and added >= (MIN_ADDED if cited else 1):
            cited.append(best)
            left -= self._words[best]
            best, added = self._best(left)
        return tuple(sorted(cited))

    def _best(self, words: frozenset[str]) -> tuple[int, int]:
        """The text that shares most of the words, of several the shortest, then the first; and how many it shares."""
        shared = [len(words & text) for text in self._words]
        place = max(range(len(shared)), key=lambda each: (shared[each], -len(self._words[each]), -each))
        return place, shared[place]


def cite(text: str, source: Source) -> str:
    """Writes citations into a text: `[3][4]` behind the last word of each sentence, before its full stop.

    Args:
        text: a reference.
        source: what it cites.

    Returns:
        The text with markers and nothing else changed: `remove_citations` gives it back, and its sections stay the same. A
        sentence that cites already stays as it is, as does a heading of a section without text under it.
    """
    pieces = sentence_pieces(text) or [text]
    return "".join(_cited(part, source) for piece in pieces for part in _parts(piece))


def _parts(piece: str) -> Iterator[str]:
    """Cuts a sentence before each heading of a section that is in it, so that none is of two sections."""
    lines: list[str] = []
    for line in piece.splitlines(keepends=True):
        if lines and heading_section(line):
            yield "".join(lines)
            lines = []
        lines.append(line)
    yield "".join(lines)


def _cited(piece: str, source: Source) -> str:
    body = piece.rstrip()
    if not body or find_markers(body):
        return piece
    head = _LAST_MARKS.sub("", body).rstrip() or body
    line = head.splitlines()[-1] + "".join(body[len(head) :].splitlines()[:1])
    if heading_section(line):  # a marker behind it would make it a line like any other; the marks may stand on the next
        return piece
    markers = "".join(f"[{number}]" for number in source.cited_by(body))
    return f"{head} {markers}{piece[len(head) :]}" if markers else piece


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(text.lower()) if word not in _SKIPPED)
