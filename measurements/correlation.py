"""How often 95 % intervals of rank correlations hold the truth, how wide they are, and how long they take.

    python measurements/correlation.py [simulations per row]

Scores are drawn from a bivariate normal distribution with the given correlation r,
whose rank correlations are known: rho is 6/pi asin(r/2), tau is 2/pi asin(r) (Kruskal
1958, J Am Stat Assoc 53:814). With ties: the same, rounded to multiples of its standard
deviation; the truth is then that of 50,000 rows.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from medical_tasks.lab.correlation import kendall_tau, rank_correlation, spearman_rho
from medical_tasks.scoring.estimates import Floats

RESAMPLES = 1000


def main(simulations: int) -> None:
    generator = np.random.default_rng(20240501)
    print(
        f"{'rows':>4} {'r':>5} {'ties':>5} | {'rho held':>8} {'width':>6} | {'tau held':>8} {'width':>6}"
    )
    for ties in (False, True):
        for n in (5, 8, 10, 19, 30, 50):
            for r in (0.0, 0.6, 0.9):
                held, width = coverage(
                    generator, n, r, ties=ties, simulations=simulations
                )
                print(
                    f"{n:4d} {r:5.2f} {'yes' if ties else 'no':>5} | "
                    f"{held[0]:8.3f} {width[0]:6.2f} | {held[1]:8.3f} {width[1]:6.2f}"
                )
    for n in (19, 200, 1000):
        x, y = scores(generator, n, 0.6, ties=False)
        began = time.perf_counter()
        rank_correlation(x, y)
        print(
            f"{n} rows, both coefficients, 2,000 draws: {time.perf_counter() - began:.3f} s"
        )


def scores(
    generator: np.random.Generator, n: int, r: float, *, ties: bool
) -> tuple[Floats, Floats]:
    x, noise = generator.standard_normal((2, n))
    y = r * x + math.sqrt(1.0 - r * r) * noise
    return (np.rint(x), np.rint(y)) if ties else (x, y)


def coverage(
    generator: np.random.Generator, n: int, r: float, *, ties: bool, simulations: int
) -> tuple[Floats, Floats]:
    truth = (6.0 / math.pi * math.asin(r / 2.0), 2.0 / math.pi * math.asin(r))
    if ties:
        x, y = scores(generator, 50_000, r, ties=True)
        truth = (spearman_rho(x, y), kendall_tau(x, y))
    held, width = np.zeros(2), np.zeros(2)
    for _ in range(simulations):
        correlations = rank_correlation(
            *scores(generator, n, r, ties=ties), resamples=RESAMPLES
        )
        for i, estimate in enumerate((correlations.spearman, correlations.kendall)):
            if math.isnan(
                estimate.value
            ):  # a score without variation claims nothing: its interval counts as whole
                held[i], width[i] = held[i] + 1.0, width[i] + 2.0
                continue
            held[i] += estimate.ci_low <= truth[i] <= estimate.ci_high
            width[i] += estimate.ci_high - estimate.ci_low
    return held / simulations, width / simulations


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
