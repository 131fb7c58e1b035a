"""Cuts long texts into windows of whole sentences that overlap by about a quarter."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

_BREAK = re.compile(
    r"(?<=[.!?])\s+|(?<=[a-z][.!?])(?=[A-Z])|(?<=[。！？])|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*"
)
OVERLAP = 4
"""Neighbouring windows share up to one part in so many."""

Count = Callable[[Sequence[str]], Sequence[int]]
"""Counts the tokens of each text."""


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Splits a text at line ends and after `.`, `!` and `?`, abbreviations included.

    The spans cover the whole text.

    Example:
        >>> text = "Fever. No cough."
        >>> [text[start:end] for start, end in sentence_spans(text)]
        ['Fever. ', 'No cough.']
    """
    cuts = sorted({0, len(text), *(match.end() for match in _BREAK.finditer(text))})
    return list(itertools.pairwise(cuts))


def plan_windows(text: str, room: int, count: Count) -> list[tuple[int, int]]:
    """Cuts a text into windows of whole sentences; each fits the room unless a single character exceeds it.

    A sentence longer than the room is cut at white space, else anywhere, into pieces of
    a quarter of the room.

    Args:
        text: the text.
        room: the most tokens of a window.
        count: counts the tokens of texts.

    Example, with words for tokens and room for four:

        >>> def words(texts):
        ...     return [len(text.split()) for text in texts]
        >>> text = "No fever. No cough. No pain."
        >>> [text[start:end] for start, end in plan_windows(text, 4, words)]
        ['No fever. No cough. ', 'No cough. No pain.']
    """
    spans = sentence_spans(text)
    sizes = list(count([text[start:end] for start, end in spans]))
    pieces: list[tuple[int, int]] = []
    lengths: list[int] = []
    for span, size in zip(spans, sizes, strict=True):
        parts = (
            [span]
            if size <= room
            else _divide(text, span, max(1, room // OVERLAP), count)
        )
        pieces += parts
        lengths += (
            [size] if size <= room else count([text[start:end] for start, end in parts])
        )

    return [
        (pieces[first][0], pieces[last - 1][1])
        for first, last in cut_windows(lengths, room)
    ]


def cut_windows(lengths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Packs consecutive pieces into windows, as start and end (exclusive); a piece longer than the room is a window.

    Each window begins up to a quarter of the room before the end of the previous one,
    and shares at least one piece with it if both fit.

    Example: with room for 8, a quarter of it, one piece of 2, is shared. A piece of 4 is
    more than a quarter of 10, but nevertheless shared, because two fit.
        >>> cut_windows([2, 2, 2, 2, 2, 2], 8)
        [(0, 4), (3, 6)]
        >>> cut_windows([4, 4, 4], 10)
        [(0, 2), (1, 3)]
    """
    windows: list[tuple[int, int]] = []
    start = end = 0
    while end < len(lengths):
        total = sum(lengths[start:end])
        while end < len(lengths) and (end == start or total + lengths[end] <= room):
            total += lengths[end]
            end += 1

        windows.append((start, end))
        if end == len(lengths):
            break

        start = _step_back(lengths, start, end, room)

    return windows


def _step_back(lengths: Sequence[int], start: int, end: int, room: int) -> int:
    """Start of the next window: as far back as the overlap and the room for one new piece allow."""
    first, shared = end, 0
    while first > start + 1:
        wider = shared + lengths[first - 1]
        if wider + lengths[end] > room or (first < end and wider > room // OVERLAP):
            break
        first, shared = first - 1, wider
    return first


def _divide(
    text: str, span: tuple[int, int], limit: int, count: Count
) -> list[tuple[int, int]]:
    """Halves a span at the white space nearest to its middle until each part has at most `limit` tokens.

    Example, with words for tokens: seven words, in pieces of at most four.

        >>> text = "one two three four five six seven"
        >>> spans = _divide(text, (0, len(text)), 4, lambda texts: [len(texts[0].split())])
        >>> [text[start:end] for start, end in spans]
        ['one two three ', 'four five six seven']
    """
    done: list[tuple[int, int]] = []
    waiting = [span]
    while waiting:
        start, end = waiting.pop()
        if end - start <= 1 or count([text[start:end]])[0] <= limit:
            done.append((start, end))
            continue

        middle = _blank_near(text, start, end)
        waiting += [(middle, end), (start, middle)]

    return done


def _blank_near(text: str, start: int, end: int) -> int:
    """The white space nearest to the middle, up to a quarter of the span away; else the middle."""
    middle = (start + end) // 2
    for distance in range((end - start) // 4):
        for position in (middle - distance, middle + distance):
            if start < position < end and text[position - 1].isspace():
                return position
    return max(middle, start + 1)
