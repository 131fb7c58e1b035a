"""Who has a place on the board: whoever was accepted first under a name keeps it, until a maintainer says who takes it.

Packages prove nothing about who made them. A submission whose name cannot be told apart from an accepted one's gets places only by
the word of whoever accepts it (`Event.replaces`), and never one where a verified result stands and its own is not verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.leaderboard.groups import group_of
from medical_tasks.leaderboard.records import EntryState, Submission
from medical_tasks.leaderboard.submission_package.names import model_key, name_key
from medical_tasks.runs.recipe_differences import one_line

__all__ = ["Row", "holders", "key_of", "name_notes", "named", "places", "rows_of", "state_of"]

Row = tuple[str, str]
"""A task, and the group of the result on it."""


def key_of(submission: Submission) -> tuple[str, str]:
    """Names the model that a submission says it is of."""
    return model_key(submission.submitter.organisation, submission.submitter.model)


def rows_of(submission: Submission, results: Mapping[str, Any]) -> list[Row]:
    """The rows that a submission's results would have, of tasks that this version has."""
    known = tasks()
    return [
        (name, group_of(known[name], results["tasks"][name]["recipe"])) for name in submission.tasks if name in known
    ]


def state_of(submission: Submission, task: str) -> EntryState:
    """What is shown of a task: verified only where nothing of it rests on the submitter's word for what a judge said."""
    verified = submission.history[-1].verified
    return "unverified" if verified is None or task in verified.get("on_trust", ()) else "verified"


def places(accepted: Iterable[tuple[Submission, Sequence[Row]]]) -> dict[tuple[tuple[str, str], Row], Submission]:
    """Says whose result stands where.

    Args:
        accepted: the accepted submissions, each with its rows.

    Returns:
        Model and row to the submission that is shown there.
    """
    held: dict[tuple[tuple[str, str], Row], Submission] = {}
    taken: set[tuple[str, str]] = set()
    for submission, rows in sorted(accepted, key=lambda each: _order(each[0])):
        key = key_of(submission)
        if key in taken and not submission.history[-1].replaces:
            continue  # two were accepted at the same moment
        taken.add(key)
        for row in rows:
            before = held.get((key, row))
            lowers = before is not None and (state_of(before, row[0]), state_of(submission, row[0])) == (
                "verified",
                "unverified",
            )
            if not lowers:
                held[key, row] = submission
    return held


def holders(submission: Submission, others: Iterable[Submission]) -> list[Submission]:
    """Those accepted under a name that cannot be told apart from this submission's, the one accepted first in front."""
    key = key_of(submission)
    return sorted((one for one in others if _is_other(one, submission) and key_of(one) == key), key=_order)


def name_notes(submission: Submission, others: Sequence[Submission]) -> list[str]:
    """Says what a maintainer must know of a submission's name: whose it is already, or who else has results under it."""
    taken = holders(submission, others)
    if submission.state == "pending" and taken:
        return [f"its name is taken: it cannot be told apart from {named(taken[0])}"]
    if submission.state == "pending":
        name = name_key(submission.submitter.model)
        same = [one for one in others if _is_other(one, submission) and name_key(one.submitter.model) == name]
        return (
            [f"under this model's name another organisation has results: {', '.join(map(named, same))}"] if same else []
        )
    hidden = submission.state == "accepted" and not submission.history[-1].replaces
    if hidden and taken and _order(taken[0]) < _order(submission):
        return [f"it is not shown: its name was taken before by {named(taken[0])}"]
    return []


def named(submission: Submission) -> str:
    """A submission for a message: its id, and the name it has."""
    who = submission.submitter
    return f"{submission.id} ({one_line(who.model)}, {one_line(who.organisation) or 'no organisation named'})"


def _is_other(one: Submission, submission: Submission) -> bool:
    return one.state == "accepted" and one.id != submission.id


def _order(submission: Submission) -> tuple[str, bool, str, str]:
    """The order in which submissions were accepted; within one second whoever takes another's place comes later."""
    last = submission.history[-1]
    return last.at, bool(last.replaces), submission.history[0].at, submission.id
