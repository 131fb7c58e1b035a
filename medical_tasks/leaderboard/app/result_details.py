"""One result in full: every metric, the breakdowns, the recipe."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.leaderboard.app.cells import badge, metric_cell
from medical_tasks.leaderboard.app.group_words import Group
from medical_tasks.leaderboard.app.known import metrics_of
from medical_tasks.leaderboard.records import Entry
from medical_tasks.report.html_table import Cell, Column, Row, html_table
from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.report.plots import IntervalPoint, axis_ticks, interval_mark, intervals_svg
from medical_tasks.report.plots_scale import scale_of
from medical_tasks.runs.numbers import bounds, coverage, metric_label
from medical_tasks.spec import MetricSpec

__all__ = ["result_details"]

_BREAKDOWN_METRICS = 3


def result_details(entry: Entry, number: int) -> Markup:
    """Writes a result, folded below its task's name.

    Args:
        entry: the result.
        number: its place on the page, for ids.

    Returns:
        A `<details>` element.
    """
    metrics = metrics_of(entry.task, [entry])
    shares = [metric for metric in metrics if not metric.unit and all(map(math.isfinite, metric.limits))]
    warning = Group(name=entry.group, entries=(entry,)).warning
    parts = [f'<p class="mtl-warning"><strong>{escaped(warning)}</strong></p>'] if warning else []
    if shares:
        points = [_point(metric, entry) for metric in shares]
        parts.append(intervals_svg(points, id=f"result-{number}-plot", title="Metrics with their 95 % intervals"))
    parts.append(_metrics_table(entry, metrics, number))
    for place, (by, groups) in enumerate(entry.breakdown.items()):
        parts.append(_breakdown_table(entry, by, groups, metrics, table=f"result-{number}-by-{place}"))
    if entry.recipe:
        recipe = json.dumps(entry.recipe, indent=2, ensure_ascii=False)
        parts.append(
            '<details class="mtl-fold"><summary>Recipe: everything the numbers depend on</summary>'
            f'<pre tabindex="0" role="region" aria-label="Recipe of {escaped(entry.task)}"><code>{escaped(recipe)}</code></pre>'
            "</details>"
        )
    if entry.submission:
        parts.append(f'<p class="mtl-small">Submission <code>{escaped(entry.submission)}</code></p>')
    summary = markup(escaped(entry.task), " ", badge(entry.state), " ", escaped(entry.setting))
    return markup(f'<details class="mtl-result"><summary>{summary}</summary>', *parts, "</details>")


def _point(metric: MetricSpec, entry: Entry) -> IntervalPoint:
    told = entry.metrics[metric.name]
    return IntervalPoint(
        label=metric_label(metric.name, told),
        value=told.get("value"),
        low=told.get("ci_low"),
        high=told.get("ci_high"),
        n=told.get("n"),
        published=entry.state == "reported",
    )


def _metrics_table(entry: Entry, metrics: Sequence[MetricSpec], number: int) -> Markup:
    columns = [
        Column(name="metric", label="Metric", header=True),
        Column(
            name="value", label="Value", kind="number", help="In percent where no unit is named; with its 95 % interval"
        ),
        Column(name="n", label="n", kind="number"),
        Column(name="scored", label="Scored", kind="number"),
        Column(
            name="bounds",
            label="Bounds",
            kind="number",
            help="What it can be, whatever the missing items would have been",
        ),
        Column(name="about", label="What it is"),
    ]
    rows = []
    for metric in metrics:
        told = entry.metrics[metric.name]
        has_bounds = "bound_low" in told and "bound_high" in told
        rows.append(
            Row(
                [
                    Cell(metric_label(metric.name, told), note="" if metric.higher_is_better else "lower is better"),
                    metric_cell(told, state=entry.state),
                    Cell("not reported" if told.get("n") is None else f"{told['n']:,}", sort=told.get("n")),
                    Cell(_scored(entry, told)),
                    Cell(bounds(told) if has_bounds else "n/a"),
                    Cell(metric.description),
                ]
            )
        )
    return html_table(
        columns,
        rows,
        id=f"result-{number}-metrics",
        caption=f"Metrics of {entry.task}",
        sortable=False,
        show_caption=False,
    )


def _scored(entry: Entry, told: Mapping[str, Any]) -> str:
    if not entry.coverage:
        return "not reported"
    return coverage({"coverage": entry.coverage, "metrics": entry.metrics}, told)


def _breakdown_table(
    entry: Entry,
    by: str,
    groups: Mapping[str, Mapping[str, Mapping[str, Any]]],
    metrics: Sequence[MetricSpec],
    *,
    table: str,
) -> Markup:
    # Of the parts of an item only some metrics are told.
    told = [metric for metric in metrics if groups and all(metric.name in group for group in groups.values())]
    if not told:
        return Markup("")
    first, shown = told[0], told[:_BREAKDOWN_METRICS]
    ends = [group[first.name].get(end) for group in groups.values() for end in ("value", "ci_low", "ci_high")]
    scale = scale_of(ends, first.unit)
    columns = [
        Column(name="group", label=by, header=True),
        *(Column(name=metric.name, label=metric.name, kind="number", help=metric.description) for metric in shown[:1]),
        Column(name="mark", label="95 % interval", kind="plot", axis=axis_ticks(scale)),
        *(Column(name=metric.name, label=metric.name, kind="number", help=metric.description) for metric in shown[1:]),
        Column(name="n", label="n", kind="number"),
    ]
    rows = []
    for name, group in groups.items():
        head = group[first.name]
        published = entry.state == "reported"
        mark = interval_mark(
            head.get("value"), head.get("ci_low"), head.get("ci_high"), scale=scale, published=published
        )
        rows.append(
            Row(
                [
                    Cell(name),
                    metric_cell(head, state=entry.state, strong=True),
                    Cell(svg=mark),
                    *(metric_cell(group[metric.name], state=entry.state) for metric in shown[1:]),
                    Cell("not reported" if head.get("n") is None else f"{head['n']:,}", sort=head.get("n")),
                ]
            )
        )
    made = html_table(columns, rows, id=table, caption=f"{entry.task} by {by}", show_caption=False)
    return markup(f'<details class="mtl-fold"><summary>By {escaped(by)} ({len(groups)})</summary>', made, "</details>")
