"""Finds where a reply states its answer (`docs/medcalc_scoring.md`); what a place states is for `statements` to say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.gold import MAX_REPLY
from medical_tasks.benchmarks.medcalc_bench.grammar import HERE, Q, patterns
from medical_tasks.benchmarks.medcalc_bench.statements import Statement, Subject, read_statement
from medical_tasks.scoring.reasoning import spoken

__all__ = ["MAX_VALUE", "final_words", "read_answer"]

MAX_VALUE: Final = 300
"""A field longer than this many characters is read as running text."""
MAX_LINE: Final = 300
MAX_LINES: Final = 8
"""How many lines from the end are read, and how much of each from its end, when nothing names the answer."""
MAX_HEADING: Final = 80
MAX_CUES: Final = 5
"""How many places of each kind are tried, from the last on, when nothing can be read behind them."""
MAX_WORDS: Final = 60
"""How many times the word "answer" is looked at, from the last on."""
CUT_OFF: Final = Statement(why="the reply is cut off before its answer")


_QUOTES: Final = {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "：": ":", "İ": "i"}
"""The last one is the only letter that becomes two when lower-cased; places in the text must stay the same."""

_WORD: Final = "answer"
_P: Final = patterns("reading")
_SAID: Final = patterns("statements")
_NEXT_KEY: Final = r",\s*+(?:\\?[\"'][^\"'\n:{}]{1,60}\\?[\"']|[A-Za-z_]\w{0,60})\s{0,4}:"
_FOLLOWING_KEY: Final = re.compile(_NEXT_KEY)
_CLOSING: Final = {
    '"': re.compile(rf"(?<!\\)\"(?=[\s;,.]*+(?://[^\n]*\s*+)?[}}\]]|{_NEXT_KEY}|\s*+$)"),
    "'": re.compile(rf"(?<!\\)'(?=[\s;,.]*+[}}\]]|{_NEXT_KEY}|\s*+$)"),
    '\\"': re.compile(r"\\\""),
    "\\'": re.compile(r"\\'"),
}
_MAX_BOX: Final = 400
_REFERENCE_BEGINS: Final = tuple("[rRsSlL")


def read_answer(response: str, subject: Subject) -> Statement:
    """Reads the answer of a reply."""
    text = _plain(response)
    words = _words(text)
    field, end = _field(text, words)
    if end == 0:
        return CUT_OFF if _is_cut_off(text) else _read_prose(text, words, subject)
    # "The final answer is based on 3 values" behind the object does not replace it, "the final answer is 25" does.
    for place, piece in sorted(
        (each for each in _named(text, words, strong=True) if each[0] >= end), reverse=True
    ):
        reading = _read_place(text, place, piece, subject)
        if reading.stated and reading.plainly:
            return reading
    if field is None:
        return CUT_OFF
    long = len(field) > MAX_VALUE
    reading = _read_prose(field, _words(field), subject) if long else _read_field(field, subject)
    return _unless_taken_back(reading, text[end:], subject)


def final_words(response: str) -> str:
    """The text of the answer's field, or the last line of a reply without one."""
    text = _plain(response)
    field, _ = _field(text, _words(text))
    return (
        field
        if field is not None
        else next((line for line in reversed(text.split("\n")) if line.strip()), "")
    )


def _plain(response: str) -> str:
    text = spoken(response[-MAX_REPLY:]).replace(Q, " ").replace(HERE, " ")
    if not text.isascii():
        for sign, usual in _QUOTES.items():
            text = text.replace(sign, usual)
    return text


def _read_field(field: str, subject: Subject) -> Statement:
    if field[:1] in ("{", "["):
        values = _P["value_key"].findall(field)
        if len(values) == 1:
            field = values[0]
        elif "week" not in field:
            field = _P["any_key"].sub(" ", field)  # a list, whatever its values are called
    return read_statement(field, subject)


def _unless_taken_back(reading: Statement, tail: str, subject: Subject) -> Statement:
    if not tail.strip(" \n`}]'\"") or _SAID["retraction"].search(tail[:MAX_LINE]) is None:
        return reading
    corrected = _read_prose(tail, _words(tail), subject)
    return corrected if corrected.stated else Statement(why="taken back", settled=True)


def _read_place(text: str, place: int, piece: tuple[int, int], subject: Subject) -> Statement:
    start = max(text.rfind("\n", 0, place) + 1, place - MAX_LINE)
    before, after = text[start : piece[0]].replace("\n", " "), text[slice(*piece)]
    if not after.strip():
        return Statement()
    return read_statement(f"{before}{HERE}{after}", subject)


def _read_prose(text: str, words: list[int], subject: Subject) -> Statement:
    for strong in (True, False):
        for place, piece in sorted(_named(text, words, strong=strong), reverse=True):
            reading = _read_place(text, place, piece, subject)
            if reading.settled:
                end = text.find("\n", piece[1])
                return _unless_taken_back(reading, text[piece[1] :] if end >= 0 else "", subject)
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    headings = (
        at
        for at, line in enumerate(lines)
        if at and len(line) <= MAX_HEADING and _P["heading"].fullmatch(line)
    )
    heading = next(headings, len(lines))
    best = Statement()
    if heading < len(lines):
        # What stands under "Interpretation:" or "References" explains the answer before it.
        best = _read_lines(lines[:heading], subject)
    return best if best.plainly else _read_lines(lines, subject)


def _read_lines(lines: list[str], subject: Subject) -> Statement:
    """The last of the lines that plainly states a quantity, else the one that does best."""
    best, why, taken_back = Statement(), Statement(), False
    for line in reversed(lines[-MAX_LINES:]):
        cited = (";" in line or line.lstrip()[:1] in _REFERENCE_BEGINS) and _P[
            "reference"
        ].fullmatch(line)
        if cited or _P["class"].match(line):
            continue
        statement = read_statement(_P["bullet"].sub("", line[-MAX_LINE:]), subject, last=True)
        if statement.plainly:
            return (
                statement
                if not taken_back
                else best
                if best.stated
                else Statement(why="taken back")
            )
        taken_back = taken_back or _SAID["retraction"].search(line) is not None
        if statement.stated and statement.strength > best.strength:
            best = statement
        why = why if why.why else statement
        if (
            not statement.stated
            and not best.stated
            and (statement.why == "taken back" or _ends_without(line))
        ):
            break
    return best if best.stated else why


def _ends_without(line: str) -> bool:
    return _P["digit"].search(line) is None and (
        _SAID["no_answer"].search(line) is not None or _SAID["retraction"].search(line) is not None
    )


def _is_cut_off(text: str) -> bool:
    if text.lstrip(" \r\n\t`jsonJSON").startswith("{") and "}" not in text:
        return True
    start = text.rfind("{")
    return start >= 0 and "}" not in text[start:] and _P["object"].match(text, start) is not None


def _words(text: str) -> list[int]:
    lowered = text.lower()
    places: list[int] = []
    place = lowered.rfind(_WORD)
    while place >= 0 and len(places) < MAX_WORDS:
        places.append(place)
        place = lowered.rfind(_WORD, 0, place)
    return places


def _field(text: str, words: list[int]) -> tuple[str | None, int]:
    """The last complete answer of an object and the place behind it; (None, 0) without an object, (None, its place) cut off."""
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
    """Where the value of the answer's key begins; None when the word is no key, or one of another answer ("wrong_answer")."""
    end = word + len(_WORD)
    closing = _P["key_end"].match(text, end)
    before = text[max(0, word - 43) : word].lower()
    if closing is not None:
        opening = _P["key_begin"].search(before)
        if opening is None or opening["quote"] != closing["quote"]:
            return None
        return closing.end() if _P["qualified"].fullmatch(opening["name"].strip()) else None
    bare = _P["bare_key"].match(text, end)
    opening = _P["bare_begin"].search(before)
    fits = (
        bare is not None
        and opening is not None
        and _P["qualified"].fullmatch(opening["name"].strip())
    )
    return bare.end() if bare is not None and fits else None


def _value(text: str, start: int, *, braces: bool) -> tuple[str | None, int]:
    """The value that begins at `start` and the place behind it; None when it or its object is not closed."""
    opening = (
        text[start : start + 2] if text[start : start + 1] == "\\" else text[start : start + 1]
    )
    if opening in _CLOSING:
        closing = _CLOSING[opening].search(text, start + len(opening))
        if closing is None:
            return None, start
        value, end = (
            _P["escape"].sub(_unescaped, text[start + len(opening) : closing.start()]),
            closing.end(),
        )
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
    return value.strip(" \t\r\n,;"), end


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return escape[2] or " "


Place = tuple[int, tuple[int, int]]
"""Where an answer is named, and from where to where it is given."""


def _named(text: str, words: list[int], *, strong: bool) -> Iterator[Place]:
    """Places that name the answer: boxes, tags, "final answer", a line beginning with "Answer:", or else any other "answer"."""
    found = 0
    for word in words:
        end = word + len(_WORD)
        if text[word - 1 : end + 1].lower() == f"<{_WORD}>":
            yield word, _line(text, end + 1)
        elif (
            _is_strong(text, word) is strong and (after := _P["after"].match(text, end)) is not None
        ):
            yield word, _line(text, after.end())
        else:
            continue
        found += 1
        if found == MAX_CUES:
            break
    if strong:
        for marker in ("box", "inal ", "####"):
            if marker in text:
                yield from _marked(text, marker)


def _is_strong(text: str, word: int) -> bool:
    if not text[word - 1 : word].isspace() and text[word - 1 : word] not in (
        "",
        "*",
        "_",
        "#",
        ">",
        "-",
    ):
        return False
    lead = text[max(0, word - 12) : word].lower()
    if _P["final"].search(lead):
        return True
    return (_P["line_begin"].search(lead) is not None or word <= 0) and _P["label"].match(
        text, word + len(_WORD)
    ) is not None


def _marked(text: str, marker: str) -> Iterator[Place]:
    """Boxes, "final score" and the like, lines after ####; the last `MAX_CUES` of each."""
    place, found = text.rfind(marker), 0
    for _ in range(MAX_WORDS):
        if place < 0 or found == MAX_CUES:
            break
        if marker == "####":
            yield place, _line(text, place + len(marker))
            found += 1
        elif marker == "box":
            box = _P["box"].match(text, max(0, place - 2)) or _P["box"].match(
                text, max(0, place - 1)
            )
            if box is not None:
                yield box.start(), _box(text, box.end())
                found += 1
        else:
            start = max(0, place - 1)
            named = _P["final_other"].match(text[start : place + 40].lower())
            after = _P["after"].match(text, start + named.end()) if named else None
            if after is not None:
                yield start, _line(text, after.end())
                found += 1
        place = text.rfind(marker, 0, place)


def _line(text: str, start: int) -> tuple[int, int]:
    """The rest of the line, or the next one where nothing follows on this one. A tag ends it."""
    while start < len(text) and text[start].isspace():
        start += 1
    end = min(start + MAX_LINE, len(text))
    for sign in ("\n", "</"):
        found = text.find(sign, start, end)
        end = found if found >= 0 else end
    return start, end


def _box(text: str, start: int) -> tuple[int, int]:
    """From behind the brace before `start` to the one that closes it; empty when none does."""
    depth = 1
    for place in range(start, min(len(text), start + _MAX_BOX)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return start, place
    return start, start
