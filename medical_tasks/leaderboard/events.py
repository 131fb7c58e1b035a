"""How an event is written down, and read again without trust: a file that somebody edited is told, not believed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, get_args

from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.numbers import is_number
from medical_tasks.leaderboard.records import Event, State
from medical_tasks.leaderboard.submission_package.contents import Submitter

__all__ = [
    "TRANSITIONS",
    "DamagedError",
    "HandedIn",
    "check_history",
    "check_line",
    "event_bytes",
    "read_event",
    "timestamp",
]

TRANSITIONS: Final[Mapping[State, tuple[State, ...]]] = {
    "pending": ("accepted", "rejected"),
    "accepted": ("rejected",),
    "rejected": ("accepted",),
}
"""What a submission may become. An accepted one that is rejected is withdrawn."""

_FORMAT: Final = 2
_BEFORE: Final = 1
"""Had no `replaces`."""
_AT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_ID: Final = re.compile(r"(?:[0-9a-f]{16})?")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
# Half of a surrogate pair is no character: no terminal and no page can write it.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST_LINE: Final = 1000
"""No line that is handed in or decided by has more."""
_EVENT_KEYS: Final = frozenset({"format", "state", "at", "by", "reason", "verified", "replaces"})


class DamagedError(UsageError):
    """A file of the store is not what this package writes."""


@dataclass(frozen=True, kw_only=True)
class HandedIn:
    """What the first event of a submission says of its package.

    Attributes:
        submitter: who and what.
        tasks: its tasks.
        package_bytes: size of the zip file.
        package_sha256: its hash: by that it is known to be the file that was checked when it was handed in.
    """

    submitter: Submitter
    tasks: tuple[str, ...]
    package_bytes: int
    package_sha256: str


def timestamp(moment: datetime) -> str:
    """Writes a moment as an event has it: to the second, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def check_line(name: str, text: str, *, longest: int, needed: bool) -> str:
    """Gives a name or reason back as it is stored.

    Args:
        name: what it is, for messages (`--by`).
        text: as given.
        longest: characters it may have.
        needed: whether it may not be empty.

    Raises:
        UsageError: It is empty, too long, or not one plain line.
    """
    line = text.strip()
    if needed and not line:
        raise UsageError(f"{name} is needed here and is empty: it stands in the history for everybody to read.")
    if len(line) > longest:
        raise UsageError(f"{name} has {len(line)} characters, {longest} are allowed. Say it shorter.")
    if _CONTROL.search(line):
        raise UsageError(f"{name} must be one line without control characters, got {line[:60]!a}.")
    return line


def event_bytes(event: Event, handed_in: HandedIn | None = None) -> bytes:
    """Writes an event; the first one of a submission with what was handed in."""
    content: dict[str, Any] = {"format": _FORMAT, **asdict(event)}
    if event.verified is not None:
        content["verified"] = dict(event.verified)
    if handed_in is not None:
        content["submission"] = asdict(handed_in)
    return (json.dumps(content, indent=1, ensure_ascii=True, allow_nan=False) + "\n").encode("ascii")


def read_event(name: str, content: bytes, *, first: bool) -> tuple[Event, HandedIn | None]:
    """Reads an event.

    Args:
        name: of the file, for messages.
        content: of the file.
        first: whether it is a submission's first.

    Raises:
        DamagedError: It is not one.
    """
    try:
        found = json.loads(content, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:  # of JSON or of UTF-8
        raise DamagedError(f"{name}: not valid JSON ({type(error).__name__}).") from error
    if isinstance(found, dict) and found.get("format") == _BEFORE:
        found = {"replaces": "", **found, "format": _FORMAT}
    expected = _EVENT_KEYS | ({"submission"} if first else set())
    if not isinstance(found, dict) or set(found) != expected:
        raise DamagedError(f"{name}: not an event; its entries must be {', '.join(sorted(expected))}.")
    if found["format"] != _FORMAT:
        raise DamagedError(
            f"{name}: format {ascii(found['format'])[:20]}, this version reads {_FORMAT}. Upgrade medical-tasks."
        )
    state, at, by, reason, verified, replaces = (
        found[key] for key in ("state", "at", "by", "reason", "verified", "replaces")
    )
    if state not in get_args(State):
        raise DamagedError(f"{name}: state {ascii(state)[:40]} is none of {', '.join(get_args(State))}.")
    if not (isinstance(at, str) and _AT.fullmatch(at) and _is_time(at)):
        raise DamagedError(f"{name}: `at` must be a time like 2026-01-31T12:00:00Z, got {ascii(at)[:40]}.")
    if not (_is_line(by) and _is_line(reason)):
        raise DamagedError(f"{name}: `by` and `reason` must be texts of one line.")
    if verified is not None and not (
        state == "accepted"
        and isinstance(verified, dict)
        and verified.get("matches") is True
        and isinstance(verified.get("on_trust", []), list)
    ):
        raise DamagedError(
            f"{name}: `verified` must be null or the report of a verification that matches, of one that was accepted."
        )
    if not (isinstance(replaces, str) and _ID.fullmatch(replaces) and (state == "accepted" or not replaces)):
        raise DamagedError(f"{name}: `replaces` must be the id of a submission, of one that was accepted, or empty.")
    event = Event(state=state, at=at, by=by, reason=reason, verified=verified, replaces=replaces)
    return event, _handed_in(name, found["submission"]) if first else None


def _handed_in(name: str, found: Any) -> HandedIn:
    try:
        made = HandedIn(
            submitter=Submitter(**found["submitter"]),
            tasks=tuple(found["tasks"]),
            package_bytes=found["package_bytes"],
            package_sha256=found["package_sha256"],
        )
    except (TypeError, KeyError) as error:
        raise DamagedError(
            f"{name}: `submission` must have submitter, tasks, package_bytes and package_sha256."
        ) from error
    submitter = made.submitter
    texts = (submitter.model, submitter.organisation, submitter.url, submitter.notes, *made.tasks)
    if not (
        all(map(_is_line, texts))
        and isinstance(found["tasks"], list)
        and made.tasks
        and isinstance(submitter.open_weights, bool | None)
        and (submitter.parameters is None or is_number(submitter.parameters))
        and is_number(made.package_bytes)
        and isinstance(made.package_sha256, str)
        and _HASH.fullmatch(made.package_sha256)
    ):
        raise DamagedError(f"{name}: an entry of `submission` is of the wrong kind.")
    return made


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_LINE and _CONTROL.search(value) is None


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is no number")
    return value


def check_history(name: str, events: Sequence[Event]) -> None:
    """Sees whether events can follow each other and are of this submission.

    Args:
        name: id of the submission, for messages.
        events: the oldest first.

    Raises:
        DamagedError: The first is not the handing in, one is not allowed after the one before, or one is of another package.
    """
    if events[0].state != "pending":
        raise DamagedError(f"{name}: its history begins with {events[0].state}, not with pending.")
    for number, event in enumerate(events, start=1):
        if event.verified is not None and event.verified.get("package") != name:
            raise DamagedError(f"{name}: event {number} has the verification of another package.")
    for number, (before, after) in enumerate(pairwise(events), start=2):
        if after.state not in TRANSITIONS[before.state]:
            raise DamagedError(
                f"{name}: event {number} makes it {after.state} after {before.state}, which is not allowed."
            )
