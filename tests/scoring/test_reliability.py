"""Intraclass correlation and Krippendorff's alpha: published examples, degenerate tables, laws."""

from __future__ import annotations

import math
from collections.abc import Callable

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
from tests.scoring.interval_ends import ends, width

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
OBSERVERS = ["123321412---", "1233224125-3", "-3332342251-", "12332441251-"]
FOUR_OBSERVERS = [
    tuple(None if rating == "-" else int(rating) for rating in unit)
    for unit in zip(*OBSERVERS, strict=True)
]


def test_intraclass_correlations_of_shrout_and_fleiss() -> None:
    correlations = intraclass(SHROUT_FLEISS)
    assert round(correlations.one_way, 2) == 0.17
    assert round(correlations.absolute, 2) == 0.29
    assert round(correlations.consistency, 2) == 0.71
    estimate = intraclass_interval(SHROUT_FLEISS)
    assert estimate.value == pytest.approx(correlations.absolute)
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
        (FOUR_OBSERVERS, 0.743, 11),  # the last unit has a single rating
    ],
)
def test_nominal_alpha_of_krippendorff(
    ratings: list[tuple[str | int | None, ...]], alpha: float, units: int
) -> None:
    estimate = alpha_interval(ratings)
    assert round(estimate.value, 3) == alpha
    assert estimate.n == units


def test_interval_alpha_of_krippendorff() -> None:
    table = np.array(FOUR_OBSERVERS, dtype=np.float64)
    alpha = interval_alpha(table)
    assert round(alpha.value, 3) == 0.849
    # Far from 0 it is the same to many digits.
    assert interval_alpha(table + 1e6).value == pytest.approx(alpha.value)


@pytest.mark.parametrize(
    "estimate",
    [
        pytest.param(alpha_interval([]), id="alpha of nothing"),
        pytest.param(alpha_interval([["a", "b"]]), id="alpha of one unit"),
        pytest.param(alpha_interval([["a", "a"]] * 9), id="alpha of one class"),
        pytest.param(alpha_interval([["a", None]] * 9), id="alpha of one observer"),
        pytest.param(intraclass_interval(np.empty((0, 3))), id="ICC of nothing"),
        pytest.param(intraclass_interval([[0.5, 0.7]]), id="ICC of one unit"),
        pytest.param(intraclass_interval([[0.5, 0.5]] * 9), id="ICC of one value"),
    ],
)
def test_without_differences_between_units_there_is_no_value(
    estimate: Estimate,
) -> None:
    assert all(map(math.isnan, (estimate.value, *ends(estimate))))


def test_figures_of_too_few_units_are_nan() -> None:
    assert math.isnan(intraclass([[1.0, 2.0]]).absolute)
    assert math.isnan(within_sd(np.empty((0, 2))))


def test_perfect_agreement_leaves_uncertainty_about_other_units() -> None:
    perfect = alpha_interval([["a"] * 3] * 20 + [["b"] * 3] * 20)
    assert perfect.value == perfect.ci_high == 1.0
    assert 0.5 < perfect.ci_low < 1.0
    assert intraclass_interval([[0.1, 0.1], [0.7, 0.7], [0.4, 0.4]]).value == 1.0


def test_disagreement_on_a_single_unit_leaves_no_interval() -> None:
    ratings = [["a", "b"]] + [["a", "a"]] * 5 + [["b", "b"]] * 5
    assert math.isnan(alpha_interval(ratings).ci_low)


def test_units_whose_ratings_are_all_alike() -> None:
    assert all_alike([["a", "a"], ["a", "b"]]) == [1.0, 0.0]
    assert math.isnan(all_alike([["a", None]])[0])


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2 or more evaluations\); got \(2, 1\)"):
        intraclass_interval([[1.0], [2.0]])
    with pytest.raises(ValueError, match="must be finite"):
        within_sd([[1.0, math.nan]])
    with pytest.raises(ValueError, match="must have the same length"):
        alpha_interval([["a", "b"]], clusters=["x", "y"])


ROWS = st.tuples(*[st.integers(0, 4).map(float)] * 3).map(list)
TABLES = st.lists(ROWS, min_size=3, max_size=8)


@given(TABLES)
def test_order_and_origin_do_not_change_the_intraclass_correlation(
    table: list[list[float]],
) -> None:
    estimate = intraclass_interval(table)
    reordered = intraclass_interval(table[::-1])
    moved = intraclass_interval(np.array(table) + 3.0)
    assert reordered.value == pytest.approx(estimate.value, nan_ok=True)
    assert ends(reordered) == pytest.approx(ends(estimate), nan_ok=True)
    assert moved.value == pytest.approx(estimate.value, nan_ok=True)


@given(TABLES)
def test_the_order_of_observers_does_not_change_alpha(
    table: list[list[float]],
) -> None:
    alpha = alpha_interval(table).value
    reordered = alpha_interval([row[::-1] for row in table]).value
    assert reordered == pytest.approx(alpha, nan_ok=True)


@given(TABLES)
@pytest.mark.parametrize(
    "interval", [intraclass_interval, alpha_interval, interval_alpha]
)
def test_values_are_at_most_1_and_in_their_intervals(
    interval: Callable[..., Estimate], table: list[list[float]]
) -> None:
    estimate = interval(table)
    assert math.isnan(estimate.value) or estimate.value <= 1.0
    if not math.isnan(estimate.ci_low):
        assert estimate.ci_low - 1e-9 <= estimate.value <= estimate.ci_high + 1e-9


@pytest.mark.parametrize("interval", [intraclass_interval, interval_alpha])
def test_copies_of_a_unit_in_a_cluster_narrow_no_interval(
    interval: Callable[..., Estimate],
) -> None:
    generator = np.random.default_rng(7)
    table = generator.integers(0, 3, (40, 1)) + generator.integers(0, 2, (40, 3))
    copies = np.repeat(table, 4, axis=0)
    names = np.repeat(np.arange(40), 4).tolist()
    original = width(interval(table))
    assert width(interval(copies, clusters=names)) == pytest.approx(original, rel=0.05)
    assert width(interval(copies)) < 0.6 * original
