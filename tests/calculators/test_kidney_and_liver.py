"""Kidney function, MELD-Na, FIB-4 and Child-Pugh."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.kidney_and_liver import ckd_epi_2021, creatinine_clearance, mdrd_gfr, meld_na
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


def meld(**changes: float | bool) -> float:
    values: dict[str, float | bool] = {"creatinine_mg_dl": 1.5, "bilirubin_mg_dl": 3, "inr": 1.8, "sodium_mmol_l": 131}
    values |= {"dialysis_twice": False, "continuous_hemodialysis": False} | changes
    return meld_na(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "outside", "limit"),
    [
        ("creatinine_mg_dl", 0.4, 1.0),
        ("creatinine_mg_dl", 9.0, 4.0),
        ("bilirubin_mg_dl", 0.2, 1.0),
        ("inr", 0.7, 1.0),
        ("sodium_mmol_l", 118, 125),
        ("sodium_mmol_l", 151, 137),
    ],
)
def test_values_outside_the_limits_count_as_the_limit(name: str, outside: float, limit: float) -> None:
    assert meld(**{name: outside}) == meld(**{name: limit})


@pytest.mark.parametrize("flag", ["dialysis_twice", "continuous_hemodialysis"])
@pytest.mark.parametrize("creatinine", [0.5, 1.5, 3.9, 4.0, 8.0])
def test_dialysis_counts_as_a_creatinine_of_4(flag: str, creatinine: float) -> None:
    assert meld(creatinine_mg_dl=creatinine, **{flag: True}) == meld(creatinine_mg_dl=4.0)


def test_sodium_counts_only_above_11() -> None:
    # 0.378 × ln(3.3) + 0.643 = 1.094 -> 11; 0.378 × ln(3.5) + 0.643 = 1.117 -> 11; ln(4.3) -> 1.194 -> 12
    low = {"creatinine_mg_dl": 1.0, "inr": 1.0}
    assert (
        meld(**low, bilirubin_mg_dl=3.5, sodium_mmol_l=125) == meld(**low, bilirubin_mg_dl=3.5, sodium_mmol_l=137) == 11
    )
    assert meld(**low, bilirubin_mg_dl=4.3, sodium_mmol_l=137) == 12
    assert meld(**low, bilirubin_mg_dl=4.3, sodium_mmol_l=125) > 20


def test_meld_never_leaves_6_to_40() -> None:
    assert meld(creatinine_mg_dl=1, bilirubin_mg_dl=1, inr=1, sodium_mmol_l=137) == 6
    assert meld(creatinine_mg_dl=4, bilirubin_mg_dl=50, inr=10, sodium_mmol_l=125) == 40


def test_bilirubin_in_molar_units() -> None:
    entities = {"creatinine": [1.5, "mg/dL"], "international normalized ratio": 1.8, "Sodium": [131, "mEq/L"]}
    molar = calculate(23, {**entities, "Bilirubin": [51.31, "µmol/L"]})  # 51.31 × 584.66 / 10000 = 2.99989
    assert molar.answer == meld(bilirubin_mg_dl=3)
    assert "(584.66 g/mol)" in molar.explanation


def test_fib_4_refuses_a_count_without_platelets() -> None:
    entities = {"age": 50, "Alanine aminotransferase": [40, "U/L"], "Aspartate aminotransferase": [40, "U/L"]}
    with pytest.raises(CalculatorInputError, match=r"Platelet count: 0 10\^9/L is outside what is possible"):
        calculate(19, {**entities, "Platelet count": [0, "µL"]})
    with pytest.raises(CalculatorInputError, match=r"Platelet count: 245000 10\^9/L is outside what is possible"):
        calculate(19, {**entities, "Platelet count": 245_000})


LABS: dict[str, Any] = {"Bilirubin": [1, "mg/dL"], "Albumin": [4, "g/dL"], "international normalized ratio": 1.0}


@pytest.mark.parametrize(
    ("name", "word", "points"),
    [
        ("Ascites", "Absent", 5),
        ("Ascites", "SLIGHT", 6),
        ("Ascites", "Moderate", 7),
        ("Ascites", "severe", 7),
        ("Encephalopathy", "No Encephalopathy", 5),
        ("Encephalopathy", "Grade 0", 5),
        ("Encephalopathy", "grade 1-2", 6),
        ("Encephalopathy", "Grade 3-4", 7),
        ("Encephalopathy", "Grade 4", 7),
    ],
)
def test_words(name: str, word: str, points: int) -> None:
    assert calculate(15, {**LABS, name: word}).answer == points


def test_missing_classes_are_the_lowest() -> None:
    result = calculate(15, LABS)
    assert result.answer == 5
    assert result.missing_taken_absent == ("Ascites", "Encephalopathy")


def test_an_unknown_word_is_an_error() -> None:
    with pytest.raises(
        CalculatorInputError, match="Ascites: expected one of 'absent', 'slight', 'moderate'; got 'wet'"
    ):
        calculate(15, {**LABS, "Ascites": "wet"})


@pytest.mark.parametrize(("bilirubin", "points"), [(34.2, 5), (34.3, 6), (51.3, 6), (51.4, 7)])
def test_micromoles_use_the_molar_mass_of_bilirubin(bilirubin: float, points: int) -> None:
    # 584.66 g/mol: 2 mg/dL is 34.208 and 3 mg/dL is 51.312 µmol/L.
    assert calculate(15, {**LABS, "Bilirubin": [bilirubin, "µmol/L"]}).answer == points
