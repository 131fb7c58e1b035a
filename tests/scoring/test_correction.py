"""Scores corrected for a judge's errors: the closed form, three classes, laws, and what cannot be corrected."""

import math
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

CLASSES = ("yes", "no")
THREE = ("entailment", "neutral", "contradiction")


def labelled(
    table: list[list[int]], classes: tuple[str, ...] = CLASSES, **how: Any
) -> Rescoring:
    pairs = [
        (gold, said)
        for gold, row in zip(classes, table, strict=True)
        for said, n in zip(classes, row, strict=True)
        for _ in range(n)
    ]
    return rescoring(
        [gold for gold, _ in pairs], [said for _, said in pairs], classes, **how
    )


def verdicts(*counts: int) -> Verdicts:
    """Each verdict is an item."""
    rows = np.repeat(np.eye(len(counts)), counts, axis=0)
    return Verdicts(rows, np.ones(len(rows)), np.zeros(len(rows)), np.ones(len(rows)))


def test_without_clusters_it_is_rogan_and_gladen_with_fiellers_interval() -> None:
    found, _ = corrected(labelled([[90, 10], [30, 170]]), verdicts(450, 550))
    t, f, p = 0.9, 0.15, 0.45
    assert found.value == pytest.approx((p - f) / (t - f), abs=1e-9)
    # Labels are summed by clusters, with n / (n - 1) for all, and no less than with one
    # more of each class.
    of_t, of_f = (
        max(x * (1 - x) / n * 300 / 299, (x * n + 1) * (n - x * n + 1) / (n + 2) ** 3)
        for x, n in ((t, 100), (f, 200))
    )
    j, m = t - f, found.value
    judge, own = (m * m * of_t + (1 - m) ** 2 * of_f) / j**2, p * (1 - p) / 999 / j**2
    q = student_quantile(
        0.975, math.floor((own + judge) ** 2 / (own**2 / 999 + judge**2 / 299))
    )
    # At its ends M, (p - f - M j)^2 = q^2 (V(f + M j) + M^2 V(t) + (1 - M)^2 V(f)), as
    # in Wilson's interval for p.
    for end in (found.ci_low, found.ci_high):
        rate = f + end * j
        variance = rate * (1 - rate) / 999 + end**2 * of_t + (1 - end) ** 2 * of_f
        assert (p - rate) ** 2 == pytest.approx(q * q * variance, rel=1e-9)


def test_a_perfect_judge_leaves_wilsons_interval() -> None:
    found, _ = corrected(labelled([[100_000, 0], [0, 100_000]]), verdicts(8, 0))
    assert (found.value, found.ci_high) == (1.0, 1.0)
    assert found.ci_low == pytest.approx(
        8 / (8 + student_quantile(0.975, 7) ** 2), abs=1e-3
    )
    # Half of the answers are empty, and nobody was asked: how many are is as uncertain
    # as ever.
    half = Verdicts(
        np.eye(2)[[0, 1] * 50] * [1, 0],
        np.tile([1.0, 0.0], 50),
        np.zeros(100),
        np.ones(100),
    )
    found, _ = corrected(labelled([[100_000, 0], [0, 100_000]]), half)
    assert (found.ci_low, found.value, found.ci_high) == pytest.approx(
        (0.4, 0.5, 0.6), abs=0.015
    )


def test_three_classes_rank_rightly_what_a_lenient_judge_reverses() -> None:
    # Of 200 labels of each class, neutral is often called entailed.
    said = np.array([[180, 16, 4], [70, 120, 10], [10, 30, 160]])
    found = labelled(said.tolist(), THREE)
    runs = []
    for truth in ((0.6, 0.05, 0.35), (0.5, 0.45, 0.05)):
        counts = np.rint(20_000 * np.array(truth) @ said / 200).astype(int)
        value, _ = corrected(found, verdicts(*counts))
        assert value.value == pytest.approx(truth[0], abs=1e-9)
        runs.append(counts[0])
    assert runs[0] < runs[1]  # raw, the worse one has more entailed


STRATA = ([[90, 10], [10, 90]], [[70, 30], [20, 80]])
"""Labels on two kinds of questions, by people and judge."""


def of_strata(**how: Any) -> Rescoring:
    each = [
        (stratum, CLASSES[gold], CLASSES[said])
        for stratum, table in enumerate(STRATA)
        for gold, row in enumerate(table)
        for said, n in enumerate(row)
        for _ in range(n)
    ]
    kinds, gold, said = zip(*each, strict=True)
    return rescoring(gold, said, CLASSES, **({"strata": kinds} | how))


def test_another_mix_of_strata_leaves_the_truth_where_it_is() -> None:
    # Of 200 verdicts on the first kind 50 % are true, of 800 on the second 60 %:
    # the judge says yes to 100 and to 480 x 0.7 + 320 x 0.2 = 400.
    value, _ = judge_error(of_strata(), verdicts(100, 100, 400, 400))
    assert value == pytest.approx(0.2 * 0.5 + 0.8 * 0.6)
    # All labels together know a judge of 0.8 and 0.85.
    pooled, _ = judge_error(of_strata(strata=None), verdicts(500, 500))
    assert pooled == pytest.approx((0.5 - 0.15) / 0.65)
    found, _ = corrected(of_strata(), verdicts(100, 100, 400, 400))
    assert found.ci_low < 0.58 < found.ci_high
    assert of_strata(form="prediction").scores == pytest.approx(
        [0.9, 0.1, 70 / 90, 30 / 110]
    )
    with pytest.raises(
        NotCorrectableError, match="too few labels of a class: 10 yes, 10 no"
    ):
        rescoring(
            ["yes", "no"] * 30, ["yes", "no"] * 30, CLASSES, strata=[0] * 40 + [1] * 20
        )


def test_one_stratum_is_all_labels_together() -> None:
    alone, together = of_strata(strata=[0] * 400), of_strata(strata=None)
    run = verdicts(450, 550)
    assert corrected(alone, run)[0] == corrected(together, run)[0]


def test_the_drift_is_that_within_gold_classes() -> None:
    """How often the answers are right, and how many of each kind there are, is no error of the judge's."""
    found, second = of_strata(strata=None), [0.0] * 200 + [1.0] * 200
    _, error = judge_error(found, verdicts(500, 500))
    made = drift(found, error, second)
    # The judge says yes to 0.2 fewer of what is right, and to 0.1 more of what is not,
    # which counts 1 / 0.65 each; by its value, 0.35 / 0.65 of the run is right.
    right = 0.35 / 0.65
    assert made.value == pytest.approx((-0.2 * right + 0.1 * (1.0 - right)) / 0.65)
    assert made.ci_low < made.value < made.ci_high
    assert math.isnan(drift(found, error, [1.0] * 400).value)
    assert widening(0.5, [-0.02, 0.1]) == pytest.approx((0.05, 0.01))
    assert widening(-0.5, [0.02, 0.1]) == pytest.approx((0.0, 0.05))


def test_predictions_are_weighted_by_what_labels_say_of_them() -> None:
    # 0.45 of the verdicts are yes, of which 90 of 120 are right; of the others 10 of
    # 180 are wrong.
    found, error = corrected(
        labelled([[90, 10], [30, 170]], form="prediction"), verdicts(450, 550)
    )
    assert found.value == pytest.approx(0.45 * 90 / 120 + 0.55 * 10 / 180, abs=1e-12)
    by_hand = (
        300
        / 299
        * (0.45**2 * 0.75 * 0.25 / 120 + 0.55**2 * (10 / 180) * (170 / 180) / 180)
    )
    # a floor is above it on one side
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
    gold = [
        name for name, row in zip(CLASSES, table, strict=True) for _ in range(sum(row))
    ]
    said = [
        name
        for row in table
        for name, n in zip(CLASSES, row, strict=True)
        for _ in range(n)
    ]
    order = np.random.default_rng(seed).permutation(len(gold))
    run = verdicts(*counts)
    mixed = Verdicts(
        run.counts[::-1],
        run.unit,
        run.fixed,
        run.denominators,
        list(range(len(run.denominators))),
    )
    try:
        first, _ = corrected(
            rescoring(gold, said, CLASSES), run, limits=(-math.inf, math.inf)
        )
    except NotCorrectableError:
        reject()
    names = [f"{place}" for place in range(len(gold))]
    again = rescoring(
        [gold[n] for n in order], [said[n] for n in order], CLASSES, clusters=names
    )
    second, _ = corrected(again, mixed, limits=(-math.inf, math.inf))
    assert [second.value, second.ci_low, second.ci_high] == pytest.approx(
        [first.value, first.ci_low, first.ci_high]
    )
    assert first.ci_low <= first.value <= first.ci_high


def test_shared_clusters_widen_the_interval_and_more_labels_narrow_it() -> None:
    gold, said = (
        ["yes"] * 50 + ["no"] * 50,
        (["yes"] * 40 + ["no"] * 10) + (["no"] * 40 + ["yes"] * 10),
    )
    run = verdicts(60, 40)
    alone, together = (
        rescoring(gold, said, CLASSES, clusters=of)
        for of in (None, [n // 10 for n in range(100)])
    )
    assert (
        judge_error(together, run)[1].variance > 2 * judge_error(alone, run)[1].variance
    )
    needed = labels_needed(alone, judge_error(alone, run)[1], 0.05)
    larger = rescoring(gold * (needed // 100 + 1), said * (needed // 100 + 1), CLASSES)
    assert 1.96 * math.sqrt(judge_error(larger, run)[1].variance) == pytest.approx(
        0.05, rel=0.05
    )


@pytest.mark.parametrize(
    ("table", "run", "how", "message"),
    tables(__file__, "correction"),
)
def test_what_cannot_be_corrected_says_why(
    table: list[list[int]], run: list[int], how: dict[str, Any], message: str
) -> None:
    with pytest.raises(NotCorrectableError, match=message):
        corrected(labelled(table, **how), verdicts(*run))


def judged(truth: Any, chance: np.random.Generator, hit: float, rejected: float) -> Any:
    return np.where(
        truth == 1.0,
        chance.random(truth.shape) < hit,
        chance.random(truth.shape) > rejected,
    ).astype(float)


def test_the_smallest_difference_that_a_judge_tells_apart() -> None:
    # 100 answers of one verdict each: 45 of 50 and 40 of 50 right, so 55 count.
    gold, said = (
        [1.0] * 50 + [0.0] * 50,
        [1.0] * 45 + [0.0] * 5 + [1.0] * 10 + [0.0] * 40,
    )
    youden, found = tells_apart(gold, said, range(100), 200)
    errors = student_quantile(0.975, 199.0) + student_quantile(0.8, 199.0)
    assert youden.value == pytest.approx(0.9 + 0.8 - 1.0)
    assert found.value == pytest.approx(
        errors * math.sqrt(2 * 0.55 * 0.45 * 100 / 99 / 200) / 0.7
    )
    assert found.ci_low < found.value < found.ci_high
    perfect, least = tells_apart(gold, gold, range(100), 200)
    assert perfect.value == 1.0
    assert least.value == pytest.approx(errors * math.sqrt(2 * 0.25 * 100 / 99 / 200))
    # Guesses, the opposite, always the same, too few answers, none at all.
    chance = np.random.default_rng(1)
    others = [
        judged(np.array(gold), chance, 0.5, 0.5),
        [1.0 - each for each in said],
        [1.0] * 100,
    ]
    assert all(
        math.isnan(tells_apart(gold, each, range(100), 200)[1].value) for each in others
    )
    assert math.isnan(tells_apart(gold, said, range(100), 2)[1].value)
    assert math.isnan(tells_apart([], [], [], 200)[1].value)


def test_a_difference_told_apart_is_found_in_four_of_five_cases() -> None:
    """Two models' answers of eight verdicts that go together, by a judge of sensitivity 0.85 and specificity 0.9."""
    chance, n, times = np.random.default_rng(2), 100, 2000

    def answers(share: float, *shape: int) -> Any:
        rates = chance.beta(2.3 * share, 2.3 * (1.0 - share), (*shape, 1))
        return (chance.random((*shape, 8)) < rates).astype(float)

    truth = answers(0.5, 2000)
    names = np.repeat(np.arange(2000), 8).tolist()
    _, found = tells_apart(
        truth.ravel(),
        judged(truth, chance, 0.85, 0.9).ravel(),
        names,
        n,
        clusters=names,
    )
    one, other = (
        judged(answers(0.5 + side * found.value, times, n), chance, 0.85, 0.9).mean(
            axis=2
        )
        for side in (-0.5, 0.5)
    )
    gaps = other - one
    t = gaps.mean(axis=1) / gaps.std(axis=1, ddof=1) * math.sqrt(n)
    assert float((t > student_quantile(0.975, n - 1.0)).mean()) == pytest.approx(
        0.8, abs=0.03
    )
