"""The converter of units: spellings, refusals and laws; `tests/golden/conversions.json` has values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.calculators import UnitError, units
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.calculators.shared_inputs import SHARED, quantity
from medical_tasks.calculators.units import convert, fold_unit
from tests.case_tables import tabled

QUANTITIES = {name: item for name, item in SHARED.items() if isinstance(item, Quantity)}


@tabled("spellings", "folded")
def test_spellings_of_a_unit(spellings: tuple[str, ...], folded: str) -> None:
    assert {fold_unit(spelling) for spelling in spellings} == {folded}


@pytest.mark.parametrize(
    ("unit", "to", "substance"),
    [
        # A concentration is not a mass.
        ("mg/dL", "kg", None),
        # Moles convert to grams only for a known substance.
        ("mmol/L", "mg/dL", None),
        # Creatinine has no activity in units (U).
        ("U/L", "mg/dL", "CREATININE"),
        # Glucose has no charge, so it has no equivalents.
        ("mEq/L", "mg/dL", "GLUCOSE"),
        ("furlong", "cm", None),
        ("mg/", "mg/dL", None),
        ("", "kg", None),
        ("/", "kg", None),
        ("mg/dL/dL", "mg/dL", None),
        ("cm", "cm^3", None),
        ("celsius/L", "celsius", None),
        ("kg", "celsius", None),
    ],
)
def test_impossible_units_are_refused(
    unit: str, to: str, substance: str | None
) -> None:
    with pytest.raises(UnitError, match="is not accepted; give one of: "):
        convert(
            1.0, unit, to, substance=getattr(units, substance) if substance else None
        )


def test_a_refusal_names_the_input_the_unit_and_those_accepted() -> None:
    with pytest.raises(
        UnitError,
        match=r"^creatinine: unit 'IU/L' is not accepted; give one of: mg/dL, µmol/L, mmol/L$",
    ):
        quantity("creatinine_mg_dl").measure.read([1.0, "IU/L"], "creatinine")


def test_every_unit_that_a_message_offers_is_accepted() -> None:
    assert len(QUANTITIES) >= 35
    for item in QUANTITIES.values():
        measure = item.measure
        middle = (measure.low + measure.high) / 2
        for unit in measure.accepts:
            number = convert(middle, measure.unit, unit, substance=measure.substance)
            value, line = measure.read([number, unit], item.name)
            assert value == pytest.approx(middle, rel=1e-9), (item.name, unit)
            assert line.startswith(item.name)


@given(
    name=st.sampled_from(sorted(QUANTITIES)),
    share=st.just(0.0) | st.floats(1e-9, 1),
    data=st.data(),
)
def test_a_value_converted_and_back_is_the_same(
    name: str, share: float, data: st.DataObject
) -> None:
    measure = QUANTITIES[name].measure
    value = float(f"{measure.low + share * (measure.high - measure.low):.6g}")
    unit = data.draw(st.sampled_from(measure.accepts or (measure.unit,)))
    number = convert(value, measure.unit, unit, substance=measure.substance)
    back = convert(number, unit, measure.unit, substance=measure.substance)
    assert back == pytest.approx(value, rel=1e-13)
    # A laboratory prints six digits: such a value is read as the same float, so that no
    # conversion moves it over a threshold.
    assert measure.read([number, unit], name)[0] == value


@given(
    value=st.floats(-1e6, 1e6),
    scale=st.sampled_from([("mg", "g"), ("µg", "mg"), ("cm", "m"), ("h", "day")]),
)
def test_conversion_is_odd_and_monotonic(value: float, scale: tuple[str, str]) -> None:
    unit, to = scale
    assert convert(-value, unit, to) == -convert(value, unit, to)
    assert convert(value, unit, to) <= convert(value + 1.0, unit, to)


def test_the_same_unit_passes_unchanged() -> None:
    assert convert(0.1 + 0.2, "mg/dL", "MG/dl") == 0.1 + 0.2
