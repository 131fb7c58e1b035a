"""The result table on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.report.numbers import coverage, interval, percent

__all__ = ["align", "render_table"]

_HEADER = ("model", "task", "metric", "value %", "95 % interval", "n", "scored")


def render_table(*runs: Mapping[str, Any]) -> str:
    """Makes the table of one or more runs: a row a model, task and metric.

    Args:
        runs: content of each `results.json`.

    Returns:
        Lines of aligned columns; items without a score are named below, with what they could change.
    """
    rows: list[Sequence[str]] = []
    notes: list[str] = []
    for results in runs:
        for name, entry in results["tasks"].items():
            model = entry["recipe"]["model"]["name"]
            for metric_name, metric in entry["metrics"].items():
                rows.append(
                    (
                        model,
                        name,
                        metric_name,
                        percent(metric["value"]),
                        interval(metric),
                        str(metric["n"]),
                        coverage(entry),
                    )
                )
            if entry["coverage"]["unscored"]:
                notes.append(f"{model}, {name}: {_unscored(entry)}")
            if entry.get("cut_at_length"):
                cut = entry["cut_at_length"]
                notes.append(f"{model}, {name}: {cut} answers were cut at the length limit (--max-new-tokens).")
    return "\n".join([*align(_HEADER, rows), *notes])


def _unscored(entry: Mapping[str, Any]) -> str:
    reasons = ", ".join(f"{count} x {reason}" for reason, count in entry["coverage"]["unscored"].items())
    name, metric = next(iter(entry["metrics"].items()))
    low, high = percent(metric["bound_low"]), percent(metric["bound_high"])
    return f"not scored: {reasons}. With them {name} lies between {low} and {high}."


def align(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligns columns: text to the left, numbers (all but the first three columns) to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = []
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [
            cell.ljust(width) if column < 3 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
