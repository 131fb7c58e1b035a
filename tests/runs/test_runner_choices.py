"""Running tasks that ask for probabilities, and tasks whose notes are too long: stored, resumed and found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET, TASKS
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.data.task_data import TaskData, load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.models.base import Answer, ChoiceScores, Length, OnResult, Request
from medical_tasks.runs.finishing import finish
from medical_tasks.runs.folder import RunFolder, open_run_folder
from medical_tasks.runs.responses import run_responses
from medical_tasks.runs.runner import TRUNCATE, AnsweredTask, Fitted, RunOptions, Truncate, fit_items, run_model
from medical_tasks.spec import Item, Message, PromptSet, TaskSpec
from tests.support import GeneratesOnly

BY_NAME = {task.name: task for task in TASKS}
INDEX, OPEN = BY_NAME["ehrnoteqa_mc_prob_index_level1"], BY_NAME["ehrnoteqa_open_level1"]


class Words(GeneratesOnly):
    """Counts a token a word; finds letter `B` the most probable, or says how many words it was asked with."""

    name = "hf/words"

    def __init__(self, room: int = 10**9) -> None:
        self.identity = {"backend": "words"}
        self.room, self.asked = room, 0

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for request in requests:
            self.asked += 1
            on_result(Answer(key=request.key, text=f"{self._words(request)} words"))

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for request in requests:
            self.asked += 1
            logprobs = tuple(-1.0 if text == "B" else -2.0 for text in request.continuations)
            scores = ChoiceScores(logprobs=logprobs, tokens=(1,) * len(logprobs))
            on_result(Answer(key=request.key, text=scores.to_text()))

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        return [Length(tokens=self._words(request), room=self.room) for request in requests]

    def _words(self, request: Request) -> int:
        return len(request.messages[-1]["content"].split())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    build_dataset("ehrnoteqa", source=None, config="demo", out=folder / "ehrnoteqa")
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    return open_run_folder(tmp_path / "run", {"any": "settings"}, private=True)


def data_of(task: TaskSpec, home: Path) -> TaskData:
    return load_task_data(task, DATASET, data=home / "ehrnoteqa", config="demo")


def answered(task: TaskSpec, data: TaskData, model: Words, folder: RunFolder, **options: str) -> AnsweredTask:
    found = run_model([task], {task.name: data}, model, folder, RunOptions(**options))  # type: ignore[arg-type]
    assert found is not None
    return found[0]


def test_probabilities_are_asked_once_scored_and_found_again(home: Path, folder: RunFolder) -> None:
    data = data_of(INDEX, home)
    first = Words()
    part = answered(INDEX, data, first, folder)
    results = finish([part], folder)["tasks"][INDEX.name]
    right = sum(item.fields["answer"] == "B" for item in data.items) / len(data.items)
    assert results["metrics"]["accuracy"]["value"] == pytest.approx(right)
    assert set(results["metrics"]) == {"accuracy", "gold_probability"}
    assert first.asked == len(data.items) == 8
    again = Words()
    assert answered(INDEX, data, again, folder).responses == part.responses
    assert again.asked == 0
    assert run_responses(INDEX, data, part.recipe, folder.path) == part.responses


def test_what_does_not_fit_is_refused_before_anything_is_asked(home: Path, folder: RunFolder) -> None:
    model = Words(room=400)
    with pytest.raises(UsageError, match=r"ehrnoteqa_open_level1: \d of 8 questions do not fit"):
        answered(OPEN, data_of(OPEN, home), model, folder)
    assert model.asked == 0


def test_a_shortened_run_is_found_again_without_the_model_s_tokenizer(home: Path, folder: RunFolder) -> None:
    data = data_of(OPEN, home)
    part = answered(OPEN, data, Words(room=400), folder, truncate="notes-from-the-oldest")
    cut = part.recipe["truncation"]["words_left_out"]
    assert part.recipe["truncation"]["rule"] == "notes-from-the-oldest"
    assert 0 < len(cut) < len(data.items)
    asked = {name: int(text.split()[0]) for name, text in part.responses.items()}
    assert max(asked.values()) <= 400
    assert min(asked[name] for name in cut) >= 395  # as few words as can be, up to the mark that stands for them
    assert run_responses(OPEN, data, part.recipe, folder.path) == part.responses
    # The judge reads the notes whole.
    assert [item.fields for item in part.items] == [item.fields for item in data.items]


def test_too_long_can_be_left_unanswered(home: Path, folder: RunFolder) -> None:
    class Refusing(Words):
        def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
            super().generate([request for request in requests if self._words(request) <= self.room], on_result)

    part = answered(OPEN, data_of(OPEN, home), Refusing(room=400), folder, truncate="unanswered")
    assert part.recipe["truncation"] == {"rule": "unanswered", "measured": True, "words_left_out": {}}
    assert 0 < len(part.responses) < len(part.items)
    assert set(part.unanswered.values()) == {"not asked"}


def test_what_was_shortened_is_still_told_when_a_run_is_scored_anew(home: Path, folder: RunFolder) -> None:
    data = data_of(INDEX, home)
    part = answered(INDEX, data, Words(room=500), folder, truncate="notes-from-the-oldest")
    cut = part.recipe["truncation"]["words_left_out"]
    assert 0 < len(cut) <= len(data.items)
    # As `score --responses RUN` has it: the run's recipe, with a scoring that is not this one's.
    recipe = {**part.recipe, "scoring": {"sentence_bert": {"kind": "embedder"}}}
    again = AnsweredTask(task=INDEX, items=data.items, responses=part.responses, unanswered={}, recipe=recipe)
    for one in (part, again):
        entry = finish([one], folder)["tasks"][INDEX.name]
        assert entry["shortened"] == len(cut)
        assert "scoring" not in entry["recipe"]


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
