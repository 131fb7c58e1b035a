"""Submitting a package: check, submit, discard. Each step answers with HTML, whatever was uploaded."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.errors import MedicalTasksError
from medical_tasks.leaderboard.admission import AdmissionError, QueueFullError, check_admission
from medical_tasks.leaderboard.app.door import discard, megabytes, uploaded
from medical_tasks.leaderboard.app.parts import (
    Address,
    Group,
    billions,
    bold_warning,
    facts,
    in_app_link,
    metric_cell,
    notice,
    table,
    task_title,
    yes_no,
)
from medical_tasks.leaderboard.app.snapshot import Content, Snapshot
from medical_tasks.leaderboard.records import Entry, Submission
from medical_tasks.leaderboard.storage import AlreadyStoredError
from medical_tasks.leaderboard.submission_package.contents import DEFAULT_LIMITS, Package, PackageError, ReadLimits
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.report.html_parts import Cell, Markup, escaped, link, markup
from medical_tasks.runs.numbers import coverage, metric_label

_LOG: Final = logging.getLogger(__name__)
_TOLD: Final = (PackageError, AdmissionError, QueueFullError, AlreadyStoredError)


@dataclass(frozen=True, kw_only=True)
class Step:
    """Where an upload stands: what the visitor sees, and whether the file `waits` for their confirmation."""

    html: Markup
    waits: bool = False


def check(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Step:
    """Checks an upload without submitting it; the file is deleted unless it is sound."""
    sound = False
    try:
        package = read_package(uploaded(path, limits), limits=limits)
        check_admission(package)
        step = Step(html=checked(package), waits=True)
        sound = True
    except MedicalTasksError as error:
        return Step(html=refused(_told(error)))
    finally:
        if not sound:
            discard(path)
    return step


def submit(content: Content, path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Step:
    """Submits what was checked, after checking it again, since the file can change meanwhile; it is deleted in any case."""
    try:
        submission = content.board.submit(uploaded(path, limits))
    except AlreadyStoredError as error:
        return Step(html=notice("note", "This package was submitted before", _told(error)))
    except MedicalTasksError as error:
        return Step(html=refused(_told(error)))
    finally:
        discard(path)
    content.forget()
    return Step(html=submitted(submission, content.snapshot()))


def _told(error: MedicalTasksError) -> str:
    """What a visitor may read: a package's own faults and rules, but nothing of where this server keeps its store."""
    if isinstance(error, _TOLD):
        return str(error)
    _LOG.error("a package could not be stored: %s", error)
    return "The server could not store it now. Upload it again later, or tell the maintainers."


def introduction() -> Markup:
    """Says what to upload and what happens to it."""
    return markup(
        '<h2 class="mtl-title">Submit a package</h2>',
        '<p class="mtl-lead">A package is the zip file that <code>medical-tasks submit RUN --to space --out FILE.zip</code> writes '
        f"from a finished run, at most {megabytes(DEFAULT_LIMITS.package_bytes)}. It is checked here first; nothing of a package "
        "that is refused is kept. What you submit waits in the queue until a maintainer decides.</p>",
    )


def refused(message: str) -> Markup:
    """Says what is wrong with an upload."""
    # The heading says the same as the first line of several reasons.
    lines = [line for line in message.splitlines() if line.strip() not in ("", "not taken:")]
    return notice("bad", "This package is not taken", *lines, "Nothing of it was kept.")


def checked(package: Package) -> Markup:
    """Shows what a sound package would put on the board: the submitter's words as they will be shown, and the numbers."""
    who = package.manifest.submitter
    warnings, rows = [], []
    for task in package.manifest.tasks:
        told = package.results["tasks"][task]
        entry = Entry(
            model="",
            organisation="",
            task=task,
            benchmark="",
            metrics={},
            state="unverified",
            group="",
            recipe=told["recipe"],
        )
        if warning := Group(name="", entries=(entry,)).warning:
            warnings += bold_warning(f"{task}: {warning}")
        for name, metric in told["metrics"].items():
            value = metric_cell(metric, state="unverified")
            rows.append((Cell(task, title=task_title(task)), metric_label(name, metric), value, coverage(told, metric)))
    return markup(
        notice(
            "good",
            "The package is sound",
            "Nothing was submitted yet: read below what will be shown to everybody, then confirm.",
        ),
        facts(
            [
                ("Model", markup("<bdi>", escaped(who.model), "</bdi>")),
                ("Organisation", who.organisation or "not named"),
                ("Page", link(who.url, who.url) if who.url else "none"),
                ("Open weights", yes_no(who.open_weights)),
                ("Parameters", billions(who.parameters)),
                ("Notes", who.notes or "none"),
                ("Made by", package.manifest.suite),
                ("Id", markup("<code>", escaped(package.manifest.id), "</code>")),
            ]
        ),
        *warnings,
        table("submit-numbers", rows),
    )


def submitted(submission: Submission, snapshot: Snapshot) -> Markup:
    """Says that a package was taken, and its place in the queue."""
    waiting = [one.id for one in snapshot.pending()]
    place = (
        f"It is number {waiting.index(submission.id) + 1} of {len(waiting)} in the queue. "
        if submission.id in waiting
        else ""
    )
    return notice(
        "good",
        "Submitted",
        markup("Its id is <code>", escaped(submission.id), "</code>. ", place, "A maintainer decides; see ",
               in_app_link("queue and history", Address(view="queue")), "."),
    )  # fmt: skip
