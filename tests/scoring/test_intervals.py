"""Intervals of a proportion, bounds, and the distributions behind them."""

import math
import random

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

CASES = tables(__file__, "intervals")

# Newcombe (1998), Stat Med 17:857, table I: successes, n, method 3 (score); four
# decimals.
NEWCOMBE = CASES["NEWCOMBE"]


@pytest.mark.parametrize(("successes", "n", "score"), NEWCOMBE)
def test_published_intervals(
    successes: int, n: int, score: tuple[float, float]
) -> None:
    assert wilson_interval(successes, n) == pytest.approx(score, abs=5.1e-5)


@pytest.mark.parametrize("n", [1, 2, 20, 148, 10_000, 1_000_000])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_intervals_agree_with_scipy(n: int, confidence: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    for successes in {0, 1, n // 3, n - 1, n}:
        expected = stats.binomtest(successes, n).proportion_ci(
            confidence, method="wilson"
        )
        found = wilson_interval(successes, n, confidence=confidence)
        assert found == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_what_stands_alone_gets_wilsons_interval() -> None:
    values = [1, 0, 1, 1, math.nan, True, False]
    estimate = proportion_interval(values)
    assert (estimate.value, estimate.n) == (4 / 6, 6)
    assert (estimate.ci_low, estimate.ci_high) == wilson_interval(4, 6)
    assert proportion_interval(values, clusters=list("abcdefg")) == estimate
    # A cluster whose other members have no value stands alone, too.
    assert proportion_interval(values, clusters=list("abcddef")) == estimate
    # 1 and "1" are two clusters: had they been made one, the interval would be 0 to 1.
    estimate = proportion_interval([1, 1, 0, 0], clusters=[1, 1, "1", "1"])
    assert (estimate.ci_low, estimate.ci_high) != (0.0, 1.0)
    assert all(map(math.isnan, wilson_interval(0, 0)))
    for values in ([], [math.nan, math.nan]):
        estimate = proportion_interval(values, clusters=["a"] * len(values))
        assert estimate.n == 0
        assert all(map(math.isnan, (estimate.value, estimate.ci_low, estimate.ci_high)))


def test_alike_clusters_count_as_one_item() -> None:
    """Wilson's formula with t(K-1), at the size that gives the variance between the clusters."""
    generator = np.random.default_rng(7)
    clusters = np.arange(48) % 12
    values = (generator.random(48) < generator.random(12)[clusters]).astype(float)
    p = values.mean()
    errors = [float((values[clusters == one] - p).sum()) / 48 for one in range(12)]
    size = p * (1 - p) / (12 / 11 * sum(error**2 for error in errors))
    t = student_quantile(0.975, 11)
    middle, root = (
        p + t * t / (2 * size),
        t * math.sqrt(p * (1 - p) / size + (t / size) ** 2 / 4),
    )
    estimate = proportion_interval(values, clusters=clusters.tolist())
    expected = (
        (middle - root) / (1 + t * t / size),
        (middle + root) / (1 + t * t / size),
    )
    assert (estimate.ci_low, estimate.ci_high) == pytest.approx(expected, abs=1e-12)
    # 100 clusters of five copies each: the interval is about that of 100 items, far
    # from that of 500.
    copies = np.repeat([1] * 60 + [0] * 40, 5)
    estimate = proportion_interval(copies, clusters=[str(i // 5) for i in range(500)])
    assert estimate.n == 500
    assert (estimate.ci_low, estimate.ci_high) == pytest.approx(
        wilson_interval(60, 100), abs=0.005
    )
    # All right: 20 notes, not 60 questions.
    estimate = proportion_interval([1] * 60, clusters=[str(i // 3) for i in range(60)])
    assert (estimate.value, estimate.n) == (1.0, 60)
    assert (estimate.ci_low, estimate.ci_high) == pytest.approx(
        (0.025 ** (1 / 20), 1.0), abs=1e-12
    )
    # One cluster of 41 and 19 of one: (41 + 19)² / (41² + 19) = 3600 / 1700 clusters of
    # equal weight.
    skewed = proportion_interval(
        [0] * 60, clusters=[str(max(0, i - 40)) for i in range(60)]
    )
    expected = 0.0, 1.0 - 0.025 ** (1700 / 3600)
    assert (skewed.ci_low, skewed.ci_high) == pytest.approx(expected, abs=1e-12)
    # One cluster says nothing about others.
    for only in ([1, 1, 1], [0, 0, 0], [1, 0, 1]):
        estimate = proportion_interval(only, clusters=["a"] * 3)
        assert (estimate.ci_low, estimate.ci_high) == (0.0, 1.0), only


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
        (estimate.ci_low, estimate.ci_high), abs=1e-9
    )


def test_wrong_input_is_told() -> None:
    for successes, n, confidence, message in CASES["wrong_counts_are_told"]:
        with pytest.raises(ValueError, match=f"^{message}$"):
            wilson_interval(successes, n, confidence=confidence)
    for values, clusters, message in CASES["wrong_values_are_told"]:
        with pytest.raises(ValueError, match=message):
            proportion_interval(values, clusters=clusters)
    for values, asked, message in CASES["wrong_bounds_are_told"]:
        with pytest.raises(ValueError, match=f"^{message}$"):
            bounds(values, asked)


def test_bounds_by_hand() -> None:
    # Three scored with sum 2, two missing: 2/5 to 4/5.
    assert bounds([1, 1, 0], 5) == pytest.approx((0.4, 0.8))
    assert bounds([1, 1, 0], 3) == pytest.approx((2 / 3, 2 / 3))
    assert bounds([], 4) == (0.0, 1.0)
    # The item without a denominator leaves the mean and the count: 1.5/3 to 2.5/3.
    assert bounds([1.0, 0.5, math.nan], 4) == pytest.approx((0.5, 2.5 / 3))
    for nothing in (bounds([], 0), bounds([math.nan], 1)):
        assert all(map(math.isnan, nothing))


@given(st.lists(st.floats(0, 1), max_size=30), st.lists(st.floats(0, 1), max_size=10))
def test_bounds_hold_whatever_the_missing_are(
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


def test_printed_tables_and_closed_forms() -> None:
    for df, p, printed in STUDENT_TABLE:
        assert student_quantile(p, df) == pytest.approx(printed, abs=5e-4), df
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
