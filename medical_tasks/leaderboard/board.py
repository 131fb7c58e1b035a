"""The board: submissions in a store, the history of their decisions, and the entries shown.

`submissions/ID/package.zip` is the package, and `events/ID/0001.json` and so on are its
events, one file each. A package without an event was left by a killed process or a full
store: it is pending, and its event is written when it is next listed.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from medical_tasks.catalog import tasks
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard import admission, records
from medical_tasks.leaderboard.admission import (
    DEFAULT_QUEUE,
    AlreadySubmittedError,
    QueueLimits,
    Row,
)
from medical_tasks.leaderboard.ranking import setting_of
from medical_tasks.leaderboard.records import (
    DamagedError,
    Entry,
    Event,
    State,
    Submission,
    Submitted,
    Unshown,
)
from medical_tasks.leaderboard.storage import AlreadyStoredError, Storage
from medical_tasks.leaderboard.submission_package import contents
from medical_tasks.report.published.figures import all_published
from medical_tasks.runs.recipes import mapping, stated_package
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import TaskSpec

PACKAGE: Final = re.compile(r"submissions/([0-9a-f]{16})/package\.zip")
EVENT: Final = re.compile(r"events/([0-9a-f]{16})/([0-9]{4})\.json")
_ID: Final = re.compile(r"[0-9a-f]{16}")
_READERS: Final = 8
"""How many files are read at once, since each read from a remote store is slow."""

_Read = tuple[Event, Submitted | None]


def package_name(submission: str) -> str:
    """The name of a submission's package in the store."""
    return f"submissions/{submission}/package.zip"


def event_name(submission: str, number: int) -> str:
    """The name of a submission's event in the store, counted from 1."""
    return f"events/{submission}/{number:04d}.json"


class Board:
    """Submissions in a store, whose files never change.

    Each call lists them again, since other threads and processes may use the store.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        limits: contents.ReadLimits = contents.DEFAULT_LIMITS,
        queue: QueueLimits = DEFAULT_QUEUE,
    ) -> None:
        self.storage = storage
        self._clock, self._limits, self._queue = clock, limits, queue
        # Submissions are serialised, so that the queue's limits hold within a process.
        self._submitting = threading.Lock()
        self._unsaved: dict[str, str] = {}
        self._events: dict[str, _Read] = {}
        self.damaged: dict[str, str] = {}
        """Id to problem, of the submissions that the last `submissions()` left out."""
        self.unshown: list[Unshown] = []
        """Results that the last tables left out because their task is not installed."""

    def submit(self, content: bytes) -> Submission:
        """Stores a package as pending.

        If it raises, nothing of the package was kept, and submitting again is safe.
        """
        package = self.read_new(content)
        name = package.manifest.id
        with self._submitting:
            waiting = [
                (pending.submitter, self._size(pending.id))
                for pending in self.submissions("pending")
            ]
            admission.check_room(
                package.manifest.submitter, len(content), waiting, self._queue
            )
            try:
                self.storage.create(package_name(name), content)
            except AlreadyStoredError:
                raise AlreadySubmittedError(self.submission(name)) from None

            return self._record(name, package, content)

    def read_new(self, content: bytes) -> contents.Package:
        """Reads a package to submit, which must be sound, admitted and new."""
        package = self._read_package(content)
        if self.storage.names(f"submissions/{package.manifest.id}/"):
            raise AlreadySubmittedError(self.submission(package.manifest.id))
        admission.check_admission(package)
        return package

    def _read_package(self, content: bytes) -> contents.Package:
        from medical_tasks.leaderboard.submission_package.reading import read_package

        return read_package(content, limits=self._limits)

    def submissions(self, state: State | None = None) -> list[Submission]:
        """Lists the sound submissions, the newest first; `damaged` has the others."""
        packages, events = self._listed()
        # Pending submissions have one event at most, so that the events of others need
        # not be read for them.
        names = [
            name
            for name in sorted(packages | set(events))
            if state != "pending" or len(events.get(name, [])) <= 1
        ]
        self._prefetch([event for name in names for event in events.get(name, [])])
        submissions: list[Submission] = []
        damaged: dict[str, str] = {}
        for name in names:
            try:
                submissions.append(
                    self._submission(
                        name, events.get(name, []), has_package=name in packages
                    )
                )
            except DamagedError as error:
                damaged[name] = str(error)

        self.damaged = damaged
        submissions.sort(
            key=lambda submission: (submission.history[0].at, submission.id),
            reverse=True,
        )
        return [
            submission
            for submission in submissions
            if state is None or submission.state == state
        ]

    def submission(self, name: str) -> Submission:
        """Finds a submission by id."""
        if _ID.fullmatch(name) is None:
            raise UsageError(
                f"{name[:60]!a}: no id of a submission, which has 16 digits and letters a to f."
            )

        events, has_package = self._look(name)
        if not (events or has_package):
            raise MissingError(
                f"{name}: no such submission. See: medical-tasks leaderboard list --store ..."
            )

        return self._submission(name, events, has_package=has_package)

    def package(self, name: str) -> contents.Package:
        """Reads a submission's package, with all checks that are made on submission."""
        self.submission(name)
        if name in self._unsaved:
            return self.orphan(name)[0]
        content = self.storage.read(package_name(name))
        records.check_hash(package_name(name), content, self.submitted(name))
        return self._read_package(content)

    def results(self, name: str) -> Json:
        """Reads a submission's `results.json`; only of submissions that were listed before."""
        content = self.storage.read(package_name(name))
        return records.read_stored_results(
            package_name(name), content, self.submitted(name)
        )

    def decide(
        self,
        name: str,
        state: State,
        *,
        by: str,
        reason: str = "",
        verified: Json | None = None,
        replaces: str = "",
    ) -> Submission:
        """Accepts, rejects or withdraws a submission.

        `replaces` is the id of the accepted submission that it replaces.
        """
        at = records.timestamp(self._clock())
        decision = Event(
            state=state,
            at=at,
            by=by,
            reason=reason,
            verified=verified,
            replaces=replaces,
        )
        submission, event = self.check(name, decision)
        if replaces:
            self._check_verified(
                replace(submission, history=(*submission.history, event))
            )

        try:
            self.storage.create(
                event_name(name, len(submission.history) + 1),
                records.event_bytes(event),
            )
        except AlreadyStoredError:
            now = self.submission(name)
            last = now.history[-1]
            raise UsageError(
                f"{name}: somebody else decided at the same moment: it is {last.state} since "
                f"{last.at} (by {last.by}). Nothing of yours was kept; see `medical-tasks "
                f"leaderboard history {name}`, and decide again if need be."
            ) from None

        return self.submission(name)

    def check(self, name: str, decision: Event) -> tuple[Submission, Event]:
        """Checks whether `decide` would succeed, before a long verification.

        Returns the submission and the event to follow.
        """
        submission = self.submission(name)
        if name in self._unsaved:
            # The event of the submission must be stored before that of a decision.
            raise MissingError(self._unsaved[name])

        same_name = (
            admission.holders(submission, self.submissions("accepted"))
            if decision.state == "accepted"
            else []
        )
        return submission, admission.check_decision(submission, decision, same_name)

    def _check_verified(self, submission: Submission) -> None:
        """Refuses a replacement that would leave a verified result shown in its place.

        The rules of `admission.places` are applied to the board as it would be, before the
        decision is stored.
        """
        accepted = []
        for other in admission.holders(submission, self.submissions("accepted")):
            with contextlib.suppress(
                DamagedError
            ):  # it is not shown, and it is reported to a maintainer
                accepted.append(
                    (
                        other,
                        admission.rows_of(other, self.results(other.id)),
                    )
                )

        rows = admission.rows_of(submission, self.results(submission.id))
        shown_at = admission.places([*accepted, (submission, rows)])
        for row in rows:
            if (
                holder := shown_at[admission.key_of(submission), row]
            ) is not submission:
                raise UsageError(
                    f"{submission.id}: {row[0]} of {admission.named(holder)} is verified, and of "
                    "this one it is not: a verified result is not replaced. Nothing was changed. "
                    "Verify this one too, or withdraw the other first: medical-tasks leaderboard "
                    f"reject {holder.id}"
                )

    def _listed(self) -> tuple[set[str], dict[str, list[str]]]:
        packages: set[str] = set()
        events: dict[str, list[str]] = {}
        for name in self.storage.names():
            if match := PACKAGE.fullmatch(name):
                packages.add(match[1])
            elif match := EVENT.fullmatch(name):
                events.setdefault(match[1], []).append(name)
        return packages, events

    def _size(self, name: str) -> int:
        unsaved = name in self._unsaved
        return (
            len(self.storage.read(package_name(name)))
            if unsaved
            else self.submitted(name).package_bytes
        )

    def _submission(
        self, name: str, events: list[str], *, has_package: bool
    ) -> Submission:
        """Reads a submission's history, which must be the events 1 to n without a gap.

        A package without events gets its first one here. The listing may be older than another
        process's writing, so that the files are looked up again before one is called missing.
        """
        if not (has_package and _is_whole(name, events)):
            # Other processes may have written while the store was listed.
            events, has_package = self._look(name)

        if not has_package:
            raise DamagedError(
                f"{package_name(name)}: is not there, but events of it are."
            )

        if not events:
            return self._record(name, *self.orphan(name))

        self._unsaved.pop(name, None)  # another process could write it
        if not _is_whole(name, events):
            raise DamagedError(
                f"events/{name}/: an event is missing; there are {', '.join(sorted(events))}."
            )

        self._prefetch(events)
        history = [self._event(event)[0] for event in sorted(events)]
        records.check_history(name, history)
        submitted = self.submitted(name)

        return Submission(
            id=name,
            submitter=submitted.submitter,
            tasks=submitted.tasks,
            history=tuple(history),
        )

    def _look(self, name: str) -> tuple[list[str], bool]:
        # Events first, since a package is stored before its event.
        events = [
            event
            for event in self.storage.names(f"events/{name}/")
            if EVENT.fullmatch(event)
        ]
        return events, package_name(name) in self.storage.names(f"submissions/{name}/")

    def orphan(self, name: str) -> tuple[contents.Package, bytes]:
        """Reads a package that has no event yet, with its bytes; changes nothing."""
        content = self.storage.read(package_name(name))
        try:
            package = self._read_package(content)
        except contents.PackageError as error:
            raise DamagedError(
                f"{package_name(name)}: has no event, and is no package: {error}"
            ) from error

        if package.manifest.id != name:
            raise DamagedError(
                f"{package_name(name)}: has no event, and is the package {package.manifest.id}."
            )

        return package, content

    def _record(
        self, name: str, package: contents.Package, content: bytes
    ) -> Submission:
        """Stores the first event of a package that is in the store."""
        submitted = Submitted(
            submitter=package.manifest.submitter,
            tasks=package.manifest.tasks,
            package_bytes=len(content),
            package_sha256=hashlib.sha256(content).hexdigest(),
        )
        event = Event(state="pending", at=records.timestamp(self._clock()))
        try:
            self.storage.create(
                event_name(name, 1), records.event_bytes(event, submitted)
            )
        except AlreadyStoredError:
            # Another process listed the store and wrote the event of the package first.
            self._unsaved.pop(name, None)
            return self.submission(name)
        except MissingError as error:
            # The package is stored, and a full or read-only store must still be shown:
            # the event is written later.
            self._unsaved[name] = str(error)
        else:
            self._unsaved.pop(name, None)

        return Submission(
            id=name,
            submitter=submitted.submitter,
            tasks=submitted.tasks,
            history=(event,),
        )

    def submitted(self, name: str) -> Submitted:
        """Reads the facts about a package from the first event of its submission."""
        submitted = self._event(event_name(name, 1))[1]
        if submitted is None:
            raise RuntimeError(f"{name}: the first event was read as another one")
        return submitted

    def _event(self, name: str) -> _Read:
        if name not in self._events:
            first = name.endswith("/0001.json")
            self._events[name] = records.read_event(
                name, self.storage.read(name), first=first
            )
        return self._events[name]

    def _prefetch(self, names: list[str]) -> None:
        def read(name: str) -> None:
            with contextlib.suppress(
                DamagedError
            ):  # read again, and reported, with its submission
                self._event(name)

        unread = [name for name in names if name not in self._events]
        if len(unread) > 1:
            with ThreadPoolExecutor(_READERS) as readers:
                list(readers.map(read, unread))


def _is_whole(name: str, events: list[str]) -> bool:
    return sorted(events) == [
        event_name(name, number) for number in range(1, len(events) + 1)
    ]


def entries_of(board: Board, *, published: bool = True) -> list[Entry]:
    """Lists the entries by task: submitted ones, the newest first, then those of papers."""
    read: list[tuple[Submission, Json]] = []
    for submission in board.submissions("accepted"):  # the newest first
        try:
            read.append((submission, board.results(submission.id)))
        except DamagedError as error:
            board.damaged[submission.id] = str(error)

    board.unshown = unshown_results(read)
    return sorted_entries(
        [*submitted_entries(read), *(published_entries() if published else ())]
    )


def sorted_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Sorts entries by task, in the catalogue's order."""
    order = {name: number for number, name in enumerate(tasks())}
    return sorted(entries, key=lambda entry: order[entry.task])


def submitted_entries(read: Sequence[tuple[Submission, Json]]) -> list[Entry]:
    """Makes the entries of accepted submissions, given with their results."""
    rows = [
        (submission, admission.rows_of(submission, results))
        for submission, results in read
    ]
    held = admission.places(rows)

    return [
        _submitted_entry(submission, row, results)
        for (submission, results), (_, own) in zip(read, rows, strict=True)
        for row in own
        if held.get((admission.key_of(submission), row)) is submission
    ]


def unshown_results(read: Sequence[tuple[Submission, Json]]) -> list[Unshown]:
    """Lists the accepted results of tasks that are not installed.

    Their package was removed or has another version. They are kept, and are shown again
    once it is installed.
    """
    return [
        Unshown(
            task=name,
            package=stated_package(mapping(results["tasks"][name].get("recipe"))),
            model=submission.submitter.model,
            organisation=submission.submitter.organisation,
            submission=submission.id,
            at=submission.history[0].at[:10],
        )
        for submission, results in read
        for name in submission.tasks
        if name not in tasks()
    ]


def _submitted_entry(submission: Submission, row: Row, results: Json) -> Entry:
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
        usage=entry.get("usage") or {},
        state="imported"
        if entry["recipe"].get("imported")
        else admission.state_of(submission, name),
        setting=setting_of(task, entry["recipe"]),
        group=group,
        recipe=entry["recipe"],
        submission=submission.id,
        at=submission.history[0].at[:10],
        url=submitter.url,
        differences=tuple(admission.marks(entry)),
    )


def published_entries() -> list[Entry]:
    """Makes an entry of every published result on a task of this version."""
    specs = tasks()
    return [
        Entry(
            model=result.model,
            organisation=result.source,
            task=result.task,
            benchmark=specs[result.task].benchmark.title,
            metrics=_published_metrics(
                specs[result.task], result.metrics, result.n_items
            ),
            breakdown={
                by: {
                    group: _published_metrics(specs[result.task], values, None)
                    for group, values in groups.items()
                }
                for by, groups in result.breakdown.items()
            },
            state="reported",
            setting=", ".join(
                filter(None, (result.setting, result.judge and f"judge {result.judge}"))
            ),
            # Figures of one table are comparable with one another alone.
            group=hashlib.sha256(
                f"{result.source}\n{result.task}\n{result.judge}".encode()
            ).hexdigest()[:10],
            url=result.link,
            differences=result.differences,
            beside=result.beside,
        )
        for result in all_published()
        if result.task in specs
    ]


def _published_metrics(
    task: TaskSpec, values: Mapping[str, float], n: int | None
) -> dict[str, JsonDict]:
    units = {
        metric.name: {"unit": metric.unit} for metric in task.metrics if metric.unit
    }
    usual = {"ci_low": None, "ci_high": None, "n": n}
    return {
        name: {"value": value, **usual, **units.get(name, {})}
        for name, value in values.items()
    }
