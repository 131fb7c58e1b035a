"""Every benchmark of the suite, in the order of the documentation. Adding one is one line here."""

from __future__ import annotations

from medical_tasks.benchmarks.archehr_qa.spec import BENCHMARK as ARCHEHR_QA
from medical_tasks.benchmarks.doclens.spec import BENCHMARK as DOCLENS
from medical_tasks.benchmarks.ehrnoteqa.spec import BENCHMARK as EHRNOTEQA
from medical_tasks.benchmarks.kqa.spec import BENCHMARK as KQA
from medical_tasks.benchmarks.medcalc_bench.spec import BENCHMARK as MEDCALC_BENCH
from medical_tasks.errors import UsageError
from medical_tasks.spec import BenchmarkSpec, DatasetSpec, TaskSpec

__all__ = ["BENCHMARKS", "benchmark_of", "dataset_spec", "datasets", "task_spec", "tasks"]

BENCHMARKS: tuple[BenchmarkSpec, ...] = (MEDCALC_BENCH, KQA, EHRNOTEQA, DOCLENS, ARCHEHR_QA)


def tasks() -> dict[str, TaskSpec]:
    """Returns all tasks by bare name, in order."""
    return {task.name: task for benchmark in BENCHMARKS for task in benchmark.tasks}


def datasets() -> dict[str, DatasetSpec]:
    """Returns all datasets by name, in order."""
    return {dataset.name: dataset for benchmark in BENCHMARKS for dataset in benchmark.datasets}


def benchmark_of(task: TaskSpec) -> BenchmarkSpec:
    """Returns the benchmark a task belongs to."""
    return next(benchmark for benchmark in BENCHMARKS if task in benchmark.tasks)


def task_spec(name: str) -> TaskSpec:
    """Finds a task by its bare name.

    Raises:
        UsageError: There is no such task.
    """
    known = tasks()
    if name not in known:
        raise UsageError(f"unknown task {name!r}. Tasks: {', '.join(known)}. `medical-tasks list` says more.")
    return known[name]


def dataset_spec(name: str) -> DatasetSpec:
    """Finds a dataset by its name.

    Raises:
        UsageError: There is no such dataset.
    """
    known = datasets()
    if name not in known:
        raise UsageError(f"unknown dataset {name!r}. Datasets: {', '.join(known)}.")
    return known[name]
