"""A report as one page, from its overview to each task's section and the browser of its items.

It works from a file, offline, on paper, on a phone, in the dark, and without scripts except for items.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from medical_tasks.judges.choosing import COLUMNS, NOTES, cells
from medical_tasks.report.html_parts import (
    Cell,
    Cells,
    Column,
    Markup,
    Row,
    assets_text,
    document,
    escaped_content,
    rendered,
    table,
)
from medical_tasks.report.page_data import ReportData, ReportTask, items_json, script_json
from medical_tasks.report.plots import (
    SHARES,
    Scale,
    axis_ticks,
    curve_svg,
    finite,
    interval_mark,
    intervals_svg,
    point_of,
    scale_of,
)
from medical_tasks.report.published.figures import PublishedResult
from medical_tasks.report.terminal import entry_notes, warning
from medical_tasks.runs.numbers import bounds, coverage, interval, metric_label, number, percent, scored, valued
from medical_tasks.spec import Plot, PlotPoint


def render_page(data: ReportData) -> str:
    """The page as one HTML document; every text of a model, a judge or a user in it is escaped."""
    by_name: dict[str, list[ReportTask]] = {}
    for task in data.tasks:
        by_name.setdefault(task.name, []).append(task)
    # A section's id has the task's name, where that can stand in one.
    bases = (name if re.fullmatch(r"[A-Za-z0-9_]+", name) else f"{place}-" for place, name in enumerate(by_name))
    body = rendered(
        "page.html",
        data=data,
        sections=[(f"task-{base}", tasks) for base, tasks in zip(bases, by_name.values(), strict=True)],
        runs=_runs(data),
        overview=_overview(data),
        task_section=task_section,
    )
    return document(data.title, body)


def judges_page(choice: Mapping[str, Any]) -> str:
    """What `judges.choosing.choose` says, as a page: agreement beside cost, the table of judges, and which to take."""
    rows = {name: dict(zip(COLUMNS, cells(row), strict=True)) for name, row in choice["judges"].items()}
    spent, words = ("$", "cheapest") if choice["by"] == "cost_usd" else ("seconds", "fastest")
    points = [
        point_of(
            name,
            choice["judges"][name].get("kappa", {}),
            detail=f"$ {row['$'][0]} and {row['seconds'][0]} s for 1,000 verdicts",
        )
        for name, row in sorted(rows.items(), key=lambda each: (each[1][spent][1] is None, each[1][spent][1] or 0.0))
    ]
    plot = intervals_svg(points, id="kappa", title=f"Kappa with people's labels, the {words} first", unit="kappa")
    columns = [Column(name=name, label=name, kind="number") for name in COLUMNS]
    made = report_table(
        "judges", [[name, *(Cell(*each) for each in row.values())] for name, row in rows.items()], figures=columns
    )
    return document("Judges", rendered("judges.html", choice=choice, plot=plot, table=made, notes=NOTES))


def _runs(data: ReportData) -> Markup:
    runs: dict[str, list[ReportTask]] = {}
    for task in data.tasks:
        runs.setdefault(task.run, []).append(task)
    rows: list[Cells] = []
    for name, tasks in runs.items():
        asked = sum(int(task.entry["coverage"]["asked"]) for task in tasks)
        judges = _joined([str((task.entry.get("judge") or {}).get("name", "")) for task in tasks])
        models, named = _joined([task.model for task in tasks]), _joined([task.name for task in tasks])
        folders = _joined([task.folder for task in tasks])
        rows.append([name, models, named, Cell(f"{asked:,}", asked), judges or "none", folders])
    return report_table("runs", rows)


def _joined(values: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(value for value in values if value))


def _overview(data: ReportData) -> Markup:
    """A row a run, task and metric."""
    rows = []
    for task in data.tasks:
        first = task.headline
        for name, metric in task.entry["metrics"].items():
            cells: list[Cell | str] = [task.name, task.run, Cell(metric_label(name, metric), strong=name == first)]
            cells += [*metric_cells(metric, strong=name == first), coverage_cell(task.entry, metric)]
            cells += [bounds_cell(metric), direction_cell(task, name)]
            rows.append(Row(cells, tags=("headline",) if name == first else ()))
    return report_table("all-metrics", rows, axis=axis_ticks())


def direction_cell(task: ReportTask, name: str) -> Cell:
    """Says which way a metric is better."""
    spec = task.spec(name)
    if spec is None:
        return Cell("")
    return Cell("higher" if spec.higher_is_better else "lower", title=spec.description)


def task_section(tasks: Sequence[ReportTask], base: str) -> Markup:
    """The section of a task, with every run that has it."""
    told = {name for task in tasks for name in task.entry["metrics"]}
    forest, reported = _forest(tasks, base=base)
    return rendered(
        "task.html",
        tasks=tasks,
        base=base,
        warnings=[(task.run, said) for task in tasks if (said := warning(task.entry))],
        metrics=_metrics(tasks, base=base),
        meanings=[spec for spec in tasks[0].metrics if spec.name in told],
        forest=forest,
        reported=reported,
        run_mark=interval_mark(0.5, 0.2, 0.8),
        paper_mark=interval_mark(0.5, None, None, published=True),
        notes=[(task.run, text) for task in tasks for text in _notes(task)],
        breakdowns=[
            (by, breakdown_table(tasks, by, base=f"{base}-by{place}"))
            for place, by in enumerate(dict.fromkeys(by for task in tasks for by in task.entry["breakdown"]))
        ],
        plots=list(_plots(tasks, base=base)),
        published=published_table(tasks, base=f"{base}-published"),
        count=sum(len(task.items) for task in tasks),
        reasons=_reasons(tasks),
        items_data=script_json(items_json(tasks)),
        recipes=[
            (
                task.run,
                " · ".join(dict.fromkeys(part for part in (task.run, task.model) if part)),
                escaped_content(json.dumps(task.entry["recipe"], indent=2, ensure_ascii=False)),
            )
            for task in tasks
        ],
    )


def _metrics(tasks: Sequence[ReportTask], *, base: str) -> Markup:
    names = dict.fromkeys(name for task in tasks for name in task.entry["metrics"])
    rows = []
    for name in names:
        for task in tasks:
            metric = task.entry["metrics"].get(name)
            if metric is not None:
                strong = name == task.headline
                cells: list[Cell | str] = [Cell(metric_label(name, metric), strong=strong), task.run]
                cells += [*metric_cells(metric, strong=strong, scale=None), coverage_cell(task.entry, metric)]
                # What the metric is stands below the table, once.
                rows.append([*cells, bounds_cell(metric), replace(direction_cell(task, name), title="")])
    return report_table("metrics", rows, id=f"{base}-metrics")


def _forest(tasks: Sequence[ReportTask], *, base: str) -> tuple[Markup, bool]:
    """The plot of the headline metric, and whether papers' figures are in it."""
    first = tasks[0].headline
    if first is None:
        return Markup(""), False
    # Runs and papers on one axis are counted alike: by the authors' rule, where that is what the papers have.
    others = {beside(result, result.metrics, first)[1] for task in tasks for result in task.published} - {first}
    shared = [each for each in others if all(each in task.entry["metrics"] for task in tasks)]
    name = shared[0] if len(others) == len(shared) == 1 else first
    models = [task.model for task in tasks]
    points, unit = [], ""
    for task, model in zip(tasks, models, strict=True):
        if name in task.entry["metrics"]:
            metric = clean(task.entry["metrics"][name])
            unit = str(metric.get("unit", ""))
            label = model if models.count(model) == 1 else task.run
            detail = "" if metric.get("comparable", True) else "not comparable"
            points.append(point_of(label, metric, detail=detail))
    papers = dict.fromkeys(_reported(result, name) for task in tasks for result in task.published)
    reported = [point for point in papers if point is not None]
    if name != first:
        note = f"By {name}, the authors' rule, as the papers count; {first} is in the table below."
    else:
        counts = f"Papers' figures are of {', '.join(sorted(others))}, which counts by the authors' rule."
        note = counts if others and reported else ""
    title = f"{name.replace('_', ' ').capitalize()}, with 95 % intervals"
    return intervals_svg([*points, *reported], id=f"{base}-forest", title=title, unit=unit, note=note), bool(reported)


def _reported(result: PublishedResult, name: str) -> PlotPoint | None:
    value, counted = beside(result, result.metrics, name)
    if value is None:
        return None
    detail = result.source if counted == name else f"{result.source}, counted as {counted}"
    return PlotPoint(label=published_label(result), value=value, n=result.n_items, published=True, detail=detail)


def _notes(task: ReportTask) -> list[str]:
    said = entry_notes(task.entry)
    reasons = ", ".join(f"{count:,} x {reason}" for reason, count in task.entry["coverage"]["unscored"].items())
    return [*said, f"Not scored, and not counted as wrong: {reasons}."] if reasons else said


def _plots(tasks: Sequence[ReportTask], *, base: str) -> Iterable[tuple[str, Markup, Markup]]:
    """The title, drawing and table of each plot."""
    for n, task in enumerate(tasks):
        for place, plot in enumerate(task.plots):
            made = f"{base}-plot{n}-{place}"
            titled = replace(plot, title=f"{plot.title}: {task.run}") if len(tasks) > 1 else plot
            yield titled.title, curve_svg(titled, id=made), _points_table(titled, base=f"{made}-table")


def _points_table(plot: Plot, *, base: str) -> Markup:
    rows = []
    for point in plot.points:
        low, high, middle = finite(point.low), finite(point.high), finite(point.value)
        ends = "n/a" if low is None or high is None else f"{percent(low)} to {percent(high)}"
        numbers = Cell(percent(middle), sort_value(middle)), Cell(ends, sort_value(low))
        rows.append((point.label, *numbers, Cell(f"{point.n:,}", point.n)))
    label = Column(name="label", label=plot.x_label, header=True)
    value = Column(name="value", label=f"{plot.y_label}, %", kind="number")
    return report_table("points", rows, id=base, caption=plot.title, label=[label], value=[value])


def _reasons(tasks: Sequence[ReportTask]) -> list[tuple[list[str], str]]:
    """What to know of the texts, with the runs it is true of where it is not of all."""
    runs: dict[str, list[str]] = {}
    for task in tasks:
        runs.setdefault(task.texts, []).append(task.run)
    return [(names if len(runs) > 1 else [], reason) for reason, names in runs.items() if reason]


_NUMBERS = ("value", "ci_low", "ci_high", "bound_low", "bound_high")


def clean(metric: Mapping[str, Any]) -> dict[str, Any]:
    """Takes a metric's entry as `numbers` writes it: what is no number (`nan`, infinite, absent) is None."""
    known = {name: finite(metric.get(name)) for name in _NUMBERS}
    return {**metric, **known, "n": metric.get("n", 0)}


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


def coverage_cell(entry: Mapping[str, Any], metric: Mapping[str, Any] | None = None) -> Cell:
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
    preferred = tasks[0].headline
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
