"""`report.md`: headline, breakdowns and recipe of a run, as Markdown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medical_tasks.errors import IncompleteError, system_reason
from medical_tasks.report.markdown_parts import (
    METRIC_HEADER,
    breakdown_lines,
    code,
    entry_lines,
    metric_cells,
    recipe_lines,
    table,
    warning_lines,
)

__all__ = ["REPORT_FILE", "render_markdown", "write_markdown"]

REPORT_FILE = "report.md"


def render_markdown(results: Mapping[str, Any]) -> str:
    """Makes the report.

    Args:
        results: content of `results.json`.

    Returns:
        Markdown text: per task the metrics with intervals and coverage, each breakdown, and the recipe.
    """
    parts = ["# Results", ""]
    for name, entry in results["tasks"].items():
        parts += [f"## {name}", "", f"Model: {code(entry['recipe']['model']['name'])}. Intervals are 95 %.", ""]
        parts += warning_lines(entry)
        rows = [metric_cells(each, metric, entry) for each, metric in entry["metrics"].items()]
        parts += [*table(METRIC_HEADER, rows), *entry_lines(entry)]
        for by in entry["breakdown"]:
            parts += ["", f"### By {by}", "", *breakdown_lines(by, [("", entry)])]
        parts += ["", "### Recipe", "", *recipe_lines(entry), ""]
    return "\n".join(parts)


def write_markdown(results: Mapping[str, Any], folder: Path) -> Path:
    """Writes the report into the run's folder.

    Returns:
        Its path.

    Raises:
        IncompleteError: The folder cannot be written; the results are there all the same.
    """
    path = folder / REPORT_FILE
    part = folder / f".{REPORT_FILE}.{os.getpid()}.part"
    try:
        part.write_text(render_markdown(results), encoding="utf-8", errors="backslashreplace")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise IncompleteError(
            f"{path}: cannot be written ({system_reason(error)}). Free some space and repeat."
        ) from error
    return path
