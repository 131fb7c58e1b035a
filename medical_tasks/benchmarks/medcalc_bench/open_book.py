"""The specification of a calculator as a model gets it in `medcalc_open_book`: the rule, its inputs, their units.

Everything is rendered from the calculators themselves: the rule is the function's docstring, inputs and conversions are
the tables that the function's values are read with. A specification depends on the calculator alone, never on an item.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Iterator
from typing import Final

from medical_tasks.calculators.cardiac_risk import MEN, WOMEN, Coefficients
from medical_tasks.calculators.index import CALCULATORS, AnyCalculator
from medical_tasks.calculators.inputs import REQUIRED, Choice, Flag, Input, Quantity
from medical_tasks.calculators.measures import Measure
from medical_tasks.calculators.units import conversion
from medical_tasks.errors import UsageError

__all__ = ["BUILDS_ON", "render_specification", "specifications"]

BUILDS_ON: Final = {
    2: (6, 10, 62),
    28: (5,),
    43: (5,),
    62: (10,),
    63: (39,),
    64: (39,),
    65: (39,),
    66: (65, 39),
    67: (65, 39),
}
"""Calculator to those whose rules its own rule names without repeating them."""

_RR: Final = "RR in seconds is 60 divided by the heart rate per minute."
_NOTES: Final = {11: _RR, 56: _RR, 57: _RR}

_SECTION = re.compile(r"^(?:Args|Raises|Returns|Source)\b.*$")
# What a docstring says of the function rather than of the rule.
_OF_THE_CODE: Final = (
    (re.compile(r"`None`: "), ""),
    (re.compile(r"(?<=\. )`None`"), "A missing value"),
    (re.compile(r"`None`"), "a missing value"),
    (re.compile(r" \(give one of the two\)"), ""),
    (re.compile(r" which the dataset does not hold,"), ""),
    (re.compile(r"are not among the dataset's inputs"), "do not count"),
)
_RESULTS: Final = {"decimal": "a number", "integer": "a whole number", "date": "a date"}


def specifications() -> dict[int, str]:
    """Renders every calculator's specification, by id."""
    return {entry.id: render_specification(entry.id) for entry in CALCULATORS}


@functools.cache
def render_specification(calculator_id: int) -> str:
    """Renders one calculator's specification.

    Args:
        calculator_id: id in the dataset.

    Returns:
        Name, rule, rules it builds on, inputs with units and conversions, and the result's form.

    Raises:
        UsageError: There is no such calculator.
    """
    entries = {entry.id: entry for entry in CALCULATORS}
    if calculator_id not in entries:
        raise UsageError(
            f"there is no calculator {calculator_id}, so the open book has no page for it. Ids: "
            f"{', '.join(map(str, sorted(entries)))}."
        )
    entry = entries[calculator_id]
    parts = [entry.name, _rule(entry)]
    if calculator_id in _NOTES:
        parts.append(_NOTES[calculator_id])
    if calculator_id == 46:
        parts.append(_coefficients())
    parts += [f"{entries[other].name}: {_rule(entries[other])}" for other in BUILDS_ON.get(calculator_id, ())]
    parts.append("\n".join(["Inputs:", *_inputs(entry)]))
    unit = f" in {entry.unit}" if entry.unit else ""
    form = "whole weeks and remaining days" if entry.id == 69 else _RESULTS[entry.output]
    parts.append(f"Result: {form}{unit}.\nSource: {entry.source}")
    return "\n\n".join(parts)


def _rule(entry: AnyCalculator) -> str:
    """The docstring without what it says of arguments, errors and source; each paragraph and list item on one line."""
    paragraphs = [list(_lines(text)) for text in (inspect.getdoc(entry.function) or "").split("\n\n")]
    text = "\n".join("\n".join(lines) for lines in paragraphs if lines and not _SECTION.match(lines[0]))
    for pattern, instead in _OF_THE_CODE:
        text = pattern.sub(instead, text)
    return text


def _lines(paragraph: str) -> Iterator[str]:
    line = ""
    for piece in paragraph.split("\n"):
        if piece.startswith("- ") and line:
            yield line
            line = ""
        line = f"{line} {piece.strip()}".strip()
    if line:
        yield line


def _coefficients() -> str:
    """The two columns of numbers that the Framingham equation's docstring leaves to the code."""

    def column(sex: str, table: Coefficients) -> str:
        b = {name: f"{value:.12g}" for name, value in dataclasses.asdict(table).items()}
        squared = f" + ({b['age_squared']}) × ln(age)²" if table.age_squared else ""
        return (
            f"{sex}: L = {b['age']} × ln(age) + {b['cholesterol']} × ln(total cholesterol) + ({b['hdl']}) × ln(HDL) + "
            f"{b['systolic']} × ln(systolic pressure) + {b['treated']} if blood pressure is treated + {b['smoker']} if a "
            f"smoker + ({b['age_cholesterol']}) × ln(age) × ln(total cholesterol) + ({b['age_smoker']}) × ln(age, at most "
            f"{b['smoker_age_cap']}) if a smoker{squared} + ({b['constant']}); S₀ = {b['survival']}."
        )

    return f"{column('Men', MEN)}\n{column('Women', WOMEN)}"


def _inputs(entry: AnyCalculator) -> Iterator[str]:
    """A line an input, but one for all the findings that are absent when nothing is said of them."""
    findings = [item.name for item in entry.inputs if isinstance(item, Flag) and item.absent is False]
    yield from (_input(item) for item in entry.inputs if item.name not in findings)
    if findings:
        yield f"- findings, each there or not, and not there when the note does not mention it: {'; '.join(findings)}"


def _input(item: Input) -> str:
    if isinstance(item, Quantity):
        form = _units(item.measure)
    elif isinstance(item, Flag):
        form = "yes or no"
    elif isinstance(item, Choice):
        form = f"one of {item.expects.replace(chr(39), '')}"
    else:
        form = item.expects.split(", such as")[0]
    return f"- {item.name}: {form}{_when_missing(item)}"


def _when_missing(item: Input) -> str:
    if item.absent is REQUIRED or item.silent:
        return ""
    told = item.absent_line.removeprefix(f"{item.name}: ").rstrip(".")
    if told == "not given":
        return "; may be missing"
    needed_only = told.removeprefix("not given, counted only")
    return f"; counted only{needed_only}" if needed_only != told else f"; when {told}"


def _units(measure: Measure) -> str:
    """The unit the rule takes, and what other units are multiplied with to get there."""
    if not measure.unit:
        return "a number"
    others: list[str] = []
    for unit in measure.accepts:
        way = conversion(unit, measure.unit, substance=measure.substance).text.split(" (")[0]
        others.append(f"{unit}{way}" if way else f"{unit} is the same")
    unit = measure.unit if measure.unit.startswith("per ") else f"in {measure.unit}"
    return unit + (f" ({'; '.join(others)})" if others else "")
