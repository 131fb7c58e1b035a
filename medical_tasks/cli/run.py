"""The verb `run` on the command line; `Run` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.options import Run, WithCeilings, option_name, parameters
from medical_tasks.report.finished import report_results
from medical_tasks.runs.evaluating import evaluate


def run(arguments: Run) -> int:
    """Runs the tasks; exit code 5 when an item has no answer or no score."""
    folder = evaluate(arguments)
    return (
        0 if folder is None else report_results(folder, stopped_by=_ceilings(arguments))
    )


def _ceilings(arguments: Run) -> str:
    """The ceilings that were given, as words of the command."""
    limits = {
        option_name(field): getattr(arguments, field)
        for field in parameters(WithCeilings)
    }
    return ", ".join(
        f"{name} {limit:.15g}" for name, limit in limits.items() if limit is not None
    )
