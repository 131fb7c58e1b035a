"""Electrocardiogram: the QT interval corrected for heart rate, by five published formulas."""

from __future__ import annotations

import math
from typing import Final

from medical_tasks.calculators.base import Valid, calculator
from medical_tasks.calculators.patient import HEART_RATE, QT
from medical_tasks.calculators.trace import Say, quiet

__all__ = ["qtc_bazett", "qtc_framingham", "qtc_fridericia", "qtc_hodges", "qtc_rautaharju"]

_INPUTS: Final = (QT, HEART_RATE)


def _rr_seconds(heart_rate_per_min: float, say: Say) -> float:
    rr = 60 / heart_rate_per_min
    say(f"RR = 60 / heart rate = 60 / {heart_rate_per_min:.6g} = {rr:.6g} s.")
    return rr


@calculator(
    id=11,
    name="QTc Bazett Calculator",
    category="physical",
    output="decimal",
    unit="msec",
    inputs=_INPUTS,
    source="Bazett HC. Heart 1920;7:353-370.",
    valid=(
        Valid(
            parameter="heart_rate_per_min",
            low=60,
            high=100,
            source="over-corrects fast and under-corrects slow rates; Luo S et al. J Electrocardiol 2004;37(Suppl):81-90",
        ),
    ),
)
def qtc_bazett(*, qt_ms: float, heart_rate_per_min: float, say: Say = quiet) -> float:
    """QTc in ms: QT / √RR, RR in seconds.

    Source: Bazett, Heart 1920;7:353-370.
    """
    rr = _rr_seconds(heart_rate_per_min, say)
    corrected = qt_ms / math.sqrt(rr)
    say(f"QTc = QT / √RR = {qt_ms:.6g} / √{rr:.6g} = {corrected:.6g} msec.")
    return corrected


@calculator(
    id=56,
    name="QTc Fridericia Calculator",
    category="physical",
    output="decimal",
    unit="msec",
    inputs=_INPUTS,
    source="Fridericia LS. Acta Med Scand 1920;53:469-486.",
)
def qtc_fridericia(*, qt_ms: float, heart_rate_per_min: float, say: Say = quiet) -> float:
    """QTc in ms: QT / RR^(1/3), RR in seconds.

    Source: Fridericia, Acta Med Scand 1920;53:469-486.
    """
    rr = _rr_seconds(heart_rate_per_min, say)
    corrected = qt_ms / math.cbrt(rr)
    say(f"QTc = QT / RR^(1/3) = {qt_ms:.6g} / {rr:.6g}^(1/3) = {corrected:.6g} msec.")
    return corrected


@calculator(
    id=57,
    name="QTc Framingham Calculator",
    category="physical",
    output="decimal",
    unit="msec",
    inputs=_INPUTS,
    source="Sagie A et al. Am J Cardiol 1992;70:797-801.",
)
def qtc_framingham(*, qt_ms: float, heart_rate_per_min: float, say: Say = quiet) -> float:
    """QTc in ms: QT + 154 · (1 − RR), RR in seconds.

    Source: Sagie et al., Am J Cardiol 1992;70:797-801.
    """
    rr = _rr_seconds(heart_rate_per_min, say)
    corrected = qt_ms + 154 * (1 - rr)
    say(f"QTc = QT + 154 × (1 − RR) = {qt_ms:.6g} + 154 × (1 − {rr:.6g}) = {corrected:.6g} msec.")
    return corrected


@calculator(
    id=58,
    name="QTc Hodges Calculator",
    category="physical",
    output="decimal",
    unit="msec",
    inputs=_INPUTS,
    source="Hodges M et al. J Am Coll Cardiol 1983;1:694.",
)
def qtc_hodges(*, qt_ms: float, heart_rate_per_min: float, say: Say = quiet) -> float:
    """QTc in ms: QT + 1.75 · (heart rate − 60).

    Source: Hodges et al., J Am Coll Cardiol 1983;1:694.
    """
    corrected = qt_ms + 1.75 * (heart_rate_per_min - 60)
    say(
        f"QTc = QT + 1.75 × (heart rate − 60) = {qt_ms:.6g} + 1.75 × ({heart_rate_per_min:.6g} − 60) = "
        f"{corrected:.6g} msec."
    )
    return corrected


@calculator(
    id=59,
    name="QTc Rautaharju Calculator",
    category="physical",
    output="decimal",
    unit="msec",
    inputs=_INPUTS,
    source="Rautaharju PM et al. J Am Coll Cardiol 1993;22:1779-1786.",
)
def qtc_rautaharju(*, qt_ms: float, heart_rate_per_min: float, say: Say = quiet) -> float:
    """QTc in ms: QT · (120 + heart rate) / 180.

    Source: Rautaharju et al. (QT index), J Electrocardiol 1990;23(Suppl):111-117 and J Am Coll Cardiol 1993;22:1779.
    """
    corrected = qt_ms * (120 + heart_rate_per_min) / 180
    say(
        f"QTc = QT × (120 + heart rate) / 180 = {qt_ms:.6g} × (120 + {heart_rate_per_min:.6g}) / 180 = "
        f"{corrected:.6g} msec."
    )
    return corrected
