"""Two runs: differences, McNemar, Holm, and what can be detected."""

import dataclasses
import itertools
import json
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


def test_agrees_with_the_paired_t_test() -> None:
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
    assert (result.ci_low, result.ci_high) == pytest.approx(
        (mean - half, mean + half), abs=0.06 * half
    )
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
    a, b, clusters = ([item[i] for item in items] for i in range(3))
    result = paired_bootstrap(a, b, clusters=clusters, resamples=200)
    assert paired_bootstrap(b, a, clusters=clusters, resamples=200) == mirrored(result)
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    again = paired_bootstrap(
        [i[0] for i in shuffled],
        [i[1] for i in shuffled],
        clusters=[f"n{i[2]}" for i in shuffled],
        resamples=200,
    )
    assert again == result
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
def test_p_value_and_interval_say_the_same(items: list[tuple[float, float]]) -> None:
    result = paired_bootstrap(
        [a for a, _ in items], [b for _, b in items], resamples=2000
    )
    outside_zero = result.ci_low > 0.0 or result.ci_high < 0.0
    if result.p_value < 0.048:
        assert outside_zero
    if result.p_value > 0.052:
        assert not outside_zero


def test_runs_that_hardly_vary() -> None:
    # No difference seen on 20 items: 1 - 0.025^(1/20) = 0.1684 of all items may still
    # differ by 1.
    values = np.linspace(0, 1, 20)
    result = paired_bootstrap(values, values)
    assert (result.difference, result.p_value) == (0.0, 1.0)
    assert (result.ci_low, result.ci_high) == pytest.approx((-0.1684, 0.1684), abs=5e-5)
    # All ten items from wrong to right: two of 2^10 sign patterns are so uneven, and
    # the interval agrees with that: at most 1 - 0.025^(1/10) of the items go the other
    # way, so the difference is at least 1 - 2 * 0.3085.
    result = paired_bootstrap([0] * 10, [1] * 10)
    assert result.p_value == pytest.approx(2.0**-9, rel=1e-9)
    assert (result.ci_low, result.ci_high) == pytest.approx(
        (1 - 2 * (1 - 0.025**0.1), 1.0), abs=1e-12
    )
    small = paired_bootstrap([0.5] * 10, [0.6] * 10)
    assert small.ci_low < 0.0
    assert small.p_value > 0.05
    assert math.isnan(paired_bootstrap([0.5] * 10, [0.6] * 10, limits=None).p_value)
    # Every difference occurs in both directions: whatever the draws, neither direction
    # may look better.
    a, b = [0.2, 0.8, 0.5, 0.6] * 5, [0.8, 0.2, 0.6, 0.5] * 5
    result = paired_bootstrap(a, b)
    assert (result.difference, result.p_value) == (0.0, 1.0)
    assert result.ci_high == -result.ci_low > 0.1
    assert paired_bootstrap(b, a) == result
    result = paired_bootstrap([0, 0, 0], [1, 1, 1], clusters=["a"] * 3)
    assert (result.difference, result.ci_low, result.ci_high, result.p_value) == (
        1.0,
        -1.0,
        1.0,
        1.0,
    )
    assert (result.n, result.n_clusters) == (3, 1)
    result = paired_bootstrap([0.5, math.nan], [math.nan, 0.5])
    assert (result.n, result.n_clusters) == (0, 0)
    numbers = (
        result.value_a,
        result.difference,
        result.ci_low,
        result.ci_high,
        result.p_value,
    )
    assert all(map(math.isnan, numbers))
    assert (
        json.loads(json.dumps(as_json(result), allow_nan=False))["difference"] is None
    )
    generator = np.random.default_rng(3)
    one, other = generator.random(30), generator.random(30)
    longer = paired_bootstrap([*one, math.nan, 1.0], [*other, 1.0, math.nan])
    assert longer == paired_bootstrap(one, other)


def test_p_values_are_those_of_the_t_test() -> None:
    a, b = np.array([0.5, 0.5, 0.5]), np.array([0.55, 0.6, 0.62])
    result = paired_bootstrap(a, b, resamples=50_000)
    t = float((b - a).mean() / (b - a).std(ddof=1)) * math.sqrt(3)
    assert result.p_value == pytest.approx(2 * student_tail(t, 2), rel=0.02)
    generator = np.random.default_rng(1)
    for mean in (0.02, 0.03, 0.04, 0.06):
        a = generator.uniform(0.3, 0.5, 120)
        b = a + generator.normal(mean, 0.1, 120).clip(-0.3, 0.5)
        exact = 2 * student_tail(
            float((b - a).mean() / (b - a).std(ddof=1)) * math.sqrt(120), 119
        )
        found = [
            paired_bootstrap(a, b, resamples=1000, seed=seed).p_value
            for seed in range(3)
        ]
        # In orders of magnitude: the tail is measured on ten draws of a thousand.
        assert np.log10(found) == pytest.approx(
            math.log10(exact), abs=0.12 + 0.12 * abs(math.log10(exact))
        )
    assert exact < 1e-6


def test_p_value_goes_on_where_the_count_of_draws_ends() -> None:
    generator = np.random.default_rng(4)
    spread = generator.normal(0, 0.1, 80).clip(-0.3, 0.3)
    found = [
        paired_bootstrap(np.full(80, 0.4), 0.4 + spread + shift, resamples=1000).p_value
        for shift in np.arange(0.02, 0.09, 0.0005)
    ]
    assert max(found) > 0.05
    assert min(found) < 1e-7
    assert all(later <= earlier for earlier, later in itertools.pairwise(found))
    assert all(later >= earlier * 0.6 for earlier, later in itertools.pairwise(found))


def test_a_statistic_of_two_runs() -> None:
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
        picked = [draw.randrange(50) for _ in range(50)]
        values = []
        for columns in (first, second):
            t, p, n = (sum(int(column[i]) for i in picked) for column in columns)
            values.append(2 * t / (2 * t + p + n))
        differences.append(values[1] - values[0])
    low, high = np.quantile(differences, [0.025, 0.975])
    # Plain percentiles; ours are a little wider for 50 items.
    assert (result.ci_low, result.ci_high) == pytest.approx(
        (low, high), abs=0.12 * (high - low)
    )
    assert paired_bootstrap_statistic(second, first, f1, resamples=2000) == mirrored(
        result
    )
    # Undefined for one run.
    result = paired_bootstrap_statistic(
        [[0] * 9, [0] * 9, [1] * 9],
        [[1] * 9, [0] * 9, [0] * 9],
        lambda t, p, n: t / (t + p),
    )
    assert math.isnan(result.value_a)
    assert result.value_b == 1.0
    assert all(
        map(
            math.isnan,
            (result.difference, result.ci_low, result.ci_high, result.p_value),
        )
    )
    both = paired_bootstrap_statistic(
        [[0] * 9, [1] * 9], [[0] * 9, [1] * 9], lambda t, n: t / (t + 0 * n)
    )
    assert both.n == 9
    assert math.isnan(both.p_value)


WRONG: list[tuple[Callable[..., Any], list[Any]]] = [
    *((paired_bootstrap, case) for case in CASES["wrong_input_is_told"]),
    *((mcnemar, case) for case in CASES["wrong_input_is_told_of_mcnemar"]),
    *((holm, case) for case in CASES["wrong_input_is_told_of_multiplicity"]),
]


@pytest.mark.parametrize(("function", "case"), WRONG)
def test_wrong_input_is_told(function: Callable[..., Any], case: list[Any]) -> None:
    with pytest.raises(ValueError, match=f"^{case[-1]}$"):
        function(*case[:-1])


def test_wrong_columns_are_told() -> None:
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
def test_hand_derived_p_values(
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


def by_enumeration(differences: list[int]) -> tuple[float, float]:
    """All sign patterns, one by one."""
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
    a, b, clusters = ([item[i] for item in items] for i in range(3))
    result = mcnemar(a, b, clusters=clusters)
    sums = [sum(y - x for x, y, c in items if c == cluster) for cluster in range(10)]
    differences = [d for d in sums if d]
    exact, mid = by_enumeration(differences) if differences else (1.0, 1.0)
    assert (result.p_exact, result.p_mid) == pytest.approx((exact, mid), abs=1e-12)
    assert 0.0 < result.p_mid <= result.p_exact <= 1.0
    assert result.n_clusters == len(set(clusters))
    swapped = mcnemar(b, a, clusters=clusters)
    assert (swapped.p_exact, swapped.p_mid) == (result.p_exact, result.p_mid)
    assert (swapped.only_a, swapped.only_b) == (result.only_b, result.only_a)
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    renamed = mcnemar(
        [i[0] for i in shuffled],
        [i[1] for i in shuffled],
        clusters=[f"n{i[2]}" for i in shuffled],
    )
    assert renamed == result
    assert mcnemar(a, b, clusters=list(range(len(items)))) == mcnemar(a, b)


def test_mcnemar_of_clusters_by_hand() -> None:
    a, b = runs(4, 2, 9, 5)
    once = mcnemar(a, b)
    copied = mcnemar(a * 3, b * 3, clusters=[i % 20 for i in range(60)])
    assert (copied.p_exact, copied.p_mid) == (once.p_exact, once.p_mid)
    assert copied.only_b == 27
    assert mcnemar(a * 3, b * 3).p_exact < once.p_exact
    # Thirty clusters with 1 to 30 differences, all for b: two of 2^30 sign patterns are
    # so uneven.
    b = [1] * 465
    clusters = [k for k in range(1, 31) for _ in range(k)]
    result = mcnemar([0] * 465, b, clusters=clusters)
    assert (result.p_exact, result.p_mid) == pytest.approx(
        (2.0**-29, 2.0**-30), rel=1e-6
    )
    # Sixty such clusters: two of 2^60 patterns, which is less than what the transform
    # resolves (about 1e-15).
    clusters = [k for k in range(1, 61) for _ in range(k)]
    result = mcnemar([0] * len(clusters), [1] * len(clusters), clusters=clusters)
    assert 2.0**-59 <= result.p_exact <= 1e-14
    assert 2.0**-60 <= result.p_mid <= result.p_exact
    result = mcnemar(
        [1, math.nan, 0, 1], [0, 1, math.nan, 1], clusters=["x", "y", "z", "x"]
    )
    assert result == McNemar(
        both=1, only_a=1, only_b=0, neither=0, p_exact=1.0, p_mid=0.5, n=2, n_clusters=1
    )
    nothing = mcnemar([], [])
    assert (nothing.n, nothing.p_exact, nothing.p_mid) == (0, 1.0, 1.0)


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


def test_detectable_differences_by_hand() -> None:
    # Differences per cluster 0.3, 0.1, -0.1 of two items each: mean 0.05 an item,
    # residuals 0.2, 0, -0.2; standard error sqrt(3/2 * 0.08) / 6, two degrees of
    # freedom.
    a, b = [0.5] * 6, [0.7, 0.6, 0.55, 0.55, 0.4, 0.5]
    expected = (
        (student_quantile(0.975, 2) + student_quantile(0.8, 2)) * math.sqrt(0.12) / 6
    )
    assert minimum_detectable_difference(
        a, b, clusters=list("xxyyzz")
    ) == pytest.approx(expected, rel=1e-9)
    # Standard tables of the paired t test (alpha 0.05 two-sided, power 0.8): 34 pairs
    # detect half a standard deviation, 199 pairs a fifth (Cohen 1988; G*Power 3).
    for n, detected, room in ((34, 0.5, 0.006), (199, 0.2, 0.001)):
        b = np.arange(n) / np.arange(n).std(ddof=1)
        assert minimum_detectable_difference([0] * n, b, limits=None) == pytest.approx(
            detected, abs=room
        )
        copied = minimum_detectable_difference(
            [0] * 2 * n, np.tile(b, 2), clusters=[*range(n)] * 2, limits=None
        )
        assert copied == pytest.approx(
            minimum_detectable_difference([0] * n, b, limits=None), rel=1e-9
        )
    # 100 items without a difference: 1 - 0.025^(1/100) = 3.62 % may still differ by 1.
    values = [0, 1] * 50
    share = 1 - 0.025 ** (1 / 100)
    multiplier = student_quantile(0.975, 99) + student_quantile(0.8, 99)
    assert minimum_detectable_difference(values, values) == pytest.approx(
        multiplier * math.sqrt(share / 100), rel=1e-9
    )
    assert math.isnan(minimum_detectable_difference(values, values, limits=None))
    assert math.isnan(
        minimum_detectable_difference([0.5, 0.7], [0.5, 0.7], clusters=["a", "a"])
    )
    assert math.isnan(minimum_detectable_difference([0.5], [0.5]))
    assert math.isnan(minimum_detectable_difference([], []))


def test_equivalence() -> None:
    # Tango (1998), soft contact lenses: 43 of 44 pairs alike, one worse; margin 0.1, Z
    # = 1.709.
    worse = [1.0] * 43 + [0.0]
    within, beyond = equivalence([1.0] * 44, worse, 0.1)
    assert student_quantile(1 - within, 43) == pytest.approx(1.709, abs=5e-4)
    assert (within, beyond) == equivalence(worse, [1.0] * 44, 0.1)
    assert beyond == 1.0
    assert equivalence([1.0] * 44, [0.0] * 22 + [1.0] * 22, 0.1)[1] < 1e-3
    # Of other values a t test: mean difference 0.05, standard deviation 0.1, 25 pairs,
    # margin 0.1: t = 2.5.
    noise = np.linspace(-1, 1, 25)
    other = 0.05 + 0.1 * (noise - noise.mean()) / noise.std(ddof=1)
    assert student_quantile(
        1 - equivalence([0.0] * 25, other, 0.1, limits=None)[0], 24
    ) == pytest.approx(2.5)
    clusters = [place // 4 for place in range(44)]
    # eleven notes hide how alike their items are
    assert equivalence([1.0] * 44, worse, 0.1, clusters=clusters)[0] > 0.1
    assert all(
        map(math.isnan, equivalence([1.0, 0.0], [1.0, 1.0], 0.1, clusters=["a", "a"]))
    )
