"""The tasks in lighteval: the four sections of a visit's row, and worked examples from the built split."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.doclens.data import load_items
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.benchmarks.doclens.prompts import gold_response, load_prompts
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.errors import UsageError
from tests.benchmarks.doclens.task_items import BY_NAME, exemplar_rows, items_of

pytestmark = pytest.mark.slow  # lighteval's import


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home with the demo of ACI-BENCH."""
    home = tmp_path_factory.mktemp("data")
    assert (
        main(
            ["build", "aci_bench", "--config", "demo", "--out", str(home / "aci_bench")]
        )
        == 0
    )
    return home


@pytest.fixture
def configs(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> dict[str, Any]:
    """lighteval's configurations of the notes' tasks, by name."""
    from medical_tasks.harness.lighteval_adapter import task_configs

    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(home))
    monkeypatch.setenv("MEDICAL_TASKS_CONFIG", "demo")
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path))
    note_tasks = tuple(task for task in TASKS if task.dataset == "aci_bench")
    configs_by_name = {config.name: config for config in task_configs(note_tasks)}
    assert sorted(configs_by_name) == sorted(
        name for task in note_tasks for name in (task.name, task.harness_name)
    )
    return configs_by_name


def docs(config: Any) -> list[Any]:
    """The documents that lighteval makes from a configuration and the rows of the demo."""
    from lighteval.tasks.lighteval_task import LightevalTask

    class Split:
        """Yields new rows each time, as datasets does."""

        def __iter__(self) -> Any:
            yield from map(
                dict, read_rows(Path(config.hf_repo), config.hf_subset, "test1")
            )

    task = LightevalTask(copy.deepcopy(config))
    task.dataset = {"test1": Split()}
    return list(task.eval_docs())


def test_lighteval_asks_for_each_section_once(configs: dict[str, Any]) -> None:
    for name in ("aci_bench_section", "medical:aci_bench_section_two_shot"):
        task = BY_NAME[name.removeprefix("medical:")]
        items = {item.id: item for item in items_of(task.name)}
        prompts = load_prompts(task, exemplars=exemplar_rows(task))
        eval_docs = docs(configs[name])
        assert len(eval_docs) == len(items) == 24
        assert {doc.id for doc in eval_docs} == set(items)
        for doc in eval_docs:
            item = items[doc.id]
            assert doc.query == prompts.render(item)[0]["content"]
            assert doc.choices == [gold_response(task, item)]
            # The scorer makes the same item from the row.
            assert load_items(task, [doc.specific])[doc.specific["__place"]] == item
            doc.id = "7"
            assert copy.deepcopy(doc).id == dataclasses.asdict(doc)["id"] == item.id
            json.dumps(dataclasses.asdict(doc)["specific"])


def test_an_interrupted_pass_skips_no_section(configs: dict[str, Any]) -> None:
    config = configs["aci_bench_section"]
    (row, *_) = exemplar_rows(BY_NAME["aci_bench_one_shot"])
    with pytest.raises(UsageError, match="worked examples are part of a task here"):
        config.prompt_function({**row, "__few_shots": True}, config.name)
    prompted_ids = [
        config.prompt_function(dict(row), config.name).specific["__id"]
        for _ in range(6)
    ]
    section_ids = [f"{row['id']}/{section}" for section in SECTIONS]
    assert prompted_ids == [*section_ids, *section_ids[:2]]
