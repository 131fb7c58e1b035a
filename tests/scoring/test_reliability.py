"""Intraclass correlation and Krippendorff's alpha beside published examples, and laws of both."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.reliability import (
    all_alike,
    alpha_interval,
    interval_alpha,
    intraclass,
    intraclass_interval,
    within_sd,
)

# Shrout and Fleiss (1979), table 2: six targets, four judges.
SHROUT_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]

# Krippendorff (2011), Computing Krippendorff's alpha-reliability: example C, four
# observers of twelve units, nominal 0.743 and interval 0.849.
_: None = None
OBSERVERS: list[list[int | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
FOUR_OBSERVERS = list(zip(*OBSERVERS, strict=True))


def test_intraclass_correlations_of_shrout_and_fleiss() -> None:
    found = intraclass(SHROUT_FLEISS)
    assert round(found.one_way, 2) == 0.17
    assert round(found.absolute, 2) == 0.29
    assert round(found.consistency, 2) == 0.71
    estimate = intraclass_interval(SHROUT_FLEISS)
    assert estimate.value == pytest.approx(found.absolute)
    assert estimate.ci_low < estimate.value < estimate.ci_high


# Krippendorff (2011): example A, two observers of ten units in two classes, alpha
# 0.095; example B, two observers of twelve units in five classes, alpha 0.692.
TWO_CLASSES = list(zip("0100000010", "1110010000", strict=True))
FIVE_CLASSES = list(zip("aabbdcccedda", "babbbccceddd", strict=True))


@pytest.mark.parametrize(
    ("ratings", "alpha", "units"),
    [
        (TWO_CLASSES, 0.095, 10),
        (FIVE_CLASSES, 0.692, 12),
        (FOUR_OBSERVERS, 0.743, 11),  # the last unit was seen by one observer
    ],
)
def test_nominal_alpha_of_krippendorff(
    ratings: list[tuple[str | int | None, ...]], alpha: float, units: int
) -> None:
    found = alpha_interval(ratings)
    assert round(found.value, 3) == alpha
    assert found.n == units


def test_interval_alpha_of_krippendorff() -> None:
    table = [
        [math.nan if one is None else one for one in unit] for unit in FOUR_OBSERVERS
    ]
    assert round(interval_alpha(table).value, 3) == 0.849
    # Far from 0 it is the same to many digits.
    far = [[one + 1e6 for one in unit] for unit in table]
    assert interval_alpha(far).value == pytest.approx(interval_alpha(table).value)


NOTHING = (math.nan, math.nan, math.nan)


def ends(found: Estimate) -> tuple[float, float, float]:
    return found.value, found.ci_low, found.ci_high


def test_degenerate_rows() -> None:
    # Nothing at all, one unit, and one class alone: there is nothing to agree on.
    for ratings in ([], [["a", "b"]], [["a", "a"]] * 9, [["a", None]] * 9):
        assert ends(alpha_interval(ratings)) == pytest.approx(NOTHING, nan_ok=True)
    for table in (np.empty((0, 3)), [[0.5, 0.7]], [[0.5, 0.5]] * 9):
        assert ends(intraclass_interval(table)) == pytest.approx(NOTHING, nan_ok=True)
    assert math.isnan(intraclass([[1.0, 2.0]]).absolute)
    assert math.isnan(within_sd(np.empty((0, 2))))
    # All units agree: the interval holds what a few unseen ones might do.
    perfect = alpha_interval([["a"] * 3] * 20 + [["b"] * 3] * 20)
    assert perfect.value == perfect.ci_high == 1.0
    assert 0.5 < perfect.ci_low < 1.0
    same = intraclass_interval([[0.1, 0.1], [0.7, 0.7], [0.4, 0.4]])
    assert same.value == 1.0
    # All that differs is in one cluster: no interval.
    ratings = [["a", "b"]] + [["a", "a"]] * 5 + [["b", "b"]] * 5
    assert math.isnan(alpha_interval(ratings).ci_low)
    assert all_alike([["a", "a"], ["a", "b"]]) == [1.0, 0.0]
    assert math.isnan(all_alike([["a", None]])[0])


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"2 or more evaluations\); got \(2, 1\)"):
        intraclass_interval([[1.0], [2.0]])
    with pytest.raises(ValueError, match="must be finite"):
        within_sd([[1.0, math.nan]])
    with pytest.raises(ValueError, match="must have the same length"):
        alpha_interval([["a", "b"]], clusters=["x", "y"])


ROWS = st.tuples(*[st.integers(0, 4).map(float)] * 3).map(list)
TABLES = st.lists(ROWS, min_size=3, max_size=8)


@given(TABLES)
def test_laws(table: list[list[float]]) -> None:
    """Order and origin play no part, agreement is at most 1, and an interval holds its value."""
    found = intraclass_interval(table)
    assert ends(intraclass_interval(table[::-1])) == pytest.approx(
        ends(found), nan_ok=True
    )
    moved = [[one + 3.0 for one in row] for row in table]
    assert intraclass_interval(moved).value == pytest.approx(found.value, nan_ok=True)
    for each in (found, alpha_interval(table), interval_alpha(table)):
        assert math.isnan(each.value) or each.value <= 1.0
        if not math.isnan(each.ci_low):
            assert each.ci_low - 1e-9 <= each.value <= each.ci_high + 1e-9
    # Where every item's values are turned about, alpha does not know it.
    turned = [row[::-1] for row in table]
    assert alpha_interval(turned).value == pytest.approx(
        alpha_interval(table).value, nan_ok=True
    )


def test_units_of_one_cluster_count_once() -> None:
    """Units that stand four times, each with its copies in a cluster, are known no better."""
    generator = np.random.default_rng(7)
    table = generator.integers(0, 3, (40, 1)) + generator.integers(0, 2, (40, 3))
    names = np.repeat(np.arange(40), 4).tolist()
    for interval in (intraclass_interval, interval_alpha):
        once, copies = interval(table), np.repeat(table, 4, axis=0)
        together, apart = interval(copies, clusters=names), interval(copies)
        width = once.ci_high - once.ci_low
        assert together.ci_high - together.ci_low == pytest.approx(width, rel=0.05)
        assert apart.ci_high - apart.ci_low < 0.6 * width
