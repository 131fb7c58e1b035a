"""Insulin in its units, molar lipids, and the corrected electrolytes."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import calculate


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
