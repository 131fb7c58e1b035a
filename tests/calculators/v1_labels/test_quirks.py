"""One case or more for each quirk."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators.v1_labels import label
from tests.calculators.v1_labels.label_cases import APACHE, BLEEDING, CASES, CELSIUS_MISSPELT, SOFA, YEARS


@pytest.mark.parametrize(("calculator_id", "entities", "answer", "note"), CASES)
def test_a_quirk(calculator_id: int, entities: dict[str, Any], answer: float | str, note: str | None) -> None:
    result = label(calculator_id, entities)
    assert result.answer == answer
    assert result.note == note


COMA_ADDED = "Glasgow Coma Score added instead of 15 minus it"
WHITE_CELLS = "white cells compared per mm³ with limits in 10⁹/L"


@pytest.mark.parametrize(
    ("change", "points", "note"),
    [
        ({}, 0, None),
        ({"age": [45.0, YEARS]}, 0, "age of 45 scores 0"),
        ({"age": [75.0, YEARS]}, 0, "age of 75 scores 0"),
        ({"age": [76.0, YEARS]}, 6, None),
        ({"Heart Rate or Pulse": [39.0, "bpm"]}, 0, "low heart rate scores 0"),
        ({"pH": 7.1}, 0, "low pH scores 0"),
        ({"Sodium": [100.0, "mEq/L"]}, 0, "low sodium scores 0"),
        ({"Systolic Blood Pressure": [69.0, "x"], "Diastolic Blood Pressure": [69.0, "x"]}, 0, "low mean arterial"),
        ({"Systolic Blood Pressure": [110.0, "x"], "Diastolic Blood Pressure": [110.0, "x"]}, 2, None),
        ({"Potassium": [7.0, "mEq/L"], "Hematocrit": [46.0, "%"]}, 4 + 1, None),
        ({"creatinine": [3.5, "mg/dL"]}, 0, "raised creatinine without a renal failure flag scores 0"),
        ({"creatinine": [3.5, "mg/dL"], "Acute renal failure": True}, 8, None),
        ({"creatinine": [1.5, "mg/dL"], "Chronic Renal Failure": True}, 2, None),
        ({"creatinine": [0.5, "mg/dL"], "Acute renal failure": True}, 2, "not doubled"),
        (CELSIUS_MISSPELT, 4, "Temperature: 37 'degrees celsisus' counts as Fahrenheit"),
        ({"History of severe organ failure or immunocompromise": True}, 0, "surgery type None scores 0"),
        (
            {"History of severe organ failure or immunocompromise": True, "Surgery Type": "Nonoperative "},
            0,
            "surgery type 'Nonoperative ' scores 0",
        ),
        ({"History of severe organ failure or immunocompromise": True, "Surgery Type": "Emergency"}, 5, None),
        ({"Partial pressure of oxygen (PaO₂) for Apache II": [60.5, "mm Hg"]}, 0, "PaO₂ between 60 and 61 scores 0"),
        ({"FiO₂": [50.0, "%"], "A-a gradient": 349.5}, 0, "A-a gradient between 349 and 350 scores 0"),
        ({"FiO₂": [50.0, "%"], "A-a gradient": 350}, 3, None),
    ],
)
def test_apache(change: dict[str, Any], points: int, note: str | None) -> None:
    # 15 for the coma score and 4 for white cells, where a healthy patient has 0
    result = label(28, {**APACHE, **change})
    assert result.answer == 15 + 4 + points
    assert result.note is not None
    others = [told for told in result.note.split("; ") if told not in (COMA_ADDED, WHITE_CELLS)]
    assert len(others) == (note is not None)
    assert note is None or note in others[0]


@pytest.mark.parametrize(
    ("change", "points"),
    [
        ({}, 2 + 2),  # ratio 95 / 21 = 4.5, not ventilated 2; no dopamine 2
        ({"On mechanical ventilation": True}, 4 + 2),
        ({"Continous positive airway pressure": True}, 0 + 2),
        ({"DOPamine": [16.0, "mcg/kg/min"]}, 2 + 3),
        ({"DOPamine": [16.0, "mcg/kg/min"], "DOBUTamine": [1.0, "mcg/kg/min"]}, 2 + 2),
        ({"EPINEPHrine": [0.5, "mcg/kg/min"]}, 2 + 2),
        ({"Systolic Blood Pressure": [80.0, "mm Hg"], "Diastolic Blood Pressure": [50.0, "mm Hg"]}, 2 + 1),
        ({"creatinine": [5.0, "mg/dL"]}, 2 + 2 + 4),
        ({"creatinine": [5.0, "mg/dL"], "Urine Output": [100, "mL/day"]}, 2 + 2),
        ({"creatinine": None, "Urine Output": [100, "mL/day"]}, 2 + 2 + 3),
        ({"Bilirubin": [12.0, "mg/dL"], "Platelet count": [19_999.0, "µL"]}, 2 + 2 + 4 + 4),
        ({"Glasgow Coma Score": 5.0}, 2 + 2 + 4),
        ({"Glasgow Coma Score": 9.5}, 2 + 2),  # between the classes
    ],
)
def test_sofa(change: dict[str, Any], points: int) -> None:
    assert label(43, {**SOFA, **change}).answer == points


def test_names_of_later_versions_are_found() -> None:
    later = {"age": [40.0, YEARS], "Diabetes mellitus": "uncomplicated", "Chronic Pulmonary Disease": True}
    assert label(32, later).answer == 2
    assert label(11, {"Heart Rate or Pulse": [60, "bpm"], "QT Interval": [400, "msec"]}).answer == 400
    assert label(27, {**BLEEDING, "Melena Present": True, "Recent Syncope": True}).answer == 3
    assert label(33, {"Symptom onset <=3 days": True, "Absence of cough or coryza": False}).answer == 1
