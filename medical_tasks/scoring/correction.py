"""Scores of a judge corrected for its errors, known from labelled verdicts; the interval carries the error of both samples.

- `confusion`: a verdict j counts u_j, where the confusion matrix (shares of judged classes in each gold class) takes u to 1 for the
  class that counts and to 0 for the others: Rogan and Gladen (1978), Am J Epidemiol 107:71, for two classes. Right as long as
  the judge errs alike within each gold class, however often the classes occur.
- `prediction`: u_j is the share of labelled verdicts j whose gold class counts, which is prediction-powered inference with its best
  weight (Angelopoulos et al. 2023, arXiv 2311.01453). For labels that are a sample of the same answers.

The interval is Fieller's: all values that are at most t standard errors from the estimate, as the errors were if they were true.
Errors are linearised and summed by cluster; no variance is below that of the counts with one label more of each class. Without
clusters this is the closed form. Chosen by simulation: `benchmarks/judge_correction.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.estimates import Clusters, Estimate, Floats, check_same_length, cluster_codes
from medical_tasks.scoring.intervals import normal_quantile, student_quantile

Form = Literal["confusion", "prediction"]
FEWEST: Mapping[Form, int] = {"confusion": 20, "prediction": 5}
"""Labels that each gold class needs, or each class of verdicts."""
_TAIL = 0.975
_SMALL = 1e-9


class NotCorrectableError(ValueError):
    """No corrected value can be given; says why."""


@dataclass(frozen=True, eq=False)
class JudgeError:
    """What the labels leave open of a corrected value; were the true value x more, its weights were `weights + x slope`."""

    weights: Floats
    slope: Floats
    covariance: Floats
    freedom: float  # of Student's t

    @property
    def variance(self) -> float:
        """Of the corrected value, from the labels alone."""
        return float(self.weights @ self.covariance @ self.weights)

    def ends(self, below: float, above: float, quantile: float) -> tuple[float, float]:
        """How far an interval reaches that goes `below` and `above` its value without the judge's error, and with it."""
        part = quantile**2 * self.covariance
        a = 1.0 - float(self.slope @ part @ self.slope)
        if a <= 0.0:
            raise NotCorrectableError(
                "the labels do not tell the judge's verdicts from guesses (sensitivity + specificity near 1)"
            )
        b, rest = float(self.slope @ part @ self.weights), float(self.weights @ part @ self.weights)
        low, high = (math.sqrt(b * b + a * (side * side + rest)) for side in (below, above))
        return (low - b) / a, (high + b) / a


@dataclass(frozen=True, eq=False)
class Rescoring:
    """What a verdict of each class counts, and how well that is known; the first class is the one that counts."""

    classes: tuple[str, ...]
    form: Form
    table: Floats  # labels by gold class and judged class
    scores: Floats
    covariance: Floats  # between the rows of errors: by gold class, or by judged class for `prediction`
    clusters: float  # of equal weight


def rescoring(
    gold: Sequence[str],
    judged: Sequence[str],
    classes: Sequence[str],
    *,
    clusters: Clusters | None = None,
    form: Form = "confusion",
    fewest: int | None = None,
) -> Rescoring:
    """Learns from labelled verdicts what a verdict of each class counts, of which the first is the one that counts."""
    check_same_length(gold=gold, judged=judged)
    place = {name: number for number, name in enumerate(classes)}
    if strange := {*gold, *judged} - place.keys():
        raise ValueError(f"gold and judged must be of {', '.join(classes)}; got {sorted(strange)[0]!r}")
    size = len(classes)
    rows, columns = (np.array([place[name] for name in each], dtype=np.intp) for each in (gold, judged))
    table = np.zeros((size, size))
    np.add.at(table, (rows, columns), 1.0)
    # Errors are independent from row to row: of a gold class, or of a judged one.
    by = table if form == "confusion" else table.T
    if form == "prediction":
        rows, columns = columns, rows
    least = FEWEST[form] if fewest is None else fewest
    few = [f"{int(count)} {name}" for name, count in zip(classes, by.sum(axis=1), strict=True) if count < least]
    if few:
        raise NotCorrectableError(f"too few labels of a class: {', '.join(few)}, of at least {least}")
    shares = by / by.sum(axis=1, keepdims=True)
    counts = np.eye(size)[0]
    if form == "prediction":
        scores, values, centre = shares[:, 0], counts, shares[:, 0]
    else:
        if np.linalg.matrix_rank(shares, tol=_SMALL) < size:
            raise NotCorrectableError(
                "the judge's verdicts do not depend on the gold class (sensitivity + specificity near 1)"
            )
        scores = values = np.linalg.solve(shares, counts)
        centre = counts
    codes = np.arange(len(rows)) if clusters is None else cluster_codes(clusters, len(rows))
    number = int(codes.max()) + 1
    if number < 2:
        raise NotCorrectableError("all labels are of one cluster, which does not tell how the judge's errors vary")
    sums = np.zeros((number, size))
    np.add.at(sums, (codes, rows), (values[columns] - centre[rows]) / by.sum(axis=1)[rows])
    covariance = number / (number - 1.0) * sums.T @ sums
    floors = np.array([_variance(row, values) for row in by])
    found = np.diag(covariance).copy()
    wider = np.sqrt(np.divide(np.maximum(found, floors), found, out=np.zeros(size), where=found > 0.0))
    covariance *= np.outer(wider, wider)
    np.fill_diagonal(covariance, np.maximum(found, floors))
    return Rescoring(tuple(classes), form, table, scores, covariance, _equal(np.bincount(codes)))


def _variance(counts: Floats, values: Floats) -> float:
    """The variance of a mean of values, each of which occurred so often, with one more of each."""
    total = float(counts.sum()) + len(counts)
    shares = (counts + 1.0) / total
    return max(0.0, float(shares @ values**2 - (shares @ values) ** 2)) / total


def _equal(sizes: npt.NDArray[np.generic]) -> float:
    """How many clusters of equal size are worth as much (Kish 1965)."""
    weights = sizes.astype(np.float64)
    return float(weights.sum() ** 2 / (weights @ weights))


@dataclass(frozen=True, eq=False)
class Verdicts:
    """A run's verdicts, an entry an item."""

    counts: Floats  # of each class, shape (items, classes)
    unit: Floats  # what one verdict adds
    fixed: Floats  # what is added without a judge
    of: Floats  # denominators
    clusters: Clusters | None = None


def corrected(
    found: Rescoring, run: Verdicts, *, limits: tuple[float, float] = (0.0, 1.0)
) -> tuple[Estimate, JudgeError]:
    """The metric with each verdict counted as labels say, its 95 % interval, and the part of its error that the labels leave."""
    value, error = judge_error(found, run)
    below, verdicts, mass = float(run.of.sum()), run.counts.sum(axis=1), run.unit @ run.counts
    residuals = (run.fixed + run.unit * (run.counts @ found.scores) - value * run.of) / below
    codes = np.arange(len(run.of)) if run.clusters is None else cluster_codes(run.clusters, len(run.of))
    codes = np.unique(codes[run.of > 0.0], return_inverse=True)[1].reshape(-1)
    weights = np.bincount(codes, run.of[run.of > 0.0])
    if len(weights) < 2:
        raise NotCorrectableError("the run has one cluster only, which does not tell how items vary")
    sums = np.bincount(codes, residuals[run.of > 0.0])
    effective = float(mass.sum() ** 2 / (run.unit**2 @ verdicts))
    floor = (mass.sum() / below) ** 2 * _variance(effective * mass / mass.sum(), found.scores)
    own = max(len(sums) / (len(sums) - 1.0) * float(sums @ sums), floor)
    # Welch and Satterthwaite.
    parts = ((own, _equal(weights) - 1.0), (error.variance, error.freedom))
    freedom = (own + error.variance) ** 2 / sum(part**2 / max(1.0, degrees) for part, degrees in parts)
    quantile = student_quantile(_TAIL, max(1.0, math.floor(freedom)))
    side = quantile * math.sqrt(own)
    down, up = error.ends(side, side, quantile)
    low, high = value - down, value + up
    if high < limits[0] or low > limits[1]:
        raise NotCorrectableError(
            f"the corrected interval, {low:.3f} to {high:.3f}, is outside what is possible: the judge errs otherwise here than on "
            "the labelled answers"
        )
    value, low, high = (min(max(each, limits[0]), limits[1]) for each in (value, low, high))
    return Estimate(value, low, high, int((run.of > 0.0).sum())), error


def judge_error(found: Rescoring, run: Verdicts) -> tuple[float, JudgeError]:
    """The corrected value, whatever the limits, and the part of its error that the labels leave."""
    below = float(run.of.sum())
    mass = run.unit @ run.counts / (below or 1.0)
    if mass.sum() <= 0.0:
        raise NotCorrectableError("the run has no verdicts")
    freedom, fixed = max(1.0, found.clusters - 1.0), float(run.fixed.sum()) / below
    value = fixed + float(mass @ found.scores)
    if found.form == "prediction":
        return value, JudgeError(mass, np.zeros(len(mass)), found.covariance, freedom)
    shares = found.table / found.table.sum(axis=1, keepdims=True)
    rest = np.clip(np.linalg.solve(shares.T, mass)[1:], _SMALL, None)
    slope = np.concatenate([[1.0], -rest / rest.sum()])
    true = value - fixed
    weights = np.concatenate([[true], -slope[1:] * (mass.sum() - true)])
    return value, JudgeError(weights, slope, found.covariance, freedom)


def labels_needed(found: Rescoring, error: JudgeError, half_width: float) -> int:
    """How many labels, of classes as these, would leave the judge's error alone at a half-width of the 95 % interval."""
    share = normal_quantile(_TAIL) ** 2 * error.variance / half_width**2
    return math.ceil(float(found.table.sum()) * share)
