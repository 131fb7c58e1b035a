"""Reading one measured value: every form it may come in, and what is refused with which words (`cases/measures.json`)."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, UnitError
from medical_tasks.calculators.shared_inputs import SHARED, quantity, read_input
from tests.calculators.score_strategies import table

WEIGHT, SODIUM = quantity("weight_kg"), quantity("sodium_mmol_l")


@pytest.mark.parametrize(
    ("parameter", "raw", "value", "line"),
    [*table("measures")["forms"], ("weight_kg", (80, "KG"), 80.0, "weight = 80 kg.")],
)
def test_forms_of_a_value(parameter: str, raw: object, value: float, line: str) -> None:
    lines: list[str] = []
    assert quantity(parameter).read(raw, lines.append) == pytest.approx(
        value, rel=1e-12
    )
    assert lines == [line]


@pytest.mark.parametrize(
    ("parameter", "raw", "message"),
    [
        *table("measures")["refused"],
        pytest.param(
            "weight_kg", [10**400, "kg"], "weight: the number is too large", id="huge"
        ),
        pytest.param(
            "weight_kg",
            10**5000,
            "weight: the number is too large",
            id="huge without a unit",
        ),
    ],
)
def test_what_cannot_be_a_value_is_refused(
    parameter: str, raw: object, message: str
) -> None:
    with pytest.raises(CalculatorInputError, match=f"^{message}"):
        quantity(parameter).read(raw, str)


def test_a_wrong_unit_is_a_unit_error() -> None:
    with pytest.raises(
        UnitError,
        match="^weight: unit 'mg/dL' is not accepted; give one of: kg, g, lbs, oz, stone$",
    ):
        WEIGHT.read([80.0, "mg/dL"], str)


def test_limits_themselves_are_accepted() -> None:
    for item in (
        WEIGHT,
        quantity("height_cm"),
        quantity("age_years"),
        quantity("fio2_percent"),
        quantity("temperature_c"),
    ):
        for limit in (item.measure.low, item.measure.high):
            assert item.read([limit, item.measure.unit], str) == limit


def test_limits_of_one_use_do_not_change_another() -> None:
    urine = read_input(
        "urine_sodium_mmol_l", {"of": "sodium_mmol_l", "possible": [0.1, 1000]}, SHARED
    )
    assert urine.read([10, "mmol/L"], str) == 10
    with pytest.raises(CalculatorInputError, match="^Sodium: 10 mmol/L is outside"):
        SODIUM.read([10, "mmol/L"], str)
