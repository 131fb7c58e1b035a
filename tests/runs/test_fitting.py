"""Whether questions fit a model's context: refused, cut or left, and never in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.errors import UsageError
from medical_tasks.models.base import Length, OnResult, Request
from medical_tasks.runs.runner import TRUNCATE, Fitted, Truncate, fit_items
from medical_tasks.spec import Item, Message, PromptSet
from tests.support import GeneratesOnly

FRAME = 5  # tokens of a question beside its document


class Counting(GeneratesOnly):
    """A model that counts two tokens a word and has a small context; counts how often it was asked to measure."""

    name = "hf/counting"

    def __init__(self, room: int, *, knows: bool = True) -> None:
        self.identity = {"backend": "test"}
        self.room, self.knows, self.measured = room, knows, 0

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        self.measured += 1
        if not self.knows:
            return [None for _ in requests]
        return [
            Length(tokens=FRAME + 2 * len(request.messages[0]["content"].split()), room=self.room)
            for request in requests
        ]

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        raise AssertionError("measuring asks nothing")


def item(name: str, words: int) -> Item:
    text = " ".join(f"w{number}" for number in range(words))
    return Item(id=name, fields={"text": text}, groups={}, cluster=name)


def shorten(one: Item, words: int) -> Item:
    return replace(one, fields={"text": " ".join(one.fields["text"].split()[words:])})


def render(one: Item) -> tuple[Message, ...]:
    return ({"role": "user", "content": one.fields["text"]},)


PROMPTS = PromptSet(name="own", sha256="0", render=render, shorten=shorten)


def fit(items: Sequence[Item], model: Counting, prompts: PromptSet = PROMPTS, **options: object) -> Fitted:
    def request(one: Item) -> Request:
        return Request(key=one.id, messages=prompts.render(one), max_new_tokens=1)

    return fit_items(KQA, prompts, items, model, request, **options)  # type: ignore[arg-type]


def test_what_fits_is_left_alone() -> None:
    items = [item("a", 3), item("b", 10)]
    model = Counting(FRAME + 20)
    assert fit(items, model) == Fitted(items=items)
    assert model.measured == 1


def test_too_long_is_refused_with_a_list() -> None:
    items = [item("short", 3), *(item(f"long{number}", 12 + number) for number in range(30))]
    with pytest.raises(UsageError) as error:
        fit(items, Counting(FRAME + 20))
    said = str(error.value)
    assert "kqa: 30 of 31 questions do not fit" in said
    assert f"long29: {FRAME + 82} tokens, room for {FRAME + 20}" in said  # the longest first
    assert "and 10 more" in said
    assert "--truncate notes-from-the-oldest" in said
    assert "w1" not in said  # none of the text


def test_left_unanswered_when_that_is_asked_for() -> None:
    items = [item("a", 3), item("b", 100)]
    assert fit(items, Counting(FRAME + 20), truncate="unanswered").items == items


def test_cut_by_as_few_words_as_possible() -> None:
    items = [item("a", 3), item("b", 100), item("c", 11)]
    found = fit(items, Counting(FRAME + 20), truncate="notes-from-the-oldest")
    assert found.shortened == {"b": 90, "c": 1}
    assert [len(each.fields["text"].split()) for each in found.items] == [3, 10, 10]
    assert found.items[1].fields["text"].split()[-1] == "w99"  # the end stays


def test_a_question_that_never_fits_stays_as_it_is() -> None:
    items = [item("a", 3), item("b", 9)]
    found = fit(items, Counting(FRAME - 1), truncate="notes-from-the-oldest")
    assert found.items == items
    assert found.shortened == {}


def test_nothing_is_measured_when_the_model_cannot_tell() -> None:
    items = [item("a", 100)]
    found = fit(items, Counting(1, knows=False))
    assert found.items == items
    assert not found.measured


def test_prompts_that_cannot_shorten_are_not_measured() -> None:
    model = Counting(1)
    assert fit([item("a", 100)], model, replace(PROMPTS, shorten=None)).measured
    assert model.measured == 0


def test_a_replay_cuts_what_the_run_cut_without_measuring() -> None:
    items = [item("a", 3), item("b", 100)]
    ran = fit(items, Counting(FRAME + 20), truncate="notes-from-the-oldest")
    model = Counting(1, knows=False)
    assert fit(items, model, known=ran.shortened) == ran
    assert model.measured == 0


@settings(deadline=None, max_examples=60)
@given(sizes=st.lists(st.integers(0, 300), min_size=1, max_size=8), words=st.integers(0, 200))
def test_every_question_fits_and_loses_no_word_too_many(sizes: list[int], words: int) -> None:
    items = [item(str(number), size) for number, size in enumerate(sizes)]
    found = fit(items, Counting(FRAME + 2 * words), truncate="notes-from-the-oldest")
    assert found.shortened == {str(number): size - words for number, size in enumerate(sizes) if size > words}
    assert all(len(each.fields["text"].split()) <= words for each in found.items)


def test_rules_are_those_of_the_command_line() -> None:
    known: tuple[Truncate, ...] = ("refuse", "notes-from-the-oldest", "unanswered")
    assert known == TRUNCATE


def test_cutting_questions_without_notes_is_refused() -> None:
    with pytest.raises(UsageError, match="kqa: its questions have no notes to leave out"):
        fit([item("a", 3)], Counting(1), replace(PROMPTS, shorten=None), truncate="notes-from-the-oldest")
