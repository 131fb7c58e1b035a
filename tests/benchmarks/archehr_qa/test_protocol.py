"""Tries and steps: which reply is taken, what is asked next, and that it ends."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.prompts import load_prompts, question_text
from medical_tasks.benchmarks.archehr_qa.protocol import open_protocol
from medical_tasks.errors import UsageError
from medical_tasks.spec import Ask, Dialogue, Done, Turn
from tests.benchmarks.archehr_qa.asked_items import case, task_of

GOOD = "She had a stone. |2|\nIt was taken out. |3|"
PLAIN = "She had a stone.\nIt was taken out."
LONG = "\n".join(["Ten words make up a line of this answer here."] * 8)
NAMES = ("together", "answer_first", "evidence_first")


class Nothing:
    """A store that nobody uses."""

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        raise AssertionError("nothing is kept between rounds")

    def put(self, kind: str, key: str, payload: Mapping[str, Any]) -> None:
        raise AssertionError("nothing is kept between rounds")


def turn(name: str, *replies: str, **arguments: str) -> Turn:
    task = task_of(name)
    about = case()
    opening = load_prompts(task, arguments=arguments).render(about)
    dialogue = Dialogue(item=about, opening=opening, answers=replies)
    (made,) = open_protocol(task, arguments=arguments).next_turns([dialogue], Nothing())
    return made


def asked(name: str, *replies: str, **arguments: str) -> str:
    made = turn(name, *replies, **arguments)
    assert isinstance(made, Ask)
    (message,) = made.messages
    assert message["role"] == "user"
    return message["content"]


@pytest.mark.parametrize("name", ["together", "evidence_first"])
def test_a_good_answer_is_final_at_once(name: str) -> None:
    assert turn(name, GOOD) == Done(GOOD)
    reasoned = f"<think>Which?</think>{GOOD}"
    assert turn(name, reasoned) == Done(reasoned)  # as the model said it


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("", "It is empty."),
        (PLAIN, "It cites nothing."),
        (GOOD.replace("|3|", "[3]").replace("|2|", "[2]"), "Its form is wrong."),
        (f"{LONG} |2|", "it has 80 words"),
        (GOOD.replace("3", "33"), "that no sentence given here has: 33."),
    ],
)
def test_the_question_is_put_again_with_the_fault_below(reply: str, told: str) -> None:
    opening = load_prompts(task_of("together")).render(case())[0]["content"]
    text = asked("together", reply)
    assert text.startswith(f"{opening}\n\nThis is try 2 of 5. The reply before was:\n{reply or '(nothing)'}\n\n")
    assert told in text.removeprefix(opening)
    assert text.count("\n- ") == 1
    assert turn("together", reply, GOOD) == Done(GOOD)


def test_tries_end_with_the_last_reply_as_it_is() -> None:
    assert asked("together", *[PLAIN] * 4).count("This is try 5 of 5.") == 1
    assert turn("together", *[PLAIN] * 4, "Sorry.") == Done("Sorry.")
    assert turn("together", PLAIN, "Sorry.", tries="2") == Done("Sorry.")
    assert turn("together", PLAIN, tries="1") == Done(PLAIN)
    assert turn("together", *[PLAIN] * 4, "") == Done("")


def test_a_model_that_repeats_itself_is_asked_another_question_each_time() -> None:
    # The store knows a question by its text: an equal one would be answered without the model.
    texts = [asked("together", *[PLAIN] * number) for number in range(1, 5)]
    assert len(set(texts)) == 4
    assert all(text.count("This is try") == 1 for text in texts)  # the last reply alone
    assert len({len(text) for text in texts}) == 1


def test_evidence_first_knows_what_it_has_shown() -> None:
    assert turn("evidence_first", "She had it. |2|\nIt fell. |5|", evidence="2") == Done(
        "She had it. |2|\nIt fell. |5|"
    )
    text = asked("evidence_first", GOOD, evidence="2")
    assert "that no sentence given here has: 3." in text
    assert "\n3: " not in text


def test_answer_first_then_cites() -> None:
    cite = asked("answer_first", PLAIN)
    assert cite == question_text("cite", case(), answer=("She had a stone.", "It was taken out."))
    assert turn("answer_first", PLAIN, GOOD) == Done(GOOD)
    # Citations that come too early are not shown to the second step.
    assert asked("answer_first", GOOD) == cite
    assert asked("answer_first", "She had a stone. It was taken out.") == cite


def test_each_step_has_its_own_tries() -> None:
    first = asked("answer_first", LONG)
    assert first.count("This is try 2 of 5.") == 1
    assert "it has 80 words" in first
    four = [LONG] * 4
    assert "This is try 5 of 5." in asked("answer_first", *four)
    cite = asked("answer_first", *four, PLAIN)
    assert "This is try" not in cite
    assert cite.endswith("Answer:\nShe had a stone.\nIt was taken out.")
    again = asked("answer_first", *four, PLAIN, PLAIN)
    assert again.startswith(f"{cite}\n\nThis is try 2 of 5.")
    assert "It cites nothing." in again
    assert turn("answer_first", *four, PLAIN, *[PLAIN] * 4, "Sorry.") == Done("Sorry.")


def test_a_changed_answer_is_told() -> None:
    text = asked("answer_first", PLAIN, "She had two stones. |2|")
    assert "It changes the answer." in text
    assert turn("answer_first", PLAIN, "She had two stones. |2|", GOOD) == Done(GOOD)


def test_the_last_try_of_the_first_step_is_cited_as_it_is() -> None:
    cite = asked("answer_first", LONG, tries="1")
    assert cite.endswith("Answer:\n" + LONG)  # all of it, though it is too long
    cited = "\n".join(f"{line} |2|" for line in LONG.splitlines())
    assert turn("answer_first", LONG, cited, tries="1") == Done(cited)
    # Of nothing, nothing is cited.
    assert turn("answer_first", *[""] * 5) == Done("")


@given(
    name=st.sampled_from(NAMES),
    replies=st.lists(st.sampled_from(("", PLAIN, GOOD, LONG, "[2]")), min_size=6, max_size=6),
)
@settings(max_examples=60, deadline=None)
def test_a_dialogue_ends_and_asks_no_question_twice(name: str, replies: list[str]) -> None:
    opening = load_prompts(task_of(name)).render(case())
    protocol = open_protocol(task_of(name), arguments={"tries": "3"})
    seen = {opening[0]["content"]}
    for number in itertools.count(1):
        dialogue = Dialogue(item=case(), opening=opening, answers=tuple(replies[:number]))
        (made,) = protocol.next_turns([dialogue], Nothing())
        assert protocol.next_turns([dialogue, dialogue], Nothing()) == [made, made]
        if isinstance(made, Done):
            assert made.text == replies[number - 1]
            assert number <= (6 if name == "answer_first" else 3)
            return
        assert made.messages[0]["content"] not in seen
        seen.add(made.messages[0]["content"])


def test_the_recipe_says_what_decides() -> None:
    for name in NAMES:
        identity = open_protocol(task_of(name), arguments={"tries": "7"}).identity
        assert identity == {"name": name, "version": 1, "tries": 7}
        json.dumps(identity, allow_nan=False)
    assert open_protocol(task_of("together")).identity["tries"] == 5


def test_what_is_refused() -> None:
    message = "archehr_together: tries must be a whole number from 1 to 20, got 'many'"
    with pytest.raises(UsageError, match=re.escape(message)):
        open_protocol(task_of("together"), arguments={"tries": "many"})
