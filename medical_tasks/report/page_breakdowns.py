"""A task's breakdowns: a table each, in which every row draws its own interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.report.html_table import Cell, Column, Row, Toggle, html_table
from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.report.page_data import ReportTask
from medical_tasks.report.page_metrics import clean, headline, metric_cells, metric_columns, share_scale, sort_value
from medical_tasks.report.page_published import beside, published_label
from medical_tasks.report.plots import interval_mark
from medical_tasks.report.plots_scale import Scale
from medical_tasks.runs.numbers import interval, metric_label, number

__all__ = ["breakdowns_section"]

_FILTER_FROM = 9


def breakdowns_section(tasks: Sequence[ReportTask], *, base: str) -> Markup:
    """Makes the breakdowns of a task.

    Args:
        tasks: the task in every run.
        base: id of the section's parts.

    Returns:
        HTML; nothing where there is no breakdown.
    """
    names = list(dict.fromkeys(by for task in tasks for by in task.entry["breakdown"]))
    parts = [_breakdown(tasks, by, base=f"{base}-by{place}") for place, by in enumerate(names)]
    if not parts:
        return Markup("")
    return markup("<h3>Breakdowns</h3>", *parts)


def _breakdown(tasks: Sequence[ReportTask], by: str, *, base: str) -> Markup:
    told = [(task, task.entry["breakdown"].get(by, {})) for task in tasks]
    entries = [metrics for _, groups in told for metrics in groups.values()]
    # Of the parts of an item only some metrics are told.
    order = list(tasks[0].entry["metrics"])
    reported = dict.fromkeys(name for metrics in entries for name in metrics)
    names = sorted(reported, key=lambda name: order.index(name) if name in order else len(order))
    names = [name for name in names if all(name in metrics for metrics in entries)]
    title = f"<h4>By {escaped(by)}</h4>"
    if not names:
        return markup(title, '<p class="mt-quiet">No metric is told for every group.</p>')
    preferred = headline(tasks[0])
    first = preferred if preferred is not None and preferred in names else names[0]
    others = [name for name in names if name != first]
    units = {name: str(entries[0][name].get("unit", "")) for name in names}
    scale = share_scale([metrics[first] for metrics in entries], units[first])
    several = len(tasks) > 1 or any(by in result.breakdown for result in tasks[0].published)
    columns = [
        Column(name="group", label=by, header=True),
        *([Column(name="run", label="Run", facet=True)] if several else []),
        *metric_columns(scale),
        *(Column(name=f"m{place}", label=_label(tasks, name), kind="number") for place, name in enumerate(others)),
    ]
    own = ("run",) if any(by in result.breakdown for result in tasks[0].published) else ()
    rows: list[Row] = []
    groups = dict.fromkeys(group for _, known in told for group in known)
    for group in groups:
        for task, known in told:
            if group in known:
                cells = [
                    Cell(group),
                    *([Cell(task.run)] if several else []),
                    *metric_cells(known[group][first], scale=scale),
                ]
                rows.append(Row([*cells, *(_other(known[group][name]) for name in others)], tags=own))
        rows += _published(tasks[0], by, group, (first, *others), units, scale=scale)
    with_papers = bool(own) and any(not row.tags for row in rows)
    caption = f"{_label(tasks, first)} by {by}, with 95 % intervals"
    caption += "; further metrics with theirs in brackets." if others else "."
    return markup(
        title,
        html_table(
            columns,
            rows,
            id=base,
            caption=caption,
            filter_label=f"Filter rows of this table ({by})" if with_papers or len(rows) >= _FILTER_FROM else "",
            toggles=(Toggle("This report's runs only", "run", on=True),) if with_papers else (),
        ),
    )


def _label(tasks: Sequence[ReportTask], name: str) -> str:
    known = [task.entry["metrics"][name] for task in tasks if name in task.entry["metrics"]]
    # One run whose judge compares words is enough to warn of the column.
    known.sort(key=lambda metric: bool(metric.get("comparable", True)))
    return metric_label(name, known[0]) if known else name


def _other(metric: Mapping[str, Any]) -> Cell:
    known = clean(metric)
    unit = known.get("unit", "")
    return Cell(number(known["value"], unit), sort_value(known["value"], unit), note=f"({interval(known)})")


def _published(
    task: ReportTask, by: str, group: str, names: Sequence[str], units: Mapping[str, str], *, scale: Scale
) -> list[Row]:
    """What papers report for a group, as rows of their own below the runs'."""
    rows = []
    for result in task.published:
        metrics = result.breakdown.get(by, {}).get(group)
        if metrics is None:
            continue
        figures = [beside(result, metrics, name) for name in names]
        values = [value for value, _ in figures]
        counted = figures[0][1]
        figure = [
            Cell("–" if value is None else number(value, units[name]), sort_value(value, units[name]))
            for name, value in zip(names, values, strict=True)
        ]
        mark = interval_mark(values[0], None, None, scale=scale, published=True)
        said = f"reported: {result.source}" + (f", counted as {counted}" if counted != names[0] else "")
        who = Cell(published_label(result), note=said)
        cells = [Cell(group), who, figure[0], Cell(svg=mark), Cell("–"), Cell("–")]
        rows.append(Row([*cells, *figure[1:]]))
    return rows
