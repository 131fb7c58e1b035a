"""Whether `plan` gives the power it promises, by the tests that `compare` and `gate` run.

    OMP_NUM_THREADS=1 python measurements/plan_power.py [draws]

The number of items that `plan` gives is drawn again and again, and tested by
`compare_columns`' test of such a metric. The power promised is 0.80; with 20,000 draws
a share is known to 0.3 points. `at_least` is also counted exactly, as `plan` does.
Margins and past runs are drawn 1,000 times (1.3 points).
"""

from __future__ import annotations

import itertools
import sys

import numpy as np

from medical_tasks.comparison.gate_risk import Limit
from medical_tasks.comparison.planning import (
    Goal,
    Needed,
    needed_as_assumed,
    needed_from_runs,
)
from medical_tasks.comparison.statistics import Columns, compare_columns
from medical_tasks.scoring.estimates import Floats
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.scoring.paired import mcnemar
from medical_tasks.spec import MetricKind, MetricSpec


def columns(first: Floats, second: Floats, kind: MetricKind, size: int = 1) -> Columns:
    """Makes the columns of two runs whose items stand in clusters of one size."""
    ones = np.ones(len(first))
    clusters = (np.arange(len(first)) // size).tolist() if size > 1 else None
    return Columns(
        metric=MetricSpec(name="m", kind=kind, description=""),
        shares=(1.0,),
        first=(first, ones),
        second=(second, ones),
        values=(first, second),
        clusters=clusters,
    )


def pair(
    generator: np.random.Generator,
    items: int,
    accuracy: float,
    difference: float,
    agreement: float,
) -> tuple[Floats, Floats]:
    """Draws two models that are right or wrong: the second is right more often by the difference."""
    apart = 1.0 - agreement
    ahead, behind = (apart + difference) / 2.0, (apart - difference) / 2.0
    both = accuracy - behind
    outcome = generator.choice(
        4, items, p=[both, ahead, behind, 1.0 - both - ahead - behind]
    )
    return np.isin(outcome, (0, 2)).astype(float), np.isin(outcome, (0, 1)).astype(
        float
    )


def differences(draws: int) -> None:
    """Prints the power of exact McNemar, for independent items that are right or wrong."""
    print("accuracy  difference  agreement   items  power of compare")
    generator = np.random.default_rng(1)
    for accuracy, difference, agreement in itertools.product(
        (0.2, 0.5, 0.9), (0.03, 0.05, 0.1), (0.6, 0.8, 0.9)
    ):
        apart = 1.0 - agreement
        least = (
            accuracy - (apart - difference) / 2.0,
            1.0 - accuracy - (apart + difference) / 2.0,
        )
        if apart < difference or min(least) < 0.0:
            continue
        items = needed_as_assumed(
            Goal("difference", difference, apart=apart), 1
        ).clusters
        significant = 0
        for number in range(draws):
            a, b = pair(generator, items, accuracy, difference, agreement)
            p = mcnemar(a, b).p_exact
            if number < 3:
                assert (
                    compare_columns(columns(a, b, "proportion"), resamples=100)["p"]
                    == p
                )
            significant += p < 0.05
        print(
            f"{accuracy:8} {difference:11} {agreement:10} {items:7} {significant / draws:17.3f}",
            flush=True,
        )


def limits(draws: int) -> None:
    """Prints the power of a gate's at_least, by Wilson's interval."""
    print("\nat least   true   items  GO")
    generator = np.random.default_rng(2)
    for limit, truth in (
        (0.2, 0.25),
        (0.5, 0.6),
        (0.8, 0.85),
        (0.9, 0.95),
        (0.95, 0.98),
    ):
        items = needed_as_assumed(Goal("at_least", limit, truth=truth), 1).clusters
        counts = np.unique(generator.binomial(items, truth, draws), return_counts=True)
        passed = 0
        for right, times in zip(*counts, strict=True):
            interval = proportion_interval(np.arange(items) < right)
            passed += int(times) * Limit(limit).met(interval.ci_low, interval.ci_high)
        print(f"{limit:8} {truth:6} {items:7} {passed / draws:.3f}", flush=True)


def margins(draws: int) -> None:
    """Prints the power of a gate's margin between two models that are equally good."""
    print("\n  margin  agreement   items  GO")
    generator = np.random.default_rng(3)
    for margin, agreement in ((0.1, 0.6), (0.1, 0.9), (0.05, 0.8)):
        items = needed_as_assumed(
            Goal("margin", margin, apart=1.0 - agreement), 1
        ).clusters
        passed = 0
        for _ in range(draws):
            comparison = compare_columns(
                columns(*pair(generator, items, 0.5, 0.0, agreement), "proportion")
            )
            passed += comparison["ci_low"] >= -margin
        print(f"{margin:8} {agreement:10} {items:7} {passed / draws:.3f}", flush=True)


def _p_value(columns: Columns) -> float:
    return float(compare_columns(columns, resamples=400)["p"])


def past_runs(draws: int) -> None:
    """Prints the power planned from past runs with clusters, and with means, which are drawn again."""
    print("\nfrom past runs                          clusters  power of compare")
    generator = np.random.default_rng(4)

    def notes(clusters: int) -> tuple[Floats, Floats]:
        """Draws notes of four items, on which two models mostly agree."""
        ease = generator.normal(0.0, 1.0, clusters).repeat(4)
        noise = generator.normal(0.0, 1.0, (2, 4 * clusters))
        return (ease + noise[0] > 0.0).astype(float), (ease + noise[1] > -0.19).astype(
            float
        )

    def means(clusters: int) -> tuple[Floats, Floats]:
        """Draws shares of statements, most of them near 1."""
        ease = generator.beta(4.0, 1.5, clusters)
        first, second = (
            generator.binomial(8, ease**power) / 8.0 for power in (1.0, 0.8)
        )
        return first, second

    for name, simulate, kind, size in (
        ("notes of four, right or wrong", notes, "proportion", 4),
        ("means of shares", means, "mean", 1),
    ):
        large = simulate(100_000)
        truth = float((large[1] - large[0]).mean())
        past = columns(*simulate(2_000), kind, size)  # type: ignore[arg-type]
        needed: Needed = needed_from_runs(Goal("difference", truth), past)
        significant = sum(
            _p_value(columns(*simulate(needed.clusters), kind, size))  # type: ignore[arg-type]
            < 0.05
            for _ in range(draws)
        )
        print(
            f"{name:38} {needed.clusters:9} {significant / draws:.3f} (difference {truth:.3f})"
        )


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    differences(count)
    limits(count)
    margins(min(count, 1_000))
    past_runs(min(count, 1_000))
