"""A report as one page, from its overview to each task's section and the browser of its items.

It works from a file, offline, on paper, on a phone, in the dark, and without scripts except for items.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from medical_tasks.report.entry_notes import entry_notes, warning
from medical_tasks.report.html_parts import (
    EARLY_SCRIPTS,
    PAGE_SCRIPTS,
    PAGE_STYLES,
    Cell,
    Column,
    Markup,
    Row,
    Toggle,
    document,
    escaped,
    escaped_content,
    html_table,
    isolated,
    markup,
)
from medical_tasks.report.metric_tables import (
    beside,
    bounds_cell,
    breakdowns_section,
    clean,
    coverage_cell,
    headline,
    metric_cells,
    metric_columns,
    model_of,
    published_label,
    published_section,
    sort_value,
    spec_of,
)
from medical_tasks.report.page_data import ReportData, ReportItem, ReportTask
from medical_tasks.report.plots import IntervalPoint, curve_svg, finite, interval_mark, intervals_svg
from medical_tasks.report.published.figures import PublishedResult
from medical_tasks.runs.numbers import metric_label, percent
from medical_tasks.spec import MetricSpec, Plot, PlotPoint


def render_page(data: ReportData) -> str:
    """The page as one HTML document; every text of a model, a judge or a user in it is escaped."""
    by_name: dict[str, list[ReportTask]] = {}
    for task in data.tasks:
        by_name.setdefault(task.name, []).append(task)
    sections = [(section_id(name, place), tasks) for place, (name, tasks) in enumerate(by_name.items())]
    links = [("#runs-section", "Runs"), ("#overview", "All results")]
    links += [(f"#{base}", tasks[0].name) for base, tasks in sections]
    contents = "".join(f'<li><a href="{address}">{escaped(text)}</a></li>' for address, text in links)
    body = markup(
        '<a class="mt-skip" href="#main">Skip to the results</a>',
        '<header class="mt-header"><div class="mt-header-line">',
        f"<h1>{escaped(data.title)}</h1>",
        '<button type="button" class="mt-button mt-theme" hidden>Dark colours</button></div>',
        f'<p class="mt-lead">Made by {escaped(data.suite)}. Values are in percent with 95 % intervals, unless a unit is named.</p>',
        "</header>",
        f'<div class="mt-layout"><nav class="mt-contents" aria-label="Contents"><ol>{contents}</ol></nav>',
        '<main id="main" tabindex="-1">',
        runs_section(data),
        headline_section(data),
        *(task_section(tasks, base=base) for base, tasks in sections),
        "</main></div>",
        '<footer class="mt-footer"><p>Published results are as their authors report them. ',
        Markup(
            "A number without an interval comes from a paper; n/a is what nobody can compute, never 0.</p></footer>"
        ),
    )
    return document(data.title, body, styles=PAGE_STYLES, scripts=PAGE_SCRIPTS, early=EARLY_SCRIPTS)


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


def section_id(name: str, place: int) -> str:
    """The id of a task's section: its name, where that can be one."""
    return f"task-{name}" if re.fullmatch(r"[A-Za-z0-9_]+", name) else f"task-{place}-"


def task_section(tasks: Sequence[ReportTask], *, base: str) -> Markup:
    """The section of a task, with every run that has it."""
    first = tasks[0]
    return markup(
        f'<section id="{base}" class="mt-task" aria-labelledby="{base}-h"><h2 id="{base}-h">{escaped(first.title)}</h2>',
        f'<p class="mt-lead"><code>{escaped(first.name)}</code> <span aria-hidden="true">·</span> '
        f'{isolated(first.benchmark)} <span aria-hidden="true">·</span> {escaped(first.access)} data</p>',
        *(_warning(task) for task in tasks),
        _metrics(tasks, base=base),
        _forest(tasks, base=base),
        _notes(tasks),
        breakdowns_section(tasks, base=base),
        _plots(tasks, base=base),
        published_section(tasks, base=f"{base}-published"),
        browser(tasks, base=f"{base}-items"),
        _recipes(tasks, base=base),
        "</section>",
    )


def _warning(task: ReportTask) -> Markup:
    said = warning(task.entry)
    if said is None:
        return Markup("")
    return markup(
        '<p class="mt-callout" role="note"><strong>', isolated(task.run), ": ", escaped(said), "</strong></p>"
    )


def _metrics(tasks: Sequence[ReportTask], *, base: str) -> Markup:
    columns = [
        Column(name="metric", label="Metric", header=True),
        Column(name="run", label="Run"),
        *metric_columns(None),
        Column(name="scored", label="Scored", kind="range"),
        Column(name="bounds", label="Bounds", kind="range"),
        Column(name="better", label="Better"),
    ]
    names = dict.fromkeys(name for task in tasks for name in task.entry["metrics"])
    rows = []
    for name in names:
        for task in tasks:
            metric = task.entry["metrics"].get(name)
            if metric is not None:
                strong = name == headline(task)
                cells = [Cell(metric_label(name, metric), strong=strong), Cell(task.run)]
                cells += [*metric_cells(metric, strong=strong, scale=None), coverage_cell(task.entry, metric)]
                # What the metric is stands below the table, once.
                rows.append([*cells, bounds_cell(metric), replace(direction_cell(task, name), title="")])
    said = "".join(
        f"<dt>{escaped(spec.name)}</dt><dd>{escaped(spec.description)}</dd>"
        for spec in tasks[0].metrics
        if spec.name in names
    )
    meanings = (
        f'<details class="mt-meanings"><summary>What these metrics are</summary><dl>{said}</dl></details>'
        if said
        else ""
    )
    caption = "Metrics, with 95 % intervals. Bounds: what the value could be, however the missing had been decided."
    return markup(
        html_table(columns, rows, id=f"{base}-metrics", caption=caption, empty="Nothing was scored."), meanings
    )


def _forest(tasks: Sequence[ReportTask], *, base: str) -> Markup:
    name = headline(tasks[0])
    if name is None:
        return Markup("")
    points, unit = [], ""
    for task in tasks:
        if name in task.entry["metrics"]:
            metric = clean(task.entry["metrics"][name])
            unit = str(metric.get("unit", ""))
            points.append(
                IntervalPoint(
                    label=task.run,
                    value=metric["value"],
                    low=metric["ci_low"],
                    high=metric["ci_high"],
                    n=metric["n"],
                    detail="" if metric.get("comparable", True) else "not comparable",
                )
            )
    papers = dict.fromkeys(_reported(result, name) for task in tasks for result in task.published)
    reported = [point for point in papers if point is not None]
    others = dict.fromkeys(beside(result, result.metrics, name)[1] for task in tasks for result in task.published)
    others.pop(name, None)
    note = (
        f"Papers' figures are of {', '.join(others)}, which counts by the authors' rule." if others and reported else ""
    )
    return markup(
        intervals_svg(
            [*points, *reported],
            id=f"{base}-forest",
            title=f"{_titled(name)}, with 95 % intervals",
            unit=unit,
            note=note,
        ),
        _legend(bool(reported)),
    )


def _reported(result: PublishedResult, name: str) -> IntervalPoint | None:
    value, counted = beside(result, result.metrics, name)
    if value is None:
        return None
    detail = result.source if counted == name else f"{result.source}, counted as {counted}"
    return IntervalPoint(label=published_label(result), value=value, n=result.n_items, published=True, detail=detail)


def _titled(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _legend(published: bool) -> str:
    if not published:
        return ""
    run = interval_mark(0.5, 0.2, 0.8)
    paper = interval_mark(0.5, None, None, published=True)
    said = "reported by a paper, not verified here; no interval is given. Settings differ: see the table of published results"
    return f'<p class="mt-legend"><span>{run} this report\'s runs</span><span>{paper} {said}</span></p>'


def _notes(tasks: Sequence[ReportTask]) -> Markup:
    items = []
    for task in tasks:
        said = entry_notes(task.entry)
        missing = task.entry["coverage"]["unscored"]
        if missing:
            reasons = ", ".join(f"{count:,} x {reason}" for reason, count in missing.items())
            said.append(f"Not scored, and not counted as wrong: {reasons}.")
        items += [markup("<li>", isolated(task.run), ": ", escaped(text), "</li>") for text in said]
    return markup('<h3>Notes</h3><ul class="mt-notes">', *items, "</ul>") if items else Markup("")


def _plots(tasks: Sequence[ReportTask], *, base: str) -> Markup:
    drawn = []
    for number, task in enumerate(tasks):
        for place, plot in enumerate(task.plots):
            made = f"{base}-plot{number}-{place}"
            titled = replace(plot, title=f"{plot.title}: {task.run}") if len(tasks) > 1 else plot
            drawn += [curve_svg(titled, id=made), _points_table(titled, base=f"{made}-table")]
    return markup("<h3>Further plots</h3>", *drawn) if drawn else Markup("")


def _points_table(plot: Plot, *, base: str) -> Markup:
    columns = (
        Column(name="label", label=plot.x_label, header=True),
        Column(name="value", label=f"{plot.y_label}, %", kind="number"),
        Column(name="interval", label="95 % interval", kind="range"),
        Column(name="n", label="n", kind="number"),
    )
    table = html_table(
        columns, [_point(point) for point in plot.points], id=base, caption=plot.title, show_caption=False
    )
    return markup(f"<details><summary>Numbers of this plot: {escaped(plot.title)}</summary>", table, "</details>")


def _point(point: PlotPoint) -> list[Cell]:
    low, high, value = finite(point.low), finite(point.high), finite(point.value)
    ends = "n/a" if low is None or high is None else f"{percent(low)} to {percent(high)}"
    return [
        Cell(point.label),
        Cell(percent(value), sort_value(value)),
        Cell(ends, sort_value(low)),
        Cell(f"{point.n:,}", point.n),
    ]


def _recipes(tasks: Sequence[ReportTask], *, base: str) -> Markup:
    parts = ["<h3>Recipe</h3><p>What the numbers depend on; two runs can be compared where these agree.</p>"]
    for number, task in enumerate(tasks):
        text = json.dumps(task.entry["recipe"], indent=2, ensure_ascii=False)
        made = f"{base}-recipe{number}"
        name = " · ".join(dict.fromkeys(part for part in (task.run, model_of(task)) if part))
        parts += [
            f'<details class="mt-recipe"><summary>{isolated(name)}</summary>',
            f'<p class="mt-copy-line" hidden><button type="button" class="mt-button mt-copy" data-copies="{made}">Copy</button>',
            '<span class="mt-copied" role="status"></span></p>',
            f'<pre id="{made}" tabindex="0" role="region" aria-label="{escaped(f"Recipe of {task.run}")}">',
            escaped_content(text),
            "</pre></details>",
        ]
    return markup(*parts)


_LONE = re.compile("[\ud800-\udfff]")
_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def script_json(value: Any) -> Markup:
    """Writes JSON that can stand in a `<script>` element and in UTF-8, and reads back equal."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_IN_SCRIPT)
    return Markup(_LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


class _Strings:
    """Texts by number, each stored once; 0 is the empty one."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def decision(item: ReportItem, metric: MetricSpec | None) -> str:
    """Sorts an item under one word by the metric that decides.

    Returns:
        `right` or `wrong` for a metric that is one or the other; `full`, `partly` or `zero` for a share; `scored` for a count;
        `unscored` where a reason says why there is no value, `no value` where the metric has no denominator.
    """
    value = _known(item.values.get(metric.name)) if metric is not None else None
    if value is None or metric is None:
        return "unscored" if item.unscored else "no value"
    low, high = metric.limits
    if metric.unit or math.isinf(high):
        return "scored"
    best, worst = (high, low) if metric.higher_is_better else (low, high)
    if metric.kind == "proportion":
        return "right" if value == best else "wrong"
    return "full" if value == best else "zero" if value == worst else "partly"


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def items_json(tasks: Sequence[ReportTask]) -> dict[str, Any]:
    """What the page holds of a task's items.

    Returns:
        `task`; `metrics` (those that items have values of: `label`, `unit`); `groups` (names of breakdowns); `strings`; `runs`,
        each with `name`, `texts` (why there are none) and `items`. An item holds, of what is not empty, numbers of strings: `i`
        id, `g` its groups (a list a breakdown), `q` question, `a` answer, `e` gold, `p` parsed, `w` why, `u` unscored, `h`
        hash; and `s` its decision (a string's number), `v` its values in the order of `metrics`, `d` verdicts as `[id, value,
        unscored, text, votes]`.
    """
    strings = _Strings()
    items = [item for task in tasks for item in task.items]
    # `average` metrics are of totals: no item has them.
    names = [name for name in _metric_names(tasks) if any(name in item.values for item in items)]
    groups = list(dict.fromkeys(name for item in items for name in item.groups))
    runs = []
    for task in tasks:
        decides = spec_of(task, names[0]) if names else None
        runs.append(
            {
                "name": task.run,
                "texts": task.texts,
                "items": [
                    _item(item, task, strings, names=names, groups=groups, decides=decides) for item in task.items
                ],
            }
        )
    return {
        "task": tasks[0].name,
        "metrics": [_metric(tasks, name) for name in names],
        "groups": groups,
        "strings": list(strings.numbers),
        "runs": runs,
    }


def _metric_names(tasks: Sequence[ReportTask]) -> list[str]:
    declared = [spec.name for task in tasks for spec in task.metrics]
    return list(dict.fromkeys([*declared, *(name for task in tasks for item in task.items for name in item.values)]))


def _metric(tasks: Sequence[ReportTask], name: str) -> dict[str, str]:
    reported: Mapping[str, Any] = next(
        (task.entry["metrics"][name] for task in tasks if name in task.entry["metrics"]), {}
    )
    return {"label": metric_label(name, reported), "unit": str(reported.get("unit", ""))}


def _item(
    item: ReportItem,
    task: ReportTask,
    strings: _Strings,
    *,
    names: Sequence[str],
    groups: Sequence[str],
    decides: MetricSpec | None,
) -> dict[str, Any]:
    number = strings.number
    row: dict[str, Any] = {
        "i": number(item.id),
        "s": number(decision(item, decides)),
        "v": [_rounded(item.values.get(name)) for name in names],
        "g": [[number(group) for group in _groups(item, task, by)] for by in groups],
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


def _rounded(value: float | None) -> float | None:
    known = _known(value)
    return None if known is None else round(known, 6)


def _groups(item: ReportItem, task: ReportTask, by: str) -> Iterable[str]:
    """The groups an item is in. Several come joined by a blank, which can stand in a group's name as well."""
    joined = item.groups.get(by, "")
    known: Mapping[str, Any] = task.entry["breakdown"].get(by, {})
    if not joined or joined in known:
        return [joined] if joined else []
    words = joined.split(" ")
    found = []
    while words:
        length = next((size for size in range(len(words), 0, -1) if " ".join(words[:size]) in known), 0)
        if not length:
            return [joined]
        found.append(" ".join(words[:length]))
        words = words[length:]
    return found


def browser(tasks: Sequence[ReportTask], *, base: str) -> Markup:
    """The item browser of a task: its data, and the frame that the page's script fills."""
    count = sum(len(task.items) for task in tasks)
    if not count:
        return markup('<h3>Items</h3><p class="mt-quiet">This report holds no items of this task.</p>')
    said = "".join(f'<p class="mt-callout">{reason}</p>' for reason in _reasons(tasks))
    name = escaped(tasks[0].name)
    return markup(
        f'<h3 id="{base}-h">Items</h3>',
        said,
        f'<noscript><p class="mt-quiet">The {count:,} items can be looked at where scripts may run; everything else '
        "on this page is here without them.</p></noscript>",
        f'<div class="mt-items" id="{base}" data-task="{name}" hidden>',
        f'<div class="mt-controls mt-item-controls" role="search" aria-label="Items of {name}">',
        _field(
            base,
            "text",
            "Search in ids and texts",
            '<input id="{id}" type="search" autocomplete="off" spellcheck="false">',
            "mt-grow",
        ),
        _field(base, "run", "Run", '<select id="{id}"></select>') if len(tasks) > 1 else "",
        _field(base, "state", "Decision", '<select id="{id}"></select>'),
        '<span class="mt-item-groups"></span>',
        _field(base, "order", "Order", '<select id="{id}"></select>'),
        f'<div class="mt-field mt-check"><input id="{base}-down" type="checkbox">'
        f'<label for="{base}-down">descending</label></div></div>',
        f'<p class="mt-status" id="{base}-status" role="status"></p>',
        '<div class="mt-item-panes"><div class="mt-item-side">',
        f'<ul class="mt-item-list" id="{base}-list" role="listbox" tabindex="0" aria-labelledby="{base}-h" '
        f'aria-describedby="{base}-keys"></ul>',
        '<div class="mt-pager"><button type="button" class="mt-button mt-before">Previous page</button>'
        '<span class="mt-page-number"></span><button type="button" class="mt-button mt-after">Next page</button></div>',
        f'<p class="mt-quiet mt-keys" id="{base}-keys">Arrow keys move, Enter opens, Escape goes back to the list.</p></div>',
        f'<div class="mt-item-detail" id="{base}-detail" role="region" aria-label="Item" tabindex="-1"></div></div>',
        f'<script type="application/json" id="{base}-data">{script_json(items_json(tasks))}</script></div>',
    )


def _reasons(tasks: Sequence[ReportTask]) -> list[Markup]:
    """What to know of the texts; with the runs it is true of, where it is not of all."""
    runs: dict[str, list[str]] = {}
    for task in tasks:
        runs.setdefault(task.texts, []).append(task.run)
    every = len(runs) == 1
    return [
        escaped(reason) if every else markup(", ".join(map(isolated, names)), ": ", escaped(reason))
        for reason, names in runs.items()
        if reason
    ]


def _field(base: str, name: str, label: str, control: str, kind: str = "") -> str:
    made = f"{base}-{name}"
    named = f"mt-field {kind}".strip()
    return f'<div class="{named}"><label for="{made}">{label}</label>{control.replace("{id}", made)}</div>'
