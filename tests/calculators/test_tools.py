"""The calculators as tools: what a model reads of them, their calls, and arguments beside the right ones."""

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

COUNTS_IN_AGE = {"Age": [80, "years"], "sex": "female"}


def test_every_calculator_is_a_typed_tool() -> None:
    assert CALCULATORS
    for entry in CALCULATORS:
        tool = tool_of(entry)
        assert re.fullmatch(r"[a-z0-9_]{1,64}", tool.name)
        jsonschema.Draft202012Validator.check_schema(dict(tool.parameters))
        properties = tool.parameters["properties"]
        assert isinstance(properties, dict)
        assert list(properties) == [item.parameter for item in entry.inputs]
        assert all(each["description"] for each in properties.values())


def test_a_tool_called_with_what_the_entities_say_gives_the_rules_answer() -> None:
    found = 0
    for slug, case in cases():
        if "entities" not in case or "answer" not in case:
            continue
        calculator, entities = find(slug), case["entities"]
        try:
            result = calculator.calculate(entities)
        except CalculatorInputError:
            continue  # by a convention
        arguments = json.loads(json.dumps(known_arguments(calculator, entities)))
        schema = {**tool_of(calculator).parameters, "required": []}
        refused = jsonschema.Draft202012Validator(schema).iter_errors(arguments)
        # a number in a unit of its own is a text, which is read all the same
        assert all(isinstance(each.instance, str) for each in refused)
        answer = call(calculator, arguments).answer
        wanted = result.answer
        assert answer == (pytest.approx(wanted) if type(wanted) is float else wanted)
        assert not compared(calculator, arguments, entities).errors, (slug, case)
        found += 1
    assert found > len(CALCULATORS)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"weight_kg": 70, "height_cm": 175},
            "Body Mass Index (BMI) = 22.8571 kg/m^2",
        ),
        ({"weight_kg": "154.324 lbs", "height_cm": 175}, "= 22.8572 kg/m^2"),
        ({"weight_kg": 70}, "Error: .*missing required input: height"),
        ({"weight_kg": 70, "height_cm": None}, "Error: .*missing required input"),
        ({"weight_kg": 70, "hight": 175}, "Error: .*no input 'hight'; did you mean"),
        ({"weight_kg": "heavy", "height_cm": 175}, "Error: .*expected a number"),
        ({"weight_kg": "70 mL", "height_cm": 175}, "Error: .*unit 'mL' is not accep"),
        ({"weight_kg": 70, "height_cm": 1.75}, "Error: .*outside what is possible"),
    ],
)
def test_a_call_is_answered_or_told_what_is_wrong(
    arguments: Mapping[str, object], text: str
) -> None:
    called = call(find("body_mass_index"), arguments)
    assert re.search(re.escape(text) if "Error" not in text else text, called.text)
    assert (called.answer is None) == called.text.startswith("Error")


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
def test_what_is_wrong_with_a_measured_argument(
    arguments: Mapping[str, object], errors: Mapping[str, ArgumentError]
) -> None:
    found = compared(find("body_mass_index"), arguments, BMI)
    assert found.errors == errors
    assert found.stated == 2 + ("age" in errors)


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
def test_what_is_wrong_with_findings(
    arguments: Mapping[str, object], stated: int, errors: Mapping[str, ArgumentError]
) -> None:
    entities = {**COUNTS_IN_AGE, "Stroke": True, "Hypertension history": False}
    given = {"age_years": 80, "sex": "female", **arguments}
    found = compared(find("cha2ds2_vasc"), given, entities)
    assert (found.stated, found.errors) == (stated, errors)
