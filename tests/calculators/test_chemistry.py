"""Gaps, corrections, lipids, insulin and fluids."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate

IONS = {"Sodium": [140, "mEq/L"], "Chloride": [100, "mEq/L"]}


@pytest.mark.parametrize("calculator", [64, 67])
def test_no_delta_ratio_at_a_bicarbonate_of_24(calculator: int) -> None:
    entities = {**IONS, "Bicarbonate": [24, "mEq/L"], "Albumin": [4, "g/dL"]}
    with pytest.raises(CalculatorInputError, match="Bicarbonate: .* has no value at 24 mmol/L; got 24 mmol/L. Use the"):
        calculate(calculator, entities)
    for near in (23.9, 24.1):
        answer = calculate(calculator, {**entities, "Bicarbonate": [near, "mmol/L"]}).answer
        assert isinstance(answer, float)
        assert abs(answer) > 30


@pytest.mark.parametrize("albumin", [[2.5, "g/dL"], [25, "g/L"], [2500, "mg/dL"], [25_000_000 / 66_500, "µmol/L"]])
def test_albumin_in_any_unit(albumin: list[object]) -> None:
    assert calculate(65, {**IONS, "Bicarbonate": [20, "mmol/L"], "Albumin": albumin}).answer == pytest.approx(23.75)


def test_gaps_build_on_each_other() -> None:
    entities = {**IONS, "Bicarbonate": [14, "mEq/L"], "Albumin": [3, "g/dL"]}
    answers = {i: calculate(i, entities).answer for i in (39, 63, 64, 65, 66, 67)}
    assert answers == {39: 26.0, 63: 14.0, 64: 1.4, 65: 28.5, 66: 16.5, 67: 1.65}


def test_albumin_is_not_used_without_correction() -> None:
    assert calculate(39, {**IONS, "Bicarbonate": [24, "mEq/L"], "Albumin": [4, "g/dL"]}).ignored == ("Albumin",)


@pytest.mark.parametrize("insulin", [[12, "µIU/mL"], [12, "mIU/L"], [12, "mU/L"], [72, "pmol/L"], [12 / 24.8, "ng/mL"]])
def test_insulin_in_any_unit(insulin: list[object]) -> None:
    result = calculate(31, {"Insulin": insulin, "Glucose": [90, "mg/dL"]})
    assert result.answer == pytest.approx(12 * 90 / 405)
    # Laboratories do not agree on 1 µIU/mL in pmol/L (6 or 6.945) nor in ng/mL (24.8 or 28.8 µIU/ng).
    other = {"pmol/L": 12 * 6 / 6.945, "ng/mL": 12 * 28.8 / 24.8}.get(str(insulin[1]))
    said = [] if other is None else [f"would have {other:.6g} µIU/mL, and the answer would be {other * 90 / 405:.6g}."]
    assert len(result.warnings) == len(said)
    assert all(text in warning for text, warning in zip(said, result.warnings, strict=True))


def test_molar_lipids_are_not_rounded_on_the_way() -> None:
    entities = {name: [value, "mmol/L"] for name, value in (("TC", 4.75), ("HDL", 1.03), ("TG", 1.09))}
    assert calculate(44, entities).answer == pytest.approx((4.75 - 1.03) * 38.6654 - 1.09 * 88.57 / 5)


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


@pytest.mark.parametrize(
    ("weight", "rate"),
    [(0.5, 2.0), (9.9, 39.6), (10, 40.0), (10.1, 40.2), (19.9, 59.8), (20, 60.0), (20.1, 60.1), (100, 140.0)],
)
def test_4_2_1(weight: float, rate: float) -> None:
    assert calculate("maintenance_fluids", {"weight": [weight, "kg"]}).answer == pytest.approx(rate)


def test_mean_pressure_stays_between_the_two() -> None:
    for systolic, diastolic in ((120, 80), (90, 90), (70, 110)):
        answer = calculate("map", {"SBP": [systolic, "mmHg"], "DBP": [diastolic, "mmHg"]}).answer
        assert isinstance(answer, float)
        assert min(systolic, diastolic) <= answer <= max(systolic, diastolic)


def test_pressure_in_kilopascal() -> None:
    assert calculate("map", {"SBP": [16, "kPa"], "DBP": [10, "kPa"]}).answer == pytest.approx(12 / 0.133322387415)
