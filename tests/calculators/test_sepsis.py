"""SOFA and SIRS."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import calculate
from medical_tasks.calculators.infection import sofa

SOFA: dict[str, Any] = {
    "pao2_mm_hg": 100,
    "fio2_percent": 21,
    "mechanical_ventilation": False,
    "cpap": False,
    "platelets_10e9_l": 250,
    "glasgow_coma_score": 15,
    "bilirubin_mg_dl": 0.8,
    "hypotension": False,
    "systolic_mm_hg": 120,
    "diastolic_mm_hg": 80,
    "dopamine_mcg_kg_min": 0,
    "dobutamine_mcg_kg_min": 0,
    "epinephrine_mcg_kg_min": 0,
    "norepinephrine_mcg_kg_min": 0,
    "creatinine_mg_dl": 0.9,
    "urine_ml_day": 1500,
}


def test_a_ratio_on_the_bound_is_free_of_binary_noise() -> None:
    exact = 0
    for tenths in range(150, 1000):  # FiO2 from 15.0 to 99.9 %, and the PaO2 of a ratio of 300
        fio2 = tenths / 10
        exact += sofa(**{**SOFA, "pao2_mm_hg": round(fio2 * 3, 1), "fio2_percent": fio2})
    assert exact == 850  # one point each, never two


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({"systolic_mm_hg": 70, "diastolic_mm_hg": 70}, 0),
        ({"systolic_mm_hg": 69, "diastolic_mm_hg": 69}, 1),
        ({"hypotension": True}, 0),  # measured pressures decide
        ({"hypotension": True, "systolic_mm_hg": None}, 1),
        ({"hypotension": True, "diastolic_mm_hg": None}, 1),
        ({"hypotension": False, "systolic_mm_hg": None}, 0),
        ({"systolic_mm_hg": 60, "diastolic_mm_hg": 40, "dobutamine_mcg_kg_min": 2}, 2),
        ({"dopamine_mcg_kg_min": 3, "norepinephrine_mcg_kg_min": 0.05}, 3),
        ({"dopamine_mcg_kg_min": 16, "norepinephrine_mcg_kg_min": 0.05}, 4),
        ({"creatinine_mg_dl": 2.5, "urine_ml_day": 450}, 3),  # the worse of the two
        ({"creatinine_mg_dl": 6, "urine_ml_day": 450}, 4),
        ({"creatinine_mg_dl": None, "urine_ml_day": None}, 0),
    ],
)
def test_circulation_and_kidney(changes: dict[str, Any], points: int) -> None:
    assert sofa(**{**SOFA, **changes}) == points


def test_the_circulation_is_told_with_its_numbers() -> None:
    steps: list[str] = []
    sofa(**{**SOFA, "hypotension": True}, say=steps.append)
    assert [line for line in steps if line.startswith("Circulation")] == [
        "Circulation: dopamine 0, dobutamine 0, epinephrine 0, norepinephrine 0 mcg/kg/min, MAP 93.3333 mm Hg is 70 or "
        "more, which decides over the reported hypotension: +0, total 0."
    ]


def test_sofa_at_its_worst() -> None:
    worst = {
        "pao2_mm_hg": 60,
        "fio2_percent": 80,
        "mechanical_ventilation": True,
        "platelets_10e9_l": 10,
        "glasgow_coma_score": 3,
        "bilirubin_mg_dl": 20,
        "norepinephrine_mcg_kg_min": 0.5,
        "creatinine_mg_dl": 6,
    }
    assert sofa(**{**SOFA, **worst}) == 24


def test_names_and_spellings_of_the_data() -> None:
    result = calculate(
        43,
        {
            "FiO₂": [50.0, "%"],
            "Partial pressure of oxygen (PaO₂) for Apache II": [90.0, "mm Hg"],
            "Continous positive airway pressure": True,
            "Platelet count": [90000.0, "µL"],
            "Bilirubin": [34.3, "µmol/L"],
            "norEPINEPHrine": [0.2, "mc/kg/min"],
            "Continuous veno-venous hemodialysis for ≥24 hours in the past week": True,
        },
    )
    assert result.answer == 3 + 2 + 2 + 4  # ratio 180 with support, platelets, bilirubin 2.005 mg/dL, norepinephrine
    assert result.ignored == ("Continuous veno-venous hemodialysis for ≥24 hours in the past week",)
    assert "Glasgow Coma Score: not given, taken as 15." in result.explanation


@pytest.mark.parametrize(
    ("count", "unit"), [(12000, "µL"), (12000, "mm^3"), (12000, "m^3"), (12e9, "L"), (12, "10^9/L")]
)
def test_white_cells_per_volume(count: float, unit: str) -> None:
    entities = {"Temperature": [37, "degrees celsius"], "Heart Rate or Pulse": [70, "bpm"]}
    assert calculate(51, {**entities, "White blood cell count": [count, unit]}).answer == 0
    assert calculate(51, {**entities, "White blood cell count": [count * 1.01, unit]}).answer == 1
