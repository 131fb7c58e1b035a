"""The names an arithmetic expression may use, for each place where the authors' scorer evaluates one.

`EXTRACTION` is what they offer to a `str(...)` answer; `CHECK` what stands around when an extracted answer is evaluated
once more, as far as it is arithmetic; `FORMULA` is our own, wider table for the sane reading. NumPy's functions are
stood in for by scalar ones: an undefined result is `nan` or `inf`, as there, and no error.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["CHECK", "EXTRACTION", "FORMULA"]

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


def _clip(a: float, a_min: float, a_max: float) -> float:
    return min(max(a, a_min), a_max)


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
    "clip": _clip,
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
