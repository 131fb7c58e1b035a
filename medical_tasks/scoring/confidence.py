"""How well a model knows when it is right: from confidences and outcomes to figures.

An answer has a confidence (the probability that the model gives to its being right) and
an outcome (1 right, 0 wrong). Of many of them:

- expected calibration error (ECE): in bins of confidence, how far the share of right
  answers is from the mean confidence, on average over the answers (Naeini et al. 2015)
- Brier score: the mean of (confidence - outcome)² (Brier 1950, Mon Weather Rev 78:1)
- AUROC: how often a right answer has the higher confidence of a right and a wrong one
- risk-coverage curve: how many are right of the surest share of the answers; its area
  (AURC) is the mean share of wrong ones among the surest k, over all k (Geifman et al.
  2019)

The plug-in ECE of finitely many answers is too high: |gap| of a bin is above 0 by
chance alone, so that a perfectly calibrated model has some. `calibration_error` asks
instead, as a score interval does, which true errors the gaps fit. A true error θ is
spread over the bins in the proportions of the gaps, smoothed; noise of the gaps' own
covariance is added; and θ is kept if the plug-in error lies between the 2.5 and 97.5
percentiles of what comes of that. The estimate is the θ of which it is the median, and
0 where even without any error half of the plug-in errors are larger. How often these
intervals hold the truth: `measurements/confidence.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.bootstrap import Draws, interval_of
from medical_tasks.scoring.estimates import (
    UNIT,
    Clusters,
    Estimate,
    Floats,
    as_binary,
    as_column,
    check_same_length,
    cluster_codes,
)
from medical_tasks.scoring.intervals import normal_quantile
from medical_tasks.scoring.means import mean_interval, proportion_interval
from medical_tasks.scoring.roc import auroc

MOST_BINS: Final = 10
"""Bins of confidence at most."""
FEWEST_IN_BIN: Final = 20
"""Answers for each bin that there are: of fewer a gap is noise."""
SEED: Final = 0
RESAMPLES: Final = 2000
SHARES: Final = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Shares of the answers, the surest ones, at which the risk-coverage curve is told."""

_TAIL: Final = 0.025
_CHUNK: Final = 2**21
"""Weights of answers in resamples that are in memory together."""
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
        estimate: freed of the plug-in's bias, with its interval.
        plug_in: the mean of the bins' absolute gaps, as most papers print it.
        bins: what it is made of, by rising confidence.
    """

    estimate: Estimate
    plug_in: float
    bins: Sequence[Bin]


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """How well confidence tells better answers from worse.

    Attributes:
        auroc: of right and wrong answers; nan where there is only one kind, or where
            outcomes are no 0 and 1.
        aurc: the mean shortfall (1 - outcome) of the surest answers over all their
            shares; lower is better.
        curve: the mean outcome of the surest `SHARES`, in their order.
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
        bins: how many at most; fewer where one would have under `FEWEST_IN_BIN`
            answers, or where many have the same confidence, which no two bins share.
        seed: of the noise that is simulated.
        resamples: how often.

    Example:
        Of 200 answers, all with a confidence of 0.9, 140 are right:

        >>> found = calibration_error([0.9] * 200, [1] * 140 + [0] * 60)
        >>> round(found.plug_in, 3), len(found.bins)
        (0.2, 1)
    """
    sure, outcome = _checked(confidence, right, binary=True)
    n = len(sure)
    if not n:
        nothing = Estimate(math.nan, math.nan, math.nan, 0)
        return CalibrationError(estimate=nothing, plug_in=math.nan, bins=())

    code = equal_mass_bins(sure, bins)
    made = _bins(sure, outcome, code, clusters)
    weights = np.bincount(code) / n
    gaps = np.bincount(code, outcome - sure) / np.bincount(code)
    plug_in = float(weights @ np.abs(gaps))
    covariance = _covariance(sure, outcome, code, clusters)
    direction = _direction(gaps, np.diag(covariance), weights)
    noise = _noise(covariance, seed, resamples)
    value, low, high = _inverted(plug_in, direction, weights, noise)

    return CalibrationError(
        estimate=Estimate(value, low, high, n), plug_in=plug_in, bins=made
    )


def equal_mass_bins(confidence: Floats, most: int = MOST_BINS) -> Codes:
    """The number of each answer's bin, by rising confidence.

    Equal confidences are never parted: a bin is closed by the confidence with which it
    has its share of the answers, and a last one of less than half a share joins the one
    before it.

    Example: of 6 answers in up to three bins, two each, but for three that say 0.9.

        0.5  0.7 | 0.9  0.9  0.9 | 1.0        closed at 2 and at 5; the last has half
    """
    n = len(confidence)
    number = max(1, min(most, n // FEWEST_IN_BIN))
    share = n / number
    values, place, counts = np.unique(
        confidence, return_inverse=True, return_counts=True
    )
    of_value = np.zeros(len(values), dtype=np.intp)
    current, inside = 0, 0
    for index, count in enumerate(counts):
        if inside >= share - _ROUNDING:
            current, inside = current + 1, 0

        of_value[index] = current
        inside += int(count)

    if current and inside < share / 2.0:
        of_value[of_value == current] = current - 1

    return np.asarray(of_value[place.reshape(-1)])


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
    """Brier's own score of several choices: the mean sum of (probability - outcome)², 0 to 2.

    >>> round(choices_brier_score([[0.7, 0.2, 0.1]], [0]).value, 3)
    0.14
    """
    values = [
        math.fsum(
            (share - float(place == gold)) ** 2 for place, share in enumerate(shares)
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
    """How well confidence ranks answers.

    AUROC has its interval by `roc`, the rest by the clustered bootstrap. Answers of one
    confidence stand in no order: what is left out of them is as good as their mean.

    Args:
        confidence: one an answer, from 0 to 1.
        outcome: from 0 (wrong) to 1 (right).
        clusters: the label of each answer's cluster.
        seed: of the resamples.
        resamples: how many.

    Example:
        >>> found = ranking([0.9, 0.8, 0.3], [1, 1, 0])
        >>> found.auroc.value, round(found.aurc.value, 3)
        (1.0, 0.111)
    """
    sure, good = _checked(confidence, outcome, binary=False)
    n = len(sure)
    if not n:
        nothing = Estimate(math.nan, math.nan, math.nan, 0)
        return Ranking(auroc=nothing, aurc=nothing, curve=[nothing] * len(SHARES))

    order = np.argsort(-sure, kind="stable")
    area = Estimate(math.nan, math.nan, math.nan, n)
    if np.isin(good, (0.0, 1.0)).all():
        area = auroc(sure, good, clusters=clusters)

    sure, good = sure[order], good[order]
    starts = np.flatnonzero(np.diff(-sure, prepend=-math.inf))
    code = _codes(clusters, n)[order]
    sizes = np.bincount(code).astype(np.float64)
    values = _ranked(np.ones((1, n)), good, starts)[0]
    drawn = [
        _ranked(weights, good, starts)
        for weights in _weights(code, len(sizes), seed, resamples)
    ]
    effective = float(sizes.sum() ** 2 / (sizes**2).sum())
    found = np.concatenate(drawn) if drawn else np.empty((0, len(values)))
    estimates = [
        _estimated(float(value), column, effective, n)
        for value, column in zip(values, found.T, strict=True)
    ]

    return Ranking(auroc=area, aurc=estimates[0], curve=estimates[1:])


def _checked(
    confidence: npt.ArrayLike, outcome: npt.ArrayLike, *, binary: bool
) -> tuple[Floats, Floats]:
    """Both columns, checked: of one length, from 0 to 1, with no `nan`.

    `binary` outcomes are 0 or 1, others a share.
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


def _codes(clusters: Clusters | None, n: int) -> Codes:
    return np.arange(n) if clusters is None else cluster_codes(clusters, n)


def _bins(
    sure: Floats, right: Floats, code: Codes, clusters: Clusters | None
) -> list[Bin]:
    """The reliability curve: for each bin its mean confidence and its accuracy.

    Args:
        sure: the answers' confidences.
        right: their outcomes, 0 or 1.
        code: the number of each answer's bin, from 0 on without a gap.
        clusters: labels for the accuracy's interval.
    """
    made = []
    for number in range(int(code.max()) + 1):
        inside = np.flatnonzero(code == number)
        places = inside.tolist()
        labels = None if clusters is None else [clusters[place] for place in places]
        made.append(
            Bin(
                low=float(sure[inside].min()),
                high=float(sure[inside].max()),
                confidence=float(sure[inside].mean()),
                accuracy=proportion_interval(right[inside], clusters=labels),
            )
        )

    return made


def _covariance(
    sure: Floats, right: Floats, code: Codes, clusters: Clusters | None
) -> Floats:
    """The covariance of the bins' gaps, by what clusters add to them.

    A bin whose answers are all right or all wrong shows no variance: each has at least
    that of one more right and one more wrong answer.
    """
    counts = np.bincount(code)
    labels = _codes(clusters, len(sure))
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
    """In which proportions an error is spread over the bins: their gaps, freed of noise.

    Gaps are drawn towards their common mean, as far as they scatter around it no more
    than their variances explain (empirical Bayes). Scaled to an error of 1.
    """
    precision = 1.0 / variances
    mean = float((precision * gaps).sum() / precision.sum())
    scatter = float((precision * (gaps - mean) ** 2).sum())
    beyond = max(0.0, scatter - (len(gaps) - 1)) / float(precision.sum())
    shrunk = mean + beyond / (beyond + variances) * (gaps - mean)
    error = float(weights @ np.abs(shrunk))

    return np.ones_like(gaps) if error < _ROUNDING else shrunk / error


def _noise(covariance: Floats, seed: int, resamples: int) -> Floats:
    """Draws of the bins' gaps around their true values.

    A Latin hypercube: each direction has the very quantiles of a normal variable, in an
    order of its own, so that the ends of an interval do not hang on chance.
    """
    roots, vectors = np.linalg.eigh(covariance)
    quantiles = np.array(
        [normal_quantile((place + 0.5) / resamples) for place in range(resamples)]
    )
    generator = np.random.default_rng(seed)
    standard = np.stack([generator.permutation(quantiles) for _ in roots], axis=1)
    drawn = standard @ (vectors * np.sqrt(np.maximum(roots, 0.0))).T

    return np.asarray(drawn)


def _inverted(
    plug_in: float, direction: Floats, weights: Floats, noise: Floats
) -> tuple[float, float, float]:
    """The errors at which the plug-in error is the median, and the ends of the interval."""

    def below(error: float, observed: float) -> float:
        """The share of plug-in errors of a true error that are at most the observed one."""
        drawn = np.abs(error * direction + noise) @ weights
        return float((drawn <= observed).mean())

    def fits(share: float, observed: float) -> float:
        """The true error of which that share is below: 0 where even without one it is less."""
        low, high = 0.0, 1.0
        if below(low, observed) <= share:
            return low

        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            over = below(middle, observed) > share
            low, high = (middle, high) if over else (low, middle)

        return (low + high) / 2.0

    # An error smaller than chance leaves is luck: the upper end is not drawn to 0 by it
    # (the share below is taken of that without any error, as in the CLs method of
    # Read 2002).
    by_chance = np.quantile(np.abs(noise) @ weights, _TAIL, method="higher")
    largest = max(plug_in, float(by_chance))
    upper = fits(_TAIL * below(0.0, largest), largest)
    value = fits(0.5, plug_in)

    return value, fits(1.0 - _TAIL, plug_in), max(value, upper)


def _weights(code: Codes, groups: int, seed: int, resamples: int) -> Iterator[Floats]:
    """How often each answer is in each resample of clusters, in chunks of resamples."""
    if groups < 2:
        return

    generator = np.random.default_rng(seed)
    chunk = max(1, _CHUNK // max(len(code), groups))
    for start in range(0, resamples, chunk):
        several = min(chunk, resamples - start)
        drawn = generator.integers(0, groups, size=(several, groups))
        drawn += np.arange(several)[:, np.newaxis] * groups
        times = np.bincount(drawn.reshape(-1), minlength=several * groups)
        yield times.reshape(several, groups)[:, code].astype(np.float64)


def _ranked(weights: Floats, good: Floats, starts: Codes) -> Floats:
    """AURC and the curve of each resample.

    Answers come by falling confidence; `starts` is where each confidence begins.
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
        # The sum of the risks while the answers of one confidence are taken in one by
        # one, in any order: sum of (mistakes + rate j) / (before + j) over j.
        harmonic = _harmonic(int(taken.max()))
        grown = harmonic[taken.astype(np.intp)] - harmonic[before.astype(np.intp)]
        area = rate * counts + (mistakes - rate * before) * grown
        aurc = area.sum(axis=1) / total

    curve = [_at_shares(one, other) for one, other in zip(taken, won, strict=True)]
    return np.column_stack([aurc, np.array(curve)])


def _harmonic(most: int) -> Floats:
    """The sums of 1/1 to 1/n, for n from 0."""
    return np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, most + 1))])


def _at_shares(taken: Floats, won: Floats) -> Floats:
    """The mean outcome of the surest shares of one resample."""
    wanted = np.array(SHARES) * taken[-1]
    ends = np.concatenate([[0.0], taken])
    gains = np.concatenate([[0.0], won])
    return np.asarray(np.interp(wanted, ends, gains) / wanted)


def _estimated(value: float, drawn: Floats, effective: float, n: int) -> Estimate:
    """An estimate from 0 to 1 with the interval of its draws, which holds its value."""
    value = min(max(value, 0.0), 1.0)
    drawn = np.clip(drawn, 0.0, 1.0)
    low, high = interval_of(Draws(value, drawn, effective), limits=UNIT)
    return Estimate(value, min(low, value), max(high, value), n)
