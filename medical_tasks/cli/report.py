"""The verb `report` on the command line; `Report` in `options` says what it takes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from medical_tasks.io.output import tell
from medical_tasks.options import Report
from medical_tasks.report.collect import report


def run(arguments: Report) -> int:
    """Writes the report, and says where."""
    # pyarrow's own pools keep what they were given, 40 MB of a large report; only this
    # command's process is concerned.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    places = report(arguments)
    tell("\n".join(f"report: {path}" for path in places.values()), **places)
    if arguments.open:
        _show(places.get("html"))
    return 0


def _show(page: Path | None) -> None:
    """Opens the page in the user's browser."""
    import webbrowser

    if page is None:
        print(
            "note: --open shows the page, and only Markdown was asked for.",
            file=sys.stderr,
        )
    elif not webbrowser.open(page.resolve().as_uri()):
        print(
            f"note: no browser could be started here. Open {page} in one.",
            file=sys.stderr,
        )
