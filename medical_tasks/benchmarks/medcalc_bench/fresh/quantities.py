"""The values of the notes: bedside and laboratory values, each with its units, names and usual range, and how one is drawn.

Draws are the same on every machine and every Python: Python promises that `Random.random()` gives the same sequence for the
same text seed in every version; it does not promise it of `choice`, `randrange` or `shuffle`, so everything is made from
`random()` alone. A value is drawn on the grid it is printed on, so that what the note says and what the entities hold are the
same number. Where a rule has a threshold in one unit and a note uses another, tables print a rounded threshold for the second
unit (creatinine 2.0 mg/dL is 177 µmol/L in print, 176.8 by arithmetic): there no value is drawn close to the threshold, because
a reader with the table and one with the conversion would rightly disagree. Factors between units are those of the calculators
(`medical_tasks.calculators.units`): a note's value is converted back by the calculator, never here.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

__all__ = [
    "AA_GRADIENT", "ALBUMIN", "ALT", "AST", "BACKGROUND_LABS", "BACKGROUND_VITALS", "BICARBONATE", "BILIRUBIN", "BMI",
    "BUN", "CALCIUM", "CHLORIDE", "CHOLESTEROL", "COARSE_CREATININE", "COMA_SCORE", "CREATININE", "FIO2", "GLUCOSE",
    "HDL", "HEART_RATE", "HEIGHT", "HEMATOCRIT", "HEMOGLOBIN", "INR", "INSULIN", "MARGIN", "PACO2", "PAO2", "PH",
    "PLATELETS", "POTASSIUM", "QT", "RESPIRATORY_RATE", "SODIUM", "SPO2", "TEMPERATURE", "TRIGLYCERIDES",
    "URINE_CREATININE", "URINE_OUTPUT", "URINE_SODIUM", "WEIGHT", "WHITE_CELLS", "Amount", "Draw", "Place", "Reading",
    "System",
]  # fmt: skip


T = TypeVar("T")


class Draw:
    """A stream of draws that depends on its key alone, never on the process or on what was drawn elsewhere."""

    __slots__ = ("_next",)

    def __init__(self, key: str) -> None:
        """Start the stream.

        Args:
            key: any text; equal keys give equal streams.
        """
        self._next = random.Random(key).random  # noqa: S311 - reproducible on purpose, keeps no secret

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
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
        """`count` different ones of `choices`, or all where there are fewer, in a new order."""
        return self.shuffled(choices)[:count]


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


def _amount(names: str, short: str, place: Place, usual: tuple[float, float], concepts: str, *forms: Form) -> Amount:
    return Amount(
        names=tuple(names.split("|")),
        short=tuple(short.split("|")),
        forms=forms,
        place=place,
        usual=usual,
        concepts=frozenset(concepts.split()),
    )


_PERCENT = (" %", "%")
_MM_HG = (" mm Hg", " mmHg")


def _gas(names: str, short: str, usual: tuple[float, float]) -> Amount:
    return _amount(
        names,
        short,
        "gas",
        usual,
        "gas",
        Form(unit="mm Hg", texts=_MM_HG),
        Form(unit="kPa", texts=(" kPa",), digits=1, factor=0.133322387415, exact=False, system="si"),
    )


def _ion(names: str, short: str, usual: tuple[float, float], concepts: str, digits: int = 0) -> Amount:
    return _amount(
        names,
        short,
        "labs",
        usual,
        concepts,
        Form(unit="mmol/L", texts=(" mmol/L",), digits=digits),
        Form(unit="mEq/L", texts=(" mEq/L",), digits=digits, system="us"),
    )


def _lipid(names: str, short: str, usual: tuple[float, float], molar_factor: float) -> Amount:
    return _amount(
        names,
        short,
        "labs",
        usual,
        "lipids",
        Form(unit="mg/dL", texts=(" mg/dL",), system="us"),
        Form(unit="mmol/L", texts=(" mmol/L",), digits=2, factor=molar_factor, exact=False, system="si"),
    )


def _count(names: str, short: str, usual: tuple[float, float], concepts: str, digits: int, step: int) -> Amount:
    return _amount(
        names,
        short,
        "labs",
        usual,
        concepts,
        Form(unit="10^9/L", texts=(" ×10^9/L", " x 10^9/L"), digits=digits, system="si"),
        Form(unit="10^3/µL", texts=(" ×10^3/µL", " K/µL"), digits=digits, system="us"),
        Form(unit="/µL", texts=("/µL", " per µL"), factor=1000, step=step, grouped=True, system="us"),
        Form(unit="/mm^3", texts=("/mm³", " per mm³"), factor=1000, step=step, system="us"),
    )


TEMPERATURE = _amount(
    "temperature|body temperature",
    "T|Temp",
    "vitals",
    (36.3, 37.3),
    "temperature",
    Form(unit="degrees celsius", texts=(" °C", " degrees Celsius"), digits=1),
    Form(unit="degrees fahrenheit", texts=(" °F", " degrees Fahrenheit"), digits=1, factor=1.8, shift=32, system="us"),
)
HEART_RATE = _amount(
    "heart rate|pulse",
    "HR|P",
    "vitals",
    (62, 94),
    "rate",
    Form(unit="beats per minute", texts=(" beats per minute", "/min", " bpm", " per minute")),
)
RESPIRATORY_RATE = _amount(
    "respiratory rate",
    "RR",
    "vitals",
    (12, 18),
    "breathing",
    Form(unit="breaths per minute", texts=(" breaths per minute", "/min", " per minute")),
)
SPO2 = _amount("oxygen saturation|SpO2", "SpO2|sat", "vitals", (96, 99), "saturation", Form(unit="%", texts=_PERCENT))
COMA_SCORE = _amount("Glasgow Coma Score|GCS", "GCS", "vitals", (15, 15), "mind", Form(unit="", texts=("",)))
WEIGHT = _amount(
    "weight|body weight",
    "Wt",
    "vitals",
    (58, 92),
    "body",
    Form(unit="kg", texts=(" kg",), digits=1),
    Form(unit="kg", texts=(" kg",)),
    Form(unit="lbs", texts=(" lb", " lbs", " pounds"), factor=1 / 0.45359237, exact=False, system="us"),
)
HEIGHT = _amount(
    "height",
    "Ht",
    "vitals",
    (162, 179),
    "body",
    Form(unit="cm", texts=(" cm",)),
    Form(unit="m", texts=(" m",), digits=2, factor=0.01),
    Form(unit="in", texts=(" inches", " in"), factor=1 / 2.54, exact=False, system="us"),
    Form(unit="ft in", texts=("",), factor=1 / 2.54, exact=False, system="us"),
)
BMI = _amount(
    "body mass index|BMI", "BMI", "vitals", (21, 24), "body", Form(unit="kg/m^2", texts=(" kg/m²", " kg/m2"), digits=1)
)
PAO2 = _gas("PaO2|arterial oxygen pressure (PaO2)", "PaO2", (80, 98))
PACO2 = _gas("PaCO2|arterial carbon dioxide pressure (PaCO2)", "PaCO2", (36, 44))
AA_GRADIENT = _amount(
    "A-a gradient|alveolar-arterial oxygen gradient", "A-a gradient", "gas", (8, 18), "gas",
    Form(unit="mm Hg", texts=_MM_HG),
)  # fmt: skip
FIO2 = _amount(
    "FiO2|inspired oxygen fraction (FiO2)",
    "FiO2",
    "gas",
    (21, 21),
    "gas",
    Form(unit="%", texts=_PERCENT),
    Form(unit="fraction", texts=("",), digits=2, factor=0.01),
)
PH = _amount("pH|arterial pH", "pH", "gas", (7.37, 7.43), "gas", Form(unit="", texts=("",), digits=2))
QT = _amount(
    "QT interval|uncorrected QT interval",
    "QT",
    "vitals",
    (360, 420),
    "ecg",
    Form(unit="msec", texts=(" ms", " msec", " milliseconds")),
    Form(unit="s", texts=(" s", " seconds"), digits=3, factor=0.001),
)

SODIUM = _ion("sodium|serum sodium", "Na", (137, 143), "sodium")
POTASSIUM = _ion("potassium|serum potassium", "K", (3.8, 4.6), "potassium", 1)
CHLORIDE = _ion("chloride|serum chloride", "Cl", (99, 105), "chloride")
BICARBONATE = _ion("bicarbonate|serum bicarbonate", "HCO3", (23, 27), "bicarbonate")
CALCIUM = _amount(
    "total calcium|serum calcium",
    "Ca",
    "labs",
    (9.0, 9.9),
    "calcium",
    Form(unit="mg/dL", texts=(" mg/dL",), digits=1, system="us"),
    Form(unit="mmol/L", texts=(" mmol/L",), digits=2, factor=10 / 40.08, exact=False, system="si"),
)
ALBUMIN = _amount(
    "albumin|serum albumin",
    "Alb",
    "labs",
    (3.8, 4.6),
    "albumin",
    Form(unit="g/dL", texts=(" g/dL",), digits=1, system="us"),
    Form(unit="g/L", texts=(" g/L",), factor=10, system="si"),
)
CREATININE = _amount(
    "creatinine|serum creatinine",
    "Cr|creat",
    "labs",
    (0.72, 1.0),
    "kidney",
    Form(unit="mg/dL", texts=(" mg/dL",), digits=2, system="us"),
    Form(unit="mg/dL", texts=(" mg/dL",), digits=1, system="us"),
    Form(unit="µmol/L", texts=(" µmol/L",), factor=10_000 / 113.12, exact=False, system="si"),
)
# For tables whose classes are printed with one decimal: between 1.9 and 2.0 they say nothing.
COARSE_CREATININE = replace(CREATININE, forms=tuple(form for form in CREATININE.forms if form.digits != 2))
BUN = _amount(
    "blood urea nitrogen|BUN",
    "BUN",
    "labs",
    (9, 17),
    "kidney",
    Form(unit="mg/dL", texts=(" mg/dL",), system="us"),
    Form(
        unit="mmol/L",
        texts=(" mmol/L",),
        digits=1,
        factor=10 / 28.02,
        exact=False,
        system="si",
        names=("urea", "serum urea"),
        short=("urea",),
    ),
)
GLUCOSE = _amount(
    "glucose|plasma glucose",
    "Glu",
    "labs",
    (84, 104),
    "sugar",
    Form(unit="mg/dL", texts=(" mg/dL",), system="us"),
    Form(unit="mmol/L", texts=(" mmol/L",), digits=1, factor=10 / 180.16, exact=False, system="si"),
)
BILIRUBIN = _amount(
    "total bilirubin|bilirubin",
    "Bili",
    "labs",
    (0.4, 0.9),
    "liver",
    Form(unit="mg/dL", texts=(" mg/dL",), digits=1, system="us"),
    Form(unit="µmol/L", texts=(" µmol/L",), factor=10_000 / 584.66, exact=False, system="si"),
)
AST = _amount(
    "aspartate aminotransferase|AST", "AST", "labs", (16, 32), "liver", Form(unit="U/L", texts=(" U/L", " IU/L"))
)
ALT = _amount(
    "alanine aminotransferase|ALT", "ALT", "labs", (14, 34), "liver", Form(unit="U/L", texts=(" U/L", " IU/L"))
)
INR = _amount("INR|international normalized ratio", "INR", "labs", (0.9, 1.1), "clotting",
              Form(unit="", texts=("",), digits=1), Form(unit="", texts=("",), digits=2))  # fmt: skip
HEMOGLOBIN = _amount(
    "hemoglobin|haemoglobin",
    "Hb",
    "labs",
    (13.2, 15.2),
    "red",
    Form(unit="g/dL", texts=(" g/dL",), digits=1, system="us"),
    Form(unit="g/L", texts=(" g/L",), factor=10, system="si"),
)
HEMATOCRIT = _amount(
    "hematocrit|haematocrit",
    "Hct",
    "labs",
    (40, 45),
    "red",
    Form(unit="%", texts=_PERCENT),
    Form(unit="L/L", texts=(" L/L",), digits=2, factor=0.01, system="si"),
)
PLATELETS = _count("platelets|platelet count", "Plt", (170, 330), "platelets", 0, 1000)
WHITE_CELLS = _count("white cell count|white blood cells", "WBC", (5.1, 9.4), "white", 1, 100)
CHOLESTEROL = _lipid("total cholesterol", "TC", (165, 205), 10 / 386.654)
HDL = _lipid("HDL cholesterol|high-density lipoprotein cholesterol", "HDL", (44, 62), 10 / 386.654)
TRIGLYCERIDES = _lipid("triglycerides", "TG", (85, 160), 10 / 885.7)
INSULIN = _amount(
    "fasting insulin|insulin (fasting)",
    "fasting insulin",
    "labs",
    (4, 12),
    "sugar",
    Form(unit="µIU/mL", texts=(" µIU/mL", " µU/mL"), digits=1, system="us"),
    Form(unit="mIU/L", texts=(" mIU/L", " mU/L"), digits=1),
)  # laboratories do not agree on what 1 µIU/mL is in pmol/L
URINE_SODIUM = _ion("urine sodium|urinary sodium", "urine Na|UNa", (40, 120), "kidney")
URINE_CREATININE = _amount(
    "urine creatinine|urinary creatinine",
    "urine Cr|UCr",
    "labs",
    (60, 160),
    "kidney",
    Form(unit="mg/dL", texts=(" mg/dL",), system="us"),
    Form(unit="mmol/L", texts=(" mmol/L",), digits=1, factor=10 / 113.12, exact=False, system="si"),
)
URINE_OUTPUT = _amount(
    "urine output",
    "UO",
    "vitals",
    (1200, 2100),
    "kidney",
    Form(unit="mL/day", texts=(" mL/day", " mL in 24 hours", " mL/24 h"), step=10),
    Form(unit="L/day", texts=(" L/day", " L in 24 hours"), digits=2, factor=0.001),
)

BACKGROUND_VITALS = (TEMPERATURE, HEART_RATE, RESPIRATORY_RATE, SPO2, WEIGHT, HEIGHT)
"""Bedside values that a note may state by the way, when the calculator does not ask for them."""

BACKGROUND_LABS = (
    SODIUM, POTASSIUM, CHLORIDE, BICARBONATE, CALCIUM, ALBUMIN, CREATININE, BUN, GLUCOSE, BILIRUBIN, AST, ALT, INR,
    HEMOGLOBIN, HEMATOCRIT, PLATELETS, WHITE_CELLS, CHOLESTEROL, HDL,
    _amount("C-reactive protein|CRP", "CRP", "labs", (1, 9), "infection", Form(unit="mg/L", texts=(" mg/L",))),
    _amount("magnesium", "Mg", "labs", (1.8, 2.3), "", Form(unit="mg/dL", texts=(" mg/dL",), digits=1, system="us"),
            Form(unit="mmol/L", texts=(" mmol/L",), digits=2, factor=10 / 24.305, system="si")),
    _amount("TSH", "TSH", "labs", (0.8, 3.6), "", Form(unit="mIU/L", texts=(" mIU/L",), digits=1)),
    _amount("ferritin", "ferritin", "labs", (45, 190), "", Form(unit="ng/mL", texts=(" ng/mL",), system="us"),
            Form(unit="µg/L", texts=(" µg/L",), system="si")),
    _amount("alkaline phosphatase", "ALP", "labs", (48, 105), "liver", Form(unit="U/L", texts=(" U/L",))),
    _amount("lipase", "lipase", "labs", (18, 52), "", Form(unit="U/L", texts=(" U/L",))),
)  # fmt: skip
"""Laboratory values that a note may state by the way."""
