"""The command `merge`."""

from __future__ import annotations

from medical_tasks.options import Merge
from medical_tasks.report.finished import AGAIN, report_results
from medical_tasks.runs.merging import merge


def run(arguments: Merge) -> int:
    """Merges the parts; exit code 5 if items are unanswered or unscored."""
    done = merge(arguments)
    return 0 if done is None else report_results(done[0], next_step=done[1] or AGAIN)
