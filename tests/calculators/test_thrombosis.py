"""Caprini score of 2005."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.thrombosis import caprini

ONE = (
    *("recent_major_surgery", "recent_heart_failure", "recent_sepsis", "recent_pneumonia", "varicose_veins"),
    *("swollen_legs", "bowel_disease", "myocardial_infarction", "copd"),
)
TWO = ("recent_plaster_cast", "central_venous_access", "malignancy")
THREE = (
    *("previous_dvt", "previous_pe", "family_history", "factor_v_leiden", "prothrombin_20210a", "homocysteine"),
    *("lupus_anticoagulant", "anticardiolipin", "heparin_thrombocytopenia", "other_thrombophilia"),
)
FIVE = ("recent_fracture", "recent_stroke", "recent_trauma", "recent_spinal_cord_injury")
FLAGS = {**dict.fromkeys(ONE, 1), **dict.fromkeys(TWO, 2), **dict.fromkeys(THREE, 3), **dict.fromkeys(FIVE, 5)}
BASE: dict[str, Any] = {
    "age_years": 30,
    "surgery": "none",
    "mobility": "normal",
    "bmi_kg_m2": 22,
    **dict.fromkeys(FLAGS, False),
}


@pytest.mark.parametrize(("finding", "points"), FLAGS.items())
def test_each_finding_counts(finding: str, points: int) -> None:
    assert caprini(**{**BASE, finding: True}) == points


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({}, 0),
        ({"age_years": 40}, 0),
        ({"age_years": 41}, 1),
        ({"age_years": 60}, 1),
        ({"age_years": 60.9}, 1),
        ({"age_years": 61}, 2),
        ({"age_years": 74}, 2),
        ({"age_years": 75}, 3),
        ({"surgery": "minor"}, 1),
        ({"surgery": "major"}, 2),
        ({"surgery": "laparoscopic"}, 2),
        ({"surgery": "arthroscopic"}, 2),
        ({"surgery": "elective major lower extremity arthroplasty"}, 5),
        ({"mobility": "on bed rest"}, 1),
        ({"mobility": "confined to bed >72 hours"}, 2),
        ({"bmi_kg_m2": 24.9}, 0),
        ({"bmi_kg_m2": 25}, 0),
        ({"bmi_kg_m2": 25.1}, 1),
        ({"bmi_kg_m2": None}, 0),
        ({"previous_dvt": True, "previous_pe": True}, 3),  # one item of the form
    ],
)
def test_thresholds(changes: dict[str, Any], points: int) -> None:
    assert caprini(**{**BASE, **changes}) == points


def test_everything_at_once() -> None:
    everything: dict[str, Any] = {
        **dict.fromkeys(FLAGS, True),
        "age_years": 90,
        "bmi_kg_m2": 40,
        "mobility": "confined to bed >72 hours",
    }
    assert caprini(**everything, surgery="elective major lower extremity arthroplasty") == 73


def test_sex_is_not_used_and_said_so() -> None:
    result = calculate(36, {"age": [50, "years"], "sex": "Female", "Surgery Type": "Minor", "Mobility": "On bed rest"})
    assert result.answer == 3
    assert result.ignored == ("sex",)


def test_an_unknown_operation_is_an_error() -> None:
    with pytest.raises(CalculatorInputError, match=r"Surgery Type: expected one of 'none', 'minor', .*; got 'brain'"):
        calculate(36, {"age": [50, "years"], "Surgery Type": "brain"})
