import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.intervals import student_quantile
from medical_tasks.scoring.paired import detectable_difference, minimum_detectable_difference, paired_bootstrap


def test_known_sample_sizes() -> None:
    # Standard tables of the paired t test (alpha 0.05 two-sided, power 0.8): 34 pairs detect half a standard
    # deviation, 199 pairs a fifth (Cohen 1988; G*Power 3).
    assert detectable_difference(34, 1.0) == pytest.approx(0.5, abs=0.006)
    assert detectable_difference(199, 1.0) == pytest.approx(0.2, abs=0.001)


def test_large_samples_by_hand() -> None:
    # (1.959964 + 0.841621) * sd / sqrt(n), with t close to normal.
    assert detectable_difference(1_000_000, 0.5) == pytest.approx(2.801585 * 0.5 / 1000, rel=1e-4)


def test_runs_give_the_planned_number() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.random(80), generator.random(80)
    planned = detectable_difference(80, float((b - a).std(ddof=1)))
    assert minimum_detectable_difference(a, b) == pytest.approx(planned, rel=1e-9)
    assert minimum_detectable_difference(b, a) == pytest.approx(planned, rel=1e-9)


def test_clusters_by_hand() -> None:
    # Differences per cluster 0.3, 0.1, -0.1 of two items each: mean 0.05 an item, residuals 0.2, 0, -0.2;
    # standard error sqrt(3/2 * 0.08) / 6, two degrees of freedom.
    a, b = [0.5] * 6, [0.7, 0.6, 0.55, 0.55, 0.4, 0.5]
    expected = (student_quantile(0.975, 2) + student_quantile(0.8, 2)) * math.sqrt(0.12) / 6
    assert minimum_detectable_difference(a, b, clusters=list("xxyyzz")) == pytest.approx(expected, rel=1e-9)


def test_copies_detect_no_more() -> None:
    generator = np.random.default_rng(2)
    a, b = generator.random(30), generator.random(30)
    copied = minimum_detectable_difference(np.repeat(a, 4), np.repeat(b, 4), clusters=[i // 4 for i in range(120)])
    assert copied == pytest.approx(minimum_detectable_difference(a, b), rel=1e-9)
    assert detectable_difference(120, 0.3, design_effect=4.0) == pytest.approx(
        detectable_difference(30, 0.3), rel=1e-12
    )


def test_the_difference_is_found_as_often_as_promised() -> None:
    generator = np.random.default_rng(3)
    true = detectable_difference(50, 0.1)
    found = sum(
        paired_bootstrap(np.full(50, 0.4), np.clip(generator.normal(0.4 + true, 0.1, 50), 0, 1), resamples=400).p_value
        < 0.05
        for _ in range(300)
    )
    # Binomial(300, 0.8): 240 ± 7.
    assert 215 <= found <= 262


def test_identical_runs_promise_nothing() -> None:
    # 100 items without a difference: 1 - 0.025^(1/100) = 3.62 % may still differ by 1.
    values = [0, 1] * 50
    share = 1 - 0.025 ** (1 / 100)
    multiplier = student_quantile(0.975, 99) + student_quantile(0.8, 99)
    assert minimum_detectable_difference(values, values) == pytest.approx(multiplier * math.sqrt(share / 100), rel=1e-9)
    assert math.isnan(minimum_detectable_difference(values, values, limits=None))


@pytest.mark.parametrize("clusters", [["a", "a"], None])
def test_fewer_than_two_clusters_is_nan(clusters: Any) -> None:
    values: list[float] = [0.5, 0.7] if clusters else [0.5]
    assert math.isnan(minimum_detectable_difference(values, values, clusters=clusters))
    assert math.isnan(minimum_detectable_difference([], []))


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 5000), st.floats(0.01, 1.0), st.floats(1.0, 20.0), st.floats(0.5, 0.95))
def test_laws_of_planning(n: int, sd: float, design_effect: float, power: float) -> None:
    base = detectable_difference(n, sd, design_effect=design_effect, power=power)
    assert base > 0.0
    assert detectable_difference(2 * n, sd, design_effect=design_effect, power=power) < base
    assert detectable_difference(n, 2 * sd, design_effect=design_effect, power=power) == pytest.approx(2 * base)
    assert detectable_difference(n, sd, design_effect=2 * design_effect, power=power) > base
    assert detectable_difference(n, sd, design_effect=design_effect, power=(1 + power) / 2) > base
    assert detectable_difference(n, sd, design_effect=design_effect, power=power, alpha=0.01) > base


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((1, 0.2), {}, "n must be a whole number of at least 2; got 1"),
        ((9, -0.2), {}, "sd must be at least 0; got -0.2"),
        ((9, math.nan), {}, "sd must be at least 0; got nan"),
        ((9, 0.2), {"design_effect": 0.9}, "design_effect must be at least 1; got 0.9"),
        ((9, 0.2), {"power": 80}, "power must be strictly between 0 and 1; got 80"),
        ((9, 0.2), {"alpha": 0}, "alpha must be strictly between 0 and 1; got 0"),
    ],
)
def test_wrong_plans_are_told(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        detectable_difference(*arguments, **options)


def test_wrong_runs_are_told() -> None:
    with pytest.raises(ValueError, match="^a and b must have the same length, one entry an item; a has 1, b has 2$"):
        minimum_detectable_difference([1], [1, 0])
