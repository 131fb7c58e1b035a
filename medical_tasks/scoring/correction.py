"""Scores corrected for a judge's errors by labels; intervals include the error of both samples.

- `confusion`: a verdict j counts u_j, where the confusion matrix (shares of judged
  classes in each gold class) maps u to 1 for the class that counts and to 0 for the
  others: Rogan and Gladen (1978), Am J Epidemiol 107:71, for two classes. It has three
  classes if each has 20 labels, else two. It is valid if
  the judge's errors depend on the gold class alone, whatever the frequencies of the
  classes.
- `prediction`: u_j is the share of labelled verdicts j whose gold class counts, which is
  prediction-powered inference with its best weight (Angelopoulos et al. 2023, arXiv
  2311.01453). It is valid for labels that are a sample of the same answers.

Either is estimated from all labels together, or from those of each stratum (a kind of
question, long answers). With strata, their mix may differ between the run and the
labels.

The interval is Fieller's: it contains all values at most t standard errors from the
estimate, where the errors are those under the tested value. Errors are linearised and
summed by cluster; no variance is below that of the counts with one more label of each
class. Without clusters this is the closed form. It was selected by simulation:
`measurements/judge_correction.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.bootstrap import bootstrap_statistic
from medical_tasks.scoring.estimates import (
    Clusters,
    Estimate,
    Floats,
    as_binary,
    check_same_length,
    cluster_codes,
    equal_clusters,
)
from medical_tasks.scoring.intervals import normal_quantile, student_quantile
from medical_tasks.scoring.paired import ALPHA, POWER

Form = Literal["confusion", "prediction"]
FEWEST: Mapping[Form, int] = {"confusion": 20, "prediction": 5}
"""The fewest labels of each gold class, or of each class of verdicts."""
_TAIL = 0.975
_SMALL = 1e-9


class NotCorrectableError(ValueError):
    """The value cannot be corrected; `labels` tells whether more labels would help."""

    def __init__(self, reason: str, *, labels: bool = True) -> None:
        super().__init__(reason)
        self.labels = labels


@dataclass(frozen=True, eq=False)
class JudgeError:
    """The error of a corrected value that is due to the labels.

    If the true value were larger by x, the weights would be `weights + x slope`.

    Attributes:
        freedom: degrees of freedom of Student's t.
    """

    weights: Floats
    slope: Floats
    covariance: Floats
    freedom: float

    @property
    def variance(self) -> float:
        """The variance of the corrected value due to the labels alone."""
        return float(self.weights @ self.covariance @ self.weights)

    def reach(
        self, quantile: float, own: float, linear: float = 0.0, square: float = 0.0
    ) -> tuple[float, float]:
        """Returns the distances from the value to the lower and the upper end of the interval.

        Other errors have the variance `own + linear x + square x^2`.
        """
        scaled = quantile**2 * self.covariance
        judge = 1.0 - float(self.slope @ scaled @ self.slope)
        if judge <= 0.0:
            raise NotCorrectableError(
                "the labels do not tell the judge's verdicts from guesses (sensitivity + "
                "specificity near 1)"
            )

        a = judge - quantile**2 * square
        b = float(self.slope @ scaled @ self.weights) + quantile**2 * linear / 2.0
        root = math.sqrt(
            b * b
            + a * (float(self.weights @ scaled @ self.weights) + quantile**2 * own)
        )

        return (root - b) / a, (root + b) / a


@dataclass(frozen=True, eq=False)
class Rescoring:
    """The score of a verdict of each class, with its uncertainty.

    The first class is the one that counts.

    Attributes:
        classes: the classes of each stratum in turn.
        table: the number of labels by gold class and judged class.
        covariance: of the rows' errors; rows are gold classes, or judged classes for
            `prediction`.
        clusters: the number of clusters of equal weight.
        errors: the error of each label.
        rows: the row of each label.
    """

    classes: tuple[str, ...]
    form: Form
    table: Floats
    scores: Floats
    covariance: Floats
    clusters: float
    errors: Floats
    rows: npt.NDArray[np.intp]
    strata: int = 1

    @property
    def hits(self) -> Floats:
        """1 for the class that counts, in each stratum."""
        size = len(self.scores) // self.strata
        return np.tile(np.eye(size)[0], self.strata)

    def by_stratum(self, mass: Floats) -> Floats:
        """For each class, the sum over the classes of its stratum."""
        sums = mass.reshape(self.strata, -1).sum(axis=1)
        return np.asarray(sums.repeat(len(mass) // self.strata))

    def exchange(self, mass: Floats) -> Floats:
        """The change of a stratum's classes if the first class gains one.

        The other classes lose in proportion to their mass.
        """
        if self.form == "confusion":
            shares = self.table / self.table.sum(axis=1, keepdims=True)
            mass = np.linalg.solve(shares.T, mass)
        rest = np.clip(mass, _SMALL, None) * (1.0 - self.hits)
        return np.asarray(self.hits - rest / self.by_stratum(rest))

    def direction(self, shares: Floats) -> Floats:
        """The change of the judge's verdicts if the corrected share grows by one in all strata."""
        change = self.exchange(shares) * self.by_stratum(shares) / shares.sum()
        if self.form == "confusion":
            return np.asarray(
                change @ (self.table / self.table.sum(axis=1, keepdims=True))
            )
        gain = float(change @ self.scores)
        return np.asarray(change / gain if abs(gain) > _SMALL else change * 0.0)


def rescoring(
    gold: Sequence[str],
    judged: Sequence[str],
    classes: Sequence[str],
    *,
    clusters: Clusters | None = None,
    form: Form = "confusion",
    fewest: int | None = None,
    strata: Sequence[int] | None = None,
) -> Rescoring:
    """Estimates from labels the score of a verdict of each class; the first class counts.

    `strata` has the index of each label's stratum, from 0 without a gap.
    """
    check_same_length(gold=gold, judged=judged)
    stratum = (
        np.zeros(len(gold), dtype=np.intp)
        if strata is None
        else np.array(strata, np.intp)
    )
    stratum_count = int(stratum.max(initial=0)) + 1
    class_index = {name: index for index, name in enumerate(classes)}
    if unknown := {*gold, *judged} - class_index.keys():
        raise ValueError(
            f"gold and judged must be of {', '.join(classes)}; got {sorted(unknown)[0]!r}"
        )

    rows, columns = (
        np.array([class_index[name] for name in labels], dtype=np.intp)
        + stratum * len(classes)
        for labels in (gold, judged)
    )
    classes, size = list(classes) * stratum_count, len(classes) * stratum_count
    table = np.zeros((size, size))
    np.add.at(table, (rows, columns), 1.0)
    # Errors are independent between rows, which are gold classes or judged ones.
    by = table if form == "confusion" else table.T
    if form == "prediction":
        rows, columns = columns, rows

    minimum = FEWEST[form] if fewest is None else fewest
    too_few = [
        f"{int(count)} {name}"
        for name, count in zip(classes, by.sum(axis=1), strict=True)
        if count < minimum
    ]
    if too_few:
        raise NotCorrectableError(
            f"too few labels of a class: {', '.join(too_few)}, of at least {FEWEST[form]}"
        )

    shares = by / by.sum(axis=1, keepdims=True)
    counts = np.tile(np.eye(size // stratum_count)[0], stratum_count)
    if form == "prediction":
        scores, values = shares @ counts, counts
        centre = scores
    else:
        if np.linalg.matrix_rank(shares, tol=_SMALL) < size:
            raise NotCorrectableError(
                "the judge's verdicts do not depend on the gold class (sensitivity + specificity "
                "near 1)"
            )

        scores = values = np.linalg.solve(shares, counts)
        centre = counts

    codes = cluster_codes(clusters, len(rows))
    cluster_count = int(codes.max()) + 1
    if cluster_count < 2:
        raise NotCorrectableError(
            "all labels are from one cluster, which does not show how the judge's errors vary"
        )

    sums, errors = np.zeros((cluster_count, size)), values[columns] - centre[rows]
    np.add.at(sums, (codes, rows), errors / by.sum(axis=1)[rows])
    covariance = cluster_count / (cluster_count - 1.0) * sums.T @ sums
    floors = _floors(by, values, stratum_count)
    variances = np.diag(covariance).copy()
    wider = np.sqrt(
        np.divide(
            np.maximum(variances, floors),
            variances,
            out=np.zeros(size),
            where=variances > 0.0,
        )
    )
    covariance *= np.outer(wider, wider)
    np.fill_diagonal(covariance, np.maximum(variances, floors))
    effective = equal_clusters(np.bincount(codes))

    return Rescoring(
        tuple(classes),
        form,
        table,
        scores,
        covariance,
        effective,
        errors,
        rows,
        stratum_count,
    )


def _floors(by: Floats, values: Floats, strata: int) -> Floats:
    """The variance of each row's mean value with one more verdict of each class in its stratum."""
    own = np.arange(len(by)).reshape(strata, -1).repeat(len(by) // strata, axis=0)
    return np.array(
        [_variance(row[at], values[at]) for row, at in zip(by, own, strict=True)]
    )


def _variance(counts: Floats, values: Floats) -> float:
    """The variance of the mean of values that occurred `counts` times, with one more of each."""
    total = float(counts.sum()) + len(counts)
    shares = (counts + 1.0) / total
    return max(0.0, float(shares @ values**2 - (shares @ values) ** 2)) / total


@dataclass(frozen=True, eq=False)
class Verdicts:
    """A run's verdicts, one entry an item.

    Attributes:
        counts: the number of verdicts of each class, shape (items, classes).
        unit: the contribution of one verdict.
        fixed: the contribution that needs no judge.
        denominators: the denominator of each item.
    """

    counts: Floats
    unit: Floats
    fixed: Floats
    denominators: Floats
    clusters: Clusters | None = None


def corrected(
    learnt: Rescoring, run: Verdicts, *, limits: tuple[float, float] = (0.0, 1.0)
) -> tuple[Estimate, JudgeError]:
    """Returns the corrected metric and the part of its error that is due to the labels.

    The 95 % interval of the metric includes the error of both samples.
    """
    value, error = judge_error(learnt, run)
    below, mass, u = float(run.denominators.sum()), run.unit @ run.counts, learnt.scores
    counted = run.denominators > 0.0
    codes = cluster_codes(run.clusters, len(run.denominators))
    codes = np.unique(codes[counted], return_inverse=True)[1].reshape(-1)
    weights = np.bincount(codes, run.denominators[counted])
    if len(weights) < 2:
        raise NotCorrectableError(
            "the run has one cluster only, which does not tell how items vary"
        )

    residuals = (
        run.fixed + run.unit * (run.counts @ u) - value * run.denominators
    ) / below
    sums = np.bincount(codes, residuals[counted])
    clustered = len(sums) / (len(sums) - 1.0) * float(sums @ sums)
    # The variance of a verdict's score is that under the tested value, as in Wilson's
    # interval; `along` is its change with the true value.
    share, shares = mass.sum() / below, mass / mass.sum()
    mean, n = (
        float(shares @ u),
        float(mass.sum() ** 2 / (run.unit**2 @ run.counts.sum(axis=1))),
    )
    single = share**2 * max(0.0, float(shares @ u**2) - mean**2) / n
    effect = (
        max(1.0, clustered / single) / n
        if single > _SMALL**2
        else 1.0 / equal_clusters(weights)
    )
    along = learnt.direction(shares)
    linear, square = effect * share * (float(along @ u**2) - 2.0 * mean), -effect
    own = max(clustered, single)
    # Welch and Satterthwaite.
    floor = max(own, share**2 * _variance(n * shares, u))
    parts = ((floor, equal_clusters(weights) - 1.0), (error.variance, error.freedom))
    freedom = (floor + error.variance) ** 2 / sum(
        variance**2 / max(1.0, degrees) for variance, degrees in parts
    )
    down, up = error.reach(
        student_quantile(_TAIL, max(1.0, math.floor(freedom))), own, linear, square
    )
    low, high = value - down, value + up
    if high < limits[0] or low > limits[1]:
        raise NotCorrectableError(
            f"the corrected interval, {low:.3f} to {high:.3f}, is outside what is possible: the "
            "judge errs otherwise here than on the labelled answers. Label some of this run's own",
            labels=False,
        )

    value, low, high = (
        float(min(max(end, limits[0]), limits[1])) for end in (value, low, high)
    )
    return Estimate(value, low, high, int((run.denominators > 0.0).sum())), error


def judge_error(learnt: Rescoring, run: Verdicts) -> tuple[float, JudgeError]:
    """Returns the corrected value without limits, and the part of its error due to the labels."""
    below = float(run.denominators.sum())
    mass = run.unit @ run.counts / (below or 1.0)
    if mass.sum() <= 0.0:
        raise NotCorrectableError("the run has no verdicts")

    fixed = float(run.fixed.sum()) / below
    value = fixed + float(mass @ learnt.scores)
    slope, weights = np.zeros(len(mass)), mass
    if learnt.form == "confusion":
        exchange, of = learnt.exchange(mass), learnt.by_stratum(mass)
        # The gold classes in the run: in each stratum, all are hits except the share
        # that its value removes.
        weights = (
            exchange * (learnt.by_stratum(mass * learnt.scores) - of) + learnt.hits * of
        )
        slope = exchange * of / mass.sum()

    return value, JudgeError(
        weights, slope, learnt.covariance, max(1.0, learnt.clusters - 1.0)
    )


def drift(
    learnt: Rescoring,
    error: JudgeError,
    inside: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
) -> Estimate:
    """Estimates how much more a corrected value errs on some answers than on the others.

    Within a gold class, labels have a mean error of 0, whatever the share of right
    answers. The classes are weighted by their frequency in the run.

    Args:
        learnt: the scores estimated from the labels.
        error: the error of the run's value.
        inside: whether each label belongs to those answers, such as long ones.
        clusters: the cluster of each label.
    """
    size = len(learnt.scores) // learnt.strata
    mix = error.weights.reshape(learnt.strata, size).sum(axis=0)
    within = np.asarray(inside, dtype=np.float64)
    columns: list[Floats] = []
    for gold in range(size):
        of_class = (learnt.rows % size == gold).astype(np.float64)
        for side in (of_class * within, of_class * (1.0 - within)):
            columns += [learnt.errors * side, side]

    def apart(*sums: Floats) -> Floats:
        terms = zip(mix, sums[::4], sums[1::4], sums[2::4], sums[3::4], strict=True)
        return np.asarray(sum(share * (a / n - b / m) for share, a, n, b, m in terms))

    return bootstrap_statistic(columns, apart, clusters=clusters, limits=None)


def widening(distance: float, drift: Sequence[float]) -> tuple[float, float]:
    """Returns how much further below and above a value the truth may lie because of drift.

    Args:
        distance: the distance of the run's answers from the labelled ones; 1 is that
            between the lower and the upper side.
        drift: the interval of the additional error on the upper side.
    """
    ends = [distance * end for end in drift]
    return max(0.0, *ends), max(0.0, *(-end for end in ends))


def labels_needed(learnt: Rescoring, error: JudgeError, half_width: float) -> int:
    """Returns the number of labels for a half-width of the judge's part of the 95 % interval.

    It is at least the number that has enough labels of each class.
    """
    share = normal_quantile(_TAIL) ** 2 * error.variance / half_width**2
    rarest = float(learnt.table.sum(axis=1 if learnt.form == "confusion" else 0).min())
    return math.ceil(
        float(learnt.table.sum()) * max(share, FEWEST[learnt.form] / rarest)
    )


def tells_apart(
    gold: npt.ArrayLike,
    judged: npt.ArrayLike,
    answers: Clusters,
    n: int,
    *,
    clusters: Clusters | None = None,
) -> tuple[Estimate, Estimate]:
    """Returns Youden's J of a judge and the smallest true difference it detects; `nan` for none.

    Verdicts are 1 or 0; an answer's score is their mean. A judge whose errors depend on
    the truth alone preserves the share J = sensitivity + specificity - 1 of a true
    difference (Youden 1950, Cancer 3:32; Bross 1954, Biometrics 10:478). If scores have
    the variance v of these answers, the smallest difference by the test of
    `minimum_detectable_difference` is c sqrt(2 v / n) / J. Answers of two models to one
    question are assumed to be unrelated; if they are alike, smaller differences are
    detected.
    """
    true, verdict = as_binary("gold", gold), as_binary("judged", judged)
    check_same_length(gold=true, judged=verdict, answers=answers)
    codes = cluster_codes(answers, len(true))
    sizes = np.bincount(codes, minlength=1)
    score, share = (
        (np.bincount(codes, verdict, minlength=1) / np.maximum(1, sizes))[codes],
        1.0 / np.maximum(1, sizes)[codes],
    )
    errors = student_quantile(1.0 - ALPHA / 2.0, n - 1.0) + student_quantile(
        POWER, n - 1.0
    )
    scale = errors * math.sqrt(2.0 / n * len(sizes) / max(1, len(sizes) - 1))

    def youden(hits: Floats, true: Floats, rejected: Floats, false: Floats) -> Floats:
        return hits / true + rejected / false - 1.0

    def resolution(
        score: Floats, square: Floats, weight: Floats, *counts: Floats
    ) -> Floats:
        variance = square / weight - (score / weight) ** 2
        return youden(*counts) / (
            scale * np.sqrt(np.where(variance > _SMALL, variance, 0.0))
        )

    counts = [true * verdict, true, (1.0 - true) * (1.0 - verdict), 1.0 - true]
    left = bootstrap_statistic(counts, youden, clusters=clusters, limits=(-1.0, 1.0))
    smallest = bootstrap_statistic(
        [share * score, share * score**2, share, *counts],
        resolution,
        clusters=clusters,
        limits=None,
    )
    if not (left.ci_low > 0.0 and smallest.value >= 1.0):
        return left, Estimate.undefined(n)

    low, high = (
        1.0 / end if end > 0.0 else math.nan
        for end in (smallest.ci_high, smallest.ci_low)
    )
    return left, Estimate(1.0 / smallest.value, low, high, n)
