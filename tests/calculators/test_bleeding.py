"""HAS-BLED and the Glasgow-Blatchford score."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import calculate


@pytest.mark.parametrize(
    ("drinks", "points"),
    [(7, 0), (8, 1), ([8, "drinks per week"], 1), ([1, "drinks/day"], 0), ([1.2, "drinks/day"], 1)],
)
def test_drinks(drinks: object, points: int) -> None:
    assert calculate(25, {"age": [50, "years"], "Number of Alcoholic Drinks Per Week": drinks}).answer == points


@pytest.mark.parametrize(
    ("urea", "points"), [(6.4, 0), (6.5, 2), (7.9, 2), (8.0, 3), (9.9, 3), (10.0, 4), (24.9, 4), (25.0, 6)]
)
def test_the_classes_of_urea_are_those_of_the_paper_in_mmol(urea: float, points: int) -> None:
    entities = {
        "sex": "Male",
        "Hemoglobin": [150, "g/L"],
        "Systolic Blood Pressure": [120, "mm Hg"],
        "Heart Rate or Pulse": [80, "beats per minute"],
        "Blood Urea Nitrogen (BUN)": [urea, "mmol/L"],
    }
    assert calculate(27, entities).answer == points
