"""The verb `leakcheck` on the command line; `Leakcheck` in `options` says what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from medical_tasks.catalog import datasets
from medical_tasks.data.dataset_store import built_configs, built_name, datasets_home, source_files
from medical_tasks.data.task_data import rows_sha256
from medical_tasks.errors import IncompleteError, RefusedError, UsageError, failure_kind, listed
from medical_tasks.io.files import found_at, named_path
from medical_tasks.io.output import tell
from medical_tasks.options import Leakcheck
from medical_tasks.runs.results import RESULTS_FILE, read_results

if TYPE_CHECKING:
    from medical_tasks.guard.leakcheck import LeakReport

_SHOWN_FILES = 20
_SHOWN_ROWS = 10


def run(arguments: Leakcheck) -> int:
    """Compares, and says what was compared."""
    from medical_tasks.guard.policy import holding_text

    with holding_text():
        return _checked(arguments)


def _checked(arguments: Leakcheck) -> int:
    from medical_tasks.guard.leakcheck import check_leaks

    _check_same_rows(arguments.run, arguments.source)
    report = check_leaks(arguments.run, source_files(arguments.source), words=arguments.words)
    compared = _compared(report)
    tell(None, report)
    if report.found:
        total = len(report.row_labels)
        rows = "; ".join(report.row_labels[:_SHOWN_ROWS]) + (
            " and more" if total > _SHOWN_ROWS else ""
        )
        unread = f"\nNot looked into:\n{_lines(report.unreadable)}" if report.unreadable else ""
        raise RefusedError(
            f"{arguments.run}: text of {arguments.source} stands in {len(report.found)} files:\n"
            f"{_lines({name: f'{count} runs' for name, count in report.found.items()})}\n"
            f"Rows of the source: {rows}.{unread}\n{compared}\nDo not pass this folder on."
        )
    if report.unreadable:
        raise IncompleteError(
            f"{arguments.run}: {len(report.unreadable)} files could not be looked into, so nothing is proved:\n"
            f"{_lines(report.unreadable)}\nNo text of {arguments.source} was found in what could be read. {compared}"
        )
    tell(
        f"clean: no run of {report.words} words of {arguments.source} stands in {arguments.run}\n{compared}"
    )
    return 0


def _check_same_rows(run: Path, source: str) -> None:
    """Refuses a built dataset that is not the one the run was on: comparing with its demo, say, would prove nothing."""
    given = named_path(source)
    folder = given if found_at(given) == "folder" else datasets_home() / source
    name = built_name(folder) if found_at(folder) == "folder" else None
    if name not in datasets() or found_at(run / RESULTS_FILE) != "file":
        return  # files of the user's own, or a folder that is no run: they are compared as they are
    try:
        tasks = read_results(run)["tasks"]
        recipes = {task: entry["recipe"].get("data") or {} for task, entry in tasks.items()}
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
        if not built or rows_sha256(folder, config, split, spec=datasets()[name]) != sha256:
            said = "holds other rows of it" if built else "does not hold it"
            raise UsageError(
                f"{run}: {task} ran on configuration {config} of {name}, and {folder} {said}, so that comparing with it would "
                "prove nothing. Give --source the folder of the dataset as it was built for the run, or its official files."
            )


def _compared(report: LeakReport) -> str:
    shortest = report.words // 2
    return (
        f"Compared: {report.files} files ({report.file_words} words, all readings counted) with {report.rows} rows of the source "
        f"({report.source_words} words). Texts of {shortest} to {report.words - 1} words were looked for as a whole; "
        f"{report.too_short} shorter ones were not."
        + (
            f" What {report.pictures} pictures and fonts show was not looked at."
            if report.pictures
            else ""
        )
    )


def _lines(entries: Mapping[str, str]) -> str:
    return "  " + listed(
        [f"{name}: {said}" for name, said in entries.items()], _SHOWN_FILES, between="\n  "
    )
