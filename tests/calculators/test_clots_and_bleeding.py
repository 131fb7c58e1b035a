"""Caprini, Wells, PERC, HAS-BLED and Glasgow-Blatchford."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate, find
from medical_tasks.calculators.clots_and_bleeding import caprini, wells_dvt

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


FINDINGS = [name for name in inspect.signature(wells_dvt).parameters if name != "say"]


def points(*present: str) -> int:
    findings: dict[str, Any] = {name: name in present for name in FINDINGS}
    return wells_dvt(**findings)


@pytest.mark.parametrize("finding", FINDINGS)
def test_each_finding_counts(finding: str) -> None:
    assert points(finding) == (-2 if finding == "alternative_diagnosis" else 1)


def test_the_ends_and_the_shared_item() -> None:
    assert len(FINDINGS) == 11
    assert points() == 0
    assert points("bedridden", "major_surgery") == 1
    assert points(*(name for name in FINDINGS if name != "alternative_diagnosis")) == 9
    assert points(*FINDINGS) == 7


def test_the_names_of_both_releases() -> None:
    entry = find(16)
    for name in ("Bedridden recently >3 days or major surgery within 12 weeks", "Bedridden recently >3 days"):
        item = entry.input_named(name)
        assert item is not None
        assert item.parameter == "bedridden"


def test_wells_pe_tells_its_halves() -> None:
    steps = calculate("wells_pe", {"Heart Rate or Pulse": [111, "beats per minute"], "Hemoptysis": True}).explanation
    assert "Heart rate 111 is over 100: +1.5, total 1.5." in steps
    assert "Hemoptysis present: +1, total 2.5." in steps
    assert steps.endswith("Wells' Criteria for Pulmonary Embolism = 2.5.")


@pytest.mark.parametrize(
    ("drinks", "points"),
    [(7, 0), (8, 1), ([8, "drinks per week"], 1), ([1, "drinks/day"], 0), ([1.2, "drinks/day"], 1)],
)
def test_drinks(drinks: object, points: int) -> None:
    assert calculate(25, {"age": [50, "years"], "Number of Alcoholic Drinks Per Week": drinks}).answer == points


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
