r"""Citation groups in a line of an answer: `|1,2|` as the shared task wants them, and what models write instead.

An id list is ids and ranges (`1-3`, `1 to 3`) between commas, semicolons, spaces or `and`. Groups that stand together are one, and
brackets, quotes or stars close around a group go with it. Numbers in brackets that are no id list are prose: `[8.2 -> 6.9]`,
`[**2150-1-1**]`, `[1.5]`, `[2150]`, `[120-80]`, and a range from where the note has no sentence (`[70-100]`, `[0-10]`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

__all__ = ["MAX_RANGE", "Group", "bracket_groups", "pipe_groups", "read_ids"]

MAX_RANGE: Final = 100
"""Most sentences a range can cite."""

_DASH = "[-\u2010-\u2015\u2212]"
_SEPARATOR: Final = re.compile(r"[,;&\s\uff0c\uff1b\u3001]+|\band\b", re.IGNORECASE)
_AROUND_DASH: Final = re.compile(rf"(?<=\d)(?:\s*{_DASH}\s*|\s+to\s+)(?=[sS#]?\d)", re.IGNORECASE)
_RANGE: Final = re.compile(rf"[sS#]?(\d{{1,6}}){_DASH}[sS#]?(\d{{1,6}})", re.ASCII)
_RANGE_BEGIN: Final = re.compile(rf"(\d+)\s*{_DASH}", re.ASCII)
_NUMBER: Final = re.compile(r"[sS#]?0*(\d{1,6})", re.ASCII)
_AROUND_ID: Final = "\"'`\u201c\u201d\u2018\u2019[](){}*\\"

_ONE = rf"[\"']?[sS#]?[0-9]{{1,4}}(?:[ \t]{{0,3}}{_DASH}[ \t]{{0,3}}[sS#]?[0-9]{{1,4}})?[\"']?"
_BETWEEN = r"(?:[ \t]{0,3}[,;&][ \t]{0,3}(?:and[ \t]{1,3})?|[ \t]{1,3}and[ \t]{1,3}|[ \t]{1,3})"
_LIST = rf"[ \t,;]{{0,4}}(?:{_ONE}(?:{_BETWEEN}{_ONE}){{0,99}})?[ \t,;]{{0,4}}"
_PIPES: Final = re.compile(rf"\|{_LIST}\|(?:{_LIST}\|)*")
_SMALL = rf"[0-9]{{1,3}}(?:[ \t]{{0,3}}{_DASH}[ \t]{{0,3}}[0-9]{{1,3}})?"
_BRACKET = rf"\[[ \t]{{0,3}}{_SMALL}(?:{_BETWEEN}{_SMALL}){{0,99}}[ \t]{{0,3}}\]"
_BRACKETS: Final = re.compile(rf"{_BRACKET}(?:[ \t,;]{{0,3}}{_BRACKET})*")
_LAST: Final = re.compile(r"\|([^|]*)\|$")
_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "*": "*", "_": "_", "`": "`", '"': '"'}
_LIST_WORD: Final = re.compile(
    r"(?:and|to|ids?|sentences?)[:.,;]?|[sS#]?[0-9]+(?:[^\w\s][0-9]+)*[^\w\s]?", re.IGNORECASE
)
_FIRST: Final = re.compile(r"[ \t.!?\"'\u201c(]*+(.)")
_DIGIT: Final = re.compile(r"\d", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Citations that stand together.

    Attributes:
        start: of their first mark, in characters of the line.
        end: behind their last.
        ids: in their order, each once; also such as the note does not have.
    """

    start: int
    end: int
    ids: tuple[str, ...]


def read_ids(text: str, known_ids: Collection[str]) -> tuple[str, ...]:
    """Reads an id list.

    Args:
        text: what stands between the marks. Quotes and brackets around an id, leading zeros and `S` or `#` before a number play
            no part.
        known_ids: ids of the note's sentences, which are read as they are.

    Returns:
        The ids in their order, each once. What is no number is an id all the same, which no note has; so is a range that runs
        backwards or over more than `MAX_RANGE` sentences, as it stands there.
    """
    found: list[str] = []
    for part in _SEPARATOR.split(_AROUND_DASH.sub("-", text)):
        token = part.strip(_AROUND_ID)
        if any(map(str.isalnum, token)):
            found += _resolved(token, known_ids)
    return tuple(dict.fromkeys(found))


def pipe_groups(line: str, known_ids: Collection[str]) -> list[Group]:
    """Finds the groups of a line in the official form, and in forms near to it.

    The group at the line's end may hold any words (`|x|`: an id that no note has), and marks without letters or digits may stand
    behind it. One within the line holds numbers alone, and counts where another sentence follows it, or another group ends the
    line.

    Args:
        line: without its line end.
        known_ids: as in `read_ids`.

    Returns:
        They, from left to right. `||` is a group without ids.
    """
    end = _end(line)
    groups = [_group(line, found, known_ids) for found in _PIPES.finditer(line)]
    if not groups or groups[-1].end != end:
        last = _LAST.search(line[:end])
        if last is not None and _may_be_ids(last[1]):
            groups = [group for group in groups if group.end <= last.start()]
            groups.append(Group(start=last.start(), end=end, ids=read_ids(last[1], known_ids)))
    if not groups or groups[-1].end != end:
        groups = [group for group in groups if _sentence_begins(line, group.end)]
    return [_widened(line, group) for group in groups]


def bracket_groups(line: str, known_ids: Collection[str] = ()) -> list[Group]:
    """Finds the groups of a line that stand in square brackets, `[1, 2]` or `[1][2]`, wherever they are.

    Args:
        line: without its line end.
        known_ids: ids of the note's sentences, one of which a range begins with; without any it can begin anywhere.

    Returns:
        They, from left to right.
    """
    groups = []
    for found in _BRACKETS.finditer(line):
        text = re.sub(r"[\[\]]", " ", found[0])
        ids = read_ids(text, ())
        begun = {str(int(first)) for first in _RANGE_BEGIN.findall(text)}
        # "[120-80]" is a blood pressure, "[70-100]" what is normal.
        if all(id_.isdecimal() for id_ in ids) and (not known_ids or all(first in known_ids for first in begun)):
            groups.append(_widened(line, Group(start=found.start(), end=found.end(), ids=ids)))
    return groups


def _end(line: str) -> int:
    """Where a line ends, but for marks."""
    end = len(line)
    while end and line[end - 1] != "|" and not line[end - 1].isalnum():
        end -= 1
    return end


def _widened(line: str, group: Group) -> Group:
    """The group with the marks that stand close around it: `(|1|)`, `**[1]**`."""
    start, end = group.start, group.end
    while start and end < len(line) and _PAIRS.get(line[start - 1]) == line[end]:
        start, end = start - 1, end + 1
    return Group(start=start, end=end, ids=group.ids)


def _group(line: str, found: re.Match[str], known_ids: Collection[str]) -> Group:
    return Group(
        start=found.start(), end=found.end(), ids=read_ids(line[slice(*found.span())].replace("|", " "), known_ids)
    )


def _may_be_ids(text: str) -> bool:
    """Whether words between pipes may be meant as ids: two at most, or a list of numbers; others are a table's cell."""
    words = text.split()
    return (
        len(words) <= 2
        or (len(words) <= 4 and _DIGIT.search(text) is not None)
        or all(map(_LIST_WORD.fullmatch, words))
    )


def _sentence_begins(line: str, start: int) -> bool:
    found = _FIRST.match(line, start)
    return found is not None and found[1].isupper()


def _resolved(token: str, known_ids: Collection[str]) -> tuple[str, ...]:
    if token in known_ids:
        return (token,)
    if spread := _RANGE.fullmatch(token):
        first, last = int(spread[1]), int(spread[2])
        return tuple(map(str, range(first, last + 1))) if 0 <= last - first < MAX_RANGE else (token,)
    number = _NUMBER.fullmatch(token)
    return (number[1],) if number else (token,)
