"""A small interpreter for arithmetic written in Python's notation; text is never run as code.

The authors' scorer hands model text to Python. What that gives for arithmetic is worked out here instead, by a parser of
our own over a fixed table of names, with bounds on everything that could grow: length, nesting, size of whole numbers.
There are no attributes, no loops, no assignments and no way to reach an object that is not in the table.

Part of the language: numbers, quoted strings without escapes, lists, tuples, + - * / // % **, comparisons, and/or/not,
`a if b else c`, subscripts, and calls of the functions in the table, also with keywords.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.expression_tokens import END, ExpressionError, tokens

__all__ = ["MAX_BITS", "MAX_CHARACTERS", "MAX_DEPTH", "ExpressionError", "evaluate"]

MAX_CHARACTERS = 1_000
"""Longest expression that is read; formulas of models are a third of it at most."""
MAX_DEPTH = 40
"""Deepest nesting of brackets and powers. Python itself stops at 200 brackets."""
MAX_BITS = 4_096
"""Largest whole number, as a size in bits: four times the largest float. Beyond it the expression has no value."""

Value = Any
"""A Python value of the interpreted language: bool, int, float, complex, str, None, list, tuple or a table's function."""


class _Failure:
    """The value of a part that went wrong. It fails the whole only if it is used: `1/0 if False else 2` is 2."""


_FAILED = _Failure()

_CONSTANTS: Mapping[str, Value] = {"True": True, "False": False, "None": None}

_COMPARISONS: Mapping[str, Callable[[Value, Value], Value]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
    "is": lambda a, b: type(a) is type(b) and a == b,
    "is not": lambda a, b: type(a) is not type(b) or a != b,
}
_BINARY: Mapping[str, tuple[int, Callable[[Value, Value], Value]]] = {
    "|": (5, operator.or_),
    "^": (6, operator.xor),
    "&": (7, operator.and_),
    "<<": (8, operator.lshift),
    ">>": (8, operator.rshift),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, operator.truediv),
    "//": (10, operator.floordiv),
    "%": (10, operator.mod),
}
_OR, _AND, _NOT, _COMPARE = 1, 2, 3, 4
_UNARY: Mapping[str, Callable[[Value], Value]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}


def evaluate(text: str, names: Mapping[str, Value]) -> Value:
    """Works out an arithmetic expression.

    Args:
        text: the expression.
        names: what its names mean: constants, and functions by plain or dotted name (`math.sqrt`). A function may raise
            ArithmeticError, LookupError, TypeError or ValueError for arguments it has no value for.

    Returns:
        The value Python's own evaluation gives.

    Raises:
        ExpressionError: The text is not in the language, is out of bounds, or has no value.
    """
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"longer than {MAX_CHARACTERS} characters")
    value = _Parser(tokens(text), names).whole()
    if isinstance(value, _Failure):
        raise ExpressionError("has no value")
    return value


class _Parser:
    """Reads and computes in one pass; parts that fail become `_FAILED` values, faults of form raise."""

    def __init__(self, tokens: list[tuple[str, str]], names: Mapping[str, Value]) -> None:
        self.tokens = tokens
        self.names = names
        self.at = 0
        self.depth = 0

    def whole(self) -> Value:
        value = self.expression()
        if self.take(","):
            value = self.sequence(value, "end", tuple)
        self.expect("")
        return value

    def expression(self) -> Value:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"nested deeper than {MAX_DEPTH}")
        value = self.operation(_OR)
        if self.take("if"):
            condition = self.operation(_OR)
            self.expect("else")
            otherwise = self.expression()
            value = _FAILED if isinstance(condition, _Failure) else (value if condition else otherwise)
        self.depth -= 1
        return value

    def operation(self, level: int) -> Value:
        """Everything that binds at least as tightly as `level`."""
        if level <= _NOT and self.take("not"):
            left = _apply(operator.not_, self.nested(lambda: self.operation(_NOT)))
        else:
            left = self.unary()
        while True:
            sign = self.tokens[self.at][1] if self.tokens[self.at][0] in ("sign", "word") else ""
            if sign in _BINARY and _BINARY[sign][0] >= level:
                self.at += 1
                precedence, function = _BINARY[sign]
                left = _compute(sign, function, left, self.operation(precedence + 1))
            elif level <= _COMPARE and self.comparison_ahead():
                left = self.comparisons(left)
            elif sign == "and" and level <= _AND:
                self.at += 1
                right = self.operation(_AND + 1)
                left = right if not isinstance(left, _Failure) and left else left
            elif sign == "or" and level <= _OR:
                self.at += 1
                right = self.operation(_OR + 1)
                left = right if not isinstance(left, _Failure) and not left else left
            else:
                return left

    def comparison_ahead(self) -> bool:
        kind, written = self.tokens[self.at]
        following = self.tokens[self.at + 1][1] if kind == "word" else ""
        return (kind in ("sign", "word") and written in _COMPARISONS) or (written == "not" and following == "in")

    def comparisons(self, left: Value) -> Value:
        """A chain such as `a < b <= c`, which stops at the first link that does not hold."""
        result: Value = True
        while self.comparison_ahead():
            sign = self.tokens[self.at][1]
            self.at += 1
            if sign == "not" or (sign == "is" and self.tokens[self.at][1] == "not"):
                sign += " " + self.tokens[self.at][1]
                self.at += 1
            right = self.operation(_COMPARE + 1)
            if not isinstance(result, _Failure) and result:
                result = _apply(_COMPARISONS[sign], left, right)
            left = right
        return result

    def unary(self) -> Value:
        signs: list[str] = []
        while self.tokens[self.at][0] == "sign" and self.tokens[self.at][1] in _UNARY:
            signs.append(self.tokens[self.at][1])
            self.at += 1
        value = self.primary()
        if self.take("**"):
            value = _compute("**", operator.pow, value, self.nested(self.unary))
        for sign in reversed(signs):
            value = _apply(_UNARY[sign], value)
        return value

    def primary(self) -> Value:
        kind, written = self.tokens[self.at]
        self.at += 1
        value: Value
        if kind == "number":
            value = _number(written)
        elif kind == "text":
            value = written[1:-1]
            while self.tokens[self.at][0] == "text":
                value += self.tokens[self.at][1][1:-1]
                self.at += 1
        elif kind == "name":
            value = _CONSTANTS[written] if written in _CONSTANTS else self.names.get(written, _FAILED)
        elif written == "(":
            value = self.group()
        elif written == "[":
            value = self.sequence(None, "]", list)
            self.expect("]")
        else:
            raise ExpressionError(f"unexpected {written!r}" if written else "ends too early")
        while self.tokens[self.at][0] == "sign" and self.tokens[self.at][1] in ("(", "["):
            value = self.call(value) if self.take("(") else self.subscript(value)
        return value

    def group(self) -> Value:
        if self.take(")"):
            return ()
        value = self.expression()
        if self.take(","):
            value = self.sequence(value, ")", tuple)
        self.expect(")")
        return value

    def sequence(self, first: Value, closing: str, build: Callable[[list[Value]], Value]) -> Value:
        """The members up to the closing bracket; `first` is one already read when a tuple is built."""
        members = [first] if build is tuple else []
        while self.tokens[self.at][1] != closing and self.tokens[self.at] != END:
            members.append(self.expression())
            if not self.take(","):
                break
        return _FAILED if any(isinstance(member, _Failure) for member in members) else build(members)

    def call(self, function: Value) -> Value:
        positional: list[Value] = []
        named: dict[str, Value] = {}
        while not self.take(")"):
            if self.tokens[self.at][0] == "name" and self.tokens[self.at + 1] == ("sign", "="):
                key = self.tokens[self.at][1]
                self.at += 2
                named[key] = self.expression()
            else:
                positional.append(self.expression())
            if not self.take(",") and self.tokens[self.at] != ("sign", ")"):
                raise ExpressionError("arguments are not separated by commas")
        if not callable(function):
            return _FAILED
        return _apply(function, *positional, **named)

    def subscript(self, value: Value) -> Value:
        self.expect("[")
        index = self.expression()
        self.expect("]")
        return _apply(operator.getitem, value, index) if isinstance(value, list | tuple) else _FAILED

    def nested(self, part: Callable[[], Value]) -> Value:
        """Runs a part that may hold itself again, one level deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"nested deeper than {MAX_DEPTH}")
        value = part()
        self.depth -= 1
        return value

    def take(self, written: str) -> bool:
        kind, ahead = self.tokens[self.at]
        if ahead != written or kind not in ("sign", "word"):
            return False
        self.at += 1
        return True

    def expect(self, written: str) -> None:
        kind, ahead = self.tokens[self.at]
        if ahead != written or kind not in ("sign", "word", "end"):
            raise ExpressionError(f"expected {written or 'the end'!r}, found {ahead or 'the end'!r}")
        self.at += 1


def _number(written: str) -> Value:
    digits = written.replace("_", "")
    if digits[:2].lower() in ("0x", "0o", "0b"):
        return _bounded(int(digits, 0))
    if digits[-1] in "jJ":
        return complex(digits)
    if not digits.isdecimal():
        return float(digits)
    if digits[0] == "0" and digits.strip("0"):
        raise ExpressionError(f"leading zeros in {written!r}")  # Python refuses the whole expression
    return _bounded(int(digits))


def _compute(sign: str, function: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    """One arithmetic step, refused before it grows without bound."""
    if isinstance(left, str) and isinstance(right, str) and sign == "+":
        return left + right
    if not isinstance(left, int | float | complex) or not isinstance(right, int | float | complex):
        return _FAILED
    if isinstance(left, int) and isinstance(right, int):
        if sign == "**" and right > 0 and abs(left) > 1 and left.bit_length() * right > MAX_BITS:
            return _FAILED
        if sign == "<<" and right > MAX_BITS:
            return _FAILED
    return _apply(function, left, right)


def _apply(function: Callable[..., Value], *arguments: Value, **named: Value) -> Value:
    if any(isinstance(argument, _Failure) for argument in (*arguments, *named.values())):
        return _FAILED
    try:
        return _bounded(function(*arguments, **named))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return _FAILED


def _bounded(value: Value) -> Value:
    return _FAILED if isinstance(value, int) and value.bit_length() > MAX_BITS else value
