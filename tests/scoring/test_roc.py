"""The area under the ROC curve: a published example, DeLong's formula over all pairs, laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.intervals import student_quantile
from medical_tasks.scoring.roc import auroc
from tests.scoring.count_tables import cells_of
from tests.scoring.interval_ends import ends

ANSWERS = st.lists(
    st.tuples(st.integers(0, 10).map(lambda n: n / 10), st.integers(0, 1)),
    min_size=4,
    max_size=40,
)


def log_odds(p: float) -> float:
    return math.log(p / (1.0 - p))


def test_the_published_example() -> None:
    # Normal and abnormal images by rating, 109 in all (Hanley and McNeil 1982, Radiology
    # 143:29), as Stata's `roctab` reports them: area 0.8932, DeLong's standard error
    # 0.0307, plain interval 0.83295 to 0.95339.
    images = cells_of([(33, 3), (6, 2), (6, 2), (11, 11), (2, 33)])
    area = auroc(
        [rating / 4 for rating, _ in images], [abnormal for _, abnormal in images]
    )
    assert area.value == pytest.approx(0.8932, abs=5e-5)
    half_width = (log_odds(area.ci_high) - log_odds(area.ci_low)) / 2
    scale = area.value * (1 - area.value)
    error = half_width / student_quantile(0.975, 108) * scale
    assert error == pytest.approx(0.0307, abs=5e-5)
    plain = area.value - 1.959964 * error, area.value + 1.959964 * error
    assert plain == pytest.approx((0.83295, 0.95339), abs=2e-5)


@given(ANSWERS)
def test_the_variance_is_delongs_over_all_pairs(
    answers: list[tuple[float, int]],
) -> None:
    sure, right = (np.array(column) for column in zip(*answers, strict=True))
    hits, misses = sure[right == 1], sure[right == 0]
    area = auroc(sure, right)
    if not len(hits) or not len(misses):
        assert math.isnan(area.value)
        return
    won = (hits[:, None] > misses) + (hits[:, None] == misses) / 2
    assert area.value == pytest.approx(won.mean())
    assert 0.0 <= area.ci_low <= area.value <= area.ci_high <= 1.0
    assert area.ci_low < area.ci_high
    if min(len(hits), len(misses)) < 2 or not 0.0 < area.value < 1.0:
        return
    variance = won.mean(axis=1).var(ddof=1) / len(hits)
    variance += won.mean(axis=0).var(ddof=1) / len(misses)
    if variance > 1e-9:
        t = student_quantile(0.975, len(sure) - 1)
        half_width = t * math.sqrt(variance) / (area.value * (1 - area.value))
        low = 1 / (1 + math.exp(min(700.0, half_width - log_odds(area.value))))
        assert area.ci_low == pytest.approx(low, abs=1e-9)


@given(ANSWERS)
def test_clusters_of_copies_and_swapped_classes_give_the_same(
    answers: list[tuple[float, int]],
) -> None:
    sure, right = map(list, zip(*answers, strict=True))
    names = list(range(len(answers)))
    area = auroc(sure, right)
    clustered = auroc(sure, right, clusters=names)
    copied = auroc(sure * 3, right * 3, clusters=names * 3)
    swapped = auroc(sure, [1 - outcome for outcome in right])
    for other in (clustered, copied):
        assert other.value == pytest.approx(area.value, nan_ok=True)
        assert ends(other) == pytest.approx(ends(area), nan_ok=True)
    assert 1 - swapped.value == pytest.approx(area.value, nan_ok=True)
    assert 1 - swapped.ci_high == pytest.approx(area.ci_low, nan_ok=True)


def test_few_answers_leave_uncertainty() -> None:
    # A single wrong answer does not show how wrong answers differ.
    single = auroc([0.9, 0.2, 0.5], [1, 1, 0])
    assert (single.value, *ends(single)) == (0.5, 0.0, 1.0)
    # 30 wrong answers, all below the right ones: up to 1 - 0.025^(1/30) of others may
    # lie above.
    apart = auroc([0.9] * 40 + [0.1] * 30, [1] * 40 + [0] * 30)
    assert (apart.value, apart.ci_high) == (1.0, 1.0)
    assert apart.ci_low == pytest.approx(0.025 ** (1 / 30))
