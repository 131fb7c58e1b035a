"""The values of the notes, drawn on the grid of printed values.

All draws use `random()` alone, which is the same in every version of Python. `randrange`
and `shuffle` changed between versions, and the notes of a seed must stay the same.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from medical_tasks.io.files import packaged

__all__ = [
    "AMOUNTS",
    "MARGIN",
    "Amount",
    "Draw",
    "Reading",
    "System",
    "ValueGroup",
    "background",
    "frozen",
    "read_json",
]


T = TypeVar("T")


class Draw:
    """A stream of random draws that depends on its key alone.

    Example:
        >>> draw = Draw("fresh:1")
        >>> draw.whole(1, 6), draw.pick("abc"), draw.shuffled([1, 2, 3, 4])
        (5, 'c', [1, 4, 2, 3])
    """

    __slots__ = ("_next",)

    tries: ClassVar[int] = 8
    """How often to draw before what the note has already is taken again."""

    def __init__(self, key: str) -> None:
        # Reproducible on purpose; not for cryptography.
        self._next = random.Random(key).random  # noqa: S311

    def chance(self, probability: float) -> bool:
        """Returns True with this probability."""
        return self._next() < probability

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self._next() * (high - low + 1))

    def between(self, low: float, high: float) -> float:
        """A number from `low` up to `high`."""
        return low + self._next() * (high - low)

    def pick(self, choices: Sequence[T]) -> T:
        """One of `choices`."""
        return choices[int(self._next() * len(choices))]

    def shuffled(self, choices: Sequence[T]) -> list[T]:
        """All of `choices` in a new order."""
        left = list(choices)
        for last in range(len(left) - 1, 0, -1):
            other = int(self._next() * (last + 1))
            left[last], left[other] = left[other], left[last]
        return left

    def some(self, choices: Sequence[T], count: int) -> list[T]:
        """Up to `count` different ones of `choices`, in a new order."""
        return self.shuffled(choices)[:count]


System: TypeAlias = Literal["us", "si"]
ValueGroup: TypeAlias = Literal["vitals", "labs", "gas"]

NEAR_SHARE = 0.35
"""The share of values on a threshold or one printed step beside it, if there is a threshold."""

MARGIN = 0.05
"""The relative distance kept from a threshold that is rounded in the form's unit."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """A unit for an amount, and its grid of printed values.

    A grid point is the value in units of the last printed digit. Example: creatinine of
    1.2 mg/dL with two decimals is the point 120; in µmol/L, without decimals, it is 106,
    which is 1.199 mg/dL.
    """

    unit: str  # as in the entities; "" for a pure number, `ft in` for feet and inches
    # What may follow the number in a note, including the blank.
    texts: tuple[str, ...]
    digits: int = 0  # decimals printed
    factor: float = 1.0  # converts the amount's base unit to this one
    shift: float = 0.0  # added after the factor (degrees Fahrenheit)
    step: int = 1  # smallest difference between two values, in the last printed digit
    # Whether published thresholds convert to this unit without rounding.
    exact: bool = True
    # The system of units it belongs to; None for both.
    system: System | None = None
    # Names in prose for this unit, instead of the amount's.
    names: tuple[str, ...] = ()
    short: tuple[str, ...] = ()  # the same in telegraphic notes
    grouped: bool = False  # whether commas separate thousands

    def grid(self, base: float) -> int:
        shown: float = (base * self.factor + self.shift) * 10**self.digits / self.step
        return round(shown)

    def number(self, grid: int) -> int | float:
        """The printed number of a grid point; an integer if the form has no decimals."""
        counted = grid * self.step
        return counted / 10**self.digits if self.digits else counted

    def base(self, grid: int) -> float:
        return (self.number(grid) - self.shift) / self.factor

    def entity(self, grid: int) -> object:
        if self.unit == "ft in":
            return [grid // 12, "ft", grid % 12, "in"]
        return [self.number(grid), self.unit] if self.unit else self.number(grid)

    def text(self, grid: int, draw: Draw) -> str:
        """Formats a grid point with its unit."""
        if self.unit == "ft in":
            return f"{grid // 12} ft {grid % 12} in"
        number = self.number(grid)
        return f"{number:{',' if self.grouped else ''}.{self.digits}f}{draw.pick(self.texts)}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One measured value of one patient.

    Attributes:
        text: Number and unit.
        short: Its name in a telegraphic note.
        base: The value in the amount's base unit.
    """

    entity: object
    text: str
    name: str
    short: str
    base: float

    def written(self, *, brief: bool) -> str:
        """Formats name and value for a list."""
        return f"{self.short if brief else self.name} {self.text}"


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A quantity in notes.

    Attributes:
        short: Its names in telegraphic notes.
        forms: Its units; the first form's unit need not be the base unit.
        usual: The normal range, in the base unit.
        concepts: What it is about; it is not in the background of a note whose calculator
            asks for one of these concepts.
    """

    names: tuple[str, ...]
    short: tuple[str, ...]
    forms: tuple[Form, ...]
    group: ValueGroup
    usual: tuple[float, float]
    concepts: frozenset[str]

    def read(
        self,
        draw: Draw,
        system: System,
        low: float,
        high: float,
        *,
        near: Sequence[float] = (),
    ) -> Reading:
        """Draws a value on a form's grid: from `low` to `high`, or close to one of `near`.

        The limits are in the base unit.
        """
        form = draw.pick([form for form in self.forms if form.system in (None, system)])
        close = draw.chance(NEAR_SHARE) if near else False
        grids: list[int] = []  # the grid points of thresholds
        if form.exact:
            grids = [form.grid(bound) for bound in near if low <= bound <= high]

        if close and grids:
            grid = draw.pick(grids) + draw.pick((-1, 0, 0, 1))
        else:
            grid = form.grid(draw.between(low, high))
            if not form.exact:
                grid = _clear(draw, form, grid, near)

        return Reading(
            form.entity(grid),
            form.text(grid, draw),
            draw.pick(form.names or self.names),
            draw.pick(form.short or self.short),
            form.base(grid),
        )


def _clear(draw: Draw, form: Form, grid: int, near: Sequence[float]) -> int:
    for bound in near:
        if abs(form.base(grid) - bound) < MARGIN * bound:
            side = 1 if draw.chance(0.5) else -1
            return form.grid(bound * (1 + side * MARGIN)) + side
    return grid


read_json = functools.partial(packaged, __file__)
"""Reads the data in a file of this folder."""


def frozen(entry: dict[str, Any]) -> dict[str, Any]:
    """Replaces the lists in an entry by tuples."""
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in entry.items()
    }


def _form(entry: dict[str, Any]) -> Form:
    factor = entry.get("factor", 1.0)
    return Form(
        **frozen(entry)
        | {"factor": factor[0] / factor[1] if isinstance(factor, list) else factor}
    )


def _amount(entry: dict[str, Any]) -> Amount:
    low, high = entry["usual"]
    return Amount(
        names=tuple(entry["names"]),
        short=tuple(entry["short"]),
        forms=tuple(_form(form) for form in entry["forms"]),
        group=entry["place"],
        usual=(low, high),
        concepts=frozenset(entry["concepts"].split()),
    )


_DATA: Final = read_json("amounts.json")
AMOUNTS: Final = {name: _amount(entry) for name, entry in _DATA["amounts"].items()}


def background(group: str) -> list[Amount]:
    """Returns the amounts, of `vitals` or `labs`, for the background of notes.

    A note has one only if the calculator does not ask for it.
    """
    return [AMOUNTS[name] for name in _DATA[f"background_{group}"]]
