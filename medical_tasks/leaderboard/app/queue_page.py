"""What was submitted and what became of it: the queue, the decisions, their reasons."""

from __future__ import annotations

from collections.abc import Sequence

from medical_tasks.leaderboard.app.cells import state_cell
from medical_tasks.leaderboard.app.links import Address, in_app_link
from medical_tasks.leaderboard.app.snapshot import Snapshot
from medical_tasks.leaderboard.places import name_notes
from medical_tasks.leaderboard.records import Event, Submission
from medical_tasks.report.html_table import Cell, Column, Row, html_table
from medical_tasks.report.html_text import Markup, escaped, markup

__all__ = ["history", "moment", "queue_page"]


def queue_page(snapshot: Snapshot) -> Markup:
    """Writes all submissions, those that wait first in the order in which they wait.

    Args:
        snapshot: the board.

    Returns:
        HTML: how many are in which state, and a table.
    """
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
        Column(name="model", label="Model", header=True),
        Column(name="organisation", label="Organisation"),
        Column(name="tasks", label="Tasks"),
        Column(name="state", label="State", facet=True),
        Column(name="submitted", label="Submitted (UTC)"),
        Column(name="decided", label="Decided (UTC)"),
        Column(name="reason", label="Reason"),
        Column(name="id", label="Submission"),
    ]
    accepted = [one for one in decided if one.state == "accepted"]
    rows = [_row(submission, places.get(submission.id), accepted) for submission in (*pending, *decided)]
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


def _row(submission: Submission, place: int | None, accepted: Sequence[Submission]) -> Row:
    last = submission.history[-1]
    waits = submission.state == "pending"
    model = submission.submitter.model
    return Row(
        [
            Cell("" if place is None else str(place), sort=place),
            Cell(
                in_app_link(model, Address(view="model", model=model)),
                sort=model.casefold(),
                note="; ".join(name_notes(submission, accepted)),
            ),
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
    """Writes every event of a model's submissions.

    Args:
        submissions: of one model; none gives empty HTML.
    """
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
