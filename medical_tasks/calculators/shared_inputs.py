"""Inputs that many calculators share (`shared_inputs.json`).

A first name is the dataset's, a first unit the parameter's.

`possible` are limits of the possible: they stop wrong units and slipped digits. `usual`
only finds a number that fits another unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast

import medical_tasks.calculators.units as units
from medical_tasks.calculators.inputs import Choice, Day, Flag, Input, Quantity
from medical_tasks.calculators.measures import Measure
from medical_tasks.io.files import packaged

Sex: TypeAlias = Literal["male", "female"]


def read_input(
    parameter: str,
    form: Mapping[str, Any],
    shared: Mapping[str, Input] = MappingProxyType({}),
) -> Input:
    """Reads an input of a JSON file.

    A choice has `words`, a finding further ones for `yes`, a quantity `units`, a date
    neither.

    What is missing in a form is that of the shared input of the same name, or of the
    one that is named by `of`.
    """
    fields: dict[str, Any] = {
        key: form[key] for key in ("absent", "absent_text", "words") if key in form
    }
    fields |= {
        "parameter": parameter,
        **{key: frozenset(form[key]) for key in ("yes", "no") if key in form},
    }
    if "names" in form:
        fields |= {"name": form["names"][0], "aliases": tuple(form["names"][1:])}
    if "words" in form:
        return Choice(**fields)
    if "yes" in form:
        return Flag(**fields)

    if "units" in form:
        measure = _measure(form)
        rival = (
            replace(measure, substance=_SUBSTANCES[form["rival"]])
            if "rival" in form
            else None
        )
        return Quantity(**fields, measure=measure, rival=rival)

    shared_input = shared.get(form.get("of", parameter))
    if shared_input is None:
        return Day(**fields)

    if isinstance(shared_input, Quantity) and "possible" in form:
        low, high = form["possible"]
        fields["measure"] = replace(
            shared_input.measure, low=low, high=high, usual=None
        )

    return replace(shared_input, **fields)


def _measure(form: Mapping[str, Any]) -> Measure:
    """How a quantity is read.

    Its units, the first the parameter's, and the limits of the possible.
    """
    unit, *accepts = form["units"]
    low, high = form["possible"]

    return Measure(
        unit=unit,
        low=low,
        high=high,
        accepts=tuple(accepts),
        usual=tuple(form["usual"]) if "usual" in form else None,
        substance=_SUBSTANCES[form["substance"]] if "substance" in form else None,
        per_volume=form.get("per_volume", False),
        compound=form.get("compound", False),
        spellings=form.get("spellings", {}),
    )


_SUBSTANCES: Final = {
    name: value
    for name, value in vars(units).items()
    if isinstance(value, units.Substance)
}

SHARED: Final[Mapping[str, Input]] = MappingProxyType(
    {
        parameter: read_input(parameter, form)
        for parameter, form in packaged(__file__, "shared_inputs.json").items()
    }
)
"""Parameter to input; a calculator whose function has such a parameter needs no more to read it."""


def quantity(parameter: str) -> Quantity:
    """A shared measured value."""
    return cast("Quantity", SHARED[parameter])
