"""Age, sex, size and temperature as the label rules read them.

Body size, pregnancy, the Charlson index.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final

from medical_tasks.calculators.units import CalculatorInputError
from medical_tasks.lab.v1_labels.entities import Entities, number, positive, round_v1
from medical_tasks.lab.v1_labels.rules import rule

_PER_UNIT: Final = {
    "m": {"cm": 0.01, "ft": 0.3048, "in": 0.0254},
    "cm": {"m": 100.0, "ft": 30.48, "in": 2.54},
    "in": {"m": 39.3701, "cm": 0.393701, "ft": 12.0},
}


def age_years(entities: Entities) -> float:
    """Age in years.

    The first pair that names years, months, weeks or days decides, and is cut to whole
    years.
    """
    values = entities.listed("age")
    for value, unit in zip(values[::2], values[1::2], strict=False):
        age = number(value, "age", "pairs of value and unit")
        if not isinstance(unit, str):
            break

        if "year" in unit:
            if len(values) > 2:
                entities.note(f"age: only the years of {list(values)} count")

            return age

        for word, per_year in (("months", 12), ("weeks", 52), ("days", None)):
            if word in unit:
                years = age // per_year if per_year else 0
                entities.note(f"age: {age:g} {unit} counts as {years:g} years")
                return years

    raise CalculatorInputError(
        "age: the label rule needs pairs of a number and years, months, weeks or days; got "
        f"{values!r}"
    )


def weight_kg(entities: Entities) -> float:
    """Weight in kg: pounds rounded, grams not, and every other unit taken as kg."""
    value, unit = entities.pair("weight")
    if unit == "lbs":
        return round_v1(value * 0.453592)
    if unit == "g":
        return value / 1000
    if unit != "kg":
        entities.note(f"weight: {value:g} {unit} counts as {value:g} kg")
    return value


def _height(entities: Entities, unit: str) -> float:
    """The height in `unit`, rounded at each step as the labels' program does."""
    values = entities.listed("height")
    if len(values) == 4:
        feet, inches = (
            number(value, "height", "[feet, 'ft', inches, 'in']")
            for value in (values[0], values[2])
        )
        return round_v1(
            (feet * 12 + inches) * (1 if unit == "in" else _PER_UNIT[unit]["in"])
        )

    value, own = entities.pair("height")
    if own == unit:
        return value
    if own == "cm" and unit == "m":
        return round_v1(value / 100)
    if own in _PER_UNIT[unit]:
        return round_v1(value * _PER_UNIT[unit][own])

    raise CalculatorInputError(
        "height: the label rule needs m, cm, in, ft, or [feet, 'ft', inches, 'in']; got "
        f"{list(values)!r}"
    )


def temperature_c(entities: Entities) -> float:
    """Temperature in °C.

    Only the exact words `degrees celsius` are Celsius, everything else is Fahrenheit.
    """
    value, unit = entities.pair("Temperature")
    if unit == "degrees celsius":
        return value

    celsius = round_v1((value - 32) * 5 / 9)
    if not unit.startswith("degrees f"):
        entities.note(
            f"Temperature: {value:g} {unit!r} counts as Fahrenheit, that is {celsius:g} °C"
        )

    return celsius


@rule(6, "Body Mass Index (BMI)")
def body_mass_index(entities: Entities) -> float:
    """Weight in kg / m², with the height in m rounded first."""
    metres = positive(_height(entities, "m"), "height")
    return round_v1(weight_kg(entities) / (metres * metres))


@rule(10, "Ideal Body Weight")
def ideal_body_weight(entities: Entities) -> float:
    """Devine's weight from rounded inches."""
    return round_v1(
        (50 if entities.sex() == "Male" else 45.5)
        + 2.3 * (_height(entities, "in") - 60)
    )


@rule(62, "Adjusted Body Weight")
def adjusted_body_weight(entities: Entities) -> float:
    """Ideal weight and 40 % of the difference to the actual one."""
    ideal = ideal_body_weight(entities)
    return round_v1(ideal + 0.4 * (weight_kg(entities) - ideal))


@rule(60, "Body Surface Area Calculator")
def body_surface_area(entities: Entities) -> float:
    """Mosteller's √(kg · cm / 3600)."""
    square = weight_kg(entities) * _height(entities, "cm") / 3600
    if square < 0:
        raise CalculatorInputError(
            f"weight and height: the label rule takes the root of {square:g}; one is negative"
        )
    return round_v1(math.sqrt(square))


@rule(61, "Target weight")
def target_weight(entities: Entities) -> float:
    """BMI · m²."""
    metres = _height(entities, "m")
    return round_v1(entities.first("Body Mass Index (BMI)") * (metres * metres))


@rule(22, "Maintenance Fluids Calculations")
def maintenance_fluids(entities: Entities) -> float:
    """The 4-2-1 rule, in mL/h."""
    weight = weight_kg(entities)
    if weight < 10:
        return round_v1(weight * 4)
    if weight <= 20:
        return round_v1(40 + 2 * (weight - 10))
    return round_v1(60 + (weight - 20))


_FORM = "%m/%d/%Y"
_LAST_PERIOD = "Last menstrual date"
_YEARS_LEFT = 9990  # a later year could leave the calendar


@rule(
    13,
    "Estimated Due Date",
    quirk="for cycles under 28 days the difference is added instead of subtracted",
)
def due_date(entities: Entities) -> str:
    """280 days plus the difference of the cycle from 28 days, which is never subtracted."""
    cycle = entities.bare("cycle length")
    if cycle < 28:
        entities.note(
            f"cycle of {cycle:g} days: {28 - cycle:g} days added instead of subtracted"
        )
    return _shifted(entities, 280 + _limited(abs(cycle - 28)))


@rule(
    68,
    "Estimated of Conception",
    quirk="the cycle length is ignored, although the question states it",
)
def conception_date(entities: Entities) -> str:
    """14 days after the last period, whatever the cycle length."""
    if entities.has("cycle length") and entities.bare("cycle length") != 28:
        entities.note("cycle length ignored")
    return _shifted(entities, 14)


@rule(69, "Estimated Gestational Age", quirk="the order of the two dates is ignored")
def gestational_age(entities: Entities) -> tuple[str, str]:
    """Weeks and days between the two dates, in whichever order they are."""
    days = (_date(entities, "Current Date") - _date(entities, _LAST_PERIOD)).days
    if days < 0:
        entities.note("dates are swapped, and the difference taken absolute")
    weeks, rest = divmod(abs(days), 7)
    return f"{weeks} weeks", f"{rest} days"


def _shifted(entities: Entities, days: float) -> str:
    return (_date(entities, _LAST_PERIOD) + timedelta(days=days)).strftime(_FORM)


def _limited(days: float) -> float:
    if days <= 365:
        return days
    raise CalculatorInputError(
        f"cycle length: expected a number of days near 28; it differs by {days:g}"
    )


def _date(entities: Entities, name: str) -> datetime:
    text = entities.text(name)
    if text is None:
        raise CalculatorInputError(
            f"{name}: the label rule cannot run without it; it is not among the entities"
        )

    try:
        date = datetime.strptime(text, _FORM)
    except ValueError as error:
        raise CalculatorInputError(
            f"{name}: the label rule needs MM/DD/YYYY; got {text!r}"
        ) from error

    if date.year > _YEARS_LEFT:
        raise CalculatorInputError(
            f"{name}: the year must be at most {_YEARS_LEFT}; got {text!r}"
        )

    return date


_ONE_POINT: Final = (
    "Myocardial infarction",
    "Congestive Heart Failure",
    "Peripheral vascular disease",
    "Connective tissue disease",
    "Dementia",
    "Peptic ulcer disease",
)
_TWO_POINTS: Final = (
    "Hemiplegia",
    "Moderate to severe Chronic Kidney Disease",
    "Leukemia",
    "Lymphoma",
)
_CLASSES: Final = {
    ("Liver disease severity",): {"none": 0, "mild": 1, "moderate to severe": 3},
    ("Diabetes mellitus criteria for CCI rule", "Diabetes mellitus"): {
        "none or diet-controlled": 0,
        "uncomplicated": 1,
        "end-organ damage": 2,
    },
    ("Solid tumor",): {"none": 0, "localized": 2, "metastatic": 6},
}


@rule(
    32,
    "Charlson Comorbidity Index (CCI)",
    quirk=(
        "class words of liver disease, diabetes and tumor that are not in lower case score 1,"
        " whatever they say"
    ),
)
def charlson(entities: Entities) -> int:
    """Class words only in lower case.

    Every other word, and True, adds 1 point, whatever it says.
    """
    age = age_years(entities)
    points = (
        4
        if age >= 80
        else 3
        if age >= 70
        else 2
        if age >= 60
        else 1
        if age >= 50
        else 0
    )
    points += (
        entities.count(_ONE_POINT)
        + 2 * entities.count(_TWO_POINTS)
        + 6 * entities.flag("AIDS")
    )
    points += entities.flag(
        "Chronic Obstructive Pulmonary Disease", "Chronic Pulmonary Disease"
    )
    points += (
        entities.count(
            ("Cerebrovascular Accident", "Transient Ischemic Attacks History")
        )
        > 0
    )
    for names, scores in _CLASSES.items():
        value = entities.find(*names)
        if isinstance(value, str) and value in scores:
            points += scores[value]
        elif value:
            entities.note(
                f"{names[0]}: {value!r} scores 1, the rule knew only {', '.join(scores)}"
            )
            points += 1

    return points
