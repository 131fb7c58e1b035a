"""Corrected QT intervals; units of heart rate and QT were not looked at."""

from __future__ import annotations

import math

from medical_tasks.calculators.v1_labels.entities import Entities, positive
from medical_tasks.calculators.v1_labels.rounding import round_v1

__all__ = ["bazett", "framingham", "fridericia", "hodges", "rautaharju"]


def _rate(given: Entities) -> float:
    return positive(given.first("Heart Rate or Pulse"), "Heart Rate or Pulse")


def _rr_and_qt(given: Entities) -> tuple[float, float]:
    """RR interval in s, rounded before it is used (and so 0 for no real rate), and QT in ms."""
    return round_v1(60 / _rate(given)), given.first("QT interval")


def bazett(given: Entities) -> float:
    """11: QT / √RR."""
    rr, qt = _rr_and_qt(given)
    return round_v1(qt / math.sqrt(rr))


def fridericia(given: Entities) -> float:
    """56: QT / ∛RR."""
    rr, qt = _rr_and_qt(given)
    return round_v1(qt / rr ** (1 / 3))


def framingham(given: Entities) -> float:
    """57: QT + 154 · (1 − RR)."""
    rr, qt = _rr_and_qt(given)
    return round_v1(qt + 154 * (1 - rr))


def hodges(given: Entities) -> float:
    """58: QT + 1.75 · (rate − 60), the rate taken back from the rounded RR."""
    rr, qt = _rr_and_qt(given)
    return round_v1(qt + 1.75 * (60 / rr - 60))


def rautaharju(given: Entities) -> float:
    """59: QT · (120 + rate) / 180."""
    return round_v1(given.first("QT interval") * (120 + _rate(given)) / 180)
