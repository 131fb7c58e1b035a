"""Each page as it is shown: its HTML in the frame that carries its address, what its selection fields hold; and two compared."""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.comparison.comparing import Compared, compare_results, recipe_differences, shared_rows
from medical_tasks.comparison.tables import flipped_items, signed
from medical_tasks.errors import MedicalTasksError
from medical_tasks.leaderboard.admission import name_notes
from medical_tasks.leaderboard.app import parts as shared
from medical_tasks.leaderboard.app.tables import ALL_GROUPS, OVERALL, differences, overall_page, task_page
from medical_tasks.leaderboard.board import Board, Content, Snapshot
from medical_tasks.leaderboard.ranking import overall_entries
from medical_tasks.leaderboard.records import Entry, Submission
from medical_tasks.leaderboard.submission_package.contents import Package
from medical_tasks.leaderboard.submission_package.submitters import name_key
from medical_tasks.report.html_parts import Cell, Column, Markup, escaped, markup
from medical_tasks.report.plots import axis_ticks, interval_mark, intervals_svg, point_of, scale_of
from medical_tasks.runs.numbers import bounds, coverage, metric_label, number, valued
from medical_tasks.spec import MetricSpec


@dataclass(frozen=True, kw_only=True)
class Field:
    """A selection field: what it offers, and what is chosen."""

    choices: Choices
    value: str
    hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: its complete address, its HTML, and its selection fields by name."""

    address: shared.Address
    html: Markup
    fields: dict[str, Field] = field(default_factory=dict)


def framed(html: str, address: shared.Address) -> Markup:
    """Puts HTML into the frame that gives it the look of the leaderboard, and its address."""
    return markup(f'<div class="mt mtl" data-address="{escaped(address.query)}">', html, "</div>")


def page_at(content: Content, address: shared.Address) -> Page:
    """Makes the page of an address; what it names and is not there falls back to what is."""
    snapshot = content.snapshot()
    made = _MAKERS.get(address.view, _leaderboard)(content, snapshot, address)
    above = Markup("")
    if snapshot.problem:
        taken = snapshot.taken[:16].replace("T", " ")
        shown = f"What is shown is of {taken} UTC." if taken else "Nothing can be shown."
        said = f"{shown} Reload the page to try again."
        above = shared.notice("bad", "The leaderboard's store cannot be read now", said)
    return replace(made, html=framed(markup(above, made.html), made.address))


def _chosen(offered: Choices, value: str, default: str = "") -> str:
    values = [each for _, each in offered]
    return value if value in values else default if default in values else values[0] if values else ""


def _leaderboard(content: Content, snapshot: Snapshot, address: shared.Address) -> Page:
    counts = Counter(entry.task for entry in snapshot.entries)
    named = [
        (f"{tasks()[each].benchmark.title}: {each} ({counts[each]:,})", each) for each in shared.task_order(counts)
    ]
    offered = [("All benchmarks", OVERALL), *named]
    task = _chosen(offered, address.task, _first_task(snapshot))
    entries = [] if task == OVERALL else [entry for entry in snapshot.entries if entry.task == task]
    metrics = [(metric.name, metric.name) for metric in shared.ranked_metrics(entries)]
    listed = shared.groups_of(entries)
    groups = [(f"{each.name} ({len(each.entries):,}): {each.words}", each.name) for each in listed]
    groups += [("All groups, each ranked by itself", ALL_GROUPS)] if len(groups) > 1 else []
    metric, group = _chosen(metrics, address.metric), _chosen(groups, address.group)
    html = overall_page(snapshot) if task == OVERALL else task_page(snapshot, task, metric=metric, group=group)
    # Of what is chosen by itself an address says nothing.
    said = {
        "metric": "" if metric == _chosen(metrics, "") else metric,
        "group": "" if group == _chosen(groups, "") else group,
    }
    fields = {
        "task": Field(choices=offered, value=task),
        "metric": Field(choices=metrics, value=metric, hidden=len(metrics) < 2),
        "group": Field(choices=groups, value=group, hidden=len(groups) < 2),
    }
    return Page(address=shared.Address(task=task, **said), html=html, fields=fields)


def _first_task(snapshot: Snapshot) -> str:
    """The overall table, if a model has a place in it; else the task that most submissions are of."""
    if any(not row.missing for row in overall_entries(snapshot.entries)):
        return OVERALL
    counts = Counter(entry.task for entry in snapshot.entries if entry.submission)
    return counts.most_common(1)[0][0] if counts else OVERALL


def _field(offered: Choices, value: str) -> Field:
    return Field(choices=offered, value=value if any(value == each for _, each in offered) else "")


def _model(content: Content, snapshot: Snapshot, address: shared.Address) -> Page:
    fields = {"model": _field([(name, name) for name in model_names(snapshot)], address.model)}
    return Page(
        address=shared.Address(view="model", model=address.model),
        html=model_page(snapshot, address.model),
        fields=fields,
    )


def _compare(content: Content, snapshot: Snapshot, address: shared.Address) -> Page:
    counts = Counter(entry.task for entry in snapshot.entries if entry.submission)
    several = [each for each in shared.task_order(counts) if counts[each] > 1]
    offered = [(f"{tasks()[each].benchmark.title}: {each}", each) for each in several]
    task = _chosen(offered, address.task)
    entries = comparable_entries(snapshot, task)
    apart = len({entry.group for entry in entries}) > 1
    # Each is told from others of the same model.
    words = [(each.model, f"group {each.group}" * apart, each.at[:10], each.submission[:6]) for each in entries]
    submissions = [(" · ".join(filter(None, said)), each.submission) for said, each in zip(words, entries, strict=True)]
    # An unknown id in an address is kept, so that the page says what is wrong with it.
    html = compare_page(content.board, snapshot, task, address.first, address.second)
    if not offered:
        html = markup('<p class="mtl-empty">No task has two accepted submissions yet.</p>')
    fields = {
        "compared_task": Field(choices=offered, value=task),
        "first": _field(submissions, address.first),
        "second": _field(submissions, address.second),
    }
    place = shared.Address(view="compare", task=task, first=address.first, second=address.second)
    return Page(address=place, html=html, fields=fields)


def _plain(content: Content, snapshot: Snapshot, address: shared.Address) -> Page:
    # Submit and about do not change: their HTML is there from the start.
    html = queue_page(snapshot) if address.view == "queue" else Markup("")
    return Page(address=shared.Address(view=address.view), html=html)


_MAKERS: dict[str, Callable[[Content, Snapshot, shared.Address], Page]] = {
    **dict.fromkeys(("queue", "submit", "about"), _plain),
    "model": _model,
    "compare": _compare,
}


Choices = list[tuple[str, str]]


_KEPT_PACKAGES = 4


def comparable_entries(snapshot: Snapshot, task: str) -> list[Entry]:
    """Entries of a task that have item rows: those of submissions, the newest first."""
    found = [entry for entry in snapshot.entries if entry.task == task and entry.submission]
    return sorted(found, key=lambda entry: entry.at, reverse=True)


def compare_page(board: Board, snapshot: Snapshot, task: str, first: str, second: str) -> Markup:
    """Compares two submissions on a task: differences (B minus A) with intervals, tests, power, and the items that flipped."""
    entries = {entry.submission: entry for entry in comparable_entries(snapshot, task)}
    if not first or not second:
        return markup('<p class="mtl-empty">Choose two submissions of a task.</p>')
    missing = [name for name in (first, second) if name not in entries]
    if missing:
        why = (
            f"Submission {missing[0]} is not on the board with {task}: only accepted submissions have items to compare, a paper's "
            "figures have none. Choose another above."
        )
        return shared.notice("bad", "These cannot be compared", why)
    if first == second:
        return shared.notice("note", "Choose two different submissions", "A submission equals itself.")
    a, b = entries[first], entries[second]
    if a.group != b.group:
        return _other_groups(a, b)
    try:
        compared = _compared(board, task, a, b)
    except MedicalTasksError as error:
        return shared.notice("bad", "These cannot be compared", *str(error).splitlines())
    pair = [
        (letter, entry, " · ".join(filter(None, (entry.organisation, entry.setting, entry.at[:10]))))
        for letter, entry in (("A", a), ("B", b))
    ]
    return shared.filled("compared.html", pair=pair, most=_MOST_FLIPS, **compared)


def _compared(board: Board, task: str, a: Entry, b: Entry) -> dict[str, Any]:
    """What the page says below the heading: `parts`, and `flips` by the headline `metric`, where both have values of it."""
    made = []
    for entry in (a, b):
        package = _package(board, entry.submission)
        results = {**package.results, "tasks": {task: package.results["tasks"][task]}}
        rows = [row for row in package.items if row["task"] == task]
        made.append(Compared(label=entry.model, results=results, rows=rows))
    result = compare_results(made[0], made[1], tasks())[task]
    if result["refused"]:
        return {"parts": [shared.notice("bad", "These cannot be compared", *result["refused"])], "metric": ""}
    warnings = [f"{text}." if not text.endswith(".") else text for text in result["warnings"]]
    parts = shared.judge_warning(a.recipe)
    parts += [shared.notice("note", "To know about this comparison", *warnings)] if warnings else []
    known = {metric.name: metric for metric in tasks()[task].metrics}
    table = [_metric_row(known[name], told) for name, told in result["metrics"].items() if name in known]
    parts.append(shared.page_table("comparison", table, caption=f"{task}: {result['n_items']:,} items in both"))
    headline = tasks()[task].metrics[0]
    if headline.name not in result["metrics"]:
        return {"parts": parts, "metric": ""}
    return {"parts": parts, "metric": headline.name, "flips": _flipped(headline, made[0].rows, made[1].rows)}


@functools.lru_cache(maxsize=_KEPT_PACKAGES)
def _package(board: Board, name: str) -> Package:
    """Kept: whoever compares one with several others does not read it each time."""
    return board.package(name)


def _other_groups(a: Entry, b: Entry) -> Markup:
    """Why entries of two groups are not compared: what differs, and what each group is."""
    differ = recipe_differences(a.task, a.recipe, b.recipe, metrics=tasks()[a.task].metrics)
    reasons = [*differ.refused, *differ.warned]
    groups = (
        f"{letter} is in group {entry.group}: {shared.Group(name=entry.group, entries=(entry,)).words}."
        for letter, entry in (("A", a), ("B", b))
    )
    head = "These are of different groups, so their difference would not be the models' alone"
    return shared.notice("bad", head, *groups, *reasons)


_MOST_FLIPS: Final = 2000


def _metric_row(metric: MetricSpec, told: Mapping[str, Any]) -> list[Cell | str]:
    unit, flips = metric.unit, told.get("flips")
    low, high, p = (told.get(key) for key in ("ci_low", "ci_high", "p"))
    note = "no interval" if low is None or high is None else f"{signed(low, unit)} to {signed(high, unit)}"
    return [
        Cell(metric_label(metric.name, told), note="" if metric.higher_is_better else "lower is better"),
        valued(told, "value_a"),
        valued(told, "value_b"),
        Cell(signed(told.get("difference"), unit), note=note, strong=True),
        _verdict(metric, low, high),
        Cell("n/a" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}", title=str(told.get("test", ""))),
        "n/a" if not flips else f"{flips['improved']} / {flips['worsened']} / {flips['same']}",
        number(told.get("minimum_detectable_difference"), unit),
        Cell(f"{told.get('n', 0):,}", note="; ".join(told.get("notes") or ())),
    ]


def _verdict(metric: MetricSpec, low: float | None, high: float | None) -> str:
    """Says in words what the interval says: no difference is a tie until the interval leaves zero."""
    if low is None or high is None:
        return "cannot be told"
    if low <= 0 <= high:
        return "no difference shown"
    return "B is better" if (low > 0) == metric.higher_is_better else "A is better"


def _flipped(metric: MetricSpec, first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Rows of the table of items that changed."""
    rows = [{row["id"]: row for row in each} for each in (first, second)]
    groups = {
        name: ", ".join(f"{key.removeprefix('group_')} {row[key]}" for key in row if key.startswith("group_"))
        for name, row in rows[1].items()
    }
    found = flipped_items(metric, *shared_rows(*rows), most=len(second), parsed=False)
    return [
        (
            each["id"],
            f"better in {'B' if change == 'improved' else 'A'}",
            *(Cell(number(each[side], metric.unit), sort=each[side]) for side in ("a", "b")),
            groups[each["id"]],
        )
        for change, items in found.items()
        for each in items
    ]


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
    results: list[Markup] = []
    table = Markup("")
    if mine:
        differ = any(entry.differences for entry in mine)
        more = [Column(name="differences", label="How it differs")] if differ else []
        rows = [_result(entry, differ=differ) for entry in mine]
        table = shared.page_table("model-results", rows, differ=more)
        results = [result_details(entry, number) for number, entry in enumerate(mine)]
    named = [one.submitter.organisation for one in submissions]
    others = ", ".join(sorted(each or "nobody named" for each in {*named} - {*named[:1]}))
    said = {"submissions": submissions, "others": others, "history": history(submissions)}
    return shared.filled("model.html", model=model, quoted=repr(model), results=results, table=table, **said)


def _result(entry: Entry, *, differ: bool) -> list[Cell | str]:
    headline = next(iter(shared.metrics_of([entry])), None)
    told = entry.metrics[headline.name] if headline else None
    shown = "" if entry.state == "reported" else entry.group
    task = shared.in_app_link(entry.task, shared.Address(task=entry.task, group=shown))
    return [
        Cell(task, sort=entry.task, note=tasks()[entry.task].title),
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
    metrics = shared.metrics_of([entry])
    shares = [metric for metric in metrics if not metric.unit and all(map(math.isfinite, metric.limits))]
    parts = shared.judge_warning(entry.recipe)
    if shares:
        told = (
            (metric_label(metric.name, entry.metrics[metric.name]), entry.metrics[metric.name]) for metric in shares
        )
        points = [point_of(*each, published=entry.state == "reported") for each in told]
        parts.append(intervals_svg(points, id=f"result-{number}-plot", title="Metrics with their 95 % intervals"))
    parts.append(_metrics_table(entry, metrics, number))
    breakdowns = [
        (f"By {by} ({len(groups)})", made)
        for place, (by, groups) in enumerate(entry.breakdown.items())
        if (made := _breakdown_table(entry, by, metrics, place=f"result-{number}-by-{place}"))
    ]
    recipe = json.dumps(entry.recipe, indent=2, ensure_ascii=False) if entry.recipe else ""
    return shared.filled("result.html", entry=entry, parts=parts, breakdowns=breakdowns, recipe=recipe)


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
    return shared.page_table("metrics", rows, id=f"result-{number}-metrics", caption=f"Metrics of {entry.task}")


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
    return shared.page_table(
        "breakdown",
        rows,
        id=place,
        caption=f"{entry.task} by {by}",
        axis=axis_ticks(scale),
        group=[Column(name="group", label=by, header=True)],
        first=columns[:1],
        more=columns[1:],
    )


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
    counts = {"pending": len(pending), "accepted": len(accepted), "rejected": len(decided) - len(accepted)}
    return shared.filled("queue.html", rows=rows, **counts)


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


def history(submissions: Sequence[Submission]) -> list[Any]:
    """Rows of every event of one model's submissions."""
    verified = {None: "", True: "yes: it matches", False: "yes: it does not match"}
    return [
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


def moment(at: str) -> str:
    """Writes a moment in ISO 8601 to the minute, as a reader takes it."""
    return at[:16].replace("T", " ")
