"""Calibration error, Brier score and ranking: by hand, against scikit-learn, laws, and simulated answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.confidence import (
    brier_score,
    calibration_error,
    choices_brier_score,
    equal_mass_bins,
    ranking,
)
from medical_tasks.scoring.estimates import Floats
from medical_tasks.scoring.intervals import wilson_interval
from tests.scoring.interval_ends import ends, width

# 20 answers say 60 %, of which 15 are right; 20 say 90 %, of which 14 are.
SURE = [0.6] * 20 + [0.9] * 20
RIGHT = [1] * 15 + [0] * 5 + [1] * 14 + [0] * 6

ANSWERS = st.lists(
    st.tuples(st.integers(0, 20).map(lambda n: n / 20), st.integers(0, 1)),
    min_size=1,
    max_size=60,
)


def test_calibration_error_by_hand() -> None:
    error = calibration_error(SURE, RIGHT)
    # 20/40 |15/20 - 0.6| + 20/40 |14/20 - 0.9| = 0.075 + 0.1
    assert error.plug_in == pytest.approx(0.175)
    assert error.estimate.ci_low <= error.estimate.value <= error.plug_in
    first, second = error.bins
    assert (first.low, first.high, first.accuracy.value) == (0.6, 0.6, 0.75)
    assert second.confidence == pytest.approx(0.9)
    assert second.accuracy.n == 20
    assert ends(second.accuracy) == wilson_interval(14, 20)


def test_brier_scores_by_hand() -> None:
    # (15 * 0.16 + 5 * 0.36 + 14 * 0.01 + 6 * 0.81) / 40
    assert brier_score(SURE, RIGHT).value == pytest.approx(0.23)
    # Brier's original score, of choices: (0.3² + 0.2² + 0.1² + (1² + 1²)) / 2
    shares = [[0.7, 0.2, 0.1], [0.0, 1.0, 0.0]]
    assert choices_brier_score(shares, [0, 2]).value == pytest.approx(2.14 / 2)


def test_ranking_by_hand() -> None:
    # Pairs of a right and a wrong answer: 0.9 > 0.4, 0.4 = 0.4 (half), 0.9 > 0.2, 0.4 >
    # 0.2: 3.5 of 4.
    ranked = ranking([0.9, 0.4, 0.4, 0.2], [1, 1, 0, 0])
    assert ranked.auroc.value == pytest.approx(3.5 / 4)
    # Risks of the surest 1, 2, 3 and 4: 0, (0 + 0.5) / 2, 1 / 3, 2 / 4.
    assert ranked.aurc.value == pytest.approx((0 + 0.25 + 1 / 3 + 0.5) / 4)
    assert ranked.curve[0].value == pytest.approx(0.5)
    # The surest half: the first, and one of the two of confidence 0.4.
    assert ranked.curve[5].value == pytest.approx(0.75)
    # Answers that are partly right have a curve, and no AUROC.
    shares = ranking([0.9, 0.1], [0.8, 0.2])
    assert math.isnan(shares.auroc.value)
    assert shares.aurc.value == pytest.approx((0.2 + 0.5) / 2)


@given(ANSWERS)
@settings(max_examples=30, deadline=None)
def test_figures_equal_those_of_scikit_learn(answers: list[tuple[float, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    sure, right = map(list, zip(*answers, strict=True))
    if len(set(right)) == 2:
        assert brier_score(sure, right).value == pytest.approx(
            metrics.brier_score_loss(right, sure)
        )
        area = ranking(sure, right, resamples=100).auroc.value
        assert area == pytest.approx(metrics.roc_auc_score(right, sure))


@given(ANSWERS)
@settings(max_examples=30, deadline=None)
def test_values_lie_in_their_intervals_and_reversed_answers_give_the_same(
    answers: list[tuple[float, int]],
) -> None:
    sure, right = map(list, zip(*answers, strict=True))
    error = calibration_error(sure, right, resamples=100)
    ranked = ranking(sure, right, resamples=100)
    for estimate in (error.estimate, ranked.auroc, ranked.aurc, *ranked.curve):
        if not math.isnan(estimate.value):
            assert 0 <= estimate.ci_low <= estimate.value <= estimate.ci_high <= 1
    reversed_error = calibration_error(sure[::-1], right[::-1], resamples=100)
    assert reversed_error.plug_in == pytest.approx(error.plug_in)
    assert reversed_error.estimate.value == pytest.approx(
        error.estimate.value, abs=1e-6
    )
    reversed_ranking = ranking(sure[::-1], right[::-1], resamples=100)
    assert reversed_ranking.aurc.value == pytest.approx(ranked.aurc.value)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=300))
def test_bins_have_ten_answers_and_equal_confidences_share_one(
    numbers: list[int],
) -> None:
    sure = np.array(numbers) / 20.0
    codes = equal_mass_bins(sure)
    sizes = np.bincount(codes)
    assert len(sizes) <= 10
    assert len(sizes) == 1 or sizes.min() >= 10
    for value in np.unique(sure):
        assert len(np.unique(codes[sure == value])) == 1
    assert (np.diff(codes[np.argsort(sure, kind="stable")]) >= 0).all()


def test_copies_of_an_answer_in_a_cluster_narrow_no_interval() -> None:
    alone = calibration_error(SURE, RIGHT).estimate
    copied = calibration_error(
        np.repeat(SURE, 5),
        np.repeat(RIGHT, 5),
        clusters=np.repeat(range(40), 5).tolist(),
    ).estimate
    assert width(copied) == pytest.approx(width(alone), rel=0.15)
    assert copied.n == 200


def test_degenerate_answers() -> None:
    assert math.isnan(calibration_error([], []).estimate.value)
    assert math.isnan(ranking([], []).aurc.value)
    all_right = ranking([0.9, 0.8], [1, 1])
    assert math.isnan(all_right.auroc.value)
    assert all_right.aurc.value == 0.0
    single = calibration_error([0.9], [1])
    assert single.plug_in == pytest.approx(0.1)
    assert single.estimate.n == 1
    # All alike and always right: others may differ, the less so the more answers there are.
    certain = calibration_error([1.0] * 40, [1] * 40).estimate
    assert (certain.value, certain.ci_low) == (0.0, 0.0)
    assert certain.ci_high > 0.0


@pytest.mark.parametrize(
    ("sure", "right", "message"),
    [
        ([1.2], [1], "confidence must be in 0 to 1; got 1.2"),
        ([0.5], [0.5], "right must be 0 or 1"),
        ([math.nan], [1], "every answer must have a confidence"),
        ([0.5, 0.5], [1], "must have the same length"),
    ],
)
def test_wrong_columns_are_refused(
    sure: list[float], right: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        calibration_error(sure, right)


def test_a_calibrated_model_rarely_has_a_calibration_error() -> None:
    generator = np.random.default_rng(11)
    flagged = 0
    for _ in range(120):
        sure: Floats = generator.beta(4.0, 1.5, 200)
        right = generator.random(200) < sure
        flagged += calibration_error(sure, right, resamples=300).estimate.ci_low > 0.0
    assert flagged <= 6


def test_the_interval_covers_the_error_of_an_overconfident_model() -> None:
    generator = np.random.default_rng(11)
    covered = 0
    for _ in range(120):
        # Confidence 90 %, accuracy 70 %: an error of 0.2.
        right = generator.random(200) < 0.7
        error = calibration_error([0.9] * 200, right, resamples=300).estimate
        covered += error.ci_low <= 0.2 <= error.ci_high
    assert 108 <= covered < 120
