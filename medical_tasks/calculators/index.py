"""All calculators in the order of the dataset's ids, and the ways to look one up."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import medical_tasks.calculators.chemistry as chemistry
import medical_tasks.calculators.clots_and_bleeding as clots_and_bleeding
import medical_tasks.calculators.drugs as drugs
import medical_tasks.calculators.heart as heart
import medical_tasks.calculators.infection as infection
import medical_tasks.calculators.intensive_care as intensive_care
import medical_tasks.calculators.kidney_and_liver as kidney_and_liver
import medical_tasks.calculators.person as person
from medical_tasks.calculators.base import Calculator
from medical_tasks.calculators.inputs import fold
from medical_tasks.calculators.units import CalculatorInputError

AnyCalculator: TypeAlias = Calculator[..., Any]

_FAMILIES: Final = (
    chemistry,
    clots_and_bleeding,
    drugs,
    heart,
    infection,
    intensive_care,
    kidney_and_liver,
    person,
)
CALCULATORS: Final[tuple[AnyCalculator, ...]] = tuple(
    sorted(
        # A set: a family may also use a calculator of another one.
        {
            entry
            for family in _FAMILIES
            for entry in vars(family).values()
            if isinstance(entry, Calculator)
        },
        key=lambda entry: entry.id,
    )
)
"""Every calculator of the clinical families, in the order of the dataset's ids."""


def _names() -> Mapping[str, AnyCalculator]:
    table: dict[str, AnyCalculator] = {}
    for entry in CALCULATORS:
        for name in (str(entry.id), entry.slug, entry.name, *entry.aliases):
            if table.setdefault(fold(name), entry) is not entry:
                raise ValueError(f"{name!r} names two calculators")
    return MappingProxyType(table)


_BY_ID: Final = MappingProxyType({entry.id: entry for entry in CALCULATORS})
_BY_NAME: Final = _names()


def find(calculator: int | str) -> AnyCalculator:
    """A calculator by the dataset's id, its slug, its name or an alias, in any case and spacing."""
    match = (
        _BY_ID.get(calculator)
        if isinstance(calculator, int)
        else _BY_NAME.get(fold(calculator))
    )
    if match is not None:
        return match

    import difflib  # where a name is not known

    near = difflib.get_close_matches(fold(str(calculator)), _BY_NAME, n=3)
    slugs = list(dict.fromkeys(_BY_NAME[name].slug for name in near))
    hint = f"did you mean {', '.join(slugs)}? " if slugs else ""
    raise CalculatorInputError(
        f"no calculator {calculator!r}; {hint}`medical-tasks calc --list` shows all"
    )
