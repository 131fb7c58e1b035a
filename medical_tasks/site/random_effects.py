"""Pools estimates of several hospitals by random effects, on any scale.

Hospital i has an estimate y_i with a known variance v_i; the true values of hospitals
vary around one mean with variance tau². Arrays are of shape (..., hospitals), so that
thousands of simulated sets are pooled at once.

- Mean: the weighted mean with weights 1 / (v_i + tau²). Its error is estimated from the
  spread of hospitals, with Student's t for one degree of freedom less than hospitals
  (Hartung and Knapp 2001, Stat Med 20:3875; Sidik and Jonkman 2002, Stat Med 21:3153).
  This t is exact if the weights are right. They are unknown, and an estimate of 0 for tau²
  lets the largest hospital decide. So the weights use the upper 95 % limit of tau², which
  makes them more equal: the interval is a few percent wider, and has its coverage.
- tau²: Paule and Mandel (1982, J Res NBS 87:377), with the interval by the Q profile
  (Viechtbauer 2007, Stat Med 26:37).
- A further hospital: its value is normal around the mean, with the sum of tau² and the
  mean's variance, and tau² is drawn from its confidence distribution by the Q profile. So
  an estimate of 0 for tau² by chance does not make the interval narrow. The usual
  interval (Higgins, Thompson and Spiegelhalter) covers 82 to 97 % for five hospitals.

The intervals' coverage: `measurements/site_pooling.py`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.estimates import Floats
from medical_tasks.scoring.intervals import student_quantile

CONFIDENCE: Final = 0.95
WEIGHTS_AT: Final = 0.05
"""The lower tail of Q at which the weights' tau² is taken: its upper 95 % limit."""

_HALVINGS: Final = 70
_DOUBLINGS: Final = 200
_NODES: Final = 200
_SMALLEST: Final = 1e-4
_LARGEST: Final = 1e6

_erfc: Callable[[Floats], npt.NDArray[np.object_]] = np.frompyfunc(math.erfc, 1, 1)


@dataclass(frozen=True, eq=False)
class Pooled:
    """The pooled result; every field has the shape of the pooled sets.

    Attributes:
        value: the mean of hospitals' true values.
        low: the lower end of its 95 % interval, `high` the upper.
        new_low: the lower end for the true value of a further hospital, `new_high` the
            upper.
        tau2: the variance of hospitals' true values.
        tau2_low: the lower end of its 95 % interval, `tau2_high` the upper.
        q: Cochran's Q, against tau² = 0.
        q_p: its p value.
        i2: the share of the spread beyond chance, by a typical hospital's error;
            `i2_low` and `i2_high` are its ends.
        weights: the weights of hospitals in the mean, which add up to 1.
    """

    value: Floats
    low: Floats
    high: Floats
    new_low: Floats
    new_high: Floats
    tau2: Floats
    tau2_low: Floats
    tau2_high: Floats
    q: Floats
    q_p: Floats
    i2: Floats
    i2_low: Floats
    i2_high: Floats
    weights: Floats


def pooled(values: npt.ArrayLike, variances: npt.ArrayLike) -> Pooled:
    """Pools hospitals' estimates.

    Args:
        values: an array of shape (..., hospitals), with two hospitals or more.
        variances: the variances of the values, above 0.

    Example:
        >>> found = pooled([0.1, 0.3, 0.2], [0.01, 0.01, 0.01])
        >>> round(float(found.value), 3), round(float(found.low), 3)
        (0.2, -0.048)
    """
    y = np.asarray(values, dtype=np.float64)
    v = np.broadcast_to(np.asarray(variances, dtype=np.float64), y.shape)
    if y.shape[-1] < 2 or not (v > 0.0).all() or not np.isfinite(y).all():
        raise ValueError(
            "pooling needs two or more finite values with variances above 0"
        )

    freedom = y.shape[-1] - 1
    tail = (1.0 - CONFIDENCE) / 2.0
    cautious = tau2_where(y, v, chi2_quantile(WEIGHTS_AT, freedom))
    value, error = hartung_knapp(y, v, cautious)
    reach = student_quantile(1.0 - tail, freedom) * error
    further = _further(y, v, cautious)
    q = spread(y, v, np.zeros(y.shape[:-1]))
    tau2, low, high = (
        tau2_where(y, v, target)
        for target in (
            float(freedom),
            chi2_quantile(1.0 - tail, freedom),
            chi2_quantile(tail, freedom),
        )
    )
    typical = _typical(v)

    return Pooled(
        value=value,
        low=value - reach,
        high=value + reach,
        new_low=value - further,
        new_high=value + further,
        tau2=tau2,
        tau2_low=low,
        tau2_high=high,
        q=q,
        q_p=chi2_tail(q, freedom),
        i2=tau2 / (tau2 + typical),
        i2_low=low / (low + typical),
        i2_high=high / (high + typical),
        weights=_weights(v, cautious),
    )


def hartung_knapp(y: Floats, v: Floats, tau2: Floats) -> tuple[Floats, Floats]:
    """The weighted mean for a given tau², and its standard error by the observed spread.

    Args:
        y: the values, of shape (..., hospitals).
        v: their variances, of the same shape.
        tau2: the variance between hospitals, of shape (...).
    """
    weights = 1.0 / (v + tau2[..., None])
    mean = (weights * y).sum(axis=-1) / weights.sum(axis=-1)
    scale = spread(y, v, tau2) / (y.shape[-1] - 1.0)
    return mean, np.sqrt(scale / weights.sum(axis=-1))


def spread(y: Floats, v: Floats, tau2: Floats) -> Floats:
    """The spread of hospitals in units of their errors for a given tau²: Q(tau²).

    At the true tau² it has a chi² distribution with one degree of freedom less than
    hospitals; it falls as tau² grows.
    """
    weights = 1.0 / (v + tau2[..., None])
    mean = (weights * y).sum(axis=-1) / weights.sum(axis=-1)
    return np.asarray((weights * (y - mean[..., None]) ** 2).sum(axis=-1))


def tau2_where(y: Floats, v: Floats, target: float) -> Floats:
    """The tau² with Q(tau²) = target; 0 if Q is below it everywhere.

    The target k - 1 gives Paule and Mandel's estimate, quantiles of chi² give limits.
    """
    low = np.zeros(y.shape[:-1])
    high = np.full(y.shape[:-1], v.mean(axis=-1))
    for _ in range(_DOUBLINGS):
        beyond = spread(y, v, high) > target
        if not beyond.any():
            break

        high = np.where(beyond, 2.0 * high, high)

    nothing = spread(y, v, low) <= target
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        beyond = spread(y, v, middle) > target
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)

    return np.where(nothing, 0.0, (low + high) / 2.0)


def _weights(v: Floats, tau2: Floats) -> Floats:
    weights = 1.0 / (v + tau2[..., None])
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _typical(v: Floats) -> Floats:
    """The error variance of a typical hospital (Higgins and Thompson 2002).

    Stat Med 21:1539, equation 9.
    """
    weights = 1.0 / v
    total = weights.sum(axis=-1)
    freedom = v.shape[-1] - 1.0
    return np.asarray(freedom * total / (total**2 - (weights**2).sum(axis=-1)))


def _further(y: Floats, v: Floats, cautious: Floats) -> Floats:
    """The half-width of the 95 % interval of a further hospital's true value.

    Uses a mixture of normal distributions over the confidence distribution of tau²: tau²
    is at most g with the probability that chi² is above Q(g). Without errors of the
    hospitals' own values this is the t interval of one more value.
    """
    weights = _weights(v, cautious)
    scale = np.maximum(v.mean(axis=-1), y.var(axis=-1))
    steps = np.concatenate([[0.0], np.geomspace(_SMALLEST, _LARGEST, _NODES)])
    nodes = scale[..., None] * steps
    several, errors = y[..., None, :], v[..., None, :]
    at_most = chi2_tail(spread(several, errors, nodes), y.shape[-1] - 1)
    # The last node has all probability beyond it.
    at_most[..., -1] = 1.0
    shares = np.diff(at_most, axis=-1, prepend=0.0)
    # Between two nodes tau² is at their mean; the first node is 0.
    middles = nodes.copy()
    middles[..., 1:] = (nodes[..., 1:] + nodes[..., :-1]) / 2.0
    own = (weights**2 * v).sum(axis=-1)
    alike = (weights**2).sum(axis=-1)
    deviations = np.sqrt(own[..., None] + middles * (1.0 + alike[..., None]))

    return _half_width(shares, deviations)


def _half_width(shares: Floats, deviations: Floats) -> Floats:
    """The half-width around 0 that holds 95 % of a mixture of normal distributions."""
    low = np.zeros(shares.shape[:-1])
    high = 10.0 * deviations.max(axis=-1)
    for _ in range(_HALVINGS // 2):
        middle = (low + high) / 2.0
        outside = 2.0 * _above(middle[..., None] / deviations)
        coverage = (shares * (1.0 - outside)).sum(axis=-1)
        short = coverage < CONFIDENCE
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray((low + high) / 2.0)


def chi2_tail(x: npt.ArrayLike, freedom: int) -> Floats:
    """The probability that chi² with a whole number of degrees of freedom is above x.

    By the recurrence over degrees in steps of two, from the closed forms for one and
    two (Abramowitz and Stegun 26.4.4, 26.4.5).
    """
    half = np.maximum(np.asarray(x, dtype=np.float64), 0.0) / 2.0
    if freedom % 2:
        tail = 2.0 * _above(np.sqrt(2.0 * half))
        term, degrees = np.sqrt(half / math.pi) * 2.0 * np.exp(-half), 3
    else:
        tail, term, degrees = np.exp(-half), half * np.exp(-half), 4

    while degrees <= freedom:
        tail = tail + term
        term = term * half / (degrees / 2.0)
        degrees += 2

    return np.asarray(np.clip(tail, 0.0, 1.0))


@functools.cache
def chi2_quantile(p: float, freedom: int) -> float:
    """The quantile of chi² for probability p, 0 < p < 1.

    Example:
        >>> round(chi2_quantile(0.95, 1), 2)
        3.84
    """
    low, high = 0.0, 1.0
    while float(chi2_tail(high, freedom)) > 1.0 - p:
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        above = float(chi2_tail(middle, freedom)) > 1.0 - p
        low, high = (middle, high) if above else (low, middle)
    return (low + high) / 2.0


@functools.cache
def range_quantile(p: float, means: int) -> float:
    """The quantile of the range of so many standard normal variables (Tukey).

    Divided by the square root of 2 it is the number of standard errors for simultaneous
    intervals of all pairwise differences.

    Example: two means have one difference, whose interval is the usual one.

        >>> round(range_quantile(0.95, 2) / math.sqrt(2.0), 2)
        1.96
    """
    z = np.linspace(-9.0, 9.0, 3001)
    density = np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    step = z[1] - z[0]
    below = _above(-z)

    def coverage(q: float) -> float:
        between = (below - _above(q - z)) ** (means - 1)
        return float(means * (density * between).sum() * step)

    low, high = 0.0, 20.0
    for _ in range(_HALVINGS // 2):
        middle = (low + high) / 2.0
        low, high = (middle, high) if coverage(middle) < p else (low, middle)

    return (low + high) / 2.0


def _above(z: Floats) -> Floats:
    """The probability that a standard normal variable is above z."""
    return np.asarray(_erfc(z / math.sqrt(2.0)), dtype=np.float64) / 2.0
