"""Every benchmark of the suite, in the order of the documentation. Adding one is one line here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from medical_tasks.benchmarks.archehr_qa.spec import BENCHMARK as ARCHEHR_QA
from medical_tasks.benchmarks.doclens.spec import BENCHMARK as DOCLENS
from medical_tasks.benchmarks.ehrnoteqa.spec import BENCHMARK as EHRNOTEQA
from medical_tasks.benchmarks.kqa.spec import BENCHMARK as KQA
from medical_tasks.benchmarks.medcalc_bench.spec import BENCHMARK as MEDCALC_BENCH
from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.spec import Benchmark, DatasetSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.data.building import BuiltDataset
    from medical_tasks.data.dataset_source import DatasetSource

__all__ = [
    "BENCHMARKS",
    "SUITE",
    "build_dataset",
    "dataset_source",
    "dataset_spec",
    "datasets",
    "parse_task_names",
    "task_spec",
    "tasks",
]


BENCHMARKS: tuple[Benchmark, ...] = (MEDCALC_BENCH, KQA, EHRNOTEQA, DOCLENS, ARCHEHR_QA)


def tasks() -> dict[str, TaskSpec]:
    """Returns all tasks by bare name, in order."""
    return {task.name: task for benchmark in BENCHMARKS for task in benchmark.tasks}


def datasets() -> dict[str, DatasetSpec]:
    """Returns all datasets by name, in order."""
    return {dataset.name: dataset for benchmark in BENCHMARKS for dataset in benchmark.datasets}


def task_spec(name: str) -> TaskSpec:
    """Finds a task by its bare name.

    Raises:
        UsageError: There is no such task.
    """
    known = tasks()
    if name not in known:
        raise UsageError(
            f"unknown task {name!r}.{did_you_mean(name, known)} Tasks: {', '.join(known)}. `medical-tasks list` says more."
        )
    return known[name]


def dataset_spec(name: str) -> DatasetSpec:
    """Finds a dataset by its name."""
    known = datasets()
    if name not in known:
        near = did_you_mean(tasks()[name].dataset if name in tasks() else name, known)
        raise UsageError(f"unknown dataset {name!r}.{near} Datasets: {', '.join(known)}.")
    return known[name]


SUITE = "medical"


def parse_task_names(text: str) -> list[TaskSpec]:
    """Reads a comma list of task names in any of the spellings, such as `medical|medcalc,medcalc_direct`; each counts once."""
    return list(
        {task.name: task for part in text.split(",") for task in _parse_one(part.strip())}.values()
    )


def _parse_one(text: str) -> list[TaskSpec]:
    if not text:
        raise UsageError(
            "empty task name. Give for example --tasks medcalc, or --tasks medical for all."
        )
    if text == SUITE:
        return list(tasks().values())
    words = text.replace(":", "|").split("|")
    if words[0] == SUITE:
        words = words[1:]
    shots = 0
    if len(words) > 1:
        if len(words) > 2 or not words[1].isascii() or not words[1].isdigit():
            raise UsageError(
                f"task name {text!r} is not of the form [medical|]NAME[|EXAMPLES]. "
                f"Give for example medical|medcalc or medical:medcalc|0. Tasks: {', '.join(tasks())}."
            )
        shots = int(words[1])
    task = task_spec(words[0])
    return [task if shots == _own_shots(task) else _with_shots(task, shots, text)]


def _own_shots(task: TaskSpec) -> int:
    return int(task.options.get("shots", "0"))


def _with_shots(task: TaskSpec, shots: int, text: str) -> TaskSpec:
    """Finds the sibling that shows `shots` examples; a plain `|0` behind a task with examples means the task itself."""
    if shots == 0:
        return task
    family = task.options.get("family", task.name)
    siblings = [other for other in tasks().values() if other.options.get("family") == family]
    for other in siblings:
        if _own_shots(other) == shots:
            return other
    offered = sorted({_own_shots(other) for other in siblings} | {_own_shots(task)})
    raise UsageError(
        f"task {text!r}: {shots} worked examples are not offered; {task.name} has {', '.join(map(str, offered))}."
    )


def dataset_source(name: str) -> DatasetSource:
    """Finds how a dataset is built."""
    spec = dataset_spec(name)
    return next(benchmark for benchmark in BENCHMARKS if spec in benchmark.datasets).source(name)


def build_dataset(
    name: str,
    *,
    source: Path | None,
    config: str,
    out: Path | None = None,
    options: Mapping[str, int | None] | None = None,
    partial: bool = False,
    fetch: bool = False,
) -> BuiltDataset:
    """Builds or, with `fetch`, fetches and builds one configuration of a dataset; see `data.building.build_source`."""
    from medical_tasks.data.building import build_source
    from medical_tasks.data.dataset_store import datasets_home
    from medical_tasks.data.fetching import fetch as fetched

    known = dataset_source(name)
    if fetch and source is not None:
        raise UsageError(
            f"--fetch and --source {source}: the files come from one or the other. Leave one out."
        )
    return build_source(
        known,
        place=fetched(known, config) if fetch else source,
        config=config,
        folder=out or datasets_home() / name,
        options=options,
        partial=partial,
        tasks=tuple(tasks().values()),
    )
