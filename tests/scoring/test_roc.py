"""The area under the ROC curve: a documented example, DeLong's formula by pairs, laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.intervals import student_quantile
from medical_tasks.scoring.roc import auroc

ANSWERS = st.lists(
    st.tuples(st.integers(0, 10).map(lambda n: n / 10), st.integers(0, 1)),
    min_size=4,
    max_size=40,
)


def log_odds(share: float) -> float:
    return math.log(share / (1.0 - share))


def test_the_documented_example() -> None:
    # Ratings of 109 images (Hanley and McNeil 1982, Radiology 143:29), as Stata's
    # `roctab` reports them: area 0.8932, DeLong's standard error 0.0307, plain interval
    # 0.83295 to 0.95339.
    ratings = {1: (33, 3), 2: (6, 2), 3: (6, 2), 4: (11, 11), 5: (2, 33)}
    sure = [rating / 5 for rating, both in ratings.items() for _ in range(sum(both))]
    right = [of for both in ratings.values() for of in (0, 1) for _ in range(both[of])]
    found = auroc(sure, right)
    assert found.value == pytest.approx(0.8932, abs=5e-5)
    reach = (log_odds(found.ci_high) - log_odds(found.ci_low)) / 2
    scale = found.value * (1 - found.value)
    error = reach / student_quantile(0.975, 108) * scale
    assert error == pytest.approx(0.0307, abs=5e-5)
    plain = found.value - 1.959964 * error, found.value + 1.959964 * error
    assert plain == pytest.approx((0.83295, 0.95339), abs=2e-5)


@given(ANSWERS)
def test_the_variance_is_delongs_over_all_pairs(
    answers: list[tuple[float, int]],
) -> None:
    sure, right = (np.array(column) for column in zip(*answers, strict=True))
    hits, misses = sure[right == 1], sure[right == 0]
    found = auroc(sure, right)
    if not len(hits) or not len(misses):
        assert math.isnan(found.value)
        return
    won = (hits[:, None] > misses) + (hits[:, None] == misses) / 2
    assert found.value == pytest.approx(won.mean())
    assert 0.0 <= found.ci_low <= found.value <= found.ci_high <= 1.0
    assert found.ci_low < found.ci_high
    if min(len(hits), len(misses)) < 2 or not 0.0 < found.value < 1.0:
        return
    variance = won.mean(axis=1).var(ddof=1) / len(hits)
    variance += won.mean(axis=0).var(ddof=1) / len(misses)
    if variance > 1e-9:
        t = student_quantile(0.975, len(sure) - 1)
        reach = t * math.sqrt(variance) / (found.value * (1 - found.value))
        low = 1 / (1 + math.exp(min(700.0, reach - log_odds(found.value))))
        assert found.ci_low == pytest.approx(low, abs=1e-9)


@given(ANSWERS)
def test_copies_in_a_cluster_tell_nothing_new(answers: list[tuple[float, int]]) -> None:
    sure, right = map(list, zip(*answers, strict=True))
    names = list(range(len(answers)))
    alone, copied = (
        auroc(sure * times, right * times, clusters=names * times) for times in (1, 3)
    )
    assert (copied.value, copied.ci_low, copied.ci_high) == pytest.approx(
        (alone.value, alone.ci_low, alone.ci_high), nan_ok=True
    )
    again = auroc(sure, right)
    assert (again.value, again.ci_low, again.ci_high) == pytest.approx(
        (alone.value, alone.ci_low, alone.ci_high), nan_ok=True
    )
    # What is right counted as wrong: the same from the other side.
    turned = auroc(sure, [1 - each for each in right])
    assert (1 - turned.value, 1 - turned.ci_high) == pytest.approx(
        (alone.value, alone.ci_low), nan_ok=True
    )


def test_where_little_is_known() -> None:
    # One wrong answer alone tells nothing of how wrong answers differ.
    one = auroc([0.9, 0.2, 0.5], [1, 1, 0])
    assert (one.value, one.ci_low, one.ci_high) == (0.5, 0.0, 1.0)
    # 30 wrong answers, all below the right ones: of others 1 - 0.025^(1/30) may not be.
    apart = auroc([0.9] * 40 + [0.1] * 30, [1] * 40 + [0] * 30)
    assert (apart.value, apart.ci_high) == (1.0, 1.0)
    assert apart.ci_low == pytest.approx(0.025 ** (1 / 30))
