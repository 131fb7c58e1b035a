"""HAS-BLED and the Glasgow-Blatchford score."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import calculate
from medical_tasks.calculators.bleeding import glasgow_blatchford, has_bled

HAS_BLED_FLAGS = (
    *("hypertension", "renal_disease", "liver_disease", "stroke", "bleeding", "labile_inr", "medication"),
)
HAS_BLED: dict[str, Any] = {**dict.fromkeys(HAS_BLED_FLAGS, False), "age_years": 50, "drinks_per_week": 0}
GBS: dict[str, Any] = {
    "bun_mg_dl": 10,
    "sex": "male",
    "hemoglobin_g_dl": 15,
    "systolic_mm_hg": 120,
    "heart_rate_per_min": 80,
    "melena": False,
    "syncope": False,
    "hepatic_disease": False,
    "cardiac_failure": False,
}


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({}, 0),
        *(({name: True}, 1) for name in HAS_BLED_FLAGS),
        ({"age_years": 64}, 0),
        ({"age_years": 65}, 0),
        ({"age_years": 66}, 1),
        ({"drinks_per_week": 7}, 0),
        ({"drinks_per_week": 8}, 1),
        ({"drinks_per_week": 9}, 1),
        ({**dict.fromkeys(HAS_BLED_FLAGS, True), "age_years": 80, "drinks_per_week": 20}, 9),
    ],
)
def test_has_bled(changes: dict[str, Any], points: int) -> None:
    assert has_bled(**{**HAS_BLED, **changes}) == points


@pytest.mark.parametrize(
    ("drinks", "points"),
    [(7, 0), (8, 1), ([8, "drinks per week"], 1), ([1, "drinks/day"], 0), ([1.2, "drinks/day"], 1)],
)
def test_drinks(drinks: object, points: int) -> None:
    assert calculate(25, {"age": [50, "years"], "Number of Alcoholic Drinks Per Week": drinks}).answer == points


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({}, 0),
        ({"bun_mg_dl": 18.1}, 0),
        ({"bun_mg_dl": 18.2}, 2),
        ({"bun_mg_dl": 22.3}, 2),
        ({"bun_mg_dl": 22.4}, 3),
        ({"bun_mg_dl": 27.9}, 3),
        ({"bun_mg_dl": 28}, 4),
        ({"bun_mg_dl": 69.9}, 4),
        ({"bun_mg_dl": 70}, 6),
        ({"hemoglobin_g_dl": 13}, 0),
        ({"hemoglobin_g_dl": 12.9}, 1),
        ({"hemoglobin_g_dl": 12}, 1),
        ({"hemoglobin_g_dl": 11.9}, 3),
        ({"hemoglobin_g_dl": 10}, 3),
        ({"hemoglobin_g_dl": 9.9}, 6),
        ({"sex": "female", "hemoglobin_g_dl": 12}, 0),
        ({"sex": "female", "hemoglobin_g_dl": 11.9}, 1),
        ({"sex": "female", "hemoglobin_g_dl": 10}, 1),
        ({"sex": "female", "hemoglobin_g_dl": 9.9}, 6),
        ({"systolic_mm_hg": 110}, 0),
        ({"systolic_mm_hg": 109}, 1),
        ({"systolic_mm_hg": 100}, 1),
        ({"systolic_mm_hg": 99}, 2),
        ({"systolic_mm_hg": 90}, 2),
        ({"systolic_mm_hg": 89}, 3),
        ({"heart_rate_per_min": 99}, 0),
        ({"heart_rate_per_min": 100}, 1),
        ({"melena": True}, 1),
        ({"syncope": True}, 2),
        ({"hepatic_disease": True}, 2),
        ({"cardiac_failure": True}, 2),
        (
            {
                "bun_mg_dl": 90,
                "hemoglobin_g_dl": 7,
                "systolic_mm_hg": 80,
                "heart_rate_per_min": 120,
                **dict.fromkeys(("melena", "syncope", "hepatic_disease", "cardiac_failure"), True),
            },
            23,
        ),
    ],
)
def test_glasgow_blatchford(changes: dict[str, Any], points: int) -> None:
    assert glasgow_blatchford(**{**GBS, **changes}) == points


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
