"""The folders of a report: reads finished runs, names them briefly, and writes the report.

A report is written completely or not at all, and overwrites only an older report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.guard.private_store import SETTINGS_FILE
from medical_tasks.io.files import WholeFile, open_file, readable
from medical_tasks.report.entries import Entry
from medical_tasks.report.markdown import REPORT_FILE
from medical_tasks.runs.results import (
    RESULTS_FILE,
    Row,
    damaged,
    read_items,
    read_results,
    read_verdicts,
)

if TYPE_CHECKING:
    from medical_tasks.io.forms import Form


@dataclass(frozen=True, kw_only=True)
class FinishedRun:
    """A finished run.

    Attributes:
        name: its name, unique in the report.
        folder: its folder.
        entries: the entries of `results.json`, by task.
        rows: the rows of `items.parquet`, by task; deleted once they were read.
        verdicts: the lines of `verdicts.jsonl`, by task.
    """

    name: str
    folder: Path
    entries: Mapping[str, Entry]
    rows: dict[str, list[Row]]
    verdicts: Mapping[str, Sequence[Row]]


def read_run(folder: Path, *, items: bool = True) -> FinishedRun:
    """Reads a run's files and names the run like its folder."""
    entries = read_results(folder)["tasks"]
    if not entries:
        raise damaged(folder / RESULTS_FILE, "it has no task")

    for task, entry in entries.items():
        check_entry(folder / RESULTS_FILE, task, entry)

    rows: dict[str, list[Row]] = {task: [] for task in entries}
    for row in read_items(folder):
        if row.get("task") in rows and isinstance(row.get("id"), str):
            rows[row["task"]].append(row)

    verdicts: dict[str, list[Row]] = {}
    for verdict in read_verdicts(folder) if items else ():
        verdicts.setdefault(verdict["task"], []).append(verdict)

    return FinishedRun(
        name=folder.name, folder=folder, entries=entries, rows=rows, verdicts=verdicts
    )


def without_repeats(folders: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Splits folders into distinct ones and repeated ones, however their paths are written."""
    first: list[Path] = []
    repeated: list[Path] = []
    paths: set[Path] = set()
    for folder in folders:
        path = folder.expanduser().resolve()
        (repeated if path in paths else first).append(folder)
        paths.add(path)
    return first, repeated


def is_unfinished(folder: Path) -> bool:
    """Whether a folder's run has begun but has no results: it was stopped, or is still running."""
    path = folder.expanduser()
    return (path / SETTINGS_FILE).is_file() and not (path / RESULTS_FILE).exists()


def run_names(runs: Sequence[FinishedRun]) -> list[str]:
    """Names each run by its model, as briefly as the models stay distinct.

    Runs that share a model are named by their folders too: `smollm2 (seed-1)`.
    """
    full_names = [
        str(next(iter(run.entries.values()))["recipe"]["model"]["name"]) for run in runs
    ]
    last_parts = {
        name: name
        if name.startswith("baseline/")
        else name.rstrip("/").rpartition("/")[2]
        for name in full_names
    }
    names = [
        last_parts[name]
        if list(last_parts.values()).count(last_parts[name]) == 1 and last_parts[name]
        else name
        for name in full_names
    ]
    folders = short_names([run.folder for run in runs])

    return [
        name if names.count(name) == 1 and name else f"{name} ({folder})".strip()
        for name, folder in zip(names, folders, strict=True)
    ]


def short_names(folders: Sequence[Path]) -> list[str]:
    """Names each folder by the last part of its path, or by as many parts as make it unique."""
    parts = [
        [name for name in folder.expanduser().resolve().parts if name != "/"]
        for folder in folders
    ]
    names: list[str] = []
    for path_parts in parts:
        size = 1
        while (
            size < len(path_parts)
            and sum(other[-size:] == path_parts[-size:] for other in parts) > 1
        ):
            size += 1

        names.append("/".join(path_parts[-size:]) or "/")

    return names


def check_entry(
    path: Path, task: str, entry: Entry, form: type[Form] | None = None
) -> None:
    """Raises for an entry of `results.json` that was changed after it was written.

    `form` may require more than a report needs.
    """
    from medical_tasks.io.forms import complaint
    from medical_tasks.report import forms

    if problem := complaint(form or forms.Entry, entry):
        raise damaged(path, f"{task}: {problem}")


MARK: Final = "<!-- medical-tasks report -->"
"""The first line of every report, which identifies it."""
_ANSWERS: Final = re.compile(r"<!-- answers: ([0-9]{1,9}) -->\n")
"""The second line of a page with the models' answers, with their number."""
_HEAD_BYTES: Final = 200
_OF_A_RUN: Final = re.compile(r"# Results\n\n## ")
"""The beginning of the Markdown that `run` and `score` write."""
_SUFFIXES: Final = {"html": (".html", ".htm"), "markdown": (".md", ".markdown")}
_OTHER_SUFFIX: Final = re.compile(r"\.[a-z]{2,5}")
"""The suffix of a file of another kind: a folder's name hardly ends in a dot and a word."""
_NAMES: Final = {"html": "report.html", "markdown": REPORT_FILE}


def report_places(
    folders: Sequence[Path], out: Path | None, requested: str | None
) -> dict[str, Path]:
    """Returns the files to write, by format.

    Args:
        folders: the runs' folders.
        out: a file (by its suffix) or a folder; None for the run's folder or, with several
            runs, the current one.
        requested: `html`, `markdown` or `both`; None for both, or for the format that the
            suffix of `out` names.
    """
    target = (
        out.expanduser()
        if out is not None
        else folders[0].expanduser()
        if len(folders) == 1
        else Path()
    )
    named_form = next(
        (
            form
            for form, suffixes in _SUFFIXES.items()
            if target.suffix.lower() in suffixes
        ),
        None,
    )
    if (
        out is not None
        and named_form is None
        and not target.is_dir()
        and _OTHER_SUFFIX.fullmatch(target.suffix.lower())
    ):
        raise UsageError(
            f"--out {out}: a report is HTML (.html) or Markdown (.md), not {target.suffix}. Give "
            "such a name, or a folder."
        )

    if out is None or target.is_dir() or named_form is None:
        forms = tuple(_NAMES) if requested in (None, "both") else (str(requested),)
        places = {form: target / _NAMES[form] for form in forms}
    elif requested not in (None, named_form):
        raise UsageError(
            f"--out {out}: by its suffix it is {named_form}, but --format is {requested}. Give a folder, "
            "or leave one of the two out."
        )
    else:
        places = {named_form: target}

    for path in places.values():
        check_place(path)

    return places


def check_place(path: Path) -> None:
    """Refuses to overwrite a file that is not a report."""
    if not path.exists():
        return

    try:
        with open_file(path) as file:
            head = (
                file.read(len(MARK.encode()) + 64)
                .decode("utf-8", "replace")
                .replace("\r\n", "\n")
            )
    except OSError as error:
        raise UsageError(
            f"{path}: exists and cannot be read ({system_reason(error)}). Choose another --out."
        ) from error

    if not (head.startswith(MARK) or _OF_A_RUN.match(head)):
        raise UsageError(
            f"{path}: exists and is not a report of this suite, so it is not overwritten. Choose "
            "another --out, or remove it."
        )


def check_answers(path: Path, answers: int) -> None:
    """Refuses to overwrite a page with answers by one without.

    Args:
        path: the path of the page.
        answers: how many answers the new page has.
    """
    written = _answers_in(path)
    if written and not answers:
        raise UsageError(
            f"{path}: this report has {written:,} answers, and the new one would have "
            "none. Give --responses with the scored file, or leave --no-items out; "
            "else choose another --out, or remove the old report."
        )


def _answers_in(path: Path) -> int:
    """Counts the answers of an existing page; 0 without one."""
    if not path.exists():
        return 0
    with readable(path), open_file(path) as file:
        head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
    counted = _ANSWERS.search(head)
    return int(counted[1]) if counted else 0


def write_report(path: Path, text: str, *, answers: int = 0) -> None:
    """Writes a report, completely or not at all.

    Args:
        path: the report's path.
        text: the content after the first line, which identifies it.
        answers: how many models' answers it has, recorded for `check_answers`.
    """
    counted = f"<!-- answers: {answers} -->\n" if answers else ""
    with WholeFile(path) as file:
        file.write(f"{MARK}\n{counted}{text}")
