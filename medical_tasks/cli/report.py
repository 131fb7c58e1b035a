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
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from medical_tasks._api import reported
from medical_tasks.cli import add_options
from medical_tasks.io.output import tell

_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "runs": {"nargs": "+", "type": Path, "metavar": "RUN", "help": "folder of a finished run"},
    "--out": {
        "type": Path,
        "metavar": "PLACE",
        "help": "FILE.html, FILE.md, or a folder for report.html and report.md",
    },
    "--format": {
        "choices": ("html", "markdown", "both"),
        "help": "what is written (default: both, or what --out names)",
    },
    "--title": {"default": "", "metavar": "TEXT", "help": "heading of the report"},
    "--data": {"type": Path, "metavar": "DIR", "help": "folder of the built datasets (default: the user's data home)"},
    "--source": {
        "type": Path,
        "metavar": "FILE",
        "help": "the one file a dataset of your own is made of, in place of --data",
    },
    "--responses": {
        "type": Path,
        "action": "append",
        "default": [],
        "metavar": "FILE",
        "help": "a file that `score` scored, or the folder of a run whose answers it scored; can be repeated",
    },
    "--upstream": {"type": Path, "metavar": "DIR", "help": "the authors' checkout, for runs with --prompts official"},
    "--no-items": {"action": "store_true", "help": "leave the items out"},
    "--max-text-bytes": {
        "type": int,
        "metavar": "N",
        "help": "what the texts of all items may take (default: 4,000,000); longer ones are cut in their middle, which is said",
    },
    "--open": {"action": "store_true", "help": "show the page in the browser"},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    add_options(parser, {"": _OPTIONS})


def run(arguments: argparse.Namespace) -> int:
    """Writes the report, and says where."""
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
