"""Tries and steps, by themselves and in a run."""

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
from tests.benchmarks.archehr_qa.asked_items import TASK, case
from tests.support import GeneratesOnly, counts

GOOD = "She had a stone. |2|\nIt was taken out. |3|"
PLAIN = "She had a stone.\nIt was taken out."
LONG = "\n".join(["Ten words make up a line of this answer here."] * 8)
NAMES = ("together", "answer_first", "evidence_first")


NOTHING: Any = None  # no store: nothing is kept between rounds


def turn(name: str, *replies: str, **arguments: str) -> Turn:
    task = TASK[name]
    about = case()
    opening = load_prompts(task, arguments=arguments).render(about)
    dialogue = Dialogue(item=about, opening=opening, answers=replies)
    (made,) = open_protocol(task, arguments=arguments).next_turns([dialogue], NOTHING)
    return made


def asked(name: str, *replies: str, **arguments: str) -> str:
    made = turn(name, *replies, **arguments)
    assert isinstance(made, Ask)
    (message,) = made.messages
    assert message["role"] == "user"
    return message["content"]


def test_a_good_answer_is_final_and_tries_end_with_the_last_reply_as_it_is() -> None:
    for name in ("together", "evidence_first"):
        for reply in (GOOD, f"<think>Which?</think>{GOOD}"):
            assert turn(name, reply) == Done(reply)
    assert asked("together", *[PLAIN] * 4).count("This is try 5 of 5.") == 1
    assert turn("together", *[PLAIN] * 4, "Sorry.") == Done("Sorry.")
    assert turn("together", PLAIN, "Sorry.", tries="2") == Done("Sorry.")
    assert turn("together", PLAIN, tries="1") == Done(PLAIN)
    assert turn("together", *[PLAIN] * 4, "") == Done("")
    # Evidence first knows what it has shown.
    assert turn(
        "evidence_first", "She had it. |2|\nIt fell. |5|", evidence="2"
    ) == Done("She had it. |2|\nIt fell. |5|")
    text = asked("evidence_first", GOOD, evidence="2")
    assert "that no sentence given here has: 3." in text
    assert "\n3: " not in text


def test_answer_first_then_cites() -> None:
    cite = asked("answer_first", PLAIN)
    assert cite == question_text(
        "cite", case(), answer=("She had a stone.", "It was taken out.")
    )
    assert turn("answer_first", PLAIN, GOOD) == Done(GOOD)
    # Citations that come too early are not shown to the second step.
    assert asked("answer_first", GOOD) == cite
    assert asked("answer_first", "She had a stone. It was taken out.") == cite
    # Each step has its own tries.
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
    # The last try of the first step is cited as it is.
    cite = asked("answer_first", LONG, tries="1")
    assert cite.endswith("Answer:\n" + LONG)  # all of it, though it is too long
    cited = "\n".join(f"{line} |2|" for line in LONG.splitlines())
    assert turn("answer_first", LONG, cited, tries="1") == Done(cited)
    # Of nothing, nothing is cited.
    assert turn("answer_first", *[""] * 5) == Done("")


@given(
    name=st.sampled_from(NAMES),
    replies=st.lists(
        st.sampled_from(("", PLAIN, GOOD, LONG, "[2]")), min_size=6, max_size=6
    ),
)
def test_a_dialogue_ends_and_asks_no_question_twice(
    name: str, replies: list[str]
) -> None:
    opening = load_prompts(TASK[name]).render(case())
    protocol = open_protocol(TASK[name], arguments={"tries": "3"})
    assert protocol.identity == {"name": name, "version": 1, "tries": 3}
    seen = {opening[0]["content"]}
    for number in itertools.count(1):
        dialogue = Dialogue(
            item=case(), opening=opening, answers=tuple(replies[:number])
        )
        (made,) = protocol.next_turns([dialogue], NOTHING)
        assert protocol.next_turns([dialogue, dialogue], NOTHING) == [made, made]
        if isinstance(made, Done):
            assert made.text == replies[number - 1]
            assert number <= (6 if name == "answer_first" else 3)
            return
        assert made.messages[0]["content"] not in seen
        seen.add(made.messages[0]["content"])


LONG_REPLY = " ".join(["word"] * 80)
WAYS = (
    GOOD,
    "",
    PLAIN,
    "She had a stone. [2]\nIt was taken out. [3]",
    f"{LONG_REPLY} |2|",
    "She had a stone. |2,88|",
)
"""How the case of each number errs in its first try; the case 0 does not."""

TOLD = (
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
    return data_of([case(str(number)) for number in range(len(WAYS))])


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return open_run_folder(tmp_path / "run", {"test": 1})


class Erring(GeneratesOnly):
    """Errs in the first `bad` tries of each step, in the way of its case, and then answers well."""

    name = "scripted/model"
    identity: Mapping[str, str] = {"backend": "scripted"}

    def __init__(self, *, bad: int = 1, dies_after: int | None = None) -> None:
        self.bad, self.dies_after = bad, dies_after
        self.asked: list[str] = []
        self.rounds: list[list[str]] = []
        self.texts: dict[str, list[str]] = {}

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        self.rounds.append([])
        for request in requests:
            if self.dies_after is not None and len(self.asked) >= self.dies_after:
                raise KeyboardInterrupt
            self.asked.append(request.key)
            (message,) = request.messages
            on_result(Answer(key=request.key, text=self.reply(message["content"])))

    def reply(self, text: str) -> str:
        (number,) = re.findall(r"My mother \((\d)\)", text)
        self.rounds[-1].append(number)
        self.texts.setdefault(number, []).append(text)
        tried = re.findall(r"This is try (\d) of", text)
        if int(tried[0] if tried else 1) <= self.bad:
            return WAYS[int(number)]
        return PLAIN if "Do not cite yet" in text else GOOD


def run(task: TaskSpec, model: Any, data: TaskData, folder: RunFolder) -> AnsweredTask:
    answered = run_model([task], {task.name: data}, model, folder, RunOptions())
    assert answered is not None
    return answered[0]


def test_each_error_is_named_and_the_question_put_again(
    data: TaskData, folder: RunFolder
) -> None:
    model = Erring()
    made = run(TASK["together"], model, data, folder)
    assert list(made.responses.values()) == [GOOD] * 6
    # all of a round together, and only those that go on
    assert model.rounds == [[*"012345"], [*"12345"]]
    for number, told in enumerate(TOLD):
        first, *again = model.texts[str(number)]
        assert len(again) == (1 if told else 0)
        for text in again:
            assert text.startswith(f"{first}\n\nThis is try 2 of 5.")
            assert told in text.removeprefix(first)
    assert made.recipe["protocol"] == {"name": "together", "version": 1, "tries": 5}


def test_two_steps_have_their_own_tries(data: TaskData, folder: RunFolder) -> None:
    model = Erring()
    made = run(TASK["answer_first"], model, data, folder)
    assert list(made.responses.values()) == [GOOD] * 6
    # First the empty and the long answer are asked for again; then each is cited, at
    # first in the wrong way or with words of another answer.
    assert model.rounds[:2] == [[*"012345"], [*"012345"]]
    assert "This is try 2" in model.texts["1"][1]
    assert "This is try 2" in model.texts["4"][1]
    assert model.texts["0"][1].endswith("Answer:\nShe had a stone.\nIt was taken out.")
    assert len(model.texts["0"]) == 2
    assert len(model.texts["4"]) == 4
    assert any("It changes the answer." in text for text in model.texts["4"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dies_after", [0, 4, 6, 8, 13])
def test_a_stopped_run_goes_on_and_asks_nothing_twice(
    data: TaskData, tmp_path: Path, name: str, dies_after: int
) -> None:
    whole = Erring(bad=2)
    expected = run(
        TASK[name], whole, data, open_run_folder(tmp_path / "whole", {"test": 1})
    ).responses
    assert len(set(whole.asked)) == len(whole.asked)
    folder = open_run_folder(tmp_path / "run", {"test": 1})
    first, second, third = (
        Erring(bad=2, dies_after=dies_after),
        Erring(bad=2),
        Erring(bad=2),
    )
    with pytest.raises(KeyboardInterrupt):
        run(TASK[name], first, data, folder)
    assert run(TASK[name], second, data, folder).responses == expected
    assert len(first.asked) == dies_after
    assert sorted([*first.asked, *second.asked]) == sorted(whole.asked)
    with Store(folder.answers) as store:
        assert counts(store, "answer") == (len(whole.asked), len(whole.asked))
    assert run(TASK[name], third, data, folder).responses == expected
    assert third.asked == []


def test_evidence_first_says_which_sentences_were_given(
    data: TaskData, folder: RunFolder
) -> None:
    made = run(TASK["evidence_first"], Erring(bad=0), data, folder)
    assert made.sources == {item.id: ("1", "2", "3", "4", "5") for item in data.items}
    settings = made.recipe["prompts"]["settings"]
    assert settings["evidence"] == 10
    assert settings["similarity"]["method"] == "bm25"
