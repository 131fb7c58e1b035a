"""What an answer says of itself: values outside the published range, units that cannot be meant; by any door the same."""

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
some = settings(max_examples=8)


def usual(item: Input) -> object:
    """A value of an input that nothing can be said against."""
    if isinstance(item, Quantity):
        low, high = item.measure.usual or (
            item.measure.low,
            min(item.measure.high, 1000),
        )
        return {"age": 50, "weight": 60, "height": 170, "Heart Rate or Pulse": 80, "Sodium": 150, "Glucose": 150,
                "Triglycerides": 150, "Glasgow Coma Score": 15, "FiO2": 21}.get(item.name, (low + high) / 2)  # fmt: skip
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
    """A patient with every required input."""
    if entry.id == 49:
        return {"Morphine Dose": 10, "Morphine Dose Per Day": 2}
    return {
        item.name: usual(item)
        for item in entry.inputs
        if item.absent is REQUIRED or item.parameter == "pao2_mm_hg"
    }


def test_which_rules_have_a_published_range() -> None:
    assert [entry.id for entry in CALCULATORS if entry.valid] == [
        *(2, 3, 4, 9, 10, 11, 19, 20, 22, 25, 26, 29, 38, 44, 45, 46, 62)
    ]
    units = {entry.id: {i.parameter: i for i in entry.inputs} for entry in CALCULATORS}
    for entry in CALCULATORS:
        for valid in entry.valid:
            item = units[entry.id][valid.parameter]
            assert isinstance(item, Quantity)
            assert f"{valid.span(item.measure.unit)} ({valid.source})" in render_inputs(
                entry
            )


@pytest.mark.parametrize(
    ("entry", "valid"), RANGED, ids=lambda part: getattr(part, "slug", "")
)
@given(data=st.data())
@some
def test_a_value_outside_the_published_range_is_answered_and_said(
    entry: AnyCalculator, valid: Any, data: st.DataObject
) -> None:
    item = next(item for item in entry.inputs if item.parameter == valid.parameter)
    assert isinstance(item, Quantity)
    low, high = item.measure.usual or (item.measure.low, item.measure.high)
    value = round(data.draw(st.floats(max(low, 0.5), high)), 1)
    counted = math.floor(value) if item.measure.unit == "years" else value
    entities = {**patient(entry), item.name: value}
    result = calculate(entry, entities)
    assert isinstance(result.answer, int | float)
    said = [
        warning
        for warning in result.warnings
        if warning.startswith(f"{item.name} {value:.6g} ")
    ]
    assert len(said) == (0 if valid.low <= counted <= valid.high else 1)
    for warning in result.warnings:
        assert f"Warning: {warning}" in result.explanation.splitlines()[:-1]
    for warning in said:
        assert valid.span(item.measure.unit) in warning
        assert valid.source in warning
    # The batch and the single form answer the same, with the same warnings.
    line = calculate_line({"calculator_id": entry.id, "inputs": entities})
    assert (line["answer"], line["warnings"]) == (result.answer, list(result.warnings))
    typed = from_arguments(
        entry, [f"{name}={value}" for name, value in entities.items()]
    )
    assert calculate(entry, typed).warnings == result.warnings


@pytest.mark.parametrize("entry", CALCULATORS, ids=lambda entry: entry.slug)
def test_usual_values_have_no_warning(entry: AnyCalculator) -> None:
    assert calculate(entry, patient(entry)).warnings == ()


def test_the_ideal_weight_matters_from_a_bmi_of_18_5_on() -> None:
    def warnings(weight: float) -> int:
        person = {
            "sex": "Female",
            "age": 50,
            "weight": weight,
            "height": 150,
            "creatinine": 1,
        }
        return len(calculate(2, person).warnings)

    # 18.5 × 1.5² = 41.625
    assert [warnings(weight) for weight in (41.6, 41.7, 80)] == [0, 1, 1]


def test_every_input_with_units_of_two_kinds_knows_its_usual_range() -> None:
    assert len(MEASURED) >= 20
    for _, item in MEASURED.values():
        low, high = item.measure.usual or (0, 0)
        assert item.measure.low <= low < high <= item.measure.high


@pytest.mark.parametrize(
    ("entry", "item"), MEASURED.values(), ids=lambda part: getattr(part, "name", "")
)
@given(data=st.data())
@some
def test_a_number_with_the_unit_of_another_is_doubted(
    entry: AnyCalculator, item: Quantity, data: st.DataObject
) -> None:
    measure = item.measure
    low, high = measure.usual or (0, 0)
    right, wrong = (data.draw(st.sampled_from(measure.accepted)) for _ in range(2))
    value = data.draw(st.floats(low * 1.01, high * 0.99))
    number = convert(value, measure.unit, right, substance=measure.substance)
    assert item.doubt([number, right], item.read([number, right], str)) is None
    misread = convert(number, wrong, measure.unit, substance=measure.substance)
    if not measure.low <= misread <= measure.high:  # refused, with the same hint
        with pytest.raises(
            CalculatorInputError, match="is outside what is possible .*would be usual"
        ):
            item.read([number, wrong], str)
        return
    doubt = item.doubt([number, wrong], item.read([number, wrong], str))
    assert (doubt is not None) == (not low <= misread <= high)
    assert doubt is None or (
        "would be usual" in doubt and doubt.endswith("Check the unit.")
    )


@pytest.mark.parametrize(
    ("calculator_id", "name", "raw", "hint"), table("measures")["doubted"]
)
def test_units_that_cannot_be_meant(
    calculator_id: int, name: str, raw: list[object], hint: str
) -> None:
    entry = next(entry for entry in CALCULATORS if entry.id == calculator_id)
    result = calculate(entry, {**patient(entry), name: raw})
    (doubt,) = result.unit_doubts
    assert hint in doubt
    assert doubt in result.warnings
    assert calculate_line(
        {"calculator_id": calculator_id, "inputs": {**patient(entry), name: raw}}
    )["warnings"] == list(result.warnings)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("White blood cell count", [0, "10^9/L"]),
        ("White blood cell count", [0.03, "10^9/L"]),
        ("PaCO2", [8, "kPa"]),
    ],
)
def test_a_rare_patient_is_not_doubted(name: str, raw: list[object]) -> None:
    entities = {
        "Temperature": 37,
        "Heart Rate or Pulse": 80,
        "White blood cell count": 8,
        name: raw,
    }
    assert calculate(51, entities).unit_doubts == ()


# One mechanism names the inputs of both forms.


def slips(entry: AnyCalculator) -> st.SearchStrategy[str]:
    """A name of an input with a letter lost, doubled or changed."""
    names = [item.name for item in entry.inputs]

    def misspell(name: str, place: int, letter: str, kind: int) -> str:
        place %= len(name)
        return (
            name[:place] + name[place + 1 :],
            name[:place] + letter + name[place:],
            f"{name}{letter}{letter}",
        )[kind]

    letters = st.sampled_from("xqz")
    return st.builds(
        misspell, st.sampled_from(names), st.integers(0, 99), letters, st.integers(0, 2)
    )


@pytest.mark.parametrize("entry", CALCULATORS, ids=lambda entry: entry.slug)
@given(data=st.data())
@settings(max_examples=2)
def test_a_slip_in_a_name_is_refused_alike_by_both_forms(
    entry: AnyCalculator, data: st.DataObject
) -> None:
    name = data.draw(
        slips(entry).filter(
            lambda name: (
                entry.input_named(name) is None and "=" not in name and name.strip()
            )
        )
    )
    line = calculate_line(
        {"calculator_id": entry.id, "inputs": {**patient(entry), name: "1"}}
    )
    assert "answer" not in line
    with pytest.raises(CalculatorInputError) as error:
        from_arguments(entry, [f"{name}=1"])
    assert line["error"] == str(error.value)
    assert f"no input {name.strip()!r}" in line["error"]
    assert line["error"].endswith(
        f"Inputs: {', '.join(item.key for item in entry.inputs)}"
    )


def test_what_the_dataset_gives_beside_a_rule_is_taken_by_both_forms() -> None:
    assert [(entry.id, len(entry.unused)) for entry in CALCULATORS if entry.unused] == [
        *((10, 1), (17, 1), (33, 2), (36, 1), (43, 1), (68, 1))
    ]
    line = calculate_line(
        {"calculator_id": 68, "inputs": {"LMP": "04/13/2009", "cycle length": 23}}
    )
    assert line["answer"] == "04/27/2009"
    assert "Not used: cycle length." in line["explanation"]
    assert (
        from_arguments(68, ["LMP=04/13/2009", "cycle_length=23"])["cycle_length"]
        == "23"
    )
