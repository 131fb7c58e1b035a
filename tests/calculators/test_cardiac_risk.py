"""Revised cardiac risk index and HEART score."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import calculate
from medical_tasks.calculators.cardiac_risk import heart_score, revised_cardiac_risk_index

RCRI_FLAGS = (
    *("elevated_risk_surgery", "ischemic_heart_disease", "heart_failure", "cerebrovascular_disease", "insulin"),
)
RCRI: dict[str, Any] = {**dict.fromkeys(RCRI_FLAGS, False), "creatinine_mg_dl": 1.0}
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


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({}, 0),
        *(({name: True}, 1) for name in RCRI_FLAGS),
        ({"creatinine_mg_dl": 1.99}, 0),
        ({"creatinine_mg_dl": 2.0}, 0),
        ({"creatinine_mg_dl": 2.01}, 1),
        ({"creatinine_mg_dl": None}, 0),
        ({**dict.fromkeys(RCRI_FLAGS, True), "creatinine_mg_dl": 4}, 6),
    ],
)
def test_rcri(changes: dict[str, Any], points: int) -> None:
    assert revised_cardiac_risk_index(**{**RCRI, **changes}) == points


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
    ("changes", "points"),
    [
        ({}, 0),
        ({"suspicion": "moderate"}, 1),
        ({"suspicion": "high"}, 2),
        ({"electrocardiogram": "repolarization disturbance"}, 1),
        ({"electrocardiogram": "ST deviation"}, 2),
        ({"age_years": 44}, 0),
        ({"age_years": 45}, 1),
        ({"age_years": 64}, 1),
        ({"age_years": 65}, 2),
        ({"troponin": "up to 3 times the limit"}, 1),
        ({"troponin": "over 3 times the limit"}, 2),
        *(({name: True}, 1) for name in FACTORS),
        (dict.fromkeys(FACTORS[:2], True), 1),
        (dict.fromkeys(FACTORS[:3], True), 2),
        (dict.fromkeys(FACTORS, True), 2),
        ({"atherosclerotic_disease": True}, 2),  # by itself, whatever the number of factors
        ({"transient_ischemic_attack": True}, 2),
        ({"atherosclerotic_disease": True, "smoking": True}, 2),
        (
            {
                "suspicion": "high",
                "electrocardiogram": "ST deviation",
                "age_years": 80,
                "atherosclerotic_disease": True,
                "troponin": "over 3 times the limit",
            },
            10,
        ),
    ],
)
def test_heart(changes: dict[str, Any], points: int) -> None:
    assert heart_score(**{**HEART, **changes}) == points


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
