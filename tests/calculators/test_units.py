"""The converter: values worked by hand, spellings, refusals, and the laws of conversion."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.calculators import UnitError, shared_inputs, units
from medical_tasks.calculators.inputs import Input, Quantity
from medical_tasks.calculators.units import convert, fold_unit

QUANTITIES = {name: item for name, item in vars(shared_inputs).items() if isinstance(item, Quantity) and name[0] != "_"}

# (value, unit, to, substance, expected): each is the definition of the units or the molar mass, worked by hand.
KNOWN = [
    (1.0, "mg/dL", "µmol/L", units.CREATININE, 10_000 / 113.12),
    (176.8, "µmol/L", "mg/dL", units.CREATININE, 1.9999616),
    (0.1, "mmol/L", "mg/dL", units.CREATININE, 1.1312),
    (5.0, "mmol/L", "mg/dL", units.GLUCOSE, 90.08),
    (7.0, "mmol/L", "mg/dL", units.UREA_NITROGEN, 19.614),
    (2.26, "mmol/L", "mg/dL", units.CALCIUM, 9.05808),
    (4.52, "mEq/L", "mg/dL", units.CALCIUM, 9.05808),
    (140.0, "mEq/L", "mmol/L", units.SODIUM, 140.0),
    (322.0, "mg/dL", "mEq/L", units.SODIUM, 3220 / 22.99),
    (4.0, "mEq/L", "mg/dL", units.POTASSIUM, 15.64),
    (100.0, "mmol/L", "mg/dL", units.CHLORIDE, 354.5),
    (24.0, "mEq/L", "mg/L", units.BICARBONATE, 1464.48),
    (600.0, "µmol/L", "g/L", units.ALBUMIN, 39.9),
    (35.0, "g/L", "g/dL", units.ALBUMIN, 3.5),
    (34.2, "µmol/L", "mg/dL", units.BILIRUBIN, 1.9995372),
    (5.0, "mmol/L", "mg/dL", units.CHOLESTEROL, 193.327),
    (2.0, "mmol/L", "mg/dL", units.TRIGLYCERIDES, 177.14),
    (10.0, "mmol/L", "g/dL", units.HEMOGLOBIN, 16.1145),
    (60.0, "pmol/L", "µIU/mL", units.INSULIN, 10.0),
    (2.0, "ng/mL", "mIU/L", units.INSULIN, 49.6),
    (0.5, "µkat/L", "U/L", units.ENZYME, 30.0),
    (245_000.0, "/µL", "10^9/L", None, 245.0),
    (245.0, "K/mcL", "10^9/L", None, 245.0),
    (245.0, "x10*9/L", "cells/mm³", None, 245_000.0),
    (0.245, "million/cmm", "10³/µL", None, 245.0),
    (8.0, "kPa", "mm Hg", None, 8 / 0.133322387415),
    (760.0, "torr", "kPa", None, 101.3250144354),
    (10.0, "cmH2O", "hPa", None, 9.80665),
    (100.4, "degrees fahreinheit", "degrees celsius", None, 38.0),
    (37.0, "°C", "°F", None, 98.6),
    (310.15, "kelvin", "degrees celsisus", None, 37.0),
    (98.6, "F", "kelvin", None, 310.15),
    (180.0, "lbs", "kg", None, 81.6466266),
    (11.0, "stone", "kg", None, 69.85322498),
    (8.0, "oz", "g", None, 226.796185),
    (5.0, "ft", "cm", None, 152.4),
    (70.0, "inches", "m", None, 1.778),
    (18.0, "months", "years", None, 1.5),
    (52.0, "weeks", "days", None, 364.0),
    (0.4, "s", "msec", None, 400.0),
    (72.0, "bpm", "/min", None, 72.0),
    (0.4, "fraction", "%", None, 40.0),
    (0.45, "L/L", "%", None, 45.0),
    (6.0, "mg/kg/h", "mcg/kg/min", None, 100.0),
    (22.0, "kg/m²", "kg/m^2", None, 22.0),
    (1.0, "mg/cm2", "g/m2", None, 10.0),
    (2.0, "doses per day", "/day", None, 2.0),
    (1.0, "L/day", "mL/h", None, 1000 / 24),
]


@pytest.mark.parametrize(("value", "unit", "to", "substance", "expected"), KNOWN)
def test_known_conversions(
    value: float, unit: str, to: str, substance: units.Substance | None, expected: float
) -> None:
    assert convert(value, unit, to, substance=substance) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("spellings", "folded"),
    [
        (("mg/dL", "MG/DL", " mg / dl ", "mg per dL"), "mg/dl"),
        (("µmol/L", "μmol/L", "umol/l"), "umol/l"),
        (("mm Hg", "mmhg", "mm hg", "MMHG"), "mmhg"),
        (("10^9/L", "10⁹/L"), "10^9/l"),
        (("degrees celsius", "Degree Celsius", "degrees celsisus", "°C", "℃", "C", "deg C"), "c"),
        (("degrees fahrenheit", "degrees fahreinheit", "°F", "f"), "f"),
        (("kg/m²", "kg/m^2"), "kg/m^2"),
    ],
)
def test_spellings_of_one_unit(spellings: tuple[str, ...], folded: str) -> None:
    assert {fold_unit(spelling) for spelling in spellings} == {folded}


@pytest.mark.parametrize(
    ("unit", "to", "substance"),
    [
        ("mg/dL", "kg", None),  # a concentration is no mass
        ("mmol/L", "mg/dL", None),  # of an unknown substance
        ("U/L", "mg/dL", units.CREATININE),  # creatinine has no activity
        ("mEq/L", "mg/dL", units.GLUCOSE),  # and glucose no charge
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
def test_impossible_units_are_refused(unit: str, to: str, substance: units.Substance | None) -> None:
    with pytest.raises(UnitError, match="is not accepted; give one of: "):
        convert(1.0, unit, to, substance=substance)


def test_a_refusal_names_thing_unit_and_what_is_accepted() -> None:
    with pytest.raises(
        UnitError, match=r"^creatinine: unit 'IU/L' is not accepted; give one of: mg/dL, µmol/L, mmol/L$"
    ):
        shared_inputs.CREATININE_MG_DL.measure.read([1.0, "IU/L"], "creatinine")


def test_every_unit_that_a_message_offers_is_accepted() -> None:
    assert len(QUANTITIES) >= 35
    for item in QUANTITIES.values():
        measure = item.measure
        middle = (measure.low + measure.high) / 2
        for unit in measure.accepts:
            there = convert(middle, measure.unit, unit, substance=measure.substance)
            value, line = measure.read([there, unit], item.name)
            assert value == pytest.approx(middle, rel=1e-9), (item.name, unit)
            assert line.startswith(item.name)


@settings(deadline=None, max_examples=200)
@given(name=st.sampled_from(sorted(QUANTITIES)), share=st.just(0.0) | st.floats(1e-9, 1), data=st.data())
def test_there_and_back_is_the_same(name: str, share: float, data: st.DataObject) -> None:
    measure = QUANTITIES[name].measure
    value = float(f"{measure.low + share * (measure.high - measure.low):.6g}")
    unit = data.draw(st.sampled_from(measure.accepts or (measure.unit,)))
    there = convert(value, measure.unit, unit, substance=measure.substance)
    # A laboratory prints six digits: its value comes back as the same float, so no threshold is crossed on the way.
    assert convert(there, unit, measure.unit, substance=measure.substance) == pytest.approx(value, rel=1e-13)
    assert measure.read([there, unit], name)[0] == value


@settings(deadline=None, max_examples=100)
@given(value=st.floats(-1e6, 1e6), scale=st.sampled_from([("mg", "g"), ("µg", "mg"), ("cm", "m"), ("h", "day")]))
def test_conversion_is_odd_and_monotonic(value: float, scale: tuple[str, str]) -> None:
    unit, to = scale
    assert convert(-value, unit, to) == -convert(value, unit, to)
    assert convert(value, unit, to) <= convert(value + 1.0, unit, to)


def test_the_same_unit_passes_unchanged() -> None:
    assert convert(0.1 + 0.2, "mg/dL", "MG/dl") == 0.1 + 0.2


def test_quantities_are_inputs() -> None:
    assert all(isinstance(item, Input) and item.expects for item in QUANTITIES.values())
