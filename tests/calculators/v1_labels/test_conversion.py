"""The labels' units. Expected values are worked out by hand, step by step, with the rounding of each step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.calculators import CalculatorInputError
from medical_tasks.calculators.v1_labels import entities
from medical_tasks.calculators.v1_labels.entities import (
    Compound,
    Entities,
    amount_in,
    concentration,
    count_per,
    exact_concentration,
)


def convert(value: float, unit: str, compound: Compound, target: str) -> tuple[float, list[str]]:
    row = Entities({"x": [value, unit]})
    return concentration(row, "x", compound, target), row.notes


@pytest.mark.parametrize(
    ("value", "unit", "compound", "target", "expected"),
    [
        # 250e-6 mol · 113.12 = 0.02828 -> 0.028 g -> 28 mg -> / 10
        (250.0, "µmol/L", entities.CREATININE, "mg/dL", 2.8),
        # 2.4 mmol -> 0.0024 -> 0.002 mol · 40.08 = 0.08016 -> 0.08 g -> 80 mg -> / 10: steps of 4
        (2.4, "mmol/L", entities.CALCIUM, "mg/dL", 8.0),
        # 3.4 mmol -> 0.003 mol · 386.654 = 1.159962 -> 1.16 g -> 1160 mg -> / 10
        (3.4, "mmol/L", entities.CHOLESTEROL, "mg/dL", 116.0),
        # 200 mg -> 0.2 g / 386.65 = 0.00051726 -> 0.000517 mol -> 0.517 mmol -> / 0.1
        (200.0, "mg/dL", entities.CHOLESTEROL_FRAMINGHAM, "mmol/L", 5.17),
        # mEq and mmol by valence, same volume
        (140.0, "mEq/L", entities.SODIUM, "mmol/L", 140.0),
        (2.5, "mmol/L", Compound("calcium", 40.08, 2), "mEq/L", 5.0),
        # 322 mg -> 0.322 g / 22.99 = 0.014006 -> 0.014 mol -> 14 mmol -> 14 mEq -> / 0.1
        (322.0, "mg/dL", entities.SODIUM, "mEq/L", 140.0),
        # 6 mEq / 2 = 3 mmol -> 0.003 mol · 40.08 = 0.12024 -> 0.12 g -> 120 mg -> / 10
        (6.0, "mEq/L", entities.CALCIUM, "mg/dL", 12.0),
        # same amount, other volume: the value is divided by the rounded factor alone
        (35.0, "g/L", entities.ALBUMIN, "g/dL", 3.5),
        (3.47, "mg/mL", entities.CREATININE, "mg/dL", 347.0),
        # pmol carries the factor of nmol
        (5e5, "pmol/L", entities.GLUCOSE, "mg/dL", 9.0),
    ],
)
def test_concentration(value: float, unit: str, compound: Compound, target: str, expected: float) -> None:
    assert convert(value, unit, compound, target)[0] == expected


def test_a_loss_by_rounding_is_told() -> None:
    assert convert(254.9, "µmol/L", entities.CREATININE, "mg/dL")[1] == [
        "x: 254.9 µmol/L became 2.9 mg/dL by rounding each step (exactly 2.883)"
    ]


@settings(deadline=None, max_examples=100)
@given(st.floats(min_value=20, max_value=999))
def test_creatinine_comes_in_steps_of_a_tenth(micromoles: float) -> None:
    value, _ = convert(micromoles, "µmol/L", entities.CREATININE, "mg/dL")
    assert value * 10 == pytest.approx(round(value * 10), abs=1e-6)
    # half a step of the grams, and half a µmol for the third digit of the moles
    assert value == pytest.approx(exact_concentration(micromoles, "µmol/L", "mg/dL", entities.CREATININE), abs=0.056)


def test_creatinine_of_a_millimole_and_more_comes_in_steps_of_eleven() -> None:
    # 1400e-6 mol is above 0.001 and loses its fourth decimal: 0.001 · 113.12 = 0.11312 -> 0.113 g
    assert convert(1400.0, "µmol/L", entities.CREATININE, "mg/dL")[0] == 11.3


@pytest.mark.parametrize(
    ("value", "unit", "target", "expected"),
    [
        (180_000.0, "µL", "µL", 180_000.0),
        (180_000.0, "mm^3", "µL", 180_000.0),
        (180_000.0, "µL", "L", 1.8e11),
        (1.8e11, "L", "µL", 180_000.0),
        (9000.0, "µL", "m^3", 9e12),
        (9.0, "m^3", "m^3", 9.0),
    ],
)
def test_counts(value: float, unit: str, target: str, expected: float) -> None:
    assert count_per(Entities({"x": [value, unit]}), "x", target) == expected


def test_counts_in_an_unknown_unit() -> None:
    with pytest.raises(CalculatorInputError, match=r"x: the label rule knew only L, dL, .*; got '10\^9/L'"):
        count_per(Entities({"x": [9.0, "10^9/L"]}), "x", "L")


def test_doses() -> None:
    assert amount_in(0.5, "g", "mg", "dose") == 500
    assert amount_in(1234.5678, "mg", "mg", "dose") == 1234.5678
    assert amount_in(20.0, "µg", "mg", "dose") == 0.02
    with pytest.raises(CalculatorInputError, match="dose: the label rule knew only kg, g, mg, µg; got 'mcg'"):
        amount_in(20.0, "mcg", "mg", "dose")
