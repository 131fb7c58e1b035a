"""The calculators as tools: their schemas, their calls, and arguments compared with the right ones."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import jsonschema
import pytest

from medical_tasks.calculators import CALCULATORS, CalculatorInputError, find
from medical_tasks.calculators.tools import (
    ArgumentError,
    call,
    compared,
    known_arguments,
    tool_of,
)
from tests.calculators.test_golden import cases


def test_every_calculator_is_a_typed_tool() -> None:
    assert CALCULATORS
    for entry in CALCULATORS:
        tool = tool_of(entry)
        assert re.fullmatch(r"[a-z0-9_]{1,64}", tool.name)
        jsonschema.Draft202012Validator.check_schema(dict(tool.parameters))
        properties = tool.parameters["properties"]
        assert isinstance(properties, dict)
        assert list(properties) == [item.parameter for item in entry.inputs]
        assert all(schema["description"] for schema in properties.values())


def test_a_call_with_the_arguments_of_the_entities_gives_the_answer_of_the_rule() -> (
    None
):
    count = 0
    for slug, case in cases():
        if "entities" not in case or "answer" not in case:
            continue
        calculator, entities = find(slug), case["entities"]
        try:
            result = calculator.calculate(entities)
        except CalculatorInputError:
            continue  # the case needs a convention
        arguments = json.loads(json.dumps(known_arguments(calculator, entities)))
        schema = {**tool_of(calculator).parameters, "required": []}
        errors = jsonschema.Draft202012Validator(schema).iter_errors(arguments)
        # A number in another unit is a text, which the tool accepts all the same.
        assert all(isinstance(error.instance, str) for error in errors)
        answer, expected = call(calculator, arguments).answer, result.answer
        if isinstance(expected, float):
            assert answer == pytest.approx(expected)
        else:
            assert answer == expected
        assert not compared(calculator, arguments, entities).errors, (slug, case)
        count += 1
    assert count > len(CALCULATORS)


@pytest.mark.parametrize(
    ("weight", "bmi"), [(70, "22.8571"), ("154.324 lbs", "22.8572")]
)
def test_the_answer_of_a_call(weight: object, bmi: str) -> None:
    outcome = call(find("body_mass_index"), {"weight_kg": weight, "height_cm": 175})
    assert outcome.text == f"Body Mass Index (BMI) = {bmi} kg/m^2"
    assert outcome.answer is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight_kg": 70}, "Error: .*missing required input: height"),
        ({"weight_kg": 70, "height_cm": None}, "Error: .*missing required input"),
        ({"weight_kg": 70, "hight": 175}, "Error: .*no input 'hight'; did you mean"),
        ({"weight_kg": "heavy", "height_cm": 175}, "Error: .*expected a number"),
        ({"weight_kg": "70 mL", "height_cm": 175}, "Error: .*unit 'mL' is not accep"),
        ({"weight_kg": 70, "height_cm": 1.75}, "Error: .*outside what is possible"),
    ],
)
def test_the_error_of_a_call(arguments: Mapping[str, object], message: str) -> None:
    outcome = call(find("body_mass_index"), arguments)
    assert re.match(message, outcome.text)
    assert outcome.answer is None


BMI = {"weight": [154, "lbs"], "height": [175, "cm"]}


@pytest.mark.parametrize(
    ("arguments", "errors"),
    [
        ({"weight_kg": 69.853, "height_cm": 175}, {}),
        # converted, and rounded as people do: within 5 %
        ({"weight_kg": 70, "height_cm": 175}, {}),
        ({"weight_kg": 75, "height_cm": 175}, {"weight_kg": "value"}),
        # only copied: within half a per cent
        ({"weight_kg": 69.853, "height_cm": 175.4}, {}),
        ({"weight_kg": 69.853, "height_cm": 177}, {"height_cm": "value"}),
        ({"weight_kg": "154 lbs", "height": "5 ft 8.9 in"}, {}),
        ({"weight_kg": 154, "height_cm": 175}, {"weight_kg": "unit"}),
        ({"weight_kg": 69.853, "height_cm": 1.75}, {"height_cm": "unit"}),
        ({"weight_kg": "154 mL", "height_cm": 175}, {"weight_kg": "unit"}),
        ({"weight_kg": "heavy", "height_cm": 175}, {"weight_kg": "value"}),
        ({"weight_kg": 69.853}, {"height_cm": "missing"}),
        ({"weight_kg": 69.853, "height_cm": "not given"}, {"height_cm": "missing"}),
        (
            {"weight_kg": 69.853, "height_cm": 175, "age": 3},
            {"age": "extra"},
        ),
        ({}, {"weight_kg": "missing", "height_cm": "missing"}),
    ],
)
def test_errors_of_measured_arguments(
    arguments: Mapping[str, object], errors: Mapping[str, ArgumentError]
) -> None:
    comparison = compared(find("body_mass_index"), arguments, BMI)
    assert comparison.errors == errors
    assert comparison.stated == 2 + ("age" in errors)


@pytest.mark.parametrize(
    ("arguments", "stated", "errors"),
    [
        # absent findings may be left out or denied, and do not count
        ({"stroke": True}, 3, {}),
        ({"stroke": True, "diabetes": False, "hypertension": False}, 3, {}),
        ({}, 3, {"stroke": "missing"}),
        ({"stroke": False}, 3, {"stroke": "value"}),
        ({"stroke": True, "hypertension": True}, 4, {"hypertension": "value"}),
        ({"stroke": True, "diabetes": True}, 4, {"diabetes": "extra"}),
        ({"stroke": "perhaps"}, 3, {"stroke": "value"}),
    ],
)
def test_errors_of_findings(
    arguments: Mapping[str, object], stated: int, errors: Mapping[str, ArgumentError]
) -> None:
    entities = {
        "Age": [80, "years"],
        "sex": "female",
        "Stroke": True,
        "Hypertension history": False,
    }
    all_arguments = {"age_years": 80, "sex": "female", **arguments}
    comparison = compared(find("cha2ds2_vasc"), all_arguments, entities)
    assert (comparison.stated, comparison.errors) == (stated, errors)
