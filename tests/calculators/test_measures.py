"""Reading one measured value: every form it may come in, and what is refused with which words."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, UnitError
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.calculators.shared_inputs import (
    AGE,
    CREATININE_MG_DL,
    FIO2,
    HEIGHT,
    PLATELETS,
    SODIUM_MMOL_L,
    TEMPERATURE,
    WEIGHT,
    WHITE_CELLS,
)


@pytest.mark.parametrize(
    ("item", "raw", "value", "line"),
    [
        (WEIGHT, [80.0, "kg"], 80.0, "weight = 80 kg."),
        (WEIGHT, (80, "KG"), 80.0, "weight = 80 kg."),
        (WEIGHT, 80, 80.0, "weight = 80 kg (no unit given, taken as kg)."),
        (WEIGHT, [80.0], 80.0, "weight = 80 kg (no unit given, taken as kg)."),
        (WEIGHT, [80.0, None], 80.0, "weight = 80 kg (no unit given, taken as kg)."),
        (WEIGHT, ["80", "kg"], 80.0, "weight = 80 kg."),
        (WEIGHT, "80kg", 80.0, "weight = 80 kg."),
        (WEIGHT, " 8e1 kg ", 80.0, "weight = 80 kg."),
        (WEIGHT, "2,500 g", 2.5, "weight = 2500 g × 0.001 = 2.5 kg."),
        (WEIGHT, [7, "lbs", 8, "oz"], 3.401942775, "weight = 7 lbs + 8 oz = 3.40194 kg."),
        (HEIGHT, [5, "ft", 10, "in"], 177.8, "height = 5 ft + 10 in = 177.8 cm."),
        (HEIGHT, "5 ft 10 in", 177.8, "height = 5 ft + 10 in = 177.8 cm."),
        (HEIGHT, "5'10\"", 177.8, "height = 5 ' + 10 \" = 177.8 cm."),
        (HEIGHT, "5 feet and 10 inches", 177.8, "height = 5 feet + 10 inches = 177.8 cm."),
        (AGE, [3, "years", 2, "months"], 3 + 2 / 12, "age = 3 years + 2 months = 3.16667 years."),
        (AGE, [72, "year"], 72.0, "age = 72 year = 72 years."),
        (AGE, [6.0, "months"], 0.5, "age = 6 months × 0.0833333 = 0.5 years."),
        (AGE, [780, "months"], 65.0, "age = 780 months × 0.0833333 = 65 years."),
        (SODIUM_MMOL_L, [140, "mEq/L"], 140.0, "Sodium = 140 mEq/L = 140 mmol/L."),
        (
            CREATININE_MG_DL,
            [122.9, "µmol/L"],
            1.3902448,
            "creatinine = 122.9 µmol/L × 0.011312 (113.12 g/mol) = 1.39024 mg/dL.",
        ),
        (CREATININE_MG_DL, "1.2 mg/dL", 1.2, "creatinine = 1.2 mg/dL."),
        (PLATELETS, [245_000.0, "µL"], 245.0, "Platelet count = 245000 µL × 0.001 = 245 10^9/L."),
        (PLATELETS, "245 x10^9/L", 245.0, "Platelet count = 245 x10^9/L = 245 10^9/L."),
        (WHITE_CELLS, [11_900.0, "m^3"], 11.9, "White blood cell count = 11900 m^3 × 0.001 = 11.9 10^9/L."),
        (
            TEMPERATURE,
            [100.4, "degrees fahreinheit"],
            38.0,
            "Temperature = 100.4 degrees fahreinheit − 32, × 0.555556 = 38 degrees celsius.",
        ),
        (TEMPERATURE, [37.2, "degrees celsisus"], 37.2, "Temperature = 37.2 degrees celsius."),
        (TEMPERATURE, [310.15, "K"], 37.0, "Temperature = 310.15 K − 273.15 = 37 degrees celsius."),
        (FIO2, [0.4, "fraction"], 40.0, "FiO2 = 0.4 fraction × 100 = 40 %."),
    ],
)
def test_forms_of_a_value(item: Quantity, raw: object, value: float, line: str) -> None:
    lines: list[str] = []
    assert item.read(raw, lines.append) == pytest.approx(value, rel=1e-12)
    assert lines == [line]


@pytest.mark.parametrize(
    ("item", "raw", "message"),
    [
        (WEIGHT, [-3.0, "kg"], r"weight: -3 kg is outside what is possible \(0\.2 to 700 kg\); got \[-3\.0, 'kg'\]"),
        (WEIGHT, 0, "weight: 0 kg is outside what is possible"),
        (WEIGHT, [float("nan"), "kg"], "weight: nan kg is outside"),
        (WEIGHT, [float("inf"), "kg"], "weight: inf kg is outside"),
        (WEIGHT, float("nan"), "weight: expected a number with its unit"),
        (WEIGHT, [10**400, "kg"], "weight: the number is too large"),
        (WEIGHT, 10**400, "weight: the number is too large"),
        (WEIGHT, True, "weight: expected a number with its unit.*accepted: kg, g, lbs, oz, stone; got True"),
        (WEIGHT, [True, "kg"], "weight: expected a number with its unit"),
        (WEIGHT, "heavy", "weight: expected a number with its unit.*got 'heavy'"),
        (WEIGHT, [], "weight: expected a number with its unit"),
        (WEIGHT, [80, "kg", 3], "weight: expected a number with its unit"),
        (WEIGHT, [80, 81], "weight: expected a number with its unit"),
        (WEIGHT, {"value": 80}, "weight: expected a number with its unit"),
        (CREATININE_MG_DL, [1, "mg/dL", 2, "mg/dL"], "creatinine: expected one number with one unit"),
        (CREATININE_MG_DL, "1.2.3 mg/dL", "creatinine: unit '.3 mg/dL' is not accepted"),
        (FIO2, [140.0, "%"], r"FiO2: 140 % is outside what is possible \(15 to 100 %\)"),
        (FIO2, 0.4, "FiO2: 0.4 % is outside what is possible"),
        (TEMPERATURE, [98.6, "degrees celsius"], "Temperature: 98.6 degrees celsius is outside"),
        (HEIGHT, 1.75, "height: 1.75 cm is outside what is possible"),
        (AGE, "5 10", "age: unit '' is not accepted; give one of: years, months, weeks, days"),
    ],
)
def test_what_cannot_be_a_value_is_refused(item: Quantity, raw: object, message: str) -> None:
    with pytest.raises(CalculatorInputError, match=f"^{message}"):
        item.read(raw, lambda line: None)


def test_a_wrong_unit_is_a_unit_error() -> None:
    with pytest.raises(UnitError, match="^weight: unit 'mg/dL' is not accepted; give one of: kg, g, lbs, oz, stone$"):
        WEIGHT.read([80.0, "mg/dL"], lambda line: None)


def test_limits_themselves_are_accepted() -> None:
    for item in (WEIGHT, HEIGHT, AGE, FIO2, TEMPERATURE):
        for limit in (item.measure.low, item.measure.high):
            assert item.read([limit, item.measure.unit], lambda line: None) == limit


def test_limits_of_one_use_do_not_change_another() -> None:
    urine = SODIUM_MMOL_L.named("Urine sodium", parameter="urine_sodium_mmol_l").within(0.1, 1000)
    assert urine.read([10, "mmol/L"], lambda line: None) == 10
    with pytest.raises(CalculatorInputError, match="^Sodium: 10 mmol/L is outside"):
        SODIUM_MMOL_L.read([10, "mmol/L"], lambda line: None)
