"""The area under the ROC curve with its interval, of answers that may stand in clusters.

DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44:837 (the variance, by what each
answer adds); Obuchowski (1997), Biometrics 53:567 (the same of clusters); on the scale
of log odds, where the ends stay between 0 and 1 and few answers are better covered
(Pepe 2003, The Statistical Evaluation of Medical Tests, section 5.2.4), with Student's
t.
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
)
from medical_tasks.scoring.intervals import student_quantile
from medical_tasks.scoring.means import ROUNDING, unseen_share

_TAIL = 0.025


def auroc(
    confidence: npt.ArrayLike, right: npt.ArrayLike, *, clusters: Clusters | None = None
) -> Estimate:
    """How often a right answer has more confidence than a wrong one, ties half.

    `nan` where all answers are right, or all are wrong.

    Args:
        confidence: one an answer, from 0 to 1.
        right: 1 or 0, one an answer.
        clusters: the label of each answer's cluster.

    Example:
        Of the six pairs of a right and a wrong answer five are in the right order:

        >>> round(auroc([0.9, 0.8, 0.3, 0.6, 0.2], [1, 1, 1, 0, 0]).value, 3)
        0.833
    """
    sure = as_column("confidence", confidence, limits=UNIT)
    good = as_binary("right", right)
    check_same_length(confidence=sure, right=good)
    n = len(sure)
    hits, misses = good == 1.0, good == 0.0
    if not hits.any() or not misses.any():
        return Estimate(math.nan, math.nan, math.nan, n)

    codes = np.arange(n) if clusters is None else cluster_codes(clusters, n)
    above = _placed(sure[hits], sure[misses])
    below = 1.0 - _placed(sure[misses], sure[hits])
    value = min(max(float(above.mean()), 0.0), 1.0)
    # What each side's answers add to the area's error, by cluster.
    added = np.zeros((2, n))
    added[0, hits] = (above - value) / len(above)
    added[1, misses] = (below - value) / len(below)
    sums = np.array([np.bincount(codes, each) for each in added], dtype=np.float64)
    counts = tuple(len(np.unique(codes[side])) for side in (hits, misses))
    low, high = _ends(value, sums, counts, np.bincount(codes).astype(np.float64))

    return Estimate(value, min(low, value), max(high, value), n)


def _placed(values: Floats, others: Floats) -> Floats:
    """Of each value the share of the others that lie below it, ties half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, side="left")
    up_to = np.searchsorted(ordered, values, side="right")
    return np.asarray((below + up_to) / (2.0 * len(ordered)))


def _ends(
    value: float, sums: Floats, counts: tuple[int, ...], sizes: Floats
) -> tuple[float, float]:
    """The ends of the interval.

    Args:
        value: the area.
        sums: what the right and the wrong answers of each cluster add to its error.
        counts: how many clusters have right answers, and how many have wrong ones.
        sizes: how many answers each cluster has.
    """
    fewest = min(counts)
    variance = _variance(sums, counts)
    if variance <= ROUNDING**2 or not 0.0 < value < 1.0:
        # No answer differs from another of its side: as many may, unseen, as can.
        unseen = unseen_share(_TAIL, fewest)
        return value * (1.0 - unseen), value + unseen * (1.0 - value)

    if fewest < 2:
        return UNIT

    effective = float(sizes.sum() ** 2 / (sizes**2).sum())
    t = student_quantile(1.0 - _TAIL, max(1.0, effective - 1.0))
    middle = math.log(value / (1.0 - value))
    reach = t * math.sqrt(variance) / (value * (1.0 - value))
    low, high = ((1.0 + math.tanh((middle + x) / 2.0)) / 2.0 for x in (-reach, reach))

    return low, high


def _variance(sums: Floats, counts: tuple[int, ...]) -> float:
    """The variance of the area; of answers that stand alone it is DeLong's.

    A side that is in one cluster alone counts as it is: its own spread is not known.
    """
    clusters = int(sums.shape[1])
    of_sides: float = math.fsum(
        count / max(1, count - 1) * float(side @ side)
        for side, count in zip(sums, counts, strict=True)
    )
    together: float = float(sums[0] @ sums[1]) * clusters / max(1, clusters - 1)

    return max(0.0, of_sides + 2.0 * together)
