"""Scores corrected for a judge's errors by labels; intervals carry the error of both samples.

- `confusion`: a verdict j counts u_j, where the confusion matrix (shares of judged classes in each gold class) takes u to 1 for the
  class that counts and to 0 for the others: Rogan and Gladen (1978), Am J Epidemiol 107:71, for two
  classes. Right as long as the judge errs alike within each gold class, however often the classes
  occur.
- `prediction`: u_j is the share of labelled verdicts j whose gold class counts, which is prediction-powered inference with its best
  weight (Angelopoulos et al. 2023, arXiv 2311.01453). For labels that are a sample of the same
  answers.

Either is learnt from all labels together, or from those of each stratum (a kind of
question, long answers): then the strata may be mixed otherwise in the run than in the
labels.

The interval is Fieller's: all values that are at most t standard errors from the
estimate, as the errors were if they were true. Errors are linearised and summed by
cluster; no variance is below that of the counts with one label more of each class.
Without clusters this is the closed form. Chosen by simulation:
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
)
from medical_tasks.scoring.intervals import normal_quantile, student_quantile
from medical_tasks.scoring.paired import ALPHA, POWER

Form = Literal["confusion", "prediction"]
FEWEST: Mapping[Form, int] = {"confusion": 20, "prediction": 5}
"""Labels that each gold class needs, or each class of verdicts."""
_TAIL = 0.975
_SMALL = 1e-9


class NotCorrectableError(ValueError):
    """No corrected value can be given, and why; `labels`: whether more of them would help."""

    def __init__(self, reason: str, *, labels: bool = True) -> None:
        super().__init__(reason)
        self.labels = labels


@dataclass(frozen=True, eq=False)
class JudgeError:
    """What the labels leave open of a corrected value.

    Were the true value x more, its weights were `weights + x slope`.

    Attributes:
        freedom: of Student's t.
    """

    weights: Floats
    slope: Floats
    covariance: Floats
    freedom: float

    @property
    def variance(self) -> float:
        """Of the corrected value, from the labels alone."""
        return float(self.weights @ self.covariance @ self.weights)

    def reach(
        self, quantile: float, own: float, linear: float = 0.0, square: float = 0.0
    ) -> tuple[float, float]:
        """How far below and above the value the interval ends.

        Other errors have variance `own + linear x + square x^2`.
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
    """What a verdict of each class counts, and how well that is known.

    The first class is the one that counts.

    Attributes:
        classes: of each stratum in turn.
        table: labels by gold class and judged class.
        covariance: between the rows of errors: by gold class, or by judged class for
            `prediction`.
        clusters: of equal weight.
        errors: of each label.
        rows: the row that it is in.
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
        """The sum over the classes of a stratum, for each class."""
        sums = mass.reshape(self.strata, -1).sum(axis=1)
        return np.asarray(sums.repeat(len(mass) // self.strata))

    def exchange(self, said: Floats) -> Floats:
        """How the classes of a stratum change where one more is of the first.

        The others as they are mixed there.
        """
        if self.form == "confusion":
            shares = self.table / self.table.sum(axis=1, keepdims=True)
            said = np.linalg.solve(shares.T, said)
        rest = np.clip(said, _SMALL, None) * (1.0 - self.hits)
        return np.asarray(self.hits - rest / self.by_stratum(rest))

    def direction(self, said: Floats) -> Floats:
        """How the judge's verdicts change where the corrected share is one more in all strata."""
        change = self.exchange(said) * self.by_stratum(said) / said.sum()
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
    """Learns from labels what a verdict of each class counts; the first is the one that counts.

    `strata` numbers that of each label from 0, without a gap.
    """
    check_same_length(gold=gold, judged=judged)
    stratum = (
        np.zeros(len(gold), dtype=np.intp)
        if strata is None
        else np.array(strata, np.intp)
    )
    several = int(stratum.max(initial=0)) + 1
    numbers = {name: number for number, name in enumerate(classes)}
    if strange := {*gold, *judged} - numbers.keys():
        raise ValueError(
            f"gold and judged must be of {', '.join(classes)}; got {sorted(strange)[0]!r}"
        )

    rows, columns = (
        np.array([numbers[name] for name in each], dtype=np.intp)
        + stratum * len(classes)
        for each in (gold, judged)
    )
    classes, size = list(classes) * several, len(classes) * several
    table = np.zeros((size, size))
    np.add.at(table, (rows, columns), 1.0)
    # Errors are independent from row to row: of a gold class, or of a judged one.
    by = table if form == "confusion" else table.T
    if form == "prediction":
        rows, columns = columns, rows

    least = FEWEST[form] if fewest is None else fewest
    few = [
        f"{int(count)} {name}"
        for name, count in zip(classes, by.sum(axis=1), strict=True)
        if count < least
    ]
    if few:
        raise NotCorrectableError(
            f"too few labels of a class: {', '.join(few)}, of at least {FEWEST[form]}"
        )

    shares = by / by.sum(axis=1, keepdims=True)
    counts = np.tile(np.eye(size // several)[0], several)
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

    codes = (
        np.arange(len(rows)) if clusters is None else cluster_codes(clusters, len(rows))
    )
    number = int(codes.max()) + 1
    if number < 2:
        raise NotCorrectableError(
            "all labels are from one cluster, which does not show how the judge's errors vary"
        )

    sums, errors = np.zeros((number, size)), values[columns] - centre[rows]
    np.add.at(sums, (codes, rows), errors / by.sum(axis=1)[rows])
    covariance = number / (number - 1.0) * sums.T @ sums
    floors = _floors(by, values, several)
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
    equal = _equal(np.bincount(codes))

    return Rescoring(
        tuple(classes), form, table, scores, covariance, equal, errors, rows, several
    )


def _floors(by: Floats, values: Floats, strata: int) -> Floats:
    """The variance of each row's mean value, with one more verdict of each class of its stratum."""
    own = np.arange(len(by)).reshape(strata, -1).repeat(len(by) // strata, axis=0)
    return np.array(
        [_variance(row[at], values[at]) for row, at in zip(by, own, strict=True)]
    )


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
    """A run's verdicts, an entry an item.

    Attributes:
        counts: of each class, shape (items, classes).
        unit: what one verdict adds.
        fixed: what is added without a judge.
        of: denominators.
    """

    counts: Floats
    unit: Floats
    fixed: Floats
    of: Floats
    clusters: Clusters | None = None


def corrected(
    learnt: Rescoring, run: Verdicts, *, limits: tuple[float, float] = (0.0, 1.0)
) -> tuple[Estimate, JudgeError]:
    """The metric with each verdict counted as labels say, and the error that the labels leave.

    The first has a 95 % interval with the error of both samples.
    """
    value, error = judge_error(learnt, run)
    below, mass, u = float(run.of.sum()), run.unit @ run.counts, learnt.scores
    counted = run.of > 0.0
    codes = (
        np.arange(len(run.of))
        if run.clusters is None
        else cluster_codes(run.clusters, len(run.of))
    )
    codes = np.unique(codes[counted], return_inverse=True)[1].reshape(-1)
    weights = np.bincount(codes, run.of[counted])
    if len(weights) < 2:
        raise NotCorrectableError(
            "the run has one cluster only, which does not tell how items vary"
        )

    residuals = (run.fixed + run.unit * (run.counts @ u) - value * run.of) / below
    sums = np.bincount(codes, residuals[counted])
    clustered = len(sums) / (len(sums) - 1.0) * float(sums @ sums)
    # The variance of a verdict's score, which a true value x more has `along` of: as
    # Wilson's is, that of the tested value.
    share, shares = mass.sum() / below, mass / mass.sum()
    mean, n = (
        float(shares @ u),
        float(mass.sum() ** 2 / (run.unit**2 @ run.counts.sum(axis=1))),
    )
    single = share**2 * max(0.0, float(shares @ u**2) - mean**2) / n
    effect = (
        max(1.0, clustered / single) / n
        if single > _SMALL**2
        else 1.0 / _equal(weights)
    )
    along = learnt.direction(shares)
    linear, square = effect * share * (float(along @ u**2) - 2.0 * mean), -effect
    own = max(clustered, single)
    # Welch and Satterthwaite.
    floor = max(own, share**2 * _variance(n * shares, u))
    parts = ((floor, _equal(weights) - 1.0), (error.variance, error.freedom))
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
        float(min(max(each, limits[0]), limits[1])) for each in (value, low, high)
    )
    return Estimate(value, low, high, int((run.of > 0.0).sum())), error


def judge_error(learnt: Rescoring, run: Verdicts) -> tuple[float, JudgeError]:
    """The corrected value, whatever the limits, and the part of its error that the labels leave."""
    below = float(run.of.sum())
    mass = run.unit @ run.counts / (below or 1.0)
    if mass.sum() <= 0.0:
        raise NotCorrectableError("the run has no verdicts")

    fixed = float(run.fixed.sum()) / below
    value = fixed + float(mass @ learnt.scores)
    slope, weights = np.zeros(len(mass)), mass
    if learnt.form == "confusion":
        exchange, of = learnt.exchange(mass), learnt.by_stratum(mass)
        # The gold classes in the run: in each stratum all but those that its value
        # takes away are hits.
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
    """How much further a corrected value is off on answers inside than on others.

    Within a gold class labels err by 0 on average, whatever share of answers is right.
    The classes are weighted as they occur in the run.

    Args:
        learnt: what was learnt from the labels.
        error: of the run's value.
        inside: whether each label is of such an answer, such as a long one.
        clusters: the label of each cluster.
    """
    size = len(learnt.scores) // learnt.strata
    mix = error.weights.reshape(learnt.strata, size).sum(axis=0)
    within = np.asarray(inside, dtype=np.float64)
    columns: list[Floats] = []
    for gold in range(size):
        here = (learnt.rows % size == gold).astype(np.float64)
        for side in (here * within, here * (1.0 - within)):
            columns += [learnt.errors * side, side]

    def apart(*sums: Floats) -> Floats:
        each = zip(mix, sums[::4], sums[1::4], sums[2::4], sums[3::4], strict=True)
        return np.asarray(sum(share * (a / n - b / m) for share, a, n, b, m in each))

    return bootstrap_statistic(columns, apart, clusters=clusters, limits=None)


def widening(distance: float, drift: Sequence[float]) -> tuple[float, float]:
    """How much further below and above a value the truth may lie, for so much drift.

    Args:
        distance: how far the run's answers lie from the labelled ones, 1 from the lower
            to the upper side.
        drift: the interval of how much further a value is off on the upper side.
    """
    ends = [distance * end for end in drift]
    return max(0.0, *ends), max(0.0, *(-end for end in ends))


def labels_needed(learnt: Rescoring, error: JudgeError, half_width: float) -> int:
    """How many such labels would leave the judge's error at a half-width of the 95 % interval.

    At least as many as have enough of each class.
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
    """Youden's J of a judge, and the smallest true difference that it detects; `nan` for none.

    Verdicts are 1 or 0, an answer's score their mean. Of a true difference a judge
    whose errors depend on the truth alone leaves J = sensitivity + specificity - 1
    (Youden 1950, Cancer 3:32; Bross 1954, Biometrics 10:478). Scores vary among answers
    as those given do (v): by the test of `minimum_detectable_difference` the smallest
    is c sqrt(2 v / n) / J. Two models' answers to one question are taken for unrelated;
    where they are alike, less is enough.
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
        score: Floats, square: Floats, of: Floats, *counts: Floats
    ) -> Floats:
        variance = square / of - (score / of) ** 2
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
        return left, Estimate(math.nan, math.nan, math.nan, n)

    low, high = (
        1.0 / each if each > 0.0 else math.nan
        for each in (smallest.ci_high, smallest.ci_low)
    )
    return left, Estimate(1.0 / smallest.value, low, high, n)
