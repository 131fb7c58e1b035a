r"""Finds where a reply states its final answer.

In this order: the last complete `"answer": ...` of a JSON object, unless a `\boxed{}` or a "final answer" follows it; the
last of `\boxed{}`, "the final answer is", "Answer:", `<answer>` and `####`; the last lines of the text. An object that is
never closed is a reply that was cut off, and states no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from medical_tasks.medcalc_bench.decision import MAX_REPLY
from medical_tasks.medcalc_bench.numbers import REFUSED

__all__ = ["Statement", "final_statements"]

MAX_VALUE = 300
"""A JSON answer longer than this many characters is read as prose."""
MAX_LINE = 300
MAX_LINES = 8
"""How many lines from the end are read, and how much of each from its end, when nothing names the answer."""
MAX_CUES = 5
"""How many answers of each kind are tried, from the last on, when nothing can be read behind them."""
MAX_WORDS = 60
"""How many times the word "answer" is looked at, from the last on."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A piece of text that may give the answer.

    Attributes:
        text: the piece.
        reasoned: whether it is a line of running text, where the last number counts, and one after "is" or "=" before any
            other; in a bare answer the first number counts.
    """

    text: str
    reasoned: bool


_QUOTES = {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "：": ":", "İ": "i"}
"""The last one is the only letter that becomes two when lower-cased; places in the text must stay the same."""

_WORD = "answer"
_KEY_END = re.compile(r"(?P<quote>\\?[\"'])\s*+:\s*+")
_KEY_BEGIN = re.compile(r"(?P<quote>\\?[\"'])[a-z_ -]{0,30}$")
_BARE_KEY = re.compile(r"\s{0,3}:\s{0,4}")
_NEXT_KEY = r",\s*+(?:\\?[\"'][^\"'\n:{}]{1,60}\\?[\"']|[A-Za-z_]\w{0,60})\s{0,4}:"
_FOLLOWING_KEY = re.compile(_NEXT_KEY)
_CLOSING = {
    '"': re.compile(rf"(?<!\\)\"(?=\s*+(?:[}}\]]|{_NEXT_KEY}|$))"),
    "'": re.compile(rf"(?<!\\)'(?=\s*+(?:[}}\]]|{_NEXT_KEY}|$))"),
    '\\"': re.compile(r"\\\""),
    "\\'": re.compile(r"\\'"),
}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"'/\\])|n|([tbfr])(?![A-Za-z]))")

_BOX = re.compile(r"\\f?box(?:ed)?\s{0,3}\{")
_MAX_BOX = 400
_FINAL = re.compile(r"(?:final|correct)\s{1,3}$")
_FINAL_OTHER = re.compile(r"final\s{1,3}(?:score|result|value|estimate)\b")
_LINE_BEGIN = re.compile(r"(?:^|\n)[\s#*_>-]{0,8}$")
_LABEL = re.compile(r"(?=[\s*_]{0,4}(?:[:=\n-]|is\b))")
_AFTER = re.compile(
    r"[\s\"'*_`]{0,4}(?:\([^()\n]{0,60}\)\s{0,2})?[*_]{0,4}"
    r"(?:[^.\n:={}]{0,80}?\b(?:is|are|was|be|equals)\b[\s*_]{0,4}:?|[:=→>]|-(?=\s)|\n)[\s*_#`]{0,8}"
)
_CITATION = re.compile(r"\[\s{0,2}[0-9]{1,3}\s{0,2}\]")
_DIGIT = re.compile("[0-9]")


def final_statements(response: str) -> Iterator[Statement]:
    """The places where a reply may state its final answer, the likeliest first.

    Args:
        response: the model's raw text; its last `MAX_REPLY` characters are looked at.

    Yields:
        Pieces of text. The first in which an answer can be read is the answer; after an explicit JSON answer there is no
        second.
    """
    text = _spoken(response[-MAX_REPLY:])
    if not text.isascii():
        for sign, usual in _QUOTES.items():
            text = text.replace(sign, usual)
    words = _words(text)
    found, end = _json_answer(text, words)
    if end == 0:
        if not _is_cut_off(text):
            yield from _prose(text, words)
        return
    # "The final answer is based on 3 values" behind the object does not replace it, "the final answer is 25" does.
    yield from _pieces([place for place in _explicit(text, words, strong=True) if place[0] >= end], reasoned=True)
    if found is not None and len(found) > MAX_VALUE:
        yield from _prose(found, _words(found))
    elif found is not None:
        yield Statement(found, reasoned=False)


def _spoken(text: str) -> str:
    """The reply without the reasoning that some models put between <think> tags."""
    end = text.rfind("</think>")
    if end >= 0:
        return text[end + len("</think>") :]
    start = text.find("<think>")
    return text if start < 0 else text[:start]


def _is_cut_off(text: str) -> bool:
    """Whether the reply is an object that ends before it gets to its answer."""
    return text.lstrip(" \r\n\t`jsonJSON").startswith("{") and "}" not in text


def _words(text: str) -> list[int]:
    """Where the word "answer" stands, the last first."""
    lowered = text.lower()
    places: list[int] = []
    place = lowered.rfind(_WORD)
    while place >= 0 and len(places) < MAX_WORDS:
        places.append(place)
        place = lowered.rfind(_WORD, 0, place)
    return places


def _json_answer(text: str, words: list[int]) -> tuple[str | None, int]:
    """The last complete answer of an object, and where what comes after it begins; (None, 0) when there is no object.

    An object that is cut off before its end gives (None, place of its answer).
    """
    first, tried = text.find("{"), 0
    cut_off = 0
    for word in words:
        start = _key(text, word)
        if start is None:
            continue
        braces = 0 <= first < word
        value, end = _value(text, start, braces=braces)
        if value is not None:
            closing = text.find("}", end)
            return value, closing + 1 if closing >= 0 else end
        cut_off = cut_off or start
        tried += 1
        if tried == MAX_CUES:
            break
    return None, cut_off


def _key(text: str, word: int) -> int | None:
    """Where the value of a JSON key ending in "answer" begins; None when the word at this place is no key."""
    end = word + len(_WORD)
    closing = _KEY_END.match(text, end)
    if closing is not None:
        opening = _KEY_BEGIN.search(text[max(0, word - 33) : word].lower())
        return closing.end() if opening is not None and opening["quote"] == closing["quote"] else None
    bare = _BARE_KEY.match(text, end)
    return bare.end() if bare is not None and text[max(0, word - 5) : word].rstrip().endswith(("{", ",")) else None


def _value(text: str, start: int, *, braces: bool) -> tuple[str | None, int]:
    """The value that begins at `start` and the place behind it; None when it or its object is not closed."""
    opening = text[start : start + 2] if text[start : start + 1] == "\\" else text[start : start + 1]
    if opening in _CLOSING:
        closing = _CLOSING[opening].search(text, start + len(opening))
        if closing is None:
            return None, start
        value, end = _ESCAPE.sub(_unescaped, text[start + len(opening) : closing.start()]), closing.end()
    elif opening and opening in "[{":
        end = text.find("]" if opening == "[" else "}", start) + 1
        if end == 0:
            return None, start
        value = text[start:end]
    else:
        brace = text.find("}" if braces else "\n", start)
        end = brace if brace >= 0 else len(text)
        following = _FOLLOWING_KEY.search(text, start, end)
        end = following.start() if following else end
        value = text[start:end]
    if braces and text.find("}", end) < 0:
        return None, start
    return value.strip(), end


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return escape[2] or " "


def _prose(text: str, words: list[int]) -> Iterator[Statement]:
    yield from _pieces(_explicit(text, words, strong=True))
    yield from _pieces(_explicit(text, words, strong=False))
    lines = [line[-MAX_LINE:] for line in text.split("\n") if line and not line.isspace()][-MAX_LINES:]
    if lines and REFUSED.search(lines[-1]) and not _DIGIT.search(lines[-1]):
        return
    for line in reversed(lines):
        yield Statement(_CITATION.sub(" ", line), reasoned=True)


def _pieces(places: list[tuple[int, str]], *, reasoned: bool = False) -> Iterator[Statement]:
    """The pieces that are not empty, from the last place on."""
    return (Statement(piece, reasoned) for _, piece in sorted(places, reverse=True) if piece and not piece.isspace())


def _explicit(text: str, words: list[int], *, strong: bool) -> list[tuple[int, str]]:
    """Places that name the answer, and what they say it is.

    Strong: boxes, tags, "final answer", a line that begins with "Answer:". Weak: any other "answer" before "is" or ":".
    """
    places: list[tuple[int, str]] = []
    for word in words:
        end = word + len(_WORD)
        if text[word - 1 : end + 1].lower() == f"<{_WORD}>":
            places.append((word, _line(text, end + 1)))
        elif _is_strong(text, word) is strong:
            after = _AFTER.match(text, end)
            if after is not None:
                places.append((word, _line(text, after.end())))
        if len(places) == MAX_CUES:
            break
    if not strong:
        return places
    for marker, pattern in (("box", None), ("inal ", _FINAL_OTHER), ("####", None)):
        if marker in text:
            places += _marked(text, marker, pattern)
    return places


def _is_strong(text: str, word: int) -> bool:
    if not text[word - 1 : word].isspace() and text[word - 1 : word] not in ("", "*", "_", "#", ">", "-"):
        return False
    lead = text[max(0, word - 12) : word].lower()
    if _FINAL.search(lead):
        return True
    return (_LINE_BEGIN.search(lead) is not None or word <= 0) and _LABEL.match(text, word + len(_WORD)) is not None


def _marked(text: str, marker: str, pattern: re.Pattern[str] | None) -> list[tuple[int, str]]:
    """Boxes, "final score" and the like, lines after ####; the last `MAX_CUES` of each."""
    places: list[tuple[int, str]] = []
    place = text.rfind(marker)
    for _ in range(MAX_WORDS):
        if place < 0 or len(places) == MAX_CUES:
            break
        if marker == "####":
            places.append((place, _line(text, place + len(marker))))
        elif pattern is not None:
            found = pattern.match(text[max(0, place - 1) : place + 40].lower())
            after = _AFTER.match(text, max(0, place - 1) + found.end()) if found else None
            if after is not None:
                places.append((place, _line(text, after.end())))
        else:
            box = _BOX.match(text, max(0, place - 2)) or _BOX.match(text, max(0, place - 1))
            if box is not None:
                places.append((place, _box(text, box.end())))
        place = text.rfind(marker, 0, place)
    return places


def _line(text: str, start: int) -> str:
    """The rest of the line; of the next one where nothing follows on this one. A tag ends it."""
    return text[start : start + MAX_LINE].lstrip().split("\n", 1)[0].split("</", 1)[0]


def _box(text: str, start: int) -> str:
    """What stands between the brace before `start` and the one that closes it; "" when none does."""
    depth = 1
    for place in range(start, min(len(text), start + _MAX_BOX)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return ""
