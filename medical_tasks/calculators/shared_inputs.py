"""Inputs that many calculators share (`shared_inputs.json`); a first name is the dataset's, a first unit the parameter's.

`possible` are limits of the possible: they stop wrong units and slipped digits. `usual` only finds a number that fits another unit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast

from medical_tasks.calculators import units
from medical_tasks.calculators.inputs import Choice, Day, Input, Quantity
from medical_tasks.calculators.measures import Measure

Sex: TypeAlias = Literal["male", "female"]


def _input(parameter: str, form: Mapping[str, Any]) -> Input:
    name, *aliases = form["names"]
    if "words" in form:
        return Choice(parameter=parameter, name=name, aliases=tuple(aliases), words=form["words"])
    if "units" not in form:
        return Day(parameter=parameter, name=name, aliases=tuple(aliases))
    unit, *accepts = form["units"]
    low, high = form["possible"]
    measure = Measure(
        unit=unit,
        low=low,
        high=high,
        usual=tuple(form["usual"]) if "usual" in form else None,
        accepts=tuple(accepts),
        substance=getattr(units, form["substance"]) if "substance" in form else None,
        per_volume=form.get("per_volume", False),
        compound=form.get("compound", False),
        spellings=form.get("spellings", {}),
    )
    rival = replace(measure, substance=getattr(units, form["rival"])) if "rival" in form else None
    return Quantity(parameter=parameter, name=name, aliases=tuple(aliases), measure=measure, rival=rival)


SHARED: Final[Mapping[str, Input]] = MappingProxyType(
    {
        parameter: _input(parameter, form)
        for parameter, form in json.loads(
            Path(__file__).with_name("shared_inputs.json").read_text(encoding="utf-8")
        ).items()
    }
)
"""Parameter to input; a calculator whose function has such a parameter needs no more to read it."""


def quantity(parameter: str) -> Quantity:
    """A shared measured value, to be renamed, made optional or limited otherwise."""
    return cast("Quantity", SHARED[parameter])
