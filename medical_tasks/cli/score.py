"""The verb `score` on the command line; `Score` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.options import Score
from medical_tasks.report.finished import AGAIN, report_results
from medical_tasks.runs.rescoring import rescore

_FINISH = "Give that run's command again to answer the missing ones, then this one."


def run(arguments: Score) -> int:
    """Scores the answers; exit code 5 when items are unanswered or unscored."""
    done = rescore(arguments)
    if done is None:
        return 0
    results, unanswered = done
    mended = (
        _FINISH
        if arguments.responses.is_dir()
        else "Add the missing lines and give the same command again."
    )
    return report_results(results, next_step=mended if unanswered else AGAIN)
