"""`report.md`: headline, breakdowns and recipe of a run, as Markdown."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.errors import IncompleteError, system_reason
from medical_tasks.report.judge_notes import judge_notes, warning
from medical_tasks.report.numbers import bounds, coverage, interval, metric_label, number
from medical_tasks.report.table import shortened_note

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
        parts += [f"## {name}", "", f"Model: `{_cell(entry['recipe']['model']['name'])}`. Intervals are 95 %.", ""]
        said = warning(entry)
        if said is not None:
            parts += [f"**{_cell(said)}**", ""]
        parts += _table(
            ("metric", "value %", "interval", "n", "scored", "bounds"),
            [
                (
                    metric_label(metric_name, metric),
                    _value(metric),
                    interval(metric),
                    str(metric["n"]),
                    coverage(entry),
                    bounds(metric),
                )
                for metric_name, metric in entry["metrics"].items()
            ],
        )
        for note in judge_notes(entry):
            parts += ["", _cell(note)]
        if entry["coverage"]["unscored"]:
            parts += ["", "Not scored, and not counted as wrong:", ""]
            parts += [f"- {count} x {_cell(reason)}" for reason, count in entry["coverage"]["unscored"].items()]
        if entry.get("cut_at_length"):
            parts += [
                "",
                f"{entry['cut_at_length']} answers were cut at the length limit (--max-new-tokens).",
            ]
        if entry.get("shortened"):
            parts += ["", shortened_note(entry)]
        for by, groups in entry["breakdown"].items():
            parts += ["", f"### By {by}", ""]
            # Of the parts of an item only some metrics are told.
            names = [name for name in entry["metrics"] if all(name in metrics for metrics in groups.values())]
            parts += _table(
                (by, "n", *(f"{metric_label(metric, entry['metrics'][metric])} (interval)" for metric in names)),
                [
                    (
                        group,
                        str(metrics[names[0]]["n"]),
                        *(f"{_value(metrics[metric])} ({interval(metrics[metric])})" for metric in names),
                    )
                    for group, metrics in groups.items()
                ],
            )
        recipe = json.dumps(entry["recipe"], indent=2, ensure_ascii=False)
        parts += ["", "### Recipe", "", "```json", recipe, "```", ""]
    return "\n".join(parts)


def _value(metric: Mapping[str, Any]) -> str:
    return number(metric["value"], metric.get("unit", ""))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]


def _cell(text: str) -> str:
    """A cell is one line, and a bar in it is not a border."""
    return " ".join(text.split()).replace("|", "\\|")


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
