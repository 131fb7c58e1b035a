"""Two runs on the same right-or-wrong items: McNemar's test, exact and mid-p, also where items share a cluster.

Under "no difference" each item that only one run has right could as well have been the other's. The chance of a split
at least as uneven is binomial: McNemar (1947), Psychometrika 12:153; the mid-p form, which counts the observed split by
half: Fagerland, Lydersen and Laake (2013), BMC Med Res Methodol 13:91.

Items of one cluster are not independent, so there whole clusters are exchanged between the runs instead (sign flips of
the clusters' differences). Their exact distribution is the product of cos(m t) over the clusters' differences m,
transformed back: no random draws, hence no seed. With one item a cluster it is McNemar's test.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.columns import Clusters, as_binary, check_same_length, sum_table
from medical_tasks.scoring.estimates import McNemar

__all__ = ["mcnemar"]


def mcnemar(a: npt.ArrayLike, b: npt.ArrayLike, *, clusters: Clusters | None = None) -> McNemar:
    """Whether two runs differ in how many of the same items they have right.

    Args:
        a: the first run, 1 (right) or 0 (wrong) for each item.
        b: the second run, in the same order of items. Items with `nan` in either run do not count.
        clusters: the cluster of each item, or None when each stands alone.

    Returns:
        The four counts of items and both two-sided p-values; both 1 when the runs never differ.

    Raises:
        ValueError: values other than 0 and 1, columns or labels that do not fit.
    """
    first, second = as_binary("a", a), as_binary("b", b)
    check_same_length(a=first, b=second)
    counted = np.where(np.isnan(first) | np.isnan(second), np.nan, 1.0)
    table = sum_table([second - first, counted], counted, clusters)
    differences = np.rint(table.rows[:, 0]).astype(np.int64)
    p_exact, p_mid = _sign_flip_p_values(differences[differences != 0])
    return McNemar(
        both=int(((first == 1.0) & (second == 1.0)).sum()),
        only_a=int(((first == 1.0) & (second == 0.0)).sum()),
        only_b=int(((first == 0.0) & (second == 1.0)).sum()),
        neither=int(((first == 0.0) & (second == 0.0)).sum()),
        p_exact=p_exact,
        p_mid=p_mid,
        n=table.n,
        n_clusters=table.n_clusters,
    )


def _sign_flip_p_values(differences: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Exact and mid-p two-sided p-value of a sum of non-zero differences whose signs are coin flips."""
    if not differences.size:
        return 1.0, 1.0
    sizes = np.abs(differences)
    unit = int(np.gcd.reduce(sizes))
    sizes //= unit
    observed = abs(int(differences.sum())) // unit
    beyond, at = _binomial(len(sizes), observed) if sizes.max() == 1 else _transformed(sizes, observed)
    # All signs as observed, and all of them turned round, are among the possible outcomes.
    least = math.ldexp(1.0, 1 - len(sizes))
    if observed == 0:
        return 1.0, 1.0 - at / 2.0
    return min(1.0, max(2.0 * (beyond + at), least)), max(2.0 * beyond + at, least / 2.0)


def _binomial(n: int, observed: int) -> tuple[float, float]:
    """Probability that n coin flips of ±1 sum to more than `observed`, and to exactly that."""
    m = (n - observed) // 2
    at = math.exp(math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1) - n * math.log(2.0))
    fewer = np.arange(m, 0, -1)
    return at * float(np.cumprod(fewer / (n - fewer + 1)).sum()), at


def _transformed(sizes: npt.NDArray[np.int64], observed: int) -> tuple[float, float]:
    """The same two probabilities for coin flips of ±size, to an absolute error of about 1e-15."""
    span = int(sizes.sum())
    angles = 2.0 * np.pi / (2 * span + 1) * np.arange(2 * span + 1)
    transform = np.ones(2 * span + 1)
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        transform *= np.cos(int(size) * angles) ** int(count)
    chances = np.maximum(np.fft.fft(transform).real / (2 * span + 1), 0.0)
    return float(chances[observed + 1 : span + 1].sum()), float(chances[observed])
