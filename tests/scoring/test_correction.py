"""Scores corrected for a judge's errors: the closed form, three classes, laws, and what cannot be corrected."""

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from medical_tasks.scoring.correction import (
    NotCorrectableError,
    Rescoring,
    Verdicts,
    corrected,
    drift,
    judge_error,
    labels_needed,
    rescoring,
    tells_apart,
    widening,
)
from medical_tasks.scoring.intervals import student_quantile
from tests.case_tables import tables
from tests.scoring.count_tables import cells_of
from tests.scoring.interval_ends import ends

CLASSES = ("yes", "no")
THREE = ("entailment", "neutral", "contradiction")


def labelled(
    table: list[list[int]], classes: tuple[str, ...] = CLASSES, **options: Any
) -> Rescoring:
    """Returns the rescoring of a table of labels, rows by people's class and columns by the judge's."""
    cells = cells_of(table)
    gold = [classes[row] for row, _ in cells]
    judged = [classes[column] for _, column in cells]
    return rescoring(gold, judged, classes, **options)


def verdicts(*counts: int) -> Verdicts:
    """Returns so many verdicts of each class, each an item."""
    rows = np.repeat(np.eye(len(counts)), counts, axis=0)
    return Verdicts(rows, np.ones(len(rows)), np.zeros(len(rows)), np.ones(len(rows)))


def test_without_clusters_it_is_rogan_and_gladen_with_fiellers_interval() -> None:
    estimate, _ = corrected(labelled([[90, 10], [30, 170]]), verdicts(450, 550))
    t, f, p = 0.9, 0.15, 0.45
    assert estimate.value == pytest.approx((p - f) / (t - f), abs=1e-9)
    # Labels are summed by clusters, with n / (n - 1) for all, and no less than with one
    # more of each class.
    of_t, of_f = (
        max(x * (1 - x) / n * 300 / 299, (x * n + 1) * (n - x * n + 1) / (n + 2) ** 3)
        for x, n in ((t, 100), (f, 200))
    )
    j, m = t - f, estimate.value
    judge, own = (m * m * of_t + (1 - m) ** 2 * of_f) / j**2, p * (1 - p) / 999 / j**2
    q = student_quantile(
        0.975, math.floor((own + judge) ** 2 / (own**2 / 999 + judge**2 / 299))
    )
    # At its ends M, (p - f - M j)^2 = q^2 (V(f + M j) + M^2 V(t) + (1 - M)^2 V(f)), as
    # in Wilson's interval for p.
    for end in ends(estimate):
        rate = f + end * j
        variance = rate * (1 - rate) / 999 + end**2 * of_t + (1 - end) ** 2 * of_f
        assert (p - rate) ** 2 == pytest.approx(q * q * variance, rel=1e-9)


def test_a_perfect_judge_leaves_wilsons_interval() -> None:
    perfect = labelled([[100_000, 0], [0, 100_000]])
    estimate, _ = corrected(perfect, verdicts(8, 0))
    assert (estimate.value, estimate.ci_high) == (1.0, 1.0)
    assert estimate.ci_low == pytest.approx(
        8 / (8 + student_quantile(0.975, 7) ** 2), abs=1e-3
    )
    # Half of the answers are empty and have no verdict: their share is as uncertain as
    # that of verdicts.
    half = Verdicts(
        np.eye(2)[[0, 1] * 50] * [1, 0],
        np.tile([1.0, 0.0], 50),
        np.zeros(100),
        np.ones(100),
    )
    estimate, _ = corrected(perfect, half)
    assert estimate.value == pytest.approx(0.5, abs=0.015)
    assert ends(estimate) == pytest.approx((0.4, 0.6), abs=0.015)


def test_three_classes_undo_the_reversal_by_a_lenient_judge() -> None:
    # Of 200 labels of each class, neutral is often called entailed.
    table = np.array([[180, 16, 4], [70, 120, 10], [10, 30, 160]])
    labels = labelled(table.tolist(), THREE)
    raw_counts = []
    for truth in ((0.6, 0.05, 0.35), (0.5, 0.45, 0.05)):
        counts = np.rint(20_000 * np.array(truth) @ table / 200).astype(int)
        estimate, _ = corrected(labels, verdicts(*counts))
        assert estimate.value == pytest.approx(truth[0], abs=1e-9)
        raw_counts.append(counts[0])
    better, worse = raw_counts
    assert better < worse


STRATA = ([[90, 10], [10, 90]], [[70, 30], [20, 80]])
"""Labels on two kinds of questions, by people and judge."""


def of_strata(**options: Any) -> Rescoring:
    labels = [
        (stratum, CLASSES[row], CLASSES[column])
        for stratum, table in enumerate(STRATA)
        for row, column in cells_of(table)
    ]
    strata, gold, judged = zip(*labels, strict=True)
    return rescoring(gold, judged, CLASSES, **({"strata": strata} | options))


def test_strata_correct_for_another_mix_of_questions() -> None:
    # Of 200 verdicts on the first kind 50 % are true, of 800 on the second 60 %:
    # the judge says yes to 100 and to 480 x 0.7 + 320 x 0.2 = 400.
    run = verdicts(100, 100, 400, 400)
    value, _ = judge_error(of_strata(), run)
    assert value == pytest.approx(0.2 * 0.5 + 0.8 * 0.6)
    estimate, _ = corrected(of_strata(), run)
    assert estimate.ci_low < 0.58 < estimate.ci_high
    # By all labels together, the judge has rates of 0.8 and 0.85.
    pooled, _ = judge_error(of_strata(strata=None), verdicts(500, 500))
    assert pooled == pytest.approx((0.5 - 0.15) / 0.65)
    predictions = of_strata(form="prediction")
    assert predictions.scores == pytest.approx([0.9, 0.1, 70 / 90, 30 / 110])


def test_strata_with_too_few_labels_are_refused() -> None:
    with pytest.raises(
        NotCorrectableError, match="too few labels of a class: 10 yes, 10 no"
    ):
        rescoring(
            ["yes", "no"] * 30, ["yes", "no"] * 30, CLASSES, strata=[0] * 40 + [1] * 20
        )


def test_a_single_stratum_changes_nothing() -> None:
    run = verdicts(450, 550)
    single, _ = corrected(of_strata(strata=[0] * 400), run)
    together, _ = corrected(of_strata(strata=None), run)
    assert single == together


def test_the_drift_is_that_within_gold_classes() -> None:
    """How often the answers are right, and how many of each kind there are, is no error of the judge's."""
    labels, second = of_strata(strata=None), [0.0] * 200 + [1.0] * 200
    _, error = judge_error(labels, verdicts(500, 500))
    estimate = drift(labels, error, second)
    # The judge says yes to 0.2 fewer of what is right, and to 0.1 more of what is not,
    # which counts 1 / 0.65 each; by its value, 0.35 / 0.65 of the run is right.
    right = 0.35 / 0.65
    expected = (-0.2 * right + 0.1 * (1.0 - right)) / 0.65
    assert estimate.value == pytest.approx(expected)
    assert estimate.ci_low < estimate.value < estimate.ci_high
    assert math.isnan(drift(labels, error, [1.0] * 400).value)


def test_widening_by_hand() -> None:
    assert widening(0.5, [-0.02, 0.1]) == pytest.approx((0.05, 0.01))
    assert widening(-0.5, [0.02, 0.1]) == pytest.approx((0.0, 0.05))


def test_predictions_are_weighted_by_what_labels_say_of_them() -> None:
    # 0.45 of the verdicts are yes, of which 90 of 120 are right; of the others 10 of
    # 180 are wrong.
    estimate, error = corrected(
        labelled([[90, 10], [30, 170]], form="prediction"), verdicts(450, 550)
    )
    assert estimate.value == pytest.approx(0.45 * 90 / 120 + 0.55 * 10 / 180, abs=1e-12)
    by_hand = (
        300
        / 299
        * (0.45**2 * 0.75 * 0.25 / 120 + 0.55**2 * (10 / 180) * (170 / 180) / 180)
    )
    # The floor of a variance lies above it in one class.
    assert error.variance == pytest.approx(by_hand, rel=0.02)


@given(
    table=st.lists(
        st.lists(st.integers(10, 60), min_size=2, max_size=2), min_size=2, max_size=2
    ),
    counts=st.lists(st.integers(5, 60), min_size=2, max_size=2),
    seed=st.integers(0, 2**16),
)
def test_order_and_single_clusters_change_nothing(
    table: list[list[int]], counts: list[int], seed: int
) -> None:
    run = verdicts(*counts)
    names = range(len(run.counts))
    reversed_run = replace(run, counts=run.counts[::-1], clusters=names)
    try:
        first, _ = corrected(labelled(table), run, limits=(-math.inf, math.inf))
    except NotCorrectableError:
        reject()
    cells = cells_of(table)
    random.Random(seed).shuffle(cells)
    gold = [CLASSES[row] for row, _ in cells]
    judged = [CLASSES[column] for _, column in cells]
    shuffled = rescoring(gold, judged, CLASSES, clusters=range(len(cells)))
    second, _ = corrected(shuffled, reversed_run, limits=(-math.inf, math.inf))
    assert second.value == pytest.approx(first.value)
    assert ends(second) == pytest.approx(ends(first))
    assert first.ci_low <= first.value <= first.ci_high


def test_shared_clusters_widen_the_interval_and_more_labels_narrow_it() -> None:
    gold = ["yes"] * 50 + ["no"] * 50
    judged = ["yes"] * 40 + ["no"] * 10 + ["no"] * 40 + ["yes"] * 10
    run = verdicts(60, 40)
    alone = rescoring(gold, judged, CLASSES)
    together = rescoring(gold, judged, CLASSES, clusters=[n // 10 for n in range(100)])
    _, error = judge_error(alone, run)
    _, clustered_error = judge_error(together, run)
    assert clustered_error.variance > 2 * error.variance
    times = labels_needed(alone, error, 0.05) // 100 + 1
    larger = rescoring(gold * times, judged * times, CLASSES)
    _, smaller_error = judge_error(larger, run)
    half_width = 1.96 * math.sqrt(smaller_error.variance)
    assert half_width == pytest.approx(0.05, rel=0.05)


@pytest.mark.parametrize(
    ("table", "run", "options", "message"),
    tables(__file__, "correction"),
)
def test_labels_that_cannot_correct_are_refused(
    table: list[list[int]], run: list[int], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(NotCorrectableError, match=message):
        corrected(labelled(table, **options), verdicts(*run))


def simulated_verdicts(
    truth: Any,
    generator: np.random.Generator,
    *,
    sensitivity: float,
    specificity: float,
) -> Any:
    return np.where(
        truth == 1.0,
        generator.random(truth.shape) < sensitivity,
        generator.random(truth.shape) > specificity,
    ).astype(float)


# 100 answers of one verdict each: 45 of 50 and 40 of 50 right, so 55 count.
GOLD = [1.0] * 50 + [0.0] * 50
JUDGED = [1.0] * 45 + [0.0] * 5 + [1.0] * 10 + [0.0] * 40
GUESSED = [1.0] * 26 + [0.0] * 24 + [1.0] * 24 + [0.0] * 26


def test_the_smallest_difference_that_a_judge_detects() -> None:
    youden, difference = tells_apart(GOLD, JUDGED, range(100), 200)
    errors = student_quantile(0.975, 199.0) + student_quantile(0.8, 199.0)
    assert youden.value == pytest.approx(0.9 + 0.8 - 1.0)
    assert difference.value == pytest.approx(
        errors * math.sqrt(2 * 0.55 * 0.45 * 100 / 99 / 200) / 0.7
    )
    assert difference.ci_low < difference.value < difference.ci_high
    perfect, least = tells_apart(GOLD, GOLD, range(100), 200)
    assert perfect.value == 1.0
    assert least.value == pytest.approx(errors * math.sqrt(2 * 0.25 * 100 / 99 / 200))


@pytest.mark.parametrize(
    ("gold", "judged", "n"),
    [
        pytest.param(GOLD, GUESSED, 200, id="guesses"),
        pytest.param(GOLD, [1.0 - verdict for verdict in JUDGED], 200, id="opposite"),
        pytest.param(GOLD, [1.0] * 100, 200, id="always the same"),
        pytest.param(GOLD, JUDGED, 2, id="too few answers"),
        pytest.param([], [], 200, id="no labels"),
    ],
)
def test_judges_that_detect_no_difference(
    gold: list[float], judged: list[float], n: int
) -> None:
    _, difference = tells_apart(gold, judged, range(len(gold)), n)
    assert math.isnan(difference.value)


def test_the_smallest_detectable_difference_is_detected_in_four_of_five_cases() -> None:
    """Two models' answers of eight verdicts that go together, by a judge of sensitivity 0.85 and specificity 0.9."""
    generator, n, times = np.random.default_rng(2), 100, 2000

    def answers(share: float, *shape: int) -> Any:
        rates = generator.beta(2.3 * share, 2.3 * (1.0 - share), (*shape, 1))
        return (generator.random((*shape, 8)) < rates).astype(float)

    def judge(truth: Any) -> Any:
        return simulated_verdicts(truth, generator, sensitivity=0.85, specificity=0.9)

    truth = answers(0.5, 2000)
    names = np.repeat(np.arange(2000), 8).tolist()
    _, difference = tells_apart(
        truth.ravel(), judge(truth).ravel(), names, n, clusters=names
    )
    lower, higher = (
        judge(answers(0.5 + side * difference.value, times, n)).mean(axis=2)
        for side in (-0.5, 0.5)
    )
    gaps = higher - lower
    t = gaps.mean(axis=1) / gaps.std(axis=1, ddof=1) * math.sqrt(n)
    assert float((t > student_quantile(0.975, n - 1.0)).mean()) == pytest.approx(
        0.8, abs=0.03
    )
