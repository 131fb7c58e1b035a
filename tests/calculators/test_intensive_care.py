"""Glasgow coma score and APACHE II."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.intensive_care import apache_ii, glasgow_coma_score, whole_coma_score

EYE = {"eyes open spontaneously": 4, "eye opening to verbal command": 3, "eye opening to pain": 2, "no eye opening": 1}
VERBAL = {"oriented": 5, "confused": 4, "inappropriate words": 3, "incomprehensible sounds": 2, "no verbal response": 1}
MOTOR = {
    "obeys commands": 6,
    "localizes pain": 5,
    "withdrawal from pain": 4,
    "flexion to pain": 3,
    "extension to pain": 2,
    "no motor response": 1,
}


def test_every_combination_of_words_is_its_sum() -> None:
    seen = 0
    for eye, eye_points in EYE.items():
        for verbal, verbal_points in VERBAL.items():
            for motor, motor_points in MOTOR.items():
                entities = {"Best eye response": eye, "Best verbal response": verbal, "Best motor response": motor}
                assert calculate(21, entities).answer == eye_points + verbal_points + motor_points
                seen += 1
    assert seen == 4 * 5 * 6


@pytest.mark.parametrize("word", ["Oriented", "ORIENTED ", "5"])
def test_words_in_any_case_and_points(word: str) -> None:
    entities = {"Best eye response": "4", "Best verbal response": word, "Best motor response": "6"}
    assert calculate(21, entities).answer == 15


@pytest.mark.parametrize(
    ("part", "tested"), [("eye", "verbal 5, motor 6"), ("verbal", "eye 4, motor 6"), ("motor", "eye 4, verbal 5")]
)
def test_a_part_that_cannot_be_tested_leaves_no_total(part: str, tested: str) -> None:
    words = {"eye": "eyes open spontaneously", "verbal": "oriented", "motor": "obeys commands", part: "Not Testable"}
    entities = {f"Best {name} response": word for name, word in words.items()}
    with pytest.raises(CalculatorInputError, match=rf"Best {part} response: a total needs all three .*\({tested}\)"):
        calculate(21, entities)


def test_nothing_tested() -> None:
    with pytest.raises(CalculatorInputError, match=r"Best eye and verbal and motor response: .*\(none\)"):
        glasgow_coma_score(eye_response=None, verbal_response=None, motor_response=None)


def test_an_unknown_word_is_an_error() -> None:
    entities = {"Best eye response": "blinking", "Best verbal response": "oriented", "Best motor response": "6"}
    with pytest.raises(CalculatorInputError, match="Best eye response: expected one of .*; got 'blinking'"):
        calculate(21, entities)


def test_a_total_is_whole() -> None:
    assert whole_coma_score(14.0) == 14
    with pytest.raises(CalculatorInputError, match=r"Glasgow Coma Score: a whole number from 3 to 15; got 12\.5"):
        whole_coma_score(12.5)


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
