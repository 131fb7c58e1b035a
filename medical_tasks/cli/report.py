"""The command `report`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from medical_tasks.io.output import tell
from medical_tasks.options import Report
from medical_tasks.report.collect import report


def run(arguments: Report) -> int:
    """Writes the report, and prints its paths."""
    # pyarrow's own memory pools are never released, 40 MB for a large report; this
    # affects only the process of this command.
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
            "note: --open needs the HTML page, but only Markdown was requested.",
            file=sys.stderr,
        )
    elif not webbrowser.open(page.resolve().as_uri()):
        print(
            f"note: no browser could be started. Open {page} in a browser.",
            file=sys.stderr,
        )
