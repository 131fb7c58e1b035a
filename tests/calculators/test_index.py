"""The index: all calculators of the dataset, their names, and the signatures of their functions."""

from __future__ import annotations

import datetime
import inspect
from typing import Any

import pytest

from medical_tasks.calculators import CALCULATORS, CalculatorInputError, base, find
from medical_tasks.calculators.intensive_care import mean_arterial_pressure
from medical_tasks.calculators.person import due_date

# fmt: off
DATASET_IDS = (
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
    33, 36, 38, 39, 40, 43, 44, 45, 46, 48, 49, 51, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69,
)
# fmt: on
"""The 55 calculator ids of the dataset."""


def test_the_calculators_are_the_55_of_the_dataset() -> None:
    assert len(DATASET_IDS) == 55
    assert tuple(entry.id for entry in CALCULATORS) == DATASET_IDS


@pytest.mark.parametrize("entry", CALCULATORS, ids=lambda entry: entry.slug)
def test_a_calculator_is_found_by_id_slug_name_and_alias(entry: Any) -> None:
    assert find(entry.id) is entry
    assert find(str(entry.id)) is entry
    for name in (entry.slug, entry.name, *entry.aliases):
        assert find(name) is entry
        assert find(f" {name.upper()} ") is entry


@pytest.mark.parametrize("entry", CALCULATORS, ids=lambda entry: entry.slug)
def test_functions_are_keyword_only_typed_and_documented(entry: Any) -> None:
    signature = inspect.signature(entry.function)
    parameters = list(signature.parameters.values())
    for parameter in parameters:
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters[-1].name == "say"
    assert signature.return_annotation in (
        "float",
        "int",
        "datetime.date",
        "tuple[int, int]",
    )
    assert "Source" in entry.__doc__
    assert entry.source
    assert inspect.signature(entry) == signature


@pytest.mark.parametrize(
    "entry",
    [entry for entry in CALCULATORS if entry.adapt is None],
    ids=lambda entry: entry.slug,
)
def test_parameters_are_inputs_or_options_of_conventions(entry: Any) -> None:
    *parameters, _say = inspect.signature(entry.function).parameters
    options = [name for convention in entry.conventions for name in convention.options]
    inputs = [item.parameter for item in entry.inputs]
    assert sorted(parameters) == sorted([*inputs, *options])


def test_a_parameter_without_an_input_is_refused_at_import() -> None:
    def body_mass_index(*, weight_kg: float, hight_cm: float) -> float:
        return weight_kg / hight_cm

    with pytest.raises(
        ValueError, match="calculator body_mass_index: no input reads hight_cm"
    ):
        base.calculator(source="")(body_mass_index)


def test_a_calculator_is_called_as_its_function() -> None:
    assert mean_arterial_pressure(systolic_mm_hg=120, diastolic_mm_hg=75) == 90
    day = due_date(last_menstrual_date=datetime.date(2023, 1, 1), cycle_length_days=28)
    assert day == datetime.date(2023, 10, 8)


def test_an_unknown_name_without_a_similar_one_is_refused() -> None:
    with pytest.raises(
        CalculatorInputError,
        match=r"^no calculator 'zzzzzz'; `medical-tasks calc --list` shows all",
    ):
        find("zzzzzz")
