"""Show finished runs: one HTML page that works offline, and Markdown.

    medical-tasks report runs/my-run
    medical-tasks report runs/model-a runs/model-b --out comparison.html --open
    medical-tasks report runs/scored --responses answers.jsonl

RUN is the folder that `run` or `score` wrote. The page has the headline of all runs with intervals and coverage, breakdowns, plots,
published results beside them with what is different there, the recipe, and every item: for open data with question, answer, gold,
decision and why, for credentialed data ids, scores and hashes alone. It asks no server for anything.

Without --out, report.html and report.md go into the run's folder; those of several runs into the folder you are in. Nothing but a
report is ever written over.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from medical_tasks._api import reported
from medical_tasks.io.output import tell


def run(arguments: argparse.Namespace) -> int:
    """Writes the report, and says where."""
    # pyarrow's own pools keep what they were given, 40 MB of a large report; only this command's process is concerned.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    places = reported(arguments)
    tell("\n".join(f"report: {path}" for path in places.values()), **places)
    if arguments.open:
        _show(places.get("html"))
    return 0


def _show(page: Path | None) -> None:
    """Opens the page in the user's browser."""
    import webbrowser

    if page is None:
        print("note: --open shows the page, and only Markdown was asked for.", file=sys.stderr)
    elif not webbrowser.open(page.resolve().as_uri()):
        print(f"note: no browser could be started here. Open {page} in one.", file=sys.stderr)
