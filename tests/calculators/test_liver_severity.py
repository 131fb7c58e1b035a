"""Child-Pugh score."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate

LABS: dict[str, Any] = {"Bilirubin": [1, "mg/dL"], "Albumin": [4, "g/dL"], "international normalized ratio": 1.0}


@pytest.mark.parametrize(
    ("name", "word", "points"),
    [
        ("Ascites", "Absent", 5),
        ("Ascites", "SLIGHT", 6),
        ("Ascites", "Moderate", 7),
        ("Ascites", "severe", 7),
        ("Encephalopathy", "No Encephalopathy", 5),
        ("Encephalopathy", "Grade 0", 5),
        ("Encephalopathy", "grade 1-2", 6),
        ("Encephalopathy", "Grade 3-4", 7),
        ("Encephalopathy", "Grade 4", 7),
    ],
)
def test_words(name: str, word: str, points: int) -> None:
    assert calculate(15, {**LABS, name: word}).answer == points


def test_missing_classes_are_the_lowest() -> None:
    result = calculate(15, LABS)
    assert result.answer == 5
    assert result.missing_taken_absent == ("Ascites", "Encephalopathy")


def test_an_unknown_word_is_an_error() -> None:
    with pytest.raises(
        CalculatorInputError, match="Ascites: expected one of 'absent', 'slight', 'moderate'; got 'wet'"
    ):
        calculate(15, {**LABS, "Ascites": "wet"})


@pytest.mark.parametrize(("bilirubin", "points"), [(34.2, 5), (34.3, 6), (51.3, 6), (51.4, 7)])
def test_micromoles_use_the_molar_mass_of_bilirubin(bilirubin: float, points: int) -> None:
    # 584.66 g/mol: 2 mg/dL is 34.208 and 3 mg/dL is 51.312 µmol/L.
    assert calculate(15, {**LABS, "Bilirubin": [bilirubin, "µmol/L"]}).answer == points
