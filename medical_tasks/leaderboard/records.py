"""What a leaderboard knows: submissions with their history, and the entries it shows; how events are written and read.

The store is read without trust. A package was checked when it was submitted, and its first event holds its hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, Literal, get_args

from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.submission_package.contents import RESULTS, SHA256, Submitter
from medical_tasks.leaderboard.submission_package.results import forget_unasked_figures
from medical_tasks.leaderboard.submission_package.values import finite, is_number
from medical_tasks.report.folders import COUNT, Form, damage
from medical_tasks.runs.recipes import mapping

State = Literal["pending", "accepted", "rejected"]
EntryState = Literal["unverified", "verified", "reported"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened to a submission: `by` "" is the submitter, `verified` a report, `replaces` whose places it takes."""

    state: State
    at: str
    by: str = ""
    reason: str = ""
    verified: Mapping[str, Any] | None = None
    replaces: str = ""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A package in the store. Its history has at least one event, the oldest first."""

    id: str
    submitter: Submitter
    tasks: tuple[str, ...]
    history: Sequence[Event]

    @property
    def state(self) -> State:
        """What it is now."""
        return self.history[-1].state


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One model's result on one task: a row of a benchmark's table."""

    model: str
    organisation: str
    task: str
    benchmark: str
    metrics: Mapping[str, Mapping[str, Any]]
    state: EntryState
    group: str
    breakdown: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    coverage: Mapping[str, Any] | None = None
    setting: str = ""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    submission: str = ""
    at: str = ""
    url: str = ""
    differences: Sequence[str] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(
        default_factory=dict
    )  # of `results.json`; empty where it does not say


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
# Half of a surrogate pair is no character: no terminal and no page can write it.
_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LONGEST_LINE: Final = 1000
_EVENT_KEYS: Final = frozenset({"format", "state", "at", "by", "reason", "verified", "replaces"})
_RESULT: Final[Form] = {
    "metrics": {},
    "breakdown": {},
    "coverage": {"asked": COUNT, "scored": COUNT},
    "recipe": {},
}


class DamagedError(UsageError):
    """A file of the store is not what this package writes."""


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """What the first event of a submission says of its package; by its hash the stored file is recognised."""

    submitter: Submitter
    tasks: tuple[str, ...]
    package_bytes: int
    package_sha256: str


def timestamp(moment: datetime) -> str:
    """Writes a moment as an event has it: to the second, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def check_line(name: str, text: str, *, longest: int, needed: bool) -> str:
    """Returns a name or reason as it is stored; `UsageError` where it is empty, too long, or not one plain line."""
    line = text.strip()
    if needed and not line:
        raise UsageError(f"{name} is needed here and is empty: everybody may read it.")
    if len(line) > longest:
        raise UsageError(
            f"{name} has {len(line)} characters, {longest} are allowed. Say it shorter."
        )
    if _CONTROL.search(line):
        raise UsageError(f"{name} must be one line without control characters, got {line[:60]!a}.")
    return line


def event_bytes(event: Event, submitted: Submitted | None = None) -> bytes:
    """Writes an event; the first one of a submission with what was submitted."""
    content: dict[str, Any] = {"format": _FORMAT, **asdict(event)}
    if submitted is not None:
        content["submission"] = asdict(submitted)
    return (json.dumps(content, indent=1, ensure_ascii=True, allow_nan=False) + "\n").encode(
        "ascii"
    )


def read_event(name: str, content: bytes, *, first: bool) -> tuple[Event, Submitted | None]:
    """Reads an event, a submission's `first` one or a later one; `DamagedError` where it is none."""
    try:
        found = json.loads(content, parse_constant=finite, parse_float=finite)
    except (ValueError, RecursionError) as error:  # of JSON or of UTF-8
        raise DamagedError(f"{name}: not valid JSON ({type(error).__name__}).") from error
    if isinstance(found, dict) and found.get("format") == _BEFORE:
        found = {"replaces": "", **found, "format": _FORMAT}
    expected = _EVENT_KEYS | ({"submission"} if first else set())
    if not isinstance(found, dict) or set(found) != expected:
        raise DamagedError(
            f"{name}: not an event; its entries must be {', '.join(sorted(expected))}."
        )
    if found["format"] != _FORMAT:
        raise DamagedError(
            f"{name}: format {ascii(found['format'])[:20]}, this version reads {_FORMAT}. Upgrade medical-tasks."
        )
    event = Event(**{key: found[key] for key in _EVENT_KEYS - {"format"}})
    at, verified = event.at, event.verified
    matches = isinstance(verified, dict) and verified.get("matches") is True
    if event.state not in get_args(State):
        raise DamagedError(
            f"{name}: state {ascii(event.state)[:40]} is none of {', '.join(get_args(State))}."
        )
    if not (isinstance(at, str) and _AT.fullmatch(at) and _is_time(at)):
        raise DamagedError(
            f"{name}: `at` must be a time like 2026-01-31T12:00:00Z, got {ascii(at)[:40]}."
        )
    if not (_is_line(event.by) and _is_line(event.reason)):
        raise DamagedError(f"{name}: `by` and `reason` must be texts of one line.")
    on_trust = mapping(verified).get("on_trust", [])
    if verified is not None and not (
        event.state == "accepted" and matches and isinstance(on_trust, list)
    ):
        raise DamagedError(
            f"{name}: `verified` must be null or the report of a verification that matches, of one that was accepted."
        )
    other = event.replaces
    if not (
        isinstance(other, str) and _ID.fullmatch(other) and (event.state == "accepted" or not other)
    ):
        raise DamagedError(
            f"{name}: `replaces` must be the id of a submission, of one that was accepted, or empty."
        )
    return event, _submitted(name, found["submission"]) if first else None


def _submitted(name: str, found: Any) -> Submitted:
    try:
        made = Submitted(
            submitter=Submitter(**found["submitter"]),
            tasks=tuple(found["tasks"]),
            package_bytes=found["package_bytes"],
            package_sha256=found["package_sha256"],
        )
    except (TypeError, KeyError) as error:
        raise DamagedError(
            f"{name}: `submission` must have submitter, tasks, package_bytes and package_sha256."
        ) from error
    who = made.submitter
    sound = made.tasks and all(
        map(_is_line, (who.model, who.organisation, who.url, who.notes, who.licence, *made.tasks))
    )
    sound = sound and isinstance(found["tasks"], list) and isinstance(who.open_weights, bool | None)
    sound = (
        sound
        and (who.parameters is None or is_number(who.parameters))
        and is_number(made.package_bytes)
    )
    if not (
        sound and isinstance(made.package_sha256, str) and SHA256.fullmatch(made.package_sha256)
    ):
        raise DamagedError(f"{name}: an entry of `submission` is of the wrong kind.")
    return made


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_LINE and _CONTROL.search(value) is None


def _is_time(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(datetime.fromisoformat(text))
    return False


def check_history(name: str, events: Sequence[Event]) -> None:
    """Raises `DamagedError` unless these events, the oldest first, are one submission's and can follow each other."""
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


def check_hash(name: str, content: bytes, submitted: Submitted) -> None:
    """Raises `DamagedError` where a package is not the one that was submitted."""
    digest = hashlib.sha256(content).hexdigest()
    if digest != submitted.package_sha256:
        raise DamagedError(
            f"{name}: not the file that was submitted (SHA-256 {digest[:12]}..., the first event says "
            f"{submitted.package_sha256[:12]}...)."
        )


def read_stored_results(name: str, content: bytes, submitted: Submitted) -> Mapping[str, Any]:
    """Reads `results.json` of a package in the store; `DamagedError` where it is not the submitted file or has none."""
    check_hash(name, content, submitted)
    try:
        # Its hash vouches for it, so no limit of today's is applied.
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            found: dict[str, Any] = json.loads(package.read(RESULTS))
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        ValueError,
        RecursionError,
        RuntimeError,
    ) as error:
        # Its first event was changed with it.
        raise DamagedError(f"{name}: no package with results ({type(error).__name__}).") from error
    tasks = mapping(mapping(found).get("tasks"))
    odd = [task for task in submitted.tasks if damage(tasks.get(task), _RESULT)]
    if odd:
        raise DamagedError(
            f"{name}: has no results of {', '.join(odd)[:200]}, which its first event names."
        )
    return forget_unasked_figures(found)
