"""How often 95 % intervals hold the truth on simulated clustered items. Prints a table; takes some minutes.

    python benchmarks/coverage.py [simulations per row]

Each cluster has its own chance of a right item, drawn from a beta distribution with the given mean and correlation.
Columns: Wilson as if items were independent, `proportion_interval` with clusters, `bootstrap_interval` with clusters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.bootstrap import bootstrap_interval
from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.means import proportion_interval

Sizes = Callable[[np.random.Generator, int], npt.NDArray[np.int64]]

SIZES: dict[str, Sizes] = {
    "all 5": lambda generator, k: np.full(k, 5),
    "1 to 11": lambda generator, k: generator.integers(1, 12, k),
    "heavy tail": lambda generator, k: np.maximum(
        1, np.rint(generator.lognormal(1.0, 1.0, k))
    ).astype(np.int64),
}


def main(simulations: int) -> None:
    generator = np.random.default_rng(20240501)
    print(
        f"{'clusters':>8} {'sizes':>10} {'corr':>5} {'true':>5} | {'as if indep.':>12} {'proportion':>10} {'bootstrap':>9}"
    )
    for k in (3, 5, 10, 20, 50, 150):
        for name, sizes in SIZES.items():
            for correlation in (0.0, 0.3, 0.7):
                for truth in (0.5, 0.9):
                    shares = coverage(generator, k, sizes, correlation, truth, simulations)
                    print(
                        f"{k:8d} {name:>10} {correlation:5.1f} {truth:5.1f} | "
                        f"{shares[0]:12.3f} {shares[1]:10.3f} {shares[2]:9.3f}"
                    )


def coverage(
    generator: np.random.Generator,
    k: int,
    sizes: Sizes,
    correlation: float,
    truth: float,
    simulations: int,
) -> npt.NDArray[np.float64]:
    held = np.zeros(3)
    for _ in range(simulations):
        members = sizes(generator, k)
        chance = np.full(k, truth)
        if correlation > 0.0:
            strength = (1.0 - correlation) / correlation
            chance = generator.beta(truth * strength, (1.0 - truth) * strength, k)
        clusters = np.repeat(np.arange(k), members)
        values = generator.random(len(clusters)) < chance[clusters]
        labels = clusters.tolist()
        estimates: list[Estimate] = [
            proportion_interval(values),
            proportion_interval(values, clusters=labels),
            bootstrap_interval(values, clusters=labels, resamples=500),
        ]
        held += [estimate.ci_low <= truth <= estimate.ci_high for estimate in estimates]
    return held / simulations


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
