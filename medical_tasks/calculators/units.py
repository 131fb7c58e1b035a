"""Exact conversion between the units of clinical data, and the error of an input that cannot be read.

A unit is powers of a few base dimensions with an exact rational factor; amounts of a
known substance meet through its molar mass and valence. Factors become floats once, at
the end; nothing is rounded. Case, spaces and both characters for micro do not matter.

| substance | g/mol | 1 mmol/L is | laboratories |
|---|---:|---|---|
| creatinine | 113.12 | 11.312 mg/dL | 88.4 µmol/L for 1 mg/dL |
| urea nitrogen | 28.02 | 2.802 mg/dL | 0.357 mmol/L for 1 mg/dL |
| glucose | 180.16 | 18.016 mg/dL | 18.0 |
| calcium | 40.08, valence 2 | 4.008 mg/dL | 4.0 |
| sodium, potassium, chloride | 22.99, 39.10, 35.45 | 1 mEq/L | 1 mEq/L |
| bicarbonate | 61.02 | 1 mEq/L | 1 mEq/L |
| albumin | 66,500 | 6.65 g/dL | 66,400 to 66,500 g/mol |
| bilirubin | 584.66 | 58.466 mg/dL | 17.1 µmol/L for 1 mg/dL |
| hemoglobin (monomer) | 16,114.5 | 1.611 g/dL | 1.611 |
| cholesterol, LDL, HDL | 386.654 | 38.665 mg/dL | 38.67 |
| triglycerides (mixture) | 885.7 | 88.57 mg/dL | 88.57 (AHRQ Evidence Synthesis 47, 2007) |
| enzymes | | | 1 µkat = 60 U |
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from medical_tasks.errors import UsageError


class CalculatorInputError(UsageError):
    """An input is missing, unreadable or impossible.

    The message names it, the rule and the value received.
    """

    def within(self, calculator: str) -> CalculatorInputError:
        """The same error with the calculator's name in front, for whoever reads it out of context."""
        return type(self)(f"{calculator}: {self}")


class UnitError(CalculatorInputError):
    """A unit is unknown, or measures something else than what is asked for."""


@dataclass(frozen=True)
class Substance:
    """A measured substance and the constants that join its units."""

    name: str  # for messages
    note: str  # the constant a reader wants to see beside a conversion, such as the molar mass
    # Dimension (`mass`, `mole`, `equivalent`, `activity`, `katal`) to what one gram,
    # mole, ... is worth in a common measure.
    worth: Mapping[str, Fraction] = field(hash=False)


def _molecule(name: str, grams_per_mole: str, valence: int | None = None) -> Substance:
    mole = Fraction(grams_per_mole)
    worth = {"mass": Fraction(1), "mole": mole}
    if valence is not None:
        worth["equivalent"] = mole / valence
    return Substance(name, f"{grams_per_mole} g/mol", MappingProxyType(worth))


CREATININE: Final = _molecule("creatinine", "113.12")
# 1 mmol of urea carries two nitrogen atoms
UREA_NITROGEN: Final = _molecule("urea nitrogen", "28.02")
GLUCOSE: Final = _molecule("glucose", "180.16")
SODIUM: Final = _molecule("sodium", "22.99", valence=1)
POTASSIUM: Final = _molecule("potassium", "39.10", valence=1)
CHLORIDE: Final = _molecule("chloride", "35.45", valence=1)
BICARBONATE: Final = _molecule("bicarbonate", "61.02", valence=1)
CALCIUM: Final = _molecule("calcium", "40.08", valence=2)
ALBUMIN: Final = _molecule("albumin", "66500")
BILIRUBIN: Final = _molecule("bilirubin", "584.66")
CHOLESTEROL: Final = _molecule("cholesterol", "386.654")
# A mixture: laboratories and guidelines convert by 88.57 mg/dL for 1 mmol/L (Haney EM
# et al., AHRQ Evidence Synthesis 47, 2007, appendix 2; triolein, the reference
# glyceride, is 885.4 g/mol).
TRIGLYCERIDES: Final = _molecule("triglycerides", "885.7")
# Laboratories that report hemoglobin in mmol/L count the monomer, Hb(Fe): 1 mmol/L is
# 1.611 g/dL.
HEMOGLOBIN: Final = _molecule("hemoglobin", "16114.5")
ENZYME: Final = Substance(
    "enzyme",
    "1 µkat = 60 U",
    MappingProxyType({"activity": Fraction(1), "katal": Fraction(60_000_000)}),
)
# Laboratories do not agree on insulin. 6 pmol/L for 1 µIU/mL follows from the
# international standard (Vølund A. Am J Clin Nutr 1993;58:714-715; Knopp JL et al. J
# Diabetes Sci Technol 2019;13:597-600); 6.945, still in use, from 24.8 µIU/ng, an older
# preparation. The benchmark converts ng by 24.8, where the standard has 28.8 (1 IU is
# 0.0347 mg).


def _insulin(pmol_l: str, micro_iu_ng: str) -> Substance:
    """Insulin by what 1 µIU/mL is in pmol/L and 1 ng in µIU."""
    return Substance(
        "insulin",
        f"1 µIU/mL = {pmol_l} pmol/L, 1 ng = {micro_iu_ng} µIU",
        MappingProxyType(
            {
                "activity": Fraction(1),
                "mole": Fraction(10**9) / Fraction(pmol_l),
                "mass": 1000 * Fraction(micro_iu_ng),
            }
        ),
    )


INSULIN: Final = _insulin("6", "24.8")
INSULIN_BY_RIVALS: Final = _insulin("6.945", "28.8")
"""The factors that other laboratories use; an answer from such a unit says what they would make of it."""


# dimension, power, factor to g, mol, Eq, U, kat, m, day, kPa, degree, 1
Token: TypeAlias = tuple[str, int, Fraction]

_AMOUNTS: Final = frozenset({"mass", "mole", "equivalent", "activity", "katal"})
_POWER: Final = {
    "k": 3,
    "d": -1,
    "c": -2,
    "m": -3,
    "u": -6,
    "n": -9,
    "p": -12,
    "f": -15,
}


def _tokens() -> dict[str, Token]:
    """All units by their folded names: dimension, power, and factor to the base unit.

    Litres are cubes of lengths, so that µL and mm³ meet. Minutes and months have names
    of their own, since `m` is the metre.
    """
    table: dict[str, Token] = {}

    def prefixed(
        symbol: str,
        dimension: str,
        prefixes: str,
        power: int = 1,
        base: Fraction = Fraction(1),
    ) -> None:
        table[symbol] = (dimension, power, base)
        for prefix in prefixes:
            table[prefix + symbol] = (
                dimension,
                power,
                base * Fraction(10) ** _POWER[prefix],
            )

    def named(
        names: str, dimension: str, factor: Fraction | str | int, power: int = 1
    ) -> None:
        for name in names.split():
            table[name] = (dimension, power, Fraction(factor))

    prefixed("g", "mass", "kdcmunp")
    named("kgs kilo kilos kilogram kilograms", "mass", 1000)
    named("gm gms gram grams", "mass", 1)
    named("mgs milligram milligrams", "mass", "0.001")
    named("mcg microgram micrograms", "mass", "1e-6")
    named("mcmol", "mole", "1e-6")
    named("mcl cmm cumm", "length", "1e-9", power=3)
    named("lb lbs pound pounds", "mass", "453.59237")
    named("oz ounce ounces", "mass", "28.349523125")
    named("st stone stones", "mass", "6350.29318")
    prefixed("mol", "mole", "kmunp")
    prefixed("eq", "equivalent", "mu")
    prefixed("u", "activity", "kmu")
    prefixed("iu", "activity", "kmu")
    named("unit units", "activity", 1)
    prefixed("kat", "katal", "mun")
    prefixed("m", "length", "kdcmun")
    named("meter meters metre metres", "length", 1)
    named("cms centimeter centimeters centimetre centimetres", "length", "0.01")
    named("in inch inches \" ''", "length", "0.0254")
    named("ft foot feet '", "length", "0.3048")
    # so that µL and mm^3 meet
    prefixed("l", "length", "dcmunpf", power=3, base=Fraction(1, 1000))
    named("liter liters litre litres", "length", "0.001", power=3)
    named("cc", "length", "1e-6", power=3)
    named("year years yr yrs y yearsold yearold yo", "time", "365.25")
    named("month months mo mos monthsold monthold", "time", "30.4375")
    named("week weeks wk wks w weeksold weekold", "time", 7)
    named("day days d daysold dayold", "time", 1)
    named("hour hours hr hrs h", "time", Fraction(1, 24))
    named("minute minutes min mins", "time", Fraction(1, 1440))
    named("second seconds sec secs s", "time", Fraction(1, 86_400))
    named("millisecond milliseconds msec msecs ms", "time", Fraction(1, 86_400_000))
    named("kpa", "pressure", 1)
    named("pa", "pressure", "0.001")
    named("hpa mbar", "pressure", "0.1")
    named("mmhg torr", "pressure", "0.133322387415")
    named("cmhg", "pressure", "1.33322387415")
    named("cmh2o", "pressure", "0.0980665")
    named("celsius c centigrade kelvin", "temperature", 1)
    named("fahrenheit f", "temperature", Fraction(5, 9))
    named(
        "1 cells cell count beats beat breaths breath doses dose times time drinks drink fraction",
        "",
        1,
    )
    named("% percent pct", "", "0.01")
    named("k thou thousand", "", 1000)
    named("million", "", 1_000_000)

    return table


_TOKENS: Final[Mapping[str, Token]] = _tokens()
_SHORT: Final = {
    "bpm": "beats/min",
    "degc": "c",
    "degf": "f",
    "degk": "kelvin",
    "°c": "c",
    "°f": "f",
    "°k": "kelvin",
}
_SUPERSCRIPTS: Final = str.maketrans(
    {c: f"^{i}" for i, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"−": "-", "×": "x", "·": ""}
)
_TEN = re.compile(r"^x?10(?:\^|\*\*|\*|e)(\d{1,2})")
_POWERED = re.compile(r"^([a-z]+)\^?([23])$")
# Zero points in kelvin-sized degrees: value in celsius = (value + shift) * factor.
_ZERO: Final = {"c": Fraction(0), "kelvin": Fraction("-273.15"), "f": Fraction(-32)}


@lru_cache(maxsize=4096)
def fold_unit(text: str) -> str:
    """One spelling of a unit.

    Lower case, no spaces, `u` for micro, `/` for per, `^` before exponents.
    """
    plain = (
        unicodedata.normalize("NFKC", text.translate(_SUPERSCRIPTS))
        .casefold()
        .replace("μ", "u")
    )
    plain = re.sub(r"\bper\b", "/", plain)
    plain = re.sub(r"^degrees?\b", "", plain.strip())
    plain = (
        "".join(plain.split())
        .replace("celsisus", "celsius")
        .replace("fahreinheit", "fahrenheit")
    )
    plain = (
        plain.replace("centigrade", "c")
        .replace("celsius", "c")
        .replace("fahrenheit", "f")
    )

    return _SHORT.get(plain, plain)


def _read(
    folded: str, substance: Substance | None
) -> tuple[Fraction, dict[str, int]] | None:
    """Factor to base units and powers of the dimensions; None when a part is not a unit."""
    total, powers = Fraction(1), dict[str, int]()
    for position, unit in enumerate(folded.split("/")):
        sign = 1 if position == 0 else -1
        if ten := _TEN.match(unit):
            total *= Fraction(10) ** (sign * int(ten[1]))
            unit = unit[ten.end() :]

        if not unit and (position == 0 or ten):
            continue

        token = _token(unit)
        if token is None:
            return None

        dimension, power, factor = token
        if position == 0 and substance is not None and dimension in _AMOUNTS:
            worth = substance.worth.get(dimension)
            if worth is None:
                return None

            dimension, factor = "amount", factor * worth

        total *= factor**sign
        powers[dimension] = powers.get(dimension, 0) + sign * power

    return total, {
        dimension: power for dimension, power in powers.items() if dimension and power
    }


def _token(unit: str) -> Token | None:
    """A unit by its name, or a power of one: `m^2`."""
    token = _TOKENS.get(unit)
    powered = _POWERED.match(unit) if token is None else None
    base = _TOKENS.get(powered[1]) if powered else None
    if powered is None or base is None or base[1] != 1:
        return token
    exponent = int(powered[2])
    return base[0], exponent, base[2] ** exponent


class Conversion(NamedTuple):
    """A way from one unit to another: `(value + shift) * factor`; `text` is the same as a step."""

    shift: float
    factor: float
    text: str

    def __call__(self, value: float) -> float:
        """The value in the other unit."""
        return (value + self.shift) * self.factor


@lru_cache(maxsize=4096)
def _conversion(unit: str, to: str, substance: Substance | None) -> Conversion | None:
    """The way between two folded units; None where they do not measure the same.

    Of an amount of a substance the step names what it was converted by, as "386.654
    g/mol", but not between two masses.
    """
    source, target = _read(unit, substance), _read(to, substance)
    if source is None or target is None or source[1] != target[1]:
        return None

    factor = source[0] / target[0]
    if source[1] == {"temperature": 1}:
        # Through celsius: the shift of the way back is divided out, so that one
        # addition and one product remain.
        shift = _ZERO[unit] - _ZERO[to] / factor
        sign = "−" if shift < 0 else "+"
        times = "" if factor == 1 else f", × {float(factor):.6g}"
        text = f" {sign} {abs(float(shift)):g}{times}" if shift or times else ""
        return Conversion(float(shift), float(factor), text)

    if factor == 1:
        return Conversion(0.0, 1.0, "")

    crossed = substance is not None and unit.split("/")[0].lstrip(
        "kdcmunpf"
    ) != to.split("/")[0].lstrip("kdcmunpf")
    note = f" ({substance.note})" if crossed and substance is not None else ""
    return Conversion(0.0, float(factor), f" × {float(factor):.6g}{note}")


def conversion(
    unit: str,
    to: str,
    *,
    substance: Substance | None = None,
    accepted: tuple[str, ...] = (),
    what: str = "value",
    shown: str | None = None,
) -> Conversion:
    """The way from `unit` to `to`.

    `accepted`, `what` and `shown` are for the message of a refused unit.
    """
    factor = _conversion(fold_unit(unit), fold_unit(to), substance)
    if factor is None:
        raise UnitError(
            f"{what}: unit {shown or unit!r} is not accepted; give one of: "
            f"{', '.join(accepted or (to,))}"
        )

    return factor


def convert(
    value: float, unit: str, to: str, *, substance: Substance | None = None
) -> float:
    """A value in another unit.

    Example:
        >>> convert(98.6, "f", "celsius")
        37.0
        >>> round(convert(200, "mg/dL", "mmol/L", substance=CHOLESTEROL), 2)
        5.17
    """
    return conversion(unit, to, substance=substance)(value)
