"""A task's numbers as tables: metrics, breakdowns whose rows draw their own intervals, and published results.

Published results are reported by their authors, checked by nobody here, and never from quite the same setting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from medical_tasks.report.html_parts import Cell, Cells, Column, Markup, Row, assets_text, table
from medical_tasks.report.page_data import ReportTask
from medical_tasks.report.plots import SHARES, Scale, axis_ticks, finite, interval_mark, scale_of
from medical_tasks.report.published.figures import PublishedResult
from medical_tasks.runs.numbers import bounds, coverage, interval, metric_label, number, scored, valued
from medical_tasks.spec import MetricSpec

_NUMBERS = ("value", "ci_low", "ci_high", "bound_low", "bound_high")


def clean(metric: Mapping[str, Any]) -> dict[str, Any]:
    """Takes a metric's entry as `numbers` writes it: what is no number (`nan`, infinite, absent) is None."""
    known = {name: finite(metric.get(name)) for name in _NUMBERS}
    return {**metric, **known, "n": metric.get("n", 0)}


def headline(task: ReportTask) -> str | None:
    """The name of the task's headline metric, of those reported; None where none is."""
    reported = task.entry["metrics"]
    return next((spec.name for spec in task.metrics if spec.name in reported), next(iter(reported), None))


def spec_of(task: ReportTask, name: str) -> MetricSpec | None:
    """The declaration of a metric."""
    return next((spec for spec in task.metrics if spec.name == name), None)


def model_of(task: ReportTask) -> str:
    """The name of the model as its recipe has it."""
    return str(task.entry["recipe"].get("model", {}).get("name", ""))


def report_table(name: str, rows: Iterable[Row | Cells], **more: Any) -> Markup:
    """Makes a table of `assets/tables.json`."""
    return table(json.loads(assets_text("tables.json")), name, rows, **more)


def metric_cells(metric: Mapping[str, Any], *, strong: bool = False, scale: Scale | None = SHARES) -> list[Cell]:
    """Writes a metric: value, drawing, interval and n.

    `scale`: the axis of the drawing, the columns' one; a metric with a unit of its own stands on no axis of shares.
    """
    known = clean(metric)
    value, unit = known["value"], known.get("unit", "")
    cells = [Cell(valued(known), sort_value(value, unit), title=str(metric.get("reason", "")), strong=strong)]
    if scale is not None:
        drawn = not unit or scale is not SHARES
        mark = interval_mark(value, known["ci_low"], known["ci_high"], scale=scale) if drawn else Markup("")
        cells.append(Cell(svg=mark))
    return [*cells, Cell(interval(known), sort_value(known["ci_low"], unit)), Cell(f"{known['n']:,}", known["n"])]


def bounds_cell(metric: Mapping[str, Any]) -> Cell:
    """Writes between which values the metric lies, whatever is missing."""
    known = clean(metric)
    return Cell(bounds(known), sort_value(known["bound_low"], known.get("unit", "")))


def sort_value(value: float | None, unit: str = "") -> float | None:
    """What a cell of a metric is sorted by: the number that it shows (percents, for a share), with a few more digits."""
    return None if value is None else round(value if unit else 100 * value, 4)


def coverage_cell(entry: Mapping[str, Any], metric: Mapping[str, Any]) -> Cell:
    """Writes how many of the items asked were scored on a metric, and why the others were not."""
    counts = entry["coverage"]
    asked, decided = counts["asked"], scored(entry, metric)
    reasons = "; ".join(f"{count} x {reason}" for reason, count in counts["unscored"].items())
    title = f"not scored: {reasons}" if reasons and decided < asked else ""
    return Cell(coverage(entry, metric), decided / asked if asked else None, title=title)


_FILTER_FROM = 9


def breakdown_table(tasks: Sequence[ReportTask], by: str, *, base: str) -> Markup:
    """A breakdown of a task in all its runs; nothing where no metric is told for every group."""
    told = [(task, task.entry["breakdown"].get(by, {})) for task in tasks]
    entries = [metrics for _, groups in told for metrics in groups.values()]
    # Of the parts of an item only some metrics are told.
    order = list(tasks[0].entry["metrics"])
    reported = dict.fromkeys(name for metrics in entries for name in metrics)
    names = sorted(reported, key=lambda name: order.index(name) if name in order else len(order))
    names = [name for name in names if all(name in metrics for metrics in entries)]
    if not names:
        return Markup("")
    preferred = headline(tasks[0])
    first = preferred if preferred is not None and preferred in names else names[0]
    others = [name for name in names if name != first]
    units = {name: str(entries[0][name].get("unit", "")) for name in names}
    ends = (clean(metrics[first])[end] for metrics in entries for end in ("value", "ci_low", "ci_high"))
    scale = scale_of(ends, units[first])
    from_papers = any(by in result.breakdown for result in tasks[0].published)
    several = len(tasks) > 1 or from_papers
    columns = [Column(name=f"m{n}", label=_label(tasks, name), kind="number") for n, name in enumerate(others)]
    rows: list[Row] = []
    for group in dict.fromkeys(group for _, known in told for group in known):
        for task, known in told:
            if group in known:
                cells = [group, *([task.run] if several else []), *metric_cells(known[group][first], scale=scale)]
                cells += [_other(known[group][name]) for name in others]
                rows.append(Row(cells, tags=("run",) if from_papers else ()))
        rows += _published(tasks[0], by, group, (first, *others), units, scale=scale)
    with_papers = from_papers and any(not row.tags for row in rows)
    caption = f"{_label(tasks, first)} by {by}, with 95 % intervals"
    caption += "; further metrics with theirs in brackets." if others else "."
    return report_table(
        "breakdown",
        rows,
        id=base,
        caption=caption,
        axis=axis_ticks(scale),
        filter_label=f"Filter rows of this table ({by})" if with_papers or len(rows) >= _FILTER_FROM else "",
        toggles=[("This report's runs only", "run", True)] if with_papers else [],
        group=[Column(name="group", label=by, header=True)],
        others=columns,
        **({} if several else {"run": []}),
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
        figure = [_figure(value, units[name]) for name, value in zip(names, values, strict=True)]
        mark = interval_mark(values[0], None, None, scale=scale, published=True)
        said = f"reported: {result.source}" + (f", counted as {counted}" if counted != names[0] else "")
        who = Cell(published_label(result), note=said)
        rows.append(Row([group, who, figure[0], Cell(svg=mark), "–", "–", *figure[1:]]))
    return rows


def _figure(value: float | None, unit: str) -> Cell:
    return Cell("–" if value is None else number(value, unit), sort_value(value, unit))


def published_label(result: PublishedResult) -> str:
    """A published result's name in plots and tables: model and setting."""
    return f"{result.model}, {result.setting}" if result.setting else result.model


def beside(result: PublishedResult, metrics: Mapping[str, float], name: str) -> tuple[float | None, str]:
    """Finds the figure of a paper that stands beside a metric of ours, and the metric by which it was counted.

    That is ours, or the one that follows the authors' script and asks the same; the figure is None where the paper has neither.
    """
    theirs = next((other for other, ours in result.beside.items() if ours == name and other in metrics), name)
    counted = name if name in metrics else theirs
    return finite(metrics.get(counted)), counted


def published_table(tasks: Sequence[ReportTask], *, base: str) -> tuple[Markup, list[tuple[str, ...]]]:
    """The table of what papers report on a task, and its notes on how their settings differ."""
    found = tasks[0].published
    units = {name: str(metric.get("unit", "")) for task in tasks for name, metric in task.entry["metrics"].items()}
    units |= {spec.name: spec.unit for task in tasks for spec in task.metrics}
    names = list(dict.fromkeys(name for result in found for name in result.metrics))
    order = [spec.name for spec in tasks[0].metrics]
    names.sort(key=lambda name: order.index(name) if name in order else len(order))
    differences = list(dict.fromkeys(result.differences for result in found if result.differences))
    columns = [Column(name=f"m{n}", label=_metric(name, units), kind="number") for n, name in enumerate(names)]
    rows = []
    for result in found:
        place = differences.index(result.differences) + 1 if result.differences else 0
        values = [finite(result.metrics.get(name)) for name in names]
        # What a paper leaves out is no value of ours to call n/a.
        figures = [_figure(value, units.get(name, "")) for name, value in zip(names, values, strict=True)]
        items = Cell("–" if result.n_items is None else f"{result.n_items:,}", result.n_items)
        source = Cell(result.source, href=result.link)
        note = Cell(f"note {place}", href=f"#{base}-note-{place}") if place else "none named"
        rows.append([result.model, result.setting, *figures, items, result.judge, source, note])
    words = "Filter published results by words" if len(rows) > 8 else ""
    made = (
        report_table("published", rows, id=f"{base}-table", filter_label=words, metrics=columns) if rows else Markup("")
    )
    return made, differences


def _metric(name: str, units: dict[str, str]) -> str:
    return f"{name} ({units[name]})" if units.get(name) else f"{name}, %"
