"""The tasks under the harnesses: inspect refuses all, lighteval has those of one question."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.benchmarks.archehr_qa.spec import SUBTASKS, TASKS


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
