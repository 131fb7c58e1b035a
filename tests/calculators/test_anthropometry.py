"""Body size: limits of the possible and the sums that join the formulas."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.person import body_mass_index, ideal_body_weight, target_weight


@pytest.mark.parametrize(
    "height", [[5, "ft", 10, "in"], [70, "in"], [177.8, "cm"], [1.778, "m"], [1778, "mm"], "5'10\""]
)
def test_one_height_in_any_form(height: object) -> None:
    assert calculate(10, {"sex": "Male", "height": height}).answer == 73.0


def test_target_weight_is_the_bmi_solved() -> None:
    weight = target_weight(bmi_kg_m2=22.4, height_cm=168)
    assert body_mass_index(weight_kg=weight, height_cm=168) == pytest.approx(22.4)


def test_weight_is_no_part_of_the_ideal_weight() -> None:
    result = calculate(10, {"sex": "Female", "height": [60, "in"], "weight": [90, "kg"]})
    assert (result.answer, result.ignored) == (45.5, ("weight",))
    assert ideal_body_weight(sex="female", height_cm=152.4) == pytest.approx(45.5)


@pytest.mark.parametrize(
    ("calculator", "entities", "message"),
    [
        (6, {"weight": [-80, "kg"], "height": [180, "cm"]}, "weight: -80 kg is outside what is possible"),
        (6, {"weight": [80, "kg"], "height": [0, "cm"]}, "height: 0 cm is outside what is possible"),
        (60, {"weight": [80, "L"], "height": [180, "cm"]}, "weight: unit 'L' is not accepted; give one of: kg, g, lbs"),
        (61, {"BMI": [220, "lbs"], "height": [180, "cm"]}, r"Body Mass Index \(BMI\): unit 'lbs' is not accepted"),
        (62, {"sex": "Male", "weight": [80, "kg"]}, "Adjusted Body Weight: missing required input: height"),
    ],
)
def test_impossible_bodies(calculator: int, entities: dict[str, object], message: str) -> None:
    with pytest.raises(CalculatorInputError, match=message):
        calculate(calculator, entities)
