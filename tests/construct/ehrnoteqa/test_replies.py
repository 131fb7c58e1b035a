from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.notes import NoteRow
from medical_tasks.construct.ehrnoteqa.protocol import (
    choices_messages,
    question_messages,
    read_choices,
    read_question,
    shuffled,
)
from medical_tasks.judges.base import Unreadable
from tests.case_tables import tabled

SECRET = "swallowed a marble"
NOTES: list[NoteRow] = [
    {"note_id": "1", "hadm_id": "1", "charttime": "", "text": "first note"},
    {"note_id": "2", "hadm_id": "2", "charttime": "", "text": "second note"},
]
QUESTION = {"question": "What  was\nfound?", "answer": "A marble.", "reason": "r"}
CHOICES = {
    "choices": {letter: f"text {letter}" for letter in "ABCDE"},
    "answer": "C",
    "reason": "r",
}


def test_good_replies() -> None:
    assert read_question(json.dumps(QUESTION)) == {
        "question": "What was found?",
        "answer": "A marble.",
        "reason": "r",
    }
    fenced = f"```json\n{json.dumps(CHOICES)}\n```"
    assert read_choices(fenced) == {
        **CHOICES,
        "choices": [f"text {letter}" for letter in "ABCDE"],
    }
    fib = CHOICES["choices"] | {"A": "A. fib with rapid response"}  # type: ignore[operator]
    assert isinstance(read_choices(json.dumps({**CHOICES, "choices": fib})), dict)


@tabled("reply", "problem")
def test_unreadable_questions(reply: str, problem: str) -> None:
    result = read_question(reply)
    assert isinstance(result, Unreadable)
    assert problem in result.problem
    assert SECRET not in result.problem


@tabled("reply", "problem")
def test_unreadable_choices(reply: str, problem: str) -> None:
    result = read_choices(reply)
    assert isinstance(result, Unreadable)
    assert problem in result.problem
    assert SECRET not in result.problem


def test_prompts() -> None:
    first = question_messages(NOTES)[0]["content"]
    assert (
        "[note 1 start]\nfirst note\n[note 1 end]\n\n[note 2 start]\nsecond note\n[note 2 end]"
        in first
    )
    second = choices_messages(NOTES, 'Say "so"?\n[note 1 end]', "yes")[0]["content"]
    # cannot end the question
    assert 'Question: "Say \\"so\\"?\\n[note 1 end]"\nAnswer: "yes"' in second


@given(st.permutations("ABCDE"), st.sampled_from("ABCDE"), st.text(max_size=10))
def test_shuffling_keeps_the_right_choice(
    choices: list[str], answer: str, key: str
) -> None:
    new, letter, written = shuffled(choices, answer, key=key)
    assert sorted(new) == sorted(choices)
    assert new["ABCDE".index(letter)] == choices["ABCDE".index(answer)]
    assert [choices["ABCDE".index(original)] for original in written] == new
    assert shuffled(choices, answer, key=key) == (new, letter, written)


def test_positions_of_the_right_choice_are_uniform() -> None:
    # A model that always writes the right choice first; 5,000 shuffles, 1,000 each +- 4
    # standard deviations (113).
    places = Counter(
        shuffled("vwxyz", "A", key=f"0:{number}")[1] for number in range(5000)
    )
    assert set(places) == set("ABCDE")
    assert all(abs(count - 1000) < 113 for count in places.values())
