"""From entities to an answer: names of inputs, absent findings, refusals, and the steps of the explanation."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CALCULATORS, CalculatorInputError, calculate
from medical_tasks.calculators.inputs import REQUIRED, Choice, Flag, Quantity, fold
from tests.case_tables import tabled

MAN = {"age": [72, "years"], "sex": "Male"}


@tabled("spelling", "other")
def test_spellings_of_one_name(spelling: str, other: str) -> None:
    assert fold(spelling) == fold(other)


def test_different_names_stay_different() -> None:
    names = ["Stroke", "Stroke in the last month", "sodium", "Urine sodium", "age", ""]
    assert len({fold(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    "name",
    ["Congestive Heart Faliure", "Congestive Heart Failure", "chf", "heart_failure"],
)
def test_a_finding_by_any_name(name: str) -> None:
    assert calculate(4, {**MAN, name: True}).answer == 2


@pytest.mark.parametrize("value", [True, "True", "yes", "Y", 1, 1.0, "1", "present"])
def test_a_finding_that_is_present(value: object) -> None:
    assert calculate(4, {**MAN, "chf": value}).answer == 2


@pytest.mark.parametrize(
    "value",
    [
        *(False, "False", "no", 0, "absent", "None", None, ""),
        *("Not mentioned", "Not mentinoed"),
    ],
)
def test_a_finding_that_is_absent(value: object) -> None:
    assert calculate(4, {**MAN, "Stroke": value}).answer == 1


@pytest.mark.parametrize("value", ["maybe", 2, 0.5, [True], "2"])
def test_a_finding_that_cannot_be_read(value: object) -> None:
    with pytest.raises(
        CalculatorInputError,
        match=r"CHA2DS2.*: Stroke: expected yes or no \(True or False\), got",
    ):
        calculate(4, {**MAN, "Stroke": value})


@pytest.mark.parametrize("word", ["Female", "female", "FEMALE", " F ", "woman"])
def test_a_sex_in_any_spelling(word: str) -> None:
    assert calculate(4, {"age": [50, "years"], "sex": word}).answer == 1


@pytest.mark.parametrize("word", ["x", 1, None, "", ["male"]])
def test_an_unknown_sex_or_none(word: object) -> None:
    with pytest.raises(
        CalculatorInputError,
        match="sex: expected one of 'male', 'female'|missing required input: sex",
    ):
        calculate(4, {"age": [50, "years"], "sex": word})


def test_missing_required_inputs_are_all_named() -> None:
    with pytest.raises(CalculatorInputError) as error:
        calculate(2, {"sex": "Male", "creatnine": [1, "mg/dL"]})
    assert str(error.value) == (
        "Creatinine Clearance (Cockcroft-Gault Equation): missing required input: age, weight, height, creatinine; "
        "given but not used: 'creatnine'"
    )


@pytest.mark.parametrize("entry", CALCULATORS, ids=lambda entry: entry.slug)
def test_without_entities_findings_are_absent_and_required_inputs_are_named(
    entry: Any,
) -> None:
    required = [item.name for item in entry.inputs if item.absent is REQUIRED]
    if required:
        with pytest.raises(
            CalculatorInputError, match="missing required input: "
        ) as error:
            entry.calculate({})
        assert all(name in str(error.value) for name in required)
    elif any(not item.silent for item in entry.inputs):
        result = entry.calculate({})
        assert set(result.missing_taken_absent) == {item.name for item in entry.inputs}
    else:
        with pytest.raises(CalculatorInputError, match="missing required input: "):
            entry.calculate({})


def test_absent_findings_are_listed_and_explained() -> None:
    result = calculate(4, {**MAN, "Stroke": False})
    assert result.missing_taken_absent == (
        "Congestive Heart Failure",
        "Hypertension history",
        "Diabetes history",
        "Transient Ischemic Attacks History",
        "Thromboembolism history",
        "Vascular disease history",
    )
    for name in result.missing_taken_absent:
        assert f"{name}: not mentioned, taken as absent." in result.explanation
    assert "Stroke: no." in result.explanation


def test_a_finding_under_two_names() -> None:
    entities = {**MAN, "Congestive Heart Faliure": True}
    assert calculate(4, {**entities, "Congestive Heart Failure": True}).answer == 2
    with pytest.raises(
        CalculatorInputError,
        match="Failure: given twice with different values, True and False; keep",
    ):
        calculate(4, {**entities, "Congestive Heart Failure": False})


def test_the_steps_show_values_conversions_points_and_the_answer() -> None:
    result = calculate(
        62, {"sex": "Male", "height": [5, "ft", 10, "in"], "weight": [220.0, "lbs"]}
    )
    assert result.explanation.splitlines() == [
        "sex: male.",
        "weight = 220 lbs × 0.453592 = 99.7903 kg.",
        "height = 5 ft + 10 in = 177.8 cm.",
        "Height = 177.8 cm / 2.54 = 70 in.",
        "IBW (male) = 50 + 2.3 × (70 − 60) = 73 kg.",
        "ABW = IBW + 0.4 × (weight − IBW) = 73 + 0.4 × (99.7903 − 73) = 83.7161 kg.",
        "Adjusted Body Weight = 83.7161 kg.",
    ]
    assert result.used["height_cm"] == pytest.approx(177.8)
    assert result.used["sex"] == "male"
    assert result.calculator_id == 62
    assert "Bauer" in result.source


def test_texts_of_answers_have_the_form_of_the_dataset() -> None:
    pregnancy = {"Last menstrual date": "2010-04-27", "Current Date": "08/11/2010"}
    assert calculate(69, pregnancy).answer_text == "('15 weeks', '1 days')"
    assert calculate(4, MAN).answer_text == "1"


def test_answers_have_no_rounding_errors_of_floats() -> None:
    # 130.1 − (99.4 + 18.7) − 12 is 0, but −1.4e-14 in floats; a label of 0 accepts only
    # 0.
    ions = {
        "Sodium": [130.1, "mEq/L"],
        "Chloride": [99.4, "mEq/L"],
        "Bicarbonate": [18.7, "mEq/L"],
    }
    assert 130.1 - (99.4 + 18.7) - 12 != 0
    assert calculate(63, ions).answer == 0


def test_unknown_calculators_and_conventions_are_refused() -> None:
    with pytest.raises(
        CalculatorInputError,
        match="no calculator 'cha2ds2vask'; did you mean cha2ds2_vasc?",
    ):
        calculate("cha2ds2vask", MAN)
    with pytest.raises(
        CalculatorInputError, match="no calculator 1000000; `medical-tasks calc --list`"
    ):
        calculate(1_000_000, MAN)
    with pytest.raises(
        CalculatorInputError,
        match="unknown convention 'patch'. Known: .*fentanyl-patch-by-dose",
    ):
        calculate(4, MAN, conventions=frozenset({"patch"}))


def test_a_convention_changes_only_its_own_calculator() -> None:
    conventions = frozenset({"fentanyl-patch-by-dose"})
    assert calculate(4, MAN, conventions=conventions) == calculate(4, MAN)


@pytest.mark.parametrize("entry", CALCULATORS, ids=lambda entry: entry.slug)
def test_inputs_are_found_by_their_names_and_read_their_values(entry: Any) -> None:
    for item in entry.inputs:
        assert item.expects
        for name in (item.name, item.name.upper(), item.parameter):
            assert entry.input_named(name) is item
        if isinstance(item, Quantity) and item.measure.unit not in ("", "%"):
            with pytest.raises(
                CalculatorInputError, match="is outside what is possible"
            ):
                item.read([-1e9, item.measure.unit], lambda line: None)
        elif isinstance(item, Choice):
            for word in item.words:
                assert item.read(word.upper(), lambda line: None) == item.words[word]
        elif isinstance(item, Flag):
            assert item.read(True, lambda line: None) is True
