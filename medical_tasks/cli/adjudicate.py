"""The command `adjudicate`."""

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
    """Writes the sheet; exit code 5 if the judge left answers unread."""
    unclear = adjudicate(arguments)
    if unclear is None:
        return 0

    if unclear.path is None:
        message = f"{unclear.answers} answers are unclear; no judge was queried and nothing is written."
        tell(
            message if unclear.answers else "No answer is unclear; nothing is written.",
            answers=unclear.answers,
        )
        return 0

    scored = arguments.responses or arguments.run
    _tell_sheet(scored, unclear.path, unclear, judged=arguments.judge is not None)
    if unclear.private:
        tell_private(unclear.path)

    if unclear.failed:
        reasons = listed(
            [f"{name}: {why}" for name, why in unclear.failed.items()], _SHOWN
        )
        raise IncompleteError(
            f"the judge left {len(unclear.failed)} of {unclear.answers} answers unread ({reasons}); their rows are empty. "
            + next_step(unclear.failed.values())
        )

    return 0


def _tell_sheet(
    scored: Path, path: Path, unclear: UnclearSheet, *, judged: bool
) -> None:
    """Reports the path of the sheet, the column to fill in, and how to score with it."""
    read = f", {unclear.read} of them read by the judge" if judged else ""
    todo = "Check" if judged else "Fill in"
    tell(
        f"{path}: {unclear.answers} unclear answers{read}. {todo} the column 'reading' ({NONE!r} where the reply gives no final "
        f"answer), then: medical-tasks score TASK --responses {scored} --adjudicated {path}",
        sheet=path,
        answers=unclear.answers,
        read=unclear.read,
        usage=unclear.usage,
    )
    if unclear.usage is not None:
        tell(usage_said(unclear.usage))
