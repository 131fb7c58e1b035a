"""Age, sex, size and temperature as the label rules read them, and the six rules about body size."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.v1_labels.entities import Entities, number, positive
from medical_tasks.calculators.v1_labels.rounding import round_v1

__all__ = [
    "adjusted_body_weight",
    "age_years",
    "body_mass_index",
    "body_surface_area",
    "ideal_body_weight",
    "maintenance_fluids",
    "target_weight",
    "temperature_c",
    "weight_kg",
]

_PER_UNIT: Final = MappingProxyType(
    {
        "m": MappingProxyType({"cm": 0.01, "ft": 0.3048, "in": 0.0254}),
        "cm": MappingProxyType({"m": 100.0, "ft": 30.48, "in": 2.54}),
        "in": MappingProxyType({"m": 39.3701, "cm": 0.393701, "ft": 12.0}),
    }
)


def age_years(given: Entities) -> float:
    """Age in years: the first pair that names years, months, weeks or days decides, and is cut to whole years.

    Raises:
        CalculatorInputError: not given, or no pair with a unit that the label rule knew.
    """
    values = given.listed("age")
    for value, unit in zip(values[::2], values[1::2], strict=False):
        age = number(value, "age", "pairs of value and unit")
        if not isinstance(unit, str):
            break
        if "year" in unit:
            if len(values) > 2:
                given.note(f"age: only the years of {list(values)} count")
            return age
        for word, per_year in (("months", 12), ("weeks", 52), ("days", None)):
            if word in unit:
                years = age // per_year if per_year else 0
                given.note(f"age: {age:g} {unit} counts as {years:g} years")
                return years
    raise CalculatorInputError(
        f"age: the label rule needs pairs of a number and years, months, weeks or days; got {values!r}"
    )


def weight_kg(given: Entities) -> float:
    """Weight in kg: pounds rounded, grams not, and every other unit taken as kg.

    Raises:
        CalculatorInputError: not given as `[value, unit]`.
    """
    value, unit = given.pair("weight")
    if unit == "lbs":
        return round_v1(value * 0.453592)
    if unit == "g":
        return value / 1000
    if unit != "kg":
        given.note(f"weight: {value:g} {unit} counts as {value:g} kg")
    return value


def _height(given: Entities, unit: str) -> float:
    values = given.listed("height")
    if len(values) == 4:
        feet, inches = (number(value, "height", "[feet, 'ft', inches, 'in']") for value in (values[0], values[2]))
        return round_v1((feet * 12 + inches) * (1 if unit == "in" else _PER_UNIT[unit]["in"]))
    value, own = given.pair("height")
    if own == unit:
        return value
    if own == "cm" and unit == "m":
        return round_v1(value / 100)
    if own in _PER_UNIT[unit]:
        return round_v1(value * _PER_UNIT[unit][own])
    raise CalculatorInputError(
        f"height: the label rule needs m, cm, in, ft, or [feet, 'ft', inches, 'in']; got {list(values)!r}"
    )


def temperature_c(given: Entities) -> float:
    """Temperature in °C; only the exact words `degrees celsius` are Celsius, everything else is Fahrenheit.

    Raises:
        CalculatorInputError: not given as `[value, unit]`.
    """
    value, unit = given.pair("Temperature")
    if unit == "degrees celsius":
        return value
    celsius = round_v1((value - 32) * 5 / 9)
    if not unit.startswith("degrees f"):
        given.note(f"Temperature: {value:g} {unit!r} counts as Fahrenheit, that is {celsius:g} °C")
    return celsius


def body_mass_index(given: Entities) -> float:
    """6: kg / m², the height in m rounded first."""
    metres = positive(_height(given, "m"), "height")
    return round_v1(weight_kg(given) / (metres * metres))


def ideal_body_weight(given: Entities) -> float:
    """10: Devine's weight from rounded inches."""
    return round_v1((50 if given.sex() == "Male" else 45.5) + 2.3 * (_height(given, "in") - 60))


def adjusted_body_weight(given: Entities) -> float:
    """62: ideal weight and 40 % of the difference to the actual one."""
    ideal = ideal_body_weight(given)
    return round_v1(ideal + 0.4 * (weight_kg(given) - ideal))


def body_surface_area(given: Entities) -> float:
    """60: Mosteller's √(kg · cm / 3600)."""
    square = weight_kg(given) * _height(given, "cm") / 3600
    if square < 0:
        raise CalculatorInputError(f"weight and height: the label rule takes the root of {square:g}; one is negative")
    return round_v1(math.sqrt(square))


def target_weight(given: Entities) -> float:
    """61: BMI · m²."""
    metres = _height(given, "m")
    return round_v1(given.first("Body Mass Index (BMI)") * (metres * metres))


def maintenance_fluids(given: Entities) -> float:
    """22: the 4-2-1 rule, in mL/h."""
    weight = weight_kg(given)
    if weight < 10:
        return round_v1(weight * 4)
    if weight <= 20:
        return round_v1(40 + 2 * (weight - 10))
    return round_v1(60 + (weight - 20))
