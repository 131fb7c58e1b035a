"""Kidney: which weight, which exponent, which factor, and what cannot be answered."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.kidney_and_liver import ckd_epi_2021, creatinine_clearance, mdrd_gfr
from medical_tasks.calculators.shared_inputs import Sex

MAN = {"sex": "Male", "age": [60, "years"], "creatinine": [1.0, "mg/dL"]}


@pytest.mark.parametrize(
    ("weight_kg", "words"),
    [
        (53.4649, "the actual weight counts"),  # BMI 18.4999 at 1.70 m
        (53.465, "the smaller of ideal and actual weight"),  # exactly 18.5
        (72.2499, "the smaller of ideal and actual weight"),
        (72.25, "the adjusted weight counts"),  # exactly 25
        (72.2501, "the adjusted weight counts"),
    ],
)
def test_the_weight_of_cockcroft_gault_follows_the_bmi_class(weight_kg: float, words: str) -> None:
    result = calculate(2, {**MAN, "weight": [weight_kg, "kg"], "height": [170, "cm"]})
    assert words in result.explanation


def test_a_bmi_between_24_9_and_25_is_normal() -> None:
    # 76.4 kg at 1.75 m is 24.947: the smaller weight, not the adjusted one.
    clearance = creatinine_clearance(sex="male", age_years=50, weight_kg=76.4, height_cm=175, creatinine_mg_dl=1)
    assert clearance == pytest.approx(90 * (50 + 2.3 * (175 / 2.54 - 60)) / 72)


@pytest.mark.parametrize(("sex", "kappa"), [("male", 0.9), ("female", 0.7)])
def test_ckd_epi_is_continuous_at_kappa(sex: Sex, kappa: float) -> None:
    at = ckd_epi_2021(sex=sex, age_years=50, creatinine_mg_dl=kappa)
    for creatinine in (kappa - 1e-9, kappa + 1e-9):
        assert ckd_epi_2021(sex=sex, age_years=50, creatinine_mg_dl=creatinine) == pytest.approx(at, rel=1e-6)


def test_ckd_epi_uses_the_mens_kappa_below_it() -> None:
    low, at = (ckd_epi_2021(sex="male", age_years=50, creatinine_mg_dl=value) for value in (0.45, 0.9))
    assert low / at == pytest.approx(0.5**-0.302)


@pytest.mark.parametrize(
    ("race", "factor"),
    [(None, 1), ("White", 1), ("Asian", 1), ("Black", 1.212), ("BLACK", 1.212), ("African American", 1.212)],
)
def test_the_race_factor_of_mdrd(race: str | None, factor: float) -> None:
    plain = mdrd_gfr(sex="male", age_years=60, creatinine_mg_dl=1, black=False)
    assert calculate(9, {**MAN, "Race": race}).answer == pytest.approx(plain * factor)


def test_mdrd_without_race_says_so() -> None:
    result = calculate(9, MAN)
    assert result.missing_taken_absent == ("Race",)
    assert "Race: not given, no race factor." in result.explanation


def test_mdrd_refuses_an_age_of_zero_and_an_odd_race() -> None:
    with pytest.raises(CalculatorInputError, match="MDRD GFR Equation: age: .* needs an age above 0; got 0 years"):
        calculate(9, {**MAN, "age": [0, "days"]})
    with pytest.raises(CalculatorInputError, match=r"Race: expected a word \('Black' or another\), got 3"):
        calculate(9, {**MAN, "Race": 3})


@pytest.mark.parametrize(("age", "said"), [(17, True), (18, False)])
def test_children_are_an_extrapolation(age: int, said: bool) -> None:
    for calculator in (3, 9):
        assert ("extrapolation" in calculate(calculator, {**MAN, "age": age}).explanation) is said
