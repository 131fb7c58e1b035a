"""The tasks under inspect: all are there, and all are refused with what to run instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.benchmarks.ehrnoteqa.prompts import load_prompts
from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET, TASKS
from medical_tasks.spec import TaskSpec
from tests.benchmarks.ehrnoteqa.tiny_items import item

PrerequisiteError = pytest.importorskip("inspect_ai._util.error").PrerequisiteError
_registry = pytest.importorskip("medical_tasks._registry")
adapter = pytest.importorskip("medical_tasks.harness.inspect_adapter")

NAMES = sorted(task.name for task in TASKS)


def test_inspect_has_every_task() -> None:
    assert len(NAMES) == 8
    assert [name for name in NAMES if not hasattr(_registry, name)] == []
    assert [name for name in tasks() if not hasattr(_registry, name)] == []


@pytest.mark.parametrize("name", NAMES)
def test_credentialed_tasks_are_refused_before_anything_is_read(name: str, tmp_path: Path) -> None:
    refused = rf"(?s)EHRNoteQA.*inspect's logs.*medical-tasks run --tasks {name} --model"
    with pytest.raises(PrerequisiteError, match=refused):
        getattr(_registry, name)(config="demo", data=str(tmp_path / "nothing"))


@pytest.mark.parametrize("task", [task for task in TASKS if task.asks == "choices"], ids=lambda task: task.name)
def test_inspect_cannot_ask_for_probabilities(task: TaskSpec, tmp_path: Path) -> None:
    refused = f"{task.name}: asks how probable each choice is.*medical-tasks run --tasks {task.name} --model"
    # As if the data were open: the refusal is not the guard's.
    spec = replace(DATASET, access="open")
    with pytest.raises(PrerequisiteError, match=refused):
        adapter.load(task, spec, config=None, data=str(tmp_path), prompts="own", upstream=None)
    with pytest.raises(PrerequisiteError, match=refused):
        adapter.inspect_task(task, [item()], load_prompts(task), {})
