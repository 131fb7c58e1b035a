"""The command `score-text`."""

from __future__ import annotations

from medical_tasks.io.output import check_out, tell_figures
from medical_tasks.options import ScoreText
from medical_tasks.runs.text_scoring import read_rows, score_table, table_of


def run(arguments: ScoreText) -> int:
    """Prints the figures."""
    check_out(arguments.out, [arguments.table], "the table itself")
    content = score_table(arguments, read_rows(arguments.table, arguments))
    tell_figures(table_of(content), content, arguments.out)
    return 0
