"""Random effects: published figures, laws, and values that cannot be pooled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.intervals import student_quantile
from medical_tasks.site import random_effects
from medical_tasks.site.random_effects import (
    chi2_quantile,
    chi2_tail,
    hartung_knapp,
    pooled,
    range_quantile,
)

# Colditz et al. (1994), JAMA 271:698: trials of a vaccine against tuberculosis, cases
# and persons without, vaccinated and not. The worked example of metafor (Viechtbauer
# 2010, J Stat Softw 36(3)), whose documentation has the figures below.
CASES = [4, 6, 3, 62, 33, 180, 8, 505, 29, 17, 186, 5, 27]
WELL = [119, 300, 228, 13536, 5036, 1361, 2537, 87886, 7470, 1699, 50448, 2493, 16886]
CASES_WITHOUT = [11, 29, 11, 248, 47, 372, 10, 499, 45, 65, 141, 3, 29]
WELL_WITHOUT = [
    128, 274, 209, 12619, 5761, 1079, 619, 87892, 7232, 1600, 27197, 2338, 17825,
]  # fmt: skip


def trials() -> tuple[np.ndarray, np.ndarray]:
    """Log risk ratios and their variances."""
    a, b, c, d = map(np.array, (CASES, WELL, CASES_WITHOUT, WELL_WITHOUT))
    ratios = np.log(a / (a + b)) - np.log(c / (c + d))
    return ratios, 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)


def test_the_vaccine_trials_have_the_published_heterogeneity() -> None:
    result = pooled(*trials())
    assert float(result.q) == pytest.approx(152.2330, abs=1e-4)
    assert float(result.tau2) == pytest.approx(0.3181, abs=1e-4)
    ends = float(result.tau2_low), float(result.tau2_high)
    assert ends == pytest.approx((0.1197, 1.1115), abs=1e-4)
    assert float(result.i2_low) == pytest.approx(0.8192, abs=1e-4)
    assert float(result.i2_high) == pytest.approx(0.9768, abs=1e-4)


def test_the_vaccine_trials_have_the_published_mean() -> None:
    # At the tau² of REML, 0.3132: rma(yi, vi, test="knha") gives -0.7145, se 0.1807.
    mean, error = hartung_knapp(*trials(), np.array(0.31324))
    assert float(mean) == pytest.approx(-0.7145, abs=1e-4)
    assert float(error) == pytest.approx(0.1808, abs=1e-4)


@given(
    st.lists(st.floats(-5, 5), min_size=2, max_size=12, unique_by=lambda x: round(x, 3))
)
def test_exact_hospitals_give_the_t_intervals_of_their_values(
    values: list[float],
) -> None:
    result = pooled(values, [1e-12] * len(values))
    k, deviation = len(values), float(np.std(values, ddof=1))
    t = student_quantile(0.975, k - 1)
    assert float(result.value) == pytest.approx(float(np.mean(values)), abs=1e-5)
    own = float(result.high - result.value)
    assert own == pytest.approx(t * deviation / math.sqrt(k), rel=1e-3)
    further = float(result.new_high - result.value)
    assert further == pytest.approx(t * deviation * math.sqrt(1 + 1 / k), rel=5e-3)


@given(
    st.lists(
        st.tuples(st.floats(-3, 3), st.floats(0.001, 1.0)), min_size=2, max_size=9
    ),
    st.floats(-10, 10),
    st.floats(0.1, 10),
)
def test_another_unit_and_another_zero_change_nothing_else(
    sites: list[tuple[float, float]], zero: float, unit: float
) -> None:
    y, v = (np.array(column) for column in zip(*sites, strict=True))
    result, converted = pooled(y, v), pooled(zero + unit * y, unit**2 * v)
    for name in ("value", "low", "high", "new_low", "new_high"):
        expected = zero + unit * float(getattr(result, name))
        actual = float(getattr(converted, name))
        assert actual == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert float(converted.i2) == pytest.approx(float(result.i2), abs=1e-5)
    assert result.new_low <= result.value <= result.new_high
    assert 0.0 <= result.tau2_low <= result.tau2 + 1e-9 <= result.tau2_high + 2e-9


def test_an_array_of_sets_is_pooled_like_single_sets() -> None:
    generator = np.random.default_rng(5)
    y, v = generator.normal(size=(4, 3, 6)), generator.uniform(0.01, 0.5, (4, 3, 6))
    together = pooled(y, v)
    for index in np.ndindex(4, 3):
        single = pooled(y[index], v[index])
        for name in ("value", "low", "new_high", "tau2", "q_p"):
            assert getattr(together, name)[index] == pytest.approx(
                float(getattr(single, name)), rel=1e-9, abs=1e-12
            )


@pytest.mark.parametrize(
    ("freedom", "p", "quantile"),
    # Abramowitz and Stegun, table 26.8.
    [(1, 0.95, 3.84146), (2, 0.95, 5.99146), (4, 0.05, 0.710721), (9, 0.975, 19.0228)],
)
def test_quantiles_of_chi2(freedom: int, p: float, quantile: float) -> None:
    assert chi2_quantile(p, freedom) == pytest.approx(quantile, rel=1e-5)
    assert float(chi2_tail(quantile, freedom)) == pytest.approx(1 - p, rel=1e-4)


def test_quantiles_of_the_range() -> None:
    # Harter (1960), Ann Math Stat 31:1122: infinitely many degrees of freedom.
    quantiles = [range_quantile(0.95, means) for means in (2, 3, 5, 10)]
    assert quantiles == pytest.approx([2.772, 3.314, 3.858, 4.474], abs=1e-3)


@pytest.mark.parametrize(
    ("values", "variances"),
    [([0.1], [1.0]), ([0.1, 0.2], [1.0, 0.0]), ([0.1, math.nan], [1.0, 1.0])],
)
def test_values_that_cannot_be_pooled_are_refused(
    values: list[float], variances: list[float]
) -> None:
    with pytest.raises(ValueError, match="two or more finite values"):
        random_effects.pooled(values, variances)
