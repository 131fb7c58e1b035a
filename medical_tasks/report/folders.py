"""The folders of a report: finished runs, each under a short name, and where it is written.

A report is written whole, and never over anything but an older report.
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
        name: unique in the report.
        folder: of the run.
        entries: of `results.json`, by task.
        rows: of `items.parquet`, by task; let go when they were read.
        verdicts: of `verdicts.jsonl`, by task.
    """

    name: str
    folder: Path
    entries: Mapping[str, Entry]
    rows: dict[str, list[Row]]
    verdicts: Mapping[str, Sequence[Row]]


def read_run(folder: Path, *, items: bool = True) -> FinishedRun:
    """Reads a run's files; its name is that of the folder."""
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
    """Parts folders into new ones and those that were given before, however they were written."""
    first: list[Path] = []
    again: list[Path] = []
    paths: set[Path] = set()
    for folder in folders:
        path = folder.expanduser().resolve()
        (again if path in paths else first).append(folder)
        paths.add(path)
    return first, again


def is_unfinished(folder: Path) -> bool:
    """Whether a folder is of a run that was begun and has no results.

    Stopped, or still under way.
    """
    path = folder.expanduser()
    return (path / SETTINGS_FILE).is_file() and not (path / RESULTS_FILE).exists()


def run_names(runs: Sequence[FinishedRun]) -> list[str]:
    """Names each run by its model, as short as tells the models apart.

    Runs that share a model are named by their folders too: `smollm2 (seed-1)`.
    """
    whole = [
        str(next(iter(run.entries.values()))["recipe"]["model"]["name"]) for run in runs
    ]
    last = {
        name: name
        if name.startswith("baseline/")
        else name.rstrip("/").rpartition("/")[2]
        for name in whole
    }
    names = [
        last[name]
        if list(last.values()).count(last[name]) == 1 and last[name]
        else name
        for name in whole
    ]
    folders = short_names([run.folder for run in runs])

    return [
        name if names.count(name) == 1 and name else f"{name} ({folder})".strip()
        for name, folder in zip(names, folders, strict=True)
    ]


def short_names(folders: Sequence[Path]) -> list[str]:
    """Names each folder by the last part of its path, and as many more as tell it from others."""
    parts = [
        [name for name in folder.expanduser().resolve().parts if name != "/"]
        for folder in folders
    ]
    names: list[str] = []
    for own in parts:
        size = 1
        while (
            size < len(own) and sum(other[-size:] == own[-size:] for other in parts) > 1
        ):
            size += 1

        names.append("/".join(own[-size:]) or "/")

    return names


def check_entry(
    path: Path, task: str, entry: Entry, form: type[Form] | None = None
) -> None:
    """Raises for an entry of `results.json` that is not as it was written.

    `form` is one that asks for more than what a report needs.
    """
    from medical_tasks.io.forms import complaint
    from medical_tasks.report import forms

    if problem := complaint(form or forms.Entry, entry):
        raise damaged(path, f"{task}: {problem}")


MARK: Final = "<!-- medical-tasks report -->"
"""First line of every report, by which it is known again."""
_ANSWERS: Final = re.compile(r"<!-- answers: ([0-9]{1,9}) -->\n")
"""Second line of a page that has the models' answers, with their number."""
_HEAD_BYTES: Final = 200
_OF_A_RUN: Final = re.compile(r"# Results\n\n## ")
"""How the Markdown begins that `run` and `score` write."""
_SUFFIXES: Final = {"html": (".html", ".htm"), "markdown": (".md", ".markdown")}
_OTHER_SUFFIX: Final = re.compile(r"\.[a-z]{2,5}")
"""Of a file of another kind: a new folder may have a dot, but hardly a word behind it."""
_NAMES: Final = {"html": "report.html", "markdown": REPORT_FILE}


def report_places(
    folders: Sequence[Path], out: Path | None, wanted: str | None
) -> dict[str, Path]:
    """Says which files are written.

    `out`: what the user gave: a file (by its suffix), or a folder; None for the run's
    folder, or, with several, this one. `wanted`: `html`, `markdown`, `both`; None for
    both, or for what the suffix of `out` says.
    """
    target = (
        out.expanduser()
        if out is not None
        else folders[0].expanduser()
        if len(folders) == 1
        else Path()
    )
    named = next(
        (
            form
            for form, suffixes in _SUFFIXES.items()
            if target.suffix.lower() in suffixes
        ),
        None,
    )
    if (
        out is not None
        and named is None
        and not target.is_dir()
        and _OTHER_SUFFIX.fullmatch(target.suffix.lower())
    ):
        raise UsageError(
            f"--out {out}: a report is HTML (.html) or Markdown (.md), not {target.suffix}. Give "
            "such a name, or a folder."
        )

    if out is None or target.is_dir() or named is None:
        forms = tuple(_NAMES) if wanted in (None, "both") else (str(wanted),)
        places = {form: target / _NAMES[form] for form in forms}
    elif wanted not in (None, named):
        raise UsageError(
            f"--out {out}: by its suffix it is {named}, but --format is {wanted}. Give a folder, "
            "or leave one of the two out."
        )
    else:
        places = {named: target}

    for path in places.values():
        check_place(path)

    return places


def check_place(path: Path) -> None:
    """Refuses to write over what is not a report."""
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
    """Refuses to write a page without answers over one with them.

    Args:
        path: where the page goes.
        answers: how many it has.
    """
    written = _written_answers(path)
    if written and not answers:
        raise UsageError(
            f"{path}: this report has {written:,} answers, and the new one would have "
            "none. Give --responses with the scored file, or leave --no-items out; "
            "else choose another --out, or remove the old report."
        )


def _written_answers(path: Path) -> int:
    """How many answers the page that is there has; 0 where there is none."""
    if not path.exists():
        return 0
    with readable(path), open_file(path) as file:
        head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
    counted = _ANSWERS.search(head)
    return int(counted[1]) if counted else 0


def write_report(path: Path, text: str, *, answers: int = 0) -> None:
    """Writes a report, whole or not at all.

    Args:
        path: where it goes.
        text: what is written after the first line, by which it is known again.
        answers: how many answers of models it has, kept for `check_answers`.
    """
    counted = f"<!-- answers: {answers} -->\n" if answers else ""
    with WholeFile(path) as file:
        file.write(f"{MARK}\n{counted}{text}")
