"""The tasks under the harnesses: inspect refuses all, lighteval has those of one question."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.benchmarks.archehr_qa.spec import SUBTASKS, TASKS
from medical_tasks.benchmarks.archehr_qa.twin import write_twin
from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.errors import UsageError
from medical_tasks.harness.lighteval_launcher import asked_data


def test_inspect_refuses_before_anything_is_read(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks import _registry

    assert len(TASKS) == 8
    for task in TASKS:
        refused = rf"(?s)ArchEHR-QA.*inspect's logs.*medical-tasks run --tasks {task.name} --model"
        with pytest.raises(PrerequisiteError, match=refused):
            getattr(_registry, task.name)(config="demo", data=str(tmp_path / "nothing"))


def test_lighteval_has_the_subtasks() -> None:
    pytest.importorskip("lighteval")
    from medical_tasks.lighteval_tasks import TASKS_TABLE

    assert len(SUBTASKS) == 4
    names = {name for task in SUBTASKS for name in (task.name, task.harness_name)}
    configs = [config for config in TASKS_TABLE if config.name in names]
    assert len(configs) == len(names) == 8
    splits = {config.name: config.evaluation_splits for config in configs}
    assert splits["archehr_alignment"] == ("test", "test_2026")
    assert splits["archehr_evidence"] == ("test_2026",)


def test_lighteval_is_not_started_without_the_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path))
    monkeypatch.delenv("MEDICAL_TASKS_CONFIG", raising=False)
    old = write_twin(tmp_path / "old", seed=1, dev=0, test=1)
    build_dataset("archehr_qa", source=old, config="official", partial=True)
    for task in TASKS:
        if task.split == "test":
            assert asked_data(task).items
    for task in SUBTASKS:
        with pytest.raises(
            UsageError,
            match=rf"{task.name}: .* split test_2026 is not built(.|\n)*lighteval has no --config and no --split",
        ):
            asked_data(task)
