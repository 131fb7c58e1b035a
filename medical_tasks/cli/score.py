"""The command `score`."""

from __future__ import annotations

from medical_tasks.options import Score
from medical_tasks.report.finished import AGAIN, report_results
from medical_tasks.runs.rescoring import NOT_GIVEN, rescore
from medical_tasks.spec import UNANSWERED

_FINISH = "Repeat the command of that run to answer the missing ones, then this one."
_ADD = "Add the missing rows and repeat the command."


def run(arguments: Score) -> int:
    """Scores the answers.

    Exit code 5 if an answer could not be scored, or a run left items unanswered; items
    missing in a file are a note.
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
