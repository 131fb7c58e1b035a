"""Bootstrap intervals of statistics of sums: against plain loops and the t interval, degenerate draws, wrong input."""

import math
import random
import tracemalloc
from typing import Any

import numpy as np
import pytest

from medical_tasks.scoring.bootstrap import (
    Draws,
    bootstrap_statistic,
    interval_of,
    quotient,
)
from medical_tasks.scoring.estimates import Estimate, Floats, as_column, sum_table
from medical_tasks.scoring.intervals import normal_cdf, student_quantile
from tests.scoring.interval_ends import ends


def bootstrap_mean(values: Any, *, clusters: Any = None, **options: Any) -> Estimate:
    """The simplest statistic of sums: the mean."""
    return bootstrap_statistic(
        [values, np.ones(len(values))], quotient, clusters=clusters, **options
    )


def f1(tp: Floats, fp: Floats, fn: Floats) -> Floats:
    return 2 * tp / (2 * tp + fp + fn)


def expanded_level(k: float) -> float:
    """Returns the percentile that stands for 2.5 % with k clusters."""
    return normal_cdf(-math.sqrt(k / (k - 1)) * student_quantile(0.975, k - 1))


def naive_interval(
    groups: list[list[float]], resamples: int, level: float
) -> tuple[float, float]:
    """Draws whole clusters, one by one, in plain Python loops."""
    generator = random.Random(11)
    means = []
    for _ in range(resamples):
        sample = [generator.choice(groups) for _ in groups]
        means.append(sum(map(sum, sample)) / sum(map(len, sample)))
    means.sort()
    rank = math.ceil(level * resamples)
    return means[rank - 1], means[resamples - rank]


@pytest.mark.parametrize(
    ("sizes", "clustered"),
    [
        pytest.param([1] * 40, False, id="alone"),
        pytest.param([4] * 25, True, id="equal"),
        pytest.param([1, 2, 3, 9] * 7, True, id="unequal"),
    ],
)
def test_same_distribution_as_a_plain_loop(sizes: list[int], clustered: bool) -> None:
    generator = np.random.default_rng(3)
    groups = [
        np.clip(generator.normal(generator.random(), 0.1, size), 0, 1).tolist()
        for size in sizes
    ]
    values = [value for group in groups for value in group]
    clusters = np.repeat(range(len(sizes)), sizes).tolist() if clustered else None
    estimate = bootstrap_mean(values, clusters=clusters, resamples=20_000)
    effective = sum(sizes) ** 2 / sum(size * size for size in sizes)
    low, high = naive_interval(groups, 20_000, expanded_level(effective))
    assert estimate.value == pytest.approx(sum(values) / len(values), abs=1e-12)
    assert estimate.n == len(values)
    # The noise of 20,000 draws is well under 3 % of the width at both ends.
    assert ends(estimate) == pytest.approx((low, high), abs=0.03 * (high - low))


def test_few_items_give_the_t_interval() -> None:
    # Four values: the bootstrap's standard error is sd / sqrt(4), with the sd over n;
    # corrected for that it is the usual one, so the interval is the t interval, up to
    # the draws' noise.
    values = np.array([0.4, 0.5, 0.55, 0.65])
    half = student_quantile(0.975, 3) * float(values.std(ddof=1)) / 2
    estimate = bootstrap_mean(values, resamples=50_000)
    assert ends(estimate) == pytest.approx((0.525 - half, 0.525 + half), rel=0.02)


def test_values_without_limits_give_the_t_interval() -> None:
    values = np.random.default_rng(4).normal(120.0, 15.0, 80)
    estimate = bootstrap_mean(values, limits=None, resamples=5_000)
    half = student_quantile(0.975, 79) * float(values.std(ddof=1)) / math.sqrt(80)
    assert ends(estimate) == pytest.approx(
        (values.mean() - half, values.mean() + half), abs=0.15 * half
    )


def test_the_seed_decides_and_the_order_of_items_does_not() -> None:
    values = np.random.default_rng(1).random(50)
    assert bootstrap_mean(values) == bootstrap_mean(values, seed=0)
    assert ends(bootstrap_mean(values, seed=1)) != ends(bootstrap_mean(values))
    ascending, descending = [0.0, 0.25, 0.5, 1.0] * 5, [1.0, 0.5, 0.25, 0.0] * 5
    assert bootstrap_mean(ascending, seed=4) == bootstrap_mean(descending, seed=4)


def test_micro_f1_is_that_of_the_sums() -> None:
    generator = np.random.default_rng(6)
    tp, fp, fn = (generator.integers(0, high, 60) for high in (6, 3, 4))
    estimate = bootstrap_statistic([tp, fp, fn], f1)
    assert estimate.value == pytest.approx(
        2 * tp.sum() / (2 * tp.sum() + fp.sum() + fn.sum()), abs=1e-14
    )
    assert estimate.ci_low < estimate.value < estimate.ci_high


def test_items_without_counts_do_not_count() -> None:
    generator = np.random.default_rng(9)
    columns = [generator.integers(0, 5, 30).astype(float) for _ in range(3)]
    padded = [np.concatenate([column, [0.0, math.nan, 0.0]]) for column in columns]
    assert bootstrap_statistic(padded, f1) == bootstrap_statistic(columns, f1)


def precision(tp: Floats, fp: Floats, fn: Floats) -> Floats:
    return tp / (tp + fp)


def test_a_statistic_that_some_draws_leave_undefined_has_no_certain_ends() -> None:
    # 18 of 20 items predict nothing but miss something: on (18/20)^20 = 12 % of draws
    # precision is 0 / 0.
    counts = [[3, 0] + [0] * 18, [1, 4] + [0] * 18, [0, 0] + [1] * 18]
    estimate = bootstrap_statistic(counts, precision)
    assert estimate == Estimate(3 / 8, 0.0, 1.0, 20)
    unlimited = bootstrap_statistic(counts, precision, limits=None)
    assert all(map(math.isnan, ends(unlimited)))
    # Also where all other draws are alike.
    counts = [[3] + [0] * 19, [1] + [0] * 19, [1] * 20]
    estimate = bootstrap_statistic(counts, precision)
    assert estimate == Estimate(0.75, 0.0, 1.0, 20)


def test_a_statistic_that_all_draws_leave_undefined_is_nan() -> None:
    estimate = bootstrap_statistic([[0] * 9, [0] * 9, [1] * 9], precision)
    assert estimate.n == 9
    assert all(map(math.isnan, (estimate.value, *ends(estimate))))


def test_memory_is_bounded() -> None:
    values = np.random.default_rng(0).random(20_000)
    tracemalloc.start()
    bootstrap_mean(values, resamples=1_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All indices at once would be 160 MB.
    assert peak < 20e6


@pytest.mark.parametrize(
    ("columns", "function", "options", "message"),
    [
        ([], f1, {}, "columns must hold at least one column; got none"),
        (
            [[1, 2], [1]],
            quotient,
            {},
            r"columns\[0\] and columns\[1\] must have the same length, .*",
        ),
        (
            [[1, 2], [1, 2]],
            lambda a, b: 0.5,
            {},
            r"function must return one value a draw, shape \(1,\); got shape \(\)",
        ),
        (
            [[3, 2], [1, 2]],
            quotient,
            {},
            "the statistic must be within its limits, 0 to 1; got 1 to 3",
        ),
        (
            [[1], [2]],
            quotient,
            {"seed": -1},
            "seed must be a whole number of at least 0; got -1",
        ),
        (
            [[1], [2]],
            quotient,
            {"resamples": 99},
            "resamples must be a whole number of at least 100; got 99",
        ),
        (
            [[1], [2]],
            quotient,
            {"limits": (1, 0)},
            r"limits must be two finite numbers, the lower first, or None; got \(1, 0\)",
        ),
    ],
)
def test_wrong_input_is_refused(
    columns: Any, function: Any, options: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        bootstrap_statistic(columns, function, **options)


def test_sums_of_clusters_by_hand() -> None:
    values = np.array([1.0, 2.0, 3.0, math.nan, 0.0])
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    table = sum_table([values, weights], weights, ["b", "a", "b", "c", "a"])
    # Clusters a: 2 of weight 1; b: 4 of weight 2; c has no value; the item with 0 and
    # weight 0 does not count.
    assert table.rows.tolist() == [[2.0, 1.0], [4.0, 2.0]]
    assert (table.n, table.n_clusters) == (3, 2)
    assert table.effective == pytest.approx(9 / 5)
    assert table.totals() == [6.0, 3.0]


@pytest.mark.parametrize("clusters", [None, []])
def test_sums_of_nothing(clusters: list[str] | None) -> None:
    empty = np.array([])
    table = sum_table([empty, empty], empty, clusters)
    assert (table.n, table.n_clusters, table.effective) == (0, 0, 0.0)
    assert table.totals() == [0.0, 0.0]


def test_sums_do_not_depend_on_the_order_of_items() -> None:
    # Added from left to right, these three sum to 0.6000000000000001, and to 0.6 from
    # right to left.
    values, labels = np.array([0.1, 0.2, 0.3]), ["a", "a", "a"]
    ascending = sum_table([values], np.ones(3), labels)
    descending = sum_table([values[::-1]], np.ones(3), labels)
    assert ascending.rows.tolist() == descending.rows.tolist()
    # Rows are sorted, and -0.0 is no other value than 0.0.
    columns = [np.array([0.0, -0.0]), np.array([2.0, 1.0])]
    table = sum_table(columns, np.ones(2), None)
    assert table.rows.tolist() == [[0.0, 1.0], [0.0, 2.0]]


def test_columns_of_all_kinds_of_numbers() -> None:
    for values in ([True, False], [1, 0], np.array([1, 0], dtype=np.uint8), (1.0, 0.0)):
        column = as_column("values", values)
        assert column.dtype == np.float64
        assert column.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("resamples", [100, 399, 400, 2000])
def test_an_end_is_the_draw_that_is_reached_by_its_share_of_the_draws(
    resamples: int,
) -> None:
    values = np.random.default_rng(resamples).normal(size=resamples)
    values[3] = math.nan  # is beyond both ends
    low, high = interval_of(Draws(0.0, values, 50.0), limits=(-9.0, 9.0))
    level = expanded_level(50.0)
    rank = math.ceil(level * resamples)
    assert low == sorted([-9.0, *values[~np.isnan(values)]])[rank - 1]
    assert high == sorted([*values[~np.isnan(values)], 9.0])[-rank]
