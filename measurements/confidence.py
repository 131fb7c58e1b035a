"""How often the intervals of calibration error, Brier score and AUROC hold a truth that is known.

    OMP_NUM_THREADS=1 python -m measurements.confidence [--draws 4000] [--write]

Simulated models state a confidence, and are right as often as the row states. A cell
gives the share of simulations in which a 95 % interval holds the truth: the expected
calibration error over all confidences (not over bins), the expected Brier score, and
the AUROC of all answers; of 500 simulations, whose share is known to a point, and of
many others. `flagged` is how often the interval of the calibration error begins above
0.
`--write` puts the table into measurements/README.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.confidence import (
    brier_score,
    calibration_error,
)
from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.intervals import normal_cdf
from medical_tasks.scoring.roc import auroc

PAGE: Final = Path(__file__).resolve().parent / "README.md"
BEGIN, END = "<!-- confidence: begin -->", "<!-- confidence: end -->"
ITEMS: Final = (60, 200, 1000)
MANY: Final = 1_000_000
"""Answers from which the truth is computed."""
FEW: Final = 500
"""Simulations for the means; shares are reported of these and of many others."""
TOGETHER: Final = 5
ALIKE: Final = 0.4
"""Answers of a note, and how much of what decides them they have in common."""

Floats = npt.NDArray[np.float64]
Generator = np.random.Generator
Says = Callable[[Generator, int], tuple[Floats, Floats]]
"""Draws confidences, and the probability that each answer is right."""


def _sure(generator: Generator, n: int) -> Floats:
    """Confidences of a model that is mostly sure: mean 73 %."""
    return generator.beta(4.0, 1.5, n)


def calibrated(generator: Generator, n: int) -> tuple[Floats, Floats]:
    """A model that is right as often as its confidence."""
    sure = _sure(generator, n)
    return sure, sure


def says_90(generator: Generator, n: int) -> tuple[Floats, Floats]:
    """A model that always states 90 % and is right in 70 %."""
    return np.full(n, 0.9), np.full(n, 0.7)


def says_80(generator: Generator, n: int) -> tuple[Floats, Floats]:
    """A model that always states 80 % and is right in 80 %."""
    return np.full(n, 0.8), np.full(n, 0.8)


def _overconfident(sure: Floats) -> Floats:
    """The share of right answers: half as far from even odds as its confidence, and 0.3 lower."""
    odds = np.log(sure / (1.0 - sure))
    return np.asarray(1.0 / (1.0 + np.exp(0.3 - 0.5 * odds)))


def slope(generator: Generator, n: int) -> tuple[Floats, Floats]:
    """Overconfident by a logistic slope of 0.5."""
    sure = _sure(generator, n)
    return sure, _overconfident(sure)


def slope_in_steps(generator: Generator, n: int) -> tuple[Floats, Floats]:
    """Does what `slope` does, with confidences in steps of 5 %, as models state them."""
    sure = np.clip(np.round(_sure(generator, n) * 20.0) / 20.0, 0.05, 0.95)
    return sure, _overconfident(sure)


@dataclass(frozen=True)
class Case:
    """A simulated model; `together` answers stand on one note."""

    name: str
    says: Says
    together: int = 1


CASES: Final = (
    Case("calibrated", calibrated),
    Case("says 80 %, right in 80 %", says_80),
    Case("says 90 %, right in 70 %", says_90),
    Case("overconfident by a logistic slope", slope),
    Case("the same in steps of 5 %", slope_in_steps),
    Case("the same, five answers a note", slope_in_steps, TOGETHER),
    Case("calibrated, five answers a note", calibrated, TOGETHER),
)


@dataclass(frozen=True)
class Truth:
    """What the intervals should hold; `auroc` is nan where all confidences are equal."""

    error: float
    brier: float
    auroc: float


def truth(says: Says) -> Truth:
    """Computes the expected figures of a model."""
    sure, right = says(np.random.default_rng(0), MANY)
    brier = ((sure - right) ** 2 + right * (1.0 - right)).mean()
    values, inverse = np.unique(sure, return_inverse=True)
    won, lost = np.bincount(inverse, right), np.bincount(inverse, 1.0 - right)
    below = lost.cumsum() - lost / 2.0
    auroc = float((won * below).sum() / (won.sum() * lost.sum()))
    return Truth(
        error=float(np.abs(right - sure).mean()),
        brier=float(brier),
        auroc=auroc if len(values) > 1 else math.nan,
    )


def outcomes(
    generator: Generator, right: Floats, together: int
) -> tuple[Floats, list[int] | None]:
    """Draws which answers are right, and the notes they stand on.

    Answers of a note share a part of a normal variable, so that each is right as often
    as without one.
    """
    n = len(right)
    if together == 1:
        return (generator.random(n) < right).astype(np.float64), None
    notes = np.arange(n) // together
    common = generator.standard_normal(notes[-1] + 1)[notes]
    own = generator.standard_normal(n)
    mixed = math.sqrt(ALIKE) * common + math.sqrt(1.0 - ALIKE) * own
    uniform = np.array([normal_cdf(float(value)) for value in mixed])
    return (uniform < right).astype(np.float64), notes.tolist()


@dataclass(frozen=True)
class Simulated:
    """The figures of simulated models, one entry for each simulation."""

    errors: Sequence[Estimate]
    plug_in: Sequence[float]
    held: dict[str, Sequence[bool]]

    def share(self, figure: str) -> str:
        """Share of the simulations in which the interval of a figure holds the truth; "" if none is defined."""
        return _percent(fmean(self.held[figure])) if self.held[figure] else ""


def simulated(case: Case, n: int, draws: int, seed: int) -> Simulated:
    """Simulates one model `draws` times."""
    generator = np.random.default_rng(seed)
    expected = truth(case.says)
    errors: list[Estimate] = []
    held: dict[str, list[bool]] = {"error": [], "brier": [], "auroc": []}
    plug_in: list[float] = []
    for _ in range(draws):
        sure, right = case.says(generator, n)
        outcome, notes = outcomes(generator, right, case.together)
        calibration = calibration_error(sure, outcome, clusters=notes)
        errors.append(calibration.estimate)
        plug_in.append(calibration.plug_in)
        held["error"].append(_holds(calibration.estimate, expected.error))
        brier = brier_score(sure, outcome, clusters=notes)
        held["brier"].append(_holds(brier, expected.brier))
        if not math.isnan(expected.auroc):
            ranked = auroc(sure, outcome, clusters=notes)
            held["auroc"].append(_holds(ranked, expected.auroc))
    return Simulated(errors, plug_in, {**held})


def row(case: Case, n: int, draws: int) -> str:
    """Writes a row of the table: means of a few simulations, shares of these and of many others."""
    few, many = simulated(case, n, FEW, seed=7), simulated(case, n, draws, seed=11)
    flagged = fmean(error.ci_low > 0.0 for error in many.errors)
    width = fmean(error.ci_high - error.ci_low for error in few.errors)
    cells = [
        case.name,
        f"{n:,}",
        _percent(truth(case.says).error),
        _percent(fmean(few.plug_in)),
        _percent(fmean(error.value for error in few.errors)),
        _percent(width),
        _percent(flagged),
        *(
            f"{few.share(figure)} / {many.share(figure)}".strip(" /")
            for figure in ("error", "brier", "auroc")
        ),
    ]
    return f"| {' | '.join(cells)} |"


def _holds(estimate: Estimate, value: float) -> bool:
    return estimate.ci_low - 1e-9 <= value <= estimate.ci_high + 1e-9


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f}"


HEADER: Final = (
    "| model | answers | true ECE % | plug-in, mean | estimate, mean | mean width | flagged % | "
    "ECE held % | Brier held % | AUROC held % |\n" + "|---|" + "---:|" * 9
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table, and writes it with `--write`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    lines = [HEADER]
    print(HEADER)
    for case in CASES:
        for n in ITEMS:
            lines.append(row(case, n, options.draws))
            print(lines[-1], flush=True)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        _, _, after = rest.partition(END)
        table = "\n".join(lines)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
