"""The command `leakcheck`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from medical_tasks.errors import IncompleteError, RefusedError, listed
from medical_tasks.io.output import tell
from medical_tasks.options import Leakcheck
from medical_tasks.runs.leak_checking import leakcheck

if TYPE_CHECKING:
    from medical_tasks.guard.leakcheck import LeakReport

_SHOWN_FILES = 20
_SHOWN_ROWS = 10


def run(arguments: Leakcheck) -> int:
    """Searches the folder, and reports what was compared."""
    report = leakcheck(arguments)
    compared = _compared(report)
    tell(None, report)
    if report.found:
        total = len(report.row_labels)
        rows = "; ".join(report.row_labels[:_SHOWN_ROWS]) + (
            " and more" if total > _SHOWN_ROWS else ""
        )
        unread = (
            f"\nNot readable:\n{_lines(report.unreadable)}" if report.unreadable else ""
        )
        raise RefusedError(
            f"{arguments.run}: text of {arguments.source} is in {len(report.found)} files:\n"
            f"{_lines({name: f'{count} runs' for name, count in report.found.items()})}\n"
            f"Rows of the source: {rows}.{unread}\n{compared}\nDo not share this folder."
        )

    if report.unreadable:
        raise IncompleteError(
            f"{arguments.run}: {len(report.unreadable)} files could not be read, so the check is incomplete:\n"
            f"{_lines(report.unreadable)}\nNo text of {arguments.source} was found in the other files. {compared}"
        )

    tell(
        f"clean: no run of {report.words} words of {arguments.source} is in {arguments.run}\n{compared}"
    )
    return 0


def _compared(report: LeakReport) -> str:
    shortest = report.words // 2
    return (
        f"Compared: {report.files} files ({report.file_words} words, all readings counted) with {report.rows} rows of the source "
        f"({report.source_words} words). Texts of {shortest} to {report.words - 1} words were searched for as a whole; "
        f"{report.too_short} shorter ones were not."
        + (
            f" The contents of {report.pictures} pictures and fonts were not checked."
            if report.pictures
            else ""
        )
    )


def _lines(entries: Mapping[str, str]) -> str:
    return "  " + listed(
        [f"{name}: {text}" for name, text in entries.items()],
        _SHOWN_FILES,
        between="\n  ",
    )
