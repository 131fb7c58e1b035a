"""The steps of handing in a package: check, hand in, take back. Each answers with HTML, whatever was uploaded."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.errors import MedicalTasksError
from medical_tasks.leaderboard.admission import AdmissionError, check_admission
from medical_tasks.leaderboard.app.notices import notice
from medical_tasks.leaderboard.app.snapshot import Content
from medical_tasks.leaderboard.app.submit_page import checked, handed_in, refused
from medical_tasks.leaderboard.app.uploads import discard, uploaded
from medical_tasks.leaderboard.queue_limits import QueueFullError
from medical_tasks.leaderboard.storage import AlreadyStoredError
from medical_tasks.leaderboard.submission_package.limits import DEFAULT_LIMITS, ReadLimits
from medical_tasks.leaderboard.submission_package.problems import PackageError
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.report.html_text import Markup

__all__ = ["Step", "check", "hand_in"]

_LOG: Final = logging.getLogger(__name__)
_TOLD: Final = (PackageError, AdmissionError, QueueFullError, AlreadyStoredError)


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
    """Checks an upload without submitting it.

    Args:
        path: where the server put it; deleted unless it is sound.
        limits: how much a package may hold.
    """
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


def hand_in(content: Content, path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Step:
    """Submits what was checked; it is checked again, since a file can be exchanged meanwhile.

    Args:
        content: the board.
        path: where the file is; deleted, whatever becomes of it.
        limits: how much a package may hold.
    """
    try:
        submission = content.board.submit(uploaded(path, limits))
    except AlreadyStoredError as error:
        return Step(html=notice("note", "This package was handed in before", _told(error)))
    except MedicalTasksError as error:
        return Step(html=refused(_told(error)))
    finally:
        discard(path)
    content.forget()
    return Step(html=handed_in(submission, content.snapshot()))


def _told(error: MedicalTasksError) -> str:
    """What a visitor may read: a package's own faults and rules, but nothing of where this server keeps its store."""
    if isinstance(error, _TOLD):
        return str(error)
    _LOG.error("a package could not be stored: %s", error)
    return "The server could not store it now. Upload it again later, or tell the maintainers."
