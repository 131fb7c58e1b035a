"""Where a report goes, and putting it there: whole, and never in the place of anything else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import WholeFile, open_file
from medical_tasks.report.markdown import REPORT_FILE

__all__ = ["HTML_FILE", "MARK", "check_place", "report_places", "write_report"]

HTML_FILE: Final = "report.html"
MARK: Final = "<!-- medical-tasks report -->"
"""First line of every report, by which it is known again."""
_OF_A_RUN: Final = re.compile(r"# Results\n\n## ")
"""How the Markdown begins that `run` and `score` write."""
_SUFFIXES: Final = {"html": (".html", ".htm"), "markdown": (".md", ".markdown")}
_OTHER_SUFFIX: Final = re.compile(r"\.[a-z]{2,5}")
"""Of a file of another kind: folders that are not there yet may have a dot, but hardly a word behind it."""
_NAMES: Final = {"html": HTML_FILE, "markdown": REPORT_FILE}


def report_places(folders: Sequence[Path], out: Path | None, wanted: str | None) -> dict[str, Path]:
    """Says which files are written.

    Args:
        folders: of the runs, all different.
        out: what the user gave: a file (by its suffix), or a folder; None for the run's folder, or, with several, this one.
        wanted: `html`, `markdown`, `both`; None for both, or for what the suffix of `out` says.

    Returns:
        Format to file.

    Raises:
        UsageError: The suffix is of the other format, or something there is not a report.
    """
    place = out.expanduser() if out is not None else folders[0].expanduser() if len(folders) == 1 else Path()
    named = next((form for form, suffixes in _SUFFIXES.items() if place.suffix.lower() in suffixes), None)
    if out is not None and named is None and not place.is_dir() and _OTHER_SUFFIX.fullmatch(place.suffix.lower()):
        raise UsageError(
            f"--out {out}: a report is HTML (.html) or Markdown (.md), not {place.suffix}. Give such a name, or a folder."
        )
    if out is None or place.is_dir() or named is None:
        forms = tuple(_NAMES) if wanted in (None, "both") else (str(wanted),)
        places = {form: place / _NAMES[form] for form in forms}
    elif wanted not in (None, named):
        raise UsageError(
            f"--out {out}: by its suffix it is {named}, but --format is {wanted}. Give a folder, or leave one of the two out."
        )
    else:
        places = {named: place}
    for path in places.values():
        check_place(path)
    return places


def check_place(path: Path) -> None:
    """Refuses to write over what is not a report.

    Raises:
        UsageError: There is something else under that name.
    """
    if not path.exists():
        return
    try:
        with open_file(path) as file:
            head = file.read(len(MARK.encode()) + 64).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(
            f"{path}: is there and cannot be read ({system_reason(error)}). Choose another --out."
        ) from error
    if not (head.startswith(MARK) or _OF_A_RUN.match(head)):
        raise UsageError(
            f"{path}: is there and is no report of this suite, so it is not written over. Choose another --out, or remove it."
        )


def write_report(path: Path, text: str) -> None:
    """Writes a report, whole or not at all.

    Args:
        path: where; checked.
        text: HTML or Markdown.

    Raises:
        IncompleteError: It cannot be written.
        UsageError: There is a folder under that name.
    """
    with WholeFile(path) as file:
        file.write(f"{MARK}\n{text}")
