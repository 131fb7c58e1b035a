"""Tries and steps of a protocol, alone and in a run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.prompts import (
    load_prompts,
    open_protocol,
    question_text,
)
from medical_tasks.data.task_data import TaskData
from medical_tasks.io.store import Store
from medical_tasks.models.base import Answer, OnResult, Request
from medical_tasks.runs.answered import AnsweredTask
from medical_tasks.runs.folder import RunFolder, open_run_folder
from medical_tasks.runs.runner import RunOptions, run_model
from medical_tasks.spec import Ask, Dialogue, Done, Item, TaskSpec, Turn
from tests.benchmarks.archehr_qa.archehr_items import TASK, case
from tests.support import GeneratesOnly, counts

GOOD = "She had a stone. |2|\nIt was taken out. |3|"
PLAIN = "She had a stone.\nIt was taken out."
LONG = "\n".join(["Ten words make up a line of this answer here."] * 8)
NAMES = ("together", "answer_first", "evidence_first")


NO_STORE: Any = None


def turn(name: str, *replies: str, **arguments: str) -> Turn:
    task = TASK[name]
    item = case()
    opening = load_prompts(task, arguments=arguments).render(item)
    dialogue = Dialogue(item=item, opening=opening, answers=replies)
    (next_turn,) = open_protocol(task, arguments=arguments).next_turns(
        [dialogue], NO_STORE
    )
    return next_turn


def prompt_after(name: str, *replies: str, **arguments: str) -> str:
    next_turn = turn(name, *replies, **arguments)
    assert isinstance(next_turn, Ask)
    (message,) = next_turn.messages
    assert message["role"] == "user"
    return message["content"]


def test_tries_end_with_a_good_or_the_last_reply() -> None:
    for name in ("together", "evidence_first"):
        for reply in (GOOD, f"<think>Which?</think>{GOOD}"):
            assert turn(name, reply) == Done(reply)
    assert prompt_after("together", *[PLAIN] * 4).count("This is try 5 of 5.") == 1
    assert turn("together", *[PLAIN] * 4, "Sorry.") == Done("Sorry.")
    assert turn("together", PLAIN, "Sorry.", tries="2") == Done("Sorry.")
    assert turn("together", PLAIN, tries="1") == Done(PLAIN)
    assert turn("together", *[PLAIN] * 4, "") == Done("")
    # Evidence first accepts only the ids that it has shown.
    assert turn(
        "evidence_first", "She had it. |2|\nIt fell. |5|", evidence="2"
    ) == Done("She had it. |2|\nIt fell. |5|")
    text = prompt_after("evidence_first", GOOD, evidence="2")
    assert "that no sentence given here has: 3." in text
    assert "\n3: " not in text


def test_answer_first_cites_in_a_second_step() -> None:
    cite = prompt_after("answer_first", PLAIN)
    assert cite == question_text(
        "cite", case(), answer=("She had a stone.", "It was taken out.")
    )
    assert turn("answer_first", PLAIN, GOOD) == Done(GOOD)
    # Citations of the first step are not shown to the second.
    assert prompt_after("answer_first", GOOD) == cite
    assert prompt_after("answer_first", "She had a stone. It was taken out.") == cite
    # Each step has its own tries.
    first = prompt_after("answer_first", LONG)
    assert first.count("This is try 2 of 5.") == 1
    assert "it has 80 words" in first
    four = [LONG] * 4
    assert "This is try 5 of 5." in prompt_after("answer_first", *four)
    cite = prompt_after("answer_first", *four, PLAIN)
    assert "This is try" not in cite
    assert cite.endswith("Answer:\nShe had a stone.\nIt was taken out.")
    again = prompt_after("answer_first", *four, PLAIN, PLAIN)
    assert again.startswith(f"{cite}\n\nThis is try 2 of 5.")
    assert "It cites nothing." in again
    assert turn("answer_first", *four, PLAIN, *[PLAIN] * 4, "Sorry.") == Done("Sorry.")
    # The last try of the first step is cited unchanged.
    cite = prompt_after("answer_first", LONG, tries="1")
    assert cite.endswith("Answer:\n" + LONG)  # all of it, although it is too long
    cited = "\n".join(f"{line} |2|" for line in LONG.splitlines())
    assert turn("answer_first", LONG, cited, tries="1") == Done(cited)
    # An empty answer is not cited.
    assert turn("answer_first", *[""] * 5) == Done("")


@given(
    name=st.sampled_from(NAMES),
    replies=st.lists(
        st.sampled_from(("", PLAIN, GOOD, LONG, "[2]")), min_size=6, max_size=6
    ),
)
def test_a_dialogue_ends_and_repeats_no_prompt(name: str, replies: list[str]) -> None:
    opening = load_prompts(TASK[name]).render(case())
    protocol = open_protocol(TASK[name], arguments={"tries": "3"})
    assert protocol.identity == {"name": name, "version": 1, "tries": 3}
    seen = {opening[0]["content"]}
    for number in itertools.count(1):
        dialogue = Dialogue(
            item=case(), opening=opening, answers=tuple(replies[:number])
        )
        (next_turn,) = protocol.next_turns([dialogue], NO_STORE)
        assert protocol.next_turns([dialogue, dialogue], NO_STORE) == [
            next_turn,
            next_turn,
        ]
        if isinstance(next_turn, Done):
            assert next_turn.text == replies[number - 1]
            assert number <= (6 if name == "answer_first" else 3)
            return
        assert next_turn.messages[0]["content"] not in seen
        seen.add(next_turn.messages[0]["content"])


LONG_REPLY = " ".join(["word"] * 80)
FIRST_TRIES = (
    GOOD,
    "",
    PLAIN,
    "She had a stone. [2]\nIt was taken out. [3]",
    f"{LONG_REPLY} |2|",
    "She had a stone. |2,88|",
)
"""The first reply to the case of each number; that to case 0 has no fault."""

FEEDBACK = (
    "",
    "It is empty.",
    "It cites nothing.",
    "Its form is wrong.",
    "it has 80 words",
    "here has: 88.",
)


def data_of(items: list[Item]) -> TaskData:
    return TaskData(
        items=items,
        config="demo",
        folder=Path(),
        revision={"name": "archehr_qa", "config": "demo"},
    )


@pytest.fixture
def data() -> TaskData:
    return data_of([case(str(number)) for number in range(len(FIRST_TRIES))])


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return open_run_folder(tmp_path / "run", {"test": 1})


class Faulty(GeneratesOnly):
    """Replies with the case's fault in the first `bad` tries of each step, and then without."""

    name = "scripted/model"
    identity: Mapping[str, str] = {"backend": "scripted"}

    def __init__(self, *, bad: int = 1, dies_after: int | None = None) -> None:
        self.bad, self.dies_after = bad, dies_after
        self.keys: list[str] = []
        self.rounds: list[list[str]] = []
        self.texts: dict[str, list[str]] = {}

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        self.rounds.append([])
        for request in requests:
            if self.dies_after is not None and len(self.keys) >= self.dies_after:
                raise KeyboardInterrupt
            self.keys.append(request.key)
            (message,) = request.messages
            on_result(Answer(key=request.key, text=self.reply(message["content"])))

    def reply(self, text: str) -> str:
        (number,) = re.findall(r"My mother \((\d)\)", text)
        self.rounds[-1].append(number)
        self.texts.setdefault(number, []).append(text)
        tries = re.findall(r"This is try (\d) of", text)
        if int(tries[0] if tries else 1) <= self.bad:
            return FIRST_TRIES[int(number)]
        return PLAIN if "Do not cite yet" in text else GOOD


def run(task: TaskSpec, model: Any, data: TaskData, folder: RunFolder) -> AnsweredTask:
    answered = run_model([task], {task.name: data}, model, folder, RunOptions())
    assert answered is not None
    return answered[0]


def test_each_fault_is_named_in_the_next_prompt(
    data: TaskData, folder: RunFolder
) -> None:
    model = Faulty()
    answered = run(TASK["together"], model, data, folder)
    assert list(answered.responses.values()) == [GOOD] * 6
    # All cases in the first round, and only those with faults in the second.
    assert model.rounds == [[*"012345"], [*"12345"]]
    for number, message in enumerate(FEEDBACK):
        first, *again = model.texts[str(number)]
        assert len(again) == (1 if message else 0)
        for text in again:
            assert text.startswith(f"{first}\n\nThis is try 2 of 5.")
            assert message in text.removeprefix(first)
    assert answered.recipe["protocol"] == {"name": "together", "version": 1, "tries": 5}


def test_two_steps_have_their_own_tries(data: TaskData, folder: RunFolder) -> None:
    model = Faulty()
    answered = run(TASK["answer_first"], model, data, folder)
    assert list(answered.responses.values()) == [GOOD] * 6
    # First the empty and the long answer are tried again; then each is cited, at
    # first with a fault or with words of another answer.
    assert model.rounds[:2] == [[*"012345"], [*"012345"]]
    assert "This is try 2" in model.texts["1"][1]
    assert "This is try 2" in model.texts["4"][1]
    assert model.texts["0"][1].endswith("Answer:\nShe had a stone.\nIt was taken out.")
    assert len(model.texts["0"]) == 2
    assert len(model.texts["4"]) == 4
    assert any("It changes the answer." in text for text in model.texts["4"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dies_after", [0, 4, 6, 8, 13])
def test_an_interrupted_run_continues_and_repeats_no_request(
    data: TaskData, tmp_path: Path, name: str, dies_after: int
) -> None:
    whole = Faulty(bad=2)
    expected = run(
        TASK[name], whole, data, open_run_folder(tmp_path / "whole", {"test": 1})
    ).responses
    assert len(set(whole.keys)) == len(whole.keys)
    folder = open_run_folder(tmp_path / "run", {"test": 1})
    first, second, third = (
        Faulty(bad=2, dies_after=dies_after),
        Faulty(bad=2),
        Faulty(bad=2),
    )
    with pytest.raises(KeyboardInterrupt):
        run(TASK[name], first, data, folder)
    assert run(TASK[name], second, data, folder).responses == expected
    assert len(first.keys) == dies_after
    assert sorted([*first.keys, *second.keys]) == sorted(whole.keys)
    with Store(folder.answers) as store:
        assert counts(store, "answer") == (len(whole.keys), len(whole.keys))
    assert run(TASK[name], third, data, folder).responses == expected
    assert third.keys == []


def test_evidence_first_records_the_shown_sentences(
    data: TaskData, folder: RunFolder
) -> None:
    answered = run(TASK["evidence_first"], Faulty(bad=0), data, folder)
    assert answered.sources == {
        item.id: ("1", "2", "3", "4", "5") for item in data.items
    }
    settings = answered.recipe["prompts"]["settings"]
    assert settings["evidence"] == 10
    assert settings["similarity"]["method"] == "bm25"
