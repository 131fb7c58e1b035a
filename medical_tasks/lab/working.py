"""Reads the working in a reply.

It consists of lines, list items, table rows and JSON steps, of numbers, and of
arithmetic `a op b = r`. An expression that cannot be read completely is skipped: half of
it would look like a wrong one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from medical_tasks.scoring.normal_form import MAX_REPLY
from medical_tasks.scoring.numbers.expression import formula_value
from medical_tasks.scoring.numbers.quantities import plain

__all__ = [
    "NUMBER",
    "Chain",
    "Equation",
    "Piece",
    "Working",
    "chains",
    "close",
    "read_working",
]

MAX_LINES = 400
"""The number of lines of a reply that are read."""
MAX_CHAINS = 60
"""The number of calculations that are followed, counted from the last one."""
MAX_EXPRESSION = 300
"""The longest expression that is evaluated, in characters."""
ROUNDING = 0.02
"""The largest relative difference due to rounded intermediate results; a wrong result differs more."""

NUMBER = re.compile(
    r"(?<![A-Za-z_\d.])(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.])\.\d+"
)
_SMALL = 10
_LATEX_DEPTH = 4

# ---- LaTeX: commands that matter to arithmetic ----

_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_LATEX_ROOT = re.compile(r"\\sqrt\s*\{([^{}]*)\}")
_LATEX_WRAPPED = re.compile(r"\\(?:text|mathrm|mathbf|textbf|boxed)\s*\{([^{}]*)\}")
_LATEX_POWER = re.compile(r"\^\s*\{([^{}]*)\}")

_SPELLINGS = (
    ("\\left", ""),
    ("\\right", ""),
    ("\\ln", "ln"),
    ("\\exp", "exp"),
    ("ˆ", "^"),
)
"""Commands and signs with their meaning; the modifier letter circumflex is a power."""

# ---- Powers and bold type ----

_MORE_STARS = re.compile(r"\*{3,}")
_BASE = re.compile(r"[\w)\]}](\s?)$")
"""The end of a text that can be raised to a power, with or without a blank."""
_EXPONENT = re.compile(r"(\s?)(?=[-+−(]?\s?[\d.(]|\()")
_RAISED_DIGITS = "[⁰¹²³⁴⁵⁶⁷⁸⁹]+"
_NAMED_EXPONENT = re.compile(r"()(?=\w)")
_RAISED_DECIMAL = re.compile(rf"[⁺⁻]?{_RAISED_DIGITS}[·⋅.˙]{_RAISED_DIGITS}")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻·⋅˙", "0123456789+-...")

# ---- Programs ----

_PROGRAM_NAME = re.compile(r"(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])")
_PROGRAM_COMMENT = re.compile(
    r"(?P<code>\s{0,40}[A-Za-z][\w ]{0,80}? = [^#\n]{0,200}?)\s{1,9}#\s{0,9}(?P<remark>\S.*)$"
)
_COUNTER = r"\b[\w ]{0,40}?(?:score|points|total)[\w ]{0,20}"
_PROGRAM_ADDS = re.compile(rf"{_COUNTER} \+= (\d+(?:\.\d+)?)")
_PROGRAM_SUBTRACTS = re.compile(rf"{_COUNTER} -= (\d+(?:\.\d+)?)")

# ---- Calculations ----

_FUNCTION = r"(?:sqrt|ln|exp|min|max)"
_TIMES = re.compile(rf"(?<=[\d)])\s{{0,2}}[xX]\s{{0,2}}(?=[\d(.√]|{_FUNCTION})")
"""The letter x between two numbers."""
_EXPRESSION_AT_END = re.compile(
    rf"(?:{_FUNCTION}\s?(?=\()|[\d.,+\-*/^()×÷·√ ]|\be\^)+$"
)
_EXPRESSION_AT_START = re.compile(rf"(?:{_FUNCTION}\s?(?=\()|[\d.,+\-*/^()×÷·√ ])+")
_EQUALS = re.compile(
    r"\s{0,9}(?:≈|=|→|\bequals\b|\b(?:which )?(?:results in|gives us|gives"
    r"|yields)\b(?: an?\b[A-Za-z ]{0,24}? of)?)"
    r"(?:\s*(?:approximately|about|roughly)\b)?\s*"
)
_OPERATION = re.compile(rf"[-+*/^×÷√]|{_FUNCTION}")
_CLAUSE_END = re.compile(
    r"(?<=\D)\.\s+|(?<=\d)\.\s+(?=[A-Za-z\d(])|[;,]\s+|:\s+(?=[\d(])"
)
_TWO_ARGUMENTS = re.compile(r"(\b(?:min|max)\s?\([^(),\n]{1,80},)\s+")
"""`min(a, b)`, whose comma ends no clause."""
_UNIT = re.compile(
    r"(?i)(?<=[\d)])\s{0,2}(?:"
    r"(?:mg|g|µg|mcg|ug|mmol|meq|umol|µmol|mosm|ml|l|iu|u|miu|µiu)/(?:dl|ml|l|kg|min|hr|h|day|d)"
    r"|kg/m(?:\^?2|²)?|kgs?|lbs?|pounds|mg|mcg|µg|ml|cm|mm ?hg|meq|mmol|liters?"
    r"|msecs|msec|ms|seconds?|sec|s|years?|yrs?|days?|per day|weeks?|times"
    r"|beats per minute|bpm|beats/min|points?"
    r"|inches|inch|in|cm\^?2|m(?:\^?2|²)?"
    r")(?![A-Za-z0-9/])"
)
_OPEN_BEFORE = re.compile(
    r"(?i)(?:"
    r"\b(?:of|root|log|ln|exp|by|from|than|minus|plus|times|over|per|power|under|above|below"
    r"|between|and|to|squared)"
    r"|\b[xX]|[-+*/^×÷·√<>≤≥%_~'\"\\|]"
    r")\s*$"
)
"""After these, a number is an operand of something that was not read."""
_RANGE = re.compile(r"\s*\d[\d.,]*-\d[\d.,]*\s*")
_BLOOD_PRESSURE = re.compile(r"\d{2,3}/\d{2,3}")
_DATE = re.compile(r"\d{1,4}[/-]\d{1,2}[/-]\d{2,4}")

# ---- Lines, tables and JSON ----

_LIST_MARKER = re.compile(r"^(\s*)(?:[-*+•▪●–]|\(?\d{1,2}[.):]|\(?[a-z]\)|#{1,6})\s+")
_TABLE_RULE = re.compile(r"^[\s|:+=-]+$")
_ANSWER_KEY = re.compile(r"(?i)(?:final_?)?answer")
_COUNTER_KEY = re.compile(r"(?i)(?:step|no|nr|number|id|index|#)\.?")

# Column heads: of several columns about points, the patient's is used, not the one with
# the possible points.
_POINTS_HEAD = re.compile(r"(?i)\b(?:points?|pts|score[ds]?|subscore)\b")
_PATIENTS_HEAD = re.compile(
    r"(?i)assign|award|given|patient|earned|actual|scored|applied"
)
_POSSIBLE_HEAD = re.compile(r"(?i)max|possib|available|if present|potential|range")
_TOTAL_HEAD = re.compile(r"(?i)\btotal|\bsum\b|overall|final|_score$")


@dataclass(frozen=True, slots=True)
class Equation:
    """A stated calculation.

    Attributes:
        text: The left side as it was read.
        value: The value of the left side.
        stated: The stated result; None if the right side is no number.
        numbers: The numbers of the left side.
        right: Whether the stated result is the value, up to rounding; True without a
            stated result.
    """

    text: str
    value: float
    stated: float | None
    numbers: tuple[float, ...]
    right: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """A calculation together with those whose results it uses.

    Attributes:
        last: The last calculation.
        numbers: The numbers of all calculations.
        value: The value of the last one after correcting wrong results before it.
        put_right: Whether one before it was wrong.
    """

    last: Equation
    numbers: frozenset[float]
    value: float
    put_right: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A line of the working, a row of a table or an object of JSON.

    Attributes:
        text: Its text in plain characters, with cells and members joined by " ; ".
        name: The first cell or member of a row or object, "" for a line.
        points: The number in its column or member for points.
        depth: The indentation of a list item; None for other lines.
    """

    text: str
    name: str = ""
    points: float | None = None
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Working:
    """The working in a reply, without the final answer of a JSON object.

    Attributes:
        text: The text in plain characters.
        pieces: Its lines, rows and objects.
        numbers: Every number in it.
        equations: Its calculations, in order.
    """

    text: str
    pieces: tuple[Piece, ...]
    numbers: tuple[float, ...]
    equations: tuple[Equation, ...]


def close(a: float, b: float, tolerance: float = 0.005) -> bool:
    """Whether two numbers are equal up to a relative tolerance."""
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + 1e-12


def chains(equations: Sequence[Equation]) -> list[Chain]:
    """Returns the calculations, the last first, each corrected and with those that lead to it.

    In `2.1 * 3 = 7.5` and `7.5 + 1 = 8.5` the value of the second is 7.3: the first should
    have been 6.3.
    """
    right_for: dict[float, float] = {}
    chains_so_far: list[Chain] = []
    for equation in equations[-MAX_CHAINS:]:
        value = _value(
            NUMBER.sub(lambda match: _put_right(match[0], right_for), equation.text)
        )
        value = equation.value if value is None else value
        stated = equation.stated
        if (
            stated is not None
            and _is_distinctive(stated)
            and not close(stated, value, ROUNDING)
        ):
            # Numbers are read without a sign.
            right_for[abs(stated)] = value if stated > 0 else -value

        numbers = set(equation.numbers)
        put_right = False
        for before in chains_so_far:
            last = before.last
            results = [last.value] if last.stated is None else [last.value, last.stated]
            if any(
                close(abs(result), number, 0.002)
                for result in results
                for number in numbers
            ):
                numbers |= before.numbers
                put_right |= before.put_right or not last.right

        chains_so_far.insert(0, Chain(equation, frozenset(numbers), value, put_right))

    return chains_so_far


def _put_right(number_text: str, right_for: Mapping[float, float]) -> str:
    value = right_for.get(_float(number_text))
    return number_text if value is None else f"({value!r})"


def _is_distinctive(number: float) -> bool:
    """Whether a number is unlikely to occur by chance: a small integer may be a constant."""
    return abs(number) >= _SMALL or not number.is_integer()


def read_working(response: str) -> Working:
    """Reads the working in a reply."""
    pieces = tuple(_pieces(response[-MAX_REPLY:]))[:MAX_LINES]
    return Working(
        text="\n".join(piece.text for piece in pieces),
        pieces=pieces,
        numbers=tuple(
            _float(match[0])
            for piece in pieces
            for match in NUMBER.finditer(piece.text)
        ),
        equations=tuple(
            equation
            for piece in pieces
            for clause in _CLAUSE_END.split(_TWO_ARGUMENTS.sub(r"\1", piece.text))
            for equation in _equations(clause)
        ),
    )


def _pieces(text: str) -> Iterator[Piece]:
    """Yields the passages of a reply: the members of its JSON, or else its lines.

    Example: `Here: {"age": 1, "chf": 0} total 1` gives `Here:`, `age: 1`, `chf: 0` and
    `total 1`. JSON may have line breaks within a text, and a whole reply may have
    escaped ones.
    """
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
    """Yields the pieces of a JSON value.

    An object with a member for its points, and each step of a list, is one piece.
    """
    if depth > _MOST_DEPTH:
        return

    if isinstance(value, dict):
        yield from _object_members(value, name, depth)
    elif isinstance(value, list):
        for element in value:
            yield from _members(element, "", depth + 1)
    elif isinstance(value, str) and ("\n" in value or depth < 2 or not name):
        yield from _lines(value)
    elif value is not None:
        yield Piece(_plain(_member_text(name, value)), depth=0)


def _object_members(
    value: Mapping[str, object], name: str, depth: int
) -> Iterator[Piece]:
    """Yields one piece for an object with a member for its points, else the pieces of its members."""
    keys = [key for key in value if not _is_passed_over(key, depth)]
    column = _column([key.replace("_", " ") for key in keys]) if depth else None
    points = None if column is None else _cell(str(value[keys[column]]))
    if column is None or points is None:
        for key in keys:
            yield from _members(value[key], key, depth + 1)

        return

    other_keys = [key for index, key in enumerate(keys) if index != column]
    texts = (text for key in other_keys if isinstance(text := value[key], str))
    first = name or next(texts, "")
    texts_of_members = [name, *(_member_text(key, value[key]) for key in other_keys)]
    yield Piece(
        plain(" ; ".join(filter(None, texts_of_members))), plain(first), points, depth=0
    )


def _is_passed_over(key: str, depth: int) -> bool:
    """Whether a member is a row number, or the answer of the whole reply."""
    return bool(
        _COUNTER_KEY.fullmatch(key) or (depth == 0 and _ANSWER_KEY.fullmatch(key))
    )


def _member_text(key: str, value: object) -> str:
    if isinstance(value, bool):
        value = "yes" if value else "no"
    return f"{key.replace('_', ' ')}: {value}"


def _column(heads: list[str]) -> int | None:
    candidates = [
        index
        for index, head in enumerate(heads)
        if _POINTS_HEAD.search(head) and not _TOTAL_HEAD.search(head)
    ]
    patients = [index for index in candidates if _PATIENTS_HEAD.search(heads[index])]
    definite = [
        index for index in candidates if not _POSSIBLE_HEAD.search(heads[index])
    ]
    best = patients or definite or candidates
    return best[-1] if best else None


def _cell(text: str) -> float | None:
    match = re.fullmatch(
        r"\W*?([+-]?\s?\d+(?:\.\d+)?)\s*(?:points?|pts?)?\W*", plain(text)
    )
    return float(match[1].replace(" ", "")) if match else None


def _lines(text: str) -> Iterator[Piece]:
    """Yields the lines of a text; the rows of a Markdown table are read with its header.

    Example:
        Under the header "| criterion | points |", the row "| age 70 | 1 |" is a piece
        with the text "age 70" and 1 point.
    """
    column, heads = None, False
    for raw in text.split("\n"):
        if not raw.strip() or raw.lstrip().startswith("```"):
            heads = False
            continue

        if raw.count("|") >= 2 or (heads and "|" in raw):
            cells = [_plain(cell).strip() for cell in raw.strip().strip("|").split("|")]
            if _TABLE_RULE.match(raw):
                continue

            if not heads:
                heads, column = True, _column(cells)
                if column is not None and _cell(cells[column]) is None:
                    continue

            yield _row(cells, column)
            continue

        heads = False
        marker = _LIST_MARKER.match(raw)
        line = _plain(raw[marker.end() :] if marker else raw).strip()
        if line:
            yield Piece(line, depth=len(marker[1]) if marker else None)


def _row(cells: list[str], column: int | None) -> Piece:
    """Returns a row of a table as one piece, with the points from their column.

    Example: `1`, `Age over 75` and `2`, with the points in the last column, give `Age
    over 75` 2 points; the first cell is the row's number.
    """
    points = (
        _cell(cells[column]) if column is not None and column < len(cells) else None
    )
    others = [
        cell
        for index, cell in enumerate(cells)
        if cell and (points is None or index != column)
    ]
    if points is not None and re.fullmatch(r"\d+\.?", others[0] if others else ""):
        others = others[1:]  # the row's number

    names = [cell for cell in others if not re.fullmatch(r"[\d.]+", cell)]
    joined = ": ".join(others) if points is None else " ; ".join(others)
    return Piece(
        joined, names[0] if names and points is not None else "", points, depth=0
    )


def _plain(text: str) -> str:
    """Writes a line in plain characters: powers as `^`, LaTeX and code as text, no bold marks."""
    text = _RAISED_DECIMAL.sub(lambda match: f"^({match[0].translate(_RAISED)})", text)
    text = _program_as_text(_without_bold(text))
    if "\\" in text or "^{" in text:
        for _ in range(_LATEX_DEPTH):
            text = _LATEX_WRAPPED.sub(r" \1 ", text)
            text = _LATEX_POWER.sub(r"^(\1)", text)
            text = _LATEX_ROOT.sub(r" sqrt(\1)", text)
            text = _LATEX_FRACTION.sub(r" ((\1)/(\2)) ", text)

    for command, meant in _SPELLINGS:
        text = text.replace(command, meant)

    return plain(text).replace("[", "(").replace("]", ")")


def _without_bold(text: str) -> str:
    """Reads two stars as a power between a base and an exponent, and removes them otherwise.

    `**eGFR** = 142 * (1.1/0.7)**-1.2` becomes `eGFR = 142 * (1.1/0.7)^-1.2`.
    """
    first, *rest = _MORE_STARS.sub("", text).split("**")
    result, bold = first, False
    for index, piece in enumerate(rest):
        base = _BASE.search(result[-2:])
        exponent = _EXPONENT.match(piece) or (
            None if bold else _NAMED_EXPONENT.match(piece)
        )
        power = base is not None and exponent is not None and base[1] == exponent[1]
        closes_bold = bold and index == len(rest) - 1
        if power and not closes_bold:
            result += "^" + piece
        else:
            result += piece
            bold = not bold

    return result


def _program_as_text(text: str) -> str:
    """Rewrites code as text: `heart_rate = 1.5  # it was 118` as `heart rate = 1.5 (it was 118)`.

    `score += 1` becomes `add 1 points`.
    """
    text = _PROGRAM_NAME.sub(" ", text)
    code = _PROGRAM_COMMENT.match(text)
    if code is not None:
        remark = code["remark"].replace("(", ", ").replace(")", "")
        text = f"{code['code']} ({remark})"

    text = _PROGRAM_ADDS.sub(r"add \1 points", text)
    return _PROGRAM_SUBTRACTS.sub(r"subtract \1 points", text)


def _float(text: str) -> float:
    return float(text.replace(",", ""))


def _equations(line: str) -> list[Equation]:
    """Returns the calculations on a line.

    Example: `140 - (100 + 24) = 16` is one, and right. `BP 120/80` is none, since it is
    a pressure; `60/90 = 0.67` is one, since its result shows that it is a quotient. `use
    10 - 12 of them` is none.
    """
    bare = _TIMES.sub(" * ", _UNIT.sub(" ", line))
    sides = _EQUALS.split(bare)
    equations = []
    for index, side in enumerate(sides):
        lead = side.lstrip()
        expression = _expression_at_end(side, first=index == 0)
        if expression is None:
            continue

        value = _value(expression)
        if value is None:
            continue

        numbers = tuple(_float(match[0]) for match in NUMBER.finditer(expression))
        following = sides[index + 1] if index + 1 < len(sides) else None
        stated, digits, runs_on = (
            (None, 0, False) if following is None else _result(following, value)
        )
        if index == 0 and stated is None and lead != expression:
            continue  # "use 10 - 12 of them": neither alone on a line nor with a result

        pressure = _BLOOD_PRESSURE.fullmatch(expression) is not None
        if pressure and (stated is None or not close(stated, value, 0.1)):
            continue  # 120/80 is not a quotient, 60/90 = 0.67 is

        right = runs_on or stated is None or _agrees(value, stated, digits, expression)
        equations.append(
            Equation(expression, value, None if runs_on else stated, numbers, right)
        )

    return equations


def _expression_at_end(side: str, *, first: bool) -> str | None:
    """Returns the expression that a side of an equation consists of or ends with.

    None if the side has only a part of it.
    """
    side = side.strip().rstrip(":")
    match = (_EXPRESSION_AT_END.search if first else _EXPRESSION_AT_START.match)(side)
    if match is None:
        return None

    before, behind = side[: match.start()], side[match.end() :]
    if not first and behind[:1].isalpha() and not match[0].endswith(" "):
        return None

    glued = before[-1:].isalnum() and not match[0][0].isspace()
    if glued or _OPEN_BEFORE.search(before):
        return None

    text = match[0].strip(" ,.")
    if (
        not text
        or len(text) > MAX_EXPRESSION
        or not _OPERATION.search(text.lstrip("-+"))
    ):
        return None

    if first and text[0] == "-" and before:
        return None  # a dash between words and an expression

    return None if _computes_nothing(text) else text


def _computes_nothing(text: str) -> bool:
    """Whether it is part of a longer expression, a range or a date."""
    open_ended = text[0] in "*/^×÷)+" or text[-1] in "*/^×÷(+-"
    unbalanced = text.count("(") != text.count(")")
    return bool(
        open_ended or unbalanced or _RANGE.fullmatch(text) or _DATE.search(text)
    )


def _value(expression: str) -> float | None:
    return formula_value(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expression))


def _result(side: str, value: float) -> tuple[float | None, int, bool]:
    """Returns the number on a right side, its decimals, and whether it continues from the value.

    "2 × 3 = 6 + 1 = 7" continues.
    """
    expression = _expression_at_end(side, first=False)
    if expression is not None:
        first = NUMBER.search(expression)
        computed = _value(expression)
        if computed is None or first is None:
            return None, 0, False

        return (
            computed,
            3,
            close(_float(first[0]), value, ROUNDING)
            and not close(computed, value, ROUNDING),
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
