"""Each page as it is shown: its HTML in the frame that carries its address, and what its selection fields hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from medical_tasks.benchmarks.catalog import BENCHMARKS
from medical_tasks.leaderboard.app.compare_page import comparable_entries, compare_page
from medical_tasks.leaderboard.app.model_page import model_names, model_page, queue_page
from medical_tasks.leaderboard.app.parts import (
    Address,
    badge,
    benchmark_title,
    groups_of,
    own_assets_text,
    page_data,
    ranked_metrics,
    store_notice,
    task_order,
)
from medical_tasks.leaderboard.app.snapshot import Content, Snapshot
from medical_tasks.leaderboard.app.tables import ALL_GROUPS, OVERALL, overall_page, task_page
from medical_tasks.leaderboard.ranking import overall_entries
from medical_tasks.leaderboard.records import Entry
from medical_tasks.report.html_parts import Markup, escaped, link, markup


@dataclass(frozen=True, kw_only=True)
class Field:
    """A selection field: what it offers, and what is chosen."""

    choices: Choices
    value: str
    hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: its complete address, its HTML, and its selection fields by name."""

    address: Address
    html: Markup
    fields: dict[str, Field] = field(default_factory=dict)


def framed(html: str, address: Address) -> Markup:
    """Puts HTML into the frame that gives it the look of the leaderboard, and its address."""
    return markup(f'<div class="mt mtl" data-address="{escaped(address.query)}">', html, "</div>")


def page_at(content: Content, address: Address) -> Page:
    """Makes the page of an address.

    What an address names and is not there falls back to what is; a store that cannot be read is reported above the last state.
    """
    snapshot = content.snapshot()
    made = _MAKERS.get(address.view, _leaderboard)(content, snapshot, address)
    return replace(made, html=framed(markup(store_notice(snapshot), made.html), made.address))


def _chosen(offered: Choices, value: str, default: str = "") -> str:
    values = [each for _, each in offered]
    return value if value in values else default if default in values else values[0] if values else ""


def _leaderboard(content: Content, snapshot: Snapshot, address: Address) -> Page:
    offered = task_choices(snapshot)
    task = _chosen(offered, address.task, _first_task(snapshot))
    entries = [] if task == OVERALL else [entry for entry in snapshot.entries if entry.task == task]
    metrics = [(metric.name, metric.name) for metric in ranked_metrics(task, entries)]
    groups = group_choices(entries)
    metric, group = _chosen(metrics, address.metric), _chosen(groups, address.group)
    html = overall_page(snapshot) if task == OVERALL else task_page(snapshot, task, metric=metric, group=group)
    # Of what is chosen by itself an address says nothing.
    named = {
        "metric": "" if metric == _chosen(metrics, "") else metric,
        "group": "" if group == _chosen(groups, "") else group,
    }
    fields = {
        "task": Field(choices=offered, value=task),
        "metric": Field(choices=metrics, value=metric, hidden=len(metrics) < 2),
        "group": Field(choices=groups, value=group, hidden=len(groups) < 2),
    }
    return Page(address=Address(task=task, **named), html=html, fields=fields)


def _first_task(snapshot: Snapshot) -> str:
    """The overall table, if a model has a place in it; else the task that most submissions are of."""
    if any(not row.partial for row in overall_entries(snapshot.entries)):
        return OVERALL
    counts = Counter(entry.task for entry in snapshot.entries if entry.submission)
    return counts.most_common(1)[0][0] if counts else OVERALL


def _field(offered: Choices, value: str) -> Field:
    return Field(choices=offered, value=value if any(value == each for _, each in offered) else "")


def _model(content: Content, snapshot: Snapshot, address: Address) -> Page:
    fields = {"model": _field([(name, name) for name in model_names(snapshot)], address.model)}
    place = Address(view="model", model=address.model)
    return Page(address=place, html=model_page(snapshot, address.model), fields=fields)


def _compare(content: Content, snapshot: Snapshot, address: Address) -> Page:
    offered = compared_task_choices(snapshot)
    task = _chosen(offered, address.task)
    submissions = submission_choices(snapshot, task)
    # An unknown id in an address is kept, so that the page says what is wrong with it.
    html = compare_page(content.board, snapshot, task, address.first, address.second)
    if not offered:
        html = markup('<p class="mtl-empty">No task has two accepted submissions yet.</p>')
    fields = {
        "compared_task": Field(choices=offered, value=task),
        "first": _field(submissions, address.first),
        "second": _field(submissions, address.second),
    }
    return Page(
        address=Address(view="compare", task=task, first=address.first, second=address.second), html=html, fields=fields
    )


_MAKERS: dict[str, Callable[[Content, Snapshot, Address], Page]] = {
    "leaderboard": _leaderboard,
    "model": _model,
    "compare": _compare,
    "queue": lambda content, snapshot, address: Page(address=Address(view="queue"), html=queue_page(snapshot)),
    # The others do not change: their HTML is there from the start.
    "submit": lambda content, snapshot, address: Page(address=Address(view="submit"), html=Markup("")),
    "about": lambda content, snapshot, address: Page(address=Address(view="about"), html=Markup("")),
}


Choices = list[tuple[str, str]]


def task_choices(snapshot: Snapshot) -> Choices:
    """The overall table, then each task with an entry, below its benchmark's title."""
    counts = Counter(entry.task for entry in snapshot.entries)
    named = [(f"{benchmark_title(task)}: {task} ({counts[task]:,})", task) for task in task_order(counts)]
    return [("All benchmarks", OVERALL), *named]


def group_choices(entries: Sequence[Entry]) -> Choices:
    """The task's groups, the largest first, and all of them where there are several."""
    groups = groups_of(entries)
    named = [(f"{group.name} ({len(group.entries):,}): {group.words}", group.name) for group in groups]
    return [*named, ("All groups, each ranked by itself", ALL_GROUPS)] if len(named) > 1 else named


def compared_task_choices(snapshot: Snapshot) -> Choices:
    """Tasks with at least two submissions that could be compared."""
    counts = Counter(entry.task for entry in snapshot.entries if entry.submission)
    return [(f"{benchmark_title(task)}: {task}", task) for task in task_order(counts) if counts[task] > 1]


def submission_choices(snapshot: Snapshot, task: str) -> Choices:
    """Submissions of a task, each told from others of the same model."""
    entries = comparable_entries(snapshot, task)
    several = len({entry.group for entry in entries}) > 1
    return [
        (
            " · ".join(
                filter(
                    None, (entry.model, f"group {entry.group}" if several else "", entry.at[:10], entry.submission[:6])
                )
            ),
            entry.submission,
        )
        for entry in entries
    ]


def about_page() -> Markup:
    """Fills the page's text (`assets/about.html`) with the states and the benchmarks."""
    states = "".join(
        f"<div><dt>{badge(state)}</dt><dd>{escaped(words)}</dd></div>" for state, words in page_data()["states"].items()
    )
    benchmarks = "".join(
        f"<li>{link(benchmark.title, benchmark.paper)}: {escaped(', '.join(task.name for task in benchmark.tasks))}</li>"
        for benchmark in BENCHMARKS
    )
    text = own_assets_text("about.html").replace("\n", "")
    return Markup(text.replace("{states}", states).replace("{benchmarks}", benchmarks))
