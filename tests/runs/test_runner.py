from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.medcalc_bench.spec import DATASET, MEDCALC
from medical_tasks.data.task_data import TaskData, load_task_data
from medical_tasks.models.base import Answer, Failure, OnResult, Request
from medical_tasks.runs.baselines import run_baseline
from medical_tasks.runs.finishing import finish
from medical_tasks.runs.folder import RunFolder, open_run_folder
from medical_tasks.runs.runner import AnsweredTask, RunOptions, run_model
from tests.support import GeneratesOnly


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / DATASET.name
    build_dataset(DATASET.name, source=None, config="demo", out=folder)
    return folder


@pytest.fixture
def data(built: Path) -> TaskData:
    return load_task_data(MEDCALC, DATASET, data=built, config="demo")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return open_run_folder(tmp_path / "run", {"test": 1})


Reply = Callable[[Request], Answer | Failure]


class Scripted(GeneratesOnly):
    """A model that answers by a function, and counts what it was asked."""

    name = "scripted/model"

    def __init__(self, reply: Reply, *, identity: Mapping[str, str] | None = None) -> None:
        self.reply = reply
        self.identity: Mapping[str, str] = identity or {"backend": "scripted"}
        self.asked: list[str] = []

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for request in requests:
            self.asked.append(request.key)
            on_result(self.reply(request))


def says(text: str) -> Reply:
    return lambda request: Answer(key=request.key, text=text)


def run(model: Scripted, data: TaskData, folder: RunFolder, **options: Any) -> AnsweredTask:
    answered = run_model([MEDCALC], {"medcalc": data}, model, folder, RunOptions(**options))
    assert answered is not None
    (task,) = answered
    return task


@pytest.mark.parametrize("change", ["model", "length", "prompt"])
def test_whatever_could_change_an_answer_asks_anew(data: TaskData, folder: RunFolder, change: str) -> None:
    run(Scripted(says("a")), data, folder)
    model = Scripted(says("b"), identity={"backend": "other"} if change == "model" else None)
    if change == "prompt":
        items = [
            replace(item, fields={**item.fields, "question": item.fields["question"] + "?"}) for item in data.items
        ]
        data = replace(data, items=items)
    task = run(model, data, folder, **({"max_new_tokens": 7} if change == "length" else {}))
    assert len(model.asked) == len(data.items)
    assert set(task.responses.values()) == {"b"}


def test_a_failure_is_unanswered_and_asked_again(data: TaskData, folder: RunFolder) -> None:
    def every_third_fails(request: Request) -> Answer | Failure:
        if int(request.key[:8], 16) % 3 == 0:
            return Failure(key=request.key, reason="http 500", detail="down")
        return Answer(key=request.key, text="{}")

    first = run(Scripted(every_third_fails), data, folder)
    failed = len(first.unanswered)
    assert 0 < failed < len(data.items)
    assert set(first.unanswered.values()) == {"http 500"}
    entry = finish([first], folder)["tasks"]["medcalc"]
    assert entry["coverage"] == {
        "asked": len(data.items),
        "answered": len(data.items) - failed,
        "scored": len(data.items) - failed,
        "unscored": {"no answer: http 500": failed},
    }
    assert entry["metrics"]["accuracy"]["value"] == 0
    assert entry["metrics"]["accuracy"]["bound_high"] == pytest.approx(failed / len(data.items))
    second = Scripted(says("{}"))
    assert run(second, data, folder).unanswered == {}
    assert len(second.asked) == failed


def test_the_empty_answer_of_a_model_is_an_answer(data: TaskData, folder: RunFolder) -> None:
    entry = finish([run(Scripted(says("")), data, folder)], folder)["tasks"]["medcalc"]
    assert entry["coverage"]["scored"] == len(data.items)
    assert entry["metrics"]["accuracy"]["value"] == 0


def test_answers_cut_at_the_length_limit_are_counted(data: TaskData, folder: RunFolder) -> None:
    model = Scripted(
        lambda request: Answer(key=request.key, text="so", finish="length" if request.key < "4" else "stop")
    )
    entry = finish([run(model, data, folder)], folder)["tasks"]["medcalc"]
    assert entry["cut_at_length"] == sum(key < "4" for key in model.asked) > 0


@pytest.mark.parametrize(
    ("name", "least", "most"), [("reference", 1.0, 1.0), ("empty", 0.0, 0.0), ("random", 0.0, 0.9)]
)
def test_baselines(data: TaskData, folder: RunFolder, name: str, least: float, most: float) -> None:
    task = run_baseline(name, MEDCALC, data, max_samples=None)
    metrics = finish([task], folder)["tasks"]["medcalc"]["metrics"]
    assert least <= metrics["accuracy"]["value"] <= most
    assert task.responses == run_baseline(name, MEDCALC, data, max_samples=None).responses


def test_the_recipe_says_what_the_number_depends_on(data: TaskData, folder: RunFolder) -> None:
    recipe = run(Scripted(says("a")), data, folder, max_new_tokens=9).recipe
    assert recipe["task_version"] == MEDCALC.version
    assert recipe["data"]["config"] == "demo"
    assert len(recipe["data"]["rows_sha256"]) == len(recipe["prompts"]["sha256"]) == 64
    assert recipe["generation"]["max_new_tokens"] == 9
    assert recipe["model"] == {"name": "scripted/model", "backend": "scripted"}
    assert recipe["packages"]["numpy"]
