"""Fluids: maintenance rate."""

from __future__ import annotations

from medical_tasks.calculators.base import Valid, calculator
from medical_tasks.calculators.patient import WEIGHT
from medical_tasks.calculators.trace import Say, quiet

__all__ = ["maintenance_fluids"]


@calculator(
    id=22,
    name="Maintenance Fluids Calculations",
    category="physical",
    output="decimal",
    unit="mL/hr",
    inputs=(WEIGHT,),
    source="Holliday MA, Segar WE. Pediatrics 1957;19:823-832 (4-2-1 rule).",
    valid=(
        Valid(
            parameter="weight_kg", low=3.5, high=65, source="not for newborns, and at most 2.4 L a day, reached at 65 kg"
        ),
    ),
)
def maintenance_fluids(*, weight_kg: float, say: Say = quiet) -> float:
    """Maintenance fluid in mL an hour: 4 for each of the first 10 kg, 2 for each of the next 10, 1 for each further kg.

    Source: Holliday and Segar, Pediatrics 1957;19:823-832, as the 4-2-1 rule.
    """
    if weight_kg <= 10:
        rate = 4 * weight_kg
        say(f"Up to 10 kg: 4 × {weight_kg:.6g} = {rate:.6g} mL/hr.")
    elif weight_kg <= 20:
        rate = 40 + 2 * (weight_kg - 10)
        say(f"Over 10 to 20 kg: 40 + 2 × ({weight_kg:.6g} − 10) = {rate:.6g} mL/hr.")
    else:
        rate = 60 + (weight_kg - 20)
        say(f"Over 20 kg: 60 + 1 × ({weight_kg:.6g} − 20) = {rate:.6g} mL/hr.")
    return rate
