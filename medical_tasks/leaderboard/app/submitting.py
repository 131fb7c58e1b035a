"""The steps of handing in a package: check, hand in, take back. Each answers with HTML, whatever was uploaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from medical_tasks.errors import MedicalTasksError
from medical_tasks.leaderboard.admission import check_admission
from medical_tasks.leaderboard.app.notices import notice
from medical_tasks.leaderboard.app.snapshot import Content
from medical_tasks.leaderboard.app.submit_page import checked, handed_in, refused
from medical_tasks.leaderboard.app.uploads import discard, uploaded
from medical_tasks.leaderboard.storage import AlreadyStoredError
from medical_tasks.report.html_text import Markup
from medical_tasks.submission_package.limits import DEFAULT_LIMITS, ReadLimits
from medical_tasks.submission_package.reading import read_package

__all__ = ["Step", "check", "hand_in"]


@dataclass(frozen=True, kw_only=True)
class Step:
    """Where an upload stands.

    Attributes:
        html: what the visitor is told.
        waits: whether the file is still here, for the visitor to confirm.
    """

    html: Markup
    waits: bool = False


def check(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Step:
    """Checks an upload without handing it in.

    Args:
        path: where the server put it; deleted when it is refused.
        limits: how much a package may hold.
    """
    try:
        package = read_package(uploaded(path, limits), limits=limits)
        check_admission(package)
    except MedicalTasksError as error:
        discard(path)
        return Step(html=refused(str(error)))
    return Step(html=checked(package), waits=True)


def hand_in(content: Content, path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Step:
    """Hands in what was checked; it is checked again, since a file can be exchanged meanwhile.

    Args:
        content: the board.
        path: where the file is; deleted, whatever becomes of it.
        limits: how much a package may hold.
    """
    try:
        package = uploaded(path, limits)
        submission = content.board.submit(package)
    except AlreadyStoredError as error:
        discard(path)
        return Step(html=notice("note", "This package was handed in before", str(error)))
    except MedicalTasksError as error:
        discard(path)
        return Step(html=refused(str(error)))
    discard(path)
    content.forget()
    return Step(html=handed_in(submission, content.snapshot()))
