"""All benchmarks: the project's own in the order of the documentation, then those of other packages.

Generic code finds benchmarks here as objects of `spec.Benchmark` and imports none. A
package registers a benchmark with an entry point (`plugins`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import medical_tasks.plugins as plugins
from medical_tasks._version import __version__
from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.spec import Benchmark, DatasetSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.data.dataset_source import DatasetSource

__all__ = [
    "SUITE",
    "benchmark_of",
    "benchmarks",
    "benchmarks_by_package",
    "dataset_source",
    "dataset_spec",
    "datasets",
    "own_benchmarks",
    "package_of",
    "parse_task_names",
    "task_spec",
    "tasks",
]

SUITE: Final = "medical"


def benchmarks() -> tuple[Benchmark, ...]:
    """Returns every benchmark, ordered by `Benchmark.position` and name.

    A registered object is left out if it is no benchmark, is incomplete, or has a name
    that is already used (`plugins.problems`).
    """
    return tuple(benchmark for _, benchmark in _accepted(plugins.uninstalled_plugins()))


def own_benchmarks() -> tuple[Benchmark, ...]:
    """Returns the project's own benchmarks, which are in its generated files."""
    return tuple(
        benchmark
        for plugin, benchmark in _accepted(plugins.uninstalled_plugins())
        if plugin.own
    )


def package_of(benchmark: Benchmark) -> plugins.Package:
    """Finds the package that registers a benchmark."""
    accepted = _accepted(plugins.uninstalled_plugins())
    packages = (
        plugin.package for plugin, candidate in accepted if candidate == benchmark
    )
    return next(packages, plugins.Package(benchmark.name))


def benchmarks_by_package() -> dict[plugins.Package, list[Benchmark]]:
    """Returns the benchmarks by the package that registers them, the project itself first."""
    project = plugins.Package(plugins.OWN_PACKAGE, __version__)
    by_package: dict[plugins.Package, list[Benchmark]] = {project: []}
    for plugin, benchmark in _accepted(plugins.uninstalled_plugins()):
        by_package.setdefault(plugin.package, []).append(benchmark)
    return by_package


@cache
def _accepted(plugin_names: str) -> tuple[tuple[plugins.Plugin, Benchmark], ...]:
    """Returns the benchmarks that fulfil the contract.

    `plugin_names` is `plugins.uninstalled_plugins()`, the key of the cache.
    """
    accepted: list[tuple[plugins.Plugin, Benchmark]] = []
    for plugin, benchmark in plugins.objects("medical_tasks.benchmarks", Benchmark):  # type: ignore[type-abstract]
        try:
            reason = _refusal(benchmark, [other for _, other in accepted])
        except Exception as error:  # attributes of a foreign object may raise anything
            reason = f"{type(error).__name__}: {error}"

        if reason:
            plugins.leave_out(plugin, reason)
        else:
            accepted.append((plugin, benchmark))

    return tuple(sorted(accepted, key=lambda pair: (pair[1].position, pair[1].name)))


def _refusal(benchmark: Benchmark, accepted: list[Benchmark]) -> str:
    """Returns why a benchmark cannot be added to the accepted ones; "" if it can."""
    for kind in ("name", "title", "paper", "datasets", "tasks"):
        if not getattr(benchmark, kind, None):
            return f"it has no {kind}"
    for kind in ("name", "datasets", "tasks"):
        taken = {name for other in accepted for name in _names(other, kind)}
        if repeated := sorted(taken & set(_names(benchmark, kind))):
            return f"the {kind.removesuffix('s')} {repeated[0]} is taken by another benchmark"
    return next(filter(None, (_fault(benchmark, task) for task in benchmark.tasks)), "")


def _fault(benchmark: Benchmark, task: TaskSpec) -> str:
    """Returns what a task needs but its benchmark lacks; "" for nothing."""
    if task.benchmark != benchmark:
        return f"its task {task.name} names another benchmark"
    if task.dataset not in _names(benchmark, "datasets"):
        return f"its task {task.name} is about {task.dataset}, which is none of its datasets"
    if not task.metrics:
        return f"its task {task.name} has no metrics"

    needs = {
        "open_protocol": bool(task.protocol),
        "load_judge_prompts": task.judge,
        "asked_with": bool(task.item_arguments),
    }
    for method, needed in needs.items():
        if needed and getattr(type(benchmark), method) is getattr(Benchmark, method):
            return f"its task {task.name} needs the method {method}, which it lacks"

    if task.baseline and task.baseline not in benchmark.baselines():
        return f"its task {task.name} is answered by a baseline {task.baseline}, which it lacks"

    return ""


def _names(benchmark: Benchmark, kind: str) -> tuple[str, ...]:
    if kind == "name":
        return (benchmark.name,)
    specs = benchmark.datasets if kind == "datasets" else benchmark.tasks
    return tuple(spec.name for spec in specs)


def tasks() -> dict[str, TaskSpec]:
    """Returns all tasks by bare name, in order."""
    return {task.name: task for benchmark in benchmarks() for task in benchmark.tasks}


def datasets() -> dict[str, DatasetSpec]:
    """Returns all datasets by name, in order."""
    return {
        dataset.name: dataset
        for benchmark in benchmarks()
        for dataset in benchmark.datasets
    }


def task_spec(name: str) -> TaskSpec:
    """Finds a task by its bare name.

    Raises:
        UsageError: There is no such task.
    """
    known_tasks = tasks()
    if name not in known_tasks:
        raise UsageError(
            f"unknown task {name!r}.{did_you_mean(name, known_tasks)} Tasks: {', '.join(known_tasks)}. "
            "See: medical-tasks list"
        )

    return known_tasks[name]


def dataset_spec(name: str) -> DatasetSpec:
    """Finds a dataset by its name."""
    known_datasets = datasets()
    if name not in known_datasets:
        near = did_you_mean(
            tasks()[name].dataset if name in tasks() else name, known_datasets
        )
        raise UsageError(
            f"unknown dataset {name!r}.{near} Datasets: {', '.join(known_datasets)}."
        )
    return known_datasets[name]


def parse_task_names(text: str) -> list[TaskSpec]:
    """Parses comma-separated task names in any spelling (`medical|medcalc,medcalc_direct`), each once."""
    return list(
        {
            task.name: task
            for name in text.split(",")
            for task in _parse_one(name.strip())
        }.values()
    )


def _parse_one(text: str) -> list[TaskSpec]:
    if not text:
        raise UsageError(
            "empty task name. Give for example --tasks medcalc, or --tasks medical for all tasks."
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
                f"task name {text!r} is not of the form [medical|]NAME[|EXAMPLES]. Give for "
                f"example medical|medcalc or medical:medcalc|0. Tasks: {', '.join(tasks())}."
            )

        shots = int(words[1])

    task = task_spec(words[0])
    return [task if shots == _own_shots(task) else _with_shots(task, shots, text)]


def _own_shots(task: TaskSpec) -> int:
    return int(task.options.get("shots", "0"))


def _with_shots(task: TaskSpec, shots: int, text: str) -> TaskSpec:
    """Finds the variant of a task with `shots` examples.

    `|0` after a task with examples means the task itself.
    """
    if shots == 0:
        return task

    family = task.options.get("family", task.name)
    siblings = [
        other for other in tasks().values() if other.options.get("family") == family
    ]
    for other in siblings:
        if _own_shots(other) == shots:
            return other

    offered = sorted({_own_shots(other) for other in siblings} | {_own_shots(task)})
    raise UsageError(
        f"task {text!r}: there is no variant with {shots} worked examples; {task.name} has "
        f"{', '.join(map(str, offered))}."
    )


def benchmark_of(dataset: str) -> Benchmark:
    """Finds the benchmark that a dataset belongs to."""
    spec = dataset_spec(dataset)
    return next(benchmark for benchmark in benchmarks() if spec in benchmark.datasets)


def dataset_source(name: str) -> DatasetSource:
    """Finds how a dataset is built."""
    return benchmark_of(name).source(name)
