"""Intervals of a proportion, bounds, and the distributions behind them."""

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.intervals import (
    beta_cdf,
    beta_quantile,
    bounds,
    normal_cdf,
    normal_quantile,
    student_quantile,
    student_tail,
    wilson_interval,
)
from medical_tasks.scoring.means import proportion_interval
from tests.case_tables import tables
from tests.scoring.interval_ends import ends

CASES = tables(__file__, "intervals")


# Newcombe (1998), Stat Med 17:857, table I: successes, n, method 3 (score); four
# decimals.
@pytest.mark.parametrize(("successes", "n", "expected"), CASES["NEWCOMBE"])
def test_published_intervals(
    successes: int, n: int, expected: tuple[float, float]
) -> None:
    assert wilson_interval(successes, n) == pytest.approx(expected, abs=5.1e-5)


@pytest.mark.parametrize("n", [1, 2, 20, 148, 10_000, 1_000_000])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_intervals_agree_with_scipy(n: int, confidence: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    for successes in {0, 1, n // 3, n - 1, n}:
        expected = stats.binomtest(successes, n).proportion_ci(
            confidence, method="wilson"
        )
        interval = wilson_interval(successes, n, confidence=confidence)
        assert interval == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_independent_items_have_wilsons_interval() -> None:
    values = [1, 0, 1, 1, math.nan, True, False]
    estimate = proportion_interval(values)
    assert (estimate.value, estimate.n) == (4 / 6, 6)
    assert ends(estimate) == wilson_interval(4, 6)
    assert proportion_interval(values, clusters=list("abcdefg")) == estimate
    # Also an item whose cluster has no other value.
    assert proportion_interval(values, clusters=list("abcddef")) == estimate


def test_a_number_and_its_text_are_two_clusters() -> None:
    # With a single cluster, the interval would be 0 to 1.
    estimate = proportion_interval([1, 1, 0, 0], clusters=[1, 1, "1", "1"])
    assert ends(estimate) != (0.0, 1.0)


@pytest.mark.parametrize("values", [[], [math.nan, math.nan]])
def test_no_values_have_no_interval(values: list[float]) -> None:
    estimate = proportion_interval(values, clusters=["a"] * len(values))
    assert estimate.n == 0
    assert all(map(math.isnan, (estimate.value, *ends(estimate))))
    assert all(map(math.isnan, wilson_interval(0, 0)))


def test_clusters_have_wilsons_interval_at_the_effective_size() -> None:
    """With t(K-1), at the size that gives the variance between the clusters."""
    generator = np.random.default_rng(7)
    clusters = np.arange(48) % 12
    values = (generator.random(48) < generator.random(12)[clusters]).astype(float)
    p = values.mean()
    errors = [float((values[clusters == k] - p).sum()) / 48 for k in range(12)]
    size = p * (1 - p) / (12 / 11 * sum(error**2 for error in errors))
    t = student_quantile(0.975, 11)
    middle = p + t * t / (2 * size)
    root = t * math.sqrt(p * (1 - p) / size + (t / size) ** 2 / 4)
    scale = 1 + t * t / size
    estimate = proportion_interval(values, clusters=clusters.tolist())
    assert ends(estimate) == pytest.approx(
        ((middle - root) / scale, (middle + root) / scale), abs=1e-12
    )


def test_copies_in_a_cluster_count_as_one_item() -> None:
    # 100 clusters of five copies each: the interval is about that of 100 items, far
    # from that of 500.
    copies = np.repeat([1] * 60 + [0] * 40, 5)
    estimate = proportion_interval(copies, clusters=[i // 5 for i in range(500)])
    assert estimate.n == 500
    assert ends(estimate) == pytest.approx(wilson_interval(60, 100), abs=0.005)


def test_clusters_that_are_all_right_have_the_exact_interval() -> None:
    # 20 notes, not 60 questions.
    estimate = proportion_interval([1] * 60, clusters=[i // 3 for i in range(60)])
    assert (estimate.value, estimate.n) == (1.0, 60)
    assert ends(estimate) == pytest.approx((0.025 ** (1 / 20), 1.0), abs=1e-12)
    # One cluster of 41 and 19 of one: (41 + 19)² / (41² + 19) = 3600 / 1700 clusters of
    # equal weight.
    skewed = proportion_interval([0] * 60, clusters=[max(0, i - 40) for i in range(60)])
    expected = 0.0, 1.0 - 0.025 ** (1700 / 3600)
    assert ends(skewed) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("values", [[1, 1, 1], [0, 0, 0], [1, 0, 1]])
def test_a_single_cluster_leaves_the_interval_open(values: list[int]) -> None:
    assert ends(proportion_interval(values, clusters=["a"] * 3)) == (0.0, 1.0)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, math.nan]), st.integers(0, 6)),
        min_size=1,
        max_size=40,
    ),
    st.randoms(use_true_random=False),
)
def test_laws_of_clustered_proportions(
    items: list[tuple[float, int]], shuffler: random.Random
) -> None:
    values, clusters = [v for v, _ in items], [c for _, c in items]
    estimate = proportion_interval(values, clusters=clusters)
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    renamed = proportion_interval(
        [v for v, _ in shuffled], clusters=[f"note {9 - c}" for _, c in shuffled]
    )
    if estimate.n == 0:
        assert renamed.n == 0
        return
    assert renamed == estimate
    assert 0.0 <= estimate.ci_low <= estimate.value <= estimate.ci_high <= 1.0
    assert estimate.ci_low < estimate.ci_high
    mirrored = proportion_interval([1.0 - v for v in values], clusters=clusters)
    assert (1 - mirrored.ci_high, 1 - mirrored.ci_low) == pytest.approx(
        ends(estimate), abs=1e-9
    )


@pytest.mark.parametrize(
    ("successes", "n", "confidence", "message"), CASES["wrong_counts"]
)
def test_wrong_counts_are_refused(
    successes: int, n: int, confidence: float, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        wilson_interval(successes, n, confidence=confidence)


@pytest.mark.parametrize(("values", "clusters", "message"), CASES["wrong_values"])
def test_wrong_values_and_clusters_are_refused(
    values: Any, clusters: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        proportion_interval(values, clusters=clusters)


@pytest.mark.parametrize(("values", "n", "message"), CASES["wrong_bounds"])
def test_wrong_input_of_bounds_is_refused(values: Any, n: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        bounds(values, n)


def test_bounds_by_hand() -> None:
    # Three scored with sum 2, two missing: 2/5 to 4/5.
    assert bounds([1, 1, 0], 5) == pytest.approx((0.4, 0.8))
    assert bounds([1, 1, 0], 3) == pytest.approx((2 / 3, 2 / 3))
    assert bounds([], 4) == (0.0, 1.0)
    # The item without a denominator leaves the mean and the count: 1.5/3 to 2.5/3.
    assert bounds([1.0, 0.5, math.nan], 4) == pytest.approx((0.5, 2.5 / 3))
    for interval in (bounds([], 0), bounds([math.nan], 1)):
        assert all(map(math.isnan, interval))


@given(st.lists(st.floats(0, 1), max_size=30), st.lists(st.floats(0, 1), max_size=10))
def test_bounds_hold_the_mean_with_any_missing_values(
    scored: list[float], missing: list[float]
) -> None:
    low, high = bounds(scored, len(scored) + len(missing))
    if scored or missing:
        mean = sum(scored + missing) / len(scored + missing)
        assert 0.0 <= low <= high <= 1.0
        assert low - 1e-12 <= mean <= high + 1e-12


# Two-sided 95 % and one-sided 80 % points of Student's t as printed in statistical
# tables (three decimals).
STUDENT_TABLE = [
    (1, 0.975, 12.706),
    (2, 0.975, 4.303),
    (10, 0.975, 2.228),
    (30, 0.975, 2.042),
    (10, 0.8, 0.879),
]


def test_printed_values_of_student() -> None:
    for df, p, printed in STUDENT_TABLE:
        assert student_quantile(p, df) == pytest.approx(printed, abs=5e-4), df


def test_closed_forms_of_beta_and_student() -> None:
    # I_x(1, b) = 1 - (1-x)^b and I_x(a, 1) = x^a; Student's t with one degree of
    # freedom is Cauchy's distribution.
    assert beta_cdf(0.1, 1, 7) == pytest.approx(1 - 0.9**7, rel=1e-14)
    assert beta_cdf(0.3, 5, 1) == pytest.approx(0.3**5, rel=1e-14)
    assert beta_quantile(0.2, 1, 7) == pytest.approx(1 - 0.8 ** (1 / 7), rel=1e-13)
    assert student_tail(1.0, 1) == pytest.approx(0.25, rel=1e-14)
    assert student_tail(-1.0, 1) == pytest.approx(0.75, rel=1e-14)
    assert student_quantile(0.9, 1) == pytest.approx(math.tan(0.4 * math.pi), rel=1e-12)
    assert [beta_cdf(x, 2, 3) for x in (-1.0, 0.0, 1.0, 2.0)] == [0.0, 0.0, 1.0, 1.0]
    assert [beta_quantile(p, 2, 3) for p in (0.0, 1.0)] == [0.0, 1.0]
    assert student_quantile(0.5, 4) == 0.0
    assert student_quantile(0.1, 4) == -student_quantile(0.9, 4)


def test_known_values_of_the_normal_distribution() -> None:
    # Φ(-10) = 7.619853024160525e-24 (Abramowitz and Stegun, table 26.2, give 23.11805
    # for its -log10).
    assert -math.log10(normal_cdf(-10.0)) == pytest.approx(23.11805, abs=1e-5)
    assert normal_cdf(normal_quantile(0.975)) == pytest.approx(0.975, rel=1e-14)
    assert normal_quantile(0.975) == pytest.approx(1.959963984540054, abs=1e-14)


@pytest.mark.parametrize("size", [1, 2, 7, 148, 10_000, 1_000_000, 10_000_000])
def test_beta_and_student_agree_with_scipy(size: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    for share in (0.0, 0.001, 0.3, 0.5, 0.999):
        a = 1.0 + math.floor(share * size)
        b = size - a + 2.0
        for p in (1e-6, 0.005, 0.025, 0.5, 0.975):
            x = beta_quantile(p, a, b)
            assert x == pytest.approx(stats.beta.ppf(p, a, b), abs=1e-9)
            assert beta_cdf(x, a, b) == pytest.approx(p, rel=1e-7)
    for p in (0.6, 0.8, 0.975, 0.9995):
        assert student_quantile(p, size) == pytest.approx(
            stats.t.ppf(p, size), rel=1e-8
        )
        assert student_tail(student_quantile(p, size), size) == pytest.approx(
            1 - p, rel=1e-7
        )
