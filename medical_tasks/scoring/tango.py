"""Tango's score for a difference of two proportions on the same items, right or wrong.

Tango (1998), Stat Med 17:891; its interval beside others: Fagerland, Lydersen and Laake
(2014), Stat Med 33:2850. The variance is that at the difference asked about: one taken
from the items is too small where few of them differ.
"""

from __future__ import annotations

import math

from medical_tasks.scoring.estimates import Limits

_HALVINGS = 60


def tango_spread(better: float, worse: float, n: float, shift: float) -> float:
    """The variance of better less worse items, if the true difference of shares is `shift`.

    Args:
        better: items that only the second run has right.
        worse: items that only the first has right.
        n: all items; above 0, and whole or effective.
        shift: from -1 to 1.
    """
    # The share that is worse, at most likelihood where the true difference is the
    # shift: the larger root of 2n x² + b x + c.
    b = -better - worse + (2 * n - better + worse) * shift
    c = -worse * shift * (1.0 - shift)
    least = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)

    return max(0.0, n * (2 * least + shift * (1.0 - shift)))


def tango_interval(better: float, worse: float, n: float, t: float) -> Limits:
    """All differences of shares that lie at most `t` standard errors from the one found.

    Args:
        better: items that only the second run has right.
        worse: items that only the first has right.
        n: all items; above 0, and whole or effective.
        t: 1.96 for 95 %, or a quantile of Student's t.

    Example:
        Airway reactivity of 21 children before and after a transplantation (Fagerland,
        Lydersen and Laake 2014, tables II and V):

        >>> [round(end, 3) for end in tango_interval(1, 7, 21, 1.96)]
        [-0.517, -0.026]
    """
    observed = (better - worse) / n

    def fits(shift: float) -> bool:
        distance = n * abs(observed - shift)
        return distance <= t * math.sqrt(tango_spread(better, worse, n, shift))

    def end(outside: float) -> float:
        if fits(outside):
            return outside

        inside = observed
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2.0
            inside, outside = (middle, outside) if fits(middle) else (inside, middle)

        return inside

    return end(-1.0), end(1.0)
