"""`key=value` arguments of `medical-tasks calc`, and the list of inputs that it prints."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CALCULATORS, CalculatorInputError, calculate
from medical_tasks.cli.calc import from_arguments, render_inputs
from tests.case_tables import tabled


@tabled("calculator", "arguments", "answer")
def test_the_answer_to_arguments(
    calculator: str | int, arguments: list[str], answer: object
) -> None:
    result = calculate(calculator, from_arguments(calculator, arguments))
    assert result.answer == (
        pytest.approx(answer, rel=1e-4) if isinstance(answer, float) else answer
    )


def test_arguments_become_entities_with_the_names_of_the_dataset() -> None:
    assert from_arguments("fena", ["urine_sodium=20", "Na=140 mEq/L"]) == {
        "Urine sodium": "20",
        "Sodium": "140 mEq/L",
    }


@tabled("arguments", "message")
def test_wrong_arguments_are_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(CalculatorInputError, match=message):
        from_arguments("cha2ds2_vasc", arguments)


@pytest.mark.parametrize("entry", CALCULATORS, ids=lambda entry: entry.slug)
def test_every_key_of_the_list_is_accepted(entry: Any) -> None:
    lines = render_inputs(entry).splitlines()
    keys = [line.split()[0] for line in lines[1 : len(entry.inputs) + 1]]
    assert len(set(keys)) == len(entry.inputs)
    assert [entry.input_named(key) for key in keys] == list(entry.inputs)
    assert lines[-1] == f"Source: {entry.source}"
