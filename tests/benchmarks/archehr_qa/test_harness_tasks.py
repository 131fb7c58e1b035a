"""The tasks under lighteval, which has those of one question."""

from __future__ import annotations

import pytest

from medical_tasks.benchmarks.archehr_qa.spec import SUBTASKS


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
