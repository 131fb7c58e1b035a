"""The page of a model, with its results in full and its history; and the queue of all submissions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.leaderboard.admission import name_notes
from medical_tasks.leaderboard.app.parts import (
    MODEL,
    SCORED,
    VALUE,
    Address,
    Group,
    badge,
    coverage_cell,
    day,
    in_app_link,
    metric_cell,
    metrics_of,
    model_cell,
    state_cell,
    task_order,
    task_title,
    yes_no,
)
from medical_tasks.leaderboard.app.snapshot import Snapshot
from medical_tasks.leaderboard.app.tables import differences
from medical_tasks.leaderboard.records import Entry, Event, Submission
from medical_tasks.leaderboard.submission_package.submitters import name_key
from medical_tasks.report.html_parts import Cell, Column, Markup, Row, escaped, html_table, link, markup
from medical_tasks.report.plots import IntervalPoint, axis_ticks, interval_mark, intervals_svg, scale_of
from medical_tasks.runs.numbers import bounds, coverage, metric_label
from medical_tasks.spec import MetricSpec


def model_names(snapshot: Snapshot) -> list[str]:
    """Names of all models with an entry or a submission, in the order of the alphabet."""
    names: dict[str, str] = {}  # whose name is shown comes first
    for name in (
        *(entry.model for entry in snapshot.entries),
        *(submission.submitter.model for submission in snapshot.submissions.values()),
    ):
        names.setdefault(name_key(name), name)
    return sorted(names.values(), key=lambda name: (name.casefold(), name))


def model_page(snapshot: Snapshot, model: str) -> Markup:
    """Renders a model's page; names that cannot be told apart share one."""
    order = {name: place for place, name in enumerate(task_order(entry.task for entry in snapshot.entries))}
    mine = sorted(
        (entry for entry in snapshot.entries if name_key(entry.model) == name_key(model)),
        key=lambda entry: (order[entry.task], entry.state == "reported", entry.at),
    )
    shown = {entry.submission for entry in mine}
    # What is said of the model is said by those whose results are shown.
    submissions = sorted(
        (one for one in snapshot.submissions.values() if name_key(one.submitter.model) == name_key(model)),
        key=lambda one: one.id not in shown,
    )
    if not model:
        return markup('<p class="mtl-empty">Choose a model above.</p>')
    if not mine and not submissions:
        return markup(f'<p class="mtl-empty">No model is called {escaped(repr(model))}. Choose one above.</p>')
    parts = [f'<h2 class="mtl-title"><bdi>{escaped(model)}</bdi></h2>', _facts(submissions, mine)]
    if mine:
        parts.append(_results(mine))
        parts.append("<h3>Each result</h3>")
        parts += [result_details(entry, number) for number, entry in enumerate(mine)]
    else:
        parts.append('<p class="mtl-empty">Nothing of this model was accepted yet.</p>')
    parts.append(history(submissions))
    return markup(*parts)


def _facts(submissions: Sequence[Submission], entries: Sequence[Entry]) -> Markup:
    """What its submitters say of it; of a model that only papers know, nothing."""
    said: list[tuple[str, Markup]] = []
    for submission in submissions[:1]:
        who = submission.submitter
        said.append(("Organisation", escaped(who.organisation or "not named")))
        if who.url:
            said.append(("Page", link(who.url, who.url)))
        said.append(("Open weights", escaped(yes_no(who.open_weights))))
        said.append(("Parameters", escaped("not said" if who.parameters is None else f"{who.parameters:g} billion")))
        if who.notes:
            said.append(("Notes", escaped(who.notes)))
    others = {one.submitter.organisation for one in submissions} - {
        one.submitter.organisation for one in submissions[:1]
    }
    if others:
        said.append(("Also submitted by", escaped(", ".join(sorted(other or "nobody named" for other in others)))))
    if not submissions and entries:
        said.append(("Known from", escaped("papers alone: nobody submitted it here")))
    items = "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for label, value in said)
    source = '<p class="mtl-small">As its submitter says; nobody checks these lines.</p>' if submissions else ""
    return markup(f'<dl class="mtl-facts">{items}</dl>{source}')


def _results(entries: Sequence[Entry]) -> Markup:
    columns = [
        Column(name="task", label="Task", header=True),
        Column(name="metric", label="Headline metric"),
        Column(name="value", label="Value", kind="number", help="With its 95 % interval"),
        SCORED,
        Column(name="state", label="State", facet=True),
        Column(name="group", label="Group", help="Numbers of different groups cannot be set beside each other"),
        Column(name="setting", label="Setting"),
        Column(name="organisation", label="Submitted or reported by"),
        Column(name="date", label="Date"),
    ]
    differ = any(entry.differences for entry in entries)
    if differ:
        columns.append(Column(name="differences", label="How it differs"))
    return html_table(
        columns,
        [_result(entry, differ=differ) for entry in entries],
        id="model-results",
        caption="All results of this model",
        filter_label="Filter by task, metric or setting",
    )


def _result(entry: Entry, *, differ: bool) -> Row:
    metrics = metrics_of(entry.task, [entry])
    headline = metrics[0] if metrics else None
    told = entry.metrics[headline.name] if headline else None
    label = metric_label(headline.name, told) if headline and told else "n/a"
    shown = "" if entry.state == "reported" else entry.group
    cells = [
        Cell(
            in_app_link(entry.task, Address(task=entry.task, group=shown)), sort=entry.task, note=task_title(entry.task)
        ),
        Cell(label),
        metric_cell(told, state=entry.state, strong=True),
        coverage_cell(entry),
        state_cell(entry.state),
        Cell(shown or "none (a paper)"),
        Cell(entry.setting),
        Cell(entry.organisation or "not named", href=entry.url if entry.state == "reported" else ""),
        Cell(day(entry.at), sort=entry.at),
    ]
    if differ:
        cells.append(Cell(differences(entry.differences) if entry.differences else ""))
    return Row(cells)


_BREAKDOWN_METRICS = 3


def result_details(entry: Entry, number: int) -> Markup:
    """Renders a result, folded below its task's name; `number` makes its ids unique on the page."""
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
        VALUE,
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


def queue_page(snapshot: Snapshot) -> Markup:
    """Renders all submissions, pending ones first in the order in which they wait."""
    pending = snapshot.pending()
    places = {submission.id: place for place, submission in enumerate(pending, start=1)}
    decided = sorted(
        (submission for submission in snapshot.submissions.values() if submission.state != "pending"),
        key=lambda submission: submission.history[-1].at,
        reverse=True,
    )
    counts = {state: sum(one.state == state for one in decided) for state in ("accepted", "rejected")}
    columns = [
        Column(name="place", label="Place", kind="number", rising=True, help="In the queue"),
        MODEL,
        Column(name="organisation", label="Organisation"),
        Column(name="tasks", label="Tasks"),
        Column(name="state", label="State", facet=True),
        Column(name="submitted", label="Submitted (UTC)"),
        Column(name="decided", label="Decided (UTC)"),
        Column(name="reason", label="Reason"),
        Column(name="id", label="Submission"),
    ]
    accepted = [one for one in decided if one.state == "accepted"]
    rows = [_submission_row(submission, places.get(submission.id), accepted) for submission in (*pending, *decided)]
    table = html_table(
        columns,
        rows,
        id="queue",
        caption="Submissions and what became of them",
        filter_label="Filter by model, task, reason or id",
        show_caption=False,
        empty="Nothing was submitted yet.",
    )
    return markup(
        '<h2 class="mtl-title">Queue and history</h2>',
        f'<p class="mtl-lead">{len(pending):,} pending, {counts["accepted"]:,} accepted, {counts["rejected"]:,} rejected. '
        "A maintainer decides, in the order in which packages came; a decision and its reason stay in the history.</p>",
        table,
    )


def _submission_row(submission: Submission, place: int | None, accepted: Sequence[Submission]) -> Row:
    last = submission.history[-1]
    waits = submission.state == "pending"
    return Row(
        [
            Cell("" if place is None else str(place), sort=place),
            model_cell(submission.submitter.model, note="; ".join(name_notes(submission, accepted))),
            Cell(submission.submitter.organisation or "not named"),
            Cell(", ".join(submission.tasks)),
            state_cell(submission.state),
            Cell(moment(submission.history[0].at), sort=submission.history[0].at),
            Cell("" if waits else moment(last.at), sort="" if waits else last.at),
            Cell(last.reason),
            Cell(markup("<code>", escaped(submission.id), "</code>"), sort=submission.id),
        ]
    )


def history(submissions: Sequence[Submission]) -> Markup:
    """Renders every event of one model's submissions; empty HTML for none."""
    if not submissions:
        return Markup("")
    columns = [
        Column(name="at", label="When (UTC)"),
        Column(name="submission", label="Submission", header=True),
        Column(name="state", label="State since then"),
        Column(name="tasks", label="Tasks"),
        Column(name="by", label="By"),
        Column(name="reason", label="Reason"),
        Column(name="verified", label="Scored again"),
    ]
    rows = [
        Row(
            [
                Cell(moment(event.at), sort=event.at),
                Cell(markup("<code>", escaped(submission.id), "</code>"), sort=submission.id),
                state_cell(event.state),
                Cell(", ".join(submission.tasks)),
                Cell(event.by or "submitter"),
                Cell(event.reason, note=f"in place of {event.replaces}" if event.replaces else ""),
                Cell(_verified(event)),
            ]
        )
        for submission in submissions
        for event in submission.history
    ]
    return markup(
        "<h3>Submissions and their history</h3>",
        html_table(columns, rows, id="model-history", caption="Events of this model's submissions", show_caption=False),
    )


def _verified(event: Event) -> str:
    if event.verified is None:
        return ""
    return "yes: it matches" if event.verified.get("matches") else "yes: it does not match"


def moment(at: str) -> str:
    """Writes a moment in ISO 8601 to the minute, as a reader takes it."""
    return at[:16].replace("T", " ")
