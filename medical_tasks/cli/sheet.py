"""The command `sheet`."""

from __future__ import annotations

from medical_tasks.io.output import tell, tell_private
from medical_tasks.options import Sheet
from medical_tasks.runs.sheets import ANSWER, write_blank_sheet


def run(arguments: Sheet) -> int:
    """Writes the sheet, and prints the command that scores it."""
    sheet = write_blank_sheet(arguments)
    tell(
        f"{sheet.path}: {sheet.questions:,} questions. Fill in the column {ANSWER!r}, then: "
        f"{sheet.command}",
        sheet=sheet.path,
        questions=sheet.questions,
        score=sheet.command,
    )
    if sheet.private:
        tell_private(sheet.path)

    return 0
