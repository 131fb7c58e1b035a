"""Pneumonia severity index and CURB-65."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.infection import curb_65

CURB: dict[str, Any] = {
    "confusion": False,
    "bun_mg_dl": 15,
    "respiratory_rate_per_min": 16,
    "systolic_mm_hg": 120,
    "diastolic_mm_hg": 80,
    "age_years": 50,
}


def psi_entities(**changes: object) -> dict[str, Any]:
    return {
        "age": [50, "years"],
        "sex": "Male",
        "respiratory rate": [16, "breaths per minute"],
        "Systolic Blood Pressure": [120, "mm Hg"],
        "Temperature": [37, "degrees celsius"],
        "Heart Rate or Pulse": [80, "beats per minute"],
        "pH": 7.4,
        "Blood Urea Nitrogen (BUN)": [15, "mg/dL"],
        "Sodium": [140, "mmol/L"],
        "Glucose": [100, "mg/dL"],
        "Hematocrit": [42, "%"],
        "PaO2": [80, "mm Hg"],
        **changes,
    }


@pytest.mark.parametrize(
    ("name", "value", "points"),
    [
        ("Temperature", [104, "degrees fahrenheit"], 15),  # 40 °C exactly
        ("Temperature", [103.9, "degrees fahreinheit"], 0),
        ("Temperature", [38, "degrees celsisus"], 0),
        ("PaO2", [8.0, "kPa"], 0),
        ("PaO2", [7.9, "kPa"], 10),
        ("Glucose", [13.8, "mmol/L"], 0),
        ("Glucose", [13.9, "mmol/L"], 10),
        ("Liver disease severity", True, 20),
        ("Liver disease history", True, 20),
        ("Liver disease severity", "Mild", 20),
        ("Renal disease", True, 10),
        ("Renal disease history", True, 10),
        ("Congestive Heart Faliure", True, 10),
    ],
)
def test_names_and_units_of_psi(name: str, value: object, points: int) -> None:
    assert calculate(29, psi_entities(**{name: value})).answer == 50 + points


@pytest.mark.parametrize("urea", [{"bun_mg_dl": None}, {"bun_mg_dl": 20, "urea_mmol_l": 8}])
def test_curb_65_needs_one_urea(urea: dict[str, Any]) -> None:
    with pytest.raises(CalculatorInputError, match="one of bun_mg_dl and urea_mmol_l is needed; got "):
        curb_65(**{**CURB, **urea})


@pytest.mark.parametrize(
    ("urea", "points", "shown"),
    [
        ([19, "mg/dL"], 0, "BUN 19 mg/dL is 19 or less: +0"),
        ([19.1, "mg/dL"], 1, "BUN 19.1 mg/dL is over 19: +1"),
        (19.1, 1, "BUN 19.1 mg/dL is over 19: +1"),
        ("19.1 mg/dL", 1, "BUN 19.1 mg/dL is over 19: +1"),
        ([190, "mg/L"], 0, "BUN 19 mg/dL is 19 or less: +0"),
        ([7.0, "mmol/L"], 0, "Urea 7 mmol/L is 7 or less: +0"),
        ("7.1 mmol/L", 1, "Urea 7.1 mmol/L is over 7: +1"),
        ([7100, "µmol/L"], 1, "Urea 7.1 mmol/L is over 7: +1"),
    ],
)
def test_urea_is_judged_in_the_unit_it_came_in(urea: object, points: int, shown: str) -> None:
    entities = {
        "Blood Urea Nitrogen (BUN)": urea,
        "respiratory rate": [16, "breaths per minute"],
        "Systolic Blood Pressure": [120, "mm hg"],
        "Diastolic Blood Pressure": [80, "mm hg"],
        "age": [50, "years"],
    }
    result = calculate(45, entities)
    assert result.answer == points
    assert shown in result.explanation


@pytest.mark.parametrize(
    "urea",
    [[19, "furlongs"], [0.001, "mmol/L"], [-3, "mg/dL"], "much", [7, "mol"], pytest.param(10**5000, id="huge"), True],
)
def test_unreadable_urea(urea: object) -> None:
    with pytest.raises(CalculatorInputError, match=r"CURB-65 .*Blood Urea Nitrogen \(BUN\): "):
        calculate(45, {"Blood Urea Nitrogen (BUN)": urea, "age": [50, "years"]})
