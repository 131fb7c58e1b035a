from __future__ import annotations

import json
from pathlib import Path

from medical_tasks.catalog import datasets, tasks
from medical_tasks.cli.entry import main
from medical_tasks.data.manifest import check_manifest, manifest_text, write_manifest
from tests.support import ROOT, own_datasets, own_tasks


def test_the_repository_matches_the_specs() -> None:
    assert check_manifest(ROOT) == []
    assert main(["manifest", "--check", "--root", str(ROOT)]) == 0


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    assert write_manifest(tmp_path) == [tmp_path / "tasks.json"]
    assert write_manifest(tmp_path) == []
    assert check_manifest(tmp_path) == []


def test_a_missing_or_edited_manifest_is_reported(tmp_path: Path) -> None:
    assert check_manifest(tmp_path) == [
        f"{tmp_path / 'tasks.json'}: is missing. Write it with: make manifest"
    ]
    (path,) = write_manifest(tmp_path)
    path.write_text(path.read_text().replace('"test"', '"dev"'))
    assert check_manifest(tmp_path) == [
        f"{path}: differs from the specs. Write it again with: make manifest"
    ]


def test_the_manifest_holds_every_task_and_dataset() -> None:
    content = json.loads(manifest_text())
    task_names = [
        task["name"]
        for benchmark in content["benchmarks"]
        for task in benchmark["tasks"]
    ]
    assert task_names == list(own_tasks())
    dataset_names = [
        dataset["name"]
        for benchmark in content["benchmarks"]
        for dataset in benchmark["datasets"]
    ]
    assert dataset_names == list(own_datasets())


def test_names_of_tasks_and_metrics_can_be_addressed() -> None:
    names = list(tasks())
    assert len(names) == len(set(names))
    for task in tasks().values():
        assert "|" not in task.name
        assert ":" not in task.name
        metrics = [metric.name for metric in task.metrics]
        assert metrics
        assert len(metrics) == len(set(metrics))
        assert task.dataset in datasets()
