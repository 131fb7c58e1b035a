"""Entries: what a leaderboard shows, of accepted submissions and of published results.

A model's later submission takes the place of its earlier one on the same task in the same setting (`groups.group_of`); the earlier
one stays in the store with its history, and is shown again when the later one is withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from medical_tasks.catalog import benchmark_of, tasks
from medical_tasks.leaderboard.admission import marks
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.events import DamagedError
from medical_tasks.leaderboard.groups import group_of, setting_of
from medical_tasks.leaderboard.published_entries import published_entries
from medical_tasks.leaderboard.records import Entry, EntryState, Submission
from medical_tasks.leaderboard.same_model import model_key

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
    found: dict[tuple[str, ...], Entry] = {}
    for submission in board.submissions("accepted"):  # the newest first
        try:
            made = list(_entries(submission, board.results(submission.id)))
        except DamagedError as error:
            board.damaged[submission.id] = str(error)
            continue
        for entry in made:
            found.setdefault((*model_key(entry.organisation, entry.model), entry.task, entry.group), entry)
    listed = [*found.values(), *(published_entries() if published else ())]
    order = {name: number for number, name in enumerate(tasks())}
    return sorted(listed, key=lambda entry: order[entry.task])


def _entries(submission: Submission, results: Mapping[str, Any]) -> Iterator[Entry]:
    known = tasks()
    submitter, last = submission.submitter, submission.history[-1]
    for name in submission.tasks:
        if name not in known:
            continue  # a task that later versions do not have
        task, entry = known[name], results["tasks"][name]
        yield Entry(
            model=submitter.model,
            organisation=submitter.organisation,
            task=name,
            benchmark=benchmark_of(task).title,
            metrics=entry["metrics"],
            breakdown=entry["breakdown"],
            coverage=entry["coverage"],
            state=_state(name, last.verified),
            setting=setting_of(task, entry["recipe"]),
            group=group_of(task, entry["recipe"]),
            recipe=entry["recipe"],
            submission=submission.id,
            at=submission.history[0].at[:10],
            url=submitter.url,
            differences=tuple(marks(entry)),
        )


def _state(task: str, verified: Mapping[str, Any] | None) -> EntryState:
    """What is shown of a task: verified only where nothing of it rests on the submitter's word for what a judge said."""
    return "accepted" if verified is None or task in verified.get("on_trust", ()) else "verified"
