"""Where sentences of a clinical text with citations end.

After `.`, `!` and `?`, at an empty line, before an item of a list, and at a line end unless the line runs on. Markers behind the
end mark belong to the sentence, on its line or alone on the next.

- A heading (`CHIEF COMPLAINT`, `Plan:`, `## Results`) belongs to the sentence under it, a number without words (`2.`) to the next.
- A point behind a title, an initial, the number of an item or `e.g.` ends nothing, nor does one within a number.
- A line that was broken by its width runs on: the next begins with a small letter, or it is long and has no end mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from medical_tasks.benchmarks.doclens.markers import LINE_ENDS, find_markers, remove_citations

__all__ = ["sentence_pieces"]

_LONG_LINE: Final = 60
"""A line of as many characters without an end mark was broken by its width."""

_LONG_HEADING: Final = 80

_LINE_END = re.compile(f"[{LINE_ENDS}]")
_LINE = re.compile(f"[^{LINE_ENDS}]*(?:\r\n|[{LINE_ENDS}]|$)")
_ITEM = re.compile(r"\s*(?:[-*+•◦▪‣·–—]\s|\(?(?:[0-9]{1,3}|[a-zA-Z])[.)]\s)")
_MARKED_HEADING = re.compile(r"#{1,6}\s.*|\*\*[^*]+\*\*|__[^_]+__")
_CLOSING = "\"'”’»)*_」』）"
_STOP = re.compile(f"[.!?…]+[{_CLOSING}]*|[。！？]+[{_CLOSING}]*")
_ENDED = re.compile(f"[.!?…。！？][{_CLOSING}]*\\Z")
_SPACE = re.compile(r"\s*")
_WORD_BEFORE = re.compile(r"[\w.&'’-]*\Z")
_LONGEST_WORD: Final = 24

# Points behind these are part of the word; behind the second they also may end a sentence, if a capital follows.
_NEVER_LAST = frozenset("dr drs mr mrs ms prof st vs eg ie cf ca approx fig".split())
_SHORTENED = frozenset(
    "no nos pt pts resp incl excl etc min max wk wks yr yrs mo hr hrs tab tabs cap caps dept inc".split()
)


def sentence_pieces(text: str) -> list[str]:
    """Cuts a text into sentences.

    Args:
        text: any text.

    Returns:
        The pieces, which joined are the text; none for a blank one. Each has a letter, or else a number or sign that cites.
    """
    if not text.strip():
        return []
    return _merged(piece for block in _blocks(text) for piece in _pieces(block))


def _blocks(text: str) -> list[str]:
    """Puts lines together that no sentence ends between."""
    has_small = any(map(str.islower, text))
    blocks: list[list[str]] = []
    above, gap = "", False  # the last line that is not blank, and whether blank ones follow it
    for found in _LINE.finditer(text):
        line = found[0]
        if blocks and (not line.strip() or not above or _goes_on(above, line, gap=gap, has_small=has_small)):
            blocks[-1].append(line)
        else:
            blocks.append([line])
        above, gap = (line, False) if line.strip() else (above, True)
    return ["".join(block) for block in blocks]


def _goes_on(above: str, line: str, *, gap: bool, has_small: bool) -> bool:
    return _only_markers(line) or _is_heading(above, has_small=has_small) or (not gap and _runs_on(above, line))


def _only_markers(line: str) -> bool:
    markers = find_markers(line)
    return bool(markers) and sum(marker.end - marker.start for marker in markers) == len("".join(line.split()))


def _is_heading(line: str, *, has_small: bool) -> bool:
    """Whether a line is what stands above a text; capitals say so only where the text has small letters too."""
    bare = line.strip()
    if len(bare) > _LONG_HEADING or _ENDED.search(bare) or find_markers(bare):
        return False
    if bare.rstrip("*_").endswith((":", "：")) or _MARKED_HEADING.fullmatch(bare):
        return True
    in_capitals = has_small and any(map(str.isupper, bare)) and not any(map(str.islower, bare))
    return in_capitals and not _ITEM.match(bare)


def _runs_on(above: str, line: str) -> bool:
    bare = above.rstrip()
    markers = find_markers(bare)
    if _ITEM.match(line) or _ENDED.search(bare) or (markers and markers[-1].end == len(bare)):
        return False
    return line.lstrip()[0].islower() or bare.endswith((",", "，")) or len(bare) >= _LONG_LINE


def _pieces(block: str) -> Iterator[str]:
    """Cuts a block behind its end marks."""
    markers = {marker.start: marker.end for marker in find_markers(block)}
    ends = frozenset(markers.values())
    start = done = 0
    for stop in _STOP.finditer(block):
        if stop.start() < done:  # a point behind the markers behind a point
            continue
        end = _behind_markers(block, stop.end(), markers)
        if _ends(block, stop, start=start, end=end, behind_marker=stop.start() in ends):
            yield block[start:end]
            start = end
        done = end
    if start < len(block):
        yield block[start:]


def _behind_markers(block: str, end: int, markers: dict[int, int]) -> int:
    """The end of the markers, and of end marks behind them, that follow an end mark."""
    while (after := markers.get(_skip(block, end))) is not None:
        stop = _STOP.match(block, after)
        end = stop.end() if stop else after
    return end


def _skip(block: str, place: int) -> int:
    found = _SPACE.match(block, place)
    return found.end() if found else place


def _ends(block: str, stop: re.Match[str], *, start: int, end: int, behind_marker: bool) -> bool:
    """Whether a sentence ends behind an end mark, which may have markers before and behind it."""
    place = _skip(block, end)
    if place == len(block) or stop[0][0] in "。！？" or end > stop.end() or behind_marker:
        return True
    following = block[place]
    found = _WORD_BEFORE.search(block, max(start, stop.start() - _LONGEST_WORD), stop.start())
    word = found[0] if found else ""
    if place == end:  # "pain.He": small letters, a capital, and no space between
        return following.isupper() and word.isalpha() and word[-2:].islower() and word not in _NEVER_LAST
    if stop[0][0] in "!?":
        return True
    # Of the same line: what stands first on one numbers an item, whatever heading is above it.
    line = _LINE_END.split(block[max(start, stop.start() - 2 * _LONGEST_WORD) : stop.start() - len(word)])[-1]
    return _point_ends(word, following, before=(line.split() or [""])[-1])


def _point_ends(word: str, following: str, *, before: str) -> bool:
    """Whether a point behind a word ends a sentence when a space follows.

    Args:
        word: what stands before it, "" for a bracket or the like.
        following: the next sign.
        before: the word before that, "" where it is the first of its line or piece.
    """
    key = word.replace(".", "").casefold()
    if key in _NEVER_LAST:
        return False
    if not before.strip("(") and (_ITEM.match(f"{word}. ") or (len(word) == 1 and word.isalpha())):  # item or initial
        return False
    if len(word) == 1 and before.rstrip(".").casefold() in _NEVER_LAST:  # Dr. J. Smith
        return False
    if following.islower():
        return len(word) > 3 and word.isalpha() and key not in _SHORTENED
    return following.isupper() or key not in _SHORTENED


def _merged(pieces: Iterable[str]) -> list[str]:
    """Gives pieces that say nothing of their own to the next, at the end to the one before."""
    merged: list[str] = []
    waiting: list[str] = []
    for piece in pieces:
        waiting.append(piece)
        if _says_something(piece):
            merged.append("".join(waiting))
            waiting = []
    if waiting and merged:
        merged[-1] += "".join(waiting)
    elif waiting:
        merged.append("".join(waiting))
    return merged


def _says_something(piece: str) -> bool:
    if any(map(str.isalpha, piece)):
        return True
    bare = remove_citations(piece)
    return bare != piece and any(map(str.isdigit, bare))
