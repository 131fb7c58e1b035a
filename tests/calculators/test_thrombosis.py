"""Caprini score of 2005."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.clots_and_bleeding import caprini

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
