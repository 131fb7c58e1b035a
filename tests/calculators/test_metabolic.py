"""Insulin in its three units, Friedewald's limit, and the corrected electrolytes."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate

LIPIDS = {"Total cholesterol": [250, "mg/dL"], "high-density lipoprotein cholesterol": [50, "mg/dL"]}


@pytest.mark.parametrize("insulin", [[12, "µIU/mL"], [12, "mIU/L"], [12, "mU/L"], [72, "pmol/L"], [12 / 24.8, "ng/mL"]])
def test_insulin_in_any_unit(insulin: list[object]) -> None:
    answer = calculate(31, {"Insulin": insulin, "Glucose": [90, "mg/dL"]}).answer
    assert answer == pytest.approx(12 * 90 / 405)


@pytest.mark.parametrize(("triglycerides", "answer"), [(399.9, 120.02), (400, 120.0)])
def test_friedewald_up_to_400(triglycerides: float, answer: float) -> None:
    assert calculate(44, {**LIPIDS, "Triglycerides": [triglycerides, "mg/dL"]}).answer == pytest.approx(answer)


@pytest.mark.parametrize("triglycerides", [[400.1, "mg/dL"], [4.7, "mmol/L"]])
def test_friedewald_is_refused_above_400(triglycerides: list[object]) -> None:
    with pytest.raises(CalculatorInputError, match="Triglycerides: .* does not hold above 400 mg/dL; got 40.*measured"):
        calculate(44, {**LIPIDS, "Triglycerides": triglycerides})


def test_molar_lipids_are_not_rounded_on_the_way() -> None:
    entities = {name: [value, "mmol/L"] for name, value in (("TC", 4.75), ("HDL", 1.03), ("TG", 1.09))}
    assert calculate(44, entities).answer == pytest.approx((4.75 - 1.03) * 38.6654 - 1.09 * 86.1338 / 5)


@pytest.mark.parametrize(("glucose", "answer"), [(99, 139.976), (100, 140.0), (101, 140.024), (20, 138.08)])
def test_sodium_correction_has_no_floor(glucose: float, answer: float) -> None:
    assert calculate(26, {"Sodium": [140, "mEq/L"], "Glucose": [glucose, "mg/dL"]}).answer == pytest.approx(answer)


@pytest.mark.parametrize(
    ("age", "sex", "part"),
    [
        ([17.99, "years"], "Male", 0.6),
        ([18, "years"], "Male", 0.6),
        ([64.99, "years"], "Male", 0.6),
        ([65, "years"], "Male", 0.5),
        ([215, "months"], "Female", 0.6),
        ([216, "months"], "Female", 0.5),
        ([779, "months"], "Female", 0.5),
        ([780, "months"], "Female", 0.45),
    ],
)
def test_body_water_by_age_and_sex(age: list[object], sex: str, part: float) -> None:
    result = calculate(38, {"age": age, "sex": sex, "weight": [100, "kg"], "Sodium": [154, "mEq/L"]})
    assert result.answer == pytest.approx(part * 10)
