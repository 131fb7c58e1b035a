"""Running tasks: rounds, resuming, several processes, probabilities, and questions that are too long."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.declarations import DATASET as EHRNOTEQA
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.benchmarks.medcalc_bench import protocol as code_protocol
from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC, MEDCALC_CODE
from medical_tasks.data.task_data import TaskData, load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.io.store import Store
from medical_tasks.models.base import (
    Answer,
    ChoiceScores,
    Failure,
    Length,
    OnResult,
    Request,
)
from medical_tasks.models.batch_journal import JOURNAL
from medical_tasks.options import Run, parameters
from medical_tasks.runs import finishing, runner
from medical_tasks.runs.answered import AnsweredTask
from medical_tasks.runs.baselines import run_baseline
from medical_tasks.runs.finishing import finish
from medical_tasks.runs.folder import RunFolder, open_run_folder
from medical_tasks.runs.replaying import run_responses
from medical_tasks.runs.results import read_items
from medical_tasks.runs.runner import Fitted, RunOptions, Truncate, fit_items, run_model
from medical_tasks.spec import (
    Ask,
    Dialogue,
    Done,
    Item,
    Message,
    MultiStep,
    PromptSet,
    Records,
    TaskSpec,
    Turn,
)
from tests.fault_server import Call
from tests.models.fake_batches import FakeBatches
from tests.models.toy_server import model_at
from tests.support import GeneratesOnly, counts


class Counting:
    """Asks until an answer is `enough`, at most four times; keeps a record of each answer."""

    identity: Mapping[str, Any] = {"name": "counting", "tries": 4}

    def __init__(self) -> None:
        self.rounds_of_items: list[list[str]] = []

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        self.rounds_of_items.append([dialogue.item.id for dialogue in dialogues])
        return [self._turn(dialogue, records) for dialogue in dialogues]

    def _turn(self, dialogue: Dialogue, records: Records) -> Turn:
        last = dialogue.answers[-1]
        records.put(
            "look", f"{dialogue.item.id}:{len(dialogue.answers)}", {"text": last}
        )
        if last == "enough" or len(dialogue.answers) == 4:
            return Done("|".join(dialogue.answers))
        more: Any = (
            {"role": "assistant", "content": last},
            {"role": "user", "content": f"more {len(dialogue.answers)}"},
        )
        return Ask((*dialogue.opening, *more))


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    protocol = Counting()

    def open_protocol(task: TaskSpec, **options: Any) -> MultiStep:
        return protocol

    monkeypatch.setattr(code_protocol, "open_protocol", open_protocol)
    return protocol


@pytest.fixture(scope="module")
def built(demos: Path) -> Path:
    return demos / DATASET.name


@pytest.fixture
def data(built: Path) -> TaskData:
    whole = load_task_data(MEDCALC_CODE, DATASET, data=built, config="demo")
    return replace(whole, items=whole.items[:6])


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return open_run_folder(tmp_path / "run", {"test": 1})


def round_of(request: Request) -> int:
    last = request.messages[-1]["content"]
    return int(last.split()[1]) + 1 if last.startswith("more ") else 1


class Scripted(GeneratesOnly):
    """Answers `enough` at the n-th question of item n (from 0: immediately)."""

    name = "scripted/model"
    identity: Mapping[str, str] = {"backend": "scripted"}

    def __init__(
        self,
        data: TaskData,
        *,
        dies_after: int | None = None,
        fails: tuple[int, int] | None = None,
    ) -> None:
        self.notes = {
            item.fields["question"]: number for number, item in enumerate(data.items)
        }
        self.dies_after, self.fails = dies_after, fails
        self.asked: list[str] = []
        self.rounds: list[list[int]] = []

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        self.rounds.append(sorted(round_of(request) for request in requests))
        for request in requests:
            if self.dies_after is not None and len(self.asked) >= self.dies_after:
                raise KeyboardInterrupt
            self.asked.append(request.key)
            on_result(self.reply(request))

    def reply(self, request: Request) -> Answer | Failure:
        opening = request.messages[0]["content"]
        number = max(
            (len(text), n) for text, n in self.notes.items() if opening.endswith(text)
        )[1]
        round_number = round_of(request)
        if self.fails == (number, round_number):
            return Failure(key=request.key, reason="http 500", detail="down")
        return Answer(
            key=request.key,
            text="enough" if round_number > number else f"{number}.{round_number}",
        )


def run(model: Any, data: TaskData, folder: RunFolder) -> AnsweredTask:
    answered = run_model(
        [MEDCALC_CODE], {MEDCALC_CODE.name: data}, model, folder, RunOptions()
    )
    assert answered is not None
    return answered[-1]


EXPECTED = [
    "enough",
    "1.1|enough",
    "2.1|2.2|enough",
    "3.1|3.2|3.3|enough",
    "4.1|4.2|4.3|4.4",
    "5.1|5.2|5.3|5.4",
]


def test_every_item_is_asked_until_it_is_done(
    data: TaskData, folder: RunFolder, counting: Counting
) -> None:
    model = Scripted(data)
    answered = run_model(
        [MEDCALC, MEDCALC_CODE],
        {"medcalc": data, "medcalc_code": data},
        model,
        folder,
        RunOptions(),
    )
    assert answered is not None
    plain, task = answered
    assert [task.responses[item.id] for item in data.items] == EXPECTED
    assert task.unanswered == {}
    # The open items of both tasks are asked together in a round.
    assert model.rounds == [[1] * 12, [2] * 5, [3] * 4, [4] * 3]
    ids = [item.id for item in data.items]
    assert counting.rounds_of_items == [ids, ids[1:], ids[2:], ids[3:]]
    assert task.recipe["protocol"] == {"name": "counting", "tries": 4}
    assert [task.question_counts[item] for item in ids] == [1, 2, 3, 4, 4, 4]
    assert [plain.responses[item] for item in ids] == [
        "enough",
        *[f"{n}.1" for n in range(1, 6)],
    ]
    assert "protocol" not in plain.recipe
    assert plain.question_counts == {}


def test_a_protocol_asks_in_a_batch_per_round(
    data: TaskData, folder: RunFolder
) -> None:
    scripted = Scripted(data)

    def answer(call: Call) -> str:
        messages = tuple(call.body["messages"])
        reply = scripted.reply(Request(key="k", messages=messages, max_new_tokens=1))
        assert isinstance(reply, Answer)
        return reply.text

    with FakeBatches(answer=answer) as server:
        model = model_at(server, batch_poll=0.001)
        model.ask_in_batches(folder.answers.with_name(JOURNAL))
        task = run(model, data, folder)
    assert [task.responses[item.id] for item in data.items] == EXPECTED
    batches = task.recipe["generation"]["batches"]
    assert [batch["requests"] for batch in batches] == [5, 5, 4, 3]


def test_blocks_of_items_change_nothing(
    data: TaskData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []
    for size in (4_000, 4):
        monkeypatch.setattr(runner, "_BLOCK", size)
        monkeypatch.setattr(finishing, "_BLOCK", size)
        folder = open_run_folder(tmp_path / str(size), {"test": 1})
        model = Scripted(data, fails=(2, 2))
        tasks = [MEDCALC, MEDCALC_CODE]
        answered = run_model(
            tasks, {task.name: data for task in tasks}, model, folder, RunOptions()
        )
        assert answered is not None
        # without the durations
        results = finish(
            [replace(task_answers, usage=None) for task_answers in answered], folder
        )
        outcomes.append((results, read_items(folder.path)))
    assert len(outcomes[0][1]) == 12
    assert repr(outcomes[0]) == repr(outcomes[1])  # nan is unequal to itself
    assert model.rounds == [[1] * 4, [1] * 4, [2], [1] * 4, [2] * 4, [3] * 3, [4] * 3]


def test_a_random_answer_is_the_gold_of_another_item_of_the_family(
    data: TaskData,
) -> None:
    kinds = [item.groups["calculator"] for item in data.items]
    # Two items have the same calculator, and the others have one of their own.
    groups = {**data.items[0].groups, "calculator": str(kinds[1])}
    items = [replace(data.items[0], groups=groups), *data.items[1:]]
    assert len(set(kinds)) == len(items) == 6
    golds = [MEDCALC.benchmark.gold_response(MEDCALC, item) for item in items]
    responses = run_baseline(
        "random", MEDCALC, replace(data, items=items), max_samples=None
    ).responses
    texts = list(responses.values())
    assert texts[:2] == [golds[1], golds[0]]
    for number, text in enumerate(texts[2:], start=2):
        others = [gold for other, gold in enumerate(golds) if other != number]
        assert text == random.Random(f"20240617:{items[number].id}").choice(others)


class Again(Counting):
    """Asks the same question until it has four answers."""

    def _turn(self, dialogue: Dialogue, records: Records) -> Turn:
        return (
            Done("|".join(dialogue.answers))
            if len(dialogue.answers) == 4
            else Ask(dialogue.opening)
        )


class Sampling(Scripted):
    """Gives a different answer each time."""

    def reply(self, request: Request) -> Answer | Failure:
        return Answer(key=request.key, text=str(len(self.asked)))


def test_the_same_question_in_a_dialogue_is_asked_again(
    data: TaskData, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_protocol, "open_protocol", lambda task, **options: Again())
    single_item = replace(data, items=data.items[:1])
    first = Sampling(data, dies_after=2)
    with pytest.raises(KeyboardInterrupt):
        run(first, single_item, folder)
    second = Sampling(data)
    task = run(second, single_item, folder)
    assert list(task.responses.values()) == ["1|2|1|2"]
    assert len(first.asked) == len(second.asked) == len({*second.asked}) == 2
    assert list(task.question_counts.values()) == [4]


class Counted(GeneratesOnly):
    """Answers with the number of its call; a call has requests of a single repeat, like a seed."""

    name = "counted/model"
    identity: Mapping[str, str] = {"backend": "counted"}

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        self.calls.append([request.repeat for request in requests])
        for number, request in enumerate(requests):
            text = f"{len(self.calls)}.{number}"
            on_result(Answer(key=request.key, text=text))


def test_another_asking_of_an_item_has_an_answer_of_its_own(
    data: TaskData, folder: RunFolder
) -> None:
    first = data.items[0]
    items = [first, replace(first, id="alike"), replace(first, id="again", asking=2)]
    few = replace(data, items=items)
    for calls in ([[1], [3], [2], [4]], []):
        model = Counted()
        answered = run_model(
            [MEDCALC], {"medcalc": few}, model, folder, RunOptions(repeats=2)
        )
        assert answered is not None
        # Items with the same question share an answer. Another asking has its own, with a
        # seed that no repeat has; a second command asks nothing.
        assert model.calls == calls
        (task,) = answered
        assert task.responses == {first.id: "1.0", "alike": "1.0", "again": "2.0"}
        assert task.repeats[0].responses["again"] == "4.0"


@pytest.mark.parametrize("dies_after", [0, 3, 6, 7, 11, 14, 17])
def test_a_run_stopped_in_any_round_resumes_and_repeats_nothing(
    data: TaskData, folder: RunFolder, dies_after: int
) -> None:
    first = Scripted(data, dies_after=dies_after)
    with pytest.raises(KeyboardInterrupt):
        run(first, data, folder)
    second = Scripted(data)
    task = run(second, data, folder)
    assert [task.responses[item.id] for item in data.items] == EXPECTED
    assert len(first.asked) == dies_after
    assert not set(first.asked) & set(second.asked)
    with Store(folder.answers) as store:
        assert counts(store, "answer") == (18, 18)
    third = Scripted(data)
    assert run(third, data, folder).responses == task.responses
    assert third.asked == []
    # Answers of an earlier run count like those of this one.
    assert list(task.question_counts.values()) == [1, 2, 3, 4, 4, 4]


def test_a_failure_in_a_later_round_leaves_the_item_unanswered(
    data: TaskData, folder: RunFolder
) -> None:
    task = run(Scripted(data, fails=(3, 2)), data, folder)
    failed = data.items[3].id
    assert task.unanswered == {failed: "http 500"}
    assert failed not in task.responses
    assert len(task.responses) == 5
    assert task.question_counts[failed] == 1  # the question that failed is not answered
    entry = finish([task], folder)["tasks"]["medcalc_code"]
    assert [row["asked"] for row in read_items(folder.path)] == [1, 2, 3, 1, 4, 4]
    assert entry["coverage"]["unscored"] == {"no answer: http 500": 1}
    again = Scripted(data)
    assert run(again, data, folder).unanswered == {}
    assert again.rounds == [[2], [3], [4]]


class Cluster:
    """Two processes of a run, as threads; the other one receives what the main one shares."""

    def __init__(self, data: TaskData) -> None:
        self.data = data
        self.channel: queue.Queue[list[str]] = queue.Queue()
        self.received: dict[bool, list[list[Request]]] = {True: [], False: []}

    def model(self, *, is_main: bool) -> Scripted:
        cluster = self

        class Member(Scripted):
            def share(self, keys: list[str]) -> list[str]:
                if is_main:
                    cluster.channel.put(keys)
                    return keys
                return cluster.channel.get(timeout=20)

            def generate(
                self, requests: Sequence[Request], on_result: OnResult
            ) -> None:
                cluster.received[is_main].append(list(requests))
                if is_main:
                    super().generate(requests, on_result)

        member = Member(self.data)
        member.is_main = is_main
        return member

    def run(self, folder: RunFolder) -> AnsweredTask:
        """Runs both; the other process returns nothing."""
        results: list[Any] = []

        def follow() -> None:
            other = self.model(is_main=False)
            results.append(
                run_model(
                    [MEDCALC_CODE],
                    {"medcalc_code": self.data},
                    other,
                    folder,
                    RunOptions(),
                )
            )

        thread = threading.Thread(target=follow)
        thread.start()
        task = run(self.model(is_main=True), self.data, folder)
        thread.join(timeout=30)
        assert results == [None]
        assert self.received[False] == self.received[True]
        assert self.channel.empty()
        return task


def test_every_process_receives_the_questions_of_every_round(
    data: TaskData, folder: RunFolder
) -> None:
    cluster = Cluster(data)
    task = cluster.run(folder)
    assert [task.responses[item.id] for item in data.items] == EXPECTED
    assert len(cluster.received[True]) == 4
    finished = Cluster(data)
    finished.run(folder)
    assert finished.received == {True: [], False: []}
    odd = [
        replace(item, fields={**item.fields, "patient_note": "\ud800"})
        for item in data.items[:1]
    ]
    surrogates = Cluster(replace(data, items=odd))
    surrogates.run(folder)
    assert "\ud800" in surrogates.received[False][0][0].messages[0]["content"]


class Metered(Scripted):
    """Reads 100 tokens in its first question, 200 in the second and so on; answers with 7 tokens."""

    def reply(self, request: Request) -> Answer | Failure:
        answer = super().reply(request)
        assert isinstance(answer, Answer)
        return replace(answer, prompt_tokens=100 * round_of(request), output_tokens=7)


def test_requests_tokens_and_seconds_of_all_rounds_are_in_the_results(
    data: TaskData, folder: RunFolder
) -> None:
    """A resumed run counts all its answers; totals are null if an older store lacks a count."""
    model = Metered(data)
    first, again = (
        finish([run(metered, data, folder)], folder)["tasks"]["medcalc_code"]["usage"]
        for metered in (model, Metered(data))
    )
    usage = {
        "requests": 18,
        "prompt_tokens": 100 * (6 + 2 * 5 + 3 * 4 + 4 * 3),
        "output_tokens": 7 * 18,
    }
    assert first == again
    assert {name: first[name] for name in usage} == usage
    assert first["cost_usd"] is None
    assert first["seconds"] >= 0
    with Store(folder.answers) as store:
        text = store.get_many("answer", model.asked[:1])[model.asked[0]]["text"]
        store.put(
            "answer",
            model.asked[0],
            {"text": text, "output_tokens": 7, "finish": "stop"},
        )
    partial = run(Metered(data), data, folder).usage
    assert partial is not None
    assert partial["output_tokens"] == 7 * 18
    assert partial["prompt_tokens"] is None
    assert partial["seconds"] is None


@pytest.fixture
def medcalc(built: Path) -> TaskData:
    return load_task_data(MEDCALC, DATASET, data=built, config="demo")


Reply = Callable[[Request], Answer | Failure]


class Saying(GeneratesOnly):
    """A model that answers by a function, and records its requests."""

    name = "scripted/model"

    def __init__(
        self, reply: Reply, *, identity: Mapping[str, str] | None = None
    ) -> None:
        self.reply = reply
        self.identity: Mapping[str, str] = identity or {"backend": "scripted"}
        self.asked: list[str] = []

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for request in requests:
            self.asked.append(request.key)
            on_result(self.reply(request))


def says(text: str) -> Reply:
    return lambda request: Answer(key=request.key, text=text)


def run_medcalc(
    model: Saying, medcalc: TaskData, folder: RunFolder, **options: Any
) -> AnsweredTask:
    answered_tasks = run_model(
        [MEDCALC], {"medcalc": medcalc}, model, folder, RunOptions(**options)
    )
    assert answered_tasks is not None
    (task,) = answered_tasks
    return task


@pytest.mark.parametrize("change", ["model", "length", "prompt"])
def test_a_change_of_model_length_or_prompt_asks_again(
    medcalc: TaskData, folder: RunFolder, change: str
) -> None:
    run_medcalc(Saying(says("a")), medcalc, folder)
    model = Saying(
        says("b"), identity={"backend": "other"} if change == "model" else None
    )
    if change == "prompt":
        items = [
            replace(
                item, fields={**item.fields, "question": item.fields["question"] + "?"}
            )
            for item in medcalc.items
        ]
        medcalc = replace(medcalc, items=items)
    task = run_medcalc(
        model, medcalc, folder, **({"max_new_tokens": 7} if change == "length" else {})
    )
    assert len(model.asked) == len(medcalc.items)
    assert set(task.responses.values()) == {"b"}


def test_answers_that_are_empty_or_cut_at_the_length_limit(
    medcalc: TaskData, folder: RunFolder
) -> None:
    entry = finish([run_medcalc(Saying(says("")), medcalc, folder)], folder)["tasks"][
        "medcalc"
    ]
    assert entry["coverage"]["scored"] == len(medcalc.items)
    assert entry["metrics"]["accuracy"]["value"] == 0

    def cut(request: Request) -> Answer | Failure:
        return Answer(
            key=request.key, text="so", finish="length" if request.key < "4" else "stop"
        )

    model = Saying(cut, identity={"backend": "other"})
    entry = finish([run_medcalc(model, medcalc, folder)], folder)["tasks"]["medcalc"]
    assert entry["cut_at_length"] == sum(key < "4" for key in model.asked) > 0


BY_NAME = {task.name: task for task in TASKS}
INDEX, OPEN = (
    BY_NAME["ehrnoteqa_mc_prob_index_level1"],
    BY_NAME["ehrnoteqa_open_level1"],
)


class Words(GeneratesOnly):
    """Counts a token per word; letter `B` is the most probable, and a text answer counts the prompt's words."""

    name = "hf/words"

    def __init__(self, room: int = 10**9) -> None:
        self.identity: Mapping[str, str] = {"backend": "words"}
        self.room, self.asked = room, 0

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for request in requests:
            self.asked += 1
            on_result(Answer(key=request.key, text=f"{self._words(request)} words"))

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for request in requests:
            self.asked += 1
            logprobs = tuple(
                -1.0 if text == "B" else -2.0 for text in request.continuations
            )
            scores = ChoiceScores(logprobs=logprobs, tokens=(1,) * len(logprobs))
            on_result(Answer(key=request.key, text=scores.to_text()))

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        return [
            Length(tokens=self._words(request), room=self.room) for request in requests
        ]

    def _words(self, request: Request) -> int:
        return len(request.messages[-1]["content"].split())


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    return open_run_folder(tmp_path / "run", {"any": "settings"}, private=True)


def data_of(task: TaskSpec, demos: Path) -> TaskData:
    return load_task_data(task, EHRNOTEQA, data=demos / "ehrnoteqa", config="demo")


def run_task(
    task: TaskSpec, data: TaskData, model: Words, private: RunFolder, **options: Any
) -> AnsweredTask:
    answered = run_model(
        [task], {task.name: data}, model, private, RunOptions(**options)
    )
    assert answered is not None
    return answered[0]


def test_probabilities_are_not_asked_in_batches(
    demos: Path, private: RunFolder
) -> None:
    model = Words()
    with pytest.raises(UsageError, match=f"--batch: {INDEX.name} asks how probable"):
        run_model(
            [INDEX],
            {INDEX.name: data_of(INDEX, demos)},
            model,
            private,
            RunOptions(batch=True),
        )
    assert model.asked == 0


def test_probabilities_are_asked_once_scored_and_replayed(
    demos: Path, private: RunFolder
) -> None:
    data = data_of(INDEX, demos)
    first = Words()
    task_answers = run_task(INDEX, data, first, private)
    results = finish([task_answers], private)["tasks"][INDEX.name]
    right = sum(item.fields["answer"] == "B" for item in data.items) / len(data.items)
    assert results["metrics"]["accuracy"]["value"] == pytest.approx(right)
    assert set(results["metrics"]) == {"accuracy", "gold_probability"}
    assert first.asked == len(data.items) == 8
    again = Words()
    assert run_task(INDEX, data, again, private).responses == task_answers.responses
    assert again.asked == 0
    assert (
        run_responses(INDEX, data, task_answers.recipe, private.path)
        == task_answers.responses
    )


def test_a_shortened_run_is_replayed_without_the_tokenizer(
    demos: Path, private: RunFolder
) -> None:
    data = data_of(OPEN, demos)
    task = run_task(
        OPEN, data, Words(room=400), private, truncate="notes-from-the-oldest"
    )
    cut = task.recipe["truncation"]["words_left_out"]
    assert task.recipe["truncation"]["rule"] == "notes-from-the-oldest"
    assert 0 < len(cut) < len(data.items)
    lengths = {name: int(text.split()[0]) for name, text in task.responses.items()}
    assert max(lengths.values()) <= 400
    # as few words as possible are cut, apart from the mark that replaces them
    assert min(lengths[name] for name in cut) >= 395
    assert run_responses(OPEN, data, task.recipe, private.path) == task.responses
    # The judge reads the whole notes.
    assert [item.fields for item in task.items] == [item.fields for item in data.items]


def test_results_count_the_shortened_questions(demos: Path, private: RunFolder) -> None:
    data = data_of(INDEX, demos)
    task = run_task(
        INDEX, data, Words(room=500), private, truncate="notes-from-the-oldest"
    )
    number = len(task.recipe["truncation"]["words_left_out"])
    assert 0 < number <= len(data.items)
    # As in `score --responses RUN`: the run's recipe, with the scoring of another one.
    scoring = {"sentence_bert": {"kind": "embedder"}}
    rescored = replace(task, recipe={**task.recipe, "scoring": scoring})
    for answered_task in (task, rescored):
        entry = finish([answered_task], private)["tasks"][INDEX.name]
        assert entry["shortened"] == number
        assert "scoring" not in entry["recipe"]


def test_questions_that_do_not_fit_are_refused_or_left_unanswered(
    demos: Path, private: RunFolder
) -> None:
    class Refusing(Words):
        def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
            super().generate(
                [request for request in requests if self._words(request) <= self.room],
                on_result,
            )

    data, model = data_of(OPEN, demos), Refusing(room=400)
    with pytest.raises(
        UsageError, match=r"ehrnoteqa_open_level1: \d of 8 questions do not fit"
    ):
        run_task(OPEN, data, model, private)
    assert model.asked == 0
    task = run_task(OPEN, data, model, private, truncate="unanswered")
    assert task.recipe["truncation"] == {
        "rule": "unanswered",
        "measured": True,
        "words_left_out": {},
    }
    assert 0 < len(task.responses) < len(task.items)
    assert set(task.unanswered.values()) == {"not asked"}


FRAME = 5  # tokens of a question without its document


class Measuring(Words):
    """Counts two tokens per word, or has no tokenizer; counts its measurements."""

    def __init__(self, room: int, *, has_tokenizer: bool = True) -> None:
        super().__init__(room)
        self.has_tokenizer, self.measured = has_tokenizer, 0

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        self.measured += 1
        if not self.has_tokenizer:
            return [None for _ in requests]
        return [
            Length(tokens=FRAME + 2 * self._words(request), room=self.room)
            for request in requests
        ]


def item(name: str, words: int) -> Item:
    text = " ".join(f"w{number}" for number in range(words))
    return Item(id=name, fields={"text": text}, groups={}, cluster=name)


def shorten(question: Item, words: int) -> Item:
    text = " ".join(question.fields["text"].split()[words:])
    return replace(question, fields={"text": text})


def render(question: Item) -> tuple[Message, ...]:
    return ({"role": "user", "content": question.fields["text"]},)


PROMPTS = PromptSet(name="own", sha256="0", render=render, shorten=shorten)


def fit(
    items: Sequence[Item],
    model: Measuring,
    prompts: PromptSet = PROMPTS,
    **options: Any,
) -> Fitted:
    return fit_items(KQA, prompts, items, model, RunOptions(**options))


def test_questions_that_stay_unchanged() -> None:
    items, long = [item("a", 3), item("b", 10)], [item("a", 3), item("b", 100)]
    model = Measuring(FRAME + 20)
    assert fit(items, model) == Fitted(items=items)
    assert model.measured == 1
    assert fit(long, Measuring(FRAME + 20), truncate="unanswered").items == long
    # Some questions never fit, and some models have no tokenizer.
    assert fit(items, Measuring(FRAME - 1), truncate="notes-from-the-oldest") == Fitted(
        items=items
    )
    assert fit(long, Measuring(1, has_tokenizer=False)) == Fitted(
        items=long, measured=False
    )
    assert parameters(Run)["truncate"].choices == get_args(Truncate)


def test_questions_that_are_too_long_are_listed() -> None:
    items = [
        item("short", 3),
        *(item(f"long{number}", 12 + number) for number in range(30)),
    ]
    with pytest.raises(UsageError) as error:
        fit(items, Measuring(FRAME + 20))
    message = str(error.value)
    assert "kqa: 30 of 31 questions do not fit" in message
    # the longest first
    assert f"long29: {FRAME + 82} tokens, room for {FRAME + 20}" in message
    assert "and 10 more" in message
    assert "--truncate notes-from-the-oldest" in message
    assert "w1" not in message  # none of the text


def test_as_few_words_as_possible_are_cut_and_a_replay_does_not_measure() -> None:
    items = [item("a", 3), item("b", 100), item("c", 11)]
    fitted = fit(items, Measuring(FRAME + 20), truncate="notes-from-the-oldest")
    assert fitted.shortened == {"b": 90, "c": 1}
    assert [len(question.fields["text"].split()) for question in fitted.items] == [
        3,
        10,
        10,
    ]
    assert fitted.items[1].fields["text"].split()[-1] == "w99"  # the end stays
    model = Measuring(1, has_tokenizer=False)
    assert fit(items, model, shortened=fitted.shortened) == fitted
    assert model.measured == 0


def test_prompts_that_cannot_shorten_are_not_measured() -> None:
    model, whole = Measuring(1), replace(PROMPTS, shorten=None)
    assert fit([item("a", 100)], model, whole).measured
    assert model.measured == 0
    with pytest.raises(
        UsageError, match="kqa: its questions have no notes to leave out"
    ):
        fit([item("a", 3)], model, whole, truncate="notes-from-the-oldest")


@given(
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=8),
    words=st.integers(0, 200),
)
def test_every_question_fits_and_loses_no_word_too_many(
    sizes: list[int], words: int
) -> None:
    items = [item(str(number), size) for number, size in enumerate(sizes)]
    fitted = fit(items, Measuring(FRAME + 2 * words), truncate="notes-from-the-oldest")
    assert fitted.shortened == {
        str(number): size - words for number, size in enumerate(sizes) if size > words
    }
    assert all(
        len(question.fields["text"].split()) <= words for question in fitted.items
    )
