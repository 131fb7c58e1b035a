"""Renders a report as one page: overview, a section for each task, and a browser of its items.

The page works as a local file, offline, on paper, on a phone, in dark mode, and without scripts
except for the items.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from medical_tasks.judges.choosing import COLUMNS, NOTES, cells
from medical_tasks.report.html_parts import (
    Markup,
    document,
    escaped_content,
    html_table,
    rendered,
)
from medical_tasks.report.page_data import ReportData, items_json, script_json
from medical_tasks.report.plots import (
    Line,
    curve_svg,
    finite,
    interval_mark,
    intervals_chart,
    plane_svg,
    point_of,
)
from medical_tasks.report.published.figures import PublishedResult
from medical_tasks.report.report_task import ReportTask
from medical_tasks.report.table import Cell, Cells, Column, Row, Table
from medical_tasks.report.tables import (
    breakdown_table,
    clean,
    evaluations_table,
    metrics_table,
    overview_table,
    own_table,
    pairs_table,
    published_label,
    published_table,
)
from medical_tasks.report.terminal import entry_notes
from medical_tasks.runs.comparability import is_comparable, paper_lines
from medical_tasks.runs.numbers import (
    FEWEST,
    bounds,
    coverage,
    interval,
    metric_label,
    scored,
    valued,
)
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import PlotPoint, View

_ITEMS_MARK = "\0"
ViewRow: TypeAlias = tuple[str, Sequence[ReportTask], str]
"""A row of a view: its label, the runs of its task, a group of a breakdown ("" for all)."""


def render_page(data: ReportData) -> str:
    """Renders the page as one HTML document; all texts of models, judges and users are escaped."""
    by_name: dict[str, list[ReportTask]] = {}
    for task in data.tasks:
        by_name.setdefault(task.name, []).append(task)

    # A section's id has the task's name, if an id may have it.
    bases = (
        name if re.fullmatch(r"[A-Za-z0-9_]+", name) else f"{index}-"
        for index, name in enumerate(by_name)
    )
    item_data: list[Markup] = []
    body = rendered(
        "page.html",
        data=data,
        sections=[
            (f"task-{base}", tasks)
            for base, tasks in zip(bases, by_name.values(), strict=True)
        ],
        runs=html_table(_runs(data)),
        glance=_glance(by_name) if len(by_name) > 1 else "",
        overview=html_table(overview_table(data.tasks)),
        task_section=partial(task_section, every=by_name, item_data=item_data),
    )
    # The items of a large run are inserted last: each step of rendering copies the page in
    # memory. No text contains the mark.
    parts = document(data.title, body).split(_ITEMS_MARK)

    return "".join(
        item_data[int(text)] if index % 2 else text for index, text in enumerate(parts)
    )


def judges_page(choice: Json) -> str:
    """Renders the result of `judges.choosing.choose`: agreement and cost, the table, the choice."""
    rows = {
        name: dict(zip(COLUMNS, cells(row), strict=True))
        for name, row in choice["judges"].items()
    }
    spent, words = (
        ("$", "cheapest") if choice["by"] == "cost_usd" else ("seconds", "fastest")
    )
    points = [
        point_of(
            name,
            choice["judges"][name].get("kappa", {}),
            detail=f"$ {row['$'][0]} and {row['seconds'][0]} s for 1,000 verdicts",
        )
        for name, row in sorted(
            rows.items(),
            key=lambda pair: (pair[1][spent][1] is None, pair[1][spent][1] or 0.0),
        )
    ]
    lines = [Line(point.label, [point]) for point in points]
    plot = intervals_chart(
        lines,
        id="kappa",
        title=f"Kappa with people's labels, the {words} first",
        unit="kappa",
    )
    table = Table(
        id="judges",
        columns=[
            Column(name="judge", label="Judge", header=True),
            *(Column(name=name, label=name, kind="number") for name in COLUMNS),
        ],
        rows=[
            Row([name, *(Cell(*pair) for pair in row.values())])
            for name, row in rows.items()
        ],
        caption="The judges that were checked on these pairs.",
    )

    return document(
        "Judges",
        rendered(
            "judges.html",
            choice=choice,
            plot=plot,
            table=html_table(table),
            notes=NOTES,
        ),
    )


def _runs(data: ReportData) -> Table:
    """Makes the table of the runs in a report."""
    runs: dict[str, list[ReportTask]] = {}
    for task in data.tasks:
        runs.setdefault(task.run, []).append(task)

    rows = []
    for name, tasks in runs.items():
        count = sum(int(task.entry["coverage"]["asked"]) for task in tasks)
        judges = _joined(
            str((task.entry.get("judge") or {}).get("name", "")) for task in tasks
        )
        cells: Cells = [
            name,
            _joined(task.model for task in tasks),
            _joined(task.name for task in tasks),
            Cell(f"{count:,}", count),
            judges or "none",
            _joined(task.folder for task in tasks),
        ]
        rows.append(Row(cells))

    columns = [
        Column(name="run", label="Run", header=True),
        Column(name="model", label="Model"),
        Column(name="tasks", label="Tasks"),
        Column(name="items", label="Items", kind="number"),
        Column(name="judge", label="Judge"),
        Column(name="folder", label="Folder"),
    ]
    return Table(
        id="runs",
        columns=columns,
        rows=rows,
        caption="The runs in this report.",
        show_caption=False,
        empty="No runs.",
    )


def _glance(by_name: Mapping[str, Sequence[ReportTask]]) -> Markup:
    """Draws every task's headline in every run, and a paper's best by the same metric and items."""
    lines = []
    for tasks in by_name.values():
        name = shared_metric(tasks, tasks[0].headline or "")
        spec = tasks[0].spec(name)
        points = [] if spec is None or spec.unit else _points(tasks, name)
        best = next((point for point in points if point.published), None)
        for point in points:
            if not point.published or point is best:
                label = (
                    f"best of papers: {point.label}" if point.published else point.label
                )
                lines.append(Line(label, [point], heading=f"{tasks[0].name}, {name}"))

    return (
        intervals_chart(
            lines, id="glance-chart", title="At a glance, with 95 % intervals"
        )
        if lines
        else Markup("")
    )


def _joined(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(value for value in values if value))


def task_section(
    tasks: Sequence[ReportTask],
    base: str,
    *,
    every: Mapping[str, Sequence[ReportTask]],
    item_data: list[Markup],
) -> Markup:
    """Renders the section of a task, with every run that has it.

    Args:
        tasks: the task in its runs.
        base: the beginning of the ids in the section.
        every: the report's tasks by name, for views of several.
        item_data: receives the items; the section has a mark in their place.
    """
    reported = {name for task in tasks for name in task.entry["metrics"]}
    item_data.append(script_json(items_json(tasks)))
    views = list(_views(tasks, every, base=base))
    apart = {by for by, _, _ in views}
    papers: dict[str, list[str]] = {}
    for task in tasks:
        papers.setdefault(" ".join(paper_lines(task.entry)), []).append(task.run)

    return rendered(
        "task.html",
        tasks=tasks,
        base=base,
        figures=_figures(tasks),
        papers=[(", ".join(runs), line) for line, runs in papers.items()],
        metrics=html_table(metrics_table(tasks, id=f"{base}-metrics")),
        meanings=[spec for spec in tasks[0].metrics if spec.name in reported],
        chart=_chart(tasks, tasks[0].headline, base=base)
        if tasks[0].headline
        else None,
        run_mark=interval_mark(0.5, 0.2, 0.8),
        paper_mark=interval_mark(0.5, None, None, published=True),
        notes=[(task.run, text) for task in tasks for text in _notes(task)],
        views=views,
        breakdowns=[
            (by, _breakdown(tasks, by, f"{base}-by{index}"))
            for index, by in enumerate(
                dict.fromkeys(by for task in tasks for by in task.entry["breakdown"])
            )
            if by not in apart
        ],
        evaluations=_evaluations(tasks, f"{base}-evaluations"),
        own_tables=list(_own_tables(tasks, base=base)),
        plots=list(_plots(tasks, base=base)),
        published=_published(tasks, f"{base}-published"),
        count=sum(len(task.items) for task in tasks),
        reasons=_reasons(tasks),
        items_data=Markup(f"{_ITEMS_MARK}{len(item_data) - 1}{_ITEMS_MARK}"),
        written=lambda recipe: escaped_content(
            json.dumps(recipe, indent=2, ensure_ascii=False)
        ),
    )


_MOST_FIGURES = 3


def _figures(tasks: Sequence[ReportTask]) -> list[JsonDict]:
    """Returns the large headline figure of each run, or only the best of many."""
    figures = []
    for task in tasks:
        if name := task.headline:
            metric = clean(task.entry["metrics"][name])
            some = scored(task.entry, metric) < task.entry["coverage"]["asked"]
            words = {
                "value": valued(metric),
                "metric": metric_label(name, metric),
                "interval": interval(metric),
            }
            words |= {
                "scored": coverage(task.entry, metric) if some else "",
                "bounds": bounds(metric),
            }
            figures.append(
                {
                    "run": task.run,
                    "rank": metric["value"] or 0.0,
                    "n": metric["n"],
                    **words,
                }
            )

    spec = tasks[0].spec(tasks[0].headline or "")
    best = max if spec is None or spec.higher_is_better else min
    return (
        figures
        if len(figures) <= _MOST_FIGURES
        else [{**best(figures, key=lambda figure: figure["rank"]), "of": len(figures)}]
    )


def comparable_papers(tasks: Sequence[ReportTask], name: str) -> list[PublishedResult]:
    """Returns the papers' results that are comparable with runs.

    They are on the same items, and the runs' judge compares more than words.
    """
    if not all(
        task.entry["metrics"].get(name, {}).get("comparable", True) for task in tasks
    ):
        return []

    configs = {
        (task.entry["recipe"].get("data") or {}).get("config") for task in tasks
    } - {None}
    return [
        result
        for result in tasks[0].published
        if not result.configs or configs <= set(result.configs)
    ]


def shared_metric(tasks: Sequence[ReportTask], name: str) -> str:
    """Returns the metric that runs and papers share.

    Among our metric and its counterparts by the authors that all runs have, it is the one that
    most papers report.
    """
    papers = comparable_papers(tasks, name)
    counterparts = (
        metric
        for result in papers
        for metric, ours in result.beside.items()
        if ours == name
    )
    options = dict.fromkeys([name, *counterparts])

    def has_value(task: ReportTask, metric: str) -> bool:
        return finite(task.entry["metrics"].get(metric, {}).get("value")) is not None

    shared = [
        metric
        for metric in options
        if all(has_value(task, metric) or not has_value(task, name) for task in tasks)
    ]

    return max(
        shared, key=lambda metric: sum(metric in result.metrics for result in papers)
    )


def _points(
    tasks: Sequence[ReportTask], name: str, by: str = "", group: str = ""
) -> list[PlotPoint]:
    """Returns a metric's points in all runs, then the papers', the best first.

    With `by` and `group` they concern one group of a breakdown.
    """
    points = []
    for task in tasks:
        metrics = (
            task.entry["breakdown"].get(by, {}).get(group, {})
            if by
            else task.entry["metrics"]
        )
        if name in metrics:
            detail = "" if metrics[name].get("comparable", True) else "not comparable"
            points.append(point_of(task.run, clean(metrics[name]), detail=detail))

    key = f"{name}, {group}" if by else name
    figures = [
        (result, result.figures[key])
        for result in comparable_papers(tasks, name)
        if key in result.figures
    ]
    spec, judges = tasks[0].spec(name), {result.judge for result, _ in figures}
    alike = all(is_comparable(task.entry) for task in tasks)
    for result, value in sorted(
        figures, key=lambda pair: pair[1], reverse=spec is None or spec.higher_is_better
    ):
        label = published_label(result) + (
            f" (judge {result.judge})" if len(judges) > 1 else ""
        )
        label += "" if alike else " [other setting]"
        points.append(
            PlotPoint(
                label=label,
                value=value,
                n=result.n_items,
                published=True,
                detail=result.source,
            )
        )

    return list(dict.fromkeys(points))


def _chart(tasks: Sequence[ReportTask], first: str, *, base: str) -> JsonDict:
    """Draws the chart of the headline metric, and counts the papers in it."""
    name = shared_metric(tasks, first)
    points, spec = _points(tasks, name), tasks[0].spec(name)
    title = f"{name.replace('_', ' ').capitalize()}, with 95 % intervals"
    title += "" if spec is None or spec.higher_is_better else "; lower is better"
    lines = [Line(point.label, [point]) for point in points]
    drawn = intervals_chart(
        lines, id=f"{base}-chart", title=title, unit=_unit(tasks, name)
    )
    papers = sum(point.published for point in points)
    apart = len(tasks[0].published) - papers

    return {
        "drawn": drawn,
        "by": name,
        "headline": first,
        "papers": papers,
        "apart": apart,
    }


def _breakdown(tasks: Sequence[ReportTask], by: str, base: str) -> Markup:
    table = breakdown_table(tasks, by, id=base)
    return Markup("") if table is None else html_table(table)


def _evaluations(tasks: Sequence[ReportTask], base: str) -> Markup:
    table = evaluations_table([(task.run, task.entry) for task in tasks], id=base)
    return Markup("") if table is None else html_table(table)


def _published(
    tasks: Sequence[ReportTask], base: str
) -> tuple[Markup, list[tuple[str, ...]]]:
    table, notes = published_table(tasks, id=base)
    return html_table(table) if table.rows else Markup(""), notes


def _views(
    tasks: Sequence[ReportTask], every: Mapping[str, Sequence[ReportTask]], *, base: str
) -> Iterable[tuple[str, Markup, Markup]]:
    """Yields the views of a task's benchmark: the breakdown, its drawing and its table."""
    for index, view in enumerate(tasks[0].views):
        drawn = _view(view, tasks, every, f"{base}-view{index}")
        if drawn:
            numbers = (
                _breakdown(tasks, view.by, f"{base}-view{index}-table")
                if view.by
                else Markup("")
            )
            yield view.by, drawn, numbers


def _view(
    view: View,
    tasks: Sequence[ReportTask],
    every: Mapping[str, Sequence[ReportTask]],
    base: str,
) -> Markup:
    """Draws a view: the groups of a breakdown, or the tasks of a family side by side."""
    family = {label: every[name] for name, label in view.tasks.items() if name in every}
    if view.tasks and tasks is not next(iter(family.values()), None):
        return Markup("")  # it belongs to the section of its first task

    runs = [task for of_task in family.values() for task in of_task] or list(tasks)
    names = _reported_of(view, runs)
    if view.plane:
        whole = len(names) == len(view.metrics)
        return _plane(view, family or {"": tasks}, names, base) if whole else Markup("")

    shares = [name for name in names if not _unit(runs, name)]
    lines = _view_lines(view, _view_rows(view, tasks, family), shares)
    if len(lines) <= 1:
        return Markup("")

    several = len(shares) > 1
    title = view.title if several else f"{view.title}: {' '.join(names)}"
    series = list(dict.fromkeys(task.run for task in runs))

    return intervals_chart(_few_last(lines), id=base, title=title, series=series)


def _reported_of(view: View, runs: Sequence[ReportTask]) -> list[str]:
    """Returns the metrics of a view that some run reports, each as shared with papers."""
    reported = {name for task in runs for name in task.entry["metrics"]}
    return [shared_metric(runs, name) for name in view.metrics if name in reported]


def _view_lines(
    view: View, rows: Iterable[ViewRow], shares: Sequence[str]
) -> list[Line]:
    """Makes the lines of a view; with several metrics each row is a heading over their lines."""
    several = len(shares) > 1
    return [
        Line(name if several else label, points, heading=label if several else "")
        for label, of_row, group in rows
        for name in shares
        if (points := _points(of_row, name, view.by, group))
    ]


def _view_rows(
    view: View, tasks: Sequence[ReportTask], family: Mapping[str, Sequence[ReportTask]]
) -> list[ViewRow]:
    """Returns the rows of a view: the tasks of a family, or the groups of a breakdown."""
    if family:
        return [(label, of_task, "") for label, of_task in family.items()]
    by_task = (task.entry["breakdown"].get(view.by, {}) for task in tasks)
    groups = dict.fromkeys(group for parts in by_task for group in parts)
    return [(group, tasks, group) for group in groups] or [("", tasks, "")]


_IN_ORDER = 12


def _few_last(lines: list[Line]) -> list[Line]:
    """Sorts many rows by value, and puts those with too few items at the end."""
    if any(line.heading for line in lines) or len(lines) <= _IN_ORDER:
        return lines

    lines = sorted(lines, key=lambda line: finite(line.points[0].value) or 0.0)
    small = [
        line
        for line in lines
        if all((point.n or 0) < FEWEST for point in line.points if not point.published)
    ]
    heading = f"Fewer than {FEWEST} items each, too few to tell"

    return [
        *(line for line in lines if line not in small),
        *(replace(line, heading=heading) for line in small),
    ]


def _plane(
    view: View,
    family: Mapping[str, Sequence[ReportTask]],
    names: Sequence[str],
    base: str,
) -> Markup:
    """Draws the models with values of both metrics in the plane of two metrics."""
    pairs = []
    for label, tasks in family.items():
        across, up = (
            {point.label: point for point in _points(tasks, name)} for name in names
        )
        for name, point in across.items():
            shown = (
                point
                if point.published or not label
                else replace(point, label=f"{name}, {label}")
            )
            pairs += [(shown, up[name])] if name in up else []

    unit = _unit([task for tasks in family.values() for task in tasks], names[0])
    labels = (f"{names[0]} ({unit})" if unit else names[0], names[1])
    return plane_svg(pairs, id=base, title=view.title, labels=labels, unit=unit)


def _unit(tasks: Sequence[ReportTask], name: str) -> str:
    units = (task.entry["metrics"].get(name, {}).get("unit") for task in tasks)
    return str(next(filter(None, units), ""))


def _notes(task: ReportTask) -> list[str]:
    notes = entry_notes(task.entry)
    reasons = ", ".join(
        f"{count:,} x {reason}"
        for reason, count in task.entry["coverage"]["unscored"].items()
    )
    return (
        [*notes, f"Not scored, and not counted as wrong: {reasons}."]
        if reasons
        else notes
    )


def _plots(tasks: Sequence[ReportTask], *, base: str) -> Iterable[Markup]:
    """Yields the plots of each run's items and judge."""
    for n, task in enumerate(tasks):
        for index, plot in enumerate(task.plots):
            title = " · ".join([plot.title, *([task.run] if len(tasks) > 1 else [])])
            if plot.is_curve:
                yield curve_svg(plot, id=f"{base}-plot{n}-{index}", title=title)
                continue

            lines = [
                Line(point.label, [point], heading=plot.x_label)
                for point in plot.points
            ]
            yield intervals_chart(
                lines, id=f"{base}-plot{n}-{index}", title=title, note=plot.note
            )


def _own_tables(
    tasks: Sequence[ReportTask], *, base: str
) -> Iterable[tuple[str, Markup, str]]:
    """Yields each run's pairs of items and its benchmark's own tables: title, table and note."""
    for n, task in enumerate(tasks):
        if (pairs := pairs_table(task.entry, id=f"{base}-pairs{n}")) is not None:
            title = " · ".join(["Pairs", *([task.run] if len(tasks) > 1 else [])])
            yield title, html_table(pairs), ""
        for index, shown in enumerate(task.tables):
            title = " · ".join([shown.title, *([task.run] if len(tasks) > 1 else [])])
            table = own_table(shown, id=f"{base}-own{n}-{index}", caption=title)
            yield title, html_table(table), shown.note


def _reasons(tasks: Sequence[ReportTask]) -> list[tuple[list[str], str]]:
    """Returns the sentences about the texts, with their runs if they do not apply to all."""
    runs: dict[str, list[str]] = {}
    for task in tasks:
        runs.setdefault(task.texts, []).append(task.run)
    return [
        (names if len(runs) > 1 else [], reason)
        for reason, names in runs.items()
        if reason
    ]
