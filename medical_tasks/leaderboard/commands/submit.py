"""The verb `submit` on the command line; `options.Submit` has its common options."""

from __future__ import annotations

import importlib
from typing import Final

from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.leaderboard.options import (
    Submit,
    SubmitEvalResults,
    SubmitSharedTask,
    SubmitSpace,
)
from medical_tasks.leaderboard.submit_shared_task import shared_tasks
from medical_tasks.options import Choice, Options
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import RESULTS_FILE, read_results

_TARGETS: Final = {
    "eval-results": "medical_tasks.leaderboard.submit_eval_results",
    "space": "medical_tasks.leaderboard.submit_space",
}
_SHARED_TASK: Final = "medical_tasks.leaderboard.submit_shared_task"


def targets() -> dict[str, str]:
    """Returns the targets of submissions, with the module that writes each."""
    return {**_TARGETS, **dict.fromkeys(shared_tasks(), _SHARED_TASK)}


def choice() -> Choice:
    """Returns the options of `submit` by target."""
    forms: dict[str, type[Submit]] = {
        "eval-results": SubmitEvalResults,
        "space": SubmitSpace,
    }
    forms |= dict.fromkeys(shared_tasks(), SubmitSharedTask)
    words: dict[tuple[str, ...], type[Options]] = {
        (name,): form for name, form in forms.items()
    }
    return Choice(fields=("to",), common=Submit, forms=words, apart=True)


def run(arguments: SubmitSpace | SubmitSharedTask | SubmitEvalResults) -> int:
    """Writes a submission for the target, and returns the exit code."""
    # If there are no results, the target reports it.
    if (
        arguments.run is not None
        and (arguments.run.expanduser() / RESULTS_FILE).is_file()
    ):
        recipes = [
            mapping(entry["recipe"])
            for entry in read_results(arguments.run)["tasks"].values()
        ]
        if drawn := recipes and recipes[0].get("subset"):
            raise UsageError(
                f"{arguments.run}: is a sample of {drawn['asked']} items (--subset). Run it on all "
                "of them."
            )

        if shard := recipes and recipes[0].get("shard"):
            again = "Make one run of all parts, and submit that: medical-tasks merge RUN... --out DIR"
            raise UsageError(f"{arguments.run}: is part {shard} of the items. {again}")

    modules = targets()
    if arguments.to not in modules:
        raise UsageError(
            f"--to {arguments.to}: there is no such place.{did_you_mean(arguments.to, modules)} "
            f"There are {', '.join(modules)}."
        )

    return int(importlib.import_module(modules[arguments.to]).run(arguments))
