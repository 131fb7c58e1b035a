"""Citation markers in generated text: `[3]`, `[3][4]`, `[3, 4]`, `[3-5]`, `[3–5]`, and nothing else.

A marker is a pair of square brackets with whole numbers and ranges between them. Other numbers are prose: `5 mg`, `1.` before an
item of a list, `[8.2 -> 6.9]`, `[-1]`, `[note 3]`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import Final

__all__ = ["LINE_ENDS", "MAX_RANGE", "Marker", "cited_ids", "find_markers", "remove_citations"]

MAX_RANGE: Final = 100
"""Most sentences a range can cite. `[0-5000]` points nowhere; it stays prose."""

_PART = r"[0-9]{1,6}(?:[ \t]{0,3}[-\u2010-\u2014\u2212][ \t]{0,3}[0-9]{1,6})?"
_MARKER = re.compile(rf"\[[ \t]{{0,3}}({_PART}(?:[ \t]{{0,3}}[,;][ \t]{{0,3}}{_PART})*)[ \t]{{0,3}}\]")
_NUMBER = re.compile("[0-9]+")
_SPACES = " \t\u00a0"
_AFTER = re.compile(f"[{_SPACES}]*")
LINE_ENDS: Final = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""What ends a line."""


@dataclass(frozen=True, kw_only=True)
class Marker:
    """One pair of brackets.

    Attributes:
        start: of the opening bracket, in characters.
        end: behind the closing one.
        ids: numbers of the sentences it cites, in its order, as they stand there: whether the source has them is not asked.
    """

    start: int
    end: int
    ids: tuple[int, ...]


def find_markers(text: str) -> list[Marker]:
    """Finds all markers of a text, in order.

    Args:
        text: any text.

    Returns:
        The markers. A range that runs backwards (`[5-3]`, `[120-80]`) or over more than `MAX_RANGE` sentences makes the whole
        bracket prose.
    """
    markers = []
    for found in _MARKER.finditer(text):
        parts = [tuple(map(int, _NUMBER.findall(part))) for part in re.split("[,;]", found[1])]
        if all(0 <= part[-1] - part[0] < MAX_RANGE for part in parts):
            ids = tuple(chain.from_iterable(range(part[0], part[-1] + 1) for part in parts))
            markers.append(Marker(start=found.start(), end=found.end(), ids=ids))
    return markers


def cited_ids(text: str) -> tuple[int, ...]:
    """Lists what a text cites, each number once, in order of first mention."""
    return tuple(dict.fromkeys(chain.from_iterable(marker.ids for marker in find_markers(text))))


def remove_citations(text: str) -> str:
    """Takes the markers out, each with the spaces before it, or behind it where it begins a line.

    Args:
        text: any text.

    Returns:
        Everything else as it was, brackets that are no markers and line ends included.
    """
    kept: list[str] = []
    start, last = 0, ""
    for marker in find_markers(text):
        before = text[start : marker.start].rstrip(_SPACES)
        kept.append(before)
        last = before[-1:] or last
        begins_line = not last or last in LINE_ENDS
        start = _AFTER.match(text, marker.end).end() if begins_line else marker.end  # type: ignore[union-attr]
    return "".join((*kept, text[start:]))
