"""Questions in batches: files of requests that a provider answers within a day, for less.

    upload -> create -> look now and then -> fetch the results

What is under way stands in a journal (`batch_journal`), which is written before each
step, and a batch bears the name that it has there: after a command that was killed
anywhere, the same command finds what was made, and nothing is paid twice.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from medical_tasks.errors import MedicalTasksError, MissingError, UsageError
from medical_tasks.guard import policy
from medical_tasks.models.batch_journal import Entry, Journal
from medical_tasks.models.batch_provider import (
    ENDED,
    NO_BATCHES,
    Line,
    Outcome,
    Provider,
    Sent,
    Status,
    is_uncertain,
)
from medical_tasks.models.call_pool import run_error
from medical_tasks.models.chat_client import CallFailed, ChatSettings
from medical_tasks.models.chat_reply import holds_key, quoted_from

_MOST_BYTES: Final = 200_000_000  # of a file; the provider's limit
_SLOWER: Final = 1.5  # how much longer is waited each time
_LONGEST_WAIT: Final = 12  # times the first wait
_TRIES: Final = 3  # to create a batch that may be there after all
_PATIENCE: Final = 30  # looks in a row at a batch that may fail
_SHOWN: Final = 300  # characters of the provider's words

Lines = Callable[[Collection[str]], Iterable[Line]]
Deliver = Callable[[Sequence[str], Outcome], None]


@dataclass
class _Tally:
    """What came of the requests of a batch."""

    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    first: str = ""  # detail of the first failure

    def count(self, outcome: Outcome) -> None:
        if isinstance(outcome, CallFailed):
            self.first = self.first or outcome.detail
            self.failed[outcome.reason] += 1
        else:
            self.answered += 1

    def said(self, entry: Entry) -> str:
        """What is said of a batch that has ended, with the first failure's own words."""
        said = f"{entry.status}, {self.answered:,} of {entry.requests:,} answered"
        reasons = ", ".join(
            f"{count:,} x {reason}" for reason, count in self.failed.items()
        )
        return f"{said}; {reasons} ({self.first})" if reasons else said


@dataclass
class _Watched:
    """A batch that is waited for.

    Attributes:
        entry: the batch.
        lines: its requests; none of a batch that an earlier command made.
        told: what was said of it last.
        failures: how often in a row looking at it failed.
    """

    entry: Entry
    lines: Sequence[Line] = ()
    told: str = ""
    failures: int = 0

    def tell(self, what: str) -> None:
        """Says something of it, unless it was said last."""
        if what != self.told:
            self.told = what
            _say(self.entry, what)


def _say(entry: Entry, what: str) -> None:
    print(f"batch {entry.batch}: {what}", file=sys.stderr, flush=True)


class Batches:
    """Asks one endpoint in batches, on behalf of a model or a judge."""

    def __init__(self, settings: ChatSettings, journal: Path) -> None:
        """Refuses what a batch cannot do.

        It lies at one address, so replicas are refused. It is kept in a file at the
        provider, so credentialed text is refused, whatever is attested.
        """
        self._option = "--judge-batch" if settings.purpose == "judge" else "--batch"
        if settings.replicas:
            raise UsageError(
                f"{self._option}: a batch has one address, got {len(settings.addresses)} "
                f"({', '.join(settings.addresses)}). Name one base URL, or leave it out."
            )

        policy.require_no_batch(self._option)
        self._settings = settings
        self._provider = Provider(settings)
        self._journal = Journal(journal)
        self._tried = False

    def ask(self, wanted: Mapping[str, Sent], lines: Lines, deliver: Deliver) -> None:
        """Gets answers: of batches that are under way already, and of new ones for the rest.

        Args:
            wanted: what is sent for each key.
            lines: makes the requests of keys; it may leave out some.
            deliver: told what came of each request, with the request's keys.
        """
        policy.require_no_batch(self._option)
        self._journal.read()  # a model and its judge share one
        waiting = [
            _Watched(entry)
            for entry in self._under_way(wanted)
            if self._recovered(entry, wanted)
        ]
        covered = {key for batch in waiting for key in batch.entry.all_keys()}
        rest = [key for key in wanted if key not in covered]
        left = self._after_the_first(lines(rest), wanted, deliver)
        waiting += map(self._submitted, _parts(left, self._settings))
        try:
            self._wait(waiting, wanted, lines, deliver)
        except KeyboardInterrupt:
            for batch in waiting:
                name = batch.entry.batch
                cancel = f"{self._settings.base_url}/batches/{name}/cancel"
                _say(
                    batch.entry,
                    f"goes on, and is paid for. To cancel it: POST {cancel}",
                )

            raise

    def _after_the_first(
        self, lines: Iterable[Line], wanted: Mapping[str, Sent], deliver: Deliver
    ) -> Iterator[Line]:
        """Asks the first request of all by itself, and yields the others.

        What the server refuses of each request is so told, or adapted, at once: a batch
        of them would come back without an answer after hours.
        """
        for line in lines:
            if self._tried:
                yield line
                continue

            self._tried = True
            failed = self._provider.ask_alone(line, wanted[line.keys[0]], deliver)
            if failed is None:
                continue
            if failed.every_call or failed.reason == "connection":
                raise run_error(self._settings, failed)

            if is_uncertain(failed) or failed.reason == "rate limited":
                yield line
            else:
                deliver(line.keys, failed)

    def _under_way(self, wanted: Collection[str]) -> list[Entry]:
        """The batches of earlier commands that hold some of what is wanted."""
        place = (self._settings.base_url, self._settings.model)
        return [
            entry
            for entry in self._journal.entries
            if not entry.status
            and (entry.address, entry.model) == place
            and not entry.all_keys().isdisjoint(wanted)
        ]

    def _recovered(self, entry: Entry, wanted: Collection[str]) -> bool:
        """Goes on with a batch of an earlier command; False where it was never made."""
        if entry.file and not entry.batch:
            entry.batch = self._made(entry)

        if not entry.batch and entry.all_keys() <= set(wanted):
            try:
                entry.file = entry.file or self._provider.find_file(entry)
                if entry.file:
                    self._create(entry)
            except CallFailed as failed:
                if is_uncertain(failed):
                    raise run_error(self._settings, failed) from failed

        if not entry.batch:
            self._journal.drop(entry)
            return False

        self._journal.save()
        _say(
            entry,
            f"{entry.requests:,} requests of an earlier command; going on with it",
        )
        return True

    def _made(self, entry: Entry) -> str:
        """The id of a batch that was made though nobody heard of it; "" where none was."""
        try:
            return self._provider.find_batch(entry)
        except CallFailed as failed:
            if failed.reason not in NO_BATCHES:
                raise run_error(self._settings, failed) from failed

            raise MissingError(
                f"{self._settings.where} does not list its batches ({failed.detail}), so that "
                f"nobody knows whether one of {entry.requests:,} requests was made of "
                f"{entry.file}. Look there; where it was not, remove {self._journal.path}"
            ) from failed

    def _submitted(self, lines: Sequence[Line]) -> _Watched:
        """Makes a batch. Before each step the journal has what finds the step again.

        What the journal has when a command is killed, and what the next one does:

            an id alone       looks for the upload by its name, else forgets the batch
            the upload's id   looks for a batch of that file, else makes it
            the batch's id    looks at the batch, as if nothing had happened
        """
        entry = Entry(
            id=uuid4().hex,
            address=self._settings.base_url,
            model=self._settings.model,
            purpose=self._settings.purpose,
            made=int(time.time()),
            keys=[list(line.keys) for line in lines],
            requests=len(lines),
            adapted={
                name: change
                for name, change in self._settings.adaptations.changes.items()
                if any(name in line.body for line in lines)
            },
        )
        self._journal.add(entry)
        try:
            entry.file = self._provider.upload(entry, lines)
            self._journal.save()
            self._create(entry)
        except CallFailed as failed:
            if not entry.file or not is_uncertain(failed):
                # there is no batch, and an upload alone costs nothing
                self._journal.drop(entry)

            raise self._refused(failed) from failed

        self._journal.save()
        _say(entry, f"{entry.requests:,} requests sent")
        return _Watched(entry, lines)

    def _create(self, entry: Entry) -> None:
        """Has the provider make a batch of an upload, once.

        After a request that may have worked all the same, the batch is looked for.
        """
        for left in reversed(range(_TRIES)):
            try:
                entry.batch = self._provider.create(entry)
            except CallFailed as failed:
                if not is_uncertain(failed):
                    raise

                time.sleep(self._settings.batch_poll)
                self._journal.save()
                entry.batch = self._made(entry)
                if not entry.batch and not left:
                    raise

            if entry.batch:
                return

    def _wait(
        self,
        waiting: list[_Watched],
        wanted: Mapping[str, Sent],
        lines: Lines,
        deliver: Deliver,
    ) -> None:
        """Looks at the batches until all have ended, and delivers each one's results.

        Looks come further and further apart: after 5 s, 7.5 s, 11.25 s, at most 60 s
        where `batch_poll` is 5. What an account has no room for is sent when a batch
        has ended.
        """
        held: list[Sequence[Line]] = []  # what the account has no room for yet
        first = pause = self._settings.batch_poll
        while waiting:
            for batch in list(waiting):
                status = self._status(batch)
                if status is None or status.state not in ENDED:
                    continue

                waiting.remove(batch)
                if status.state == "failed":
                    self._journal.drop(batch.entry)
                    if not (status.over_quota and waiting):
                        raise self._not_accepted(batch.entry, status, wanted)

                    keys = [key for key in wanted if key in batch.entry.all_keys()]
                    held.append(batch.lines or list(lines(keys)))
                    batch.tell(
                        "too much at once for this account; sent again after another batch"
                    )
                    continue

                self._finish(batch.entry, status, wanted, deliver)
                if held:
                    waiting.append(self._submitted(held.pop(0)))

            if waiting:
                time.sleep(pause)
                pause = min(pause * _SLOWER, first * _LONGEST_WAIT)

    def _status(self, batch: _Watched) -> Status | None:
        """Looks at a batch, and says what is new; None where the provider cannot be asked now."""
        entry = batch.entry
        try:
            status = self._provider.status(entry)
        except CallFailed as failed:
            if failed.reason in NO_BATCHES:
                raise self._gone(entry, failed) from failed
            if not is_uncertain(failed) or batch.failures >= _PATIENCE:
                raise run_error(self._settings, failed) from failed

            batch.failures += 1
            batch.tell(
                f"not reached ({failed.detail}); it goes on, and is looked at again"
            )
            return None

        batch.failures = 0
        if status.state not in ENDED:
            far = f"{status.done:,} of {entry.requests:,} done, {status.state.replace('_', ' ')}"
            batch.tell(f"{far}; Ctrl-C leaves it running; the same command goes on")

        return status

    def _finish(
        self,
        entry: Entry,
        status: Status,
        wanted: Mapping[str, Sent],
        deliver: Deliver,
    ) -> None:
        """Delivers the results of a batch, then notes that it has ended."""
        tally, left = _Tally(), {keys[0]: keys for keys in entry.keys}
        try:
            for name, outcome in self._provider.results(entry, status, wanted):
                keys = left.pop(name, None)
                if (
                    keys is not None
                ):  # else of nobody's request, or a second result of one
                    tally.count(outcome)
                    deliver(keys, outcome)
        except CallFailed as failed:
            if failed.reason in NO_BATCHES:
                raise self._gone(entry, failed) from failed

            raise run_error(self._settings, failed) from failed

        reason = (
            "not in the batch"
            if status.state == "completed"
            else f"batch {status.state}"
        )
        for keys in left.values():
            missing = CallFailed(
                reason, f"{entry.batch} has no result of it", attempts=0
            )
            tally.count(missing)
            deliver(keys, missing)

        entry.status, entry.answered, entry.keys = status.state, tally.answered, []
        self._journal.save()
        _say(entry, tally.said(entry))

    def _not_accepted(
        self, entry: Entry, status: Status, wanted: Mapping[str, Sent]
    ) -> MedicalTasksError:
        """The error of a batch that the provider did not accept."""
        code, message = (*status.faults, ("no reason", ""))[0]
        quotes = any(quoted_from(message, sent.texts) for sent in wanted.values())
        if message and not quotes and not holds_key(message, self._settings.api_key):
            code += f": {message[:_SHOWN]}"

        if status.over_quota:
            return MissingError(
                f"{self._settings.where} does not take so large a batch now ({code}). Nothing of "
                "it was asked. Wait until the account's other batches have ended, or give "
                f"batch_size=N (this one had {entry.requests:,} requests) and the same command."
            )

        return UsageError(
            f"{self._settings.where} did not accept {entry.batch} ({code}). Nothing of it was "
            "asked. Correct the model's name or its arguments, or leave out "
            f"{self._option}."
        )

    def _refused(self, failed: CallFailed) -> MedicalTasksError:
        """The error of a server that takes no file, or makes no batch of it."""
        if failed.reason not in NO_BATCHES:
            return run_error(self._settings, failed)
        return UsageError(
            f"{self._settings.where} takes no batches ({failed.detail}). Leave out "
            f"{self._option}, or correct the base URL."
        )

    def _gone(self, entry: Entry, failed: CallFailed) -> MissingError:
        """The error of a batch, or of results, that the provider does not have."""
        return MissingError(
            f"{self._settings.where} does not have {entry.batch}, a batch of this run, or its "
            f"results ({failed.detail}). Give the key of the account that made it; or, to ask "
            f"anew what it had, remove {self._journal.path}"
        )


def _parts(lines: Iterable[Line], settings: ChatSettings) -> Iterator[list[Line]]:
    """Puts requests together to batches that are not too large for the provider.

    Example: with `batch_size=2`, five requests make batches of 2, 2 and 1. A request
    that is larger than the provider's limit is a batch alone, for the provider to
    refuse.
    """
    part: list[Line] = []
    size = 0
    for line in lines:
        length = len(line.written(settings.adaptations))
        if part and (len(part) >= settings.batch_size or size + length > _MOST_BYTES):
            yield part
            part, size = [], 0

        part.append(line)
        size += length

    if part:
        yield part
