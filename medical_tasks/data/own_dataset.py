"""A dataset made of one file of the user's own, or of a small release, for the length of one command: nothing of it is left behind.

Datasets with a configuration `own` that is read from one file can be given so, and those whose official files are few and
small (`DatasetSource.quick`). The rows are built as `medical-tasks build` builds them, in a folder of the private store that is
removed as soon as they are read; what a killed command leaves, `purge` removes.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from medical_tasks.data.building import build_source
from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.data.task_data import TaskData, load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.guard.private_store import in_use, new_private_id, private_folder
from medical_tasks.spec import DatasetSpec, TaskSpec

__all__ = ["OWN_CONFIG", "built_from", "run_data", "source_configs", "with_source"]

OWN_CONFIG: Final = "own"


def source_configs(source: DatasetSource) -> tuple[str, ...]:
    """Names the configurations that `--source` can build, the default one first.

    Raises:
        UsageError: The dataset has none that can be built for one command.
    """
    if source.quick:
        return source.quick
    if OWN_CONFIG in source.spec.configs and len(source.files[OWN_CONFIG]) == 1:
        return (OWN_CONFIG,)
    name = source.spec.name
    raise UsageError(
        f"--source: the dataset {name} is not made of one file of your own. Leave it out, and build the dataset first: "
        f"medical-tasks build {name} --help"
    )


@contextlib.contextmanager
def built_from(source: DatasetSource, place: Path, config: str | None = None) -> Iterator[Path]:
    """Builds a dataset for the length of a `with` block.

    Args:
        source: how the dataset is built.
        place: the file it is made of, or the folder of its release.
        config: one of its `source_configs`; the first by default.

    Yields:
        The folder of the built dataset, closed to everybody else.

    Raises:
        UsageError: It is no such dataset, or its files are not as they must be.
        MissingError: They are not there.
        RefusedError: The private store cannot be closed to others.
        IncompleteError: The disk is full.
    """
    config = config or source_configs(source)[0]
    given = place.expanduser()
    if config == OWN_CONFIG and given.is_dir():
        raise UsageError(f"{place}: is a folder. Give --source the file itself.")
    home = private_folder(new_private_id())
    try:
        with in_use(home):
            folder = home / source.spec.name
            build_source(source, place=given, config=config, folder=folder, partial=True)
            yield folder
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def with_source(arguments: argparse.Namespace, source: DatasetSource) -> Iterator[argparse.Namespace]:
    """Builds the dataset from `--source`, where that is given, for the length of a `with` block.

    Args:
        arguments: options with `source`, `data` and `config`.
        source: how the dataset is built.

    Yields:
        The options, with what was built as their data.

    Raises:
        UsageError: The data are given twice, or the dataset is not built from a source alone.
        MissingError: What it is built from is not there.
    """
    if arguments.source is None:
        yield arguments
        return
    configs = source_configs(source)
    for name, allowed in (("data", (None,)), ("config", (None, *configs))):
        if getattr(arguments, name) not in allowed:
            raise UsageError(
                f"--source and --{name} {getattr(arguments, name)}: the data are one or the other. Leave one out."
            )
    config = arguments.config or configs[0]
    with built_from(source, arguments.source, config) as folder:
        try:
            yield argparse.Namespace(**{**vars(arguments), "data": folder, "config": config})
        except UsageError as error:  # nobody knows that folder, and it is gone when the message is read
            raise UsageError(str(error).replace(str(folder), str(arguments.source))) from error


@contextlib.contextmanager
def run_data(
    task: TaskSpec,
    spec: DatasetSpec,
    recipe: Mapping[str, Any],
    *,
    data: Path | None,
    source: Path | None,
    whole: bool = False,
) -> Iterator[TaskData]:
    """Reads the data that a run was on, as they are here, for the length of a `with` block.

    Args:
        task: the task.
        spec: its dataset.
        recipe: of the run's results.
        data: folder of the built datasets; the user's data home by default.
        source: what the dataset is made of, in place of `data`.
        whole: all items of the split, and not only those that were asked.

    Yields:
        The items, and where they come from.

    Raises:
        MissingError: They are not there.
        UsageError: They are no such data.
    """
    ran = recipe["data"]
    with with_source(
        argparse.Namespace(source=source, data=data, config=ran["config"]), task.benchmark.source(spec.name)
    ) as given:
        most = None if whole else recipe.get("max_samples")
        yield load_task_data(
            task, spec, data=given.data, config=ran["config"], split=ran.get("split"), max_samples=most
        )
