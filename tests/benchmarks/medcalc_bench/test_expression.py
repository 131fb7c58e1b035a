"""The arithmetic interpreter: the same values as Python's own arithmetic, and nothing but arithmetic."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.numbers.expression import (
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
from tests.case_tables import tables

TABLES: dict[str, Any] = tables(__file__)


@pytest.mark.parametrize(
    ("text", "value"), [*TABLES["values"], ("7//2, 7%3", (3, 1)), ("()", ())]
)
def test_value_of_an_expression(text: str, value: object) -> None:
    assert evaluate(text, EXTRACTION) == value


@pytest.mark.parametrize("text", TABLES["no_value"])
def test_expressions_without_a_value(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, EXTRACTION)


def test_bounds_of_an_expression() -> None:
    assert evaluate("(" * 199 + "1" + ")" * 199, {}) == 1
    with pytest.raises(ExpressionError, match="no expression"):
        evaluate("(" * 201 + "1" + ")" * 201, {})  # as in Python
    with pytest.raises(ExpressionError, match="nested deeper"):
        evaluate("2**" * (MAX_DEPTH + 1) + "2", {})
    with pytest.raises(ExpressionError, match="longer than"):
        evaluate("1" + " " * MAX_CHARACTERS, {})
    assert evaluate(f"2**{MAX_BITS // 2 - 1}", {}) == 2 ** (MAX_BITS // 2 - 1)
    with pytest.raises(ExpressionError):
        evaluate(f"2**{MAX_BITS}", {})
    # Neither a run of signs nor a sum of many terms counts as nesting.
    assert evaluate("-" * (MAX_CHARACTERS - 2) + "1", {}) == 1
    assert evaluate("+".join("1" * 500), {}) == 500


def test_no_table_names_a_function_that_runs_code_or_opens_files() -> None:
    names = {*EXTRACTION, *CHECK, *FORMULA}
    assert len(names) > 100
    forbidden = "eval exec compile open getattr setattr vars globals locals type input breakpoint import class builtins os sys"
    assert not {name.split(".")[-1].strip("_") for name in names} & set(
        forbidden.split()
    )


@given(st.text(alphabet="0123456789.+-*/()%e_j<>=,[]'\" \nabc#if", max_size=60))
def test_any_text_has_a_value_or_an_expression_error(text: str) -> None:
    try:
        evaluate(text, FORMULA)
    except ExpressionError:
        return


def test_formulas_as_models_write_them() -> None:
    values = TABLES["formulas_as_models_write_them"]
    assert {text: formula_value(text) for text in values} == pytest.approx(
        values, rel=1e-12
    )
    for text in ("140 - age", "", "1/0", "9**9**9", "True", "sqrt(-1)"):
        assert formula_value(text) is None
