"""Turns of a dialogue and their numbers."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.pieces import numbered_dialogue, split_turns
from tests.support import SHARED, needs_shared


@pytest.mark.parametrize(
    ("dialogue", "turns"),
    [
        ("", []),
        ("[doctor] hi .", ["[doctor] hi ."]),
        ("[doctor] hi .\n[patient] hello .", ["[doctor] hi .", "[patient] hello ."]),
        # A line without a speaker goes on with the turn before it, blank ones included.
        ("[doctor] a .\nand b .\n[patient] c .", ["[doctor] a .\nand b .", "[patient] c ."]),
        ("[patient]\n\n[doctor] hi .\n", ["[patient]\n", "[doctor] hi .\n"]),
        ("[patient_guest] hi .\n[doctor] hello .", ["[patient_guest] hi .", "[doctor] hello ."]),
        ("[doctor] it is\n[3] of them", ["[doctor] it is\n[3] of them"]),
        ("no speaker\nat all", ["no speaker\nat all"]),
        ("\n[doctor] hi .", ["", "[doctor] hi ."]),
    ],
)
def test_turns(dialogue: str, turns: list[str]) -> None:
    assert split_turns(dialogue) == turns


def test_numbers_begin_at_zero() -> None:
    assert numbered_dialogue(["[doctor] a .\nand b .", "[patient] c ."]) == "[0][doctor] a .\nand b .\n[1][patient] c ."
    assert numbered_dialogue([]) == ""


@given(
    st.sampled_from(("doctor", "patient", "patient_guest", "nurse")),
    st.sampled_from((str.upper, str.lower, str.title)),
    st.sampled_from(("{}[{}]", "{}[ {} ]", "{}[{} ]")),
    st.sampled_from(("", " ", "\t")),
)
def test_a_speaker_in_any_case_and_spacing(name: str, case: Callable[[str], str], form: str, before: str) -> None:
    line = f"{form.format(before, case(name))} hi ."
    assert split_turns(f"[doctor] a .\n{line}") == ["[doctor] a .", line]


@pytest.mark.parametrize(
    "heard", ["[ inaudible 00:09:25 ] sick", "[inaudible] sick", "[ Laughter ]", "[crosstalk]", "[]", "[3]"]
)
def test_what_a_transcriber_heard_is_no_speaker(heard: str) -> None:
    assert split_turns(f"[doctor] a .\n{heard}") == [f"[doctor] a .\n{heard}"]


LINES = st.lists(st.one_of(st.text(max_size=8), st.sampled_from(["[doctor] a", "[patient]", "[guest_2] b", "[1] c"])))


@given(LINES)
@settings(deadline=None, max_examples=100)
def test_joined_turns_are_the_dialogue(lines: list[str]) -> None:
    dialogue = "\n".join(lines)
    turns = split_turns(dialogue)
    assert "\n".join(turns) == dialogue
    assert split_turns("\n".join(turns)) == turns


@needs_shared
@pytest.mark.upstream
def test_numbers_are_those_of_doclens() -> None:
    """Its file of test1 has every input numbered; one of the 40 dialogues has a turn of two lines."""
    path = SHARED / "data" / "aci_bench" / "challenge_data" / "clinicalnlp_taskB_test1.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        dialogues = {row["encounter_id"]: row["dialogue"] for row in csv.DictReader(stream, strict=True)}
    released = json.loads((SHARED / "data" / "doclens" / "ACI-Bench-TestSet-1_clean.json").read_text(encoding="utf-8"))
    assert [entry["example_id"] for entry in released] == list(dialogues)
    assert len(dialogues) == 40
    ours = {name: numbered_dialogue(split_turns(dialogue)) for name, dialogue in dialogues.items()}
    assert ours == {entry["example_id"]: entry["input"] for entry in released}
    assert sum("\n" in turn for dialogue in dialogues.values() for turn in split_turns(dialogue)) == 1
