"""The records of a leaderboard: submissions with their history, and the entries shown.

Writes and reads the events. The store is not trusted: a package was checked when it was
submitted, and its first event holds its hash.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, Literal

from medical_tasks.errors import UsageError
from medical_tasks.io.untrusted import finite, is_one_line, shown
from medical_tasks.leaderboard.submission_package.contents import RESULTS, Submitter
from medical_tasks.leaderboard.submission_package.results import forget_unasked_figures
from medical_tasks.report.entries import Recipe
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import Json, JsonDict

State = Literal["pending", "accepted", "rejected"]
EntryState = Literal["unverified", "verified", "imported", "reported"]
"""How far a result was checked; `imported`: of answers that others published, scored here."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event in the history of a submission.

    Attributes:
        state: The state of the submission after the event.
        at: The time.
        by: The person who decided; "" for the submitter.
        reason: The reason, for readers of the history.
        verified: The report of the verification, if any.
        replaces: The id of the submission that this one replaces.
    """

    state: State
    at: str
    by: str = ""
    reason: str = ""
    verified: Json | None = None
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
        """The present state."""
        return self.history[-1].state


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One model's result on one task: a row of a benchmark's table.

    Attributes:
        model: The name given by the submitter or the paper.
        organisation: The submitter's organisation, or the paper.
        task: The name of the task.
        benchmark: The title of its benchmark.
        metrics: As in `results.json`; for a published result, values alone.
        state: How far it was checked.
        group: The results with which it can be ranked: `ranking.group_of`.
        breakdown: As in `results.json`.
        coverage: As in `results.json`; None if a paper does not state it.
        setting: What distinguishes it from other results of the same model.
        recipe: As in `results.json`; {} for a published result.
        submission: The id of the submission; "" for a published result.
        at: The day of the submission.
        url: A page about the model, or the paper.
        differences: Sentences that say why it has no rank, or how a paper's setting
            differs.
        beside: For a published result, our counterparts of the authors' metrics
            (`PublishedResult`).
        usage: As in `results.json`; empty if not stated.
    """

    model: str
    organisation: str
    task: str
    benchmark: str
    metrics: Mapping[str, Json]
    state: EntryState
    group: str
    breakdown: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    coverage: Json | None = None
    setting: str = ""
    recipe: Recipe = field(default_factory=dict)
    submission: str = ""
    at: str = ""
    url: str = ""
    differences: Sequence[str] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    usage: Json = field(default_factory=dict)

    def counted_by(self, headline: str) -> str:
        """Returns the headline metric, or the authors' own if a paper lacks it."""
        theirs = (name for name, ours in self.beside.items() if ours == headline)
        available = (
            name for name in (headline, *theirs, *self.metrics) if name in self.metrics
        )
        return next(available, headline)


@dataclass(frozen=True, kw_only=True)
class Unshown:
    """An accepted result that is not shown, since its task is not installed.

    Attributes:
        package: The task's package in the recipe, such as `toy-bench 1.0`, or "".
    """

    task: str
    package: str
    model: str
    organisation: str
    submission: str
    at: str


TRANSITIONS: Final[Mapping[State, tuple[State, ...]]] = {
    "pending": ("accepted", "rejected"),
    "accepted": ("rejected",),
    "rejected": ("accepted",),
}
"""The possible next states. Rejecting an accepted submission withdraws it."""

_FORMAT: Final = 2
_BEFORE: Final = 1
"""Had no `replaces`."""


class DamagedError(UsageError):
    """A file in the store is not as this package writes it."""


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """The facts about a package in the first event of its submission.

    The hash identifies the stored file.
    """

    submitter: Submitter
    tasks: tuple[str, ...]
    package_bytes: int
    package_sha256: str


def timestamp(moment: datetime) -> str:
    """Formats a time for an event: to the second, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def check_line(name: str, text: str, *, longest: int, needed: bool) -> str:
    """Returns a name or reason stripped.

    Raises `UsageError` if it is empty but needed, too long, or not one plain line.
    """
    line = text.strip()
    if needed and not line:
        raise UsageError(f"{name} is needed here and is empty: everybody may read it.")

    if len(line) > longest:
        raise UsageError(
            f"{name} has {len(line)} characters, {longest} are allowed. Shorten it."
        )

    if not is_one_line(line):
        raise UsageError(
            f"{name} must be one line without control characters, got {line[:60]!a}."
        )

    return line


def event_bytes(event: Event, submitted: Submitted | None = None) -> bytes:
    """Serialises an event; the first event of a submission has the package's facts."""
    content: JsonDict = {"format": _FORMAT, **asdict(event)}
    if submitted is not None:
        content["submission"] = asdict(submitted)
    return (
        json.dumps(content, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
    ).encode("ascii")


def read_event(
    name: str, content: bytes, *, first: bool
) -> tuple[Event, Submitted | None]:
    """Reads an event, the `first` one of a submission or a later one.

    Raises `DamagedError` if it is invalid.
    """
    from medical_tasks.io.forms import complaint
    from medical_tasks.leaderboard import forms

    try:
        event = json.loads(content, parse_constant=finite, parse_float=finite)
    except (ValueError, RecursionError) as error:  # of JSON or of UTF-8
        raise DamagedError(
            f"{name}: not valid JSON ({type(error).__name__})."
        ) from error

    stated = event.get("format") if isinstance(event, dict) else None
    if stated == _BEFORE:
        event = {"replaces": "", **event, "format": _FORMAT}
    elif stated is not None and stated != _FORMAT:
        raise DamagedError(
            f"{name}: format {shown(stated)}, this version reads {_FORMAT}. Upgrade medical-tasks."
        )

    if problem := complaint(forms.FirstEventForm if first else forms.EventForm, event):
        raise DamagedError(f"{name}: not an event ({problem}).")

    read = Event(**{field.name: event[field.name] for field in fields(Event)})
    if not first:
        return read, None

    about = event["submission"]
    submitter = Submitter(**about["submitter"])
    return read, Submitted(
        **{**about, "submitter": submitter, "tasks": tuple(about["tasks"])}
    )


def check_history(name: str, events: Sequence[Event]) -> None:
    """Raises `DamagedError` unless these events are a valid history, the oldest first."""
    if events[0].state != "pending":
        raise DamagedError(
            f"{name}: its history begins with {events[0].state}, not with pending."
        )

    for number, event in enumerate(events, start=1):
        if event.verified is not None and event.verified.get("package") != name:
            raise DamagedError(
                f"{name}: event {number} has the verification of another package."
            )

    for number, (before, after) in enumerate(pairwise(events), start=2):
        if after.state not in TRANSITIONS[before.state]:
            raise DamagedError(
                f"{name}: event {number} makes it {after.state} after {before.state}, which is not "
                "allowed."
            )


def check_hash(name: str, content: bytes, submitted: Submitted) -> None:
    """Raises `DamagedError` if a package is not the submitted one."""
    digest = hashlib.sha256(content).hexdigest()
    if digest != submitted.package_sha256:
        raise DamagedError(
            f"{name}: not the file that was submitted (SHA-256 {digest[:12]}..., the first event "
            f"says {submitted.package_sha256[:12]}...)."
        )


def read_stored_results(name: str, content: bytes, submitted: Submitted) -> Json:
    """Reads `results.json` of a package in the store.

    Raises `DamagedError` if the package is not the submitted file or has no results.
    """
    from medical_tasks.io.forms import complaint
    from medical_tasks.leaderboard import forms

    check_hash(name, content, submitted)
    try:
        # Its hash was checked, so that present limits need not apply.
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            results: JsonDict = json.loads(package.read(RESULTS))
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        ValueError,
        RecursionError,
        RuntimeError,
    ) as error:
        # Both the package and its first event were changed.
        raise DamagedError(
            f"{name}: no package with results ({type(error).__name__})."
        ) from error

    tasks = mapping(mapping(results).get("tasks"))
    odd = [
        task
        for task in submitted.tasks
        if complaint(forms.StoredEntry, tasks.get(task))
    ]
    if odd:
        raise DamagedError(
            f"{name}: has no results of {', '.join(odd)[:200]}, which its first event names."
        )

    return forget_unasked_figures(results)
