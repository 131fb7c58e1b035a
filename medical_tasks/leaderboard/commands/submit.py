"""Submit a finished run: write what a leaderboard, the Hub or a shared task takes. Nothing is sent anywhere.

    medical-tasks submit runs/my-run --to space --out my-model.zip
    medical-tasks submit runs/my-run --to eval-results --out .eval_results
    medical-tasks submit runs/my-run --to archehr --out submission.json

space: a package for the leaderboard Space, which `medical-tasks verify` checks. eval-results: the
YAML files that the Hub shows on a model's page. archehr: the shared tasks of ArchEHR-QA. Each has
options of its own: medical-tasks submit --to TARGET --help.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medical_tasks.cli import add_options
from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.submit_shared_task import shared_tasks
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import RESULTS_FILE, read_results

_TARGETS: Final = {
    "eval-results": "medical_tasks.leaderboard.submit_eval_results",
    "space": "medical_tasks.leaderboard.submit_space",
}
_SHARED_TASK: Final = "medical_tasks.leaderboard.submit_shared_task"


def targets() -> dict[str, str]:
    """Where a submission goes, and the module that writes it; shared tasks by their benchmark."""
    return {**_TARGETS, **dict.fromkeys(shared_tasks(), _SHARED_TASK)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that every target has."""
    parser.add_argument("run", nargs="?", type=Path, metavar="RUN", help="folder of a finished run")
    parser.add_argument("--to", required=True, choices=tuple(targets()), help="who takes it")


def add_chosen_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declares the options of the target that is named among the words, if one is."""
    known = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    known.add_argument("--to", nargs="?")
    target = known.parse_known_args(list(words))[0].to
    if target in targets():
        add_options(parser, {"": importlib.import_module(targets()[target]).OPTIONS})


def run(arguments: argparse.Namespace) -> int:
    """Writes what the target takes; its exit code."""
    if arguments.run is None and not hasattr(arguments, "check"):
        raise UsageError(
            f"give the folder of a finished run: medical-tasks submit RUN --to {arguments.to} "
            f"(options: --to {arguments.to} --help)"
        )
    if (
        arguments.run is not None and (arguments.run.expanduser() / RESULTS_FILE).is_file()
    ):  # else the target says so
        recipes = [
            mapping(entry["recipe"]) for entry in read_results(arguments.run)["tasks"].values()
        ]
        if drawn := recipes and recipes[0].get("subset"):
            raise UsageError(
                f"{arguments.run}: is a sample of {drawn['asked']} items (--subset). Run it on all "
                "of them."
            )
        if shard := recipes and recipes[0].get("shard"):
            again = (
                "Make one run of all parts, and submit that: medical-tasks merge RUN... --out DIR"
            )
            raise UsageError(f"{arguments.run}: is part {shard} of the items. {again}")
    return int(importlib.import_module(targets()[arguments.to]).run(arguments))
