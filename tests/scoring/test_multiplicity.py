import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.paired import holm


def test_by_hand() -> None:
    # Sorted: 0.005 * 4, 0.01 * 3, 0.03 * 2, and 0.04 * 1 raised to the one before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_a_test_that_could_not_be_made_is_no_member() -> None:
    adjusted = holm([0.01, math.nan, 0.04])
    assert adjusted[0::2] == pytest.approx([0.02, 0.04])
    assert math.isnan(adjusted[1])
    assert math.isnan(holm([math.nan])[0])


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(0, 1), max_size=20), st.randoms(use_true_random=False))
def test_laws(p_values: list[float], shuffler: random.Random) -> None:
    adjusted = holm(p_values)
    n = len(p_values)
    assert all(p <= a <= min(1.0, n * p) + 1e-12 for p, a in zip(p_values, adjusted, strict=True))
    order = list(range(n))
    shuffler.shuffle(order)
    assert holm([p_values[i] for i in order]) == [adjusted[i] for i in order]
    by_p = [a for _, a in sorted(zip(p_values, adjusted, strict=True))]
    assert by_p == sorted(by_p)


@pytest.mark.parametrize(
    ("p_values", "message"),
    [
        ([0.2, 1.5], "p_values must lie in 0 to 1; got 1.5"),
        ([0.2, -0.1], "p_values must lie in 0 to 1; got -0.1"),
        ([[0.2]], r"p_values must be one number a test; got shape \(1, 1\) of float64"),
        (["0.2"], r"p_values must be one number a test; got shape \(1,\) of <U3"),
    ],
)
def test_wrong_input_is_told(p_values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        holm(p_values)
