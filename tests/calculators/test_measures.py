"""Reading a measured value: the forms that are accepted, and the messages for others (`cases/measures.json`)."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, UnitError
from medical_tasks.calculators.shared_inputs import SHARED, quantity, read_input
from tests.calculators.score_strategies import table


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
def test_forms_that_are_refused(parameter: str, raw: object, message: str) -> None:
    with pytest.raises(CalculatorInputError, match=f"^{message}"):
        quantity(parameter).read(raw, str)


def test_a_wrong_unit_is_a_unit_error() -> None:
    with pytest.raises(
        UnitError,
        match="^weight: unit 'mg/dL' is not accepted; give one of: kg, g, lbs, oz, stone$",
    ):
        quantity("weight_kg").read([80.0, "mg/dL"], str)


@pytest.mark.parametrize(
    "parameter",
    ["weight_kg", "height_cm", "age_years", "fio2_percent", "temperature_c"],
)
def test_limits_themselves_are_accepted(parameter: str) -> None:
    item = quantity(parameter)
    for limit in (item.measure.low, item.measure.high):
        assert item.read([limit, item.measure.unit], str) == limit


def test_limits_of_an_input_do_not_change_those_of_the_shared_one() -> None:
    urine = read_input(
        "urine_sodium_mmol_l", {"of": "sodium_mmol_l", "possible": [0.1, 1000]}, SHARED
    )
    assert urine.read([10, "mmol/L"], str) == 10
    with pytest.raises(CalculatorInputError, match="^Sodium: 10 mmol/L is outside"):
        quantity("sodium_mmol_l").read([10, "mmol/L"], str)
