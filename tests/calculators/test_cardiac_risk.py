"""Revised cardiac risk index and HEART score."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import calculate

FACTORS = ("hypertension", "hypercholesterolemia", "diabetes", "obesity", "smoking", "family_history")
HEART: dict[str, Any] = {
    "suspicion": "slight",
    "electrocardiogram": "normal",
    "age_years": 30,
    **dict.fromkeys(FACTORS, False),
    "atherosclerotic_disease": False,
    "transient_ischemic_attack": False,
    "troponin": "normal",
}


@pytest.mark.parametrize(("creatinine", "points"), [(176.8, 0), (176.9, 1)])
def test_rcri_in_micromoles(creatinine: float, points: int) -> None:
    # 113.12 g/mol: 2 mg/dL is 176.80 µmol/L, and 176.8 is not over it.
    assert calculate(17, {"Pre-operative creatinine": [creatinine, "µmol/L"]}).answer == points


def test_rcri_takes_its_own_cerebrovascular_item() -> None:
    # The rows of v1.0 carry a second, contradicting entity that belongs to another score.
    result = calculate(17, {"History of cerebrovascular disease": True, "Cerebrovascular disease history": False})
    assert result.answer == 1
    assert result.ignored == ("Cerebrovascular disease history",)


@pytest.mark.parametrize(
    ("name", "word", "points"),
    [
        ("Suspicion History", "Slightly suspicious", 0),
        ("Suspicion History", "Moderately suspicious", 1),
        ("Suspicion History", "Highly suspicious", 2),
        ("Electrocardiogram Test", "Normal", 0),
        ("Electrocardiogram Test", "Non-specific repolarization disturbance", 1),
        ("Electrocardiogram Test", "Significant ST deviation", 2),
        ("Initial troponin", "less than or equal to normal limit", 0),
        ("Initial troponin", "between the normal limit or up to three times the normal limit", 1),
        ("Initial troponin", "greater than three times normal limit", 2),
        ("Diabetes mellitus criteria for CCI rule", True, 1),
        ("Diabetes mellitus", "Uncomplicated", 1),
    ],
)
def test_words_of_heart(name: str, word: object, points: int) -> None:
    assert calculate(18, {"age": [30, "years"], name: word}).answer == points
