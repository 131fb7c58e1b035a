"""Reasoning is removed from replies, whatever its markup."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.reasoning import without_reasoning
from tests.case_tables import tables

CASES = tables(__file__, "reasoning")

TAGS = tuple(CASES["TAGS"])
FROM_THE_BEGINNING = tuple(CASES["FROM_THE_BEGINNING"])
WORDS = st.text(alphabet="abc D.\n(", max_size=30)


@pytest.mark.parametrize(("opening", "closing"), TAGS + FROM_THE_BEGINNING)
@settings(max_examples=20)
@given(thought=WORDS, answer=WORDS)
def test_text_between_the_marks_is_removed(
    opening: str, closing: str, thought: str, answer: str
) -> None:
    closed = f"{opening}{thought}{closing}{answer}"
    opened_twice = f"{opening} it says {opening} here {thought}{closing}{answer}"
    open_ended = f"{opening}{thought} is D."
    assert without_reasoning(closed).strip() == answer.strip()
    assert without_reasoning(opened_twice).strip() == answer.strip()
    assert without_reasoning(open_ended).strip() == ""


@pytest.mark.parametrize(("opening", "closing"), TAGS)
@settings(max_examples=20)
@given(before=WORDS, first=WORDS, between=WORDS, second=WORDS, after=WORDS)
def test_blocks_anywhere_are_removed(
    opening: str,
    closing: str,
    before: str,
    first: str,
    between: str,
    second: str,
    after: str,
) -> None:
    text = (
        f"{before}{opening}{first}{closing}{between}{opening}{second}{closing}{after}"
    )
    assert without_reasoning(text).split() == f"{before}\n{between}\n{after}".split()
    # A chat template may have opened the block.
    assert without_reasoning(f"{before}{closing}{after}") == after
    nested = f"{opening}{first}{opening}{second}{closing}{between}{closing}{after}"
    assert without_reasoning(nested) == after
    assert without_reasoning(f"{after}{opening}{first}").strip() == after.strip()


@given(text=st.text(alphabet="abc<>/|[]# D\n◁▷", max_size=60))
def test_a_reply_without_marks_is_unchanged(text: str) -> None:
    assert without_reasoning(text) == text


@given(
    pieces=st.lists(
        st.sampled_from(
            [mark for pair in TAGS + FROM_THE_BEGINNING for mark in pair] + ["a", "\n"]
        )
    )
)
def test_nothing_is_added(pieces: list[str]) -> None:
    reply = "".join(pieces)
    answer = without_reasoning(reply)
    assert len(answer) <= len(reply)
    assert all(line in reply for line in answer.split("\n"))


@pytest.mark.parametrize(("reply", "answer"), CASES["replies"])
def test_the_answer_of_a_reply(reply: str, answer: str) -> None:
    assert without_reasoning(reply).strip() == answer


@pytest.mark.parametrize(
    "piece",
    [
        "<think>",
        "</think>",
        "<|channel|>",
        "<",
        "<think ",
        "# Final Response\n",
        "[",
        "<|channel|>a",
    ],
)
def test_long_replies_of_marks_take_no_quadratic_time(piece: str) -> None:
    assert len(without_reasoning(piece * (400_000 // len(piece)))) <= 400_000
