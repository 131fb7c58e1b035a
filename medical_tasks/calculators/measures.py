"""A measured quantity.

The unit its functions take, the units it may come in, and the range a patient can have.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from medical_tasks.calculators.units import (
    CalculatorInputError,
    Conversion,
    Substance,
    conversion,
    fold_unit,
)

_CACHE_LIMIT: Final = 512
_NUMBER = r"([+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)?(?:\.\d+|\.)?(?:e[+-]?\d+)?)"
_START = re.compile(_NUMBER, re.IGNORECASE)
_PART = re.compile(rf"{_NUMBER}\s*([a-z]+|''|['\"])?\s*(?:,|and\b)?\s*", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """How one kind of quantity is read.

    Attributes:
        unit: the unit of the function's parameter; "" for a pure number.
        low: smallest value accepted, in `unit`. Limits are those of the possible, not
            of the normal.
        high: largest value accepted, in `unit`.
        accepts: other units to name in messages; every spelling and prefix is read.
        substance: what is measured, when mass and molar units may both occur.
        spellings: those that mean another unit here alone (folded).
        per_volume: whether a bare volume unit means a count per that volume (`µL` for a
            platelet count).
        compound: whether values may be sums of parts (`5 ft 10 in`, `3 years 2
            months`).
    """

    unit: str
    low: float
    high: float
    accepts: tuple[str, ...] = ()
    substance: Substance | None = None
    spellings: Mapping[str, str] = field(default_factory=dict)
    # What hospitals see, in `unit`. A value outside it was given with a wrong unit when
    # another accepted unit makes it usual, or when it did not come in `unit` itself.
    usual: tuple[float, float] | None = None
    per_volume: bool = False
    compound: bool = False
    _ways: dict[str, Conversion | None] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    @property
    def accepted(self) -> tuple[str, ...]:
        """Units to name to a person, the parameter's own first."""
        return (self.unit or "a plain number", *self.accepts)

    def read(self, raw: object, name: str) -> tuple[float, str]:
        """Value in `unit`, and the step that shows how it came about.

        Of a compound measure `raw` may be `[5, "ft", 10, "in"]`.
        """
        try:
            if (type(raw) is list or type(raw) is tuple) and len(raw) == 2:
                number, unit = raw
                if (
                    (type(number) is float or type(number) is int)
                    and type(unit) is str
                    and unit
                ):
                    way = self._ways.get(unit, _UNSEEN)
                    if way is _UNSEEN:
                        way = self._learn(unit, name)

                    if way is None:
                        value, line = (
                            float(number),
                            f"{name} = {number:.10g} {self.unit}.",
                        )
                    else:
                        value = _converted(way, number)
                        line = f"{name} = {number:.10g} {unit}{way.text} = {value:.6g} {self.unit}."

                    if self.low <= value <= self.high:
                        return value, line

                    raise self._impossible(value, raw, name)

            return self._read_slowly(raw, name)
        except OverflowError:
            raise CalculatorInputError(
                f"{name}: the number is too large to be a measurement"
            ) from None

    def _learn(self, unit: str, name: str) -> Conversion | None:
        """The way from a unit met for the first time; None when it is the measure's own."""
        way: Conversion | None
        folded = fold_unit(unit)
        folded = self.spellings.get(folded, folded)
        if self.per_volume and "/" not in folded:
            folded = "/" + folded

        if folded == fold_unit(self.unit):
            way = None
        else:
            way = conversion(
                folded,
                self.unit,
                substance=self.substance,
                accepted=self.accepted,
                what=name,
                shown=unit,
            )

        if len(self._ways) < _CACHE_LIMIT:
            self._ways[unit] = way

        return way

    def _read_slowly(self, raw: object, name: str) -> tuple[float, str]:
        """Reads all that is no plain pair of number and unit.

        A bare number is in the measure's unit, and its step says so. Several parts, as
        of `5 ft 10 in`, are added up where the measure is compound.
        """
        parts = _parts(raw, self.compound)
        if not parts:
            raise CalculatorInputError(
                f"{name}: expected a number with its unit, such as [<number>, "
                f"{self.accepted[0]!r}]; accepted: {', '.join(self.accepted)}; got {raw!r}"
            )

        if len(parts) > 1 and not self.compound:
            raise CalculatorInputError(
                f"{name}: expected one number with one unit, got {raw!r}"
            )

        if len(parts) == 1:
            number, unit = parts[0]
            if unit is not None:
                return self.read((number, unit), name)

            value, line = number, f"{name} = {number:.10g} {self.unit}".rstrip() + "."
            if self.unit:
                line = f"{line[:-1]} (no unit given, taken as {self.unit})."
        else:
            ways = [(number, self._learn(unit or "", name)) for number, unit in parts]
            value = math.fsum(
                number if way is None else _converted(way, number)
                for number, way in ways
            )
            written = " + ".join(f"{number:.10g} {unit}" for number, unit in parts)
            line = f"{name} = {written} = {value:.6g} {self.unit}."

        if not self.low <= value <= self.high:
            raise self._impossible(value, raw, name)

        return value, line

    def meant(self, raw: object) -> tuple[float, str] | None:
        """The first accepted unit that makes a number usual, with the number.

        None when none does.
        """
        parts = _parts(raw, self.compound)
        if self.usual is not None and len(parts) == 1:
            number = parts[0][0]
            for unit in self.accepted:
                way = self._learn(unit, "value")
                if (
                    self.usual[0]
                    <= (number if way is None else _converted(way, number))
                    <= self.usual[1]
                ):
                    return number, unit

        return None

    def doubt(self, raw: object, value: float, name: str) -> str | None:
        """Why the unit of a value cannot be meant, in a sentence; None when it can."""
        if self.usual is None or self.usual[0] <= value <= self.usual[1] or value == 0:
            return None
        meant = self.meant(raw)
        if meant is None and value == _parts(raw, self.compound)[0][0]:
            return None  # the value of a rare patient, in the unit itself
        fits = f"; {meant[0]:.10g} {meant[1]} would be usual" if meant else ""
        return f"{name}: {value:.6g} {self.unit} is far from any usual value{fits}. Check the unit."

    def _impossible(self, value: float, raw: object, name: str) -> CalculatorInputError:
        """The error of a value out of range, with a unit that fits it, if any."""
        meant = self.meant(raw)
        hint = f" ({meant[0]:.10g} {meant[1]} would be usual)" if meant else ""
        return CalculatorInputError(
            f"{name}: {value:.6g} {self.unit} is outside what is possible ({self.low:g} to "
            f"{self.high:g} {self.unit}); got {raw!r}: check the value and its unit{hint}"
        )


_UNSEEN: Final = Conversion(0.0, 0.0, "not looked up yet")


def _converted(way: Conversion, number: float) -> float:
    """A converted value without the noise of binary fractions.

    12 significant digits, far more than any laboratory's.

    A patient who stands on a threshold so stands on it whatever unit the value came in.
    """
    return float(f"{way(number):.12g}") if way.text else number * 1.0


def _parts(raw: object, compound: bool) -> list[tuple[float, str | None]]:
    """Numbers with their units, from a number, a text or a flat list.

    Empty when it is none of these.
    """
    if isinstance(raw, bool):
        return []
    if isinstance(raw, (int, float)):
        return [(float(raw), None)] if math.isfinite(raw) else []
    if isinstance(raw, str):
        return _text_parts(raw, compound)
    if not isinstance(raw, Sequence) or not raw or (len(raw) > 1 and len(raw) % 2):
        return []

    parts: list[tuple[float, str | None]] = []
    for number, unit in zip(raw[::2], raw[1::2] or [None], strict=True):
        read = _parts(number, False)
        bare = len(read) == 1 and read[0][1] is None
        if not bare or not isinstance(unit, str | None):
            return []

        parts.append((read[0][0], unit or None))

    return parts


def _text_parts(text: str, compound: bool) -> list[tuple[float, str | None]]:
    """`1.2 mg/dL` as one pair; `5 ft 10 in` as two where the measure is compound."""
    stripped = text.strip()
    if not compound:
        match = _START.match(stripped)
        number = _number(match[0]) if match else None
        return (
            []
            if match is None or number is None
            else [(number, stripped[match.end() :].strip() or None)]
        )

    parts: list[tuple[float, str | None]] = []
    position = 0
    while position < len(stripped):
        match = _PART.match(stripped, position)
        number = _number(match[1]) if match else None
        if match is None or number is None:
            return []

        parts.append((number, match[2] or None))
        position = match.end()

    return parts


def _number(text: str) -> float | None:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
