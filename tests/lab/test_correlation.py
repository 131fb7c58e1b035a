"""Rank correlations: by hand, against scipy, laws, clusters."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.lab.correlation import (
    among_annotators,
    clustered_correlation,
    kendall_tau,
    mean_tau_within,
    rank_correlation,
    spearman_rho,
)
from medical_tasks.lab.preferences import output_pairs, preference_signs
from medical_tasks.scoring.intervals import normal_cdf, student_quantile

NAN = math.nan
BOTH = pytest.mark.parametrize("coefficient", [spearman_rho, kendall_tau])

# Few different values, so that ties are frequent, and some missing ones.
values = st.one_of(st.integers(-3, 3).map(float), st.just(NAN))
tables = st.lists(st.tuples(values, values), max_size=14)


def equal_or_nan(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(
        a, b, rel_tol=0, abs_tol=1e-12
    )


def test_published_examples_and_ties_by_hand() -> None:
    # Hollander and Wolfe (1973), Nonparametric Statistical Methods, p. 187: tuna lots,
    # Hunter L value and panel score. As quoted in the help of R's cor.test: T = 26 of
    # 36 pairs in order, tau = 0.4444.
    lightness = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
    panel = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]
    assert kendall_tau(lightness, panel) == (26 - 10) / 36
    # squared differences of ranks: 48; 1 - 6*48/720
    assert spearman_rho(lightness, panel) == pytest.approx(0.6)
    # Worked example of the article "Spearman's rank correlation coefficient" in
    # Wikipedia: squared differences of ranks 194, 1 - 6*194/990 = -29/165.
    quotient = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
    hours = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]
    assert spearman_rho(quotient, hours) == pytest.approx(-29 / 165, abs=1e-15)
    # 20 pairs in order, 25 not
    assert kendall_tau(quotient, hours) == pytest.approx(-5 / 45, abs=1e-15)
    # Pairs in order 2, not in order 6, tied in x alone 1 (2, 2), in both 1 (12, 12): (2
    # - 6) / sqrt((10 - 2) (10 - 1)).
    assert kendall_tau([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]) == pytest.approx(
        -4 / math.sqrt(72), abs=1e-15
    )
    # Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4; away from 2.5: products 4.5, squares 4.5 and
    # 5.
    assert spearman_rho([1, 2, 2, 3], [10, 30, 20, 40]) == pytest.approx(
        4.5 / math.sqrt(4.5 * 5), abs=1e-15
    )
    # Right and wrong against right and wrong, where both are the phi coefficient: (ad -
    # bc) / root of the margins.
    x, y = [1] * 30 + [0] * 30, [1] * 20 + [0] * 10 + [1] * 12 + [0] * 18
    phi = (20 * 18 - 10 * 12) / math.sqrt(30 * 30 * 32 * 28)
    assert spearman_rho(x, y) == pytest.approx(phi, abs=1e-15)
    assert kendall_tau(x, y) == pytest.approx(phi, abs=1e-15)


@BOTH
@pytest.mark.parametrize(
    (
        "x",
        "y",
    ),  # at the end one complete row, and a score that is constant once the incomplete row is out
    [
        ([], []),
        ([1], [1]),
        ([1, 1, 1], [1, 2, 3]),
        ([5, 5], [5, 5]),
        ([1, NAN, 3], [NAN, 2, 3]),
        ([1, 1, 2], [3, 4, NAN]),
    ],
)
def test_undefined_coefficients_are_nan(
    coefficient: Callable[..., float], x: list[float], y: list[float]
) -> None:
    assert math.isnan(coefficient(np.array(x, dtype=float), y))
    correlation = rank_correlation(np.array(x, dtype=float), y)
    for estimate in (correlation.spearman, correlation.kendall):
        assert [
            math.isnan(end)
            for end in (estimate.value, estimate.ci_low, estimate.ci_high)
        ] == [True] * 3


@given(tables)
def test_coefficients_equal_those_of_scipy(table: list[tuple[float, float]]) -> None:
    outside = pytest.importorskip("scipy.stats")
    whole = [row for row in table if not math.isnan(sum(row))]
    x, y = np.array(table, dtype=float).reshape(-1, 2).T
    a, b = np.array(whole, dtype=float).reshape(-1, 2).T
    defined = len(set(a)) > 1 and len(set(b)) > 1
    assert equal_or_nan(
        kendall_tau(x, y), float(outside.kendalltau(a, b)[0]) if defined else NAN
    )
    assert equal_or_nan(
        spearman_rho(x, y), float(outside.spearmanr(a, b)[0]) if defined else NAN
    )


@given(table=tables, seed=st.integers(0, 5), shuffle=st.randoms(use_true_random=False))
def test_intervals_depend_on_order_and_seed_alone(
    table: list[tuple[float, float]], seed: int, shuffle: random.Random
) -> None:
    x, y = np.array(table, dtype=float).reshape(-1, 2).T
    correlation = rank_correlation(x, y, seed=seed, resamples=200)
    for estimate in (correlation.spearman, correlation.kendall):
        if not math.isnan(estimate.value):
            assert -1.0 <= estimate.ci_low <= estimate.value <= estimate.ci_high <= 1.0
            assert estimate.ci_low < estimate.ci_high
    shuffled = shuffle.sample(table, len(table))
    a, b = np.array(shuffled, dtype=float).reshape(-1, 2).T
    for other in (
        rank_correlation(a, b, seed=seed, resamples=200),
        rank_correlation(y, x, seed=seed, resamples=200),
        rank_correlation(2.0 * x + 1.0, y**3, seed=seed, resamples=200),
    ):
        assert repr(other) == repr(correlation)  # nan is not equal to itself


def test_intervals_equal_those_of_a_plain_loop() -> None:
    generator = random.Random(11)
    x = [generator.gauss(0, 1) for _ in range(19)]
    y = [value + generator.gauss(0, 1) for value in x]
    x[4] = x[7]
    # The standard error of an end from 1,500 draws is 0.012, less than half the 0.03
    # that it may be off; the draws of a seed are the same in every run.
    drawn = [generator.choices(range(19), k=19) for _ in range(1500)]
    correlation = rank_correlation(x, y, resamples=20_000)
    # The expanded percentile level of `bootstrap` for 19 rows.
    level = normal_cdf(-math.sqrt(19 / 18) * student_quantile(0.975, 18))
    for estimate, plain in (
        (correlation.spearman, spearman_rho),
        (correlation.kendall, kendall_tau),
    ):
        values = sorted(
            plain([x[i] for i in rows], [y[i] for i in rows]) for rows in drawn
        )
        assert estimate.value == pytest.approx(plain(x, y), abs=1e-12)
        assert estimate.ci_low == pytest.approx(np.quantile(values, level), abs=0.05)
        assert estimate.ci_high == pytest.approx(
            np.quantile(values, 1 - level), abs=0.03
        )
    generator = random.Random(11)
    clusters = [k // 4 for k in range(80)]
    shift = [generator.gauss(0, 1) for _ in range(20)]
    x = [round(shift[c] + generator.gauss(0, 1), 1) for c in clusters]  # with ties
    y = [
        value + shift[c] + generator.gauss(0, 1)
        for value, c in zip(x, clusters, strict=True)
    ]
    drawn = [generator.choices(range(20), k=20) for _ in range(400)]
    members = [
        [k for k, c in enumerate(clusters) if c == cluster] for cluster in range(20)
    ]
    correlation = clustered_correlation(x, y, clusters=clusters, resamples=10_000)
    level = normal_cdf(-math.sqrt(20 / 19) * student_quantile(0.975, 19))
    for estimate, plain in (
        (correlation.spearman, spearman_rho),
        (correlation.kendall, kendall_tau),
    ):
        draws = [
            [k for cluster in drawn_clusters for k in members[cluster]]
            for drawn_clusters in drawn
        ]
        those = [plain([x[k] for k in draw], [y[k] for k in draw]) for draw in draws]
        assert estimate.ci_low == pytest.approx(np.quantile(those, level), abs=0.05)
        assert estimate.ci_high == pytest.approx(
            np.quantile(those, 1 - level), abs=0.05
        )


def test_intervals_where_the_draws_do_not_vary() -> None:
    perfect = rank_correlation(range(19), range(19))
    # All draws give 1; the share of other rows that 19 would not show, at -1
    # (`bootstrap`).
    unseen = 1 - 0.025 ** (1 / 19)
    for estimate in (perfect.spearman, perfect.kendall):
        assert (estimate.value, estimate.ci_high) == (1.0, 1.0)
        assert estimate.ci_low == pytest.approx(1 - 2 * unseen)
    # Three rows are uninformative: some draws hold only one of them. Two have no coefficient.
    few = rank_correlation(range(3), range(3))
    assert (few.kendall.value, few.kendall.ci_low, few.kendall.ci_high) == (
        1.0,
        -1.0,
        1.0,
    )
    assert all(
        math.isnan(estimate.value)
        for estimate in (
            rank_correlation([0, 1], [0, 1]).spearman,
            rank_correlation([0], [0]).kendall,
        )
    )
    correlation = clustered_correlation([1, 2, 3], [1, 2, 3], clusters="aaa").spearman
    assert (
        correlation.value,
        correlation.ci_low,
        correlation.ci_high,
        correlation.n,
    ) == (1.0, -1.0, 1.0, 3)
    generator = np.random.default_rng(1)
    x = generator.standard_normal(30)
    y = x + generator.standard_normal(30)
    wide, narrow = (
        rank_correlation(x, y, confidence=level).spearman for level in (0.95, 0.5)
    )
    assert wide.ci_low < narrow.ci_low < narrow.value < narrow.ci_high < wide.ci_high


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match="x and y must have the same length"):
        spearman_rho([1, 2], [1])
    with pytest.raises(ValueError, match="y must be finite"):
        kendall_tau([1.0, 2.0], [1.0, math.inf])
    with pytest.raises(ValueError, match="x must hold numbers"):
        kendall_tau(["a", "b"], [1, 2])
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0"):
        rank_correlation([1, 2], [1, 2], seed=-1)
    with pytest.raises(
        ValueError, match="resamples must be a whole number of at least 100"
    ):
        rank_correlation([1, 2], [1, 2], resamples=10)
    with pytest.raises(ValueError, match="confidence must be strictly between 0 and 1"):
        rank_correlation([1, 2, 3], [1, 2, 4], confidence=1.0)
    with pytest.raises(ValueError, match="must have the same length"):
        clustered_correlation([1, 2], [1, 2], clusters="abc")
    with pytest.raises(ValueError, match="must have the same length"):
        among_annotators([[1, 2], [1]], clusters="ab")
    with pytest.raises(ValueError, match="seed must be a whole number"):
        clustered_correlation([1, 2], [1, 2], clusters="ab", seed=-1)


rows = st.lists(st.tuples(st.sampled_from("abcd"), values, values), max_size=14)


@given(table=rows, shuffle=st.randoms(use_true_random=False))
def test_laws_of_clustered_correlation(
    table: list[tuple[str, float, float]], shuffle: random.Random
) -> None:
    clusters = [row[0] for row in table]
    x, y = (np.array([row[k] for row in table], dtype=float) for k in (1, 2))
    correlation = clustered_correlation(x, y, clusters=clusters, resamples=100)
    # The coefficients are those without clusters, of three outputs and more.
    enough = correlation.spearman.n >= 3
    assert equal_or_nan(
        correlation.spearman.value, spearman_rho(x, y) if enough else math.nan
    )
    assert equal_or_nan(
        correlation.kendall.value, kendall_tau(x, y) if enough else math.nan
    )
    assert correlation.spearman.n + correlation.missing == len(table)
    for estimate in (correlation.spearman, correlation.kendall):
        if not math.isnan(estimate.value):
            assert -1.0 <= estimate.ci_low <= estimate.value + 1e-12
            assert estimate.value - 1e-12 <= estimate.ci_high <= 1.0
    # Adding a constant, reordering rows and renaming clusters change nothing.
    assert repr(
        clustered_correlation(x + 0.1, y, clusters=clusters, resamples=100)
    ) == repr(correlation)
    mixed = shuffle.sample(range(len(table)), len(table))
    names = [clusters[k] + "'" for k in mixed]
    assert repr(
        clustered_correlation(x[mixed], y[mixed], clusters=names, resamples=100)
    ) == repr(correlation)
    away = clustered_correlation(-x, y, clusters=clusters, resamples=100)
    assert equal_or_nan(away.kendall.value, -correlation.kendall.value)


def test_annotators_by_hand() -> None:
    ann, ben, cy = [10.0, 20, 30, 40], [10.0, 30, 20, 40], [40.0, 20, 30, 10]
    correlation = among_annotators([ann, ben, cy], clusters="abcd")
    # Means of the other two: 25 25 25 25 (ann: not defined), 25 20 30 25 (ben), 10 25
    # 25 40 (cy).
    ben_rho, cy_rho = (
        spearman_rho(ben, [25, 20, 30, 25]),
        spearman_rho(cy, [10, 25, 25, 40]),
    )
    assert correlation.spearman.value == pytest.approx((ben_rho + cy_rho) / 2)
    # ben: of six pairs 2 in order, 3 not, 1 tied in the mean; cy: 0 in order, 5 not, 1
    # tied.
    taus = (2 - 3) / math.sqrt(6 * 5), (0 - 5) / math.sqrt(6 * 5)
    assert correlation.kendall.value == pytest.approx(sum(taus) / 2)
    assert correlation.kendall.n == 4
    # Only one annotator scored the second output, and nobody the last.
    correlation = among_annotators(
        [[1, 5, 2, 3, NAN], [1, NAN, 2, 3, NAN], [NAN, NAN, 2, 3, NAN]],
        clusters="abcde",
    )
    assert (
        correlation.spearman.value,
        correlation.spearman.n,
        correlation.missing,
    ) == (1.0, 3, 2)
    for scores in ([], [[1.0, 2, 3]], [[1.0, 2, NAN], [NAN, NAN, 3.0]]):
        none = among_annotators(scores, clusters="abc")
        assert (
            none.kendall.n,
            math.isnan(none.kendall.value),
            math.isnan(none.kendall.ci_low),
        ) == (0, True, True)
    assert among_annotators([[], []], clusters=[]).spearman.n == 0
    assert (
        among_annotators([[1, 2, 3], [10, 20, 30]], clusters="abc").spearman.value
        == 1.0
    )
    scores = [[0.1, 0.2, 0.3], [0.2, 0.3, 0.1], [0.3, 0.1, 0.2], [1.0, 2.0, 3.0]]
    # The fourth's reference is the same mean three times: only the other three have a
    # coefficient.
    correlation = among_annotators(scores, clusters="abc")
    others = [
        kendall_tau(
            own,
            np.mean([other for other in scores if other is not own], axis=0).round(12),
        )
        for own in scores[:3]
    ]
    assert correlation.kendall.value == pytest.approx(np.mean(others))


def test_monotone_functions_correlate_perfectly() -> None:
    generator = random.Random(3)
    for n in (2, 3, 19, 400):
        x = sorted(generator.random() for _ in range(n))
        assert (spearman_rho(x, np.exp(x)), kendall_tau(x, np.exp(x))) == (1.0, 1.0)
        assert (spearman_rho(x, np.negative(x)), kendall_tau(x, np.negative(x))) == (
            -1.0,
            -1.0,
        )


def test_rows_with_missing_values_are_left_out() -> None:
    x, y = [1, 2, NAN, 4, 5, 6, 7], [2, 1, 3, NAN, 6, 5, NAN]
    correlation = rank_correlation(x, y)
    assert (correlation.spearman.n, correlation.kendall.n, correlation.missing) == (
        4,
        4,
        3,
    )
    assert (
        correlation.spearman.value
        == spearman_rho([1, 2, 5, 6], [2, 1, 6, 5])
        == pytest.approx(0.6)
    )
    assert correlation == rank_correlation(
        *zip(
            *[(1, 2), (NAN, 9), (2, 1), (5, 6), (6, 5), (9, NAN), (9, NAN)], strict=True
        )
    )


@given(table=rows)
def test_tau_within_is_the_mean_over_items(
    table: list[tuple[str, float, float]],
) -> None:
    table = [row for row in table if not math.isnan(row[1] + row[2])]
    items = [row[0] for row in table]
    pairs = output_pairs(items)
    signs = [
        preference_signs(
            np.array([row[k] for row in table], dtype=float), pairs, epsilon=0.0
        )
        for k in (1, 2)
    ]
    of = [items[row] for row in pairs.first]
    within = mean_tau_within(*signs, items=of, clusters=of)
    taus = [
        kendall_tau(*([row[k] for row in table if row[0] == item] for k in (1, 2)))
        for item in dict.fromkeys(items)
    ]
    defined = [tau for tau in taus if not math.isnan(tau)]
    assert within.n == len(defined)
    assert equal_or_nan(within.value, sum(defined) / len(defined) if defined else NAN)


def test_more_rows_than_fit_one_block() -> None:
    # 1,100 rows squared are more than a block of pairs; 2,000 draws more than a block
    # of draws.
    generator = np.random.default_rng(1)
    x = generator.integers(0, 50, 1100).astype(float)
    y = x + generator.normal(0, 20, 1100)
    correlation = clustered_correlation(x, y, clusters=[k // 11 for k in range(1100)])
    assert correlation.kendall.value == pytest.approx(kendall_tau(x, y), abs=1e-12)
    assert correlation.spearman.value == pytest.approx(spearman_rho(x, y), abs=1e-12)
    ends = [
        correlation.kendall.ci_low,
        correlation.kendall.value,
        correlation.kendall.ci_high,
    ]
    assert all(a < b for a, b in pairwise(ends))
    first, more = generator.integers(0, 500, (2, 2500))
    outside = pytest.importorskip("scipy.stats")
    assert kendall_tau(first, first + more) == pytest.approx(
        float(outside.kendalltau(first, first + more)[0]), abs=1e-12
    )
