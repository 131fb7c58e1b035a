"""A report as one page, from its overview to each task's section and the browser of its items.

It works from a file, offline, on paper, on a phone, in the dark, and without scripts except for items.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from medical_tasks.report.html_parts import (
    EARLY_SCRIPTS,
    PAGE_SCRIPTS,
    PAGE_STYLES,
    Cell,
    Cells,
    Column,
    Markup,
    Row,
    document,
    escaped_content,
    markup,
    rendered,
)
from medical_tasks.report.metric_tables import (
    beside,
    bounds_cell,
    breakdown_table,
    clean,
    coverage_cell,
    headline,
    metric_cells,
    model_of,
    published_label,
    published_table,
    report_table,
    sort_value,
    spec_of,
)
from medical_tasks.report.page_data import ReportData, ReportItem, ReportTask
from medical_tasks.report.plots import IntervalPoint, axis_ticks, curve_svg, finite, interval_mark, intervals_svg
from medical_tasks.report.published.figures import PublishedResult
from medical_tasks.report.terminal import entry_notes, warning
from medical_tasks.runs.numbers import metric_label, percent
from medical_tasks.runs.results import groups_of
from medical_tasks.spec import MetricSpec, Plot


def render_page(data: ReportData) -> str:
    """The page as one HTML document; every text of a model, a judge or a user in it is escaped."""
    by_name: dict[str, list[ReportTask]] = {}
    for task in data.tasks:
        by_name.setdefault(task.name, []).append(task)
    body = rendered(
        "page.html",
        data=data,
        sections=[(section_id(name, place), tasks) for place, (name, tasks) in enumerate(by_name.items())],
        runs=_runs(data),
        overview=_overview(data),
        task_section=task_section,
    )
    return document(data.title, body, styles=PAGE_STYLES, scripts=PAGE_SCRIPTS, early=EARLY_SCRIPTS)


def _runs(data: ReportData) -> Markup:
    runs: dict[str, list[ReportTask]] = {}
    for task in data.tasks:
        runs.setdefault(task.run, []).append(task)
    rows: list[Cells] = []
    for name, tasks in runs.items():
        asked = sum(int(task.entry["coverage"]["asked"]) for task in tasks)
        judges = _joined([str((task.entry.get("judge") or {}).get("name", "")) for task in tasks])
        models, named = _joined([model_of(task) for task in tasks]), _joined([task.name for task in tasks])
        folders = _joined([task.folder for task in tasks])
        rows.append([name, models, named, Cell(f"{asked:,}", asked), judges or "none", folders])
    return report_table("runs", rows)


def _joined(values: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(value for value in values if value))


def _overview(data: ReportData) -> Markup:
    """A row a run, task and metric."""
    rows = []
    for task in data.tasks:
        first = headline(task)
        for name, metric in task.entry["metrics"].items():
            cells: list[Cell | str] = [task.name, task.run, Cell(metric_label(name, metric), strong=name == first)]
            cells += [*metric_cells(metric, strong=name == first), coverage_cell(task.entry, metric)]
            cells += [bounds_cell(metric), direction_cell(task, name)]
            rows.append(Row(cells, tags=("headline",) if name == first else ()))
    return report_table("all-metrics", rows, axis=axis_ticks())


def direction_cell(task: ReportTask, name: str) -> Cell:
    """Says which way a metric is better."""
    spec = spec_of(task, name)
    if spec is None:
        return Cell("")
    return Cell("higher" if spec.higher_is_better else "lower", title=spec.description)


def section_id(name: str, place: int) -> str:
    """The id of a task's section: its name, where that can be one."""
    return f"task-{name}" if re.fullmatch(r"[A-Za-z0-9_]+", name) else f"task-{place}-"


def task_section(tasks: Sequence[ReportTask], base: str) -> Markup:
    """The section of a task, with every run that has it."""
    told = {name for task in tasks for name in task.entry["metrics"]}
    forest, reported = _forest(tasks, base=base)
    return rendered(
        "task.html",
        tasks=tasks,
        base=base,
        warnings=[(task.run, said) for task in tasks if (said := warning(task.entry)) is not None],
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
                " · ".join(dict.fromkeys(part for part in (task.run, model_of(task)) if part)),
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
                strong = name == headline(task)
                cells: list[Cell | str] = [Cell(metric_label(name, metric), strong=strong), task.run]
                cells += [*metric_cells(metric, strong=strong, scale=None), coverage_cell(task.entry, metric)]
                # What the metric is stands below the table, once.
                rows.append([*cells, bounds_cell(metric), replace(direction_cell(task, name), title="")])
    return report_table("metrics", rows, id=f"{base}-metrics")


def _forest(tasks: Sequence[ReportTask], *, base: str) -> tuple[Markup, bool]:
    """The plot of the headline metric, and whether papers' figures are in it."""
    first = headline(tasks[0])
    if first is None:
        return Markup(""), False
    # Runs and papers on one axis are counted alike: by the authors' rule, where that is what the papers have.
    others = {beside(result, result.metrics, first)[1] for task in tasks for result in task.published} - {first}
    shared = [each for each in others if all(each in task.entry["metrics"] for task in tasks)]
    name = shared[0] if len(others) == len(shared) == 1 else first
    models = [model_of(task) for task in tasks]
    points, unit = [], ""
    for task, model in zip(tasks, models, strict=True):
        if name in task.entry["metrics"]:
            metric = clean(task.entry["metrics"][name])
            unit = str(metric.get("unit", ""))
            points.append(
                IntervalPoint(
                    label=model if models.count(model) == 1 else task.run,
                    value=metric["value"],
                    low=metric["ci_low"],
                    high=metric["ci_high"],
                    n=metric["n"],
                    detail="" if metric.get("comparable", True) else "not comparable",
                )
            )
    papers = dict.fromkeys(_reported(result, name) for task in tasks for result in task.published)
    reported = [point for point in papers if point is not None]
    if name != first:
        note = f"By {name}, the authors' rule, as the papers count; {first} is in the table below."
    else:
        counts = f"Papers' figures are of {', '.join(sorted(others))}, which counts by the authors' rule."
        note = counts if others and reported else ""
    title = f"{name.replace('_', ' ').capitalize()}, with 95 % intervals"
    return intervals_svg([*points, *reported], id=f"{base}-forest", title=title, unit=unit, note=note), bool(reported)


def _reported(result: PublishedResult, name: str) -> IntervalPoint | None:
    value, counted = beside(result, result.metrics, name)
    if value is None:
        return None
    detail = result.source if counted == name else f"{result.source}, counted as {counted}"
    return IntervalPoint(label=published_label(result), value=value, n=result.n_items, published=True, detail=detail)


def _notes(task: ReportTask) -> list[str]:
    said = entry_notes(task.entry)
    reasons = ", ".join(f"{count:,} x {reason}" for reason, count in task.entry["coverage"]["unscored"].items())
    return [*said, f"Not scored, and not counted as wrong: {reasons}."] if reasons else said


def _plots(tasks: Sequence[ReportTask], *, base: str) -> Iterable[tuple[str, Markup, Markup]]:
    """The title, drawing and table of each plot."""
    for number, task in enumerate(tasks):
        for place, plot in enumerate(task.plots):
            made = f"{base}-plot{number}-{place}"
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


_ENDS_SCRIPT = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def script_json(value: Any) -> Markup:
    """Writes JSON that can stand in a `<script>` element and in UTF-8, and reads back equal."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return markup(_ENDS_SCRIPT.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def decision(item: ReportItem, metric: MetricSpec | None) -> str:
    """Sorts an item under one word by the metric that decides.

    Returns:
        `right` or `wrong` for a metric that is one or the other; `full`, `partly` or `zero` for a share; `scored` for a count;
        `unscored` where a reason says why there is no value, `no value` where the metric has no denominator.
    """
    value = finite(item.values.get(metric.name)) if metric is not None else None
    if value is None or metric is None:
        return "unscored" if item.unscored else "no value"
    low, high = metric.limits
    if metric.unit or math.isinf(high):
        return "scored"
    best, worst = (high, low) if metric.higher_is_better else (low, high)
    if metric.kind == "proportion":
        return "right" if value == best else "wrong"
    return "full" if value == best else "zero" if value == worst else "partly"


def items_json(tasks: Sequence[ReportTask]) -> dict[str, Any]:
    """What the page holds of a task's items.

    Returns:
        `task`; `metrics` (those that items have values of: `label`, `unit`); `groups` (names of breakdowns); `strings`; `runs`,
        each with `name`, `texts` (why there are none) and `items`. An item holds, of what is not empty, numbers of strings: `i`
        id, `g` its groups (a list a breakdown), `q` question, `a` answer, `e` gold, `p` parsed, `w` why, `u` unscored, `h`
        hash; and `s` its decision (a string's number), `v` its values in the order of `metrics`, `d` verdicts as `[id, value,
        unscored, text, votes]`.
    """
    strings = {"": 0}  # each text once, by its number

    def number(text: str) -> int:
        return strings.setdefault(text, len(strings))

    items = [item for task in tasks for item in task.items]
    declared = [spec.name for task in tasks for spec in task.metrics]
    # `average` metrics are of totals: no item has them.
    valued = dict.fromkeys(name for item in items for name in item.values)
    names = [name for name in dict.fromkeys([*declared, *valued]) if name in valued]
    reported: dict[str, Any] = {}
    for task in reversed(tasks):
        reported |= task.entry["metrics"]
    groups = list(dict.fromkeys(name for item in items for name in item.groups))
    runs = []
    for task in tasks:
        decides = spec_of(task, names[0]) if names else None
        runs.append(
            {
                "name": task.run,
                "texts": task.texts,
                "items": [
                    _item(item, task, number, names=names, groups=groups, decides=decides) for item in task.items
                ],
            }
        )
    return {
        "task": tasks[0].name,
        "metrics": [
            {"label": metric_label(name, metric), "unit": str(metric.get("unit", ""))}
            for name, metric in ((name, reported.get(name, {})) for name in names)
        ],
        "groups": groups,
        "strings": list(strings),
        "runs": runs,
    }


def _item(
    item: ReportItem,
    task: ReportTask,
    number: Callable[[str], int],
    *,
    names: Sequence[str],
    groups: Sequence[str],
    decides: MetricSpec | None,
) -> dict[str, Any]:
    values = [finite(item.values.get(name)) for name in names]
    row: dict[str, Any] = {
        "i": number(item.id),
        "s": number(decision(item, decides)),
        "v": [None if value is None else round(value, 6) for value in values],
        # Several come joined by a blank.
        "g": [
            [number(group) for group in groups_of(joined, task.entry["breakdown"].get(by, {}))] if joined else []
            for by, joined in ((by, item.groups.get(by, "")) for by in groups)
        ],
        "q": number(item.question),
        "a": number(item.answer),
        "e": number(item.gold),
        "p": number(item.parsed),
        "w": number(item.why),
        "u": number(item.unscored),
        "h": number(item.answer_sha256),
        "d": [
            [number(v.id), number(v.value), number(v.unscored), number(v.text), [number(vote) for vote in v.votes]]
            for v in item.verdicts
        ],
    }
    return {key: value for key, value in row.items() if value not in (0, [])}


def _reasons(tasks: Sequence[ReportTask]) -> list[tuple[list[str], str]]:
    """What to know of the texts, with the runs it is true of where it is not of all."""
    runs: dict[str, list[str]] = {}
    for task in tasks:
        runs.setdefault(task.texts, []).append(task.run)
    return [(names if len(runs) > 1 else [], reason) for reason, names in runs.items() if reason]
