"""Entries: what a leaderboard shows, of accepted submissions and of published results.

Of several submissions under one name `places` says which is shown on a task in a setting (`groups.group_of`); the others stay in
the store with their history, and are shown again when it is withdrawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.leaderboard.admission import marks
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.events import DamagedError
from medical_tasks.leaderboard.groups import setting_of
from medical_tasks.leaderboard.places import Row, key_of, places, rows_of, state_of
from medical_tasks.leaderboard.published_entries import published_entries
from medical_tasks.leaderboard.records import Entry, Submission

__all__ = ["entries_of"]


def entries_of(board: Board, *, published: bool = True) -> list[Entry]:
    """Lists the entries.

    Args:
        board: the submissions.
        published: whether the papers' results are among them.

    Returns:
        By task, in the order of the catalog; of each the submitted ones, the newest first, then the published ones.

    Raises:
        MissingError: The store cannot be reached.
    """
    accepted: list[tuple[Submission, list[Row]]] = []
    for submission in board.submissions("accepted"):  # the newest first
        try:
            accepted.append((submission, rows_of(submission, board.results(submission.id))))
        except DamagedError as error:
            board.damaged[submission.id] = str(error)
    held = places(accepted)
    listed = [
        _entry(submission, row, board.results(submission.id))
        for submission, rows in accepted
        for row in rows
        if held.get((key_of(submission), row)) is submission
    ]
    listed += published_entries() if published else ()
    order = {name: number for number, name in enumerate(tasks())}
    return sorted(listed, key=lambda entry: order[entry.task])


def _entry(submission: Submission, row: Row, results: Mapping[str, Any]) -> Entry:
    submitter, (name, group) = submission.submitter, row
    task, entry = tasks()[name], results["tasks"][name]
    return Entry(
        model=submitter.model,
        organisation=submitter.organisation,
        task=name,
        benchmark=task.benchmark.title,
        metrics=entry["metrics"],
        breakdown=entry["breakdown"],
        coverage=entry["coverage"],
        state=state_of(submission, name),
        setting=setting_of(task, entry["recipe"]),
        group=group,
        recipe=entry["recipe"],
        submission=submission.id,
        at=submission.history[0].at[:10],
        url=submitter.url,
        differences=tuple(marks(entry)),
    )
