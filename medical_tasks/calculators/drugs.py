"""Equivalent doses.

Opioids in morphine milligram equivalents a day, one glucocorticoid for another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from medical_tasks.calculators.base import Convention, calculator
from medical_tasks.calculators.inputs import (
    Choice,
    Input,
    Quantity,
    fold,
    numbers_agree,
)
from medical_tasks.calculators.measures import Measure
from medical_tasks.calculators.steps import Say, quiet
from medical_tasks.calculators.units import CalculatorInputError, UnitError

Opioid: TypeAlias = Literal[
    "Codeine",
    "FentaNYL buccal",
    "FentANYL patch",
    "HYDROcodone",
    "HYDROmorphone",
    "Methadone",
    "Morphine",
    "OxyCODONE",
    "OxyMORphone",
    "Tapentadol",
    "TraMADol",
    "Buprenorphine",
]

FACTORS: Final[Mapping[Opioid, tuple[float, str]]] = MappingProxyType(
    {
        "Codeine": (0.15, "mg"),
        "FentaNYL buccal": (0.13, "µg"),
        "FentANYL patch": (2.4, "µg/h"),
        "HYDROcodone": (1.0, "mg"),
        "HYDROmorphone": (5.0, "mg"),
        "Methadone": (4.7, "mg"),
        "Morphine": (1.0, "mg"),
        "OxyCODONE": (1.5, "mg"),
        "OxyMORphone": (3.0, "mg"),
        "Tapentadol": (0.4, "mg"),
        "TraMADol": (0.2, "mg"),
        "Buprenorphine": (10.0, "mg"),
    }
)
"""Morphine mg for one unit of the drug, and that unit. A patch counts once a day by its rate."""

_PATCH: Final = "FentANYL patch"
_TIMES: Final = Measure(unit="per day", low=0, high=100)
_MG: Final = Measure(
    unit="mg", low=0, high=1_000_000, usual=(0.1, 3000), accepts=("µg", "g")
)
_MICROGRAM: Final = Measure(
    unit="µg", low=0, high=1_000_000, usual=(5, 10_000), accepts=("mg",)
)
_RATE: Final = Measure(unit="µg/h", low=0, high=10_000, accepts=("mcg/hr",))


class OpioidDose(NamedTuple):
    """What is taken of one drug.

    Attributes:
        drug: name as in the dataset.
        amount: a single dose in the drug's unit of `FACTORS`; for a patch the rate in
            µg/h, or mg when `by_mass`.
        per_day: doses a day; None for a patch that is given by its rate.
        by_mass: whether a patch is stated in mg, which has no published factor.
    """

    drug: Opioid
    amount: float
    per_day: float | None
    by_mass: bool = False


@dataclass(frozen=True, kw_only=True)
class _PatchInput(Input):
    """A patch's rate; a mass is read too, and judged by the function."""

    def read(self, raw: object, say: Say) -> tuple[float, bool]:
        """The amount, and whether it is a mass in mg."""
        by_mass = False
        try:
            amount, line = _RATE.read(raw, self.name)
        except UnitError:
            try:
                amount, line = _MG.read(raw, self.name)
            except UnitError:
                raise CalculatorInputError(
                    f"{self.name}: expected a rate in {self.expects}; got {raw!r}"
                ) from None

            by_mass = True

        say(line)
        return amount, by_mass

    @property
    def expects(self) -> str:
        """The accepted units."""
        return ", ".join(_RATE.accepted)

    def schema(self) -> dict[str, object]:
        """A number, the rate."""
        return {"type": "number", "description": f"{self.name} in {_RATE.unit}"}

    def written(self, value: tuple[float, bool]) -> object:
        """See `Input.written`."""
        amount, by_mass = value
        return f"{amount!r} {_MG.unit}" if by_mass else amount

    def agrees(
        self, value: tuple[float, bool], other: tuple[float, bool], *, within: float
    ) -> bool:
        """See `Input.agrees`."""
        return value[1] == other[1] and numbers_agree(value[0], other[0], within=within)


def _inputs() -> tuple[Input, ...]:
    """A dose and a number of doses a day for each opioid.

    None is required, and no step speaks of one that is not mentioned.
    """
    inputs: list[Input] = []
    for drug, (_, unit) in FACTORS.items():
        name, parameter = f"{drug} Dose", drug.lower().replace(" ", "_")
        not_taken: Any = {"absent": None, "silent": True}
        dose: Any = {"parameter": parameter, "name": name, **not_taken}
        dose |= {"aliases": () if drug in ("FentaNYL buccal", _PATCH) else (drug,)}
        measure = _MICROGRAM if unit == "µg" else _MG
        inputs.append(
            _PatchInput(**dose) if drug == _PATCH else Quantity(**dose, measure=measure)
        )
        inputs.append(
            Quantity(
                parameter=f"{parameter}_per_day",
                name=f"{name} Per Day",
                measure=_TIMES,
                **not_taken,
            )
        )

    return tuple(inputs)


def _opioid_doses(values: dict[str, Any]) -> dict[str, Any]:
    """The doses of the opioids that are taken, each of them complete.

    A patch needs no number of doses a day where its dose is a rate, which says already
    how much a day is.
    """
    doses: list[OpioidDose] = []
    for drug in FACTORS:
        parameter = drug.lower().replace(" ", "_")
        amount, per_day = values[parameter], values[f"{parameter}_per_day"]
        if amount is None and per_day is None:
            continue

        if amount is None:
            raise CalculatorInputError(
                f"missing required input: {drug} Dose (its doses per day are given)"
            )

        by_mass = False
        if drug == _PATCH:
            amount, by_mass = amount

        if per_day is None and (drug != _PATCH or by_mass):
            raise CalculatorInputError(
                f"missing required input: {drug} Dose Per Day (its dose is given)"
            )

        doses.append(OpioidDose(drug, amount, per_day, by_mass))

    return {"doses": tuple(doses)}


@calculator(
    source="CDC Clinical Practice Guideline for Prescribing Opioids. MMWR Recomm Rep 2022;71(3):1-95.",
    inputs=_inputs(),
    adapt=_opioid_doses,
    conventions=(
        Convention(
            name="fentanyl-patch-by-dose",
            description="a fentanyl patch stated in mg counts as mg × doses a day × 2.4, which has no clinical meaning.",
            options=MappingProxyType({"patch_by_dose": True}),
        ),
    ),
)
def morphine_milligram_equivalents(
    *, doses: Sequence[OpioidDose], patch_by_dose: bool = False, say: Say = quiet
) -> float:
    """Morphine milligram equivalents a day: the sum of dose · doses a day · factor over all opioids.

    Factors for mg: codeine 0.15, hydrocodone 1, hydromorphone 5, methadone 4.7,
    morphine 1, oxycodone 1.5, oxymorphone 3, tapentadol 0.4, tramadol 0.2,
    buprenorphine 10; buccal fentanyl 0.13 for each µg; a fentanyl patch 2.4 for each
    µg/h.
    """
    # `patch_by_dose` counts a patch stated in mg as mg · doses · 2.4 (a convention of
    # the v1.0 data, no clinical rule); else it is refused. This is no part of the rule
    # that the docstring shows to a model with an open book.
    if not doses:
        raise CalculatorInputError(
            "missing required input: at least one opioid as '<drug> Dose' with '<drug> Dose Per "
            f"Day'; drugs: {', '.join(FACTORS)}"
        )

    total = 0.0
    for drug, amount, per_day, by_mass in doses:
        factor, unit = FACTORS[drug]
        if drug == _PATCH and not by_mass:
            if per_day not in (None, 1):
                raise CalculatorInputError(
                    f"{drug} Dose Per Day: a patch counts by its rate, once a day; got "
                    f"{per_day:g}. State the rate of all patches worn together, without doses a day"
                )

            mme = amount * factor
            say(f"{drug}: {amount:.6g} {unit} × {factor:g} = {mme:.6g} MME.")
        elif drug == _PATCH and not patch_by_dose:
            raise CalculatorInputError(
                f"{drug} Dose: a patch counts by its rate in µg/h (factor {factor:g}); got "
                f"{amount:g} mg, which has no published factor. State the rate, or ask for the "
                "convention fentanyl-patch-by-dose"
            )
        else:
            mme = amount * (per_day or 0.0) * factor
            say(
                f"{drug}: {amount:.6g} {'mg' if by_mass else unit} × {per_day:.6g} per day × "
                f"{factor:g} = {mme:.6g} MME."
            )

        total += mme

    say(f"Sum of {len(doses)}: {total:.6g} MME per day.")
    return total


Steroid: TypeAlias = Literal[
    "Betamethasone IV",
    "Cortisone PO",
    "Dexamethasone IV",
    "Dexamethasone PO",
    "Hydrocortisone IV",
    "Hydrocortisone PO",
    "MethylPrednisoLONE IV",
    "MethylPrednisoLONE PO",
    "PrednisoLONE PO",
    "PredniSONE PO",
    "Triamcinolone IV",
]

EQUIVALENT_MG: Final[Mapping[Steroid, float]] = MappingProxyType(
    {
        "Betamethasone IV": 0.75,
        "Cortisone PO": 25.0,
        "Dexamethasone IV": 0.75,
        "Dexamethasone PO": 0.75,
        "Hydrocortisone IV": 20.0,
        "Hydrocortisone PO": 20.0,
        "MethylPrednisoLONE IV": 4.0,
        "MethylPrednisoLONE PO": 4.0,
        "PrednisoLONE PO": 5.0,
        "PredniSONE PO": 5.0,
        "Triamcinolone IV": 4.0,
    }
)
"""Doses of equal glucocorticoid effect, in mg."""

_ONE_ROUTE: Final = (
    "Betamethasone IV",
    "Cortisone PO",
    "PrednisoLONE PO",
    "PredniSONE PO",
    "Triamcinolone IV",
)
_WORDS: Final = MappingProxyType(
    {name: name for name in EQUIVALENT_MG}
    | {name.rsplit(" ", 1)[0]: name for name in _ONE_ROUTE}
)
_BY_FOLD: Final = MappingProxyType({fold(word): name for word, name in _WORDS.items()})
_DOSE: Final = Measure(unit="mg", low=0, high=1_000_000, accepts=("g", "µg", "kg"))
_TEXT = re.compile(r"\s*(.*?[A-Za-z])[\s:,]+(\d.*)", re.DOTALL)


class SteroidDose(NamedTuple):
    """A dose of one steroid."""

    steroid: Steroid
    mg: float


@dataclass(frozen=True, kw_only=True)
class _SteroidDoseInput(Input):
    """`[drug and route, number, unit]`, or the same as a text."""

    def read(self, raw: object, say: Say) -> SteroidDose:
        """The drug and its dose in mg."""
        if isinstance(raw, str) and (match := _TEXT.fullmatch(raw)):
            drug, dose = match[1], match[2]
        elif isinstance(raw, (list, tuple)) and len(raw) in (2, 3):
            drug, *rest = raw
            dose = rest[0] if len(rest) == 1 else rest
        else:
            raise CalculatorInputError(
                f"{self.name}: expected {self.expects}; got {raw!r}"
            )

        steroid = _BY_FOLD.get(fold(str(drug)))
        if steroid is None:
            raise CalculatorInputError(
                f"{self.name}: expected one of {', '.join(EQUIVALENT_MG)}; got {drug!r}"
            )

        mg, line = _DOSE.read(dose, f"{self.name}, {steroid}")
        say(line)
        return SteroidDose(steroid, mg)

    @property
    def expects(self) -> str:
        """Drug, route and dose."""
        return 'drug and route with a dose, such as ["PredniSONE PO", 10, "mg"] or "PredniSONE PO 10 mg"'

    def schema(self) -> dict[str, object]:
        """Drug, route and dose as one text."""
        drugs = ", ".join(EQUIVALENT_MG)
        description = (
            f'{self.name} with its dose, such as "PredniSONE PO 10 mg"; one of {drugs}'
        )
        return {"type": "string", "description": description}

    def written(self, value: SteroidDose) -> object:
        """See `Input.written`."""
        return f"{value.steroid} {value.mg!r} mg"

    def agrees(self, value: SteroidDose, other: SteroidDose, *, within: float) -> bool:
        """See `Input.agrees`."""
        same_drug = value.steroid == other.steroid
        return same_drug and numbers_agree(value.mg, other.mg, within=within)


def _steroid_doses(values: dict[str, Any]) -> dict[str, Any]:
    source: SteroidDose = values["source"]
    return {
        "source_steroid": source.steroid,
        "source_dose_mg": source.mg,
        "target_steroid": values["target_steroid"],
    }


@calculator(
    source="Meikle AW, Tyler FH. Am J Med 1977;63:200-207 (equivalent glucocorticoid doses).",
    inputs=(
        _SteroidDoseInput(parameter="source", name="input steroid", aliases=("from",)),
        Choice(
            parameter="target_steroid",
            name="target steroid",
            aliases=("to",),
            words=_WORDS,
        ),
    ),
    adapt=_steroid_doses,
)
def steroid_conversion(
    *,
    source_steroid: Steroid,
    source_dose_mg: float,
    target_steroid: Steroid,
    say: Say = quiet,
) -> float:
    """Equivalent dose in mg: dose · equivalent(target) / equivalent(source).

    Equal effect in mg: hydrocortisone 20, cortisone 25, prednisone and prednisolone 5,
    methylprednisolone and triamcinolone 4, dexamethasone and betamethasone 0.75.
    """
    source, target = EQUIVALENT_MG[source_steroid], EQUIVALENT_MG[target_steroid]
    dose = source_dose_mg * target / source
    say(
        f"Equal effect: {source:g} mg of {source_steroid} and {target:g} mg of {target_steroid}."
    )
    say(
        f"Dose = {source_dose_mg:.6g} mg × {target:g} / {source:g} = {dose:.6g} mg of "
        f"{target_steroid}."
    )

    return dose
