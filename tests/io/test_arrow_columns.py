"""Columns of arrow's tables beside those that arrow makes itself, and patterns compiled late."""

from __future__ import annotations

import math
import re

import pyarrow as pa
import pytest

from medical_tasks.io.arrow_columns import number_column, text_column
from medical_tasks.io.patterns import Pattern

TEXTS = [
    "",
    "weeks",
    None,
    "µg/dL ≥ 3",
    "two\nlines",
    None,
    "a",
    "b",
    "c",
    "\U0001f600",
]
NUMBERS = [0.0, 1, None, math.inf, -2.5, 1e300, None, 4, 5.0]


@pytest.mark.parametrize("size", range(len(TEXTS) + 1))
def test_texts_and_nulls(size: int) -> None:
    column = text_column(TEXTS[:size])
    column.validate(full=True)
    assert column.equals(pa.array(TEXTS[:size], pa.string()))


@pytest.mark.parametrize("size", range(len(NUMBERS) + 1))
def test_numbers_and_nulls(size: int) -> None:
    column = number_column(NUMBERS[:size])
    column.validate(full=True)
    assert column.equals(pa.array(NUMBERS[:size], pa.float64()))


def test_nan_is_a_number() -> None:
    column = number_column([math.nan, None])
    assert column.null_count == 1
    assert math.isnan(column[0].as_py())


def test_a_pattern_is_compiled_when_it_is_used() -> None:
    broken = Pattern("(")
    with pytest.raises(re.error):
        broken.search("text")
    assert Pattern(r"a(b)?", re.IGNORECASE).findall("AB a") == ["B", ""]
