"""Measured values as notes write them: unit systems, printed decimals, and values on or beside a threshold.

A value is drawn on the grid it is printed on, so that what the note says and what the entities hold are the same number.
Where a rule has a threshold in one unit and a note uses another, tables print a rounded threshold for the second unit
(creatinine 2.0 mg/dL is 177 µmol/L in print, 176.8 by arithmetic): there no value is drawn close to the threshold, because
a reader with the table and one with the conversion would rightly disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw

__all__ = ["Amount", "Form", "Place", "Reading", "System"]

System: TypeAlias = Literal["us", "si"]
Place: TypeAlias = Literal["vitals", "labs", "gas"]

NEAR_SHARE = 0.35
"""Share of the values that stand on a threshold or one printed step beside it, where there is a threshold."""

MARGIN = 0.05
"""Relative distance kept from a threshold that is printed rounded in the form's unit."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way to write a quantity.

    Attributes:
        unit: as it stands in the entities; "" for a pure number, `ft in` for feet and inches.
        texts: what may follow the number in a note, its own blank included.
        digits: decimals printed.
        factor: of the amount's base unit to this one.
        shift: added after the factor (degrees Fahrenheit).
        step: smallest difference between two values, in the last digit printed.
        exact: whether published thresholds convert to this unit without rounding.
        system: the laboratory's system of units it belongs to; None where both write it.
        names: names in prose that go with this unit, instead of the amount's.
        short: the same in telegraphic notes.
        grouped: whether thousands are set off by a comma.
    """

    unit: str
    texts: tuple[str, ...]
    digits: int = 0
    factor: float = 1.0
    shift: float = 0.0
    step: int = 1
    exact: bool = True
    system: System | None = None
    names: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    grouped: bool = False

    def grid(self, base: float) -> int:
        """Number of the grid point next to a value in the base unit."""
        shown: float = (base * self.factor + self.shift) * 10**self.digits / self.step
        return round(shown)

    def number(self, grid: int) -> int | float:
        """The printed number of a grid point: whole without decimals, so that nothing is rounded twice."""
        counted = grid * self.step
        return counted / 10**self.digits if self.digits else counted

    def base(self, grid: int) -> float:
        """A grid point in the base unit."""
        return (self.number(grid) - self.shift) / self.factor

    def entity(self, grid: int) -> object:
        """A grid point as an entity's value."""
        if self.unit == "ft in":
            return [grid // 12, "ft", grid % 12, "in"]
        return [self.number(grid), self.unit] if self.unit else self.number(grid)

    def text(self, grid: int, draw: Draw) -> str:
        """A grid point as a note writes it, with its unit."""
        if self.unit == "ft in":
            return f"{grid // 12} ft {grid % 12} in"
        number = self.number(grid)
        return f"{number:{',' if self.grouped else ''}.{self.digits}f}{draw.pick(self.texts)}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One measured value of one patient.

    Attributes:
        entity: for the entities.
        text: for the note, number and unit.
        name: what it is, in prose.
        short: what it is, in a telegraphic note.
        base: the value in the amount's base unit.
    """

    entity: object
    text: str
    name: str
    short: str
    base: float

    def written(self, *, brief: bool) -> str:
        """Name and value, as a note lists them."""
        return f"{self.short if brief else self.name} {self.text}"


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A quantity that notes state.

    Attributes:
        names: its names in prose.
        short: its names in telegraphic notes.
        forms: ways to write it; the first form's unit need not be the base unit.
        place: where in a note it stands.
        usual: range in which it says nothing, in the base unit.
        concepts: what it tells of; a note that needs one of them from elsewhere does not state this by the way.
    """

    names: tuple[str, ...]
    short: tuple[str, ...]
    forms: tuple[Form, ...]
    place: Place
    usual: tuple[float, float]
    concepts: frozenset[str]

    def read(
        self,
        draw: Draw,
        system: System,
        low: float,
        high: float,
        *,
        near: tuple[float, ...] = (),
        printed: Mapping[str, tuple[float, ...]] | None = None,
    ) -> Reading:
        """Draws a value.

        Args:
            draw: source of chance.
            system: the laboratory's units.
            low: smallest value, in the base unit.
            high: largest value, in the base unit.
            near: thresholds of the rule, in the base unit.
            printed: thresholds that the publication prints for a unit of its own, by that unit.

        Returns:
            The value, on the grid of one of the forms of that system.
        """
        form = draw.pick([form for form in self.forms if form.system in (None, system)])
        own = (printed or {}).get(form.unit)
        close = draw.chance(NEAR_SHARE) if near else False
        if own is not None:
            grid = _beside(draw, [round(bound * 10**form.digits / form.step) for bound in own]) if close else None
        elif form.exact:
            bounds = [bound for bound in near if low <= bound <= high]
            grid = _beside(draw, [form.grid(bound) for bound in bounds]) if close and bounds else None
        else:
            grid = None
        if grid is None:
            base = draw.between(low, high)
            grid = form.grid(base)
            if own is None and not form.exact:
                grid = _clear(draw, form, grid, near)
        return Reading(
            form.entity(grid),
            form.text(grid, draw),
            draw.pick(form.names or self.names),
            draw.pick(form.short or self.short),
            form.base(grid),
        )


def _beside(draw: Draw, grids: list[int]) -> int:
    return draw.pick(grids) + draw.pick((-1, 0, 0, 1))


def _clear(draw: Draw, form: Form, grid: int, near: tuple[float, ...]) -> int:
    """Moves a value out of the belt around a threshold."""
    for bound in near:
        if abs(form.base(grid) - bound) < MARGIN * bound:
            side = 1 if draw.chance(0.5) else -1
            return form.grid(bound * (1 + side * MARGIN)) + side
    return grid
