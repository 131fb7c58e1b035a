"""Framingham: caps of the smoking term, direction of every risk factor, and ages outside the study."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.heart import framingham_risk

PERSON: dict[str, Any] = {
    "age_years": 55,
    "total_cholesterol_mg_dl": 213,
    "hdl_mg_dl": 50,
    "systolic_mm_hg": 125,
    "treated": False,
    "smoker": False,
}


@pytest.mark.parametrize("sex", ["male", "female"])
@pytest.mark.parametrize(
    ("change", "sign"),
    [
        ({"age_years": 60}, 1),
        ({"total_cholesterol_mg_dl": 250}, 1),
        ({"hdl_mg_dl": 60}, -1),
        ({"systolic_mm_hg": 150}, 1),
        ({"treated": True}, 1),
        ({"smoker": True}, 1),
    ],
)
def test_direction_of_each_factor(sex: Any, change: dict[str, Any], sign: int) -> None:
    before, after = framingham_risk(sex=sex, **PERSON), framingham_risk(sex=sex, **{**PERSON, **change})
    assert 0 < before < 100
    assert (after - before) * sign > 0


@pytest.mark.parametrize(("sex", "cap"), [("male", 70), ("female", 78)])
def test_the_smoking_term_is_capped_by_age(sex: str, cap: int) -> None:
    def steps(age: int) -> str:
        entities = {"sex": sex, "age": age, "TC": 213, "HDL": 50, "SBP": 125, "Smoker": True}
        return calculate(46, entities).explanation

    assert f"ln({cap}) (smoker)" in steps(cap)
    assert f"ln({cap}) (smoker)" in steps(cap + 1)
    assert f"ln({cap - 1}) (smoker)" in steps(cap - 1)


@pytest.mark.parametrize(("age", "said"), [(19, True), (20, False), (79, False), (80, True)])
def test_ages_outside_the_study_are_said(age: int, said: bool) -> None:
    entities = {"sex": "Male", "age": age, "TC": 213, "HDL": 50, "SBP": 125}
    assert ("extrapolation" in calculate(46, entities).explanation) is said


def test_an_age_of_zero_has_no_logarithm() -> None:
    with pytest.raises(CalculatorInputError, match="age: the risk equation needs an age above 0; got 0 years"):
        calculate(46, {"sex": "Male", "age": 0, "TC": 213, "HDL": 50, "SBP": 125})


def test_missing_habits_count_as_absent() -> None:
    result = calculate(46, {"sex": "Male", "age": 55, "TC": 213, "HDL": 50, "SBP": 125})
    assert result.missing_taken_absent == ("Blood pressure being treated with medicines", "Smoker")
    assert result.answer == pytest.approx(framingham_risk(sex="male", **PERSON))
