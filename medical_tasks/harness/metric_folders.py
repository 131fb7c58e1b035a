"""Writes folders for `evaluate.load` of metrics that no package ships: those of plugins and YAML files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import medical_tasks.plugins as plugins
from medical_tasks.catalog import tasks
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile, make_folder
from medical_tasks.io.user_folders import metrics_home

_MODULE: Final = '''"""The metric of {name}: written by medical_tasks.metric_path, and safe to delete."""

import evaluate

from medical_tasks.harness.evaluate_metric import plugin_metric

Metric = plugin_metric({name!r}, {places!r})
'''


def metric_folder(name: str) -> str | None:
    """Writes the folder of a plugin's metric; returns None if the name is not a plugin's.

    Args:
        name: a task of an installed plugin, or the YAML file of a benchmark.

    Raises:
        UsageError: A judge decides the task.
    """
    sources = [
        source for source in plugins.uninstalled_plugins().split(os.pathsep) if source
    ]
    if Path(name).suffix in plugins.YAML:
        sources, name = [str(Path(name).expanduser().resolve())], plugins.name_in(name)

    with plugins.using(sources):
        task = tasks().get(name)

    if task is None:
        return None

    if task.judge:
        raise UsageError(
            f"{name}: a judge decides its answers, and evaluate knows none. Use "
            f"medical_tasks.score({name!r}, answers, judge=...)."
        )

    folder = metrics_home() / name
    make_folder(folder)
    with WholeFile(folder / f"{name}.py") as file:
        file.write(_MODULE.format(name=name, places=sources))

    return str(folder)
