"""The labels' rounding: hand-made cases and laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.calculators.v1_labels.entities import round_v1

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15, allow_subnormal=False)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (24.97849, 24.978),  # 3 decimals above 0.001
        (0.0014, 0.001),
        (0.001, 0.001),  # not above 0.001: 3 significant digits
        (0.00049398, 0.000494),
        (9.2144e-05, 9.21e-05),
        (1e-06, 1e-06),
        (-12.345, -12.3),  # every negative number has 3 significant digits
        (-0.82841, -0.828),
        (-1234.5, -1230.0),
        (0, 0),
        (0.0, 0.0),
        (2.0625, 2.062),  # exact tie: half to even
        (70, 70),
    ],
)
def test_cases(x: float, expected: float) -> None:
    assert round_v1(x) == expected


@settings(deadline=None, max_examples=200)
@given(NUMBERS)
def test_it_moves_a_number_by_half_a_unit_at_most(x: float) -> None:
    unit = 1e-3 if x > 0.001 else 10.0 ** (math.floor(math.log10(abs(x))) - 2) if x else 0.0
    assert abs(round_v1(x) - x) <= unit * 0.5000001 + abs(x) * 1e-15
