"""Tango's interval: a published example, McNemar's test at 0, and its laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from medical_tasks.scoring.estimates import as_json
from medical_tasks.scoring.paired import paired_bootstrap, paired_proportions
from medical_tasks.scoring.tango import tango_interval
from tests.scoring.interval_ends import ends, width

TABLES = st.tuples(*[st.integers(0, 40)] * 3).filter(any)
"""Counts of items that one run alone has right, that the other alone has, and on which they agree."""


def test_the_published_example() -> None:
    # Fagerland, Lydersen and Laake (2014), Stat Med 33:2850, tables II and V: -0.517 to
    # -0.026.
    low, high = tango_interval(1, 7, 21, 1.959964)
    assert (low, high) == pytest.approx((-0.517, -0.026), abs=5e-4)


@given(TABLES, st.floats(1.0, 4.0))
@example((0, 0, 5), 1.96)
@example((5, 0, 0), 1.96)
def test_laws_of_the_interval(table: tuple[int, int, int], t: float) -> None:
    better, worse, same = table
    n = better + worse + same
    low, high = tango_interval(better, worse, n, t)
    assert -1.0 <= low <= (better - worse) / n <= high <= 1.0
    assert low < high
    assert tango_interval(worse, better, n, t) == pytest.approx((-high, -low), abs=1e-9)
    assert tango_interval(10 * better, 10 * worse, 10 * n, t)[1] <= high + 1e-9
    # At 0 the score is McNemar's.
    score = abs(better - worse) / math.sqrt(better + worse) if better + worse else 0.0
    if abs(score - t) > 1e-6:
        assert (low <= 0.0 <= high) is (score < t)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40))
def test_copies_of_pairs_in_clusters_narrow_no_interval(
    pairs: list[tuple[bool, bool]],
) -> None:
    first, second = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    original = paired_proportions(first, second)
    names = list(range(len(pairs)))
    assert paired_proportions(first, second, clusters=names) == original
    copied = paired_proportions(first * 3, second * 3, clusters=names * 3)
    assert width(copied) >= width(original) - 1e-9
    if len(pairs) >= 10:
        assert width(copied) == pytest.approx(width(original), rel=0.1)
    assert (copied.n, copied.n_clusters) == (3 * len(pairs), len(pairs))
    assert -1.0 <= original.ci_low <= original.difference <= original.ci_high <= 1.0
    if original.ci_low > 0.0 or original.ci_high < 0.0:
        assert original.p_value < 0.05 + 1e-9


def test_a_single_cluster_leaves_the_interval_open() -> None:
    result = paired_proportions([1, 1], [0, 1], clusters=["a", "a"])
    assert (result.difference, result.p_value) == (-0.5, 1)
    assert ends(result) == (-1, 1)


def test_only_items_with_both_outcomes_count() -> None:
    with_gaps = paired_proportions([1, 0, math.nan, 1], [1, 1, 1, math.nan])
    assert with_gaps == paired_proportions([1, 0], [1, 1])
    empty = as_json(paired_proportions([math.nan], [1.0]))
    assert empty.pop("n") == empty.pop("n_clusters") == 0
    assert set(empty.values()) == {None}


def test_p_values_are_plain_numbers() -> None:
    for result in (
        paired_bootstrap([0.5, 1.0, 0.2] * 5, [1.0, 0.5, 0.3] * 5, resamples=100),
        paired_bootstrap([0.5] * 10, [0.6] * 10),
        paired_proportions([1, 0] * 9, [0, 0] * 9),
    ):
        numbers = (result.p_value, *ends(result))
        assert [type(number) for number in numbers] == [float] * 3
