"""Units as the v1.0 labels converted them: every factor and every intermediate amount rounded.

The published calculators have their own exact units; nothing here is meant for anything but reproducing labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.v1_labels.entities import Entities
from medical_tasks.calculators.v1_labels.rounding import round_v1

__all__ = ["Compound", "amount_in", "concentration", "count_per", "exact_concentration"]

# pmol stood in the labels' table with the factor of nmol.
_MOLES: Final = MappingProxyType({"mol": 1.0, "mmol": 1e-3, "µmol": 1e-6, "pmol": 1e-9})
_GRAMS: Final = MappingProxyType({"kg": 1e3, "g": 1.0, "mg": 1e-3, "µg": 1e-6})
_LITRES: Final = MappingProxyType(
    {"L": 1.0, "dL": 1e-1, "mL": 1e-3, "µL": 1e-6, "mm^3": 1e-6, "cm^3": 1e-3, "m^3": 1e3}
)
_AMOUNTS: Final = (*_MOLES, *_GRAMS, "mEq")
_WORTH_A_NOTE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Compound:
    """What is measured, with the figures the labels used.

    Attributes:
        name: for notes.
        molar_mass: g/mol as the label rule had it; None where it had none, so that amounts in mol could not run.
        valence: mEq per mmol; None where the rule had none.
        true_molar_mass: g/mol where the label rule's figure is wrong.
    """

    name: str
    molar_mass: float | None = None
    valence: int | None = None
    true_molar_mass: float | None = None


def concentration(given: Entities, name: str, compound: Compound, target: str) -> float:
    """A concentration in the rule's unit, rounded after each step.

    Amount first: prefix factor, to mol or g, molar mass, to the target's prefix; then divided by the volume factor.
    A value already in the target unit passes unrounded.

    Args:
        given: the row; a note is left when the steps moved the value by more than 0.1 %.
        name: the entity, a `[value, unit]` pair.
        compound: its molar mass and valence in this rule.
        target: the rule's unit, such as `mg/dL`.

    Raises:
        CalculatorInputError: not given, or a unit that the label rule could not convert.
    """
    value, unit = given.pair(name)
    if unit == target:
        return value
    amount, volume = _split(unit, name, target)
    target_amount, target_volume = _split(target, name, target)
    result = value if amount == target_amount else _amount(value, amount, target_amount, compound, name)
    factor = 1.0 if volume == target_volume else round_v1(_LITRES[volume] / _LITRES[target_volume])
    result = round_v1(result / factor)
    exact = exact_concentration(value, unit, target, compound)
    if abs(result - exact) > _WORTH_A_NOTE * abs(exact):
        given.note(f"{name}: {value:g} {unit} became {result:g} {target} by rounding each step (exactly {exact:.4g})")
    return result


def exact_concentration(value: float, unit: str, target: str, compound: Compound) -> float:
    """The same conversion without rounding and with the true molar mass; units must be known ones."""
    if unit == target:
        return value
    amount, volume = unit.split("/")[:2]
    target_amount, target_volume = target.split("/")[:2]
    factor = _LITRES[volume] / _LITRES[target_volume]
    if amount == target_amount:
        return value / factor
    mass = compound.true_molar_mass or compound.molar_mass
    # All through mol, or through g where both are masses.
    if amount in _GRAMS and target_amount in _GRAMS:
        return value * _GRAMS[amount] / _GRAMS[target_amount] / factor
    if amount == "mEq":
        moles = value / (compound.valence or 1) * 1e-3
    elif amount in _MOLES:
        moles = value * (1e-12 if amount == "pmol" else _MOLES[amount])
    else:
        moles = value * _GRAMS[amount] / (mass or 1.0)
    if target_amount == "mEq":
        return moles * 1e3 * (compound.valence or 1) / factor
    if target_amount in _MOLES:
        return moles / _MOLES[target_amount] / factor
    return moles * (mass or 1.0) / _GRAMS[target_amount] / factor


def count_per(given: Entities, name: str, target: str) -> float:
    """A cell count per `target` volume; the entity's unit is the volume alone.

    Raises:
        CalculatorInputError: not given, or no volume unit that the label rule knew.
    """
    value, unit = given.pair(name)
    if unit == target:
        return value
    if unit not in _LITRES:
        raise CalculatorInputError(f"{name}: the label rule knew only {', '.join(_LITRES)}; got {unit!r}")
    return round_v1(round_v1(_LITRES[target] / _LITRES[unit]) * value)


def amount_in(value: float, unit: str, target: str, name: str) -> float:
    """A mass (a dose) in the target's unit, rounded; the same unit passes unrounded.

    Raises:
        CalculatorInputError: a unit that the label rule could not convert.
    """
    if unit not in _GRAMS:
        raise CalculatorInputError(f"{name}: the label rule knew only {', '.join(_GRAMS)}; got {unit!r}")
    return _prefix(value, unit, target)


def _split(unit: str, name: str, target: str) -> tuple[str, str]:
    parts = unit.split("/")
    if len(parts) != 2 or parts[0] not in _AMOUNTS or parts[1] not in _LITRES:
        raise CalculatorInputError(
            f"{name}: the label rule converts to {target} from an amount ({', '.join(_AMOUNTS)}) per volume "
            f"({', '.join(_LITRES)}), case sensitive, µ as U+00B5; got {unit!r}"
        )
    return parts[0], parts[1]


def _amount(value: float, unit: str, target: str, compound: Compound, name: str) -> float:
    """An amount from one unit to another, by way of mol where they differ in kind."""
    if (unit in _GRAMS) == (target in _GRAMS) and "mEq" not in (unit, target):
        return _prefix(value, unit, target)
    molar_mass, valence = compound.molar_mass, compound.valence
    if molar_mass is None and (unit in _GRAMS or target in _GRAMS):
        raise CalculatorInputError(f"{name}: the label rule had no molar mass to convert {unit} to {target}")
    if valence is None and "mEq" in (unit, target):
        raise CalculatorInputError(f"{name}: the label rule had no valence to convert {unit} to {target}")
    mass, charge = molar_mass or 1.0, valence or 1
    if unit == "mEq":
        moles, moles_unit = round_v1(value / charge), "mmol"
    elif unit in _MOLES:
        moles, moles_unit = value, unit
    else:
        moles, moles_unit = round_v1(_prefix(value, unit, "g") / mass), "mol"
    if target == "mEq":
        return round_v1(_prefix(moles, moles_unit, "mmol") * charge)
    if target in _MOLES:
        return _prefix(moles, moles_unit, target)
    return _prefix(round_v1(_prefix(moles, moles_unit, "mol") * mass), "g", target)


def _prefix(value: float, unit: str, target: str) -> float:
    """Between two prefixes of the same base: the factor is rounded, then the product."""
    if unit == target:
        return value
    factors = _GRAMS if unit in _GRAMS else _MOLES
    return round_v1(value * round_v1(factors[unit] / factors[target]))
