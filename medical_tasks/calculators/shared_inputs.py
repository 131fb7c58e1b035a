"""Inputs that many calculators share (`shared_inputs.json`); a first name is the dataset's, a first unit the parameter's.

`possible` are limits of the possible: they stop wrong units and slipped digits. `usual` only finds a number that fits another unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast

from medical_tasks.calculators import units
from medical_tasks.calculators.inputs import Choice, Day, Input, Quantity
from medical_tasks.calculators.measures import Measure
from medical_tasks.io.files import packaged

Sex: TypeAlias = Literal["male", "female"]


def _input(parameter: str, form: Mapping[str, Any]) -> Input:
    name, *aliases = form["names"]
    if "words" in form:
        return Choice(parameter=parameter, name=name, aliases=tuple(aliases), words=form["words"])
    if "units" not in form:
        return Day(parameter=parameter, name=name, aliases=tuple(aliases))
    unit, *accepts = form["units"]
    low, high = form["possible"]
    more = {key: form[key] for key in ("per_volume", "compound", "spellings") if key in form}
    more |= {"usual": tuple(form["usual"])} if "usual" in form else {}
    more |= {"substance": getattr(units, form["substance"])} if "substance" in form else {}
    measure = Measure(unit=unit, low=low, high=high, accepts=tuple(accepts), **more)
    rival = replace(measure, substance=getattr(units, form["rival"])) if "rival" in form else None
    return Quantity(parameter=parameter, name=name, aliases=tuple(aliases), measure=measure, rival=rival)


SHARED: Final[Mapping[str, Input]] = MappingProxyType(
    {parameter: _input(parameter, form) for parameter, form in packaged(__file__, "shared_inputs.json").items()}
)
"""Parameter to input; a calculator whose function has such a parameter needs no more to read it."""


def quantity(parameter: str) -> Quantity:
    """A shared measured value, to be renamed, made optional or limited otherwise."""
    return cast("Quantity", SHARED[parameter])
