"""Score intervals of means, ratios and averages: by hand, laws, and simulated samples."""

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.estimates import Estimate, Floats, as_json
from medical_tasks.scoring.intervals import student_quantile, wilson
from medical_tasks.scoring.means import (
    average_interval,
    mean_interval,
    ratio_interval,
    score_ends,
)
from tests.scoring.interval_ends import ends, width

COUNTS = (0.0, math.inf)
UNSEEN_20 = 1 - 0.025 ** (1 / 20)


def test_between_two_limits_it_is_wilsons_at_the_effective_size() -> None:
    values = np.random.default_rng(3).beta(6.0, 1.0, 50)
    estimate = mean_interval(values)
    size = estimate.value * (1.0 - estimate.value) / (values.var(ddof=1) / 50)
    expected = wilson(estimate.value, float(size), student_quantile(0.975, 49.0))
    assert ends(estimate) == pytest.approx(expected, abs=1e-12)
    # As percentages or as a loss, the same scores have the same interval.
    assert ends(mean_interval(values * 100, limits=(0.0, 100.0))) == pytest.approx(
        tuple(100 * end for end in expected)
    )
    assert ends(mean_interval(-values, limits=(-1.0, 0.0))) == pytest.approx(
        (-expected[1], -expected[0])
    )


def test_counts_with_the_spread_of_poisson() -> None:
    # The variance 0.8 is at most the mean 1.0: (θ̂ - θ)² = t² θ / 5.
    estimate = mean_interval([0, 0, 1, 2, 2], limits=COUNTS)
    a = student_quantile(0.975, 4.0) ** 2 * (1.0 / 5.0)
    root = math.sqrt(4.0 * a + a * a)
    assert ends(estimate) == pytest.approx(
        ((2.0 + a - root) / 2.0, (2.0 + a + root) / 2.0)
    )


def test_counts_with_a_larger_spread() -> None:
    # Both ends solve the equation with bθ², b > 0.
    values = np.array([0.0] * 30 + [1.0] * 6 + [5.0] * 4)
    estimate = mean_interval(values, limits=COUNTS)
    mean, variance, n = values.mean(), values.var(ddof=1), 40
    t = student_quantile(0.975, 39.0)
    for end in ends(estimate):
        allowed = end / n + (variance - mean) / mean**2 * end**2 / n
        assert (mean - end) ** 2 == pytest.approx(t**2 * allowed)
    t_low = mean - t * math.sqrt(variance / n)
    assert estimate.ci_low < t_low + 0.2 < estimate.ci_high
    # With an upper limit alone, counts are those of what is missing from it.
    mirrored = mean_interval(5.0 - values, limits=(-math.inf, 5.0))
    assert ends(mirrored) == pytest.approx(
        (5.0 - estimate.ci_high, 5.0 - estimate.ci_low)
    )


def test_counts_of_nothing_and_of_two_answers() -> None:
    # None in 100 answers: what Poisson counts of a mean up to t²/100 would still give.
    zeros = mean_interval([0.0] * 100, limits=COUNTS)
    assert ends(zeros) == pytest.approx((0.0, student_quantile(0.975, 99.0) ** 2 / 100))
    # Two answers far apart do not bound the mean from above.
    assert math.isnan(mean_interval([0.0, 9.0], limits=COUNTS).ci_high)


def test_without_limits_it_is_the_t_interval() -> None:
    values = np.random.default_rng(4).normal(120.0, 15.0, 80)
    half = student_quantile(0.975, 79.0) * float(values.std(ddof=1)) / math.sqrt(80)
    estimate = mean_interval(values, limits=None)
    assert ends(estimate) == pytest.approx((values.mean() - half, values.mean() + half))


# Samples of skewed scores, their limits and their true mean.
def nearly_all_right(generator: np.random.Generator, n: int) -> Floats:
    return np.where(generator.random(n) < 0.85, 1.0, generator.random(n))


def shares_of_four_statements(generator: np.random.Generator, n: int) -> Floats:
    return np.asarray(generator.binomial(4, generator.beta(6.0, 1.0, n)) / 4)


def rare_counts(generator: np.random.Generator, n: int) -> Floats:
    return np.asarray(generator.negative_binomial(0.3, 0.5, n), dtype=np.float64)


@pytest.mark.parametrize("items", [40, 100])
@pytest.mark.parametrize(
    ("sample", "limits", "truth"),
    [
        (nearly_all_right, (0.0, 1.0), 0.925),
        (shares_of_four_statements, (0.0, 1.0), 6 / 7),
        (rare_counts, COUNTS, 0.3),
    ],
)
def test_a_skewed_truth_is_beyond_each_end_in_at_most_5_5_percent_of_samples(
    sample: Callable[[np.random.Generator, int], Floats],
    limits: tuple[float, float],
    truth: float,
    items: int,
) -> None:
    """Percentiles of a bootstrap miss it in 6 to 10 % on one side."""
    generator = np.random.default_rng(40)
    estimates = [
        mean_interval(sample(generator, items), limits=limits) for _ in range(2000)
    ]
    assert sum(estimate.ci_low > truth for estimate in estimates) / 2000 <= 0.055
    assert sum(estimate.ci_high < truth for estimate in estimates) / 2000 <= 0.055


def test_clusters_widen_the_interval_and_items_have_equal_weights() -> None:
    values = np.repeat(np.random.default_rng(2).random(40), 5)
    alone = mean_interval(values)
    together = mean_interval(values, clusters=[i // 5 for i in range(200)])
    # Five copies each: the variance is five times larger.
    assert width(together) / width(alone) == pytest.approx(math.sqrt(5), rel=0.06)
    # Three items with 1 and one with 0: the mean is 3/4, not the mean of the clusters'
    # means, 1/2.
    assert mean_interval([1, 1, 1, 0], clusters=["a", "a", "a", "b"]).value == 0.75


def test_equal_values_leave_uncertainty() -> None:
    # 1 - 0.025^(1/20) is the exact upper bound of 0 out of 20 (0.1684, Newcombe 1998,
    # table I).
    assert pytest.approx(0.1684, abs=5e-5) == UNSEEN_20
    assert ends(mean_interval([1.0] * 20)) == pytest.approx(
        (1 - UNSEEN_20, 1.0), abs=1e-12
    )
    assert ends(mean_interval([0.0] * 20)) == pytest.approx((0.0, UNSEEN_20), abs=1e-12)
    expected = 0.3 - 0.3 * UNSEEN_20, 0.3 + 0.7 * UNSEEN_20
    assert ends(mean_interval([0.3] * 20)) == pytest.approx(expected, abs=1e-12)
    # Sixty items, but only twenty clusters of them.
    tripled = mean_interval([0.3] * 60, clusters=[i // 3 for i in range(60)])
    assert (*ends(tripled), tripled.n) == pytest.approx((*expected, 60), abs=1e-12)
    assert mean_interval([0.25, 0.5], clusters=["a", "a"]) == Estimate(
        0.375, 0.0, 1.0, 2
    )
    assert mean_interval([0.2]) == Estimate(0.2, 0.0, 1.0, 1)
    for unlimited in ([20.0], [3.0] * 9):
        assert all(map(math.isnan, ends(mean_interval(unlimited, limits=None))))


def test_a_ratio_pools_numerators_and_denominators() -> None:
    numerators, denominators = (
        [1, 0, 3, 2, 0, math.nan, 5],
        [2, 4, 3, 2, 0, 1, math.nan],
    )
    estimate = ratio_interval(numerators, denominators)
    # (1 + 0 + 3 + 2) / (2 + 4 + 3 + 2); the item without a denominator and the two
    # without values do not count.
    assert estimate.value == pytest.approx(6 / 11)
    assert estimate.n == 4
    # Residuals 1 - 12/11, -24/11, 3 - 18/11, 2 - 12/11 of 11 parts; four items.
    residuals = np.array([1 - 12 / 11, -24 / 11, 3 - 18 / 11, 2 - 12 / 11]) / 11
    variance = 4 / 3 * float(residuals @ residuals)
    effective = 11**2 / (4 + 16 + 9 + 4)
    t = student_quantile(0.975, effective - 1.0)
    expected = score_ends(6 / 11, variance, t=t, exposure=11.0, limits=(0.0, 1.0))
    assert ends(estimate) == pytest.approx(expected)
    empty = ratio_interval([0, 0], [0, 0])
    assert empty.n == 0
    assert all(map(math.isnan, (empty.value, *ends(empty))))


def test_a_ratio_to_ones_is_a_mean() -> None:
    values = np.random.default_rng(8).random(30)
    assert ratio_interval(values, np.ones(30)) == mean_interval(values)
    assert average_interval([values, np.ones(30)], [1.0]) == mean_interval(values)


def test_an_average_of_two_means_is_the_mean_of_item_averages() -> None:
    generator = np.random.default_rng(9)
    first, second = generator.random(60), generator.random(60)
    ones = np.ones(60)
    average = average_interval([first, ones, second, ones], [0.5, 0.5])
    mean = mean_interval((first + second) / 2)
    assert average.value == pytest.approx(mean.value)
    assert ends(average) == pytest.approx(ends(mean))
    missing = np.where(np.arange(60) < 10, math.nan, second)
    assert average_interval([first, ones, missing, ones], [0.5, 0.5]).n == 50


finite = st.floats(0, 1).map(lambda v: round(v, 3))


@given(
    st.lists(
        st.tuples(st.one_of(finite, st.just(math.nan)), st.integers(0, 20)), max_size=40
    ),
    st.sampled_from([(0.0, 1.0), COUNTS, None]),
    st.randoms(use_true_random=False),
)
def test_order_and_names_do_not_matter_and_the_interval_holds_the_value(
    items: list[tuple[float, int]], limits: Any, shuffler: random.Random
) -> None:
    estimate = mean_interval(
        [v for v, _ in items], clusters=[c for _, c in items], limits=limits
    )
    shuffled = [item for item in items if not math.isnan(item[0])]
    shuffler.shuffle(shuffled)
    names = [f"note {50 - c}" for _, c in shuffled]
    values = [v for v, _ in shuffled]
    renamed = mean_interval(values, clusters=names, limits=limits)
    assert estimate.n == len(values)
    assert as_json(renamed) == as_json(estimate)
    if not values:
        assert all(map(math.isnan, (estimate.value, *ends(estimate))))
        return
    assert estimate.value == pytest.approx(sum(values) / len(values), abs=1e-12)
    for end, sign in zip(ends(estimate), (-1, 1), strict=True):
        assert math.isnan(end) or sign * (end - estimate.value) >= 0.0
    if limits == (0.0, 1.0):
        assert 0.0 <= estimate.ci_low < estimate.ci_high <= 1.0


@given(st.lists(finite, min_size=1, max_size=60))
def test_clusters_of_single_items_change_nothing(values: list[float]) -> None:
    names = [f"item {i}" for i in range(len(values))]
    assert mean_interval(values, clusters=names) == mean_interval(values)


def test_results_are_plain_numbers_in_their_limits() -> None:
    assert mean_interval([1.0 + 2e-16, 1.0, 1.0 + 1e-12]).value == 1.0
    estimate = mean_interval(np.array([0.5, 0.25], dtype=np.float32))
    assert [type(number) for number in (estimate.value, *ends(estimate))] == [float] * 3
    assert type(estimate.n) is int
    empty = {"value": None, "ci_low": None, "ci_high": None, "n": 0}
    assert as_json(mean_interval([])) == empty


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([0.5, 60.0], {}, "values must be in 0 to 1; got 60"),
        ([0.5, -0.01], {}, "values must be in 0 to 1; got -0.01"),
        (
            [0.5],
            {"confidence": 0.0},
            "confidence must be strictly between 0 and 1; got 0.0",
        ),
        (
            [0.5],
            {"limits": (1, 0)},
            r"limits must be two numbers, the lower first, or None; got \(1, 0\)",
        ),
        (
            [0.5],
            {"clusters": []},
            "clusters must have one label an item; got 0 labels for 1 items",
        ),
    ],
)
def test_wrong_input_is_refused(
    values: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        mean_interval(values, **options)


OUTSIDE = (
    "numerators must be 0 where the denominator is 0 and 0 to 1 times it elsewhere; got"
)


@pytest.mark.parametrize(
    ("numerators", "denominators", "message"),
    [
        ([1, 2], [1], "numerators and denominators must have the same length, .*"),
        ([1], [-1], "denominators must be at least 0; got -1"),
        ([1], [0], f"{OUTSIDE} 1 / 0"),
        ([3], [2], f"{OUTSIDE} 3 / 2"),
        ([-1], [2], f"{OUTSIDE} -1 / 2"),
    ],
)
def test_impossible_ratios_are_refused(
    numerators: Any, denominators: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        ratio_interval(numerators, denominators)
