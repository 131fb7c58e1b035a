"""The page of a model: its results, each with plots, breakdowns and recipe, and the history of its submissions."""

from __future__ import annotations

from collections.abc import Sequence

from medical_tasks.leaderboard.app.cells import coverage_cell, day, metric_cell, state_cell, yes_no
from medical_tasks.leaderboard.app.known import metrics_of, task_order, task_title
from medical_tasks.leaderboard.app.links import Address, in_app_link
from medical_tasks.leaderboard.app.queue_page import history
from medical_tasks.leaderboard.app.reported import differences
from medical_tasks.leaderboard.app.result_details import result_details
from medical_tasks.leaderboard.app.snapshot import Snapshot
from medical_tasks.leaderboard.records import Entry, Submission
from medical_tasks.leaderboard.submission_package.names import name_key
from medical_tasks.report.html_table import Cell, Column, Row, html_table
from medical_tasks.report.html_text import Markup, escaped, link, markup
from medical_tasks.runs.numbers import metric_label

__all__ = ["model_names", "model_page"]


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
    """Writes a model's page.

    Args:
        snapshot: the board.
        model: its name, as submitters or papers write it; what cannot be told apart from it is of the same page.

    Returns:
        HTML. A name that nobody has is said, with the way to those there are.
    """
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
        said.append(
            ("Parameters", escaped("not said" if who.parameters is None else f"{who.parameters:g} billion")),
        )
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
        Column(name="coverage", label="Scored", kind="number", help="Items scored, of those asked"),
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
            in_app_link(entry.task, Address(task=entry.task, group=shown)),
            sort=entry.task,
            note=task_title(entry.task),
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
