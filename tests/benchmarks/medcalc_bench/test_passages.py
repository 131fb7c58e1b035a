"""The comparison with noted readings, on a repository made here."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from measurements import medcalc_passages
from measurements.medcalc_passages import (
    MirrorError,
    Reading,
    agrees,
    compared,
    passage,
    readings,
    reply,
    report,
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


def _blob(folder: Path, rows: list[dict[str, object]]) -> str:
    """Puts a file of replies into a repository and returns its blob."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    text = "\n".join(json.dumps(row) for row in rows)
    command = ["git", "-C", str(folder), "hash-object", "-w", "--stdin"]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _reading(blob: str, text: str, value: str | None) -> Reading:
    return Reading(blob, 1, 5, hashlib.sha256(text.encode()).hexdigest(), value)


def test_passages_are_the_reasoning_without_the_answer_field() -> None:
    as_json = json.dumps({"step_by_step_thinking": REASONING, "answer": "99"})
    assert passage(_row(as_json)) == REASONING
    assert passage(_row(REASONING)) == REASONING
    assert passage(_row("N/A")) == ""


def test_replies_are_the_last_message_or_what_is_left_of_them() -> None:
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
    ("value", "text", "same"),
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
    value: str | None, text: str, same: bool
) -> None:
    assert agrees(_reading("", text, value), text)[0] is same


def test_the_report_counts_and_prints_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = _blob(tmp_path, [_row(REASONING)])
    made = [_reading(blob, REASONING, "100"), _reading(blob, REASONING, "80")]
    monkeypatch.setattr(medcalc_passages, "readings", lambda: made)
    monkeypatch.setattr(medcalc_passages, "ANSWERS", (blob,))
    lines = report(tmp_path).splitlines()
    assert lines[0].startswith(f"{blob[:8]}, line 1, calculator 5: noted 80")
    assert lines[-2:] == [
        "1 of 2 passages are read as noted",
        "0 of 1 replies are unclear (0.0%)",
    ]


def test_a_changed_passage_and_a_missing_blob_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = _blob(tmp_path, [_row(REASONING + " And more.")])
    monkeypatch.setattr(
        medcalc_passages, "readings", lambda: [_reading(blob, REASONING, "100")]
    )
    with pytest.raises(MirrorError, match="line 1: the passage's SHA-256 is"):
        list(compared(tmp_path))
    monkeypatch.setattr(
        medcalc_passages, "readings", lambda: [_reading("0" * 40, REASONING, "100")]
    )
    with pytest.raises(MirrorError, match="no git repository that holds blob 0000"):
        list(compared(tmp_path))


def test_the_committed_readings_are_values_of_their_calculators_form() -> None:
    """No passage is read twice, and every reading is one that the scorer accepts as a gold."""
    keys = {(reading.blob, reading.line) for reading in readings()}
    assert len(keys) == len(readings())
    for reading in readings():
        assert reading.blob in medcalc_passages.ANSWERS
        if reading.reading is not None:
            field = json.dumps({"answer": reading.reading})
            assert agrees(reading, field)[0], reading
