"""A report of several runs as Markdown: all but the items, which only the page can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.report.markdown_parts import (
    METRIC_HEADER,
    Ready,
    breakdown_lines,
    cell,
    code,
    entry_lines,
    metric_cells,
    recipe_lines,
    table,
    warning_lines,
)
from medical_tasks.report.page_data import ReportData, ReportTask
from medical_tasks.report.published.records import PublishedResult
from medical_tasks.runs.numbers import interval, number
from medical_tasks.spec import Plot

__all__ = ["render_report"]


def render_report(data: ReportData) -> str:
    """Makes the report.

    Args:
        data: what it shows.

    Returns:
        Markdown text: the headline of all runs with intervals and coverage, then each task with all its metrics, breakdowns,
        further figures, published results with what is different there, and the recipe of each run.
    """
    parts = [f"# {cell(data.title)}", "", f"Made by {cell(data.suite)}. Intervals are 95 %.", ""]
    if data.notes:
        parts += ["## What to know first", "", *(f"- {cell(note)}" for note in data.notes), ""]
    parts += ["## Headlines", "", *_headlines(data.tasks), ""]
    by_name: dict[str, list[ReportTask]] = {}
    for each in data.tasks:
        by_name.setdefault(each.name, []).append(each)
    for runs in by_name.values():
        parts += _task(runs)
    return "\n".join(parts)


def _headlines(tasks: Sequence[ReportTask]) -> list[str]:
    rows = []
    for each in tasks:
        name, metric = next(iter(_metrics(each).items()), ("", None))
        if metric is None:
            continue
        said = metric_cells(name, metric, each.entry)
        rows.append((each.name, each.run, Ready(code(_model(each))), *said))
    return table(("task", "run", "model", *METRIC_HEADER), rows)


def _metrics(task: ReportTask) -> dict[str, Mapping[str, Any]]:
    """The reported metrics, the headline first."""
    reported = task.entry["metrics"]
    first = [spec.name for spec in task.metrics if spec.name in reported]
    return {name: reported[name] for name in dict.fromkeys([*first, *reported])}


def _model(task: ReportTask) -> str:
    return str(task.entry["recipe"]["model"]["name"])


def _task(runs: Sequence[ReportTask]) -> list[str]:
    """One task, in all its runs."""
    first = runs[0]
    several = len(runs) > 1
    of_benchmark = f" ({cell(first.benchmark)})" if first.benchmark else ""
    parts = [f"## {cell(first.name)}", "", f"{cell(first.title)}{of_benchmark}.", ""]
    for each in runs:
        parts += warning_lines(each.entry)
    rows = [
        (*((each.run,) if several else ()), *metric_cells(name, metric, each.entry))
        for each in runs
        for name, metric in _metrics(each).items()
    ]
    parts += table((*(("run",) if several else ()), *METRIC_HEADER), rows)
    for each in runs:
        said = entry_lines(each.entry)
        parts += ["", f"{cell(each.run)}:", *said] if several and said else said
    for by in dict.fromkeys(by for each in runs for by in each.entry["breakdown"]):
        told = [(each.run, each.entry) for each in runs if by in each.entry["breakdown"]]
        parts += ["", f"### By {cell(by)}", "", *breakdown_lines(by, told, named=several)]
    for each in runs:
        for plot in each.plots:
            parts += _plot(plot, f", {each.run}" if several else "")
    parts += _published(first)
    for each in runs:
        title = f"### Recipe of {cell(each.run)}" if several else "### Recipe"
        parts += [
            "",
            title,
            "",
            f"Run: {code(each.folder)}, model: {code(_model(each))}",
            "",
            *recipe_lines(each.entry),
        ]
    return [*parts, ""]


def _plot(plot: Plot, run: str) -> list[str]:
    """What a plot shows, as a table."""
    rows = []
    for point in plot.points:
        shown = {"value": point.value, "ci_low": point.low, "ci_high": point.high}
        rows.append((point.label, number(point.value, ""), interval(shown), str(point.n)))
    parts = [
        "",
        f"### {cell(plot.title + run)}",
        "",
        *table((plot.x_label, f"{plot.y_label} %", "interval", "n"), rows),
    ]
    return [*parts, "", cell(plot.note)] if plot.note else parts


def _published(task: ReportTask) -> list[str]:
    """What papers report on the task, and in what their settings differ."""
    found = task.published
    if not found:
        return []
    units = {name: str(metric.get("unit", "")) for name, metric in task.entry["metrics"].items()}
    names = list(dict.fromkeys(name for result in found for name in result.metrics))
    notes = list(dict.fromkeys(result.differences for result in found if result.differences))
    rows = [_published_row(result, names, units, notes) for result in found]
    labels = (f"{name} ({units[name]})" if units.get(name) else f"{name} %" for name in names)
    parts = ["", "### Published results", "", "As their papers report them; not verified here.", ""]
    parts += table(("model", "setting", *labels, "n", "judge", "source", "differences"), rows)
    if notes:
        parts += ["", "How their settings differ from this one:", ""]
        parts += [f"{place}. {cell(' '.join(said))}" for place, said in enumerate(notes, start=1)]
    return parts


def _published_row(
    result: PublishedResult, names: Sequence[str], units: Mapping[str, str], notes: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    values = (
        number(result.metrics[name], units.get(name, "")) if name in result.metrics else "not told" for name in names
    )
    return (
        result.model,
        result.setting,
        *values,
        "not told" if result.n_items is None else str(result.n_items),
        result.judge,
        Ready(f"[{cell(result.source)}]({result.link})") if result.link.startswith("https://") else result.source,
        f"note {notes.index(result.differences) + 1}" if result.differences else "none named",
    )
