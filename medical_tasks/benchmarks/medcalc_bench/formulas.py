"""Works out an answer given as `str(<arithmetic>)`, the form in which the authors' prompt asks for it."""

from __future__ import annotations

import math
import re

from medical_tasks.benchmarks.medcalc_bench.expression import ExpressionError, evaluate
from medical_tasks.benchmarks.medcalc_bench.expression_names import FORMULA

__all__ = ["formula_value", "inside_str"]

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
    """The value of an arithmetic expression as a model writes it.

    Units after numbers and a comment behind `#` do not count, `^` is a power, missing brackets are added.

    Returns:
        The number; None when the text is no arithmetic or has no finite value.
    """
    expression = _UNITS.sub("", text.split("#")[0].translate(_SIGNS)).replace("^", "**")
    missing = expression.count("(") - expression.count(")")
    try:
        value = evaluate("(" * -missing + expression + ")" * missing, FORMULA)
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except (ExpressionError, OverflowError):
        return None
    return number if math.isfinite(number) else None
