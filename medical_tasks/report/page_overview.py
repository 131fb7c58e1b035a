"""What stands first in a report's page: which runs it is of, what to know of all of them, and every number in one table."""

from __future__ import annotations

from collections.abc import Sequence

from medical_tasks.report.html_table import Cell, Column, Row, Toggle, html_table
from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.report.page_data import ReportData, ReportTask
from medical_tasks.report.page_metrics import (
    bounds_cell,
    coverage_cell,
    headline,
    metric_cells,
    metric_columns,
    model_of,
    spec_of,
)
from medical_tasks.runs.numbers import metric_label

__all__ = ["direction_cell", "headline_section", "runs_section"]


def runs_section(data: ReportData) -> Markup:
    """Makes the table of runs and the notes of the report."""
    runs: dict[str, list[ReportTask]] = {}
    for task in data.tasks:
        runs.setdefault(task.run, []).append(task)
    columns = (
        Column(name="run", label="Run", header=True),
        Column(name="model", label="Model"),
        Column(name="tasks", label="Tasks"),
        Column(name="items", label="Items", kind="number"),
        Column(name="judge", label="Judge"),
        Column(name="folder", label="Folder"),
    )
    rows = [
        (
            Cell(name),
            Cell(_joined([model_of(task) for task in tasks])),
            Cell(_joined([task.name for task in tasks])),
            Cell(f"{sum(_asked(task) for task in tasks):,}", sum(_asked(task) for task in tasks)),
            Cell(_joined([_judge(task) for task in tasks]) or "none"),
            Cell(_joined([task.folder for task in tasks])),
        )
        for name, tasks in runs.items()
    ]
    notes = "".join(f"<li>{escaped(note)}</li>" for note in data.notes)
    said = f'<div class="mt-callout" role="note"><h3>Read this first</h3><ul>{notes}</ul></div>' if notes else ""
    table = html_table(
        columns, rows, id="runs", caption="The runs in this report.", show_caption=False, empty="No runs."
    )
    return markup(
        '<section id="runs-section" aria-labelledby="runs-h"><h2 id="runs-h">Runs</h2>', table, said, "</section>"
    )


def _judge(task: ReportTask) -> str:
    judge = task.entry.get("judge")
    return str(judge["name"]) if judge else ""


def _asked(task: ReportTask) -> int:
    return int(task.entry["coverage"]["asked"])


def _joined(values: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(value for value in values if value))


def headline_section(data: ReportData) -> Markup:
    """Makes the table with a row a run, task and metric."""
    columns = [
        Column(name="task", label="Task", header=True, facet=True),
        Column(name="run", label="Run", facet=True),
        Column(name="metric", label="Metric"),
        *metric_columns(),
        Column(name="scored", label="Scored", kind="range", help="Items that were scored, of those asked."),
        Column(
            name="bounds",
            label="Bounds",
            kind="range",
            help="What the value could be, however the missing had been decided.",
        ),
        Column(name="better", label="Better"),
    ]
    rows = []
    for task in data.tasks:
        first = headline(task)
        for name, metric in task.entry["metrics"].items():
            cells = [Cell(task.name), Cell(task.run), Cell(metric_label(name, metric), strong=name == first)]
            cells += [*metric_cells(metric, strong=name == first), coverage_cell(task.entry, metric)]
            cells += [bounds_cell(metric), direction_cell(task, name)]
            rows.append(Row(cells, tags=("headline",) if name == first else ()))
    table = html_table(
        columns,
        rows,
        id="all-metrics",
        caption="Every metric of every run, with its 95 % interval. A value that nobody can compute is n/a.",
        filter_label="Filter rows by words",
        toggles=(Toggle("Headline metrics only", "headline"),),
        empty="Nothing was scored.",
    )
    return markup(
        '<section id="overview" aria-labelledby="overview-h"><h2 id="overview-h">All results</h2>', table, "</section>"
    )


def direction_cell(task: ReportTask, name: str) -> Cell:
    """Says which way a metric is better."""
    spec = spec_of(task, name)
    if spec is None:
        return Cell("")
    return Cell("higher" if spec.higher_is_better else "lower", title=spec.description)
