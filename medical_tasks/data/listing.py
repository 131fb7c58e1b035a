"""Lists every task with the state of its data on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from medical_tasks.catalog import dataset_spec, tasks
from medical_tasks.data.dataset_store import built_configs
from medical_tasks.errors import UsageError
from medical_tasks.io.user_folders import datasets_home


@dataclass(frozen=True, kw_only=True)
class ListedTask:
    """A task, and the state of its data on this machine.

    Attributes:
        name: the task's name.
        harness_name: its name in harnesses.
        title: its title.
        version: its version.
        dataset: the name of its dataset.
        access: `open` or `credentialed`.
        built: the configurations of its dataset that are built here.
        damaged: what is wrong with the dataset's folder; "" if nothing is.
        how_to_get: the steps to the official data.
        judge: whether a judge scores the answers.
        outside_lighteval: why lighteval does not have the task; "" if it does.
    """

    name: str
    harness_name: str
    title: str
    version: str
    dataset: str
    access: str
    built: list[str]
    damaged: str
    how_to_get: list[str]
    judge: bool
    outside_lighteval: str


def listed_tasks() -> list[ListedTask]:
    """Returns every task, in the order of `medical-tasks list`."""
    return [_listed(name) for name in tasks()]


def _listed(name: str) -> ListedTask:
    task = tasks()[name]
    spec = dataset_spec(task.dataset)
    built, damaged = _built(datasets_home() / spec.name)

    return ListedTask(
        name=task.name,
        harness_name=task.harness_name,
        title=task.title,
        version=task.version,
        dataset=spec.name,
        access=spec.access,
        built=built,
        damaged=damaged,
        how_to_get=list(spec.how_to_get),
        judge=task.judge,
        outside_lighteval=task.outside_lighteval,
    )


def _built(folder: Path) -> tuple[list[str], str]:
    """Returns the built configurations, and what is wrong with the folder ("" if nothing is)."""
    try:
        return sorted(built_configs(folder)), ""
    except UsageError as error:
        return [], str(error)
