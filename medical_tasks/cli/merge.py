"""The verb `merge` on the command line; `Merge` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.options import Merge


def run(arguments: Merge) -> int:
    """Merges the parts; exit code 5 when items are unanswered or unscored."""
    from medical_tasks._api import merged
    from medical_tasks.cli.run import AGAIN, report_results

    done = merged(arguments)
    return 0 if done is None else report_results(done[0], next_step=done[1] or AGAIN)
