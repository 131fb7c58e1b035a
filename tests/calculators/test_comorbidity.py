"""Charlson comorbidity index."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate


@pytest.mark.parametrize(
    ("name", "value", "points"),
    [
        ("Liver disease severity", "None", 0),
        ("Liver disease severity", "Mild", 1),
        ("Liver disease severity", "Moderate to Severe", 3),
        ("Liver disease severity", "Moderate", 3),
        ("Liver disease severity", "Severe", 3),
        ("Diabetes mellitus criteria for CCI rule", "None or Diet-controlled", 0),
        ("Diabetes mellitus criteria for CCI rule", "Uncomplicated", 1),
        ("Diabetes mellitus", "End-organ damage", 2),
        ("Solid tumor", "None", 0),
        ("Solid tumor", False, 0),
        ("Solid tumor", True, 2),  # the least it can mean
        ("Solid tumor", "Localized", 2),
        ("Solid tumor", "Metastatic", 6),
        ("Moderate to severe Chronic Kidney Disease", "Severe", 2),
        ("Moderate to severe Chronic Kidney Disease", "Mild", 0),
        ("Chronic Obstructive Pulmonary Disease", True, 1),
        ("Chronic Pulmonary Disease", True, 1),
        ("Congestive Heart Faliure", True, 1),
    ],
)
def test_names_and_words_of_the_data(name: str, value: object, points: int) -> None:
    result = calculate(32, {"age": [40, "years"], name: value})
    assert result.answer == points
    assert not result.ignored


def test_an_unknown_class_is_an_error() -> None:
    with pytest.raises(
        CalculatorInputError, match="Solid tumor: expected one of 'None', 'Localized', 'Metastatic'; got"
    ):
        calculate(32, {"age": [40, "years"], "Solid tumor": "benign"})
