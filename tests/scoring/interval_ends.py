"""The ends and the width of an interval, as several tests of scoring compare them."""

from __future__ import annotations

from medical_tasks.scoring.estimates import Comparison, Estimate


def ends(result: Estimate | Comparison) -> tuple[float, float]:
    """Returns the lower and the upper end."""
    return result.ci_low, result.ci_high


def width(result: Estimate | Comparison) -> float:
    """Returns the upper end less the lower one."""
    return result.ci_high - result.ci_low
