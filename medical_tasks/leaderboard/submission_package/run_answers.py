"""The answers of a run whose results are submitted or verified."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.catalog import dataset_spec
from medical_tasks.data.own_dataset import run_data
from medical_tasks.runs.run_responses import check_recipe, run_responses
from medical_tasks.spec import TaskSpec

__all__ = ["answers_of_run"]


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
    with run_data(task, dataset_spec(task.dataset), recipe, data=data, source=source) as found:
        return run_responses(task, found, recipe, folder, responses=responses if scored else None, upstream=upstream)
