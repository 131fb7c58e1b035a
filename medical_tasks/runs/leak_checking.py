"""Checks whether a run's folder contains text of a dataset."""

from __future__ import annotations

from pathlib import Path

from medical_tasks.catalog import datasets
from medical_tasks.data.dataset_store import built_configs, built_name, source_files
from medical_tasks.data.task_data import rows_sha256
from medical_tasks.errors import UsageError, failure_kind
from medical_tasks.guard.leakcheck import LeakReport, check_leaks
from medical_tasks.guard.policy import holding_text
from medical_tasks.io.files import found_at, named_path
from medical_tasks.io.user_folders import datasets_home
from medical_tasks.options import Leakcheck
from medical_tasks.runs.results import RESULTS_FILE, read_results


def leakcheck(options: Leakcheck) -> LeakReport:
    """Searches every file of a folder for text of a source.

    Raises:
        UsageError: the source is a built dataset with other rows than the run used.
    """
    with holding_text():
        _check_same_rows(options.run, options.source)
        return check_leaks(
            options.run, source_files(options.source), words=options.words
        )


def _check_same_rows(run: Path, source: str) -> None:
    """Refuses a built dataset with other rows than the run used.

    A comparison with the dataset's demo, say, would prove nothing.
    """
    path = named_path(source)
    folder = path if found_at(path) == "folder" else datasets_home() / source
    name = built_name(folder) if found_at(folder) == "folder" else None
    if name not in datasets() or found_at(run / RESULTS_FILE) != "file":
        return  # the user's own files, or a folder that is not a run, are compared unchecked

    try:
        tasks = read_results(run)["tasks"]
        recipes = {
            task: entry["recipe"].get("data") or {} for task, entry in tasks.items()
        }
        used = {
            task: (str(data["config"]), str(data["split"]), data["rows_sha256"])
            for task, data in recipes.items()
            if data.get("name") == name
        }
    except Exception as error:  # the error might quote the source
        raise UsageError(
            f"{run / RESULTS_FILE}: not the results of a run ({failure_kind(error)}), "
            f"so the rows of {name} that it used are unknown. "
            f"Give the run's own command again, or --source the official files of {name}."
        ) from None

    for task, (config, split, sha256) in used.items():
        built = config in built_configs(folder)
        if (
            not built
            or rows_sha256(folder, config, split, spec=datasets()[name]) != sha256
        ):
            problem = "holds other rows of it" if built else "does not hold it"
            raise UsageError(
                f"{run}: {task} ran on configuration {config} of {name}, and {folder} {problem}, so "
                "a comparison with it would prove nothing. Give --source the folder of the "
                "dataset as it was built for the run, or its official files."
            )
