"""`label`: the table of rules, the form of answers, and errors by their message."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.calculators import CALCULATORS, CalculatorInputError
from medical_tasks.lab.v1_labels import QUIRKS, RULES, LabelResult, label
from tests.calculators.test_index import DATASET_IDS
from tests.case_tables import tabled
from tests.lab.v1_labels.test_quirks import TABLES

EYE = (
    "eyes open spontaneously",
    "eye opening to verbal command",
    "eye opening to pain",
    "no eye opening",
)
VERBAL = (
    "oriented",
    "confused",
    "inappropriate words",
    "incomprehensible sounds",
    "no verbal response",
)
MOTOR = (
    "obeys commands",
    "localizes pain",
    "withdrawal from pain",
    "flexion to pain",
    "extension to pain",
    "no motor response",
)


def test_the_table_holds_the_55_of_the_dataset() -> None:
    assert tuple(RULES) == DATASET_IDS
    assert len(RULES) == 55
    assert {rule.id: rule.name for rule in RULES.values()} == {
        entry.id: entry.name for entry in CALCULATORS
    }
    assert len({rule.compute for rule in RULES.values()}) == 55


def test_quirks_are_one_line_each() -> None:
    assert tuple(QUIRKS) == DATASET_IDS
    stated = [quirk for quirk in QUIRKS.values() if quirk is not None]
    assert len(stated) > 25
    assert len(stated) < 55
    assert all(
        quirk and "\n" not in quirk and not quirk.endswith(".") for quirk in stated
    )


@tabled("calculator_id", "entities", "answer", "text")
def test_answers_have_the_form_of_the_dataset(
    calculator_id: int, entities: dict[str, Any], answer: object, text: str
) -> None:
    result = label(calculator_id, entities)
    assert result == LabelResult(calculator_id, result.answer, None)
    assert result.answer == (tuple(answer) if isinstance(answer, list) else answer)
    assert result.answer_text == text


@pytest.mark.parametrize(("calculator_id", "entities", "message"), TABLES["refused"])
def test_inputs_without_a_label(
    calculator_id: int, entities: dict[str, Any], message: str
) -> None:
    with pytest.raises(CalculatorInputError, match=message):
        label(calculator_id, entities)


def test_an_overflow_is_an_input_error() -> None:
    entities = {
        "sex": "Male",
        "age": [1.0, "years"],
        "Systolic Blood Pressure": [120.0, "mm Hg"],
        "Total cholesterol": [1e15, "mmol/L"],
        "high-density lipoprotein cholesterol": [1e-300, "mmol/L"],
    }
    with pytest.raises(
        CalculatorInputError,
        match="v1 label of Framingham .*: the label rule cannot run on these",
    ):
        label(46, entities)


@given(st.sampled_from(EYE), st.sampled_from(VERBAL), st.sampled_from(MOTOR))
def test_coma_labels_count_the_verbal_score_twice(
    eye: str, verbal: str, motor: str
) -> None:
    entities = {
        "Best eye response": eye,
        "Best verbal response": verbal,
        "Best motor response": motor,
    }
    score = (4 - EYE.index(eye)) + (5 - VERBAL.index(verbal)) + (6 - MOTOR.index(motor))
    assert label(21, entities).answer == score + 5 - VERBAL.index(verbal)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(),
    st.text(max_size=5),
    st.lists(
        st.one_of(
            st.floats(),
            st.sampled_from(["years", "mg/dL", "µmol/L", "cm", "Male", "mg"]),
        ),
        max_size=4,
    ),
)


@given(st.sampled_from(TABLES["cases"]), st.data())
def test_junk_gives_an_answer_or_an_input_error(
    case: dict[str, Any], data: st.DataObject
) -> None:
    calculator_id, entities = case["calculator"], deepcopy(case["entities"])
    for name in data.draw(
        st.lists(st.sampled_from(sorted(entities)), max_size=2, unique=True)
    ):
        entities[name] = data.draw(JUNK)
    before = repr(entities)
    try:
        answer = label(calculator_id, entities).answer
    except CalculatorInputError:
        pass
    else:
        assert isinstance(answer, int | float | str | tuple)
        assert not isinstance(answer, bool)
        assert not isinstance(answer, float) or math.isfinite(answer)
    assert repr(entities) == before
