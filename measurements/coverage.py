"""How often 95 % intervals hold a truth that is known, and how wide they are, for every interval of the suite.

    OMP_NUM_THREADS=1 python measurements/coverage.py [--draws 2000] [--write]

Each row of the table is a kind of data with an interval, each cell a number of items;
it gives the smallest and largest coverage over true values of 0.02, 0.2, 0.5 and 0.9
(shares, or counts an answer). `--write` puts it into measurements/README.md, and every
cell with its mean width, and how often the truth lay below and above the interval, into
docs/pictures/coverage.csv. A cell is weak, and marked, if from 60 items on it covers
less than 93 or more than 98 %.

Below the intervals of the suite stand those that other harnesses print for the same
data: value ± 1.96 standard errors of independent items, and percentiles of a bootstrap
of items.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.finite import whole_set_estimate
from medical_tasks.scoring.means import (
    mean_interval,
    proportion_interval,
    ratio_interval,
)
from medical_tasks.scoring.paired import paired_bootstrap

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "measurements" / "README.md"
CELLS: Final = ROOT / "docs" / "pictures" / "coverage.csv"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
ITEMS: Final = (20, 60, 200, 1000)
TRUTHS: Final = (0.02, 0.2, 0.5, 0.9)
TOGETHER: Final = 5
"""Items of a cluster."""
Z: Final = 1.959964
RESAMPLES: Final = 1000

Floats = npt.NDArray[np.float64]
Generator = np.random.Generator
Interval = Callable[[Generator, int, float], Estimate]
"""Draws so many items of a true value, and estimates it."""


@dataclass(frozen=True)
class Cell:
    """How an interval did with one number of items and one true value."""

    name: str
    items: int
    truth: float
    covered: float
    below: float
    above: float
    width: float

    @property
    def weak(self) -> bool:
        """Whether it covers far more or less than 95 %, with enough items."""
        return self.items >= 60 and not 0.93 <= self.covered <= 0.98


# ---- Data of known truth ----


def independent(generator: Generator, items: int, truth: float) -> Floats:
    """Right and wrong answers."""
    return np.asarray(generator.random(items) < truth, dtype=np.float64)


def clustered(
    correlation: float,
) -> Callable[[Generator, int, float], tuple[Floats, list[int]]]:
    """Right and wrong answers on notes of five, each note with a chance of its own."""

    def draw(
        generator: Generator, items: int, truth: float
    ) -> tuple[Floats, list[int]]:
        notes = items // TOGETHER
        chances = np.full(notes, truth)
        if correlation:
            strength = (1.0 - correlation) / correlation
            chances = generator.beta(truth * strength, (1.0 - truth) * strength, notes)
        labels = np.repeat(np.arange(notes), TOGETHER)
        return independent_of(generator, chances[labels]), labels.tolist()

    return draw


def independent_of(generator: Generator, chances: Floats) -> Floats:
    """Right and wrong answers, each with its own chance."""
    return np.asarray(generator.random(len(chances)) < chances, dtype=np.float64)


def shares(generator: Generator, items: int, truth: float) -> Floats:
    """Shares of four statements that an answer covers; answers differ in how many they cover."""
    return np.asarray(
        generator.binomial(4, generator.beta(2 * truth, 2 * (1 - truth), items)) / 4
    )


def counts(generator: Generator, items: int, truth: float) -> Floats:
    """Contradictions of an answer: counts with more spread than Poisson ones."""
    return np.asarray(
        generator.poisson(generator.gamma(0.5, 2.0 * truth, items)), dtype=np.float64
    )


def pooled(generator: Generator, items: int, truth: float) -> tuple[Floats, Floats]:
    """Right parts of answers of 1 to 9 parts."""
    sizes = generator.integers(1, 10, items)
    chances = generator.beta(4 * truth, 4 * (1 - truth), items)
    return np.asarray(generator.binomial(sizes, chances), dtype=np.float64), np.asarray(
        sizes, dtype=np.float64
    )


def pair(generator: Generator, items: int, truth: float) -> tuple[Floats, Floats]:
    """Two models that are equally good, and agree more often than by chance."""
    same = generator.random(items) < 0.6
    first, second = (independent(generator, items, truth) for _ in range(2))
    return first, np.where(same, first, second)


# ---- Intervals ----


def of_clusters(correlation: float) -> Interval:
    """The interval of clustered shares."""
    draw = clustered(correlation)

    def estimate(generator: Generator, items: int, truth: float) -> Estimate:
        values, labels = draw(generator, items, truth)
        return proportion_interval(values, clusters=labels)

    return estimate


def of_sample(generator: Generator, items: int, truth: float) -> Estimate:
    """`--subset`: a third of a set, of which the truth is known exactly."""
    whole = np.zeros(3 * items)
    whole[: round(truth * len(whole))] = 1.0
    drawn = generator.permutation(whole)[:items]
    ones = np.ones(items)
    return whole_set_estimate(
        [drawn, ones], [1.0], [0] * items, [len(whole)], proportion=True
    )


def of_pair(generator: Generator, items: int, truth: float) -> Estimate:
    """`compare`: a difference whose truth is 0, moved to the true value so that tables agree."""
    result = paired_bootstrap(*pair(generator, items, truth), resamples=RESAMPLES)
    return Estimate(
        result.difference + truth,
        result.ci_low + truth,
        result.ci_high + truth,
        result.n,
    )


def of_normal(values: Floats) -> Estimate:
    """Value ± 1.96 standard errors, as if items were independent."""
    value = float(values.mean())
    half = Z * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Estimate(value, value - half, value + half, len(values))


def of_percentiles(generator: Generator, values: Floats) -> Estimate:
    """Percentiles of a bootstrap of items."""
    drawn = values[generator.integers(0, len(values), (RESAMPLES, len(values)))].mean(
        axis=1
    )
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(float(values.mean()), float(low), float(high), len(values))


INTERVALS: Final[dict[str, Interval]] = {
    "shares right (Wilson)": lambda g, n, p: proportion_interval(independent(g, n, p)),
    "notes of 5, correlation 0": of_clusters(0.0),
    "notes of 5, correlation 0.3": of_clusters(0.3),
    "notes of 5, correlation 0.8": of_clusters(0.8),
    "mean of shares": lambda g, n, p: mean_interval(shares(g, n, p)),
    "mean of counts": lambda g, n, p: mean_interval(
        counts(g, n, p), limits=(0.0, math.inf)
    ),
    "pooled ratio": lambda g, n, p: ratio_interval(*pooled(g, n, p)),
    "random sample (--subset)": of_sample,
    "difference of two runs": of_pair,
}
PEERS: Final[dict[str, Interval]] = {
    "± 1.96 se, shares right": lambda g, n, p: of_normal(independent(g, n, p)),
    "± 1.96 se, notes of 5, correlation 0.3": lambda g, n, p: of_normal(
        clustered(0.3)(g, n, p)[0]
    ),
    "± 1.96 se, mean of counts": lambda g, n, p: of_normal(counts(g, n, p)),
    "percentiles, mean of shares": lambda g, n, p: of_percentiles(g, shares(g, n, p)),
    "percentiles, mean of counts": lambda g, n, p: of_percentiles(g, counts(g, n, p)),
}


def cells(draws: int) -> Iterator[Cell]:
    """All cells, those of the suite first."""
    for name, interval in {**INTERVALS, **PEERS}.items():
        for items in ITEMS:
            for truth in TRUTHS:
                generator = np.random.default_rng(20_261_128)
                estimates = [interval(generator, items, truth) for _ in range(draws)]
                ends = np.array(
                    [(estimate.ci_low, estimate.ci_high) for estimate in estimates]
                )
                ends = np.where(np.isnan(ends), [-np.inf, np.inf], ends)
                below, above = (ends[:, 0] > truth).mean(), (ends[:, 1] < truth).mean()
                width = float(np.median(ends[:, 1] - ends[:, 0]))
                yield Cell(name, items, truth, 1.0 - below - above, below, above, width)


def table(results: list[Cell]) -> str:
    """The cells as Markdown, a row an interval."""
    lines = [
        "| coverage in %, over true values of 0.02 to 0.9 | "
        + " | ".join(f"n = {items:,}" for items in ITEMS)
        + " |",
        "|---|" + "---|" * len(ITEMS),
    ]
    for name in dict.fromkeys(cell.name for cell in results):
        texts = []
        for items in ITEMS:
            some = [
                cell for cell in results if (cell.name, cell.items) == (name, items)
            ]
            low, high = (end(100 * cell.covered for cell in some) for end in (min, max))
            weak = [f"{cell.truth:g}" for cell in some if cell.weak]
            texts.append(
                f"{low:.0f}–{high:.0f}"
                + (f" (weak: {', '.join(weak)})" if weak else "")
            )
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the table, or writes it and its cells."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    results = list(cells(arguments.draws))
    text = table(results)
    print(text)
    if not arguments.write:
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    behind = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{behind}", encoding="utf-8")
    with CELLS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = (
            "interval",
            "items",
            "truth",
            "covered",
            "below",
            "above",
            "median width",
            "weak",
        )
        writer.writerow(names)
        for cell in results:
            figures = (cell.covered, cell.below, cell.above, cell.width)
            written = [f"{figure:.4f}" for figure in figures]
            writer.writerow(
                [cell.name, cell.items, cell.truth, *written, int(cell.weak)]
            )


if __name__ == "__main__":
    main()
