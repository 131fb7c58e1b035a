"""Comparisons of two runs: differences, McNemar's test, Holm's correction, detectable differences, equivalence."""

import dataclasses
import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from medical_tasks.scoring.bootstrap import bootstrap_statistic
from medical_tasks.scoring.estimates import Comparison, Floats, McNemar, as_json
from medical_tasks.scoring.intervals import student_quantile, student_tail
from medical_tasks.scoring.paired import (
    equivalence,
    holm,
    mcnemar,
    minimum_detectable_difference,
    paired_bootstrap,
    paired_bootstrap_statistic,
)
from tests.case_tables import tables
from tests.scoring.interval_ends import ends

CASES = tables(__file__, "paired")


def f1(tp: Floats, fp: Floats, fn: Floats) -> Floats:
    return 2 * tp / (2 * tp + fp + fn)


def mirrored(result: Comparison) -> Comparison:
    return dataclasses.replace(
        result,
        value_a=result.value_b,
        value_b=result.value_a,
        difference=-result.difference,
        ci_low=-result.ci_high,
        ci_high=-result.ci_low,
    )


def test_a_mean_difference_agrees_with_the_paired_t_test() -> None:
    # Textbook formula on 200 near-normal differences; the draws' noise is a few per
    # cent of the width.
    generator = np.random.default_rng(2)
    hardness = generator.uniform(0.2, 0.8, 200)
    a = np.clip(hardness + generator.normal(0, 0.05, 200), 0, 1)
    b = np.clip(hardness + generator.normal(0.008, 0.05, 200), 0, 1)
    error = float((b - a).std(ddof=1)) / math.sqrt(200)
    mean = float((b - a).mean())
    result = paired_bootstrap(a, b, resamples=20_000)
    assert result.difference == pytest.approx(mean, abs=1e-12)
    assert (result.value_a, result.value_b) == pytest.approx(
        (a.mean(), b.mean()), abs=1e-12
    )
    half = student_quantile(0.975, 199) * error
    assert ends(result) == pytest.approx((mean - half, mean + half), abs=0.06 * half)
    assert result.p_value == pytest.approx(
        2 * student_tail(abs(mean) / error, 199), rel=0.25
    )
    assert (result.n, result.n_clusters) == (200, 200)


scores = st.floats(0, 1).map(lambda v: round(v, 2))


@given(
    st.lists(st.tuples(scores, scores, st.integers(0, 15)), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_laws_of_the_mean_difference(
    items: list[tuple[float, float, int]], shuffler: random.Random
) -> None:
    a, b, clusters = map(list, zip(*items, strict=True))
    result = paired_bootstrap(a, b, clusters=clusters, resamples=200)
    assert paired_bootstrap(b, a, clusters=clusters, resamples=200) == mirrored(result)
    shuffler.shuffle(items)
    a, b, clusters = map(list, zip(*items, strict=True))
    names = [f"n{cluster}" for cluster in clusters]
    assert paired_bootstrap(a, b, clusters=names, resamples=200) == result
    assert 0.0 < result.p_value <= 1.0
    assert -1.0 <= result.ci_low < result.ci_high <= 1.0
    assert result.difference == result.value_b - result.value_a


@given(st.lists(st.tuples(scores, scores), min_size=9, max_size=40))
# The upper end is 0, which the draws' sums in binary fractions made -5.6e-17.
@example(
    [
        (0.0, 0.0),
        (0.7, 0.3),
        (0.0, 0.0),
        (0.7, 0.1),
        (0.8, 0.6),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.8, 0.9),
        (1.0, 0.1),
    ]
)
def test_the_p_value_agrees_with_the_interval(
    items: list[tuple[float, float]],
) -> None:
    result = paired_bootstrap(
        [a for a, _ in items], [b for _, b in items], resamples=2000
    )
    outside_zero = result.ci_low > 0.0 or result.ci_high < 0.0
    if result.p_value < 0.048:
        assert outside_zero
    if result.p_value > 0.052:
        assert not outside_zero


def test_equal_runs_may_differ_on_other_items() -> None:
    # No difference on 20 items: 1 - 0.025^(1/20) = 0.1684 of all items may still differ
    # by 1.
    values = np.linspace(0, 1, 20)
    result = paired_bootstrap(values, values)
    assert (result.difference, result.p_value) == (0.0, 1.0)
    assert ends(result) == pytest.approx((-0.1684, 0.1684), abs=5e-5)


def test_equal_differences_have_the_p_value_of_the_sign_test() -> None:
    # All ten items from wrong to right: two of 2^10 sign patterns are so uneven, and
    # the interval agrees with that: at most 1 - 0.025^(1/10) of the items go the other
    # way, so the difference is at least 1 - 2 * 0.3085.
    result = paired_bootstrap([0] * 10, [1] * 10)
    assert result.p_value == pytest.approx(2.0**-9, rel=1e-9)
    assert ends(result) == pytest.approx((1 - 2 * (1 - 0.025**0.1), 1.0), abs=1e-12)


def test_equal_small_differences_are_not_significant() -> None:
    result = paired_bootstrap([0.5] * 10, [0.6] * 10)
    assert result.ci_low < 0.0
    assert result.p_value > 0.05
    assert math.isnan(paired_bootstrap([0.5] * 10, [0.6] * 10, limits=None).p_value)


def test_symmetric_differences_favour_neither_run() -> None:
    a, b = [0.2, 0.8, 0.5, 0.6] * 5, [0.8, 0.2, 0.6, 0.5] * 5
    result = paired_bootstrap(a, b)
    assert (result.difference, result.p_value) == (0.0, 1.0)
    assert result.ci_high == -result.ci_low > 0.1
    assert paired_bootstrap(b, a) == result


def test_a_single_cluster_leaves_the_interval_open() -> None:
    result = paired_bootstrap([0, 0, 0], [1, 1, 1], clusters=["a"] * 3)
    assert (result.difference, result.p_value) == (1.0, 1.0)
    assert ends(result) == (-1.0, 1.0)
    assert (result.n, result.n_clusters) == (3, 1)


def test_only_items_with_both_values_count() -> None:
    generator = np.random.default_rng(3)
    a, b = generator.random(30), generator.random(30)
    longer = paired_bootstrap([*a, math.nan, 1.0], [*b, 1.0, math.nan])
    assert longer == paired_bootstrap(a, b)
    empty = paired_bootstrap([0.5, math.nan], [math.nan, 0.5])
    assert (empty.n, empty.n_clusters) == (0, 0)
    assert all(map(math.isnan, (empty.value_a, *difference_and_test(empty))))
    assert as_json(empty)["difference"] is None


def difference_and_test(result: Comparison) -> tuple[float, float, float, float]:
    return result.difference, *ends(result), result.p_value


def t_test(differences: Floats) -> float:
    """Returns the p-value of the paired t test."""
    n = len(differences)
    t = float(differences.mean() / differences.std(ddof=1)) * math.sqrt(n)
    return 2 * student_tail(t, n - 1)


def test_p_values_of_three_items_are_those_of_the_t_test() -> None:
    a, b = np.array([0.5, 0.5, 0.5]), np.array([0.55, 0.6, 0.62])
    result = paired_bootstrap(a, b, resamples=50_000)
    assert result.p_value == pytest.approx(t_test(b - a), rel=0.02)


def test_small_p_values_are_about_those_of_the_t_test() -> None:
    generator = np.random.default_rng(1)
    for mean in (0.02, 0.03, 0.04, 0.06):
        a = generator.uniform(0.3, 0.5, 120)
        b = a + generator.normal(mean, 0.1, 120).clip(-0.3, 0.5)
        exact = t_test(b - a)
        p_values = [
            paired_bootstrap(a, b, resamples=1000, seed=seed).p_value
            for seed in range(3)
        ]
        # In orders of magnitude: the tail is measured on ten draws of a thousand.
        assert np.log10(p_values) == pytest.approx(
            math.log10(exact), abs=0.12 + 0.12 * abs(math.log10(exact))
        )
    assert exact < 1e-6


def test_p_values_fall_smoothly_below_the_share_of_one_draw() -> None:
    generator = np.random.default_rng(4)
    spread = generator.normal(0, 0.1, 80).clip(-0.3, 0.3)
    p_values = [
        paired_bootstrap(np.full(80, 0.4), 0.4 + spread + shift, resamples=1000).p_value
        for shift in np.arange(0.02, 0.09, 0.0005)
    ]
    assert max(p_values) > 0.05
    assert min(p_values) < 1e-7
    for earlier, later in itertools.pairwise(p_values):
        assert earlier * 0.6 <= later <= earlier


def test_a_statistic_of_two_runs_has_the_interval_of_a_plain_loop() -> None:
    generator = np.random.default_rng(12)
    first = [generator.integers(0, 6, 50) for _ in range(3)]
    second = [
        np.minimum(5, first[0] + generator.integers(0, 3, 50)),
        generator.integers(0, 6, 50),
        first[2],
    ]
    result = paired_bootstrap_statistic(first, second, f1, resamples=2000)
    assert result.value_a == pytest.approx(
        bootstrap_statistic(first, f1).value, abs=1e-14
    )
    assert result.value_b == pytest.approx(
        bootstrap_statistic(second, f1).value, abs=1e-14
    )
    draw = random.Random(2)
    differences = []
    for _ in range(3000):
        sample = [draw.randrange(50) for _ in range(50)]
        value_a, value_b = (
            f1(*(column[sample].sum() for column in columns))
            for columns in (first, second)
        )
        differences.append(value_b - value_a)
    low, high = np.quantile(differences, [0.025, 0.975])
    # Plain percentiles; ours are a little wider for 50 items.
    assert ends(result) == pytest.approx((low, high), abs=0.12 * (high - low))
    swapped = paired_bootstrap_statistic(second, first, f1, resamples=2000)
    assert swapped == mirrored(result)


def precision(tp: Floats, fp: Floats, fn: Floats) -> Floats:
    return tp / (tp + fp)


def test_a_statistic_that_is_undefined_for_a_run_has_no_difference() -> None:
    undefined, defined = (
        [[0] * 9, [0] * 9, [1] * 9],
        [[1] * 9, [0] * 9, [0] * 9],
    )
    result = paired_bootstrap_statistic(undefined, defined, precision)
    assert math.isnan(result.value_a)
    assert result.value_b == 1.0
    assert all(map(math.isnan, difference_and_test(result)))
    result = paired_bootstrap_statistic(undefined, undefined, precision)
    assert result.n == 9
    assert math.isnan(result.p_value)


WRONG: list[tuple[Callable[..., Any], list[Any]]] = [
    *((paired_bootstrap, case) for case in CASES["wrong_input_of_paired_bootstrap"]),
    *((mcnemar, case) for case in CASES["wrong_input_of_mcnemar"]),
    *((holm, case) for case in CASES["wrong_input_of_holm"]),
]


@pytest.mark.parametrize(("function", "case"), WRONG)
def test_wrong_input_is_refused(function: Callable[..., Any], case: list[Any]) -> None:
    *arguments, message = case
    with pytest.raises(ValueError, match=f"^{message}$"):
        function(*arguments)


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(
        ValueError,
        match=r"^columns_a and columns_b must have equally many columns, .*; got 1 and 2$",
    ):
        paired_bootstrap_statistic([[1]], [[1], [1]], lambda *sums: sums[0])
    with pytest.raises(
        ValueError,
        match=r"^columns_a\[0\] and columns_b\[0\] must have the same length, .*",
    ):
        paired_bootstrap_statistic([[1]], [[1, 2]], lambda *sums: sums[0])
    with pytest.raises(
        ValueError,
        match="^a and b must have the same length, one entry an item; a has 1, b has 2$",
    ):
        minimum_detectable_difference([1], [1, 0])


def runs(
    both: int, only_a: int, only_b: int, neither: int
) -> tuple[list[int], list[int]]:
    a = [1] * (both + only_a) + [0] * (only_b + neither)
    b = [1] * both + [0] * only_a + [1] * only_b + [0] * neither
    return a, b


# Exact and mid-p by hand: two-sided binomial tails at one half.
BY_HAND = [
    # Fagerland, Lydersen and Laake (2013), table 1: 2 (1 + 8) / 256 and the same less 8
    # / 256 (0.0703 and 0.0391).
    ((1, 1, 7, 12), 18 / 256, 10 / 256),
    ((0, 5, 0, 0), 2 / 32, 1 / 32),
    # Even splits: the exact p is 1, the mid-p is 1 - P(even split) / 2 = 1 - (6/16) /
    # 2.
    ((3, 2, 2, 1), 1.0, 13 / 16),
    ((0, 1, 0, 0), 1.0, 0.5),
    ((4, 0, 0, 4), 1.0, 1.0),
]


@pytest.mark.parametrize(("counts", "exact", "mid"), BY_HAND)
def test_p_values_of_mcnemar_by_hand(
    counts: tuple[int, int, int, int], exact: float, mid: float
) -> None:
    result = mcnemar(*runs(*counts))
    assert (result.both, result.only_a, result.only_b, result.neither) == counts
    assert (result.n, result.n_clusters) == (sum(counts), sum(counts))
    assert result.p_exact == pytest.approx(exact, rel=1e-12)
    assert result.p_mid == pytest.approx(mid, rel=1e-12)


@pytest.mark.parametrize(
    ("only_a", "only_b"), [(3, 9), (400, 500), (50_000, 51_000), (499_000, 501_000)]
)
def test_large_counts_agree_with_scipy(only_a: int, only_b: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    result = mcnemar(*runs(10, only_a, only_b, 5))
    exact = stats.binomtest(only_a, only_a + only_b).pvalue
    assert result.p_exact == pytest.approx(exact, rel=1e-6)
    assert result.p_mid == pytest.approx(
        exact - stats.binom.pmf(only_a, only_a + only_b, 0.5), rel=1e-6
    )


def p_values_by_enumeration(differences: list[int]) -> tuple[float, float]:
    """Returns the exact p-value and the mid-p value over all sign patterns."""
    observed = abs(sum(differences))
    signs = np.array(list(itertools.product((-1, 1), repeat=len(differences))))
    sums = np.abs(signs @ np.array(differences)).tolist()
    beyond, at = sum(s > observed for s in sums), sum(s == observed for s in sums)
    return (beyond + at) / len(sums), (beyond + at / 2) / len(sums)


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 9)),
        min_size=1,
        max_size=40,
    ),
    st.randoms(use_true_random=False),
)
def test_clusters_are_exchanged_whole(
    items: list[tuple[int, int, int]], shuffler: random.Random
) -> None:
    a, b, clusters = map(list, zip(*items, strict=True))
    result = mcnemar(a, b, clusters=clusters)
    sums = [sum(y - x for x, y, c in items if c == cluster) for cluster in range(10)]
    differences = [d for d in sums if d]
    expected = p_values_by_enumeration(differences) if differences else (1.0, 1.0)
    assert (result.p_exact, result.p_mid) == pytest.approx(expected, abs=1e-12)
    assert 0.0 < result.p_mid <= result.p_exact <= 1.0
    assert result.n_clusters == len(set(clusters))
    swapped = mcnemar(b, a, clusters=clusters)
    assert (swapped.p_exact, swapped.p_mid) == (result.p_exact, result.p_mid)
    assert (swapped.only_a, swapped.only_b) == (result.only_b, result.only_a)
    assert mcnemar(a, b, clusters=list(range(len(items)))) == mcnemar(a, b)
    shuffler.shuffle(items)
    a, b, clusters = map(list, zip(*items, strict=True))
    assert mcnemar(a, b, clusters=[f"n{cluster}" for cluster in clusters]) == result


def test_copies_of_an_item_in_a_cluster_do_not_change_mcnemar() -> None:
    a, b = runs(4, 2, 9, 5)
    original = mcnemar(a, b)
    copied = mcnemar(a * 3, b * 3, clusters=[i % 20 for i in range(60)])
    assert (copied.p_exact, copied.p_mid) == (original.p_exact, original.p_mid)
    assert copied.only_b == 27
    assert mcnemar(a * 3, b * 3).p_exact < original.p_exact


def mcnemar_of_growing_clusters(n: int) -> McNemar:
    """Compares runs on clusters of 1 to n items, all of which b alone has right."""
    clusters = [size for size in range(1, n + 1) for _ in range(size)]
    return mcnemar([0] * len(clusters), [1] * len(clusters), clusters=clusters)


def test_mcnemar_of_clusters_of_many_sizes() -> None:
    # Two of 2^30 sign patterns are so uneven.
    result = mcnemar_of_growing_clusters(30)
    assert result.p_exact == pytest.approx(2.0**-29, rel=1e-6)
    assert result.p_mid == pytest.approx(2.0**-30, rel=1e-6)
    # Two of 2^60 patterns, which is less than what the transform resolves (about 1e-15).
    result = mcnemar_of_growing_clusters(60)
    assert 2.0**-59 <= result.p_exact <= 1e-14
    assert 2.0**-60 <= result.p_mid <= result.p_exact


def test_mcnemar_counts_items_with_both_outcomes() -> None:
    result = mcnemar(
        [1, math.nan, 0, 1], [0, 1, math.nan, 1], clusters=["x", "y", "z", "x"]
    )
    assert result == McNemar(
        both=1, only_a=1, only_b=0, neither=0, p_exact=1.0, p_mid=0.5, n=2, n_clusters=1
    )
    empty = mcnemar([], [])
    assert (empty.n, empty.p_exact, empty.p_mid) == (0, 1.0, 1.0)


def test_holm_by_hand() -> None:
    # Sorted: 0.005 * 4, 0.01 * 3, 0.03 * 2, and 0.04 * 1 raised to the one before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
    adjusted = holm([0.01, math.nan, 0.04])
    assert adjusted[0::2] == pytest.approx([0.02, 0.04])
    assert math.isnan(adjusted[1])
    assert math.isnan(holm([math.nan])[0])


def errors_of_both_kinds(df: int) -> float:
    """Returns the standard errors that a difference needs for a level of 5 % and a power of 80 %."""
    return student_quantile(0.975, df) + student_quantile(0.8, df)


def test_detectable_difference_of_clusters_by_hand() -> None:
    # Differences per cluster 0.3, 0.1, -0.1 of two items each: mean 0.05 an item,
    # residuals 0.2, 0, -0.2; standard error sqrt(3/2 * 0.08) / 6, two degrees of
    # freedom.
    a, b = [0.5] * 6, [0.7, 0.6, 0.55, 0.55, 0.4, 0.5]
    detectable = minimum_detectable_difference(a, b, clusters=list("xxyyzz"))
    expected = errors_of_both_kinds(2) * math.sqrt(0.12) / 6
    assert detectable == pytest.approx(expected, rel=1e-9)


# Standard tables of the paired t test (alpha 0.05 two-sided, power 0.8): 34 pairs
# detect half a standard deviation, 199 pairs a fifth (Cohen 1988; G*Power 3).
@pytest.mark.parametrize(
    ("n", "expected", "tolerance"), [(34, 0.5, 0.006), (199, 0.2, 0.001)]
)
def test_detectable_difference_of_the_t_test(
    n: int, expected: float, tolerance: float
) -> None:
    a, b = np.zeros(n), np.arange(n) / np.arange(n).std(ddof=1)
    detectable = minimum_detectable_difference(a, b, limits=None)
    assert detectable == pytest.approx(expected, abs=tolerance)
    copied = minimum_detectable_difference(
        np.tile(a, 2), np.tile(b, 2), clusters=[*range(n)] * 2, limits=None
    )
    assert copied == pytest.approx(detectable, rel=1e-9)


def test_detectable_difference_of_equal_runs() -> None:
    # 100 items without a difference: 1 - 0.025^(1/100) = 3.62 % may still differ by 1.
    values = [0, 1] * 50
    unseen = 1 - 0.025 ** (1 / 100)
    assert minimum_detectable_difference(values, values) == pytest.approx(
        errors_of_both_kinds(99) * math.sqrt(unseen / 100), rel=1e-9
    )
    assert math.isnan(minimum_detectable_difference(values, values, limits=None))


@pytest.mark.parametrize(
    ("values", "clusters"), [([0.5, 0.7], ["a", "a"]), ([0.5], None), ([], None)]
)
def test_a_single_cluster_detects_nothing(
    values: list[float], clusters: list[str] | None
) -> None:
    detectable = minimum_detectable_difference(values, values, clusters=clusters)
    assert math.isnan(detectable)


def test_equivalence_of_the_published_example() -> None:
    # Tango (1998), soft contact lenses: 43 of 44 pairs alike, one worse; margin 0.1, Z
    # = 1.709.
    worse = [1.0] * 43 + [0.0]
    within, beyond = equivalence([1.0] * 44, worse, 0.1)
    assert student_quantile(1 - within, 43) == pytest.approx(1.709, abs=5e-4)
    assert (within, beyond) == equivalence(worse, [1.0] * 44, 0.1)
    assert beyond == 1.0
    _, beyond = equivalence([1.0] * 44, [0.0] * 22 + [1.0] * 22, 0.1)
    assert beyond < 1e-3
    # Eleven clusters of four items are too few.
    within, _ = equivalence(
        [1.0] * 44, worse, 0.1, clusters=[i // 4 for i in range(44)]
    )
    assert within > 0.1


def test_equivalence_of_other_values_is_a_t_test() -> None:
    # Mean difference 0.05, standard deviation 0.1, 25 pairs, margin 0.1: t = 2.5.
    noise = np.linspace(-1, 1, 25)
    b = 0.05 + 0.1 * (noise - noise.mean()) / noise.std(ddof=1)
    within, _ = equivalence([0.0] * 25, b, 0.1, limits=None)
    assert student_quantile(1 - within, 24) == pytest.approx(2.5)


def test_equivalence_of_a_single_cluster_is_unknown() -> None:
    p_values = equivalence([1.0, 0.0], [1.0, 1.0], 0.1, clusters=["a", "a"])
    assert all(map(math.isnan, p_values))
