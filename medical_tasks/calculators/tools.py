"""The calculators as tools: typed descriptions for models, calls, and whether arguments are right.

The descriptions are built from the calculators' own inputs; the units of numbers stand in
the parameters' names. A call is read as `medical-tasks calc` reads one, so that wrong
arguments get the calculator's own message.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from medical_tasks.calculators.base import Answer
from medical_tasks.calculators.index import CALCULATORS, AnyCalculator
from medical_tasks.calculators.inputs import (
    REQUIRED,
    Flag,
    Input,
    Quantity,
    is_missing,
    numbers_agree,
)
from medical_tasks.calculators.steps import quiet
from medical_tasks.calculators.units import CalculatorInputError, UnitError, convert
from medical_tasks.spec import Tool, texts_sha256

__all__ = ["ArgumentError", "Called", "Compared", "call", "compared", "tool_of"]

COPIED: Final = 0.005
"""How far a number may be off, as a share, that stands in the note in the tool's own unit."""
CONVERTED: Final = 0.05
"""The same for one that must be converted: the benchmark's tolerance."""

ArgumentError = Literal["missing", "value", "unit", "extra"]
"""What is wrong with an argument.

`missing`: it is left out. `value`: it is another one. `unit`: it is the right number in
another unit, or has a unit that it cannot have. `extra`: nothing is known of it.
"""


@functools.cache
def tool_of(calculator: AnyCalculator) -> Tool:
    """A calculator as a tool, by its slug."""
    properties = {item.parameter: _schema(item) for item in calculator.inputs}
    required = [item.parameter for item in calculator.inputs if item.absent is REQUIRED]

    return Tool(
        name=calculator.slug,
        description=_description(calculator),
        parameters={
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    )


@functools.cache
def tools_sha256() -> str:
    """Hash of all tools, for recipes."""
    return texts_sha256(*(tool_of(entry).sha256 for entry in CALCULATORS))


def _description(calculator: AnyCalculator) -> str:
    """The title, what the rule computes, and what happens to findings that are left out."""
    summary = (inspect.getdoc(calculator.function) or "").partition("\n\n")[0]
    description = f"{calculator.name}. {' '.join(summary.split())}"
    if any(isinstance(item, Flag) for item in calculator.inputs):
        description += " Findings that are left out count as absent."
    return description


def _schema(item: Input) -> dict[str, object]:
    """An argument's schema, with what is taken where it is left out."""
    schema = item.schema()
    when_absent = item.absent_line.removeprefix(f"{item.name}: not given").strip(", .")
    if item.absent is not REQUIRED and not isinstance(item, Flag) and when_absent:
        schema["description"] = f"{schema['description']} (left out: {when_absent})"
    return schema


@dataclass(frozen=True, kw_only=True)
class Called:
    """The result of a call.

    Attributes:
        text: what the model reads: the answer with its unit, or what is wrong.
        answer: None where there is none.
    """

    text: str
    answer: Answer | None = None


def call(calculator: AnyCalculator, arguments: Mapping[str, object]) -> Called:
    """Calls a calculator with a tool's arguments.

    Example:
        >>> from medical_tasks.calculators.index import find
        >>> call(find("body_mass_index"), {"weight_kg": 70, "height_cm": 175}).text
        'Body Mass Index (BMI) = 22.8571 kg/m^2'
    """
    try:
        result = calculator.calculate(calculator.named(arguments.items()))
    except CalculatorInputError as error:
        return Called(text=f"Error: {error}")

    lines = [f"{calculator.name} = {calculator.shown(result.answer)}"]
    lines += [f"Warning: {warning}" for warning in result.warnings]
    return Called(text="\n".join(lines), answer=result.answer)


def known_arguments(
    calculator: AnyCalculator, entities: Mapping[str, object]
) -> dict[str, object]:
    """The arguments with which a tool is rightly called for a patient's entities.

    Raises:
        CalculatorInputError: an entity cannot be read.
    """
    items = {item.parameter: item for item in calculator.inputs}
    return {
        name: items[name].written(items[name].read(raw, quiet))
        for name, raw in calculator.values_by_parameter(entities).items()
    }


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The arguments of a call beside the right ones.

    Only what either states counts, which is all but a default: a finding that is not
    there may be left out, or said to be absent, and neither is counted.

    Attributes:
        stated: how many arguments are counted.
        errors: what is wrong, by argument.
    """

    stated: int
    errors: Mapping[str, ArgumentError] = field(default_factory=dict)

    @property
    def right(self) -> int:
        """How many of them are right."""
        return self.stated - len(self.errors)


def compared(
    calculator: AnyCalculator,
    arguments: Mapping[str, object],
    entities: Mapping[str, object],
) -> Compared:
    """Compares the arguments of a call with a patient's entities.

    Example:
        >>> entities = {"weight": [154, "lbs"], "height": [175, "cm"]}
        >>> from medical_tasks.calculators.index import find
        >>> bmi = find("body_mass_index")
        >>> compared(bmi, {"weight_kg": 154, "height_cm": 175}, entities)
        Compared(stated=2, errors={'weight_kg': 'unit'})

    Raises:
        CalculatorInputError: an entity cannot be read.
    """
    right = calculator.values_by_parameter(entities)
    from_model, unknown = _by_parameter(calculator, arguments)
    errors: dict[str, ArgumentError] = dict.fromkeys(unknown, "extra")
    stated = len(unknown)
    for item in calculator.inputs:
        name = item.parameter
        pair = _Pair(
            item=item,
            gold=right.get(name, _LEFT_OUT),
            model=from_model.get(name, _LEFT_OUT),
        )
        if pair.is_silent:
            continue

        stated += 1
        error = pair.error
        if error is not None:
            errors[name] = error

    return Compared(stated=stated, errors=errors)


def _by_parameter(
    calculator: AnyCalculator, arguments: Mapping[str, object]
) -> tuple[dict[str, object], list[str]]:
    """The arguments by parameter, without those that say nothing, and the names of unknown ones."""
    by_parameter: dict[str, object] = {}
    unknown: list[str] = []
    for name, raw in arguments.items():
        item = calculator.input_named(name)
        if item is None:
            unknown.append(name)
        elif not is_missing(raw):
            by_parameter[item.parameter] = raw
    return by_parameter, unknown


_LEFT_OUT: Final = object()


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """An argument as the note gives it and as a call has it; `_LEFT_OUT` where it does not."""

    item: Input
    gold: object
    model: object

    @cached_property
    def right(self) -> object:
        """The right value: the default where the note gives none."""
        return self._read(self.gold)

    @cached_property
    def predicted(self) -> object:
        """The call's value, likewise; the error of one that cannot be read."""
        try:
            return self._read(self.model)
        except CalculatorInputError as error:
            return error

    def _read(self, raw: object) -> object:
        return self.item.absent if raw is _LEFT_OUT else self.item.read(raw, quiet)

    @property
    def is_silent(self) -> bool:
        """Whether neither states anything but the default."""
        return bool(self.right == self.predicted == self.item.absent)

    @property
    def error(self) -> ArgumentError | None:
        """What is wrong with the call's argument."""
        if self.model is _LEFT_OUT:
            return "missing"
        if self.gold is _LEFT_OUT:
            return "extra"
        if isinstance(self.predicted, UnitError):
            return "unit"

        unreadable = isinstance(self.predicted, CalculatorInputError)
        if not unreadable and self.item.agrees(
            self.right, self.predicted, within=self._within
        ):
            return None

        return "unit" if self._is_in_another_unit() else "value"

    @property
    def _within(self) -> float:
        """How far off a number may be: less where it only had to be copied."""
        number = _bare_number(self.gold)
        copied = number is not None and number == self.right
        return COPIED if copied else CONVERTED

    def _is_in_another_unit(self) -> bool:
        """Whether the call has the right number in another unit than the tool's."""
        number = _bare_number(self.model)
        if number is None or not isinstance(self.item, Quantity):
            return False

        right, measure = self.right, self.item.measure
        if not isinstance(right, float):
            return False

        in_note = _bare_number(self.gold)
        numbers = [in_note] if in_note is not None else []
        numbers += [
            convert(right, measure.unit, unit, substance=measure.substance)
            for unit in measure.accepts
        ]

        return any(
            numbers_agree(candidate, number, within=COPIED) for candidate in numbers
        )


def _bare_number(raw: object) -> float | None:
    """The number of a value as it was given, whatever its unit; None for one of several parts."""
    if isinstance(raw, list | tuple) and len(raw) in (1, 2):
        raw = raw[0]
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    try:
        return float(raw)
    except ValueError:
        return None
