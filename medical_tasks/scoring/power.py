"""The smallest difference between two runs that so many items can detect.

A two-sided test at level alpha finds a true difference of (t(1 - alpha/2) + t(power)) standard errors with probability
`power` (Bloom 1995, Minimum detectable effects, Evaluation Review 19:547). The standard error is that of the paired
difference, between clusters; t has one degree of freedom less than there are clusters of equal weight.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.columns import (
    UNIT,
    Clusters,
    Limits,
    as_column,
    check_limits,
    check_probability,
    check_same_length,
    check_whole,
    sum_table,
)
from medical_tasks.scoring.resampling import unseen_share
from medical_tasks.scoring.special import student_quantile

__all__ = ["detectable_difference", "minimum_detectable_difference"]


def minimum_detectable_difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    limits: Limits | None = UNIT,
) -> float:
    """The smallest true difference of two runs' means that these items detect, given how much the runs vary on them.

    Where all clusters show the same difference, the spread is not known to be zero: the share of clusters that may
    still differ (see `resampling`) is then taken to differ as far as the limits allow.

    Args:
        a: the first run's values, one number an item.
        b: the second run's values, in the same order of items. Items with `nan` in either run do not count.
        clusters: the cluster of each item, or None when each stands alone.
        power: probability of finding the difference.
        alpha: level of the two-sided test.
        limits: the range values can lie in, or None where it has no known ends.

    Returns:
        The difference, above 0. More than the limits allow means that no difference is found so surely. `nan` for
        fewer than two clusters, and for differences all alike without limits.

    Raises:
        ValueError: values outside the limits, columns or labels that do not fit, a level outside 0-1.
    """
    check_limits(limits)
    first, second = as_column("a", a, limits=limits), as_column("b", b, limits=limits)
    check_same_length(a=first, b=second)
    counted = np.where(np.isnan(first) | np.isnan(second), np.nan, 1.0)
    table = sum_table([second - first, counted], counted, clusters)
    multiplier = _multiplier(table.effective - 1.0, power, alpha)
    k = table.n_clusters
    if k < 2:
        return math.nan
    mean = table.totals()[0] / table.n
    residuals = table.rows[:, 0] - mean * table.rows[:, 1]
    if np.abs(residuals).max() > 1e-12 * table.n:
        return multiplier * math.sqrt(k / (k - 1) * float(residuals @ residuals)) / table.n
    if limits is None:
        return math.nan
    reach = abs(mean) + limits[1] - limits[0]
    share = unseen_share(alpha / 2.0, table.effective)
    return multiplier * reach * math.sqrt(share / table.effective)


def detectable_difference(
    n: int, sd: float, *, design_effect: float = 1.0, power: float = 0.8, alpha: float = 0.05
) -> float:
    """The smallest true difference that `n` items would detect: the same before there are runs, for planning.

    Args:
        n: how many items both runs will answer, at least 2.
        sd: standard deviation of the items' differences, at least 0. For right and wrong items at most the square root
            of the share on which the runs disagree.
        design_effect: how many times larger clusters make the variance, at least 1: 1 + (cluster size - 1) times the
            correlation within a cluster.
        power: probability of finding the difference.
        alpha: level of the two-sided test.

    Raises:
        ValueError: an argument outside its range.
    """
    n = check_whole("n", n, least=2)
    if not 0.0 <= sd < math.inf:
        raise ValueError(f"sd must be at least 0; got {sd!r}")
    if not 1.0 <= design_effect < math.inf:
        raise ValueError(f"design_effect must be at least 1; got {design_effect!r}")
    effective = n / design_effect
    return _multiplier(effective - 1.0, power, alpha) * float(sd) / math.sqrt(effective)


def _multiplier(df: float, power: float, alpha: float) -> float:
    """How many standard errors a difference must measure; at least one degree of freedom."""
    power, alpha = check_probability("power", power), check_probability("alpha", alpha)
    df = max(1.0, df)
    return student_quantile(1.0 - alpha / 2.0, df) + student_quantile(power, df)
