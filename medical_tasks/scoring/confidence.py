"""Calibration and ranking: how well a model's confidences predict which answers are right.

An answer has a confidence (the model's probability that it is right) and an outcome (1
right, 0 wrong). From many of them:

- expected calibration error (ECE): the distance between the share of right answers and
  the mean confidence in bins of confidence, averaged over the answers (Naeini et al.
  2015); at most ten bins of equally many answers, 20 or more, where equal confidences
  stay together
- Brier score: the mean of (confidence - outcome)² (Brier 1950, Mon Weather Rev 78:1); of
  choices also Brier's own, the sum of (probability - outcome)² over the choices
- AUROC: the probability that a right answer has a higher confidence than a wrong one
- risk-coverage curve: the accuracy of the most confident share of the answers; its area
  (AURC) is the mean share of errors among the k most confident answers, over all k
  (Geifman et al. 2019)

The plug-in ECE of finitely many answers is biased upwards: the |gap| of a bin exceeds 0
by chance alone, even for a perfectly calibrated model. `calibration_error` therefore
inverts a test, like a score interval: which true errors are compatible with the gaps? A
true error θ is spread over the bins in the proportions of the smoothed gaps; noise with
the gaps' own covariance is added; and θ is accepted if the plug-in error lies between
the 2.5 and 97.5 percentiles of the simulated ones. The estimate is the θ whose simulated
median is the plug-in error, or 0 if half of the simulated errors are larger even without
a true error. Coverage of these intervals: `measurements/confidence.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.bootstrap import Draws, draw_counts, interval_of
from medical_tasks.scoring.estimates import (
    UNIT,
    Clusters,
    Estimate,
    Floats,
    as_binary,
    as_column,
    check_same_length,
    cluster_codes,
    equal_clusters,
)
from medical_tasks.scoring.intervals import normal_quantile
from medical_tasks.scoring.means import mean_interval, proportion_interval
from medical_tasks.scoring.roc import auroc

MOST_BINS: Final = 10
"""The largest number of bins of confidence."""
FEWEST_IN_BIN: Final = 20
"""The fewest answers in a bin: with fewer, a gap is noise."""
SEED: Final = 0
RESAMPLES: Final = 2000
SHARES: Final = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Shares of the most confident answers at which the risk-coverage curve is evaluated."""

_TAIL: Final = 0.025
_CHUNK: Final = 2**21
"""The number of answers' weights that are in memory at a time."""
_HALVINGS: Final = 40
_ROUNDING: Final = 1e-12

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Answers of similar confidence.

    Attributes:
        low: their smallest confidence.
        high: their largest.
        confidence: their mean confidence.
        accuracy: the share of them that is right, with its interval.
    """

    low: float
    high: float
    confidence: float
    accuracy: Estimate


@dataclass(frozen=True, kw_only=True)
class CalibrationError:
    """An expected calibration error.

    Attributes:
        estimate: corrected for the bias of the plug-in, with its interval.
        plug_in: the mean of the bins' absolute gaps, as most papers report it.
        bins: its bins, by rising confidence.
    """

    estimate: Estimate
    plug_in: float
    bins: Sequence[Bin]


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """How well confidence separates better answers from worse ones.

    Attributes:
        auroc: right against wrong answers; nan if all are of one kind, or if outcomes
            are not all 0 or 1.
        aurc: the mean shortfall (1 - outcome) of the most confident answers over all
            their shares; lower is better.
        curve: the mean outcome of the most confident `SHARES`, in their order.
    """

    auroc: Estimate
    aurc: Estimate
    curve: Sequence[Estimate]


def calibration_error(
    confidence: npt.ArrayLike,
    right: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    bins: int = MOST_BINS,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> CalibrationError:
    """Estimates the expected calibration error over bins of equally many answers.

    Args:
        confidence: one an answer, from 0 to 1.
        right: 1 or 0, one an answer.
        clusters: the label of each answer's cluster.
        bins: the largest number of bins; there are fewer if a bin would have under
            `FEWEST_IN_BIN` answers, or if many answers share a confidence, which is
            never split.
        seed: seeds the simulated noise.
        resamples: the number of simulations.

    Example:
        200 answers have a confidence of 0.9, and 140 of them are right:

        >>> error = calibration_error([0.9] * 200, [1] * 140 + [0] * 60)
        >>> round(error.plug_in, 3), len(error.bins)
        (0.2, 1)
    """
    sure, outcome = _checked(confidence, right, binary=True)
    n = len(sure)
    if not n:
        return CalibrationError(
            estimate=Estimate.undefined(), plug_in=math.nan, bins=()
        )

    code = equal_mass_bins(sure, bins)
    curve = _bins(sure, outcome, code, clusters)
    weights = np.bincount(code) / n
    gaps = np.bincount(code, outcome - sure) / np.bincount(code)
    plug_in = float(weights @ np.abs(gaps))
    covariance = _covariance(sure, outcome, code, clusters)
    direction = _direction(gaps, np.diag(covariance), weights)
    noise = _noise(covariance, seed, resamples)
    value, low, high = _inverted(plug_in, direction, weights, noise)

    return CalibrationError(
        estimate=Estimate(value, low, high, n), plug_in=plug_in, bins=curve
    )


def equal_mass_bins(confidence: Floats, most: int = MOST_BINS) -> Codes:
    """The index of each answer's bin, by rising confidence.

    Equal confidences are never split: a bin ends with the confidence that completes its
    share of the answers, and a last bin of less than half a share joins the one before
    it.

    Example: 6 answers in up to three bins of two, except that three answers have 0.9.

        0.5  0.7 | 0.9  0.9  0.9 | 1.0        closed at 2 and at 5; the last has half
    """
    n = len(confidence)
    number = max(1, min(most, n // FEWEST_IN_BIN))
    share = n / number
    values, value_index, counts = np.unique(
        confidence, return_inverse=True, return_counts=True
    )
    value_bins = np.zeros(len(values), dtype=np.intp)
    current, bin_size = 0, 0
    for position, count in enumerate(counts):
        if bin_size >= share - _ROUNDING:
            current, bin_size = current + 1, 0

        value_bins[position] = current
        bin_size += int(count)

    if current and bin_size < share / 2.0:
        value_bins[value_bins == current] = current - 1

    return np.asarray(value_bins[value_index.reshape(-1)])


def brier_score(
    confidence: npt.ArrayLike, right: npt.ArrayLike, *, clusters: Clusters | None = None
) -> Estimate:
    """The mean of (confidence - outcome)², with its score interval.

    >>> round(brier_score([0.9, 0.6], [1, 0]).value, 3)
    0.185
    """
    sure, outcome = _checked(confidence, right, binary=True)
    return mean_interval((sure - outcome) ** 2, clusters=clusters)


def choices_brier_score(
    probabilities: Sequence[Sequence[float]],
    right: Sequence[int],
    *,
    clusters: Clusters | None = None,
) -> Estimate:
    """Brier's original score for several choices: the mean sum of (probability - outcome)², 0 to 2.

    >>> round(choices_brier_score([[0.7, 0.2, 0.1]], [0]).value, 3)
    0.14
    """
    values = [
        math.fsum(
            (share - float(choice == gold)) ** 2 for choice, share in enumerate(shares)
        )
        for shares, gold in zip(probabilities, right, strict=True)
    ]
    return mean_interval(values, clusters=clusters, limits=(0.0, 2.0))


def ranking(
    confidence: npt.ArrayLike,
    outcome: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Ranking:
    """Evaluates how well confidence ranks answers.

    The interval of AUROC is that of `roc`; the others are clustered bootstrap
    intervals. Answers of equal confidence have no order: each counts as their mean.

    Args:
        confidence: one an answer, from 0 to 1.
        outcome: from 0 (wrong) to 1 (right).
        clusters: the label of each answer's cluster.
        seed: seeds the resamples.
        resamples: the number of resamples.

    Example:
        >>> ranked = ranking([0.9, 0.8, 0.3], [1, 1, 0])
        >>> ranked.auroc.value, round(ranked.aurc.value, 3)
        (1.0, 0.111)
    """
    sure, good = _checked(confidence, outcome, binary=False)
    n = len(sure)
    if not n:
        undefined = Estimate.undefined()
        return Ranking(auroc=undefined, aurc=undefined, curve=[undefined] * len(SHARES))

    order = np.argsort(-sure, kind="stable")
    area = Estimate.undefined(n)
    if np.isin(good, (0.0, 1.0)).all():
        area = auroc(sure, good, clusters=clusters)

    sure, good = sure[order], good[order]
    starts = np.flatnonzero(np.diff(-sure, prepend=-math.inf))
    code = cluster_codes(clusters, n)[order]
    sizes = np.bincount(code)
    values = _ranked(np.ones((1, n)), good, starts)[0]
    drawn = [
        _ranked(weights, good, starts)
        for weights in _weights(code, len(sizes), seed, resamples)
    ]
    effective = equal_clusters(sizes)
    sampled = np.concatenate(drawn) if drawn else np.empty((0, len(values)))
    estimates = [
        _estimated(float(value), column, effective, n)
        for value, column in zip(values, sampled.T, strict=True)
    ]

    return Ranking(auroc=area, aurc=estimates[0], curve=estimates[1:])


def _checked(
    confidence: npt.ArrayLike, outcome: npt.ArrayLike, *, binary: bool
) -> tuple[Floats, Floats]:
    """Returns both columns after checks: equal length, from 0 to 1, no `nan`.

    `binary` outcomes are 0 or 1, others are shares.
    """
    sure = as_column("confidence", confidence, limits=UNIT)
    good = (
        as_binary("right", outcome)
        if binary
        else as_column("outcome", outcome, limits=UNIT)
    )
    check_same_length(confidence=sure, outcome=good)
    if np.isnan(sure).any() or np.isnan(good).any():
        raise ValueError("every answer must have a confidence and an outcome; got nan")

    return sure, good


def _bins(
    sure: Floats, right: Floats, code: Codes, clusters: Clusters | None
) -> list[Bin]:
    """The reliability curve: for each bin its mean confidence and its accuracy.

    Args:
        sure: the answers' confidences.
        right: their outcomes, 0 or 1.
        code: the index of each answer's bin, from 0 without a gap.
        clusters: labels for the accuracy's interval.
    """
    curve = []
    for number in range(int(code.max()) + 1):
        inside = np.flatnonzero(code == number)
        positions = inside.tolist()
        labels = (
            None if clusters is None else [clusters[position] for position in positions]
        )
        curve.append(
            Bin(
                low=float(sure[inside].min()),
                high=float(sure[inside].max()),
                confidence=float(sure[inside].mean()),
                accuracy=proportion_interval(right[inside], clusters=labels),
            )
        )

    return curve


def _covariance(
    sure: Floats, right: Floats, code: Codes, clusters: Clusters | None
) -> Floats:
    """The covariance of the bins' gaps, from the clusters' contributions.

    A bin whose answers are all right or all wrong shows no variance. So each bin has at
    least the variance with one more right and one more wrong answer.
    """
    counts = np.bincount(code)
    labels = cluster_codes(clusters, len(sure))
    gap = right - sure
    means = np.bincount(code, gap) / counts
    added = np.zeros((int(labels.max()) + 1, len(counts)))
    np.add.at(added, (labels, code), (gap - means[code]) / counts[code])
    groups = len(added)
    covariance = (added.T @ added) * (groups / max(1, groups - 1))
    smoothed = (np.bincount(code, right) + 1.0) / (counts + 2.0)
    least = smoothed * (1.0 - smoothed) / counts
    lacking = np.maximum(0.0, least - np.diag(covariance))

    return np.asarray(covariance + np.diag(lacking))


def _direction(gaps: Floats, variances: Floats, weights: Floats) -> Floats:
    """The proportions in which an error is spread over the bins: their denoised gaps.

    Gaps are shrunk towards their common mean as far as their variances explain their
    scatter (empirical Bayes), and scaled to an error of 1.
    """
    precision = 1.0 / variances
    mean = float((precision * gaps).sum() / precision.sum())
    scatter = float((precision * (gaps - mean) ** 2).sum())
    beyond = max(0.0, scatter - (len(gaps) - 1)) / float(precision.sum())
    shrunk = mean + beyond / (beyond + variances) * (gaps - mean)
    error = float(weights @ np.abs(shrunk))

    return np.ones_like(gaps) if error < _ROUNDING else shrunk / error


def _noise(covariance: Floats, seed: int, resamples: int) -> Floats:
    """Draws deviations of the bins' gaps from their true values.

    In this Latin hypercube each direction has the exact quantiles of a normal variable
    in a random order, so that the ends of an interval do not depend on chance.
    """
    roots, vectors = np.linalg.eigh(covariance)
    quantiles = np.array(
        [normal_quantile((rank + 0.5) / resamples) for rank in range(resamples)]
    )
    generator = np.random.default_rng(seed)
    standard = np.stack([generator.permutation(quantiles) for _ in roots], axis=1)
    drawn = standard @ (vectors * np.sqrt(np.maximum(roots, 0.0))).T

    return np.asarray(drawn)


def _inverted(
    plug_in: float, direction: Floats, weights: Floats, noise: Floats
) -> tuple[float, float, float]:
    """Returns the error whose median is the plug-in error, and the ends of the interval."""

    def below(error: float, observed: float) -> float:
        """The share of simulated plug-in errors, for a true error, up to the observed one."""
        drawn = np.abs(error * direction + noise) @ weights
        return float((drawn <= observed).mean())

    def fits(share: float, observed: float) -> float:
        """The true error at which `below` is `share`; 0 if it is less even without error."""
        low, high = 0.0, 1.0
        if below(low, observed) <= share:
            return low

        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            over = below(middle, observed) > share
            low, high = (middle, high) if over else (low, middle)

        return (low + high) / 2.0

    # An error below what chance produces is luck and must not pull the upper end to 0:
    # the share is relative to that without any error, as in the CLs method of Read 2002.
    by_chance = np.quantile(np.abs(noise) @ weights, _TAIL, method="higher")
    largest = max(plug_in, float(by_chance))
    upper = fits(_TAIL * below(0.0, largest), largest)
    value = fits(0.5, plug_in)

    return value, fits(1.0 - _TAIL, plug_in), max(value, upper)


def _weights(code: Codes, groups: int, seed: int, resamples: int) -> Iterator[Floats]:
    """Yields how often each answer is in each resample of clusters, in chunks of resamples."""
    if groups < 2:
        return

    generator = np.random.default_rng(seed)
    chunk = max(1, _CHUNK // max(len(code), groups))
    for start in range(0, resamples, chunk):
        several = min(chunk, resamples - start)
        yield draw_counts(generator, several, groups)[:, code]


def _ranked(weights: Floats, good: Floats, starts: Codes) -> Floats:
    """AURC and the curve of each resample.

    Answers are ordered by falling confidence; `starts` has the first of each confidence.
    """
    counts = np.add.reduceat(weights, starts, axis=1)
    gained = np.add.reduceat(weights * good, starts, axis=1)
    lost = counts - gained
    taken, won = counts.cumsum(axis=1), gained.cumsum(axis=1)
    total = taken[:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        before = taken - counts
        mistakes = (taken - won) - lost
        rate = np.where(counts > 0.0, lost / counts, 0.0)
        # The sum of the risks while the answers of one confidence are added one by one,
        # in any order: sum of (mistakes + rate j) / (before + j) over j.
        harmonic = _harmonic(int(taken.max()))
        grown = harmonic[taken.astype(np.intp)] - harmonic[before.astype(np.intp)]
        area = rate * counts + (mistakes - rate * before) * grown
        aurc = area.sum(axis=1) / total

    curve = [
        _at_shares(counted, gains) for counted, gains in zip(taken, won, strict=True)
    ]
    return np.column_stack([aurc, np.array(curve)])


def _harmonic(most: int) -> Floats:
    """The sums of 1/1 to 1/n, for n from 0."""
    return np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, most + 1))])


def _at_shares(taken: Floats, won: Floats) -> Floats:
    """The mean outcome of the most confident shares of one resample."""
    sizes = np.array(SHARES) * taken[-1]
    ends = np.concatenate([[0.0], taken])
    gains = np.concatenate([[0.0], won])
    return np.asarray(np.interp(sizes, ends, gains) / sizes)


def _estimated(value: float, drawn: Floats, effective: float, n: int) -> Estimate:
    """Returns an estimate from 0 to 1 with the interval of its draws, which contains the value."""
    value = min(max(value, 0.0), 1.0)
    drawn = np.clip(drawn, 0.0, 1.0)
    low, high = interval_of(Draws(value, drawn, effective), limits=UNIT)
    return Estimate(value, min(low, value), max(high, value), n)
