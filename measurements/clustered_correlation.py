"""How often the intervals of `medical-tasks meta` hold the truth, and how long its coefficients take.

    python measurements/clustered_correlation.py

Outputs of K items by six systems; both scores share what is particular to the item. The
truth is the coefficient over 1,500 items.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from medical_tasks.lab.correlation import (
    clustered_correlation,
    kendall_tau,
    rank_correlation,
    spearman_rho,
)
from medical_tasks.scoring.estimates import Floats

SYSTEMS = 6
REPEATS = 300
RESAMPLES = 400


def outputs(
    generator: np.random.Generator, items: int, shared: float
) -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    """Draws a metric (with ties, as shares of claims have) and a human score of each output, and its item."""
    item = np.repeat(np.arange(items, dtype=np.intp), SYSTEMS)
    both = shared * generator.normal(size=items)[item]
    quality = generator.normal(size=len(item))
    x = np.round(both + quality + generator.normal(size=len(item)), 1)
    y = np.round(both + quality + generator.normal(size=len(item)), 1)
    return x, y, item


def main() -> None:
    """Prints the tables."""
    print(
        "items  shared  held by 95 % intervals: rho  tau-b  (outputs drawn one by one: rho  tau-b)"
    )
    for shared in (0.0, 1.0):
        x, y, _ = outputs(np.random.default_rng(1), 1500, shared)
        truth = spearman_rho(x, y), kendall_tau(x, y)
        for items in (10, 20, 40):
            held = np.zeros(4)
            generator = np.random.default_rng(2)
            for repeat in range(REPEATS):
                x, y, item = outputs(generator, items, shared)
                drawn: Any = {"seed": repeat, "resamples": RESAMPLES}
                whole = clustered_correlation(x, y, clusters=item.tolist(), **drawn)
                single = rank_correlation(x, y, **drawn)
                estimates = (
                    whole.spearman,
                    whole.kendall,
                    single.spearman,
                    single.kendall,
                )
                held += [
                    e.ci_low <= t <= e.ci_high
                    for e, t in zip(estimates, (*truth, *truth), strict=True)
                ]
            a, b, c, d = 100 * held / REPEATS
            print(f"{items:5}  {shared:6}  {a:27.1f}  {b:5.1f}  {c:29.1f}  {d:5.1f}")
    print("\noutputs  items  seconds (2,000 draws)")
    for items, systems in ((40, 12), (160, 12), (300, 16)):
        generator = np.random.default_rng(0)
        x, y = generator.normal(size=(2, items * systems))
        began = time.perf_counter()
        clustered_correlation(
            x, y, clusters=[k // systems for k in range(items * systems)]
        )
        print(f"{items * systems:7}  {items:5}  {time.perf_counter() - began:7.2f}")


if __name__ == "__main__":
    main()
