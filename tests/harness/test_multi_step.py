"""`medcalc_code` and `medcalc_open_book` through our runner, inspect and lighteval: programs really run, one score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.prompts import load_prompts
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC_CODE, MEDCALC_OPEN_BOOK
from medical_tasks.cli.entry import main
from medical_tasks.cli.lighteval import _read
from medical_tasks.data.task_data import load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.io.store import Store
from medical_tasks.runs.results import read_results
from medical_tasks.sandbox.probe import probe
from medical_tasks.spec import Item
from tests.case_tables import json_of
from tests.fault_server import Call, FaultServer
from tests.harness.commands import (
    demo_environment,
    endpoint,
    inspect_eval,
    log_means,
    only_log,
    run,
)
from tests.support import counts
from tests.warm_process import WarmProcess

SAMPLES = 8


@pytest.fixture(scope="module")
def items(demos: Path) -> list[Item]:
    return load_task_data(
        MEDCALC_CODE, DATASET, data=demos, config="demo", max_samples=SAMPLES
    ).items


class Programmer:
    """Writes a program that prints the gold, in different ways: at once, after an error, without a program, never."""

    def __init__(self, items: list[Item]) -> None:
        prompts = load_prompts(MEDCALC_CODE)
        self.items = {
            prompts.render(item)[0]["content"]: (n, item)
            for n, item in enumerate(items)
        }

    def __call__(self, call: Call) -> str:
        messages = call.body["messages"]
        number, item = self.items[messages[0]["content"]]
        right = f"```python\nprint({item.fields['ground_truth_answer']!r})\n```"
        kind = number % 4
        if kind == 0 or (kind in (1, 2) and len(messages) > 1):
            return right
        if kind == 3:
            return "```python\nimport socket\nsocket.create_connection(('127.0.0.1', 9))\nprint(1)\n```"
        return "```python\nprint(weight)\n```" if kind == 1 else "I would rather not."


def _ours(task: str, out: str) -> list[str]:
    words = ["medical_tasks", "run", "--tasks", task, "--config", "demo"]
    words += ["--model", "openai-api/script/m", "--max-samples", str(SAMPLES)]
    return [*words, "--out", out]


@pytest.mark.slow
def test_our_runner_and_inspect_run_and_score_programs_alike(
    warm: WarmProcess, demos: Path, items: list[Item], tmp_path: Path
) -> None:
    if (missing := probe()) is not None:
        pytest.skip(f"no sandbox on this machine: {missing}")
    with FaultServer(answer=Programmer(items)) as server:
        settings: dict[str, Any] = {
            "cwd": tmp_path,
            "environment": demo_environment(demos, **endpoint(server)),
        }
        run(warm, _ours("medcalc_code", "ours"), **settings)
        # The fourth kind repeats the same program, and is asked again each time.
        call_count = len(server.calls)
        assert call_count == 2 * (1 + 2 + 2 + 20)
        run(warm, _ours("medcalc_code", "ours"), **settings)
        assert len(server.calls) == call_count
        ids = ",".join(item.id for item in items)
        words = ["-T", "config=demo", "--sample-id", ids]
        logs = tmp_path / "logs"
        run(
            warm,
            [*inspect_eval("medical_tasks/medcalc_code", logs=logs), *words],
            **settings,
        )

    results = read_results(tmp_path / "ours")["tasks"]["medcalc_code"]
    assert results["coverage"]["scored"] == SAMPLES
    expected = {"accuracy": 0.75, "accuracy_official": 0.75}
    for name, value in expected.items():
        assert results["metrics"][name]["value"] == value
    assert results["recipe"]["protocol"]["max_tries"] == 20
    with Store(tmp_path / "ours" / "answers.sqlite") as store:
        count, times = counts(store, "execution")
        assert count == times
        assert 4 <= count <= SAMPLES + 3

    assert expected.items() <= log_means(only_log(logs)).items()


@pytest.mark.slow
def test_the_open_book_through_our_runner(
    warm: WarmProcess, demos: Path, tmp_path: Path
) -> None:
    items = load_task_data(
        MEDCALC_OPEN_BOOK, DATASET, data=demos, config="demo", max_samples=SAMPLES
    ).items
    prompts = load_prompts(MEDCALC_OPEN_BOOK)
    golds = {
        prompts.render(item)[0]["content"]: item.fields["ground_truth_answer"]
        for item in items
    }
    with FaultServer(
        answer=lambda call: json.dumps({"answer": golds[call.prompt]})
    ) as server:
        run(
            warm,
            _ours("medcalc_open_book", "book"),
            cwd=tmp_path,
            environment=demo_environment(demos, **endpoint(server)),
        )
        assert len(server.calls) == SAMPLES
    results = read_results(tmp_path / "book")["tasks"]["medcalc_open_book"]
    assert results["metrics"]["accuracy"]["value"] == 1.0


def test_the_baselines_need_no_sandbox(demos: Path, tmp_path: Path) -> None:
    run = [
        "run",
        "--tasks",
        "medcalc_code,medcalc_open_book",
        "--config",
        "demo",
        "--data",
        str(demos),
    ]
    assert (
        main([*run, "--model", "baseline/reference", "--out", str(tmp_path / "out")])
        == 0
    )
    tasks = json_of(tmp_path / "out" / "results.json")["tasks"]
    assert [
        tasks[name]["metrics"]["accuracy"]["value"]
        for name in ("medcalc_code", "medcalc_open_book")
    ] == [1.0, 1.0]
    # Lighteval is not offered what it cannot ask.
    assert "medcalc_code" not in _read(["accelerate", "m", "medical"]).arguments[2]
    assert "medical:medcalc_open_book|0" in _read(
        ["accelerate", "m", "medical"]
    ).arguments[2].split(",")
    with pytest.raises(
        UsageError,
        match=r"medcalc_code: lighteval asks one question an item.*medical-tasks run --tasks medc",
    ):
        _read(["accelerate", "m", "--tasks", "medcalc,medcalc_code"])
