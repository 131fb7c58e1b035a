"""Warnings: values outside the published range, and doubtful units; the same from Python and the command line."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.calculators import (
    CALCULATORS,
    AnyCalculator,
    CalculatorInputError,
    calculate,
    find,
)
from medical_tasks.calculators.inputs import (
    REQUIRED,
    Choice,
    Day,
    Flag,
    Input,
    Quantity,
)
from medical_tasks.calculators.units import convert
from medical_tasks.cli.calc import calculate_line, from_arguments, render_inputs
from tests.calculators.score_strategies import table

RANGED = [
    (entry, valid)
    for entry in CALCULATORS
    for valid in entry.valid
    if valid.when is None
]
MEASURED = {
    (item.name, item.measure.usual): (entry, item)
    for entry in CALCULATORS
    for item in entry.inputs
    if isinstance(item, Quantity) and item.measure.usual is not None
}
USUAL_QUANTITIES = {
    "age": 50,
    "weight": 60,
    "height": 170,
    "Heart Rate or Pulse": 80,
    "Sodium": 150,
    "Glucose": 150,
    "Triglycerides": 150,
    "Glasgow Coma Score": 15,
    "FiO2": 21,
}
some = settings(max_examples=8)


def usual(item: Input) -> object:
    """Returns a value of an input that causes no warning."""
    if isinstance(item, Quantity):
        measure = item.measure
        low, high = measure.usual or (measure.low, min(measure.high, 1000))
        return USUAL_QUANTITIES.get(item.name, (low + high) / 2)
    if isinstance(item, Choice):
        return next(word for word, value in item.words.items() if value is not None)
    if isinstance(item, Day):
        return "01/01/2024"
    if isinstance(item, Flag):
        return False
    return {
        "input steroid": "PredniSONE PO 10 mg",
        "Blood Urea Nitrogen (BUN)": 15,
    }.get(item.name, "Asian")


def patient(entry: AnyCalculator) -> dict[str, Any]:
    """Returns entities with a usual value of every required input."""
    if entry.id == 49:
        return {"Morphine Dose": 10, "Morphine Dose Per Day": 2}
    return {
        item.name: usual(item)
        for item in entry.inputs
        if item.absent is REQUIRED or item.parameter == "pao2_mm_hg"
    }


def test_published_ranges_are_shown_with_their_inputs() -> None:
    ids = [2, 3, 4, 9, 10, 11, 19, 20, 22, 25, 26, 29, 38, 44, 45, 46, 62]
    assert [entry.id for entry in CALCULATORS if entry.valid] == ids
    for entry in CALCULATORS:
        inputs = {item.parameter: item for item in entry.inputs}
        text = render_inputs(entry)
        for valid in entry.valid:
            item = inputs[valid.parameter]
            assert isinstance(item, Quantity)
            assert f"{valid.span(item.measure.unit)} ({valid.source})" in text


@pytest.mark.parametrize(
    ("entry", "valid"), RANGED, ids=lambda value: getattr(value, "slug", "")
)
@given(data=st.data())
@some
def test_a_value_outside_the_published_range_has_an_answer_and_a_warning(
    entry: AnyCalculator, valid: Any, data: st.DataObject
) -> None:
    item = next(item for item in entry.inputs if item.parameter == valid.parameter)
    assert isinstance(item, Quantity)
    low, high = item.measure.usual or (item.measure.low, item.measure.high)
    value = round(data.draw(st.floats(max(low, 0.5), high)), 1)
    compared = math.floor(value) if item.measure.unit == "years" else value
    entities = {**patient(entry), item.name: value}
    result = calculate(entry, entities)
    assert isinstance(result.answer, int | float)
    prefix = f"{item.name} {value:.6g} "
    about_value = [text for text in result.warnings if text.startswith(prefix)]
    assert len(about_value) == (0 if valid.low <= compared <= valid.high else 1)
    for warning in result.warnings:
        assert f"Warning: {warning}" in result.explanation.splitlines()[:-1]
    for warning in about_value:
        assert valid.span(item.measure.unit) in warning
        assert valid.source in warning
    # A line of a batch and `key=value` arguments give the same warnings.
    line = calculate_line({"calculator_id": entry.id, "inputs": entities})
    assert line["answer"] == result.answer
    assert line["warnings"] == list(result.warnings)
    arguments = [f"{name}={value}" for name, value in entities.items()]
    parsed = from_arguments(entry, arguments)
    assert calculate(entry, parsed).warnings == result.warnings


@pytest.mark.parametrize("entry", CALCULATORS, ids=lambda entry: entry.slug)
def test_usual_values_have_no_warning(entry: AnyCalculator) -> None:
    assert calculate(entry, patient(entry)).warnings == ()


# 18.5 × 1.5² = 41.625
@pytest.mark.parametrize(("weight", "count"), [(41.6, 0), (41.7, 1), (80, 1)])
def test_the_ideal_weight_matters_from_a_bmi_of_18_5_on(
    weight: float, count: int
) -> None:
    person = {"sex": "Female", "age": 50, "height": 150, "creatinine": 1}
    assert len(calculate(2, {**person, "weight": weight}).warnings) == count


def test_usual_ranges_are_within_what_is_possible() -> None:
    assert len(MEASURED) >= 20
    for _, item in MEASURED.values():
        low, high = item.measure.usual or (0, 0)
        assert item.measure.low <= low < high <= item.measure.high


@pytest.mark.parametrize(
    ("entry", "item"), MEASURED.values(), ids=lambda value: getattr(value, "name", "")
)
@given(data=st.data())
@some
def test_a_number_with_another_unit_is_doubted(
    entry: AnyCalculator, item: Quantity, data: st.DataObject
) -> None:
    measure = item.measure
    low, high = measure.usual or (0, 0)
    right, wrong = (data.draw(st.sampled_from(measure.accepted)) for _ in range(2))
    value = data.draw(st.floats(low * 1.01, high * 0.99))
    number = convert(value, measure.unit, right, substance=measure.substance)
    assert item.doubt([number, right], item.read([number, right], str)) is None
    misread = convert(number, wrong, measure.unit, substance=measure.substance)
    if not measure.low <= misread <= measure.high:
        with pytest.raises(
            CalculatorInputError, match="is outside what is possible .*would be usual"
        ):
            item.read([number, wrong], str)
        return
    doubt = item.doubt([number, wrong], item.read([number, wrong], str))
    if low <= misread <= high:
        assert doubt is None
    else:
        assert doubt is not None
        assert "would be usual" in doubt
        assert doubt.endswith("Check the unit.")


@pytest.mark.parametrize(
    ("calculator_id", "name", "raw", "hint"), table("measures")["doubted"]
)
def test_doubtful_units_are_warnings(
    calculator_id: int, name: str, raw: list[object], hint: str
) -> None:
    entry = find(calculator_id)
    entities = {**patient(entry), name: raw}
    result = calculate(entry, entities)
    (doubt,) = result.unit_doubts
    assert hint in doubt
    assert doubt in result.warnings
    line = calculate_line({"calculator_id": calculator_id, "inputs": entities})
    assert line["warnings"] == list(result.warnings)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("White blood cell count", [0, "10^9/L"]),
        ("White blood cell count", [0.03, "10^9/L"]),
        ("PaCO2", [8, "kPa"]),
    ],
)
def test_rare_but_possible_values_are_not_doubted(name: str, raw: list[object]) -> None:
    entities = {
        "Temperature": 37,
        "Heart Rate or Pulse": 80,
        "White blood cell count": 8,
        name: raw,
    }
    assert calculate(51, entities).unit_doubts == ()


@st.composite
def misspelled_names(draw: st.DrawFn, entry: AnyCalculator) -> str:
    """Names of inputs with a letter left out or put in, or with two more at the end."""
    name = draw(st.sampled_from([item.name for item in entry.inputs]))
    index = draw(st.integers(0, len(name) - 1))
    letter = draw(st.sampled_from("xqz"))
    misspellings = [
        name[:index] + name[index + 1 :],
        name[:index] + letter + name[index:],
        f"{name}{letter}{letter}",
    ]
    return draw(
        st.sampled_from(misspellings).filter(
            lambda text: (
                entry.input_named(text) is None and "=" not in text and text.strip()
            )
        )
    )


@pytest.mark.parametrize("entry", CALCULATORS, ids=lambda entry: entry.slug)
@given(data=st.data())
@settings(max_examples=2)
def test_a_misspelled_name_is_refused_with_the_same_message_by_batch_and_arguments(
    entry: AnyCalculator, data: st.DataObject
) -> None:
    name = data.draw(misspelled_names(entry))
    entities = {**patient(entry), name: "1"}
    line = calculate_line({"calculator_id": entry.id, "inputs": entities})
    assert "answer" not in line
    with pytest.raises(CalculatorInputError) as error:
        from_arguments(entry, [f"{name}=1"])
    assert line["error"] == str(error.value)
    assert f"no input {name.strip()!r}" in line["error"]
    keys = ", ".join(item.key for item in entry.inputs)
    assert line["error"].endswith(f"Inputs: {keys}")


def test_entities_that_a_rule_does_not_use_are_accepted() -> None:
    counts = {entry.id: len(entry.unused) for entry in CALCULATORS if entry.unused}
    assert counts == {10: 1, 17: 1, 33: 2, 36: 1, 43: 1, 68: 1}
    line = calculate_line(
        {"calculator_id": 68, "inputs": {"LMP": "04/13/2009", "cycle length": 23}}
    )
    assert line["answer"] == "04/27/2009"
    assert "Not used: cycle length." in line["explanation"]
    arguments = from_arguments(68, ["LMP=04/13/2009", "cycle_length=23"])
    assert arguments["cycle_length"] == "23"
