"""Works out the arithmetic of a reply, which the authors' scorer hands to Python, with a bounded interpreter of our own.

Python parses the text and never runs it. NumPy's functions are scalar ones: an
undefined result is `nan` or `inf`, as there.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import statistics
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = [
    "CHECK",
    "EXTRACTION",
    "ExpressionError",
    "evaluate",
    "formula_value",
    "inside_str",
]


_SIGNS = str.maketrans(
    {
        "×": "*",
        "·": "*",
        "⋅": "*",
        "÷": "/",
        "−": "-",
        "–": "-",
        "²": "^2",
        "³": "^3",
        "√": " sqrt",
    }
)
_UNITS = re.compile(
    r"(?<=[0-9)])\s{0,3}(?:(?:mg|g|µg|mcg|mmol|mEq|umol|µmol|mOsm|mL|L|U|IU)/(?:d?L|dl|l|kg|min|hr|day)|kg/m\^?2|kg|mg|mL|"
    r"mm ?Hg|msec|ms|cm|years?|mEq|mmol|liters?)(?![A-Za-z0-9])"
)


def inside_str(text: str) -> str | None:
    """What stands between the first `str(` and the last closing bracket; None when the answer has no such form."""
    start, end = text.find("str("), text.rfind(")")
    return (
        text[start + len("str(") : end]
        if start >= 0 and end >= start + len("str(")
        else None
    )


def formula_value(text: str) -> float | None:
    """The value of arithmetic as a model writes it (units, `^`, a comment, brackets left open).

    None without a finite one.
    """
    expression = _UNITS.sub("", text.split("#")[0].translate(_SIGNS)).replace("^", "**")
    missing = expression.count("(") - expression.count(")")
    try:
        value = evaluate("(" * -missing + expression + ")" * missing, FORMULA)
        number = (
            float(value)
            if isinstance(value, int | float) and not isinstance(value, bool)
            else math.nan
        )
    except (ExpressionError, OverflowError):
        return None

    return number if math.isfinite(number) else None


MAX_CHARACTERS = 1_000
"""Longest expression that is read; formulas of models are a third of it at most."""
MAX_DEPTH = 100
"""Deepest nesting of what is computed, but for rows of operators or signs."""
MAX_BITS = 4_096
"""Largest whole number, as a size in bits: four times the largest float. Beyond it the expression has no value."""

Value = Any
"""A Python value of the interpreted language: bool, int, float, complex, str, None, list, tuple or a table's function."""

_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Value, Value], Value]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: type(a) is type(b) and a == b,
    ast.IsNot: lambda a, b: type(a) is not type(b) or a != b,
}
_BINARY: Mapping[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}


class ExpressionError(ValueError):
    """The text is no expression of the language, or has no value (division by zero, unknown name, too large)."""


def evaluate(text: str, names: Mapping[str, Value]) -> Value:
    """Works out an expression, whose `names` are constants and functions.

    `ExpressionError` where it has no value.
    """
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"longer than {MAX_CHARACTERS} characters")

    with warnings.catch_warnings():
        # an odd escape, `1if` or `~True` is no concern of the user
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text.lstrip(" \t"), "<arithmetic>", "eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ExpressionError("no expression") from None

        try:
            return _value(tree.body, names, MAX_DEPTH)
        except ExpressionError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError):
            raise ExpressionError("has no value") from None


def _value(node: ast.expr, names: Mapping[str, Value], depth: int) -> Value:
    """The value of a part. What is not needed is not computed: `1/0 if False else 2` is 2."""
    if not depth:
        raise ExpressionError(f"nested deeper than {MAX_DEPTH}")

    def of(operand: ast.expr) -> Value:
        return _value(operand, names, depth - 1)

    match node:
        case ast.Constant(
            value=bool() | int() | float() | complex() | str() | None as value
        ):
            return _bounded(value)
        case ast.Name(id=name):
            return names[name]
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return names[f"{module}.{name}"]
        case ast.BinOp():
            return _calculated(node, of)
        case ast.UnaryOp():
            return _signed(node, of)
        case ast.BoolOp():
            return _chosen(node, of)
        case ast.Compare():
            return _compared(node, of)
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            return of(body if of(test) else otherwise)
        case ast.Tuple(elts=members):
            return tuple(map(of, members))
        case ast.List(elts=members):
            return [*map(of, members)]
        case ast.Subscript(value=whole, slice=index) if isinstance(
            sequence := of(whole), list | tuple
        ):
            return sequence[of(index)]
        case ast.Call(func=function, args=arguments, keywords=keywords) if all(
            keyword.arg for keyword in keywords
        ):
            named = {str(keyword.arg): of(keyword.value) for keyword in keywords}
            return _bounded(of(function)(*map(of, arguments), **named))

    raise ExpressionError("no arithmetic")


def _calculated(node: ast.BinOp, of: Callable[[ast.expr], Value]) -> Value:
    """A row of operations, which is as deep a tree as it is long: `1 + 2 + 3` from the left."""
    row = [node]
    while isinstance(row[-1].left, ast.BinOp):
        row.append(row[-1].left)
    value = of(row[-1].left)
    for operation in reversed(row):
        value = _computed(operation.op, value, of(operation.right))
    return value


def _signed(node: ast.UnaryOp, of: Callable[[ast.expr], Value]) -> Value:
    """Works out a row of signs, such as `---5`.

    In a loop, since a reply may hold more of them than Python lets functions be nested.
    """
    signs = [node]
    while isinstance(signs[-1].operand, ast.UnaryOp):
        signs.append(signs[-1].operand)

    value = of(signs[-1].operand)
    for sign in reversed(signs):
        value = _bounded(_UNARY[type(sign.op)](value))

    return value


def _chosen(node: ast.BoolOp, of: Callable[[ast.expr], Value]) -> Value:
    """The first part that decides an `and` or `or`, else the last."""
    for operand in node.values:
        value = of(operand)
        if bool(value) is isinstance(node.op, ast.Or):
            break
    return value


def _compared(node: ast.Compare, of: Callable[[ast.expr], Value]) -> Value:
    """A chain of comparisons up to the first that does not hold."""
    value: Value = True
    first = of(node.left)
    for comparison, other in zip(node.ops, node.comparators, strict=True):
        second = of(other)
        value = _COMPARISONS[type(comparison)](first, second)
        if not value:
            break
        first = second
    return value


def _computed(sign: ast.operator, left: Value, right: Value) -> Value:
    """Works out one operator between two values.

    Raises:
        TypeError: a side is no number, and it is not text added to text.
        OverflowError: a whole number would have more than `MAX_BITS` bits, which is
            known before the power or shift is computed.
    """
    if not (
        isinstance(left, str) and isinstance(right, str) and isinstance(sign, ast.Add)
    ):
        if not isinstance(left, int | float | complex) or not isinstance(
            right, int | float | complex
        ):
            raise TypeError

        if isinstance(left, int) and isinstance(right, int):
            power = isinstance(sign, ast.Pow) and right > 0 and abs(left) > 1
            if (power and left.bit_length() * right > MAX_BITS) or (
                isinstance(sign, ast.LShift) and right > MAX_BITS
            ):
                raise OverflowError

    return _bounded(_BINARY[type(sign)](left, right))


def _bounded(value: Value) -> Value:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise OverflowError
    return value


Function = Callable[..., Any]

MAX_NDIGITS = 400
"""Places a whole number may be rounded to: beyond them Python builds a power of ten as large as it is told to."""


def _round(number: float, ndigits: int | None = None) -> float:
    if isinstance(number, int) and ndigits is not None and abs(ndigits) > MAX_NDIGITS:
        raise ValueError(f"rounding to {ndigits} places")
    return round(number, ndigits)


def _pow(base: float, exp: float) -> float:
    # Python's own would build a number of any size; as floats it overflows instead.
    if (
        isinstance(base, int)
        and isinstance(exp, int)
        and exp > 0
        and abs(base) > 1
        and base.bit_length() * exp > 4096
    ):
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
            return (
                -math.inf
                if function in (math.log, math.log2, math.log10) and arguments[0] == 0
                else math.nan
            )
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
    *(
        "cbrt",
        "ceil",
        "cos",
        "cosh",
        "exp",
        "exp2",
        "expm1",
        "fabs",
        "floor",
        "hypot",
        "log",
        "log10",
        "log1p",
        "log2",
    ),
    *("sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
_MATH_FUNCTIONS = (
    *_NUMPY_SCALAR,
    *(
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "copysign",
        "degrees",
        "dist",
        "fmod",
        "fsum",
        "pow",
    ),
    *("radians", "remainder"),
)

_MATH: dict[str, object] = {
    f"math.{name}": getattr(math, name) for name in _MATH_FUNCTIONS
}
_MATH |= {
    f"math.{name}": getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")
}
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
_BUILTIN: dict[str, object] = {
    "abs": abs,
    "float": float,
    "int": int,
    "min": min,
    "pow": _pow,
    "round": _round,
}

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

FORMULA: Mapping[str, object] = {
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
