"""Units of the labels; expected values are calculated by hand, with the rounding of each step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.lab.v1_labels import entities
from medical_tasks.lab.v1_labels.entities import (
    Compound,
    Entities,
    concentration,
    exact_concentration,
)


def convert(
    value: float, unit: str, compound: Compound, target: str
) -> tuple[float, list[str]]:
    row = Entities({"x": [value, unit]})
    return concentration(row, "x", compound, target), row.notes


@pytest.mark.parametrize(
    ("value", "unit", "name", "target", "expected"),
    [
        # 250e-6 mol · 113.12 = 0.02828 -> 0.028 g -> 28 mg -> / 10
        (250.0, "µmol/L", "CREATININE", "mg/dL", 2.8),
        # 2.4 mmol -> 0.0024 -> 0.002 mol · 40.08 = 0.08016 -> 0.08 g -> 80 mg -> / 10:
        # the result comes in steps of 4.
        (2.4, "mmol/L", "CALCIUM", "mg/dL", 8.0),
        # 3.4 mmol -> 0.003 mol · 386.654 = 1.159962 -> 1.16 g -> 1160 mg -> / 10
        (3.4, "mmol/L", "CHOLESTEROL", "mg/dL", 116.0),
        # 200 mg -> 0.2 g / 386.65 = 0.00051726 -> 0.000517 mol -> 0.517 mmol -> / 0.1
        (200.0, "mg/dL", "CHOLESTEROL_FRAMINGHAM", "mmol/L", 5.17),
        # mEq and mmol of the same volume differ by the valence alone.
        (140.0, "mEq/L", "SODIUM", "mmol/L", 140.0),
        (2.5, "mmol/L", ["calcium", 40.08, 2], "mEq/L", 5.0),
        # 322 mg -> 0.322 g / 22.99 = 0.014006 -> 0.014 mol -> 14 mmol -> 14 mEq ->
        # / 0.1
        (322.0, "mg/dL", "SODIUM", "mEq/L", 140.0),
        # 6 mEq / 2 = 3 mmol -> 0.003 mol · 40.08 = 0.12024 -> 0.12 g -> 120 mg -> / 10
        (6.0, "mEq/L", "CALCIUM", "mg/dL", 12.0),
        # For the same amount in another volume, only the rounded factor divides the
        # value.
        (35.0, "g/L", "ALBUMIN", "g/dL", 3.5),
        (3.47, "mg/mL", "CREATININE", "mg/dL", 347.0),
        # As in the table of the labels, pmol has the factor of nmol.
        (500000.0, "pmol/L", "GLUCOSE", "mg/dL", 9.0),
        # 1400e-6 mol is above 0.001 and loses its fourth decimal:
        # 0.001 · 113.12 = 0.11312 -> 0.113 g
        (1400.0, "µmol/L", "CREATININE", "mg/dL", 11.3),
        (0.0, "µmol/L", "CREATININE", "mg/dL", 0.0),
    ],
)
def test_concentration(
    value: float, unit: str, name: str | list[Any], target: str, expected: float
) -> None:
    compound = getattr(entities, name) if isinstance(name, str) else Compound(*name)
    assert convert(value, unit, compound, target)[0] == expected
    exact = exact_concentration(value, unit, target, compound)
    assert expected == pytest.approx(exact, rel=0.3) or unit == "pmol/L"


def test_a_loss_by_rounding_is_reported() -> None:
    assert convert(254.9, "µmol/L", entities.CREATININE, "mg/dL")[1] == [
        "x: 254.9 µmol/L became 2.9 mg/dL by rounding each step (exactly 2.883)"
    ]


@given(st.floats(min_value=20, max_value=999))
def test_creatinine_comes_in_steps_of_a_tenth(micromoles: float) -> None:
    value, _ = convert(micromoles, "µmol/L", entities.CREATININE, "mg/dL")
    assert value * 10 == pytest.approx(round(value * 10), abs=1e-6)
    # half a step of the grams, and half a µmol for the third digit of the moles
    assert value == pytest.approx(
        exact_concentration(micromoles, "µmol/L", "mg/dL", entities.CREATININE),
        abs=0.056,
    )
