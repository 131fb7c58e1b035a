"""The area under the ROC curve with its interval, for answers that may be clustered.

DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44:837 (the variance, from each
answer's contribution); Obuchowski (1997), Biometrics 53:567 (the same for clusters). The
interval is computed on the scale of log odds, where the ends stay between 0 and 1 and
coverage is better for few answers (Pepe 2003, The Statistical Evaluation of Medical
Tests, section 5.2.4), with Student's t.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

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
from medical_tasks.scoring.intervals import student_quantile
from medical_tasks.scoring.means import ROUNDING, unseen_share

_TAIL = 0.025


def auroc(
    confidence: npt.ArrayLike, right: npt.ArrayLike, *, clusters: Clusters | None = None
) -> Estimate:
    """The probability that a right answer has more confidence than a wrong one; ties count half.

    `nan` if all answers are right, or all are wrong.

    Args:
        confidence: one an answer, from 0 to 1.
        right: 1 or 0, one an answer.
        clusters: the label of each answer's cluster.

    Example:
        Five of the six pairs of a right and a wrong answer are in the right order:

        >>> round(auroc([0.9, 0.8, 0.3, 0.6, 0.2], [1, 1, 1, 0, 0]).value, 3)
        0.833
    """
    sure = as_column("confidence", confidence, limits=UNIT)
    good = as_binary("right", right)
    check_same_length(confidence=sure, right=good)
    n = len(sure)
    hits, misses = good == 1.0, good == 0.0
    if not hits.any() or not misses.any():
        return Estimate.undefined(n)

    codes = cluster_codes(clusters, n)
    above = _share_below(sure[hits], sure[misses])
    below = 1.0 - _share_below(sure[misses], sure[hits])
    value = min(max(float(above.mean()), 0.0), 1.0)
    # The contributions of each side's answers to the area's error, by cluster.
    added = np.zeros((2, n))
    added[0, hits] = (above - value) / len(above)
    added[1, misses] = (below - value) / len(below)
    sums = np.array([np.bincount(codes, errors) for errors in added], dtype=np.float64)
    counts = tuple(len(np.unique(codes[side])) for side in (hits, misses))
    low, high = _ends(value, sums, counts, equal_clusters(np.bincount(codes)))

    return Estimate(value, min(low, value), max(high, value), n)


def _share_below(values: Floats, others: Floats) -> Floats:
    """For each value, the share of the others below it; ties count half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, side="left")
    up_to = np.searchsorted(ordered, values, side="right")
    return np.asarray((below + up_to) / (2.0 * len(ordered)))


def _ends(
    value: float, sums: Floats, counts: tuple[int, ...], effective: float
) -> tuple[float, float]:
    """The ends of the interval.

    Args:
        value: the area.
        sums: the contributions of each cluster's right and wrong answers to its error.
        counts: the numbers of clusters with right answers and with wrong ones.
        effective: the number of clusters of equal size.
    """
    fewest = min(counts)
    variance = _variance(sums, counts)
    if variance <= ROUNDING**2 or not 0.0 < value < 1.0:
        # No answer differs from another of its side; a share of them may do so unseen.
        unseen = unseen_share(_TAIL, fewest)
        return value * (1.0 - unseen), value + unseen * (1.0 - value)

    if fewest < 2:
        return UNIT

    t = student_quantile(1.0 - _TAIL, max(1.0, effective - 1.0))
    middle = math.log(value / (1.0 - value))
    reach = t * math.sqrt(variance) / (value * (1.0 - value))
    low, high = ((1.0 + math.tanh((middle + x) / 2.0)) / 2.0 for x in (-reach, reach))

    return low, high


def _variance(sums: Floats, counts: tuple[int, ...]) -> float:
    """The variance of the area; without clusters it is DeLong's.

    A side in a single cluster is not scaled up: its own spread is unknown.
    """
    clusters = int(sums.shape[1])
    of_sides: float = math.fsum(
        count / max(1, count - 1) * float(side @ side)
        for side, count in zip(sums, counts, strict=True)
    )
    together: float = float(sums[0] @ sums[1]) * clusters / max(1, clusters - 1)

    return max(0.0, of_sides + 2.0 * together)
