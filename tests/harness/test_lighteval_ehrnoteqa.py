"""EHRNoteQA's four formats through `medical-tasks lighteval accelerate`, one process and two: our own runner's numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from medical_tasks.benchmarks.ehrnoteqa.declarations import DATASET
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.cli.entry import main
from medical_tasks.data.task_data import load_task_data
from medical_tasks.models.stand_ins import make_toy_model
from tests.case_tables import json_of
from tests.warm_process import WarmProcess, torchrun

pytestmark = pytest.mark.slow

LEVEL_1_TASKS = [task for task in TASKS if task.options["level"] == "1"]
NAMES = ",".join(task.name for task in LEVEL_1_TASKS)
SAMPLES = 5
"""Questions a task: two processes get different numbers of them."""


@pytest.fixture(scope="module")
def work_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the demo, a toy that learned its words from it, and a store; ours for the time of the tests."""
    work_folder = tmp_path_factory.mktemp("ehrnoteqa")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work_folder)
        for name, value in _variables(work_folder).items():
            patch.setenv(name, value)
        assert main(["build", "ehrnoteqa", "--config", "demo"]) == 0
        items = load_task_data(
            LEVEL_1_TASKS[0], DATASET, data=work_folder / "data", config="demo"
        ).items
        make_toy_model(
            work_folder / "toy",
            [note["text"] for item in items[::3] for note in item.fields["notes"]],
        )
        yield work_folder


def _variables(work_folder: Path) -> dict[str, str]:
    return {
        "MEDICAL_TASKS_CONFIG": "demo",
        "MEDICAL_TASKS_DATA": str(work_folder / "data"),
        "MEDICAL_TASKS_HOME": str(work_folder / "home"),
        "HF_HOME": str(work_folder / "hf"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_CPU": "true",
        "CUDA_VISIBLE_DEVICES": "",
    }


def _run(warm: WarmProcess, work_folder: Path, out: str, *launcher: str) -> str:
    words = [
        "medical_tasks",
        "lighteval",
        "accelerate",
        "model_name=toy,batch_size=8,dtype=float32",
        "--tasks",
        NAMES,
    ]
    environment = {**os.environ, **_variables(work_folder)}
    done = warm.run(
        [*launcher, "-m", *words, "--max-samples", SAMPLES, "--output-dir", out],
        cwd=work_folder,
        environment=environment,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def ran(warm: WarmProcess, work_folder: Path) -> dict[str, str]:
    """Runs lighteval in one process and in two; folder to what was printed."""
    return {
        "one": _run(warm, work_folder, "one"),
        "two": _run(warm, work_folder, "two", *torchrun(2), *warm.asking),
    }


def _ours(work_folder: Path) -> dict[str, dict[str, float]]:
    words = [
        "run",
        "--tasks",
        NAMES,
        "--config",
        "demo",
        "--model",
        "hf/toy",
        "--max-samples",
        str(SAMPLES),
        "--out",
        "ours",
    ]
    assert main(words) == 0
    tasks = json_of(work_folder / "ours" / "results.json")["tasks"]
    assert [task["n_items"] for task in tasks.values()] == [SAMPLES] * len(
        LEVEL_1_TASKS
    )
    return {
        name: {key: metric["value"] for key, metric in task["metrics"].items()}
        for name, task in tasks.items()
    }


def test_the_numbers_are_those_of_our_own_runner(
    work_folder: Path, ran: dict[str, str]
) -> None:
    expected = _ours(work_folder)
    assert list(expected) == [task.name for task in LEVEL_1_TASKS] == NAMES.split(",")
    assert 0.05 < expected["ehrnoteqa_mc_prob_index_level1"]["gold_probability"] < 0.6
    for folder in ran:
        (file,) = (work_folder / folder).glob("results/**/results_*.json")
        results = json_of(file)["results"]
        for task in LEVEL_1_TASKS:
            values = results[f"{task.harness_name}|0"]
            metrics = {
                metric.name: metric for metric in task.metrics if not metric.needs
            }
            assert set(metrics) == set(expected[task.name])
            for name, value in expected[task.name].items():
                # As harnesses name the numbers of the lexical judge.
                shown = (
                    f"{name}_not_comparable"
                    if task.judge and metrics[name].judged
                    else name
                )
                assert values[shown] == pytest.approx(value, abs=1e-5), (
                    folder,
                    task.name,
                    name,
                )


def test_no_text_of_the_notes_is_printed_or_left_on_disk(
    hub_home: Path, work_folder: Path, ran: dict[str, str]
) -> None:
    items = [
        item
        for task in LEVEL_1_TASKS
        for item in load_task_data(
            task, DATASET, data=work_folder / "data", config="demo"
        ).items
    ]
    texts = {item.fields["question"] for item in items} | {
        text for item in items for text in item.fields["choices"]
    }
    texts |= {
        line
        for item in items
        for note in item.fields["notes"]
        for line in note["text"].splitlines()
    }
    long_ones = [text for text in texts if len(text) > 40]
    assert len(long_ones) > 20
    left = [
        path
        for name in ran
        for path in (work_folder / name).rglob("*")
        if path.is_file()
    ]
    assert len(left) == 2
    for output in [*ran.values(), *(path.read_text(encoding="utf-8") for path in left)]:
        assert not [text for text in long_ones if text in output]
    # lighteval's copy of the rows is gone, and was never in the Hub's cache.
    assert not [
        path
        for folder in (work_folder, hub_home)
        for path in folder.rglob("*.arrow")
        if path.is_file()
    ]
