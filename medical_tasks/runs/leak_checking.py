"""Whether text of a dataset stands in a run's folder."""

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
    """Looks through every file of a folder for text of a source.

    Raises:
        UsageError: the source is a built dataset that is not the one the run was on.
    """
    with holding_text():
        _check_same_rows(options.run, options.source)
        return check_leaks(
            options.run, source_files(options.source), words=options.words
        )


def _check_same_rows(run: Path, source: str) -> None:
    """Refuses a built dataset that is not the one the run was on.

    Comparing with its demo, say, would prove nothing.
    """
    given = named_path(source)
    folder = given if found_at(given) == "folder" else datasets_home() / source
    name = built_name(folder) if found_at(folder) == "folder" else None
    if name not in datasets() or found_at(run / RESULTS_FILE) != "file":
        return  # files of the user's own, or a folder that is no run: they are compared as they are

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
    except Exception as error:  # what the file says instead may be text of the source
        raise UsageError(
            f"{run / RESULTS_FILE}: not the results of a run ({failure_kind(error)}), "
            f"so that it cannot be told on which rows of {name} it was. "
            f"Give the run's own command again, or --source the official files of {name}."
        ) from None

    for task, (config, split, sha256) in used.items():
        built = config in built_configs(folder)
        if (
            not built
            or rows_sha256(folder, config, split, spec=datasets()[name]) != sha256
        ):
            said = "holds other rows of it" if built else "does not hold it"
            raise UsageError(
                f"{run}: {task} ran on configuration {config} of {name}, and {folder} {said}, so "
                "that comparing with it would prove nothing. Give --source the folder of the "
                "dataset as it was built for the run, or its official files."
            )
