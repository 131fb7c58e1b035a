"""Each page as it is shown: its HTML in the frame that carries its address, and what its selection fields hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from medical_tasks.benchmarks.catalog import BENCHMARKS
from medical_tasks.leaderboard.app.compare_page import comparable_entries, compare_page
from medical_tasks.leaderboard.app.model_page import model_names, model_page, queue_page
from medical_tasks.leaderboard.app.parts import (
    STATE_WORDS,
    Address,
    badge,
    benchmark_title,
    groups_of,
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
    if task == OVERALL:
        fields = {
            "task": Field(choices=offered, value=task),
            "metric": Field(choices=[], value="", hidden=True),
            "group": Field(choices=[], value="", hidden=True),
        }
        return Page(address=Address(task=task), html=overall_page(snapshot), fields=fields)
    metrics = metric_choices(snapshot, task)
    groups = group_choices(snapshot, task)
    metric, group = _chosen(metrics, address.metric), _chosen(groups, address.group)
    default = metrics[0][1] if metrics else ""
    largest = groups[0][1] if groups else ""
    return Page(
        address=Address(task=task, metric="" if metric == default else metric, group="" if group == largest else group),
        html=task_page(snapshot, task, metric=metric, group=group),
        fields={
            "task": Field(choices=offered, value=task),
            "metric": Field(choices=metrics, value=metric, hidden=len(metrics) < 2),
            "group": Field(choices=groups, value=group, hidden=len(groups) < 2),
        },
    )


def _first_task(snapshot: Snapshot) -> str:
    """The overall table, if a model has a place in it; else the task that most submissions are of."""
    if any(not row.partial for row in overall_entries(snapshot.entries)):
        return OVERALL
    counts = Counter(entry.task for entry in snapshot.entries if entry.submission)
    return counts.most_common(1)[0][0] if counts else OVERALL


def _model(content: Content, snapshot: Snapshot, address: Address) -> Page:
    offered = model_choices(snapshot)
    known = any(value == address.model for _, value in offered)
    fields = {"model": Field(choices=offered, value=address.model if known else "")}
    return Page(
        address=Address(view="model", model=address.model), html=model_page(snapshot, address.model), fields=fields
    )


def _compare(content: Content, snapshot: Snapshot, address: Address) -> Page:
    offered = compared_task_choices(snapshot)
    task = _chosen(offered, address.task)
    submissions = submission_choices(snapshot, task)
    values = {value for _, value in submissions}
    # An unknown id in an address is kept, so that the page says what is wrong with it.
    html = compare_page(content.board, snapshot, task, address.first, address.second)
    if not offered:
        html = markup('<p class="mtl-empty">No task has two accepted submissions yet.</p>')
    fields = {
        "compared_task": Field(choices=offered, value=task),
        "first": Field(choices=submissions, value=address.first if address.first in values else ""),
        "second": Field(choices=submissions, value=address.second if address.second in values else ""),
    }
    return Page(
        address=Address(view="compare", task=task, first=address.first, second=address.second), html=html, fields=fields
    )


def _queue(content: Content, snapshot: Snapshot, address: Address) -> Page:
    return Page(address=Address(view="queue"), html=queue_page(snapshot))


def _still(content: Content, snapshot: Snapshot, address: Address) -> Page:
    """A page that does not change: its HTML is there from the start."""
    return Page(address=Address(view=address.view), html=Markup(""))


_MAKERS: dict[str, Callable[[Content, Snapshot, Address], Page]] = {
    "leaderboard": _leaderboard,
    "model": _model,
    "compare": _compare,
    "queue": _queue,
    "submit": _still,
    "about": _still,
}


Choices = list[tuple[str, str]]


def task_choices(snapshot: Snapshot) -> Choices:
    """The overall table, then each task with an entry, below its benchmark's title."""
    counts: dict[str, int] = {}
    for entry in snapshot.entries:
        counts[entry.task] = counts.get(entry.task, 0) + 1
    named = [(f"{benchmark_title(task)}: {task} ({counts[task]:,})", task) for task in task_order(counts)]
    return [("All benchmarks", OVERALL), *named]


def metric_choices(snapshot: Snapshot, task: str) -> Choices:
    """The task's metrics, the headline first; none for the overall table."""
    return [(metric.name, metric.name) for metric in ranked_metrics(task, _entries_of_task(snapshot, task))]


def group_choices(snapshot: Snapshot, task: str) -> Choices:
    """The task's groups, the largest first, and all of them where there are several."""
    groups = groups_of(_entries_of_task(snapshot, task))
    named = [(f"{group.name} ({len(group.entries):,}): {group.words}", group.name) for group in groups]
    return [*named, ("All groups, each ranked by itself", ALL_GROUPS)] if len(named) > 1 else named


def model_choices(snapshot: Snapshot) -> Choices:
    """All models."""
    return [(name, name) for name in model_names(snapshot)]


def compared_task_choices(snapshot: Snapshot) -> Choices:
    """Tasks with at least two submissions that could be compared."""
    counts: dict[str, int] = {}
    for entry in snapshot.entries:
        if entry.submission:
            counts[entry.task] = counts.get(entry.task, 0) + 1
    return [(f"{benchmark_title(task)}: {task}", task) for task in task_order(counts) if counts[task] > 1]


def submission_choices(snapshot: Snapshot, task: str) -> Choices:
    """Submissions of a task, each told from others of the same model."""
    entries = comparable_entries(snapshot, task)
    several = len({entry.group for entry in entries}) > 1
    return [(_submission_words(entry, with_group=several), entry.submission) for entry in entries]


def _submission_words(entry: Entry, *, with_group: bool) -> str:
    said = [entry.model, f"group {entry.group}" if with_group else "", entry.at[:10], entry.submission[:6]]
    return " · ".join(part for part in said if part)


def _entries_of_task(snapshot: Snapshot, task: str) -> Sequence[Entry]:
    return [entry for entry in snapshot.entries if entry.task == task]


_STEPS = (
    ("Run the tasks", "medical-tasks run --tasks medcalc --model hf/OWNER/MODEL --out runs/my-model"),
    (
        "Make a package of the run",
        "medical-tasks submit runs/my-model --to space --model-name 'My model' --organisation 'My group' --out my-model.zip",
    ),
    ("See whether it holds", "medical-tasks verify my-model.zip"),
)
_RULES = (
    "A number never stands alone: it has a 95 % interval, and how many of the items asked were scored.",
    "Entries are ranked inside a group alone: the same task version, data, prompts, judge and settings of scoring.",
    "A rank is a range. Where the intervals of two models overlap, both can hold the place, and the table says so.",
    "Failures are not answers: an item the machinery lost is unscored, with its reason and what it could change; a wrong or "
    "unreadable answer counts as wrong.",
    "Numbers of a judge that compares words understand nothing; they carry a warning and are no result.",
    "Figures from papers are shown as their authors print them, with how their setting differs, and without a rank.",
)
_KEPT = (
    "Of open data a package holds the answers, so that anybody can score them again. Of credentialed data it holds ids, scores "
    "and hashes, and no text of notes, questions, answers or judges.",
    "The content hash of a package says that nothing was changed since it was made. It does not say who made it: that is what "
    "scoring again is for.",
    "A package that is refused leaves nothing behind. One that is submitted stays in the store with every decision about it, also "
    "when it is rejected.",
)


def about_page() -> Markup:
    """Writes the page."""
    steps = "".join(
        f'<li>{escaped(title)}<pre tabindex="0" role="region" aria-label="{escaped(title)}">'
        f"<code>{escaped(command)}</code></pre></li>"
        for title, command in _STEPS
    )
    states = "".join(
        f"<div><dt>{badge(state)}</dt><dd>{escaped(words)}</dd></div>" for state, words in STATE_WORDS.items()
    )
    benchmarks = "".join(
        f"<li>{link(benchmark.title, benchmark.paper)}: {escaped(', '.join(task.name for task in benchmark.tasks))}</li>"
        for benchmark in BENCHMARKS
    )
    return markup(
        '<h2 class="mtl-title">About this leaderboard</h2>',
        '<p class="mtl-lead">Five medical benchmarks for language models, scored by one suite, medical-tasks, with the same rules '
        "for everybody.</p>",
        f'<h3>How to take part</h3><ol class="mtl-steps">{steps}</ol>',
        "<p>Then upload the zip file under Submit. The same run always gives the same package; submitting it twice changes "
        "nothing.</p>",
        f"<h3>Rules</h3><ul>{_items(_RULES)}</ul>",
        f'<h3>What the states mean</h3><dl class="mtl-facts mtl-states">{states}</dl>',
        f"<h3>What is kept</h3><ul>{_items(_KEPT)}</ul>",
        f"<h3>Benchmarks and their tasks</h3><ul>{benchmarks}</ul>",
    )


def _items(texts: tuple[str, ...]) -> str:
    return "".join(f"<li>{escaped(text)}</li>" for text in texts)
