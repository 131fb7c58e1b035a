"""Liver: the limits inside MELD-Na, dialysis, and the step at a MELD(i) of 11."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.kidney_and_liver import meld_na


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
