"""Each page as it is shown: its HTML in the frame that carries its address, and what its selection fields hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from medical_tasks.leaderboard.app import choices
from medical_tasks.leaderboard.app.choices import Choices
from medical_tasks.leaderboard.app.compare_page import compare_page
from medical_tasks.leaderboard.app.links import Address
from medical_tasks.leaderboard.app.model_page import model_page
from medical_tasks.leaderboard.app.notices import store_notice
from medical_tasks.leaderboard.app.overall_page import OVERALL, overall_page
from medical_tasks.leaderboard.app.queue_page import queue_page
from medical_tasks.leaderboard.app.snapshot import Content, Snapshot
from medical_tasks.leaderboard.app.tables import task_page
from medical_tasks.leaderboard.overall import overall_entries
from medical_tasks.report.html_text import Markup, escaped, markup

__all__ = ["Field", "Page", "framed", "page_at"]


@dataclass(frozen=True, kw_only=True)
class Field:
    """A selection field.

    Attributes:
        choices: what it offers.
        value: what is chosen, one of them or "".
        hidden: whether it has nothing to choose.
    """

    choices: Choices
    value: str
    hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page.

    Attributes:
        address: where it is; what was not said of it is filled in.
        html: what is shown.
        fields: name of a selection field to what it holds.
    """

    address: Address
    html: Markup
    fields: dict[str, Field] = field(default_factory=dict)


def framed(html: str, address: Address) -> Markup:
    """Puts HTML into the frame that gives it the look of the leaderboard, and its address."""
    return markup(f'<div class="mt mtl" data-address="{escaped(address.query)}">', html, "</div>")


def page_at(content: Content, address: Address) -> Page:
    """Makes the page of an address.

    Args:
        content: the board.
        address: any; what it names and is not there falls back to what is.

    Returns:
        The page. Where the store cannot be read, it says so above what was read before.
    """
    snapshot = content.snapshot()
    made = _MAKERS.get(address.view, _leaderboard)(content, snapshot, address)
    return replace(made, html=framed(markup(store_notice(snapshot), made.html), made.address))


def _chosen(offered: Choices, value: str, default: str = "") -> str:
    values = [each for _, each in offered]
    return value if value in values else default if default in values else values[0] if values else ""


def _leaderboard(content: Content, snapshot: Snapshot, address: Address) -> Page:
    offered = choices.task_choices(snapshot)
    task = _chosen(offered, address.task, _first_task(snapshot))
    if task == OVERALL:
        fields = {
            "task": Field(choices=offered, value=task),
            "metric": Field(choices=[], value="", hidden=True),
            "group": Field(choices=[], value="", hidden=True),
        }
        return Page(address=Address(task=task), html=overall_page(snapshot), fields=fields)
    metrics = choices.metric_choices(snapshot, task)
    groups = choices.group_choices(snapshot, task)
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
    offered = choices.model_choices(snapshot)
    known = any(value == address.model for _, value in offered)
    fields = {"model": Field(choices=offered, value=address.model if known else "")}
    return Page(
        address=Address(view="model", model=address.model), html=model_page(snapshot, address.model), fields=fields
    )


def _compare(content: Content, snapshot: Snapshot, address: Address) -> Page:
    offered = choices.compared_task_choices(snapshot)
    task = _chosen(offered, address.task)
    submissions = choices.submission_choices(snapshot, task)
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
