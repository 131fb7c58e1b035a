"""`ray/`: workers of a real Ray on this machine answer as one process does; tests of plans and options need no Ray."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import MissingError, RefusedError, UsageError
from medical_tasks.guard.policy import protect
from medical_tasks.models import ray_model
from medical_tasks.models.base import Answer, Failure
from medical_tasks.models.local_model import ChoicePrompt, LocalSetup, plan_texts
from medical_tasks.models.opening import open_model
from tests.case_tables import tabled
from tests.models.choice_runs import CHOICES, choose
from tests.models.local_runs import QUESTIONS, Opener, answers, results
from tests.models.toy_texts import NOTES, ask

# Ray's own warnings, about its settings.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="Ray is not installed (pip install '.[ray]')",
)


@pytest.fixture(scope="module")
def two_workers(
    toy_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    options = {
        "address": "local",
        "workers": "2",
        "cpus_per_worker": "1",
        "batch_size": "2",
    }
    model: Any = open_model(
        f"ray/{toy_model}", options, log_dir=tmp_path_factory.mktemp("logs")
    )
    yield model
    model.close()
    assert not any(Path(folder).exists() for folder in model._cluster.folders)


@needs_ray
def test_two_workers_score_choices_as_one_process_does(
    two_workers: Any, opened: Opener, toy_model: Path
) -> None:
    single = opened(toy_model, batch_size="2")
    assert (two_workers.identity, two_workers.endpoint) == (single.identity, None)
    assert answers(two_workers, CHOICES) == answers(single, CHOICES)


@needs_ray
def test_answers_are_those_of_one_process_though_a_worker_is_killed(
    two_workers: Any, opened: Opener, toy_model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from ray._private.state import actors  # the public list of actors needs a dashboard

    questions = [*QUESTIONS, ask("long", "chest pain " * 3000)]
    outcomes: dict[str, Answer | Failure] = {}
    killed: list[int] = []

    def on_result(result: Answer | Failure) -> None:
        outcomes[result.key] = result
        alive = [
            actor["Pid"]
            for actor in actors().values()
            if "(Worker)" in actor["ActorClassName"] and actor["State"] == "ALIVE"
        ]
        if len(outcomes) > 2 and alive and not killed:
            killed.append(alive[0])
            os.kill(alive[0], signal.SIGKILL)

    two_workers.generate(questions, on_result)
    assert len(killed) == 1
    assert outcomes == results(opened(toy_model, batch_size="2"), questions)
    assert "retr" not in "".join(capfd.readouterr())


@given(counts=st.lists(st.integers(1, 9), max_size=30), size=st.integers(1, 16))
def test_rows_of_choices_are_whole_batches_of_one_process(
    counts: list[int], size: int
) -> None:
    prompts = {
        f"{number:02}": ChoicePrompt(
            request=choose(f"{number:02}", "", "x" * count),
            tokens=(1,) * (number % 7),
            continuations=((1,),) * count,
        )
        for number, count in enumerate(counts)
    }
    rows = list(ray_model._choice_rows(list(prompts.values()), size))
    spread = [
        batch
        for row in rows
        for batch in plan_texts([prompts[request.key] for request in row], size)
    ]
    assert spread == list(plan_texts(list(prompts.values()), size))


def test_errors_of_a_worker_are_one_line(toy_model: Path) -> None:
    def run_worker(target: str, **identity: str) -> None:
        worker = ray_model.Worker(
            name=f"hf/{target}", options={}, identity=identity, nodes=()
        )
        (text,) = worker({"asked": ["[]"]})["answered"]
        ray_model._read(text)

    with pytest.raises(
        UsageError,
        match=r"worker on .*: another model or other packages .*weights \S+, not other",
    ):
        run_worker(str(toy_model), weights="other")
    with pytest.raises(MissingError, match=r"worker on .*nowhere: no such folder"):
        run_worker("/nowhere")
    # An error of another type is a fault, whose text the guard holds back.
    with pytest.raises(RuntimeError, match=r"KeyError of a worker on .*: 'text'"):
        ray_model._read(ray_model._written(KeyError("text")))


@tabled("options", "message")
def test_wrong_arguments(
    options: dict[str, str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    with pytest.raises(UsageError, match=message):
        open_model("ray/toy", options, log_dir=tmp_path)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ray" else name
    )
    with pytest.raises(
        MissingError,
        match=r"ray/toy needs ray, on every machine of the cluster: pip install",
    ):
        open_model("ray/toy", options | {"engine": "hf"}, log_dir=tmp_path)


def test_there_are_as_many_workers_as_fit() -> None:
    two, gpu = [{"CPU": 8.0}, {"CPU": 4.0}], [{"CPU": 16.0, "GPU": 4.0}]
    assert ray_model._shape("ray/m", {}, two) == (2, 4, 0)
    assert ray_model._shape("ray/m", {"workers": 3}, two) == (3, 2, 0)
    assert ray_model._shape("ray/m", {}, gpu) == (4, 1, 1)
    assert ray_model._shape("ray/m", {"tensor_parallel_size": 2}, gpu) == (2, 1, 2)
    with pytest.raises(
        UsageError, match=r"workers=3 with cpus_per_worker=8 .*room for 1 of them"
    ):
        ray_model._shape("ray/m", {"workers": 3, "cpus_per_worker": 8}, two)


def test_credentialed_text_is_refused_for_a_cluster_without_attestation(
    toy_model: Path,
) -> None:
    from medical_tasks.models.checkpoint import find_checkpoint

    nodes = {"a": "127.0.0.1", "b": "10.0.0.7"}
    cluster = ray_model._Cluster(address="127.0.0.1:6379", nodes=nodes, shape=(1, 1, 0))
    setup = LocalSetup("ray/toy", find_checkpoint(str(toy_model), revision=None), {})
    model = ray_model.RayModel(setup, cluster, {})
    with (
        protect([NOTES]),
        pytest.raises(
            RefusedError,
            match=r"may not be sent to 10.0.0.7 \(workers of a Ray cluster.*address=local",
        ),
    ):
        model.generate(QUESTIONS, lambda result: None)
