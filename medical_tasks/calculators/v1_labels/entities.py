"""A row's entities as the label rules saw them: names found in any spelling, values taken raw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.names import fold

__all__ = ["Entities", "number", "positive"]

_LARGEST: Final = 1e15


class Entities:
    """The `Relevant Entities` of one row, and the quirks that a rule reports while it reads them.

    Names are folded (case, spacing, subscripts, the file's own misspellings), so names of v1.0 and of later versions
    are both found. Values are not cleaned: the labels' rules compared texts exactly, and so do these. A value of None
    counts as not given.
    """

    __slots__ = ("_values", "notes", "raw")

    def __init__(self, raw: Mapping[str, object]) -> None:
        self.raw = raw
        self.notes: list[str] = []
        self._values = {fold(name): value for name, value in raw.items()}

    def note(self, text: str) -> None:
        """Report a quirk that took effect on this row; each is told once."""
        if text not in self.notes:
            self.notes.append(text)

    def find(self, *names: str) -> object:
        """The raw value under the first of these names that is given, or None."""
        for name in names:
            value = self._values.get(fold(name))
            if value is not None:
                return value
        return None

    def has(self, *names: str) -> bool:
        """Whether a value is given under one of these names."""
        return self.find(*names) is not None

    def flag(self, *names: str) -> bool:
        """A finding by the truth of its raw value: absent when not given, and any text at all counts as present."""
        value = self.find(*names)
        if isinstance(value, str):
            self.note(f"{names[0]}: the text {value!r} counts as {'present' if value else 'absent'}")
        return bool(value)

    def count(self, names: Sequence[str]) -> int:
        """How many of these findings are present."""
        return sum(self.flag(name) for name in names)

    def text(self, *names: str) -> str | None:
        """A class word exactly as written, or None when it is not given.

        Raises:
            CalculatorInputError: the value is not a text.
        """
        value = self.find(*names)
        if value is None or isinstance(value, str):
            return value
        raise CalculatorInputError(f"{names[0]}: the label rule compares a text; got {value!r}")

    def word(self, name: str, scores: Mapping[str, int], *, default: str | None = None) -> int:
        """Points of a class word, compared exactly as written.

        Args:
            name: the entity.
            scores: the words that the rule knew, with their points.
            default: the word taken when none is given; without it the entity is required.

        Raises:
            CalculatorInputError: not given without a default, not a text, or a word that the rule did not know.
        """
        given = self.text(name)
        word = default if given is None else given
        if word is None:
            raise self._missing(name)
        if word not in scores:
            known = ", ".join(repr(known) for known in scores)
            raise CalculatorInputError(f"{name}: the label rule knew only {known}; got {word!r}")
        return scores[word]

    def sex(self) -> str:
        """`Male` or `Female`, for the rules that could not run on anything else.

        Raises:
            CalculatorInputError: not given, or another word.
        """
        word = self.stated_sex()
        if word not in ("Male", "Female"):
            raise CalculatorInputError(f"sex: the label rule knew only 'Male' and 'Female'; got {word!r}")
        return word

    def stated_sex(self) -> str:
        """The sex as written, for the rules that took any word.

        Raises:
            CalculatorInputError: not given, or not a text.
        """
        word = self.text("sex")
        if word is None:
            raise self._missing("sex")
        return word

    def bare(self, name: str) -> float:
        """A number without unit, such as pH or INR.

        Raises:
            CalculatorInputError: not given, or not a finite number.
        """
        return number(self._required(name), name, "a bare number")

    def first(self, *names: str) -> float:
        """The number of a `[value, unit]` pair whose unit the rule did not look at.

        Raises:
            CalculatorInputError: not given, no list, or no finite number in first place.
        """
        return number(self.listed(*names)[0], names[0], "[value, unit]")

    def first_or(self, default: float, name: str) -> float:
        """As `first`, or `default` when nothing is given."""
        return self.first(name) if self.has(name) else default

    def pair(self, *names: str) -> tuple[float, str]:
        """A `[value, unit]` pair.

        Raises:
            CalculatorInputError: not given, no list, no finite number, or no unit.
        """
        values = self.listed(*names)
        value = number(values[0], names[0], "[value, unit]")
        if len(values) < 2 or not isinstance(values[1], str):
            raise CalculatorInputError(f"{names[0]}: the label rule needs a unit, as [value, unit]; got {values!r}")
        return value, values[1]

    def listed(self, *names: str) -> Sequence[object]:
        """A non-empty list value.

        Raises:
            CalculatorInputError: not given, or not a list.
        """
        value = self._required(*names)
        if not isinstance(value, list | tuple) or not value:
            raise CalculatorInputError(f"{names[0]}: the label rule needs a list such as [value, unit]; got {value!r}")
        return value

    def _required(self, *names: str) -> object:
        value = self.find(*names)
        if value is None:
            raise self._missing(*names)
        return value

    @staticmethod
    def _missing(*names: str) -> CalculatorInputError:
        return CalculatorInputError(f"{names[0]}: the label rule cannot run without it; it is not among the entities")


def number(value: object, name: str, form: str) -> float:
    """The value itself, if it is a number that a measurement can have.

    Args:
        value: any value.
        name: the entity, for the message.
        form: what the rule needs, for the message.

    Raises:
        CalculatorInputError: a text, True or False, not finite, or larger than 1e15.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return value
    raise CalculatorInputError(f"{name}: the label rule needs {form} with a finite number; got {value!r}")


def positive(value: float, name: str) -> float:
    """The value, where the rule divides by it or takes its logarithm or root.

    Raises:
        CalculatorInputError: zero or negative.
    """
    if value > 0:
        return value
    raise CalculatorInputError(f"{name}: the label rule cannot run on a value of {value:g}; it must be above 0")
