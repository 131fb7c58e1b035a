"""Reads a row's entities as the label rules did: raw values, units rounded at every step.

Factors, molar masses and roundings are those of the v1.0 labels, including the wrong
ones. They have no other use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.calculators.inputs import fold
from medical_tasks.calculators.units import CalculatorInputError

_LARGEST: Final = 1e15


class Entities:
    """The `Relevant Entities` of one row, and the quirks that a rule notes while reading them.

    Names are folded (case, spacing, subscripts, the file's own misspellings), so names
    of v1.0 and of later versions are both found. Values are not cleaned: the label rules
    compared texts exactly, and so do these. A value of None counts as missing.
    """

    __slots__ = ("_values", "notes", "raw")

    def __init__(self, raw: Mapping[str, object]) -> None:
        self.raw = raw
        self.notes: list[str] = []
        self._values = {fold(name): value for name, value in raw.items()}

    def note(self, text: str) -> None:
        """Note a quirk that affected this row, once."""
        if text not in self.notes:
            self.notes.append(text)

    def find(self, *names: str) -> object:
        """Return the raw value under the first of these names that has one, or None."""
        for name in names:
            value = self._values.get(fold(name))
            if value is not None:
                return value
        return None

    def has(self, *names: str) -> bool:
        """Whether one of these names has a value."""
        return self.find(*names) is not None

    def flag(self, *names: str) -> bool:
        """Return the truth of a finding's raw value.

        A missing value counts as absent, and any non-empty text as present.
        """
        value = self.find(*names)
        if isinstance(value, str):
            self.note(
                f"{names[0]}: the text {value!r} counts as {'present' if value else 'absent'}"
            )
        return bool(value)

    def count(self, names: Sequence[str]) -> int:
        """Count the findings that are present."""
        return sum(self.flag(name) for name in names)

    def text(self, *names: str) -> str | None:
        """Return a class word exactly as written, or None if it is missing."""
        value = self.find(*names)
        if value is None or isinstance(value, str):
            return value
        raise CalculatorInputError(
            f"{names[0]}: the label rule compares a text; got {value!r}"
        )

    def word(
        self, name: str, scores: Mapping[str, int], *, default: str | None = None
    ) -> int:
        """Return the points of a class word, compared exactly as written.

        `default` is the word for a missing value; without it the entity is required.
        """
        stated = self.text(name)
        word = default if stated is None else stated
        if word is None:
            raise self._missing(name)

        if word not in scores:
            words = ", ".join(map(repr, scores))
            raise CalculatorInputError(
                f"{name}: the label rule knew only {words}; got {word!r}"
            )

        return scores[word]

    def sex(self) -> str:
        """Return `Male` or `Female`, for the rules that could not run on any other word."""
        word = self.stated_sex()
        if word not in ("Male", "Female"):
            raise CalculatorInputError(
                f"sex: the label rule knew only 'Male' and 'Female'; got {word!r}"
            )
        return word

    def stated_sex(self) -> str:
        """Return the sex as written, for the rules that accepted any word."""
        word = self.text("sex")
        if word is None:
            raise self._missing("sex")
        return word

    def bare(self, name: str) -> float:
        """Return a number without unit, such as pH or INR."""
        return number(self._required(name), name, "a bare number")

    def first(self, *names: str) -> float:
        """Return the number of a `[value, unit]` pair whose unit the rule ignored."""
        return number(self.listed(*names)[0], names[0], "[value, unit]")

    def first_or(self, default: float, name: str) -> float:
        """Like `first`, or `default` for a missing value."""
        return self.first(name) if self.has(name) else default

    def pair(self, *names: str) -> tuple[float, str]:
        """Return a `[value, unit]` pair."""
        values = self.listed(*names)
        value = number(values[0], names[0], "[value, unit]")
        if len(values) < 2 or not isinstance(values[1], str):
            raise CalculatorInputError(
                f"{names[0]}: the label rule needs a unit, as [value, unit]; got {values!r}"
            )
        return value, values[1]

    def listed(self, *names: str) -> Sequence[object]:
        """Return a non-empty list value."""
        value = self._required(*names)
        if not isinstance(value, list | tuple) or not value:
            raise CalculatorInputError(
                f"{names[0]}: the label rule needs a list such as [value, unit]; got {value!r}"
            )
        return value

    def _required(self, *names: str) -> object:
        value = self.find(*names)
        if value is None:
            raise self._missing(*names)
        return value

    @staticmethod
    def _missing(*names: str) -> CalculatorInputError:
        return CalculatorInputError(
            f"{names[0]}: the label rule cannot run without it; it is not among the entities"
        )


def number(value: object, name: str, form: str) -> float:
    """Return the value if it is a number that a measurement can have."""
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= _LARGEST
    ):
        return value
    raise CalculatorInputError(
        f"{name}: the label rule needs {form} with a finite number; got {value!r}"
    )


def positive(value: float, name: str) -> float:
    """Return a value that must be positive: the rule divides by it or takes its logarithm or root."""
    if value > 0:
        return value
    raise CalculatorInputError(
        f"{name}: the label rule cannot run on a value of {value:g}; it must be above 0"
    )


# The labels' table had the factor of nmol for pmol.
_MOLES: Final = {"mol": 1.0, "mmol": 1e-3, "µmol": 1e-6, "pmol": 1e-9}
_GRAMS: Final = {"kg": 1e3, "g": 1.0, "mg": 1e-3, "µg": 1e-6}
_LITRES: Final = {
    "L": 1.0,
    "dL": 1e-1,
    "mL": 1e-3,
    "µL": 1e-6,
    "mm^3": 1e-6,
    "cm^3": 1e-3,
    "m^3": 1e3,
}
_AMOUNTS: Final = (*_MOLES, *_GRAMS, "mEq")
_WORTH_A_NOTE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Compound:
    """A measured compound, with the figures of the labels.

    Attributes:
        name: Its name.
        molar_mass: In g/mol, of the label rule; None if it had none.
        valence: mEq per mmol; None if the rule had none.
        true_molar_mass: In g/mol, if the label rule's figure is wrong.
    """

    name: str
    molar_mass: float | None = None
    valence: int | None = None
    true_molar_mass: float | None = None


def concentration(
    entities: Entities, name: str, compound: Compound, target: str
) -> float:
    """Return a concentration in the rule's unit, rounded after each step.

    A deviation of more than 0.1 % is noted.

    Example:
        >>> entities = Entities({"Creatinine": [120, "µmol/L"]})
        >>> concentration(entities, "Creatinine", CREATININE, "mg/dL")
        1.4
        >>> entities.notes
        ['Creatinine: 120 µmol/L became 1.4 mg/dL by rounding each step (exactly 1.357)']
    """
    value, unit = entities.pair(name)
    if unit == target:
        return value

    amount, volume = _split(unit, name, target)
    target_amount, target_volume = _split(target, name, target)
    result = (
        value
        if amount == target_amount
        else _amount(value, amount, target_amount, compound, name)
    )
    factor = (
        1.0
        if volume == target_volume
        else round_v1(_LITRES[volume] / _LITRES[target_volume])
    )
    result = round_v1(result / factor)
    exact = exact_concentration(value, unit, target, compound)
    if abs(result - exact) > _WORTH_A_NOTE * abs(exact):
        entities.note(
            f"{name}: {value:g} {unit} became {result:g} {target} by rounding each step (exactly "
            f"{exact:.4g})"
        )

    return result


def exact_concentration(
    value: float, unit: str, target: str, compound: Compound
) -> float:
    """Convert like `concentration`, without rounding and with the true molar mass.

    Units must be known.
    """
    if unit == target:
        return value

    amount, volume = unit.split("/")[:2]
    target_amount, target_volume = target.split("/")[:2]
    factor = _LITRES[volume] / _LITRES[target_volume]
    if amount == target_amount:
        return value / factor

    mass = compound.true_molar_mass or compound.molar_mass
    # Convert through mol, or through g if both are masses.
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


def count_per(entities: Entities, name: str, target: str) -> float:
    """Return a cell count per `target` volume; the entity's unit is the volume alone."""
    value, unit = entities.pair(name)
    if unit == target:
        return value
    if unit not in _LITRES:
        raise CalculatorInputError(
            f"{name}: the label rule knew only {', '.join(_LITRES)}; got {unit!r}"
        )
    return round_v1(round_v1(_LITRES[target] / _LITRES[unit]) * value)


def amount_in(value: float, unit: str, target: str, name: str) -> float:
    """Return a mass (a dose) in the target unit, rounded unless the units are equal."""
    if unit not in _GRAMS:
        raise CalculatorInputError(
            f"{name}: the label rule knew only {', '.join(_GRAMS)}; got {unit!r}"
        )
    return _prefix(value, unit, target)


def _split(unit: str, name: str, target: str) -> tuple[str, str]:
    parts = unit.split("/")
    if len(parts) != 2 or parts[0] not in _AMOUNTS or parts[1] not in _LITRES:
        raise CalculatorInputError(
            f"{name}: the label rule converts to {target} from an amount ({', '.join(_AMOUNTS)}) "
            f"per volume ({', '.join(_LITRES)}), case sensitive, µ as U+00B5; got {unit!r}"
        )
    return parts[0], parts[1]


def _amount(
    value: float, unit: str, target: str, compound: Compound, name: str
) -> float:
    """Convert an amount between units, through mol if they differ in kind.

    Each step is rounded, as in the program that computed the labels: that is why labels
    of amounts in mg/dL lose digits.
    """
    if (unit in _GRAMS) == (target in _GRAMS) and "mEq" not in (unit, target):
        return _prefix(value, unit, target)

    molar_mass, valence = compound.molar_mass, compound.valence
    if molar_mass is None and (unit in _GRAMS or target in _GRAMS):
        raise CalculatorInputError(
            f"{name}: the label rule had no molar mass to convert {unit} to {target}"
        )

    if valence is None and "mEq" in (unit, target):
        raise CalculatorInputError(
            f"{name}: the label rule had no valence to convert {unit} to {target}"
        )

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
    """Convert between two prefixes of the same base; the factor is rounded, then the product."""
    if unit == target:
        return value
    factors = _GRAMS if unit in _GRAMS else _MOLES
    return round_v1(value * round_v1(factors[unit] / factors[target]))


CREATININE: Final = Compound("creatinine", 113.12)
UREA_NITROGEN: Final = Compound("urea nitrogen", 28.02)
UREA_NITROGEN_BLATCHFORD: Final = Compound(
    "urea nitrogen", 28.08, true_molar_mass=28.02
)
GLUCOSE: Final = Compound("glucose", 180.16)
CALCIUM: Final = Compound("calcium", 40.08, 2)
SODIUM: Final = Compound("sodium", 22.99, 1)
URINE_SODIUM: Final = Compound("sodium", None, 1)
POTASSIUM: Final = Compound("potassium", 22.99, 1, true_molar_mass=39.10)
CHLORIDE: Final = Compound("chloride", 35.45, 1)
BICARBONATE: Final = Compound("bicarbonate", 61.02, 1)
ALBUMIN: Final = Compound("albumin", 66500)
ALBUMIN_BY_MASS: Final = Compound("albumin")
HEMOGLOBIN: Final = Compound("hemoglobin", 64500)
CHOLESTEROL: Final = Compound("cholesterol", 386.654)
CHOLESTEROL_FRAMINGHAM: Final = Compound("cholesterol", 386.65)
TRIGLYCERIDES: Final = Compound("triglycerides", 861.338)
BILIRUBIN_SOFA: Final = Compound("bilirubin", 584.66)
BILIRUBIN_CHILD_PUGH: Final = Compound("bilirubin", 548.66, true_molar_mass=584.66)
BILIRUBIN_BY_MASS: Final = Compound("bilirubin")


def round_v1(x: float) -> float:
    """Round like the labels: 3 decimals above 0.001, else 3 significant digits.

    "Else" includes every negative number, whatever its size: -12.345 becomes -12.3.
    Zero stays zero. Ties depend on the binary value, as in Python's `round`. Because
    each step of a conversion was rounded, amounts in mol lose most of their digits:
    262.7 µmol/L of creatinine become 2.9 instead of 2.97 mg/dL.

    An `int` stays an `int`.
    """
    if not math.isfinite(x):
        raise OverflowError(f"cannot round {x}")
    if x > 0.001:
        return round(x, 3)
    if x == 0:
        return x

    return round(x, 2 - math.floor(math.log10(abs(x))))
