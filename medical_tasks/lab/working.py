"""Reads the working of a reply.

Lines, list items, table rows and JSON steps, its numbers, and its arithmetic `a op b =
r`.

What cannot be read whole is passed over: half an expression would look like a wrong
one.
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
"""How many lines of a reply are looked at."""
MAX_CHAINS = 60
"""How many calculations are followed, from the last one back."""
MAX_EXPRESSION = 300
"""Longest expression that is worked out, in characters."""
ROUNDING = 0.02
"""Relative difference that numbers rounded on the way can make; a wrong result is further off."""

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
"""Commands and signs with what they mean; the raised circumflex is a power."""

# ---- Powers and bold type ----

_MORE_STARS = re.compile(r"\*{3,}")
_BASE = re.compile(r"[\w)\]}](\s?)$")
"""What ends so, with or without a blank, can be raised to a power."""
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
"""After these a number is the object of something that is not seen."""
_RANGE = re.compile(r"\s*\d[\d.,]*-\d[\d.,]*\s*")
_BLOOD_PRESSURE = re.compile(r"\d{2,3}/\d{2,3}")
_DATE = re.compile(r"\d{1,4}[/-]\d{1,2}[/-]\d{2,4}")

# ---- Lines, tables and JSON ----

_LIST_MARKER = re.compile(r"^(\s*)(?:[-*+•▪●–]|\(?\d{1,2}[.):]|\(?[a-z]\)|#{1,6})\s+")
_TABLE_RULE = re.compile(r"^[\s|:+=-]+$")
_ANSWER_KEY = re.compile(r"(?i)(?:final_?)?answer")
_COUNTER_KEY = re.compile(r"(?i)(?:step|no|nr|number|id|index|#)\.?")

# Heads of columns: of those about points, the one with the patient's own is wanted,
# not the one with the most that can be given.
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
        text: Its left side as it was read.
        value: What the left side gives.
        stated: What the reply says it gives; None where the right side is no number.
        numbers: Numbers of the left side.
        right: Whether the stated result is the value, up to rounding; True where
            nothing is stated.
    """

    text: str
    value: float
    stated: float | None
    numbers: tuple[float, ...]
    right: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """A calculation with those whose results go into it.

    Attributes:
        numbers: Numbers of all of them.
        value: What the last one gives once wrong results before it are put right.
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
        text: Its words in plain signs, cells and members joined by " ; ".
        name: The first cell or member of a row or object, "" for a line.
        points: What its column or member of points says.
        depth: Indentation of a list item; None for a line that is none.
    """

    text: str
    name: str = ""
    points: float | None = None
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Working:
    """What a reply shows of its way, without the final answer of a JSON object.

    Attributes:
        text: In plain signs.
        pieces: Its lines, rows and objects.
        numbers: Every number in it.
        equations: Its calculations, in order.
    """

    text: str
    pieces: tuple[Piece, ...]
    numbers: tuple[float, ...]
    equations: tuple[Equation, ...]


def close(a: float, b: float, tolerance: float = 0.005) -> bool:
    """Whether two numbers are the same up to a relative tolerance."""
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + 1e-12


def chains(equations: Sequence[Equation]) -> list[Chain]:
    """The calculations of a working, the last first, each put right and with those that lead to it.

    Of `2.1 * 3 = 7.5` and `7.5 + 1 = 8.5` the second gives 7.3: the first should have
    been 6.3.
    """
    right_for: dict[float, float] = {}
    found: list[Chain] = []
    for equation in equations[-MAX_CHAINS:]:
        value = _value(
            NUMBER.sub(lambda match: _put_right(match[0], right_for), equation.text)
        )
        value = equation.value if value is None else value
        stated = equation.stated
        if (
            stated is not None
            and _telling(stated)
            and not close(stated, value, ROUNDING)
        ):
            # Numbers are read without their sign.
            right_for[abs(stated)] = value if stated > 0 else -value

        numbers = set(equation.numbers)
        put_right = False
        for before in found:
            last = before.last
            results = [last.value] if last.stated is None else [last.value, last.stated]
            if any(close(abs(one), two, 0.002) for one in results for two in numbers):
                numbers |= before.numbers
                put_right |= before.put_right or not last.right

        found.insert(0, Chain(equation, frozenset(numbers), value, put_right))

    return found


def _put_right(written: str, right_for: Mapping[float, float]) -> str:
    value = right_for.get(_float(written))
    return written if value is None else f"({value!r})"


def _telling(number: float) -> bool:
    """Whether a number is hardly met by chance.

    A small whole one may be a constant of the formula.
    """
    return abs(number) >= _SMALL or not number.is_integer()


def read_working(response: str) -> Working:
    """Reads a reply."""
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
            found
            for piece in pieces
            for part in _CLAUSE_END.split(_TWO_ARGUMENTS.sub(r"\1", piece.text))
            for found in _equations(part)
        ),
    )


def _pieces(text: str) -> Iterator[Piece]:
    """The passages of a reply: members of its JSON, or else its lines.

    Example: `Here: {"age": 1, "chf": 0} total 1` gives `Here:`, `age: 1`, `chf: 0` and
    `total 1`. JSON may break lines within a text, and escape the breaks of a whole
    reply.
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
    """The texts of a JSON value.

    An object with a member for its points, and each step of a list, is one piece.
    """
    if depth > _MOST_DEPTH:
        return

    if isinstance(value, dict):
        yield from _object_members(value, name, depth)
    elif isinstance(value, list):
        for each in value:
            yield from _members(each, "", depth + 1)
    elif isinstance(value, str) and ("\n" in value or depth < 2 or not name):
        yield from _lines(value)
    elif value is not None:
        yield Piece(_plain(_spoken(name, value)), depth=0)


def _object_members(
    value: Mapping[str, object], name: str, depth: int
) -> Iterator[Piece]:
    """One piece of an object with a member for its points, else the pieces of its members."""
    keys = [key for key in value if not _is_passed_over(key, depth)]
    column = _column([key.replace("_", " ") for key in keys]) if depth else None
    points = None if column is None else _cell(str(value[keys[column]]))
    if column is None or points is None:
        for key in keys:
            yield from _members(value[key], key, depth + 1)

        return

    rest = [key for place, key in enumerate(keys) if place != column]
    texts = (text for key in rest if isinstance(text := value[key], str))
    first = name or next(texts, "")
    said = [name, *(_spoken(key, value[key]) for key in rest)]
    yield Piece(plain(" ; ".join(filter(None, said))), plain(first), points, depth=0)


def _is_passed_over(key: str, depth: int) -> bool:
    """Whether a member counts rows, or is the answer of the whole reply."""
    return bool(
        _COUNTER_KEY.fullmatch(key) or (depth == 0 and _ANSWER_KEY.fullmatch(key))
    )


def _spoken(key: str, value: object) -> str:
    if isinstance(value, bool):
        value = "yes" if value else "no"
    return f"{key.replace('_', ' ')}: {value}"


def _column(heads: list[str]) -> int | None:
    fitting = [
        place
        for place, head in enumerate(heads)
        if _POINTS_HEAD.search(head) and not _TOTAL_HEAD.search(head)
    ]
    given = [place for place in fitting if _PATIENTS_HEAD.search(heads[place])]
    plainly = [place for place in fitting if not _POSSIBLE_HEAD.search(heads[place])]
    best = given or plainly or fitting
    return best[-1] if best else None


def _cell(text: str) -> float | None:
    match = re.fullmatch(
        r"\W*?([+-]?\s?\d+(?:\.\d+)?)\s*(?:points?|pts?)?\W*", plain(text)
    )
    return float(match[1].replace(" ", "")) if match else None


def _lines(text: str) -> Iterator[Piece]:
    """The lines of a text; rows of a Markdown table are read with its head.

    Example:
        Under the head "| criterion | points |", the row "| age 70 | 1 |" is a piece of
        the text "age 70" with 1 point.
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
    """A table's row as one passage, with the points of their column.

    Example: `1`, `Age over 75` and `2`, with the points in the last column, give 2
    points to `Age over 75`; the first cell is the row's number.
    """
    points = (
        _cell(cells[column]) if column is not None and column < len(cells) else None
    )
    rest = [
        cell
        for place, cell in enumerate(cells)
        if cell and (points is None or place != column)
    ]
    if points is not None and re.fullmatch(r"\d+\.?", rest[0] if rest else ""):
        rest = rest[1:]  # the row's number

    named = [cell for cell in rest if not re.fullmatch(r"[\d.]+", cell)]
    joined = ": ".join(rest) if points is None else " ; ".join(rest)
    return Piece(
        joined, named[0] if named and points is not None else "", points, depth=0
    )


def _plain(text: str) -> str:
    """A line in plain signs: powers as `^`, LaTeX and programs as running text, no bold marks."""
    text = _RAISED_DECIMAL.sub(lambda match: f"^({match[0].translate(_RAISED)})", text)
    text = _program_as_text(_without_bold(text))
    if "\\" in text or "^{" in text:
        for _ in range(_LATEX_DEPTH):
            text = _LATEX_WRAPPED.sub(r" \1 ", text)
            text = _LATEX_POWER.sub(r"^(\1)", text)
            text = _LATEX_ROOT.sub(r" sqrt(\1)", text)
            text = _LATEX_FRACTION.sub(r" ((\1)/(\2)) ", text)

    for written, meant in _SPELLINGS:
        text = text.replace(written, meant)

    return plain(text).replace("[", "(").replace("]", ")")


def _without_bold(text: str) -> str:
    """Two stars are a power between a base and an exponent, else they open or close bold type.

    `**eGFR** = 142 * (1.1/0.7)**-1.2` becomes `eGFR = 142 * (1.1/0.7)^-1.2`.
    """
    first, *rest = _MORE_STARS.sub("", text).split("**")
    written, bold = first, False
    for place, part in enumerate(rest):
        base = _BASE.search(written[-2:])
        exponent = _EXPONENT.match(part) or (
            None if bold else _NAMED_EXPONENT.match(part)
        )
        power = base is not None and exponent is not None and base[1] == exponent[1]
        closes_bold = bold and place == len(rest) - 1
        if power and not closes_bold:
            written += "^" + part
        else:
            written += part
            bold = not bold

    return written


def _program_as_text(text: str) -> str:
    """`heart_rate = 1.5  # it was 118` becomes `heart rate = 1.5 (it was 118)`.

    `score += 1` adds a point.
    """
    text = _PROGRAM_NAME.sub(" ", text)
    code = _PROGRAM_COMMENT.match(text)
    if code is not None:
        remark = code["remark"].replace("(", ", ").replace(")", "")
        text = f"{code['code']} ({remark})"

    text = _PROGRAM_ADDS.sub(r"add \1 points", text)
    return _PROGRAM_SUBTRACTS.sub(r"subtract \1 points", text)


def _float(written: str) -> float:
    return float(written.replace(",", ""))


def _equations(line: str) -> list[Equation]:
    """The equations of a line that the reply works out itself.

    Example: `140 - (100 + 24) = 16` is one, and right. `BP 120/80` is none, since it is
    a pressure; `60/90 = 0.67` is one, since the result says that it is a quotient. `use
    10 - 12 of them` is none.
    """
    bare = _TIMES.sub(" * ", _UNIT.sub(" ", line))
    sides = _EQUALS.split(bare)
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
            continue  # "use 10 - 12 of them": it stands neither alone nor for a result

        pressure = _BLOOD_PRESSURE.fullmatch(expression) is not None
        if pressure and (stated is None or not close(stated, value, 0.1)):
            continue  # 120/80 is no quotient, 60/90 = 0.67 is one

        right = runs_on or stated is None or _agrees(value, stated, digits, expression)
        found.append(
            Equation(expression, value, None if runs_on else stated, numbers, right)
        )

    return found


def _expression_at_end(side: str, *, first: bool) -> str | None:
    """The expression a side of an equation consists of or ends with.

    None when it is not there whole.
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
    """Whether it is a part of something longer, a range, a date or a blood pressure."""
    open_ended = text[0] in "*/^×÷)+" or text[-1] in "*/^×÷(+-"
    unbalanced = text.count("(") != text.count(")")
    return bool(
        open_ended or unbalanced or _RANGE.fullmatch(text) or _DATE.search(text)
    )


def _value(expression: str) -> float | None:
    return formula_value(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expression))


def _result(side: str, value: float) -> tuple[float | None, int, bool]:
    """The number a right side states, its decimals, and whether it goes on from the value.

    "2 × 3 = 6 + 1 = 7" goes on.
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
