"""The comparison with readings by hand: passages, replies, agreement, and the committed readings."""

from __future__ import annotations

import hashlib
import json

import pytest

from measurements import medcalc_passages
from measurements.medcalc_passages import (
    Reading,
    agrees,
    passage,
    readings,
    reply,
)

REASONING = (
    "The formula is known. MAP = (140 + 2 * 80) / 3. Therefore, the MAP is 100 mmHg."
)
NO_ANSWER = "The equation needs creatinine, age and sex. Filling them in gives the clearance sought."


def _row(explanation: str, answer: str = "100", **cells: object) -> dict[str, object]:
    return {
        "Calculator ID": "5",
        "LLM Explanation": explanation,
        "LLM Answer": answer,
        "Ground Truth Answer": "100",
        **cells,
    }


def _reading(blob: str, text: str, value: str | None) -> Reading:
    return Reading(blob, 1, 5, hashlib.sha256(text.encode()).hexdigest(), value)


def test_a_passage_is_the_reasoning_without_the_answer_field() -> None:
    as_json = json.dumps({"step_by_step_thinking": REASONING, "answer": "99"})
    assert passage(_row(as_json)) == REASONING
    assert passage(_row(REASONING)) == REASONING
    assert passage(_row("N/A")) == ""


def test_a_reply_is_the_last_message_of_the_model_or_its_columns() -> None:
    messages = [
        {"role": "user", "content": "question"},
        {"role": "assistant", "content": "code"},
        {"role": "assistant", "content": "<answer>7</answer>"},
        {"role": "user", "content": "7"},
    ]
    assert reply({"LLM Chat History": messages}) == "<answer>7</answer>"
    assert reply(_row("N/A", answer="12")) == '{"answer": "12"}'
    assert reply(_row(REASONING)) == REASONING


@pytest.mark.parametrize(
    ("value", "text", "agree"),
    [
        ("100", REASONING, True),
        ("100.4", REASONING, True),  # the same but for rounding
        ("80", REASONING, False),
        (None, REASONING, False),
        (None, NO_ANSWER, True),
        ("100", NO_ANSWER, False),
    ],
)
def test_agreement_with_a_reading_by_hand(
    value: str | None, text: str, agree: bool
) -> None:
    assert agrees(_reading("", text, value), text)[0] is agree


def test_committed_readings_are_accepted_as_golds_and_none_is_there_twice() -> None:
    keys = {(reading.blob, reading.line) for reading in readings()}
    assert len(keys) == len(readings())
    for reading in readings():
        assert reading.blob in medcalc_passages.ANSWERS
        if reading.reading is not None:
            field = json.dumps({"answer": reading.reading})
            assert agrees(reading, field)[0], reading
