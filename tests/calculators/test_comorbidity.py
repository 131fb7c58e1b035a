"""Charlson comorbidity index."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.comorbidity import charlson

ONE = (
    *("myocardial_infarction", "heart_failure", "peripheral_vascular_disease", "cerebrovascular_accident"),
    *(
        "transient_ischemic_attack",
        "dementia",
        "chronic_pulmonary_disease",
        "connective_tissue_disease",
        "peptic_ulcer",
    ),
)
TWO = ("hemiplegia", "kidney_disease", "leukemia", "lymphoma")
FLAGS = {**dict.fromkeys(ONE, 1), **dict.fromkeys(TWO, 2), "aids": 6}
BASE: dict[str, Any] = {
    "age_years": 40,
    **dict.fromkeys(FLAGS, False),
    "liver_disease": "none",
    "diabetes": "none or diet-controlled",
    "solid_tumor": "none",
}


@pytest.mark.parametrize(("finding", "points"), FLAGS.items())
def test_each_disease_counts(finding: str, points: int) -> None:
    assert charlson(**{**BASE, finding: True}) == points


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({}, 0),
        *(({"age_years": age}, points) for age, points in ((49, 0), (50, 1), (59, 1), (60, 2), (69, 2), (70, 3))),
        *(({"age_years": age}, points) for age, points in ((79, 3), (80, 4), (100, 4))),
        ({"cerebrovascular_accident": True, "transient_ischemic_attack": True}, 1),
        ({"liver_disease": "mild"}, 1),
        ({"liver_disease": "moderate to severe"}, 3),
        ({"diabetes": "uncomplicated"}, 1),
        ({"diabetes": "end-organ damage"}, 2),
        ({"solid_tumor": "localized"}, 2),
        ({"solid_tumor": "metastatic"}, 6),
        (
            {
                **dict.fromkeys(FLAGS, True),
                "age_years": 90,
                "liver_disease": "moderate to severe",
                "diabetes": "end-organ damage",
                "solid_tumor": "metastatic",
            },
            37,
        ),
    ],
)
def test_classes(changes: dict[str, Any], points: int) -> None:
    assert charlson(**{**BASE, **changes}) == points


@pytest.mark.parametrize(
    ("name", "value", "points"),
    [
        ("Liver disease severity", "None", 0),
        ("Liver disease severity", "Mild", 1),
        ("Liver disease severity", "Moderate to Severe", 3),
        ("Liver disease severity", "Moderate", 3),
        ("Liver disease severity", "Severe", 3),
        ("Diabetes mellitus criteria for CCI rule", "None or Diet-controlled", 0),
        ("Diabetes mellitus criteria for CCI rule", "Uncomplicated", 1),
        ("Diabetes mellitus", "End-organ damage", 2),
        ("Solid tumor", "None", 0),
        ("Solid tumor", False, 0),
        ("Solid tumor", True, 2),  # the least it can mean
        ("Solid tumor", "Localized", 2),
        ("Solid tumor", "Metastatic", 6),
        ("Moderate to severe Chronic Kidney Disease", "Severe", 2),
        ("Moderate to severe Chronic Kidney Disease", "Mild", 0),
        ("Chronic Obstructive Pulmonary Disease", True, 1),
        ("Chronic Pulmonary Disease", True, 1),
        ("Congestive Heart Faliure", True, 1),
    ],
)
def test_names_and_words_of_the_data(name: str, value: object, points: int) -> None:
    result = calculate(32, {"age": [40, "years"], name: value})
    assert result.answer == points
    assert not result.ignored


def test_an_unknown_class_is_an_error() -> None:
    with pytest.raises(
        CalculatorInputError, match="Solid tumor: expected one of 'None', 'Localized', 'Metastatic'; got"
    ):
        calculate(32, {"age": [40, "years"], "Solid tumor": "benign"})
