"""`examples/medical_chat` and `examples/medical_patient`: conversations about notes, and a simulated patient."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import medical_tasks.plugins as plugins
from medical_tasks.cli import main
from tests.fault_server import Call
from tests.support import ROOT

CHAT, PATIENT = (ROOT / "examples" / name for name in ("medical_chat", "medical_patient"))
ROWS = json.loads((CHAT / "medical_chat" / "demo.json").read_text(encoding="utf-8"))
GOLDEN = json.loads((ROOT / "tests/golden/medical_chat.json").read_text(encoding="utf-8"))
DEMO = ["--config", "demo"]
JUDGE = ["--judge", "openai-api/test-host/judge"]
MODEL = ["--model", "openai-api/test-host/model"]


@pytest.fixture(autouse=True)
def examples(here: Path) -> Iterator[None]:
    """Both packages are known, and their demos built."""
    with plugins.using([str(CHAT), str(PATIENT)]):
        assert main(["build", "medical_chat", *DEMO]) == 0
        assert main(["build", "medical_patient", *DEMO]) == 0
        yield


def answer(call: Call) -> str:
    """The judge gives full marks; the model says A, or what it would say, and the patient something."""
    if call.body["model"] == "judge":
        keys = re.findall(r"^Q(\d+(?:-\d+)?):", call.prompt, re.MULTILINE)
        return "".join(f"Reasoning{key}: so it stands there.\nScore{key}: 2\n" for key in keys)
    if call.body["model"] == "patient":
        return "I have vomited, and lamps have rings."
    if "The visit is over." in call.prompt:
        return "B"
    if "The patient writes" in str(call.body["messages"][0]["content"]):
        return "READY" if len(call.body["messages"]) > 4 else "What else have you noticed?"
    return "A"


def figures(run: str, task: str) -> dict[str, Any]:
    results = json.loads((Path(run) / "results.json").read_text(encoding="utf-8"))
    return {name: each["value"] for name, each in results["tasks"][task]["metrics"].items()}


def entry(run: str, task: str) -> dict[str, Any]:
    results = json.loads((Path(run) / "results.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = results["tasks"][task]
    return found


def test_the_reference_scores_the_maximum(serving: Any) -> None:
    names = "medical_chat_choice,medical_chat_open,medical_patient"
    words = ["run", "--tasks", names, "--model", "baseline/reference", *DEMO, *JUDGE]
    with serving():
        assert main([*words, "--out", "run"]) == 0
    for name in ("medical_chat_choice", "medical_chat_open"):
        assert [*figures("run", name).values()] == [1.0] * 9
    assert figures("run", "medical_patient") == {"accuracy": 1.0, "facts": None, "questions": None}


def test_the_model_sees_its_own_answers_and_no_past_choices(serving: Any) -> None:
    with serving() as server:
        assert main(["run", "--tasks", "medical_chat_choice", *MODEL, *DEMO, "--out", "run"]) == 0
        chats = [call.body["messages"] for call in server.calls]
    patient = ROWS[2]
    (last,) = (chat for chat in chats if len(chat) == 2 * len(patient["turns"]) - 1)
    first, third = patient["turns"][0], patient["turns"][-1]
    assert all(note in last[0]["content"] for note in patient["notes"])
    assert not any(note in message["content"] for note in patient["notes"] for message in last[1:])
    assert last[1]["content"] == f"A: {first['choices'][0]}"
    past = "\n".join(message["content"] for message in last[:-1])
    assert first["question"] in past
    assert first["choices"][1] not in past
    assert all(choice in last[-1]["content"] for choice in third["choices"])
    assert len(chats) == sum(len(row["turns"]) for row in ROWS)
