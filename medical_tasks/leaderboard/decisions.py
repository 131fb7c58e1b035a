"""What may be decided about a submission, and what a submitter is told whose package is there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.events import TRANSITIONS, check_line
from medical_tasks.leaderboard.places import named
from medical_tasks.leaderboard.records import Event, State, Submission
from medical_tasks.leaderboard.storage import AlreadyStoredError

__all__ = ["AlreadySubmittedError", "check_decision"]

_LONGEST_NAME: Final = 96
_LONGEST_REASON: Final = 500


class AlreadySubmittedError(AlreadyStoredError):
    """The same package was handed in before; nothing was changed.

    Args:
        submission: the one that is there.
    """

    def __init__(self, submission: Submission) -> None:
        last = submission.history[-1]
        why = f": {last.reason}" if last.reason else ""
        super().__init__(
            f"this package was handed in before, {submission.history[0].at}, as {submission.id}; it is {submission.state} since "
            f"{last.at}{why}. Nothing needs to be done; another run of the model makes another package."
        )
        self.submission = submission


def check_decision(
    submission: Submission,
    state: State,
    *,
    by: str,
    reason: str,
    verified: Mapping[str, Any] | None,
    replaces: str,
    same_name: Sequence[Submission],
    at: str,
) -> Event:
    """Makes the event of a decision.

    Args:
        submission: as it is.
        state: what it shall be.
        by: who decides.
        reason: why; may be empty only where a pending one is accepted.
        verified: report of a verification (`Verification.as_json`), only of one that matches.
        replaces: id of the accepted submission of its name whose places it shall take; "" for none.
        same_name: the accepted submissions of its name, the first in front.
        at: now; not before the last event, whatever the clock says.

    Raises:
        UsageError: It cannot become that, or something is missing.
    """
    before = submission.history[-1]
    if state not in TRANSITIONS[before.state]:
        told = " or ".join(TRANSITIONS[before.state])
        raise UsageError(
            f"{submission.id}: is {before.state} since {before.at} (by {before.by or 'the submitter'}) and cannot become {state}. "
            f"It can become {told}."
        )
    who = check_line("--by", by, longest=_LONGEST_NAME, needed=True)
    why = check_line(
        "--reason", reason, longest=_LONGEST_REASON, needed=not (before.state == "pending" and state == "accepted")
    )
    if verified is not None and (
        state != "accepted" or verified.get("package") != submission.id or verified.get("matches") is not True
    ):
        raise UsageError(
            f"{submission.id}: a verification goes with accepting, is of this package and matches; this one is of "
            f"{ascii(verified.get('package'))[:40]} and matches: {ascii(verified.get('matches'))[:10]}. See: medical-tasks verify"
        )
    _check_name(submission, state, replaces, same_name)
    return Event(state=state, at=max(at, before.at), by=who, reason=why, verified=verified, replaces=replaces)


def _check_name(submission: Submission, state: State, replaces: str, same_name: Sequence[Submission]) -> None:
    """Sees that who was first keeps the name, unless it is said who takes it."""
    if state == "accepted" and same_name and not replaces:
        first = same_name[0]
        raise UsageError(
            f"{named(submission)}: its name is taken: it cannot be told apart from {named(first)}, accepted "
            f"{first.history[-1].at}. Nothing was changed. If it is a result of that model, by the same people, accept it with "
            f"--replace {first.id}: on the same task in the same setting it takes that one's place. Otherwise reject it, and ask "
            "for another name."
        )
    if replaces and replaces not in [one.id for one in same_name]:
        told = ", ".join(map(named, same_name)) or "none; leave it out"
        raise UsageError(
            f"{submission.id}: --replace takes the id of an accepted submission of the same name, got {replaces[:60]!a}. There is "
            f"{told}."
        )
