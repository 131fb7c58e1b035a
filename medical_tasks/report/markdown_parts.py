"""What Markdown reports are made of: cells that stay cells whatever stands in them, tables, and what is told of a task's entry."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.report.entry_notes import entry_notes, warning
from medical_tasks.runs.numbers import bounds, coverage, interval, metric_label, number, valued

__all__ = [
    "METRIC_HEADER",
    "Ready",
    "breakdown_lines",
    "cell",
    "code",
    "entry_lines",
    "metric_cells",
    "recipe_lines",
    "table",
    "warning_lines",
]

_INERT = (
    ("\\", "&#92;"),  # first, since it takes the meaning from what follows, also from our own escapes
    ("|", "\\|"),
    ("<", "&lt;"),
    ("`", "&#96;"),
    ("![", "!&#91;"),
    ("](", "]&#40;"),
    ("][", "]&#91;"),
)
"""Signs that a Markdown program acts on, and how they are written so that it shows them."""
METRIC_HEADER = ("metric", "value", "interval", "n", "scored", "bounds")


class Ready(str):
    """Markdown that is put into a table as it is; any other text is made a cell first."""

    __slots__ = ()


def cell(text: str) -> str:
    """Writes a text on one line, in which no bar is a border, nothing is HTML, and nothing is a link or a picture."""
    line = " ".join(text.split())
    for sign, written in _INERT:
        line = line.replace(sign, written)
    return line


def code(text: str) -> str:
    """Writes a text as code, on one line."""
    return "`" + " ".join(text.replace("`", "'").split()).replace("|", "\\|") + "`"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Writes a table."""
    lines = ["| " + " | ".join(map(cell, header)) + " |", "|" + "---|" * len(header)]
    return lines + [
        "| " + " | ".join(each if isinstance(each, Ready) else cell(each) for each in row) + " |" for row in rows
    ]


def metric_cells(name: str, metric: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Writes a metric under `METRIC_HEADER`: never a number without its interval and coverage."""
    return (
        metric_label(name, metric),
        valued(metric),
        interval(metric),
        str(metric["n"]),
        coverage(entry, metric),
        bounds(metric),
    )


def entry_lines(entry: Mapping[str, Any]) -> list[str]:
    """Writes what stands below a task's numbers: the judge, what has no score, what was cut. Each is a paragraph."""
    parts: list[str] = []
    for note in entry_notes(entry):
        parts += ["", cell(note)]
    if entry["coverage"]["unscored"]:
        parts += ["", "Not scored, and not counted as wrong:", ""]
        parts += [f"- {count} x {cell(reason)}" for reason, count in entry["coverage"]["unscored"].items()]
    return parts


def warning_lines(entry: Mapping[str, Any]) -> list[str]:
    """Writes the warning that goes, in bold, above numbers of a judge that compares words."""
    said = warning(entry)
    return [] if said is None else [f"**{cell(said)}**", ""]


def breakdown_lines(by: str, entries: Sequence[tuple[str, Mapping[str, Any]]], *, named: bool = False) -> list[str]:
    """Writes a breakdown's table.

    Args:
        by: its name.
        entries: run and entry, of each run that has it.
        named: whether a column says the run.
    """
    told = [(run, group, metrics) for run, entry in entries for group, metrics in entry["breakdown"][by].items()]
    whole = {name: metric for _, entry in entries for name, metric in entry["metrics"].items()}
    # Of the parts of an item only some metrics are told.
    names = [name for name in whole if all(name in metrics for _, _, metrics in told)]
    if not names:
        return []
    if named:
        order = list(dict.fromkeys(group for _, group, _ in told))
        told.sort(key=lambda row: order.index(row[1]))
    header = (
        by,
        *(("run",) if named else ()),
        "n",
        *(f"{metric_label(each, whole[each])} (interval)" for each in names),
    )
    rows = [
        (
            group,
            *((run,) if named else ()),
            str(metrics[names[0]]["n"]),
            *(f"{_value(metrics[each])} ({interval(metrics[each])})" for each in names),
        )
        for run, group, metrics in told
    ]
    return table(header, rows)


def recipe_lines(entry: Mapping[str, Any]) -> list[str]:
    """Writes a recipe as a block of JSON, which no text in it can end."""
    return ["```json", json.dumps(entry["recipe"], indent=2, ensure_ascii=False), "```"]


def _value(metric: Mapping[str, Any]) -> str:
    return number(metric["value"], metric.get("unit", ""))
