"""`tasks.json`: every dataset, task and metric of the suite for programs that do not run Python.

Generated from the specs, checked in, never read at run time.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from medical_tasks._version import __version__
from medical_tasks.benchmarks.catalog import BENCHMARKS
from medical_tasks.io.whole_file import read_text
from medical_tasks.spec import BenchmarkSpec, DatasetSpec, TaskSpec

__all__ = ["MANIFEST_FILE", "check_manifest", "manifest_text", "write_manifest"]

MANIFEST_FILE = "tasks.json"
_MANIFEST_VERSION = 1


def manifest_text() -> str:
    """Returns the content of `tasks.json`."""
    content = {
        "manifest_version": _MANIFEST_VERSION,
        "suite": "medical-tasks",
        "version": __version__,
        "benchmarks": [_benchmark(benchmark) for benchmark in BENCHMARKS],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _benchmark(benchmark: BenchmarkSpec) -> dict[str, Any]:
    return {
        "name": benchmark.name,
        "title": benchmark.title,
        "paper": benchmark.paper,
        "datasets": [_dataset(dataset) for dataset in benchmark.datasets],
        "tasks": [_task(task) for task in benchmark.tasks],
    }


def _dataset(dataset: DatasetSpec) -> dict[str, Any]:
    entry = dataclasses.asdict(dataset)
    entry["builder"] = f"dataset_builders/{dataset.name}/build.py"
    return entry


def _task(task: TaskSpec) -> dict[str, Any]:
    return {
        "name": task.name,
        # lighteval asks one question an item.
        "lighteval": None if task.protocol or task.baseline else f"{task.harness_name}|0",
        "inspect": f"medical_tasks/{task.name}",
        "title": task.title,
        "version": task.version,
        "dataset": task.dataset,
        "split": task.split,
        "judge": task.judge,
        "votes": task.votes if task.judge else None,
        "asks": task.asks,
        "generation_size": task.generation_size,
        "stop": list(task.stop),
        "metrics": [dataclasses.asdict(metric) for metric in task.metrics],
        "groups": list(task.groups),
        "cluster": task.cluster,
        "options": dict(task.options),
        "arguments": {**task.arguments, **task.scoring_arguments},
        "protocol": task.protocol or None,
        "baseline": task.baseline or None,
    }


def write_manifest(root: Path) -> Path:
    """Writes `tasks.json` into the project's folder.

    Returns:
        Its path.
    """
    path = root / MANIFEST_FILE
    path.write_text(manifest_text(), encoding="utf-8")
    return path


def check_manifest(root: Path) -> list[str]:
    """Compares `tasks.json` with the specs.

    Returns:
        What is wrong, a line each; empty when nothing is.
    """
    path = root / MANIFEST_FILE
    if not path.is_file():
        return [f"{path}: is not there. Write it with: make manifest"]
    if read_text(path) != manifest_text():
        return [f"{path}: is not what the specs say. Write it anew with: make manifest"]
    return []
