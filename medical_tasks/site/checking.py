"""`site check`: no text of notes stands in the folder; what leaves it needs a clean check.

The check is `leakcheck` of the whole folder against the notes and the items built from
them. `require_clean` refuses a step by which something leaves when there is no check,
when it found something, or when the folder has changed since.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from medical_tasks.construct.shared import write_lines
from medical_tasks.errors import IncompleteError, MissingError, RefusedError, listed
from medical_tasks.guard.leakcheck import LeakReport, check_leaks
from medical_tasks.io.files import make_folder
from medical_tasks.io.output import tell
from medical_tasks.site.folder import (
    JOURNAL_NAME,
    Done,
    Site,
    changed,
    last,
    note_step,
    open_site,
)
from medical_tasks.site.options import Check
from medical_tasks.site.sampling import read_patients
from medical_tasks.site.steps import State

LEAVING: Final = ("evidence", "share")
"""Steps whose output leaves the site: they need a clean check."""
_NOT_CHECKED: Final = frozenset({JOURNAL_NAME, "work", "demo", *LEAVING})
"""Names whose change does not outdate the check: what those steps write, and the journal."""
_SHOWN: Final = 10


def run(options: Check) -> int:
    """Searches the folder; exit code 4 if it holds text of notes, 5 if a file is unreadable."""
    site = open_site(options.folder)
    if site.settings.open:
        _note(site, {"found": 0, "unread": 0, "open": True})
        tell("The notes are open: nothing has to be kept back.", found=0)
        return 0

    report = check_leaks(site.path, sources(site))
    _note(
        site,
        {
            "found": len(report.found),
            "unread": len(report.unreadable),
            "files": report.files,
            "rows": report.rows,
        },
    )
    tell(None, report)
    if report.found:
        raise RefusedError(_leak_message(site, report))

    if report.unreadable:
        names = listed(list(report.unreadable), _SHOWN)
        raise IncompleteError(
            f"{len(report.unreadable)} files cannot be read ({names}), so the check is incomplete. "
            "Move them out of the folder, and check again: medical-tasks site check"
        )

    tell(
        f"clean: no {report.words} words in a row of the notes are in {report.files:,} files "
        f"({report.rows:,} rows compared)"
    )
    return 0


def sources(site: Site) -> list[Path]:
    """The texts that must not be in the folder: the notes, and the items built from them."""
    path = make_folder(site.private / "check") / "notes.jsonl"
    strata = {"patient_id", "note_id", "date", *site.settings.strata}
    write_lines(
        path,
        (
            {name: cell for name, cell in cells.items() if name not in strata}
            for patient in read_patients(site)
            for cells in patient.rows
        ),
    )
    built = sorted((site.private / "data").rglob("*.parquet"))

    return [path, *built]


def _note(site: Site, figures: dict[str, object]) -> None:
    checked = sorted(
        path.name
        for path in site.path.iterdir()
        if path.name not in _NOT_CHECKED and not path.name.startswith(".")
    )
    note_step(site, "check", inputs=checked, figures=figures)


def _leak_message(site: Site, report: LeakReport) -> str:
    files = listed(
        [f"{name} ({count})" for name, count in report.found.items()], _SHOWN
    )
    return (
        f"{site.path}: {len(report.found)} files contain text of the notes: {files}. Nothing may "
        "leave this folder. Move these files out of it, such as the notes themselves, and check "
        "again: medical-tasks site check"
    )


def require_clean(site: Site) -> None:
    """Refuses if the last check is missing, found text, or is older than the folder.

    Raises:
        MissingError: there is no check.
        RefusedError: it found text, or the folder has changed since.
    """
    done = last(site, "check")
    if done is None:
        raise MissingError(
            f"{site.path}: nothing leaves this folder before it was checked for text of the "
            f"notes. Check it: medical-tasks site check {site.path}"
        )

    if problem := _problem(site, done):
        raise RefusedError(
            f"{site.path}: {problem}. Check it again: medical-tasks site check {site.path}"
        )


def _problem(site: Site, done: Done) -> str:
    """What is wrong with a check; "" if it is clean and current."""
    figures = done.figures
    if figures["found"] or figures["unread"]:
        return (
            f"the last check found text of the notes in {figures['found']} files, and could not "
            f"read {figures['unread']}"
        )

    present = {
        path.name
        for path in site.path.iterdir()
        if path.name not in _NOT_CHECKED and not path.name.startswith(".")
    }
    others = [*changed(site, done), *sorted(present - set(done.inputs))]
    return f"the last check is older than {listed(others, _SHOWN)}" if others else ""


def state(site: Site) -> State:
    """The state of the step."""
    done = last(site, "check")
    if done is None:
        return State("next", "prove that no text of the notes is in the folder")
    if problem := _problem(site, done):
        return State("stale", problem)
    return State("done", f"clean {done.at}")
