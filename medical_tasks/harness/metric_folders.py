"""Folders for `evaluate.load` of metrics that no package ships: those of plugins and YAML files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import medical_tasks.plugins as plugins
from medical_tasks.catalog import tasks
from medical_tasks.errors import UsageError
from medical_tasks.guard.policy import user_place
from medical_tasks.io.files import WholeFile, make_folder
from medical_tasks.spec import Benchmark, TaskSpec

_MODULE: Final = '''"""The metric of {name}: written by medical_tasks.metric_path, and safe to delete."""

import evaluate

from medical_tasks.harness.evaluate_metric import plugin_metric

Metric = plugin_metric({name!r}, {places!r})
'''


def metric_folder(name: str) -> str | None:
    """Writes the folder of a plugin's metric; None where no plugin is meant.

    Args:
        name: a task of a plugin that is known, or where a plugin is: a YAML file or the
            folder of a package.

    Raises:
        UsageError: The plugin has several tasks, or a judge decides the task.
    """
    place = Path(name).expanduser()
    if place.exists():
        places = [str(place.resolve())]
        task = _only_task(place)
    elif name in tasks():
        places = [each for each in plugins.given().split(os.pathsep) if each]
        task = tasks()[name]
    else:
        return None
    if task.judge:
        raise UsageError(
            f"{task.name}: a judge decides its answers, and evaluate knows none. Use "
            f"medical_tasks.score({task.name!r}, answers, judge=...)."
        )
    folder = user_place("metrics", "XDG_CACHE_HOME", ".cache") / task.name
    make_folder(folder)
    with WholeFile(folder / f"{task.name}.py") as part:
        part.write(_MODULE.format(name=task.name, places=places))
    return str(folder)


def _only_task(place: Path) -> TaskSpec:
    """The task of the plugin at a place."""
    with plugins.using([str(place)]):
        package = plugins.package_in(place)
        values = [
            plugin.value
            for plugin in plugins.registered("medical_tasks.benchmarks")
            if plugin.package == package
        ]
    found = _tasks_of(values)
    if len(found) == 1:
        return found[0]
    names = ", ".join(task.name for task in found) or "none"
    raise UsageError(
        f"metric_path {place}: it must have one task, and has {names}. Set "
        f"{plugins.VARIABLE}={place}, and give the task's name."
    )


def _tasks_of(values: Sequence[object]) -> list[TaskSpec]:
    return [
        task for value in values if isinstance(value, Benchmark) for task in value.tasks
    ]
