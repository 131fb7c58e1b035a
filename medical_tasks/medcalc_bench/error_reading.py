"""Reads the working of a reply: its reasoning text, the numbers it states, and its arithmetic `a op b ... = r`.

Arithmetic is worked out by `formulas.formula_value`; nothing of a reply is ever run. What cannot be read whole is passed
over: half an expression would look like a wrong one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from medical_tasks.medcalc_bench.decision import MAX_REPLY
from medical_tasks.medcalc_bench.formulas import formula_value
from medical_tasks.medcalc_bench.plain_text import plain

__all__ = ["NUMBER", "Equation", "Working", "close", "read_working"]

MAX_LINES = 400
"""How many lines of a reply are looked at."""
MAX_EXPRESSION = 300
"""Longest expression that is worked out, in characters."""
ROUNDING = 0.02
"""Relative difference that numbers rounded on the way can make; a wrong result is further off."""

NUMBER = re.compile(r"(?<![A-Za-z_\d.])(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.])\.\d+")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_ROOT = re.compile(r"\\sqrt\s*\{([^{}]*)\}")
_WRAPPED = re.compile(r"\\(?:text|mathrm|mathbf|textbf|boxed)\s*\{([^{}]*)\}")
_POWER = re.compile(r"\^\s*\{([^{}]*)\}")
_LATEX_DEPTH = 4
_UNIT = re.compile(
    r"(?<=[\d)])\s{0,2}(?:(?:mg|g|µg|mcg|ug|mmol|meq|umol|µmol|mosm|ml|l|iu|u|miu|µiu)/(?:dl|ml|l|kg|min|hr|h|day|d)|"
    r"kg/m(?:\^?2|²)?|kgs?|lbs?|pounds|mg|mcg|µg|ml|cm|mm ?hg|msec|msecs|ms|seconds?|sec|s|years?|yrs?|inches|inch|in|"
    r"meq|mmol|beats per minute|bpm|beats/min|points?|liters?|m(?:\^?2|²)?|days?|per day|weeks?|times|cm\^?2)"
    r"(?![A-Za-z0-9/])",
    re.IGNORECASE,
)
_TIMES = re.compile(r"(?<=[\d)])\s{0,2}[xX]\s{0,2}(?=[\d(.√]|ln|sqrt|exp)")
_TAIL = re.compile(r"(?:(?:sqrt|ln|exp)\s?(?=\()|[\d.,+\-*/^()×÷·√ ]|\be\^)+$")
_HEAD = re.compile(r"(?:(?:sqrt|ln|exp)\s?(?=\()|[\d.,+\-*/^()×÷·√ ])+")
# After these words a number is the object of something that is not seen.
_OPEN = re.compile(
    r"(?:\b(?:of|root|log|ln|exp|by|from|than|minus|plus|times|over|per|power|under|above|below|between|and|to|squared)"
    r"|\b[xX]|[-+*/^×÷·√<>≤≥%_~'\"\\|])\s*$",
    re.IGNORECASE,
)
_EQUALS = re.compile(r"\s*(?:≈|=|→)\s*")
_SIGN = re.compile(r"[-+*/^×÷√]|sqrt|ln|exp")
_RANGE = re.compile(r"\s*\d[\d.,]*-\d[\d.,]*\s*")
_PRESSURE = re.compile(r"\d{2,3}/\d{2,3}")
_CLAUSE = re.compile(r"(?<=\D)\.\s+|(?<=\d)\.\s+(?=[A-Za-z])|[;,]\s+")
_DATE = re.compile(r"\d{1,4}[/-]\d{1,2}[/-]\d{2,4}")


@dataclass(frozen=True, slots=True)
class Equation:
    """A stated calculation.

    Attributes:
        text: its left side as it was read.
        value: what the left side gives.
        stated: what the reply says it gives; None where the right side is no number.
        numbers: numbers of the left side.
        right: whether the stated result is the value, up to rounding; True where nothing is stated.
    """

    text: str
    value: float
    stated: float | None
    numbers: tuple[float, ...]
    right: bool


@dataclass(frozen=True, slots=True)
class Working:
    """What a reply shows of its way.

    Attributes:
        text: the reasoning in plain signs, without the final answer of a JSON object.
        lines: its lines.
        numbers: every number in it.
        equations: its calculations, in order.
    """

    text: str
    lines: tuple[str, ...]
    numbers: tuple[float, ...]
    equations: tuple[Equation, ...]


def close(a: float, b: float, tolerance: float = 0.005) -> bool:
    """Whether two numbers are the same up to a relative tolerance."""
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + 1e-12


def read_working(response: str) -> Working:
    """Reads a reply.

    Args:
        response: the model's raw text; its last `MAX_REPLY` characters are looked at.
    """
    text = _plain(_reasoning(response[-MAX_REPLY:]))
    lines = tuple(line.strip() for line in text.split("\n") if line.strip())[:MAX_LINES]
    numbers = tuple(_float(match[0]) for line in lines for match in NUMBER.finditer(line))
    return Working(
        text=text,
        lines=lines,
        numbers=numbers,
        equations=tuple(found for line in lines for part in _CLAUSE.split(line) for found in _equations(part)),
    )


def _reasoning(text: str) -> str:
    """What stands before the answer: the texts of a JSON object but its answer, or the whole reply."""
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        try:
            value = json.loads(text[start : end + 1], strict=False)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            inside = "\n".join(part for key, part in value.items() if key != "answer" and isinstance(part, str))
            return "\n".join((text[:start], inside, text[end + 1 :]))
    return text.replace("\\n", "\n") if "\n" not in text else text


def _plain(text: str) -> str:
    if "\\" in text or "^{" in text:
        for _ in range(_LATEX_DEPTH):
            text = _WRAPPED.sub(r" \1 ", text)
            text = _POWER.sub(r"^(\1)", text)
            text = _ROOT.sub(r" sqrt(\1)", text)
            text = _FRACTION.sub(r" ((\1)/(\2)) ", text)
    text = text.replace("\\left", "").replace("\\right", "").replace("\\ln", "ln").replace("\\exp", "exp")
    return plain(text).replace("[", "(").replace("]", ")")


def _float(written: str) -> float:
    return float(written.replace(",", ""))


def _equations(line: str) -> list[Equation]:
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
        stated, digits, runs_on = (None, 0, False) if following is None else _result(following, value)
        if place == 0 and stated is None and lead != expression:
            continue  # "use 10 - 12 of them": no calculation unless it stands for itself or gives a result
        right = runs_on or stated is None or _agrees(value, stated, digits, expression)
        found.append(Equation(expression, value, None if runs_on else stated, numbers, right))
    return found


def _expression_at_end(side: str, *, first: bool) -> str | None:
    """The expression a side of an equation consists of or ends with; None when it is not there whole."""
    side = side.strip().rstrip(":")
    if first:
        match = _TAIL.search(side)
        before = side[: match.start()] if match else ""
    else:
        match = _HEAD.match(side)
        before = ""
        rest = side[match.end() :] if match else ""
        if rest[:1].isalpha() and match and not match[0].endswith(" "):
            return None
    if match is None or _OPEN.search(before) or (before[-1:].isalnum() and not match[0][0].isspace()):
        return None
    text = match[0].strip(" ,.")
    if not text or len(text) > MAX_EXPRESSION or not _SIGN.search(text.lstrip("-+")):
        return None
    # A part of something longer, a range, a date, a blood pressure: nothing is computed.
    if text[0] in "*/^×÷)+" or text[-1] in "*/^×÷(+-" or text.count("(") != text.count(")"):
        return None
    if (
        (first and text[0] == "-" and before)
        or _RANGE.fullmatch(text)
        or _DATE.search(text)
        or _PRESSURE.fullmatch(text)
    ):
        return None
    return text


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
        return computed, 3, close(_float(first[0]), value, ROUNDING) and not close(computed, value, ROUNDING)
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
