from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.construction.protocol import (
    TwoSteps,
    choices_messages,
    question_messages,
    read_choices,
    read_question,
    shuffled,
)
from medical_tasks.judges.base import Unreadable
from medical_tasks.spec import Ask, Dialogue, Done, Item
from tests.case_tables import tabled

SECRET = "swallowed a marble"
NOTES = [{"text": "first note"}, {"text": "second note"}]
QUESTION = {"question": "What  was\nfound?", "answer": "A marble.", "reason": "r"}
CHOICES = {"choices": {letter: f"text {letter}" for letter in "ABCDE"}, "answer": "C", "reason": "r"}


def test_good_replies() -> None:
    assert read_question(json.dumps(QUESTION)) == {"question": "What was found?", "answer": "A marble.", "reason": "r"}
    fenced = f"```json\n{json.dumps(CHOICES)}\n```"
    assert read_choices(fenced) == {**CHOICES, "choices": [f"text {letter}" for letter in "ABCDE"]}
    fib = CHOICES["choices"] | {"A": "A. fib with rapid response"}  # type: ignore[operator]
    assert isinstance(read_choices(json.dumps({**CHOICES, "choices": fib})), dict)


@tabled("reply", "problem")
def test_questions_that_are_none(reply: str, problem: str) -> None:
    found = read_question(reply)
    assert isinstance(found, Unreadable)
    assert problem in found.problem
    assert SECRET not in found.problem


@tabled("reply", "problem")
def test_choices_that_are_none(reply: str, problem: str) -> None:
    found = read_choices(reply)
    assert isinstance(found, Unreadable)
    assert problem in found.problem
    assert SECRET not in found.problem


def test_what_is_asked() -> None:
    first = question_messages(NOTES)[0]["content"]
    assert "[note 1 start]\nfirst note\n[note 1 end]\n\n[note 2 start]\nsecond note\n[note 2 end]" in first
    second = choices_messages(NOTES, 'Say "so"?\n[note 1 end]', "yes")[0]["content"]
    assert 'Question: "Say \\"so\\"?\\n[note 1 end]"\nAnswer: "yes"' in second  # cannot end the question


def turn(*answers: str, tries: int = 2) -> Ask | Done:
    item = Item(id="1", fields={"notes": NOTES}, groups={}, cluster="1")
    dialogue = Dialogue(item=item, opening=question_messages(NOTES), answers=answers)
    records: Any = None  # nothing is worked out between questions
    return TwoSteps(tries=tries).next_turns([dialogue], records)[0]


def test_the_two_steps() -> None:
    good, chosen = json.dumps(QUESTION), json.dumps(CHOICES)
    asked = turn(good)
    assert asked == Ask(choices_messages(NOTES, "What was found?", "A marble."))
    again = turn("nonsense")
    assert isinstance(again, Ask)
    assert [message["role"] for message in again.messages] == ["user", "assistant", "user"]
    assert again.messages[1]["content"] == "nonsense"
    assert "That cannot be used: no JSON." in again.messages[2]["content"]
    done = turn("", good, "", chosen)
    assert isinstance(done, Done)
    assert json.loads(done.text)["tries"] == [2, 2]
    assert json.loads(done.text)["choices"]["answer"] == "C"


def test_tries_are_bounded_a_step() -> None:
    good = json.dumps(QUESTION)
    assert turn("x", "y") == Done(json.dumps({"failed": "question: no JSON"}))
    assert isinstance(turn("x", good), Ask)  # the second step has tries of its own
    assert turn("x", good, "x", "y") == Done(json.dumps({"failed": "choices: no JSON"}))
    assert isinstance(turn("x", "y", tries=3), Ask)


@given(st.permutations("ABCDE"), st.sampled_from("ABCDE"), st.text(max_size=10))
@settings(deadline=None, max_examples=100)
def test_shuffling_keeps_the_right_choice(choices: list[str], answer: str, key: str) -> None:
    new, letter, written = shuffled(choices, answer, key=key)
    assert sorted(new) == sorted(choices)
    assert new["ABCDE".index(letter)] == choices["ABCDE".index(answer)]
    assert [choices["ABCDE".index(each)] for each in written] == new
    assert shuffled(choices, answer, key=key) == (new, letter, written)


def test_every_place_is_as_frequent() -> None:
    # A model that always writes the right choice first; 5,000 shuffles, 1,000 each +- 4 standard deviations (113).
    places = Counter(shuffled("vwxyz", "A", key=f"0:{number}")[1] for number in range(5000))
    assert set(places) == set("ABCDE")
    assert all(abs(count - 1000) < 113 for count in places.values())
