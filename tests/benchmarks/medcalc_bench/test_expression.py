"""The arithmetic interpreter: the same values as Python's own arithmetic, and nothing but arithmetic."""

from __future__ import annotations

import ast
import json
import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.expression import (
    CHECK,
    EXTRACTION,
    FORMULA,
    MAX_BITS,
    MAX_CHARACTERS,
    MAX_DEPTH,
    ExpressionError,
    evaluate,
    formula_value,
)

TABLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "value"), [*TABLES["values"], ("7//2, 7%3", (3, 1)), ("()", ())])
def test_values(text: str, value: object) -> None:
    assert evaluate(text, EXTRACTION) == value


@pytest.mark.parametrize("text", TABLES["no_value"])
def test_no_value(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, EXTRACTION)


def test_bounds() -> None:
    assert evaluate("(" * (MAX_DEPTH - 1) + "1" + ")" * (MAX_DEPTH - 1), {}) == 1
    with pytest.raises(ExpressionError, match="nested deeper"):
        evaluate("(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1), {})
    with pytest.raises(ExpressionError, match="nested deeper"):
        evaluate("2**" * (MAX_DEPTH + 1) + "2", {})
    with pytest.raises(ExpressionError, match="longer than"):
        evaluate("1" + " " * MAX_CHARACTERS, {})
    assert evaluate(f"2**{MAX_BITS // 2 - 1}", {}) == 2 ** (MAX_BITS // 2 - 1)
    with pytest.raises(ExpressionError):
        evaluate(f"2**{MAX_BITS}", {})
    assert evaluate("-" * (MAX_CHARACTERS - 2) + "1", {}) == 1  # signs do not nest


def test_no_table_leads_to_code_or_files() -> None:
    names = {*EXTRACTION, *CHECK, *FORMULA}
    assert len(names) > 100
    forbidden = (
        "eval exec compile open getattr setattr vars globals locals type input breakpoint import class builtins os sys"
    )
    assert not {name.split(".")[-1].strip("_") for name in names} & set(forbidden.split())


_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


class _TooLargeError(Exception):
    """A power Python would take its time over; `test_bounds` has those."""


def _by_python(node: ast.expr) -> float:
    """The value by Python's own grammar: its parser, and its operators on the leaves."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_by_python(operand)
        case ast.BinOp(left=left, op=sign, right=right):
            first, second = _by_python(left), _by_python(right)
            if isinstance(sign, ast.Pow) and abs(second) > 50:
                raise _TooLargeError
            return _OPERATORS[type(sign)](first, second)
        case _:
            raise TypeError(ast.dump(node))


_NUMBERS = st.sampled_from(["0", "1", "2", "3", "10", "0.5", "1.5", ".25", "7.", "1e1"])
_TEXTS = st.recursive(
    _NUMBERS,
    lambda part: st.one_of(
        st.builds("{} {} {}".format, part, st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), part),
        st.builds("({})".format, part),
        st.builds("-{}".format, part),
    ),
    max_leaves=6,
)


@given(_TEXTS)
@settings(deadline=None, max_examples=300)
def test_grammar_and_values_are_pythons(text: str) -> None:
    """Precedence and associativity, against Python's own parser."""
    tree = ast.parse(text, mode="eval").body
    try:
        expected = _by_python(tree)
    except _TooLargeError:
        return
    except (ArithmeticError, TypeError):
        with pytest.raises(ExpressionError):
            evaluate(text, {})
        return
    if isinstance(expected, int) and expected.bit_length() > 64:
        return  # a row of powers, beyond the bounds or not
    value = evaluate(text, {})
    assert type(value) is type(expected)
    assert value == expected or (math.isnan(value) and math.isnan(expected))


@given(st.text(alphabet="0123456789.+-*/()%e_j<>=,[]'\" \nabc#if", max_size=60))
@settings(deadline=None, max_examples=300)
def test_any_text_has_a_value_or_an_expression_error(text: str) -> None:
    try:
        evaluate(text, FORMULA)
    except ExpressionError:
        return


def test_formulas_as_models_write_them() -> None:
    values = TABLES["formulas_as_models_write_them"]
    assert {text: formula_value(text) for text in values} == pytest.approx(values, rel=1e-12)
    for text in ("140 - age", "", "1/0", "9**9**9", "True", "sqrt(-1)"):
        assert formula_value(text) is None
