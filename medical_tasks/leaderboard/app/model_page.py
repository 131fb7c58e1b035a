"""The page of a model, with its results in full and its history; and the queue of all submissions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.leaderboard.admission import name_notes
from medical_tasks.leaderboard.app import parts as shared
from medical_tasks.leaderboard.app.snapshot import Snapshot
from medical_tasks.leaderboard.app.tables import differences
from medical_tasks.leaderboard.records import Entry, Submission
from medical_tasks.leaderboard.submission_package.submitters import name_key
from medical_tasks.report.html_parts import Cell, Column, Markup, escaped, link, markup
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
    order = {name: place for place, name in enumerate(shared.task_order(entry.task for entry in snapshot.entries))}
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
    parts = [f'<h2 class="mtl-title"><bdi>{escaped(model)}</bdi></h2>', _facts(submissions)]
    if mine:
        differ = any(entry.differences for entry in mine)
        more = [Column(name="differences", label="How it differs")] if differ else []
        parts.append(shared.table("model-results", [_result(entry, differ=differ) for entry in mine], differ=more))
        parts.append("<h3>Each result</h3>")
        parts += [result_details(entry, number) for number, entry in enumerate(mine)]
    else:
        parts.append('<p class="mtl-empty">Nothing of this model was accepted yet.</p>')
    return markup(*parts, history(submissions))


def _facts(submissions: Sequence[Submission]) -> Markup:
    """What its submitters say of it; of a model that only papers know, nothing."""
    if not submissions:
        return shared.facts([("Known from", "papers alone: nobody submitted it here")])
    who = submissions[0].submitter
    said = [("Organisation", who.organisation or "not named"), ("Page", link(who.url, who.url) if who.url else "")]
    said += [
        ("Open weights", shared.yes_no(who.open_weights)),
        ("Parameters", shared.billions(who.parameters)),
        ("Notes", who.notes),
    ]
    others = {one.submitter.organisation for one in submissions} - {who.organisation}
    said.append(("Also submitted by", ", ".join(sorted(other or "nobody named" for other in others))))
    shown = shared.facts((label, text) for label, text in said if text)
    return markup(shown, '<p class="mtl-small">As its submitter says; nobody checks these lines.</p>')


def _result(entry: Entry, *, differ: bool) -> list[Cell | str]:
    headline = next(iter(shared.metrics_of(entry.task, [entry])), None)
    told = entry.metrics[headline.name] if headline else None
    shown = "" if entry.state == "reported" else entry.group
    task = shared.in_app_link(entry.task, shared.Address(task=entry.task, group=shown))
    return [
        Cell(task, sort=entry.task, note=shared.task_title(entry.task)),
        metric_label(headline.name, told) if headline and told else "n/a",
        shared.metric_cell(told, state=entry.state, strong=True),
        shared.coverage_cell(entry),
        shared.state_cell(entry.state),
        shown or "none (a paper)",
        entry.setting,
        Cell(entry.organisation or "not named", href=entry.url if entry.state == "reported" else ""),
        Cell(shared.day(entry.at), sort=entry.at),
        *([differences(entry.differences) if entry.differences else ""] if differ else []),
    ]


_BREAKDOWN_METRICS = 3


def result_details(entry: Entry, number: int) -> Markup:
    """Renders a result, folded below its task's name; `number` makes its ids unique on the page."""
    metrics = shared.metrics_of(entry.task, [entry])
    shares = [metric for metric in metrics if not metric.unit and all(map(math.isfinite, metric.limits))]
    parts = shared.judge_warning(entry.recipe)
    if shares:
        points = [_point(metric, entry) for metric in shares]
        parts.append(intervals_svg(points, id=f"result-{number}-plot", title="Metrics with their 95 % intervals"))
    parts.append(_metrics_table(entry, metrics, number))
    for place, by in enumerate(entry.breakdown):
        parts.append(_breakdown_table(entry, by, metrics, place=f"result-{number}-by-{place}"))
    if entry.recipe:
        recipe = json.dumps(entry.recipe, indent=2, ensure_ascii=False)
        text = f'aria-label="Recipe of {escaped(entry.task)}"><code>{escaped(recipe)}</code></pre>'
        about = "Recipe: everything the numbers depend on"
        parts.append(_folded(about, markup(f'<pre tabindex="0" role="region" {text}')))
    if entry.submission:
        parts.append(markup(f'<p class="mtl-small">Submission <code>{escaped(entry.submission)}</code></p>'))
    summary = markup(escaped(entry.task), " ", shared.badge(entry.state), " ", escaped(entry.setting))
    return markup(f'<details class="mtl-result"><summary>{summary}</summary>', *parts, "</details>")


def _folded(about: str, inside: Markup) -> Markup:
    return markup('<details class="mtl-fold"><summary>', escaped(about), "</summary>", inside, "</details>")


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
    rows = []
    for metric in metrics:
        told = entry.metrics[metric.name]
        counts = {"coverage": entry.coverage, "metrics": entry.metrics}
        rows.append(
            (
                Cell(metric_label(metric.name, told), note="" if metric.higher_is_better else "lower is better"),
                shared.metric_cell(told, state=entry.state),
                _count(told),
                coverage(counts, told) if entry.coverage else "not reported",
                bounds(told) if "bound_low" in told and "bound_high" in told else "n/a",
                metric.description,
            )
        )
    return shared.table("metrics", rows, place=f"result-{number}-metrics", caption=f"Metrics of {entry.task}")


def _count(told: Mapping[str, Any]) -> Cell:
    return Cell("not reported" if told.get("n") is None else f"{told['n']:,}", sort=told.get("n"))


def _breakdown_table(entry: Entry, by: str, metrics: Sequence[MetricSpec], *, place: str) -> Markup:
    groups = entry.breakdown[by]
    # Of the parts of an item only some metrics are told.
    told = [metric for metric in metrics if groups and all(metric.name in group for group in groups.values())]
    if not told:
        return Markup("")
    first, shown = told[0], told[:_BREAKDOWN_METRICS]
    ends = [group[first.name].get(end) for group in groups.values() for end in ("value", "ci_low", "ci_high")]
    scale = scale_of(ends, first.unit)
    columns = [Column(name=each.name, label=each.name, kind="number", help=each.description) for each in shown]
    rows: list[Sequence[Cell | str]] = []
    for name, group in groups.items():
        head = group[first.name]
        drawn = (head.get(end) for end in ("value", "ci_low", "ci_high"))
        rows.append(
            (
                name,
                shared.metric_cell(head, state=entry.state, strong=True),
                Cell(svg=interval_mark(*drawn, scale=scale, published=entry.state == "reported")),
                *(shared.metric_cell(group[metric.name], state=entry.state) for metric in shown[1:]),
                _count(head),
            )
        )
    made = shared.table(
        "breakdown",
        rows,
        place=place,
        caption=f"{entry.task} by {by}",
        axis=axis_ticks(scale),
        group=[Column(name="group", label=by, header=True)],
        first=columns[:1],
        more=columns[1:],
    )
    return _folded(f"By {by} ({len(groups)})", made)


def queue_page(snapshot: Snapshot) -> Markup:
    """Renders all submissions, pending ones first in the order in which they wait."""
    pending = snapshot.pending()
    decided = sorted(
        (submission for submission in snapshot.submissions.values() if submission.state != "pending"),
        key=lambda submission: submission.history[-1].at,
        reverse=True,
    )
    accepted = [one for one in decided if one.state == "accepted"]
    rows = [_submission_row(submission, place, accepted) for place, submission in enumerate(pending, start=1)]
    rows += [_submission_row(submission, None, accepted) for submission in decided]
    return markup(
        '<h2 class="mtl-title">Queue and history</h2>',
        f'<p class="mtl-lead">{len(pending):,} pending, {len(accepted):,} accepted, {len(decided) - len(accepted):,} rejected. '
        "A maintainer decides, in the order in which packages came; a decision and its reason stay in the history.</p>",
        shared.table("queue", rows),
    )


def _submission_row(submission: Submission, place: int | None, accepted: Sequence[Submission]) -> list[Cell | str]:
    first, last = submission.history[0], submission.history[-1]
    decided = "" if submission.state == "pending" else last.at
    return [
        Cell("" if place is None else str(place), sort=place),
        shared.model_cell(submission.submitter.model, note="; ".join(name_notes(submission, accepted))),
        submission.submitter.organisation or "not named",
        ", ".join(submission.tasks),
        shared.state_cell(submission.state),
        Cell(moment(first.at), sort=first.at),
        Cell(moment(decided), sort=decided),
        last.reason,
        shared.code_cell(submission.id),
    ]


def history(submissions: Sequence[Submission]) -> Markup:
    """Renders every event of one model's submissions; empty HTML for none."""
    if not submissions:
        return Markup("")
    verified = {None: "", True: "yes: it matches", False: "yes: it does not match"}
    rows = [
        (
            Cell(moment(event.at), sort=event.at),
            shared.code_cell(submission.id),
            shared.state_cell(event.state),
            ", ".join(submission.tasks),
            event.by or "submitter",
            Cell(event.reason, note=f"in place of {event.replaces}" if event.replaces else ""),
            verified[None if event.verified is None else bool(event.verified.get("matches"))],
        )
        for submission in submissions
        for event in submission.history
    ]
    return markup("<h3>Submissions and their history</h3>", shared.table("model-history", rows))


def moment(at: str) -> str:
    """Writes a moment in ISO 8601 to the minute, as a reader takes it."""
    return at[:16].replace("T", " ")
