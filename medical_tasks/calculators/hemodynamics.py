"""Circulation: mean arterial pressure."""

from __future__ import annotations

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.patient import DIASTOLIC, SYSTOLIC
from medical_tasks.calculators.trace import Say, quiet

__all__ = ["mean_arterial_pressure"]


@calculator(
    id=5,
    name="Mean Arterial Pressure (MAP)",
    category="physical",
    output="decimal",
    unit="mm Hg",
    inputs=(SYSTOLIC, DIASTOLIC),
    source="One third of systole and two thirds of diastole; standard clinical approximation.",
    aliases=("MAP",),
)
def mean_arterial_pressure(*, systolic_mm_hg: float, diastolic_mm_hg: float, say: Say = quiet) -> float:
    """Mean arterial pressure in mm Hg: (SBP + 2 · DBP) / 3.

    Source: standard clinical approximation from cuff pressures, one third of the cycle being systole.
    """
    pressure = (systolic_mm_hg + 2 * diastolic_mm_hg) / 3
    say(f"MAP = (SBP + 2 × DBP) / 3 = ({systolic_mm_hg:.6g} + 2 × {diastolic_mm_hg:.6g}) / 3 = {pressure:.6g} mm Hg.")
    return pressure
