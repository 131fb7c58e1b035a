"""The answers of a run whose results are submitted or verified."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from medical_tasks.catalog import dataset_spec
from medical_tasks.own_dataset import with_source
from medical_tasks.run_responses import check_recipe, run_responses
from medical_tasks.spec import TaskSpec
from medical_tasks.task_data import TaskData, load_task_data

__all__ = ["answers_of_run", "data_of_recipe"]


@contextmanager
def data_of_recipe(
    task: TaskSpec, recipe: Mapping[str, Any], *, data: Path | None, source: Path | None
) -> Iterator[TaskData]:
    """Reads the data that a recipe names, as they are here.

    Args:
        task: the task.
        recipe: of its results.
        data: folder of the built datasets; the user's data home by default.
        source: what the dataset is made of, in place of `data`.

    Yields:
        The items that were asked, and where they come from.

    Raises:
        MissingError: They are not there.
        UsageError: They are no such data.
    """
    spec, ran = dataset_spec(task.dataset), recipe["data"]
    with with_source(argparse.Namespace(source=source, data=data, config=ran["config"]), spec) as given:
        yield load_task_data(
            task,
            spec,
            data=given.data,
            config=ran["config"],
            split=ran["split"],
            max_samples=recipe["max_samples"],
        )


def answers_of_run(
    task: TaskSpec,
    recipe: Mapping[str, Any],
    folder: Path,
    *,
    responses: Path | None,
    data: Path | None,
    source: Path | None,
    upstream: Path | None,
) -> dict[str, str]:
    """Finds the answers that a run scored.

    Args:
        task: the task.
        recipe: as the run's `results.json` has it.
        folder: the run's folder.
        responses: for a run of `medical-tasks score`, the file that was scored.
        data: folder of the built datasets; the user's data home by default.
        source: what the dataset is made of, in place of `data`.
        upstream: the authors' checkout, for a run with the official prompts.

    Returns:
        Item id to answer, for each answered item.

    Raises:
        MissingError: The data, the run's store or the file is not there.
        UsageError: They are not those of the run.
    """
    check_recipe(folder, recipe)
    scored = recipe["model"]["name"].startswith("responses/")
    with data_of_recipe(task, recipe, data=data, source=source) as found:
        return run_responses(task, found, recipe, folder, responses=responses if scored else None, upstream=upstream)
