from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.correlation import (
    among_annotators,
    clustered_correlation,
    kendall_tau,
    mean_tau_within,
    rank_correlation,
    spearman_rho,
)
from medical_tasks.scoring.intervals import normal_cdf, student_quantile
from medical_tasks.scoring.preferences import output_pairs, preference_signs

NAN = math.nan
values = st.one_of(st.integers(-3, 3).map(float), st.just(NAN))
rows = st.lists(st.tuples(st.sampled_from("abcd"), values, values), max_size=14)


def same(one: float, other: float) -> bool:
    return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=0, abs_tol=1e-12)


@settings(deadline=None, max_examples=50)
@given(table=rows, shuffle=st.randoms(use_true_random=False))
def test_laws(table: list[tuple[str, float, float]], shuffle: random.Random) -> None:
    clusters = [row[0] for row in table]
    x, y = (np.array([row[k] for row in table], dtype=float) for k in (1, 2))
    found = clustered_correlation(x, y, clusters=clusters, resamples=100)
    # The coefficients are those without clusters, of three outputs and more.
    enough = found.spearman.n >= 3
    assert same(found.spearman.value, spearman_rho(x, y) if enough else math.nan)
    assert same(found.kendall.value, kendall_tau(x, y) if enough else math.nan)
    assert found.spearman.n + found.missing == len(table)
    for estimate in (found.spearman, found.kendall):
        if not math.isnan(estimate.value):
            assert -1.0 <= estimate.ci_low <= estimate.value + 1e-12
            assert estimate.value - 1e-12 <= estimate.ci_high <= 1.0
    # Neither a constant more, nor the rows' order, nor the clusters' names change anything.
    assert repr(clustered_correlation(x + 0.1, y, clusters=clusters, resamples=100)) == repr(found)
    mixed = shuffle.sample(range(len(table)), len(table))
    names = [clusters[k] + "'" for k in mixed]
    assert repr(clustered_correlation(x[mixed], y[mixed], clusters=names, resamples=100)) == repr(found)
    away = clustered_correlation(-x, y, clusters=clusters, resamples=100)
    assert same(away.kendall.value, -found.kendall.value)


def test_each_row_its_own_cluster_is_the_plain_bootstrap() -> None:
    generator = random.Random(5)
    x = [generator.gauss(0, 1) for _ in range(60)]
    y = [value + generator.gauss(0, 1) for value in x]
    plain = rank_correlation(x, y, resamples=2000)
    found = clustered_correlation(x, y, clusters=range(60), resamples=2000)
    for one, other in ((found.spearman, plain.spearman), (found.kendall, plain.kendall)):
        assert one.value == pytest.approx(other.value, abs=1e-12)
        assert (one.ci_low, one.ci_high) == pytest.approx((other.ci_low, other.ci_high), abs=0.03)


def test_the_interval_is_that_of_a_plain_loop_over_clusters() -> None:
    generator = random.Random(11)
    clusters = [k // 4 for k in range(80)]
    shift = [generator.gauss(0, 1) for _ in range(20)]
    x = [round(shift[c] + generator.gauss(0, 1), 1) for c in clusters]  # with ties
    y = [value + shift[c] + generator.gauss(0, 1) for value, c in zip(x, clusters, strict=True)]
    drawn = [generator.choices(range(20), k=20) for _ in range(400)]
    members = [[k for k, c in enumerate(clusters) if c == cluster] for cluster in range(20)]
    found = clustered_correlation(x, y, clusters=clusters, resamples=10_000)
    level = normal_cdf(-math.sqrt(20 / 19) * student_quantile(0.975, 19))
    for estimate, plain in ((found.spearman, spearman_rho), (found.kendall, kendall_tau)):
        draws = [[k for cluster in each for k in members[cluster]] for each in drawn]
        those = [plain([x[k] for k in each], [y[k] for k in each]) for each in draws]
        assert estimate.ci_low == pytest.approx(np.quantile(those, level), abs=0.05)
        assert estimate.ci_high == pytest.approx(np.quantile(those, 1 - level), abs=0.05)


def test_outputs_that_are_alike_count_for_less() -> None:
    generator = random.Random(2)
    pairs = [(generator.gauss(0, 1), generator.gauss(0, 1)) for _ in range(30)]
    x, y = zip(*[pair for pair in pairs for _ in range(5)], strict=True)
    alone = clustered_correlation(x, y, clusters=range(150)).kendall
    whole = clustered_correlation(x, y, clusters=[k // 5 for k in range(150)]).kendall
    assert whole.ci_high - whole.ci_low > 1.5 * (alone.ci_high - alone.ci_low)


@pytest.mark.parametrize(
    ("x", "y"),
    [([], []), ([1.0], [1.0]), ([1.0, 1, 1], [1.0, 2, 3]), ([NAN, NAN], [1.0, 2]), ([1.0, NAN, 3], [NAN, 2.0, 3])],
)
def test_not_defined_is_nan(x: list[float], y: list[float]) -> None:
    found = clustered_correlation(x, y, clusters=range(len(x)))
    for estimate in (found.spearman, found.kendall):
        assert [math.isnan(end) for end in (estimate.value, estimate.ci_low, estimate.ci_high)] == [True] * 3


def test_one_cluster_says_nothing_of_others() -> None:
    found = clustered_correlation([1, 2, 3], [1, 2, 3], clusters="aaa").spearman
    assert (found.value, found.ci_low, found.ci_high, found.n) == (1.0, -1.0, 1.0, 3)


def test_annotators_by_hand() -> None:
    ann, ben, cy = [10.0, 20, 30, 40], [10.0, 30, 20, 40], [40.0, 20, 30, 10]
    found = among_annotators([ann, ben, cy], clusters="abcd")
    # Means of the other two: 25 25 25 25 (ann: not defined), 25 20 30 25 (ben), 10 25 25 40 (cy).
    ben_rho, cy_rho = spearman_rho(ben, [25, 20, 30, 25]), spearman_rho(cy, [10, 25, 25, 40])
    assert found.spearman.value == pytest.approx((ben_rho + cy_rho) / 2)
    # ben: of six pairs 2 in order, 3 not, 1 tied in the mean; cy: 0 in order, 5 not, 1 tied.
    taus = (2 - 3) / math.sqrt(6 * 5), (0 - 5) / math.sqrt(6 * 5)
    assert found.kendall.value == pytest.approx(sum(taus) / 2)
    assert found.kendall.n == 4


def test_annotators_who_scored_some() -> None:
    # The second output was scored by one alone, the last by nobody.
    found = among_annotators([[1, 5, 2, 3, NAN], [1, NAN, 2, 3, NAN], [NAN, NAN, 2, 3, NAN]], clusters="abcde")
    assert (found.spearman.value, found.spearman.n, found.missing) == (1.0, 3, 2)
    for scores in ([], [[1.0, 2, 3]], [[1.0, 2, NAN], [NAN, NAN, 3.0]]):
        none = among_annotators(scores, clusters="abc")
        assert (none.kendall.n, math.isnan(none.kendall.value), math.isnan(none.kendall.ci_low)) == (0, True, True)
    assert among_annotators([[], []], clusters=[]).spearman.n == 0
    assert among_annotators([[1, 2, 3], [10, 20, 30]], clusters="abc").spearman.value == 1.0


def test_equal_means_are_tied_whoever_gave_which_score() -> None:
    scores = [[0.1, 0.2, 0.3], [0.2, 0.3, 0.1], [0.3, 0.1, 0.2], [1.0, 2.0, 3.0]]
    # The fourth's reference is the same mean three times: only the other three have a coefficient.
    found = among_annotators(scores, clusters="abc").kendall.value
    others = [
        kendall_tau(own, np.mean([other for other in scores if other is not own], axis=0).round(12))
        for own in scores[:3]
    ]
    assert found == pytest.approx(np.mean(others))


def test_tau_among_the_outputs_of_an_item_by_hand() -> None:
    items = ["a", "a", "a", "b", "b", "b", "c", "c", "d"]
    x = [1.0, 2, 3, 1, 2, 2, 5, 5, 9]
    y = [1.0, 3, 2, 3, 2, 1, 1, 2, 9]
    pairs = output_pairs(items)
    signs = [preference_signs(column, pairs, epsilon=0.0) for column in (x, y)]
    of = [items[row] for row in pairs.first]
    found = mean_tau_within(*signs, items=of, clusters=of)
    # a: (2 - 1) / 3; b: -2 / sqrt(2 * 3); c: the same in x, not defined; d: one output, no pair.
    assert found.value == pytest.approx((1 / 3 - 2 / math.sqrt(6)) / 2)
    assert found.n == 2
    assert mean_tau_within(np.empty(0), np.empty(0), items=[], clusters=[]).n == 0


@settings(deadline=None, max_examples=50)
@given(table=rows)
def test_tau_within_is_the_mean_of_each_items(table: list[tuple[str, float, float]]) -> None:
    table = [row for row in table if not math.isnan(row[1] + row[2])]
    items = [row[0] for row in table]
    pairs = output_pairs(items)
    signs = [preference_signs(np.array([row[k] for row in table], dtype=float), pairs, epsilon=0.0) for k in (1, 2)]
    of = [items[row] for row in pairs.first]
    found = mean_tau_within(*signs, items=of, clusters=of, resamples=100)
    each = [
        kendall_tau(*([row[k] for row in table if row[0] == item] for k in (1, 2))) for item in dict.fromkeys(items)
    ]
    defined = [tau for tau in each if not math.isnan(tau)]
    assert found.n == len(defined)
    assert same(found.value, sum(defined) / len(defined) if defined else NAN)


def test_wrong_input_by_its_message() -> None:
    with pytest.raises(ValueError, match="must have the same length"):
        clustered_correlation([1, 2], [1, 2], clusters="abc")
    with pytest.raises(ValueError, match="must have the same length"):
        among_annotators([[1, 2], [1]], clusters="ab")
    with pytest.raises(ValueError, match="seed must be a whole number"):
        clustered_correlation([1, 2], [1, 2], clusters="ab", seed=-1)


def test_more_rows_than_fit_one_block() -> None:
    # 1,100 rows squared are more than a block of pairs; 2,000 draws more than a block of draws.
    generator = np.random.default_rng(1)
    x = generator.integers(0, 50, 1100).astype(float)
    y = x + generator.normal(0, 20, 1100)
    found = clustered_correlation(x, y, clusters=[k // 11 for k in range(1100)])
    assert found.kendall.value == pytest.approx(kendall_tau(x, y), abs=1e-12)
    assert found.spearman.value == pytest.approx(spearman_rho(x, y), abs=1e-12)
    ends = [found.kendall.ci_low, found.kendall.value, found.kendall.ci_high]
    assert all(a < b for a, b in pairwise(ends))
