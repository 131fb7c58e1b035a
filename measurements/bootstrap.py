"""Speed and memory of the statistics, beside a plain Python loop over the same number of draws. Prints figures.

    python measurements/bootstrap.py [items] [resamples]

The loop draws items and adds them up one by one. It runs a hundredth of the draws, and
its time is multiplied. Peak memory is what one run allocates at most (tracemalloc),
beside the index matrix that drawing everything at once needs.
"""

from __future__ import annotations

import random
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from medical_tasks.scoring.bootstrap import bootstrap_statistic, quotient
from medical_tasks.scoring.means import mean_interval, proportion_interval
from medical_tasks.scoring.paired import mcnemar, paired_bootstrap

LOOP_SHARE = 100


def main(items: int, resamples: int) -> None:
    generator = np.random.default_rng(0)
    values = generator.random(items)
    others = np.clip(values + generator.normal(0.0, 0.1, items), 0.0, 1.0)
    right = values > 0.3
    counts = [generator.integers(0, 6, items) for _ in range(3)]
    ones = np.ones(items)
    clusters = [f"note-{i // 5}" for i in range(items)]
    loop = (
        seconds(lambda: naive_means(values.tolist(), resamples // LOOP_SHARE))
        * LOOP_SHARE
    )
    print(f"{items} items, {resamples} draws; a Python loop for one mean: {loop:.1f} s")
    rows: dict[str, Callable[[], object]] = {
        "mean": lambda: mean_interval(values),
        "mean, five items a cluster": lambda: mean_interval(values, clusters=clusters),
        "mean, by bootstrap": lambda: bootstrap_statistic(
            [values, ones], quotient, resamples=resamples
        ),
        "micro-F1": lambda: bootstrap_statistic(
            counts, lambda tp, fp, fn: 2 * tp / (2 * tp + fp + fn), resamples=resamples
        ),
        "difference of two means": lambda: paired_bootstrap(
            values, others, resamples=resamples
        ),
        "proportion, clustered": lambda: proportion_interval(right, clusters=clusters),
        "McNemar, clustered": lambda: mcnemar(right, others > 0.3, clusters=clusters),
    }
    for name, work in rows.items():
        taken = min(seconds(work) for _ in range(3))
        print(
            f"  {name:28s} {taken * 1000:8.1f} ms   loop / this: {loop / taken:10.0f}"
        )
    tracemalloc.start()
    bootstrap_statistic([values, ones], quotient, resamples=resamples)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(
        f"peak memory of the mean: {peak / 2**20:.1f} MiB; all indices at once: {items * resamples * 8 / 2**20:.1f} MiB"
    )


def naive_means(values: list[float], resamples: int) -> list[float]:
    generator = random.Random(0)
    means = []
    for _ in range(resamples):
        total = 0.0
        for _ in values:
            total += values[generator.randrange(len(values))]
        means.append(total / len(values))
    return means


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 10_000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 2_000,
    )
