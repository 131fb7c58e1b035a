"""Reading a row: names in any spelling, values as they are."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError
from medical_tasks.calculators.v1_labels.entities import Entities, positive


def test_names_are_folded_and_values_are_not() -> None:
    row = Entities({"Congestive Heart Faliure": True, "FiO₂": [40, "%"], "Ascites": "slight"})
    assert row.flag("congestive heart failure")
    assert row.first("FiO2") == 40
    assert row.text("ascites") == "slight"
    assert row.find("Ascites", "Encephalopathy") == "slight"
    assert row.find("Encephalopathy") is None


def test_none_is_not_given() -> None:
    row = Entities({"creatinine": None})
    assert not row.has("creatinine")
    assert row.first_or(7, "creatinine") == 7


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), (False, False), (None, False), ("", False), ("Not mentinoed", True), (0, False)],
)
def test_a_flag_is_the_truth_of_the_raw_value(value: Any, expected: bool) -> None:
    assert Entities({"x": value}).flag("x") is expected


def test_a_text_for_a_flag_is_told() -> None:
    row = Entities({"Chronic Renal Failure": "Not mentinoed"})
    assert row.flag("Chronic Renal Failure")
    row.flag("Chronic Renal Failure")
    assert row.notes == ["Chronic Renal Failure: the text 'Not mentinoed' counts as present"]


@pytest.mark.parametrize("value", [True, "7.4", None, [7.4], float("nan"), float("inf"), 1e16])
def test_what_is_no_number(value: Any) -> None:
    with pytest.raises(CalculatorInputError, match="^pH: the label rule (needs a bare number|cannot run without it)"):
        Entities({"pH": value}).bare("pH")


@pytest.mark.parametrize("value", [5.0, "5 kg", [], [5.0], [5.0, 3], ["kg", 5.0], [True, "kg"], {"kg": 5}])
def test_what_is_no_pair(value: Any) -> None:
    with pytest.raises(CalculatorInputError, match="^weight: the label rule needs"):
        Entities({"weight": value}).pair("weight")


def test_words_are_compared_exactly() -> None:
    row = Entities({"Mobility": "Normal"})
    with pytest.raises(CalculatorInputError, match="Mobility: the label rule knew only 'normal'; got 'Normal'"):
        row.word("Mobility", {"normal": 0})
    assert Entities({}).word("Mobility", {"normal": 3}, default="normal") == 3
    with pytest.raises(CalculatorInputError, match="Mobility: the label rule cannot run without it"):
        Entities({}).word("Mobility", {"normal": 0})
    with pytest.raises(CalculatorInputError, match=r"Mobility: the label rule compares a text; got \[1\]"):
        Entities({"Mobility": [1]}).word("Mobility", {"normal": 0})


def test_sex() -> None:
    assert Entities({"sex": "Female"}).sex() == "Female"
    assert Entities({"sex": "female"}).stated_sex() == "female"
    with pytest.raises(CalculatorInputError, match="sex: the label rule knew only 'Male' and 'Female'; got 'female'"):
        Entities({"sex": "female"}).sex()
    with pytest.raises(CalculatorInputError, match="sex: the label rule cannot run without it"):
        Entities({}).sex()


def test_positive() -> None:
    assert positive(0.1, "age") == 0.1
    with pytest.raises(
        CalculatorInputError, match="age: the label rule cannot run on a value of 0; it must be above 0"
    ):
        positive(0, "age")
