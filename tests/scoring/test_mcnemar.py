import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.estimates import McNemar
from medical_tasks.scoring.paired import mcnemar


def runs(both: int, only_a: int, only_b: int, neither: int) -> tuple[list[int], list[int]]:
    a = [1] * (both + only_a) + [0] * (only_b + neither)
    b = [1] * both + [0] * only_a + [1] * only_b + [0] * neither
    return a, b


# Exact and mid-p by hand: two-sided binomial tails at one half.
BY_HAND = [
    # Fagerland, Lydersen and Laake (2013), table 1: 2 (1 + 8) / 256 and the same less 8 / 256 (0.0703 and 0.0391).
    ((1, 1, 7, 12), 18 / 256, 10 / 256),
    ((0, 5, 0, 0), 2 / 32, 1 / 32),
    # Even splits: the exact p is 1, the mid-p is 1 - P(even split) / 2 = 1 - (6/16) / 2.
    ((3, 2, 2, 1), 1.0, 13 / 16),
    ((0, 1, 0, 0), 1.0, 0.5),
    ((4, 0, 0, 4), 1.0, 1.0),
]


@pytest.mark.parametrize(("counts", "exact", "mid"), BY_HAND)
def test_hand_derived_p_values(counts: tuple[int, int, int, int], exact: float, mid: float) -> None:
    result = mcnemar(*runs(*counts))
    assert (result.both, result.only_a, result.only_b, result.neither) == counts
    assert (result.n, result.n_clusters) == (sum(counts), sum(counts))
    assert result.p_exact == pytest.approx(exact, rel=1e-12)
    assert result.p_mid == pytest.approx(mid, rel=1e-12)


@pytest.mark.parametrize(("only_a", "only_b"), [(3, 9), (400, 500), (50_000, 51_000), (499_000, 501_000)])
def test_large_counts_agree_with_scipy(only_a: int, only_b: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    result = mcnemar(*runs(10, only_a, only_b, 5))
    exact = stats.binomtest(only_a, only_a + only_b).pvalue
    assert result.p_exact == pytest.approx(exact, rel=1e-6)
    assert result.p_mid == pytest.approx(exact - stats.binom.pmf(only_a, only_a + only_b, 0.5), rel=1e-6)


def by_enumeration(differences: list[int]) -> tuple[float, float]:
    """All sign patterns, one by one."""
    observed = abs(sum(differences))
    signs = np.array(list(itertools.product((-1, 1), repeat=len(differences))))
    sums = np.abs(signs @ np.array(differences)).tolist()
    beyond, at = sum(s > observed for s in sums), sum(s == observed for s in sums)
    return (beyond + at) / len(sums), (beyond + at / 2) / len(sums)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 9)), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_clusters_are_exchanged_whole(items: list[tuple[int, int, int]], shuffler: random.Random) -> None:
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
    renamed = mcnemar([i[0] for i in shuffled], [i[1] for i in shuffled], clusters=[f"n{i[2]}" for i in shuffled])
    assert renamed == result
    assert mcnemar(a, b, clusters=list(range(len(items)))) == mcnemar(a, b)


def test_clusters_of_copies_are_worth_one_item() -> None:
    a, b = runs(4, 2, 9, 5)
    once = mcnemar(a, b)
    copied = mcnemar(a * 3, b * 3, clusters=[i % 20 for i in range(60)])
    assert (copied.p_exact, copied.p_mid) == (once.p_exact, once.p_mid)
    assert copied.only_b == 27
    assert mcnemar(a * 3, b * 3).p_exact < once.p_exact


def test_clusters_that_all_lean_one_way() -> None:
    # Thirty clusters with 1 to 30 differences, all for b: two of 2^30 sign patterns are so uneven.
    b = [1] * 465
    clusters = [k for k in range(1, 31) for _ in range(k)]
    result = mcnemar([0] * 465, b, clusters=clusters)
    assert (result.p_exact, result.p_mid) == pytest.approx((2.0**-29, 2.0**-30), rel=1e-6)


def test_p_values_are_never_below_the_possible() -> None:
    # Sixty such clusters: two of 2^60 patterns, which is less than what the transform resolves (about 1e-15).
    clusters = [k for k in range(1, 61) for _ in range(k)]
    result = mcnemar([0] * len(clusters), [1] * len(clusters), clusters=clusters)
    assert 2.0**-59 <= result.p_exact <= 1e-14
    assert 2.0**-60 <= result.p_mid <= result.p_exact


def test_many_large_clusters() -> None:
    # Against the normal approximation of the sum of ±m: p = erfc(sum / sqrt(2 Σm²)), good to a few per cent here.
    generator = np.random.default_rng(0)
    sizes = generator.integers(1, 40, 400)
    clusters = np.repeat(np.arange(400), sizes).tolist()
    leaning = np.repeat(generator.random(400) < 0.55, sizes)
    result = mcnemar(~leaning, leaning, clusters=clusters)
    difference = abs(result.only_b - result.only_a)
    assert result.p_mid == pytest.approx(math.erfc(difference / math.sqrt(2 * float((sizes**2).sum()))), rel=0.05)


def test_items_without_a_value_do_not_count() -> None:
    result = mcnemar([1, math.nan, 0, 1], [0, 1, math.nan, 1], clusters=["x", "y", "z", "x"])
    assert result == McNemar(both=1, only_a=1, only_b=0, neither=0, p_exact=1.0, p_mid=0.5, n=2, n_clusters=1)
    nothing = mcnemar([], [])
    assert (nothing.n, nothing.p_exact, nothing.p_mid) == (0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1, 0], [1], "a and b must have the same length, one entry an item; a has 2, b has 1"),
        ([1, 0.5], [1, 0], r"a must be 0 or 1 \(nan where there is no value\); got 0.5"),
        ([1, 0], [1, 2], r"b must be 0 or 1 \(nan where there is no value\); got 2"),
    ],
)
def test_wrong_input_is_told(a: Any, b: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        mcnemar(a, b)
