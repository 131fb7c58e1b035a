"""Intervals of a proportion, accurate to 1e-9, and bounds for unscored items.

Wilson (1927), J Am Stat Assoc 22:209; compared by Newcombe (1998), Stat Med 17:857.
Clustered: Franco et al. (2019), J Surv Stat Methodol 7:334 (effective sample size);
Korn and Graubard (1998), Survey Methodology 24:193 (their t).
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.estimates import (
    UNIT,
    as_column,
    check_probability,
    check_whole,
)

_STANDARD_NORMAL = NormalDist()
_TINY = 1e-300
_MOST_TERMS = 100_000
_MOST_STEPS = 2_000


def wilson_interval(
    successes: int, n: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Wilson's score interval of `successes` out of `n`, without continuity correction.

    (nan, nan) for n = 0.

    Example:
        Even 0 of 10 leaves up to 28 % possible:

        >>> [round(end, 3) for end in wilson_interval(8, 10)]
        [0.49, 0.943]
        >>> [round(end, 3) for end in wilson_interval(0, 10)]
        [0.0, 0.278]
    """
    n, successes = (
        check_whole("n", n, least=0),
        check_whole("successes", successes, least=0),
    )
    if successes > n:
        raise ValueError(f"successes must be at most n, {n}; got {successes}")

    level = check_probability("confidence", confidence)
    if n == 0:
        return math.nan, math.nan

    return wilson(successes / n, float(n), normal_quantile(0.5 + level / 2.0))


def bounds(values_scored: npt.ArrayLike, n_asked: int) -> tuple[float, float]:
    """The lowest and highest possible mean, if the unscored items were all 0 or all 1.

    A scored `nan` (the metric has no denominator there) counts neither in the mean nor
    in `n_asked`.

    Example: four of 5 items are scored, 1, 1, 0 and nan. Without the nan there are 4
    items, one of them unscored: the mean is between 2/4 and 3/4.
    """
    column = as_column("values_scored", values_scored, limits=UNIT)
    items = check_whole("n_asked", n_asked, least=0)
    if items < len(column):
        raise ValueError(
            f"n_asked must be at least the number of values_scored, {len(column)}; got {items}"
        )

    defined = column[~np.isnan(column)]
    denominator = items - (len(column) - len(defined))
    if denominator == 0:
        return math.nan, math.nan

    total = math.fsum(defined)
    return total / denominator, min(
        (total + (denominator - len(defined))) / denominator, 1.0
    )


def wilson(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval for a proportion p of n > 0 items, n whole or effective.

    The ends 0 and 1 are exact.
    """
    centre = p + z * z / (2.0 * n)
    spread = z * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    scale = 1.0 + z * z / n
    low = 0.0 if p == 0.0 else max(0.0, min(p, (centre - spread) / scale))
    high = 1.0 if p == 1.0 else min(1.0, max(p, (centre + spread) / scale))
    return low, high


def normal_quantile(p: float) -> float:
    """The z with probability `p` below it, 0 < p < 1, for a standard normal variable."""
    return _STANDARD_NORMAL.inv_cdf(p)


def normal_cdf(z: float) -> float:
    """Probability that a standard normal variable is at most `z`.

    Keeps its precision far into the lower tail.
    """
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def beta_cdf(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b), for a > 0, b > 0 and x in 0-1."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_cdf(1.0 - x, b, a)
    return math.exp(_log_density(x, a, b)) * x * (1.0 - x) / a / _beta_fraction(x, a, b)


def binomial_tail(successes: int, n: int, p: float) -> float:
    """Probability of at least `successes` of `n`, each with probability `p`.

    Example: by chance 9 or 10 of 10 yes-or-no questions are right with probability 11 /
        1024 = 0.0107.
    """
    if successes <= 0:
        return 1.0
    return beta_cdf(p, successes, n - successes + 1.0) if successes <= n else 0.0


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p, for p in 0-1.

    Uses Newton steps, and bisection if a step would leave the bracket.
    """
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
    """The t with probability p below it, for Student's t with `df` degrees of freedom.

    `df` is above 0, and need not be whole.
    """
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
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x) - log_beta


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of DLMF 8.17.22, from the front (modified Lentz)."""
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
