"""The verb `adjudicate` on the command line; `Adjudicate` in `options` says what it takes."""

from __future__ import annotations

from pathlib import Path

from medical_tasks.errors import IncompleteError, listed
from medical_tasks.io.output import tell, tell_private
from medical_tasks.judges.session import next_step
from medical_tasks.models.usage import usage_said
from medical_tasks.options import Adjudicate
from medical_tasks.runs.adjudicating import NONE, UnclearSheet, adjudicate

_SHOWN = 5


def run(arguments: Adjudicate) -> int:
    """Writes the sheet; exit code 5 when the judge left answers unread."""
    made = adjudicate(arguments)
    if made is None:
        return 0

    if made.path is None:
        said = f"{made.answers} answers are unclear; no judge was asked and nothing is written."
        tell(
            said if made.answers else "No answer is unclear; nothing is written.",
            answers=made.answers,
        )
        return 0

    scored = arguments.responses or arguments.run
    _tell_sheet(scored, made.path, made, judged=arguments.judge is not None)
    if made.private:
        tell_private(made.path)

    if made.failed:
        reasons = listed(
            [f"{name}: {why}" for name, why in made.failed.items()], _SHOWN
        )
        raise IncompleteError(
            f"the judge left {len(made.failed)} of {made.answers} answers unread ({reasons}); their rows are empty. "
            + next_step(made.failed.values())
        )

    return 0


def _tell_sheet(scored: Path, path: Path, made: UnclearSheet, *, judged: bool) -> None:
    """Says where the sheet lies, what to fill in, and how to score with it."""
    read = f", {made.read} of them read by the judge" if judged else ""
    todo = "Check" if judged else "Fill in"
    tell(
        f"{path}: {made.answers} unclear answers{read}. {todo} the column 'reading' ({NONE!r} where the reply gives no final "
        f"answer), then: medical-tasks score TASK --responses {scored} --adjudicated {path}",
        sheet=path,
        answers=made.answers,
        read=made.read,
        usage=made.usage,
    )
    if made.usage is not None:
        tell(usage_said(made.usage))
