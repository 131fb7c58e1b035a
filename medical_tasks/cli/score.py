"""The verb `score` on the command line; `Score` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.options import Score
from medical_tasks.report.finished import AGAIN, report_results
from medical_tasks.runs.rescoring import NOT_GIVEN, rescore
from medical_tasks.spec import UNANSWERED

_FINISH = "Give that run's command again to answer the missing ones, then this one."
_ADD = "Add the missing rows and give the same command again."


def run(arguments: Score) -> int:
    """Scores the answers.

    Exit code 5 when a given answer could not be scored, or a run left items unanswered;
    what a file never had is a note.
    """
    done = rescore(arguments)
    if done is None:
        return 0

    results, unanswered = done
    if arguments.responses.is_dir():
        return report_results(results, next_step=_FINISH if unanswered else AGAIN)

    return report_results(
        results,
        next_step=_ADD if unanswered else AGAIN,
        never_had=UNANSWERED + NOT_GIVEN,
    )
