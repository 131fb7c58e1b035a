"""Repeated looks: the exact test, the boundaries compared with published ones, and the error rate."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from medical_tasks.scoring.intervals import binomial_tail
from medical_tasks.site.looks import (
    SeriesTable,
    boundaries,
    change_scores,
    exchange_p,
    normal_scores,
    spent,
)

Floats = npt.NDArray[np.float64]


def accumulating(scores: Floats) -> Floats:
    """The statistic of data that accumulate in equal steps, as in a trial's interim looks."""
    looks = np.arange(1, scores.shape[-1] + 1)
    return np.asarray(np.cumsum(scores, axis=-1) / np.sqrt(looks))


def accumulating_two_sided(scores: Floats) -> Floats:
    return np.asarray(np.abs(accumulating(scores)))


def recursion(limits: list[float], *, sides: int) -> list[float]:
    """The probability of having crossed by each look, integrated from look to look.

    Armitage, McPherson and Rowe (1969): the density of the sum over the paths that have
    not crossed is convolved with the normal density of the next step.
    """
    grid = np.linspace(-12.0, 12.0, 4001)
    step = grid[1] - grid[0]
    kernel = np.exp(-(np.linspace(-12.0, 12.0, 4001) ** 2) / 2.0) / math.sqrt(
        2 * math.pi
    )
    density = kernel.copy()
    crossed, total = [], 0.0
    for look, limit in enumerate(limits, start=1):
        edge = limit * math.sqrt(look)
        inside = grid <= edge if sides == 1 else np.abs(grid) <= edge
        total += float(density[~inside].sum() * step)
        crossed.append(total)
        density = np.convolve(np.where(inside, density, 0.0), kernel, "same") * step
    return crossed


# Two-sided 0.05. Jennison and Turnbull (2000), Group Sequential Methods, tables 2.1
# (Pocock) and 2.3 (O'Brien and Fleming).
POCOCK = {2: 2.178, 3: 2.289, 4: 2.361, 5: 2.413}
OBRIEN_FLEMING = {2: 1.977, 3: 2.004, 4: 2.024, 5: 2.040}


@pytest.mark.parametrize("looks", [2, 3, 4, 5])
def test_published_constants_cross_in_five_percent_by_recursion_and_simulation(
    looks: int,
) -> None:
    pocock = [POCOCK[looks]] * looks
    falling = [
        OBRIEN_FLEMING[looks] * math.sqrt(looks / look) for look in range(1, looks + 1)
    ]
    for limits in (pocock, falling):
        exact = recursion(limits, sides=2)
        assert exact[-1] == pytest.approx(0.05, abs=6e-4)
        drawn = boundaries(exact, statistic=accumulating_two_sided)
        likely = [i for i, chance in enumerate(np.diff([0, *exact])) if chance > 0.002]
        for look in likely:
            assert drawn[look] == pytest.approx(limits[look], abs=0.06)


def test_spending_of_obrien_and_fleming_s_type_gives_the_published_boundaries() -> None:
    # Five equal looks at a two-sided 0.05, each side 0.025 (Lan and DeMets 1983; as
    # printed by the program ld98 and the R packages after it).
    published = [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]
    chances = [
        2.0 * NormalDist().cdf(-NormalDist().inv_cdf(1 - 0.0125) / math.sqrt(look / 5))
        for look in range(1, 6)
    ]
    assert recursion(published, sides=1) == pytest.approx(chances, abs=1e-4)
    drawn = boundaries(chances, statistic=accumulating)
    assert drawn[2:] == pytest.approx(published[2:], abs=0.05)


def even(looks: int) -> list[float]:
    """The alpha that is spent by each of these looks."""
    steps = [0.0]
    for done in range(looks):
        steps.append(spent(steps[-1], looks - done))
    return steps[1:]


def test_alpha_is_spent_evenly_and_a_changed_plan_spends_what_is_left() -> None:
    assert even(4) == pytest.approx([0.0125, 0.025, 0.0375, 0.05])
    # After two of four looks, four more are planned.
    later = [0.025]
    for left in (4, 3, 2, 1):
        later.append(spent(later[-1], left))
    assert later[-1] == pytest.approx(0.05)
    assert np.diff(later) == pytest.approx([0.00625] * 4)


def test_with_a_single_earlier_run_the_test_is_mcnemars() -> None:
    for lost, won in ((9, 1), (3, 3), (0, 0), (0, 7), (40, 20)):
        before = [1.0] * lost + [0.0] * won + [1.0, 0.0] * 5
        after = [0.0] * lost + [1.0] * won + [1.0, 0.0] * 5
        ones = [1.0] * len(before)
        table = SeriesTable((1.0,), np.array([[before, ones], [after, ones]]))
        worse, better = exchange_p(table)
        differ = lost + won
        assert worse == pytest.approx(binomial_tail(lost, differ, 0.5), abs=1e-12)
        assert better == pytest.approx(binomial_tail(won, differ, 0.5), abs=1e-12)


def test_random_permutations_agree_with_counting_and_a_lower_rate_of_harm_is_better() -> (
    None
):
    generator = np.random.default_rng(3)
    right = (generator.random((4, 60)) < 0.7).astype(float)
    right[3, :30] = right[3, :30] * (generator.random(30) < 0.6)
    ones = np.ones_like(right)
    counted = exchange_p(SeriesTable((1.0,), np.stack([right, ones], axis=1)))
    # Thirds of items are no whole numbers, so these are permuted at random.
    permuted = exchange_p(
        SeriesTable((1.0,), np.stack([right / 3.0, ones / 3.0], axis=1))
    )
    assert permuted == pytest.approx(counted, abs=0.01)
    harm = exchange_p(
        SeriesTable((1.0,), np.stack([right, ones], axis=1), higher_is_better=False)
    )
    assert harm == counted[::-1]


def test_a_change_is_dated_and_its_evidence_adds_up() -> None:
    scores = normal_scores([0.5, 0.5, 0.5, 0.01, 0.02, 0.04])
    evidence, since = change_scores(scores)
    assert since[-1] == 4
    assert evidence[-1] > evidence[-2] > evidence[-3] > evidence[2]
    assert math.isfinite(change_scores(normal_scores([1.0, 0.0]))[0][-1])


@pytest.mark.parametrize("looks", [3, 12])
def test_runs_of_an_unchanged_model_cross_in_at_most_five_percent(looks: int) -> None:
    """Binary items of one difficulty, 400 series: the exact tests, end to end."""
    generator = np.random.default_rng(looks)
    limits = np.array(boundaries(even(looks)))
    alarms = 0
    for _ in range(400):
        right = (generator.random((looks + 1, 60)) < 0.8).astype(float)
        table = SeriesTable((1.0,), np.stack([right, np.ones_like(right)], axis=1))
        p = [exchange_p(table.until(run))[0] for run in range(1, looks + 1)]
        alarms += bool((change_scores(normal_scores(p))[0] > limits).any())
    assert alarms <= 0.05 * 400 + 2 * math.sqrt(400 * 0.05 * 0.95)
