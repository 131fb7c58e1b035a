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
from tests.case_tables import tabled


def convert(
    value: float, unit: str, compound: Compound, target: str
) -> tuple[float, list[str]]:
    row = Entities({"x": [value, unit]})
    return concentration(row, "x", compound, target), row.notes


@tabled("value", "unit", "name", "target", "expected")
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
