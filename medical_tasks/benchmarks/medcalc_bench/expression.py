"""Works out the arithmetic of a reply, which the authors' scorer hands to Python, with a bounded interpreter of our own.

Text is never run as code. NumPy's functions are scalar ones: an undefined result is `nan` or `inf`, as there.
"""

from __future__ import annotations

import math
import operator
import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["CHECK", "EXTRACTION", "ExpressionError", "evaluate", "formula_value", "inside_str"]


_SIGNS = str.maketrans({"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "²": "^2", "³": "^3", "√": " sqrt"})
_UNITS = re.compile(
    r"(?<=[0-9)])\s{0,3}(?:(?:mg|g|µg|mcg|mmol|mEq|umol|µmol|mOsm|mL|L|U|IU)/(?:d?L|dl|l|kg|min|hr|day)|kg/m\^?2|kg|mg|mL|"
    r"mm ?Hg|msec|ms|cm|years?|mEq|mmol|liters?)(?![A-Za-z0-9])"
)


def inside_str(text: str) -> str | None:
    """What stands between the first `str(` and the last closing bracket; None when the answer has no such form."""
    start, end = text.find("str("), text.rfind(")")
    return text[start + len("str(") : end] if start >= 0 and end >= start + len("str(") else None


def formula_value(text: str) -> float | None:
    """The value of arithmetic as a model writes it (units, `^`, a comment, brackets left open); None without a finite one."""
    expression = _UNITS.sub("", text.split("#")[0].translate(_SIGNS)).replace("^", "**")
    missing = expression.count("(") - expression.count(")")
    try:
        value = evaluate("(" * -missing + expression + ")" * missing, FORMULA)
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except (ExpressionError, OverflowError):
        return None
    return number if math.isfinite(number) else None


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
    """Works out an expression, whose `names` are constants and functions; `ExpressionError` where it has no value."""
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
        return self.nested(self.conditional)

    def conditional(self) -> Value:
        value = self.operation(_OR)
        if self.take("if"):
            condition = self.operation(_OR)
            self.expect("else")
            otherwise = self.expression()
            value = _FAILED if isinstance(condition, _Failure) else (value if condition else otherwise)
        return value

    def operation(self, level: int) -> Value:
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
            elif sign in ("and", "or") and level <= (own := _AND if sign == "and" else _OR):
                self.at += 1
                right = self.operation(own + 1)
                left = right if not isinstance(left, _Failure) and bool(left) == (sign == "and") else left
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


class ExpressionError(ValueError):
    """The text is no expression of the language, or has no value (division by zero, unknown name, too large)."""


_TOKEN = re.compile(
    r"""[ \t\f]*+(?:
      (?P<number>
          0[xX](?:_?[0-9a-fA-F])++ | 0[oO](?:_?[0-7])++ | 0[bB](?:_?[01])++
        | (?: [0-9](?:_?[0-9])*+ (?:\.(?:[0-9](?:_?[0-9])*+)?+)?+ | \.[0-9](?:_?[0-9])*+ )
          (?:[eE][+-]?[0-9](?:_?[0-9])*+)?+ [jJ]?+
      )
    | (?P<name>[A-Za-z_][A-Za-z_0-9]*+ (?:\.[A-Za-z_][A-Za-z_0-9]*+)*+)
    | (?P<text>'[^'\\\n]*+' | "[^"\\\n]*+")
    | (?P<sign>\*\*|//|==|!=|<=|>=|<<|>>|[-+*/%()\[\],<>=&|^~])
    | (?P<newline>\n|\r\n?)
    | (?P<comment>\#[^\n]*+)
    )""",
    re.VERBOSE,
)
END = ("end", "")
_KEYWORDS = frozenset({"and", "or", "not", "if", "else", "in", "is", "lambda", "for", "await", "yield"})


def tokens(text: str) -> list[tuple[str, str]]:
    found_tokens: list[tuple[str, str]] = []
    position, depth = 0, 0
    text = text.lstrip(" \t").lstrip("\r\n").rstrip(" \t\f\r\n")
    if text[:1] in (" ", "\t"):
        raise ExpressionError("unexpected indent")
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ExpressionError(f"unexpected character {text[position]!r}")
        position = found.end()
        kind, written = found.lastgroup or "", found[found.lastgroup or 0]
        if kind == "newline" and depth <= 0:
            raise ExpressionError("more than one line")
        if kind in ("newline", "comment"):
            continue
        depth += (written in "([") - (written in ")]") if kind == "sign" else 0
        found_tokens.append(("word" if kind == "name" and written in _KEYWORDS else kind, written))
    found_tokens.append(END)
    return found_tokens


Function = Callable[..., Any]

MAX_NDIGITS = 400
"""Places a whole number may be rounded to: beyond them Python builds a power of ten as large as it is told to."""


def _round(number: float, ndigits: int | None = None) -> float:
    if isinstance(number, int) and ndigits is not None and abs(ndigits) > MAX_NDIGITS:
        raise ValueError(f"rounding to {ndigits} places")
    return round(number, ndigits)


def _pow(base: float, exp: float) -> float:
    # Python's own would build a number of any size; as floats it overflows instead.
    if isinstance(base, int) and isinstance(exp, int) and exp > 0 and abs(base) > 1 and base.bit_length() * exp > 4096:
        raise OverflowError("power too large")
    return base**exp  # type: ignore[no-any-return]


def _factorial(number: int) -> int:
    if number > 300:
        raise OverflowError("factorial too large")
    return math.factorial(number)


def _prod(values: Iterable[Any]) -> float:
    # As floats, for the same reason.
    return math.prod(float(value) for value in _flat(values))


def _quiet(function: Callable[..., float]) -> Function:
    """NumPy's way with arguments a function is not defined for: no error."""

    def scalar(*arguments: float) -> float:
        try:
            return float(function(*arguments))
        except ValueError:
            return -math.inf if function in (math.log, math.log2, math.log10) and arguments[0] == 0 else math.nan
        except OverflowError:
            return math.inf

    return scalar


def _np_round(a: float, decimals: int = 0) -> float:
    scale = 10.0**decimals
    return float(round(float(a) * scale)) / scale


def _flat(values: Iterable[Any] | float) -> list[Any]:
    if not isinstance(values, list | tuple):
        return [values]
    return [member for value in values for member in _flat(value)]


_NUMPY_SCALAR = (
    *("cbrt", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "fabs", "floor", "hypot", "log", "log10", "log1p", "log2"),
    *("sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
_MATH_FUNCTIONS = (
    *_NUMPY_SCALAR,
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "copysign", "degrees", "dist", "fmod", "fsum", "pow"),
    *("radians", "remainder"),
)

_MATH: dict[str, Any] = {f"math.{name}": getattr(math, name) for name in _MATH_FUNCTIONS}
_MATH |= {f"math.{name}": getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")}
_MATH |= {"math.factorial": _factorial, "math.prod": _prod}

_NUMPY: dict[str, Any] = {name: _quiet(getattr(math, name)) for name in _NUMPY_SCALAR}
_NUMPY |= {"e": math.e, "inf": math.inf, "nan": math.nan, "pi": math.pi}
_NUMPY |= {
    "abs": abs,
    "absolute": abs,
    "around": _np_round,
    "array": list,
    "clip": lambda a, a_min, a_max: min(max(a, a_min), a_max),
    "float64": float,
    "int64": int,
    "max": lambda values: max(_flat(values)),
    "maximum": lambda a, b: max(a, b),
    "mean": lambda values: statistics.fmean(_flat(values)),
    "median": lambda values: statistics.median(_flat(values)),
    "min": lambda values: min(_flat(values)),
    "minimum": lambda a, b: min(a, b),
    "power": _pow,
    "prod": _prod,
    "rint": lambda a: float(round(a)),
    "round": _np_round,
    "square": lambda a: a * a,
    "sum": lambda values: sum(_flat(values)),
}
_NP = {f"np.{name}": value for name, value in _NUMPY.items()}
_BUILTIN: dict[str, Any] = {"abs": abs, "float": float, "int": int, "min": min, "pow": _pow, "round": _round}

EXTRACTION: Mapping[str, Any] = {
    **_BUILTIN,
    **_MATH,
    **_NP,
    **{f"numpy.{name}": value for name, value in _NUMPY.items()},
}

CHECK: Mapping[str, Any] = {
    **_BUILTIN,
    **_NP,
    "bool": bool,
    "complex": complex,
    "len": len,
    "max": max,
    "sorted": sorted,
    "str": str,
    "sum": sum,
}

FORMULA: Mapping[str, Any] = {
    **EXTRACTION,
    **{
        name.removeprefix("math."): value
        for name, value in _MATH.items()
        if name not in ("math.pow", "math.inf", "math.nan")
    },
    "ln": math.log,
    "max": max,
    "math.max": max,
    "math.min": min,
    "sum": sum,
}
