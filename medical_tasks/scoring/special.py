"""Quantiles and tail probabilities that the intervals need and the standard library lacks.

Accurate to at least 1e-9 for sample sizes up to ten million; the tests compare them with an outside library.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from statistics import NormalDist

__all__ = [
    "beta_cdf",
    "beta_quantile",
    "normal_cdf",
    "normal_quantile",
    "student_quantile",
    "student_tail",
]

_STANDARD_NORMAL = NormalDist()
_TINY = 1e-300
_MOST_TERMS = 100_000
_MOST_STEPS = 2_000


def normal_quantile(p: float) -> float:
    """The z below which a standard normal variable lies with probability `p`, 0 < p < 1."""
    return _STANDARD_NORMAL.inv_cdf(p)


def normal_cdf(z: float) -> float:
    """Probability that a standard normal variable is at most `z`; keeps its precision far into the lower tail."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def beta_cdf(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b), for a > 0, b > 0 and x in 0-1.

    By the continued fraction DLMF 8.17.22, on the side of the mean where it converges fast.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_cdf(1.0 - x, b, a)
    return math.exp(_log_density(x, a, b)) * x * (1.0 - x) / a / _beta_fraction(x, a, b)


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p, for p in 0-1. Newton steps, halving the bracket wherever a step would leave it."""
    if p <= 0.0:
        return 0.0
    if p >= 1.0:
        return 1.0
    low, high = 0.0, 1.0
    x = a / (a + b)
    for _ in range(_MOST_STEPS):
        excess = beta_cdf(x, a, b) - p
        if excess == 0.0:
            return x
        low, high = (low, x) if excess > 0.0 else (x, high)
        density = math.exp(min(_log_density(x, a, b), 700.0))
        step = x - excess / density if density > 0.0 else low
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - x) <= 2.0 * sys.float_info.epsilon * step or step in (low, high):
            return step
        x = step
    raise ArithmeticError(f"beta_quantile did not settle for p={p!r}, a={a!r}, b={b!r}")


@lru_cache(maxsize=4096)
def student_quantile(p: float, df: float) -> float:
    """The t below which Student's t with `df` > 0 degrees of freedom (whole or not) lies with probability p."""
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -student_quantile(1.0 - p, df)
    y = beta_quantile(2.0 * p - 1.0, 0.5, 0.5 * df)
    return math.sqrt(df * y / (1.0 - y)) if y < 1.0 else math.inf


def student_tail(t: float, df: float) -> float:
    """Probability that Student's t with `df` degrees of freedom is at least `t`."""
    if t < 0.0:
        return 1.0 - student_tail(-t, df)
    return 0.5 * beta_cdf(df / (df + t * t), 0.5 * df, 0.5)


def _log_density(x: float, a: float, b: float) -> float:
    """Logarithm of the beta density at 0 < x < 1."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x) - log_beta


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction 1 + d1/(1 + d2/(1 + ...)) of DLMF 8.17.22, from the front (modified Lentz)."""
    value, c, d = 1.0, 1.0, 0.0
    for term in range(1, _MOST_TERMS):
        m = term // 2
        if term % 2:
            coefficient = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            coefficient = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 + coefficient * d
        d = 1.0 / (d if abs(d) > _TINY else _TINY)
        c = 1.0 + coefficient / c
        c = c if abs(c) > _TINY else _TINY
        value *= c * d
        if abs(c * d - 1.0) < sys.float_info.epsilon:
            return value
    raise ArithmeticError(f"beta_cdf did not settle for x={x!r}, a={a!r}, b={b!r}")
