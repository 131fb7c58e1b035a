"""APACHE II."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.acute_physiology import apache_ii

BASE: dict[str, Any] = {
    "temperature_c": 37,
    "systolic_mm_hg": 120,
    "diastolic_mm_hg": 80,
    "heart_rate_per_min": 80,
    "respiratory_rate_per_min": 16,
    "fio2_percent": 21,
    "aa_gradient_mm_hg": None,
    "pao2_mm_hg": 95,
    "ph": 7.4,
    "sodium_mmol_l": 140,
    "potassium_mmol_l": 4,
    "creatinine_mg_dl": 1,
    "acute_renal_failure": False,
    "chronic_renal_failure": False,
    "hematocrit_percent": 42,
    "white_cells_10e9_l": 8,
    "glasgow_coma_score": 15,
    "age_years": 30,
    "chronic_illness": False,
    "surgery": "nonoperative",
}
# parameter: (value, points) just below, at and above each bound of the published table.
TABLE: dict[str, list[tuple[float, int]]] = {
    "temperature_c": [
        *((29.9, 4), (30, 3), (31.9, 3), (32, 2), (33.9, 2), (34, 1), (35.9, 1), (36, 0), (38.4, 0), (38.5, 1)),
        *((38.9, 1), (39, 3), (40.9, 3), (41, 4)),
    ],
    "heart_rate_per_min": [
        *(
            (39, 4),
            (40, 3),
            (54, 3),
            (55, 2),
            (69, 2),
            (70, 0),
            (109, 0),
            (110, 2),
            (139, 2),
            (140, 3),
            (179, 3),
            (180, 4),
        ),
    ],
    "respiratory_rate_per_min": [
        *((5, 4), (6, 2), (9, 2), (10, 1), (11, 1), (12, 0), (24, 0), (25, 1), (34, 1), (35, 3), (49, 3), (50, 4)),
    ],
    "pao2_mm_hg": [(54, 4), (54.9, 4), (55, 3), (60, 3), (60.5, 1), (61, 1), (70, 1), (70.1, 0), (71, 0)],
    "ph": [
        *((7.14, 4), (7.15, 3), (7.24, 3), (7.25, 2), (7.32, 2), (7.33, 0), (7.49, 0), (7.5, 1), (7.59, 1), (7.6, 3)),
        *((7.69, 3), (7.7, 4)),
    ],
    "sodium_mmol_l": [
        *((110, 4), (111, 3), (119, 3), (120, 2), (129, 2), (130, 0), (149, 0), (150, 1), (154, 1), (155, 2), (159, 2)),
        *((160, 3), (179, 3), (180, 4)),
    ],
    "potassium_mmol_l": [
        *(
            (2.4, 4),
            (2.5, 2),
            (2.9, 2),
            (3, 1),
            (3.4, 1),
            (3.5, 0),
            (5.4, 0),
            (5.5, 1),
            (5.9, 1),
            (6, 3),
            (6.9, 3),
            (7, 4),
        ),
    ],
    "creatinine_mg_dl": [(0.59, 2), (0.6, 0), (1.4, 0), (1.5, 2), (1.9, 2), (2, 3), (3.4, 3), (3.5, 4)],
    "hematocrit_percent": [
        *((19.9, 4), (20, 2), (29.9, 2), (30, 0), (45.9, 0), (46, 1), (49.9, 1), (50, 2), (59.9, 2), (60, 4)),
    ],
    "white_cells_10e9_l": [
        *((0.9, 4), (1, 2), (2.9, 2), (3, 0), (14.9, 0), (15, 1), (19.9, 1), (20, 2), (39.9, 2), (40, 4)),
    ],
    "glasgow_coma_score": [(15, 0), (14, 1), (3, 12)],
    "age_years": [(44, 0), (45, 2), (54, 2), (55, 3), (64, 3), (65, 5), (74, 5), (75, 6)],
}


@pytest.mark.parametrize(
    ("parameter", "value", "points"), [(name, *row) for name, rows in TABLE.items() for row in rows]
)
def test_thresholds(parameter: str, value: float, points: int) -> None:
    assert apache_ii(**{**BASE, parameter: value}) == points


@pytest.mark.parametrize(
    ("pressure", "points"),
    [(49, 4), (49.1, 2), (50, 2), (69, 2), (70, 0), (109, 0), (110, 2), (129, 2), (130, 3), (159, 3), (160, 4)],
)
def test_mean_arterial_pressure(pressure: float, points: int) -> None:
    assert apache_ii(**{**BASE, "systolic_mm_hg": pressure, "diastolic_mm_hg": pressure}) == points


@pytest.mark.parametrize(
    ("gradient", "points"), [(199, 0), (200, 2), (349, 2), (349.5, 2), (350, 3), (499, 3), (500, 4)]
)
def test_the_gradient_counts_from_half_oxygen_on(gradient: float, points: int) -> None:
    assert apache_ii(**{**BASE, "fio2_percent": 50, "pao2_mm_hg": 40, "aa_gradient_mm_hg": gradient}) == points
    assert apache_ii(**{**BASE, "fio2_percent": 49.9, "aa_gradient_mm_hg": gradient}) == 0


@pytest.mark.parametrize(
    ("fio2", "message"),
    [(50, "A-a gradient, which decides the oxygen points at FiO2 of 50 % or more"), (21, "PaO2, which decides")],
)
def test_the_oxygen_value_of_the_range_is_needed(fio2: float, message: str) -> None:
    with pytest.raises(CalculatorInputError, match=f"missing required input: {message}"):
        apache_ii(**{**BASE, "fio2_percent": fio2, "pao2_mm_hg": None, "aa_gradient_mm_hg": None})


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({"creatinine_mg_dl": 3.5, "acute_renal_failure": True}, 8),
        ({"creatinine_mg_dl": 0.5, "acute_renal_failure": True}, 4),
        ({"creatinine_mg_dl": 1.0, "acute_renal_failure": True}, 0),
        ({"creatinine_mg_dl": 3.5, "chronic_renal_failure": True}, 4),
        ({"creatinine_mg_dl": 3.5, "acute_renal_failure": True, "chronic_renal_failure": True}, 8),
        ({"surgery": "emergency"}, 0),
        ({"chronic_illness": True}, 5),
        ({"chronic_illness": True, "surgery": "emergency"}, 5),
        ({"chronic_illness": True, "surgery": "elective"}, 2),
    ],
)
def test_kidneys_and_chronic_health(changes: dict[str, Any], points: int) -> None:
    assert apache_ii(**{**BASE, **changes}) == points


def test_the_worst_of_everything() -> None:
    worst = {
        "temperature_c": 25,
        "systolic_mm_hg": 40,
        "diastolic_mm_hg": 20,
        "heart_rate_per_min": 30,
        "respiratory_rate_per_min": 4,
        "pao2_mm_hg": 40,
        "ph": 7,
        "sodium_mmol_l": 190,
        "potassium_mmol_l": 8,
        "creatinine_mg_dl": 5,
        "acute_renal_failure": True,
        "hematocrit_percent": 15,
        "white_cells_10e9_l": 0.5,
        "glasgow_coma_score": 3,
        "age_years": 80,
        "chronic_illness": True,
    }
    assert apache_ii(**{**BASE, **worst}) == 71


def test_a_coma_score_in_between_is_an_error() -> None:
    with pytest.raises(CalculatorInputError, match="a whole number from 3 to 15"):
        apache_ii(**{**BASE, "glasgow_coma_score": 13.5})


def entities() -> dict[str, Any]:
    """The healthy patient above, in the dataset's names and units."""
    return {
        "Temperature": [37, "degrees celsisus"],
        "Systolic Blood Pressure": [120, "mm Hg"],
        "Diastolic Blood Pressure": [80, "mm Hg"],
        "Heart Rate or Pulse": [80, "beats per minute"],
        "respiratory rate": [16, "breaths per minute"],
        "FiO₂": [21, "%"],
        "Partial pressure of oxygen (PaO₂) for Apache II": [95, "mm Hg"],
        "pH": 7.4,
        "Sodium": [140, "mEq/L"],
        "Potassium": [4, "mEq/L"],
        "creatinine": [1, "mg/dL"],
        "Chronic Renal Failure": "Not mentinoed",
        "Hematocrit": [42, "%"],
        "White blood cell count": [8000, "µL"],
        "Glasgow Coma Score": 15.0,
        "age": [30, "years"],
    }


def test_names_and_spellings_of_the_data() -> None:
    result = calculate(28, entities())
    assert result.answer == 0
    assert "Chronic Renal Failure" in result.missing_taken_absent
    assert not result.ignored


@pytest.mark.parametrize(
    ("surgery", "points"), [("Nonoperative ", 5), ("NONOPERATIVE", 5), ("Emergency", 5), ("Elective", 2), (None, 5)]
)
def test_severe_illness_without_a_kind_of_admission_is_not_operative(surgery: str | None, points: int) -> None:
    patient = {**entities(), "History of severe organ failure or immunocompromise": True, "Surgery Type": surgery}
    assert calculate(28, patient).answer == points
