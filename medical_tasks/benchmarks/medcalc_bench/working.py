"""Reads the working of a reply: lines, list items, table rows and JSON steps, its numbers, and its arithmetic `a op b = r`.

What cannot be read whole is passed over: half an expression would look like a wrong one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from medical_tasks.benchmarks.medcalc_bench.expression import formula_value
from medical_tasks.benchmarks.medcalc_bench.gold import MAX_REPLY
from medical_tasks.benchmarks.medcalc_bench.grammar import patterns
from medical_tasks.benchmarks.medcalc_bench.quantities import plain

__all__ = ["NUMBER", "Equation", "Piece", "Working", "close", "read_working"]

MAX_LINES = 400
"""How many lines of a reply are looked at."""
MAX_EXPRESSION = 300
"""Longest expression that is worked out, in characters."""
ROUNDING = 0.02
"""Relative difference that numbers rounded on the way can make; a wrong result is further off."""

NUMBER = re.compile(r"(?<![A-Za-z_\d.])(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.])\.\d+")
_LATEX_DEPTH = 4
_P = patterns("working")


@dataclass(frozen=True, slots=True)
class Equation:
    """A stated calculation."""

    text: str  # its left side as it was read
    value: float  # what the left side gives
    stated: float | None  # what the reply says it gives; None where the right side is no number
    numbers: tuple[float, ...]  # numbers of the left side
    right: (
        bool  # whether the stated result is the value, up to rounding; True where nothing is stated
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """A line of the working, a row of a table or an object of JSON."""

    text: str  # its words in plain signs, cells and members joined by " ; "
    name: str = ""  # the first cell or member of a row or object, "" for a line
    points: float | None = None  # what its column or member of points says
    depth: int | None = None  # indentation of a list item; None for a line that is none


@dataclass(frozen=True, slots=True)
class Working:
    """What a reply shows of its way, without the final answer of a JSON object."""

    text: str  # in plain signs
    pieces: tuple[Piece, ...]  # its lines, rows and objects
    numbers: tuple[float, ...]  # every number in it
    equations: tuple[Equation, ...]  # its calculations, in order


def close(a: float, b: float, tolerance: float = 0.005) -> bool:
    """Whether two numbers are the same up to a relative tolerance."""
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + 1e-12


def read_working(response: str) -> Working:
    """Reads a reply."""
    pieces = tuple(_pieces(response[-MAX_REPLY:]))[:MAX_LINES]
    return Working(
        text="\n".join(piece.text for piece in pieces),
        pieces=pieces,
        numbers=tuple(
            _float(match[0]) for piece in pieces for match in NUMBER.finditer(piece.text)
        ),
        equations=tuple(
            found
            for piece in pieces
            for part in _P["clause"].split(piece.text)
            for found in _equations(part)
        ),
    )


def _pieces(text: str) -> Iterator[Piece]:
    start, end = text.find("{"), text.rfind("}")
    first = text.find("[{")
    if 0 <= first < start:
        start, end = first, text.rfind("]")
    if 0 <= start < end:
        try:
            value = json.loads(text[start : end + 1], strict=False)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict | list):
            yield from _lines(text[:start])
            yield from _members(value, "", 0)
            yield from _lines(text[end + 1 :])
            return
    yield from _lines(text.replace("\\n", "\n") if "\n" not in text else text)


_MOST_DEPTH = 8


def _members(value: object, name: str, depth: int) -> Iterator[Piece]:
    """The texts of a JSON value; an object with a member for its points, and each step of a list, is one piece."""
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, dict):
        keys = [
            key
            for key in value
            if not _P["counter"].fullmatch(key) and not (depth == 0 and _P["answer"].fullmatch(key))
        ]
        column = _column([key.replace("_", " ") for key in keys]) if depth else None
        points = None if column is None else _cell(str(value[keys[column]]))
        if column is None or points is None:
            for key in keys:
                yield from _members(value[key], key, depth + 1)
            return
        rest = [key for place, key in enumerate(keys) if place != column]
        first = name or next((value[key] for key in rest if isinstance(value[key], str)), "")
        said = [name, *(_spoken(key, value[key]) for key in rest)]
        yield Piece(plain(" ; ".join(filter(None, said))), plain(first), points, depth=0)
    elif isinstance(value, list):
        for each in value:
            yield from _members(each, "", depth + 1)
    elif isinstance(value, str) and ("\n" in value or depth < 2 or not name):
        yield from _lines(value)
    elif value is not None:
        yield Piece(_plain(_spoken(name, value)), depth=0)


def _spoken(key: str, value: object) -> str:
    return f"{key.replace('_', ' ')}: {('yes' if value else 'no') if isinstance(value, bool) else value}"


def _column(heads: list[str]) -> int | None:
    fitting = [
        place
        for place, head in enumerate(heads)
        if _P["points"].search(head) and not _P["total"].search(head)
    ]
    given = [place for place in fitting if _P["given"].search(heads[place])]
    plainly = [place for place in fitting if not _P["possible"].search(heads[place])]
    best = given or plainly or fitting
    return best[-1] if best else None


def _cell(text: str) -> float | None:
    match = re.fullmatch(r"\W*?([+-]?\s?\d+(?:\.\d+)?)\s*(?:points?|pts?)?\W*", plain(text))
    return float(match[1].replace(" ", "")) if match else None


def _lines(text: str) -> Iterator[Piece]:
    """The lines of a text; rows of a Markdown table are read with its head."""
    column, heads = None, False
    for raw in text.split("\n"):
        if not raw.strip() or raw.lstrip().startswith("```"):
            heads = False
            continue
        if raw.count("|") >= 2 or (heads and "|" in raw):
            cells = [_plain(cell).strip() for cell in raw.strip().strip("|").split("|")]
            if _P["rule_line"].match(raw):
                continue
            if not heads:
                heads, column = True, _column(cells)
                if column is not None and _cell(cells[column]) is None:
                    continue
            yield _row(cells, column)
            continue
        heads = False
        marker = _P["marker"].match(raw)
        line = _plain(raw[marker.end() :] if marker else raw).strip()
        if line:
            yield Piece(line, depth=len(marker[1]) if marker else None)


def _row(cells: list[str], column: int | None) -> Piece:
    points = _cell(cells[column]) if column is not None and column < len(cells) else None
    rest = [
        cell for place, cell in enumerate(cells) if cell and (points is None or place != column)
    ]
    if points is not None and re.fullmatch(r"\d+\.?", rest[0] if rest else ""):
        rest = rest[1:]  # the row's number
    named = [cell for cell in rest if not re.fullmatch(r"[\d.]+", cell)]
    joined = ": ".join(rest) if points is None else " ; ".join(rest)
    return Piece(joined, named[0] if named and points is not None else "", points, depth=0)


def _plain(text: str) -> str:
    if "\\" in text or "^{" in text:
        for _ in range(_LATEX_DEPTH):
            text = _P["wrapped"].sub(r" \1 ", text)
            text = _P["power"].sub(r"^(\1)", text)
            text = _P["root"].sub(r" sqrt(\1)", text)
            text = _P["fraction"].sub(r" ((\1)/(\2)) ", text)
    text = (
        text.replace("\\left", "")
        .replace("\\right", "")
        .replace("\\ln", "ln")
        .replace("\\exp", "exp")
    )
    return plain(text).replace("[", "(").replace("]", ")")


def _float(written: str) -> float:
    return float(written.replace(",", ""))


def _equations(line: str) -> list[Equation]:
    bare = _P["times"].sub(" * ", _P["unit"].sub(" ", line))
    sides = _P["equals"].split(bare)
    found = []
    for place, side in enumerate(sides):
        lead = side.lstrip()
        expression = _expression_at_end(side, first=place == 0)
        if expression is None:
            continue
        value = _value(expression)
        if value is None:
            continue
        numbers = tuple(_float(match[0]) for match in NUMBER.finditer(expression))
        following = sides[place + 1] if place + 1 < len(sides) else None
        stated, digits, runs_on = (
            (None, 0, False) if following is None else _result(following, value)
        )
        if place == 0 and stated is None and lead != expression:
            continue  # "use 10 - 12 of them": no calculation unless it stands for itself or gives a result
        right = runs_on or stated is None or _agrees(value, stated, digits, expression)
        found.append(Equation(expression, value, None if runs_on else stated, numbers, right))
    return found


def _expression_at_end(side: str, *, first: bool) -> str | None:
    """The expression a side of an equation consists of or ends with; None when it is not there whole."""
    side = side.strip().rstrip(":")
    if first:
        match = _P["tail"].search(side)
        before = side[: match.start()] if match else ""
    else:
        match = _P["head"].match(side)
        before = ""
        rest = side[match.end() :] if match else ""
        if rest[:1].isalpha() and match and not match[0].endswith(" "):
            return None
    if (
        match is None
        or _P["open"].search(before)
        or (before[-1:].isalnum() and not match[0][0].isspace())
    ):
        return None
    text = match[0].strip(" ,.")
    if not text or len(text) > MAX_EXPRESSION or not _P["sign"].search(text.lstrip("-+")):
        return None
    # A part of something longer, a range, a date, a blood pressure: nothing is computed.
    if text[0] in "*/^×÷)+" or text[-1] in "*/^×÷(+-" or text.count("(") != text.count(")"):
        return None
    other = (
        (first and text[0] == "-" and before)
        or _P["range"].fullmatch(text)
        or _P["date"].search(text)
    )
    return None if other or _P["pressure"].fullmatch(text) else text


def _value(expression: str) -> float | None:
    return formula_value(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expression))


def _result(side: str, value: float) -> tuple[float | None, int, bool]:
    """The number a right side states, its decimals, and whether it goes on from the value ("2 × 3 = 6 + 1 = 7")."""
    expression = _expression_at_end(side, first=False)
    if expression is not None:
        first = NUMBER.search(expression)
        computed = _value(expression)
        if computed is None or first is None:
            return None, 0, False
        return (
            computed,
            3,
            close(_float(first[0]), value, ROUNDING) and not close(computed, value, ROUNDING),
        )
    match = re.match(r"[(\s$]*(-\s?)?(?=[\d.])", side)
    number = NUMBER.match(side, match.end()) if match else None
    if match is None or number is None:
        return None, 0, False
    rest = side[number.end() :].lstrip()
    if rest[:1] in "/^*×÷-:'\"%" and rest[:1]:
        return None, 0, False  # a date, a range, a ratio, a per cent
    stated = _float(number[0]) * (-1 if match[1] else 1)
    return stated, len(number[0].partition(".")[2]), False


def _agrees(value: float, stated: float, digits: int, expression: str) -> bool:
    if stated == 0 and abs(value) < 1:
        return True
    whole = not re.search(r"[/^√.]|sqrt|ln|exp", expression)
    slack = 0.0 if whole else ROUNDING * abs(value)
    return abs(value - stated) <= max(slack, 0.6 * 10.0**-digits)
