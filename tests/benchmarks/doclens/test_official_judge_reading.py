"""How replies to the authors' prompts are read: nothing of them is guessed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.judge_reading import (
    read_official_batch,
    read_official_cited,
    read_official_cited_lines,
    read_official_lines,
    read_official_made,
    read_official_object,
)
from medical_tasks.judges.base import Unreadable
from tests.benchmarks.doclens.doclens_judges import official_entries as _entries


def test_claims_are_read_from_lines() -> None:
    assert read_official_made("Claim 1: A.\nClaim 2: B.") == '["A.", "B."]'
    assert read_official_made("Sure:\n\n Claim 1: A\nb.\nClaim 1: B.\nClaim 7: B.") == '["A b.", "B."]'
    for reply in (
        "claim 1: lower",
        "Claim 1:A",
        "Claim 1: He said Claim 2: twice",
        "Claim 1: \nClaim 2: B.",
        "Claim 1: A. Claim 2: B.",
        "**Claim 1: A.**",
        "",
        "A.",
        "\n".join(f"Claim {number}: F{number}." for number in range(1, 32)),
    ):
        assert isinstance(read_official_made(reply), Unreadable)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (_entries(("A.", 1), ("B <3.", 0)), (True, False)),
        (_entries(("b <3", 0), ('"a."', 1)), (True, False)),
        (_entries(("A.", 1)), (True, None)),
        (f"```json\n{_entries(('A.', True), ('B <3.', 0.0))}\n```", (True, False)),
        (_entries(("A.", 1), ("B >3.", 0)), "none of those asked about"),
        (_entries(("A.", 1), ("A.", 0)), "a claim stands twice"),
        (_entries(("A.", 1), ("A.", 1)), "a claim stands twice"),
        (_entries(("A.", "1")), "entailment_prediction must be 1 or 0"),
        (_entries(("A.", 2)), "must be 1 or 0"),
        (_entries(("A.", 1), key="verdict"), "one entailment_prediction is needed"),
        ('[{"entailment_prediction": 1}]', "an object with the claim"),
        ('{"A.": 1}', "a list of objects"),
        ("[]", "a list of objects"),
        ("1\n0", "no JSON"),
    ],
)
def test_verdicts_on_claims_are_matched_by_the_claim(reply: str, value: Any) -> None:
    found = read_official_batch(["A.", "B <3."])(reply)
    if isinstance(value, str):
        assert isinstance(found, Unreadable)
        assert value in found.problem
    else:
        assert found == value


def test_claims_that_look_alike_are_not_confused() -> None:
    read = read_official_batch(["A.", "a", "B."])
    assert read(_entries(("A.", 1), ("B.", 1))) == (None, None, True)
    assert read(_entries(("A.", 1), ("a", 1), ("B.", 0))) == (True, True, False)
    assert isinstance(read(_entries(("A.", 1), ("a", 0))), Unreadable)


@pytest.mark.parametrize(
    ("reply", "entailed"),
    [
        ('{"explanation": "x", "prediction": 1}', True),
        ('{"explanation": "x", "entailment_prediction": 0}', False),
        ('{"prediction": 1, "entailment_prediction": 0}', None),
        ('{"explanation": "x"}', None),
        ('[{"prediction": 1}]', None),
        ("prediction: 1", None),
    ],
)
def test_verdicts_on_questions(reply: str, entailed: bool | None) -> None:
    found = read_official_object(reply)
    assert isinstance(found, Unreadable) if entailed is None else found is entailed


@pytest.mark.parametrize(
    ("reply", "entailed"),
    [
        ("explanation: x\nentailment_prediction: 1", True),
        ("explanation: x\n prediction: 0", False),
        ("explanation: x\nEntailment prediction: 1.", True),
        ("explanation: x\nentailment\\_prediction: 1", True),
        ("explanation: the note says prediction: 1\nentailment_prediction: 0", False),
        ("prediction: 1\nentailment_prediction: 0", None),
        ("explanation: x\nprediction: 10", None),
        ("prediction: 1 or 0", None),
        ("prediction: 1\nThat is all.", None),
        ("no verdict", None),
    ],
)
def test_verdicts_of_mistral(reply: str, entailed: bool | None) -> None:
    found = read_official_lines(reply)
    assert isinstance(found, Unreadable) if entailed is None else found is entailed


def test_verdicts_on_sentences() -> None:
    read = read_official_cited([8, 3])
    assert read('{"explanation": "", "provenance": [3], "entailment_prediction": 1}') == (True, (3,))
    assert read('{"provenance": [], "prediction": 0}') == (False, ())  # their prompt for questions asks for this name
    for reply in (
        '{"provenance": ["3"], "entailment_prediction": 1}',
        '{"provenance": [4], "entailment_prediction": 1}',
        '{"provenance": [], "entailment_prediction": 1}',
        '{"entailment_prediction": 1}',
        "[]",
    ):
        assert isinstance(read(reply), Unreadable)
    lines = read_official_cited_lines([8, 3])
    assert lines("explanation: x\nprovenance: [1]\nentailment_prediction: 1") == (True, (3,))
    assert lines("explanation: x\nentailment_prediction: 0") == (False, ())
    for given_ in ("provenance: [2]", "provenance: none", "", "provenance: [0]\nprovenance: [1]"):
        assert isinstance(lines(f"{given_}\nentailment_prediction: 1"), Unreadable)
    assert read_official_cited_lines([8])("entailment_prediction: 1") == (True, (8,))


@given(st.text(alphabet='[]{}":,01 \nclaimprdto_', max_size=60))
@settings(deadline=None, max_examples=100)
def test_readers_never_raise(text: str) -> None:
    for read in (
        read_official_made,
        read_official_batch(["a"]),
        read_official_object,
        read_official_lines,
        read_official_cited([1, 2]),
        read_official_cited_lines([1, 2]),
    ):
        found = read(text)
        assert isinstance(found, Unreadable) or hash(found) == hash(found)
