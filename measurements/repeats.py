"""Repeats of the same items: parts of the variance beside planted ones, and how often 95 % intervals hold the truth.

    OMP_NUM_THREADS=1 python measurements/repeats.py [simulations per row]

An item is right with a chance of its own: beta, of mean `right`, so that answers to one
item correlate by `alike`; half of that is its cluster's. A run moves every chance p by
4p(1-p) times a triangular number within 2 `run`, and leaves the mean where it was. Of
two votes, each is wrong with chance 0.1. Standard deviations are root mean squares.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.bootstrap import repeats
from medical_tasks.scoring.means import proportion_interval

WRONG = 0.1
Table = npt.NDArray[np.float64]


def main(simulations: int) -> None:
    generator = np.random.default_rng(20240601)
    print(
        "items size  k right alike  run votes | sd of items, planted | of answers, planted | of votes, planted | held, by one run"
    )
    for n, size, k, right, alike, run, votes in (
        (200, 1, 3, 0.5, 0.6, 0.0, 1),
        (200, 1, 3, 0.8, 0.6, 0.0, 1),
        (200, 1, 3, 0.5, 0.2, 0.0, 1),
        (200, 1, 3, 0.97, 0.6, 0.0, 1),
        (200, 1, 2, 0.5, 0.6, 0.0, 1),
        (200, 1, 5, 0.7, 0.6, 0.0, 1),
        (200, 1, 2, 0.5, 0.6, 0.05, 1),
        (200, 1, 3, 0.5, 0.6, 0.05, 1),
        (200, 1, 3, 0.5, 0.6, 0.1, 1),
        (200, 1, 5, 0.5, 0.6, 0.1, 1),
        (1000, 1, 3, 0.6, 0.7, 0.03, 1),
        (300, 5, 3, 0.5, 0.6, 0.0, 1),
        (300, 5, 3, 0.7, 0.6, 0.05, 1),
        (200, 1, 3, 0.7, 0.6, 0.0, 2),
        (300, 5, 3, 0.7, 0.6, 0.05, 2),
    ):
        sds, held = simulated(
            generator, simulations, n, size, k, right, alike, run, votes
        )
        total = right * (1 - right)
        seen = (1 - 2 * WRONG) ** 2 if votes > 1 else 1.0
        planted = np.sqrt(
            [seen * total * alike, seen * total * (1 - alike), WRONG * (1 - WRONG)]
        )
        columns = " | ".join(
            f"{f:11.3f} {p:8.3f}"
            for f, p in zip(sds[: votes + 1], planted, strict=False)
        )
        print(
            f"{n:5d} {size:4d} {k:2d} {right:5.2f} {alike:5.1f} {run:4.2f} {votes:5d} | {columns} | {held[0]:.3f} {held[1]:.3f}",
            flush=True,
        )


def simulated(
    generator: np.random.Generator,
    simulations: int,
    n: int,
    size: int,
    k: int,
    right: float,
    alike: float,
    run: float,
    votes: int,
) -> tuple[Table, Table]:
    """Returns the estimated sds, and the coverage of two intervals: of all repeats, and of the first alone."""
    clusters = (np.arange(n) // size).tolist() if size > 1 else None
    truth = right if votes == 1 else WRONG + (1 - 2 * WRONG) * right
    variances, held = np.zeros(3), np.zeros(2)
    for _ in range(simulations):
        answers = drawn(generator, n, size, k, right, alike, run)
        verdicts = np.stack(
            [
                answers if votes == 1 else answers ^ (generator.random((n, k)) < WRONG)
                for _ in range(votes)
            ],
            2,
        )
        one_vote, split = (
            repeats(verdicts[:, :, :1], clusters=clusters),
            repeats(verdicts, clusters=clusters),
        )
        variances += np.nan_to_num(
            np.square([split.sd_items, split.sd_run, split.sd_judge])
        )
        answered = np.repeat(np.arange(n) // size, k).tolist()
        whole = proportion_interval(verdicts[:, :, 0].reshape(-1), clusters=answered)
        alone = proportion_interval(verdicts[:, 0, 0], clusters=clusters)
        low, high = (
            math.hypot(whole.value - end, one_vote.margin)
            for end in (whole.ci_low, whole.ci_high)
        )
        held += [
            -high <= whole.value - truth <= low,
            alone.ci_low <= truth <= alone.ci_high,
        ]
    return np.sqrt(variances / simulations), held / simulations


def drawn(
    generator: np.random.Generator,
    n: int,
    size: int,
    k: int,
    right: float,
    alike: float,
    run: float,
) -> npt.NDArray[np.bool_]:
    """Draws right and wrong answers, of shape (items, repeats)."""
    shared = alike / 2 if size > 1 else 0.0
    chance = np.full(n, right)
    if size > 1:
        strength = (1 - shared) / shared
        chance = np.repeat(
            generator.beta(right * strength, (1 - right) * strength, n // size), size
        )
        # What the cluster leaves: E[chance (1 - chance)] = right (1 - right) (1 -
        # shared).
    own = (alike - shared) / (1 - shared)
    strength = (1 - own) / own
    chance = np.clip(chance, 1e-6, 1 - 1e-6)
    chance = generator.beta(chance * strength, (1 - chance) * strength)
    moved = generator.triangular(-2 * run, 0, 2 * run, k) if run else np.zeros(k)
    right_ones: npt.NDArray[np.bool_] = (
        generator.random((n, k))
        < chance[:, None] + 4 * (chance * (1 - chance))[:, None] * moved
    )
    return right_ones


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
