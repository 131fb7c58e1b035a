"""The command `run`."""

from __future__ import annotations

import dataclasses
import sys

from medical_tasks.errors import RefusedError
from medical_tasks.io.output import tell
from medical_tasks.options import Run, WithCeilings, option_name, parameters
from medical_tasks.report.finished import report_results
from medical_tasks.runs.evaluating import evaluate


def run(arguments: Run) -> int:
    """Runs the tasks; exit code 5 if an item has no answer or no score."""
    if arguments.show_prompt is not None:
        return _show_prompt(arguments, arguments.show_prompt)
    folder = evaluate(arguments)
    return (
        0 if folder is None else report_results(folder, stopped_by=_ceilings(arguments))
    )


def _show_prompt(arguments: Run, item: str) -> int:
    """Prints one prompt; text of credentialed data only to a terminal."""
    from medical_tasks.runs.prompting import render_prompt

    shown = render_prompt(arguments, item)
    if shown.private and not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise RefusedError(
            f"--show-prompt: {shown.task} has credentialed text, which is only shown on a terminal, "
            "not in a file, a pipe or the log of a job. Run the command in a terminal."
        )

    tell(str(shown), dataclasses.asdict(shown))
    return 0


def _ceilings(arguments: Run) -> str:
    """Returns the given limits as words of the command."""
    limits = {
        option_name(field): getattr(arguments, field)
        for field in parameters(WithCeilings)
    }
    return ", ".join(
        f"{name} {limit:.15g}" for name, limit in limits.items() if limit is not None
    )
