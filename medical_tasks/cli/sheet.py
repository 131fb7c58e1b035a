"""The verb `sheet` on the command line; `Sheet` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.io.output import tell, tell_private
from medical_tasks.options import Sheet
from medical_tasks.runs.sheets import ANSWER, write_blank_sheet


def run(arguments: Sheet) -> int:
    """Writes the sheet, and says how it is scored."""
    made = write_blank_sheet(arguments)
    tell(
        f"{made.path}: {made.questions:,} questions. Fill in the column {ANSWER!r}, then: "
        f"{made.command}",
        sheet=made.path,
        questions=made.questions,
        score=made.command,
    )
    if made.private:
        tell_private(made.path)

    return 0
