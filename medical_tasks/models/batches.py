"""Questions in batches: files of requests that a provider answers within a day, at a lower price.

    upload -> create -> poll -> fetch the results

A journal (`batch_journal`) records each step before it is taken, and a batch carries the
name from the journal at the provider: after a command was killed at any point, the same
command finds what exists, and nothing is paid for twice.
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
_SLOWER: Final = 1.5  # by which each wait is longer than the last
_LONGEST_WAIT: Final = 12  # times the first wait
_TRIES: Final = 3  # to create a batch that may exist after all
_PATIENCE: Final = 30  # consecutive polls of a batch that may fail
_SHOWN: Final = 300  # characters of the provider's message

Lines = Callable[[Collection[str]], Iterable[Line]]
Deliver = Callable[[Sequence[str], Outcome], None]


@dataclass
class _Tally:
    """Counts the outcomes of a batch's requests."""

    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    first: str = ""  # detail of the first failure

    def count(self, outcome: Outcome) -> None:
        if isinstance(outcome, CallFailed):
            self.first = self.first or outcome.detail
            self.failed[outcome.reason] += 1
        else:
            self.answered += 1

    def outcome_text(self, entry: Entry) -> str:
        """Summarizes a batch that has ended, with the detail of the first failure."""
        summary = f"{entry.status}, {self.answered:,} of {entry.requests:,} answered"
        reasons = ", ".join(
            f"{count:,} x {reason}" for reason, count in self.failed.items()
        )
        return f"{summary}; {reasons} ({self.first})" if reasons else summary


@dataclass
class _Watched:
    """A batch that has not ended.

    Attributes:
        entry: the batch.
        lines: its requests; none for a batch of an earlier command.
        last_message: the last message printed about it.
        failures: how many consecutive polls failed.
    """

    entry: Entry
    lines: Sequence[Line] = ()
    last_message: str = ""
    failures: int = 0

    def report(self, message: str) -> None:
        """Prints a message about it, unless that was the last one."""
        if message != self.last_message:
            self.last_message = message
            _say(self.entry, message)


def _say(entry: Entry, message: str) -> None:
    print(f"batch {entry.batch}: {message}", file=sys.stderr, flush=True)


class Batches:
    """Asks one endpoint in batches, on behalf of a model or a judge.

    A batch may take a day, and continues and is paid for when the command ends early. So the
    journal records each batch before it exists. `ask` first resumes the batches of earlier
    commands that hold some of the requests, sends the first request ever by itself, and
    creates batches of the rest.

    Example: a command is killed while a batch of 500 requests runs. Given again with 600
    questions, it sends one of the other 100 alone, creates a batch of 99, and waits for both.
    """

    def __init__(self, settings: ChatSettings, journal: Path) -> None:
        """Rejects what a batch cannot do.

        A batch has one address, so replicas are rejected. The provider keeps it in a
        file, so credentialed text is rejected, whatever is attested.
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

    def ask(self, requests: Mapping[str, Sent], lines: Lines, deliver: Deliver) -> None:
        """Gets answers from the batches already under way, and from new ones for the rest.

        Args:
            requests: what is sent for each key.
            lines: makes the lines for some keys; it may leave out some.
            deliver: called with the keys and the outcome of each request.
        """
        policy.require_no_batch(self._option)
        self._journal.read()  # a model and its judge share one
        waiting = [
            _Watched(entry)
            for entry in self._under_way(requests)
            if self._recovered(entry, requests)
        ]
        covered = {key for batch in waiting for key in batch.entry.all_keys()}
        rest = [key for key in requests if key not in covered]
        left = self._after_the_first(lines(rest), requests, deliver)
        waiting += map(self._submitted, _batches_of(left, self._settings))
        try:
            self._wait(waiting, requests, lines, deliver)
        except KeyboardInterrupt:
            for batch in waiting:
                name = batch.entry.batch
                cancel = f"{self._settings.base_url}/batches/{name}/cancel"
                _say(
                    batch.entry,
                    f"continues, and is paid for. To cancel it: POST {cancel}",
                )

            raise

    def _after_the_first(
        self, lines: Iterable[Line], requests: Mapping[str, Sent], deliver: Deliver
    ) -> Iterator[Line]:
        """Sends the very first request by itself, and yields the others.

        This shows at once what the server refuses in every request, or adapts to it: a
        batch would return without an answer after hours.
        """
        for line in lines:
            if self._tried:
                yield line
                continue

            self._tried = True
            failed = self._provider.ask_alone(line, requests[line.keys[0]], deliver)
            if failed is None:
                continue
            if failed.every_call or failed.reason == "connection":
                raise run_error(self._settings, failed)

            if is_uncertain(failed) or failed.reason == "rate limited":
                yield line
            else:
                deliver(line.keys, failed)

    def _under_way(self, requests: Collection[str]) -> list[Entry]:
        """Returns the batches of earlier commands that hold some of the requests."""
        endpoint = (self._settings.base_url, self._settings.model)
        return [
            entry
            for entry in self._journal.entries
            if not entry.status
            and (entry.address, entry.model) == endpoint
            and not entry.all_keys().isdisjoint(requests)
        ]

    def _recovered(self, entry: Entry, requests: Collection[str]) -> bool:
        """Resumes a batch of an earlier command; returns False if it was never created."""
        if entry.file and not entry.batch:
            entry.batch = self._existing_batch(entry)

        if not entry.batch and entry.all_keys() <= set(requests):
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

    def _existing_batch(self, entry: Entry) -> str:
        """Returns the id of a batch whose creation was not confirmed; "" if there is none."""
        try:
            return self._provider.find_batch(entry)
        except CallFailed as failed:
            if failed.reason not in NO_BATCHES:
                raise run_error(self._settings, failed) from failed

            raise MissingError(
                f"{self._settings.where} does not list its batches ({failed.detail}), so it "
                f"is unknown whether one of {entry.requests:,} requests was created from "
                f"{entry.file}. Look there; if it was not, remove {self._journal.path}"
            ) from failed

    def _submitted(self, lines: Sequence[Line]) -> _Watched:
        """Creates a batch. The journal records before each step how to find its result.

        What the journal holds when a command is killed, and what the next one does:

            only an id        looks for the upload by its name, else drops the batch
            the upload's id   looks for a batch of that file, else creates it
            the batch's id    polls the batch, as if nothing had happened
        """
        entry = Entry(
            id=uuid4().hex,
            address=self._settings.base_url,
            model=self._settings.model,
            purpose=self._settings.purpose,
            created=int(time.time()),
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
                # no batch exists, and an upload alone costs nothing
                self._journal.drop(entry)

            raise self._refused(failed) from failed

        self._journal.save()
        _say(entry, f"{entry.requests:,} requests sent")
        return _Watched(entry, lines)

    def _create(self, entry: Entry) -> None:
        """Creates a batch of an upload, once.

        After a failed request that may have worked, it looks for the batch.
        """
        for left in reversed(range(_TRIES)):
            try:
                entry.batch = self._provider.create(entry)
            except CallFailed as failed:
                if not is_uncertain(failed):
                    raise

                time.sleep(self._settings.batch_poll)
                self._journal.save()
                entry.batch = self._existing_batch(entry)
                if not entry.batch and not left:
                    raise

            if entry.batch:
                return

    def _wait(
        self,
        waiting: list[_Watched],
        requests: Mapping[str, Sent],
        lines: Lines,
        deliver: Deliver,
    ) -> None:
        """Polls the batches until all have ended, and delivers the results of each.

        Polls are further and further apart: after 5 s, 7.5 s, 11.25 s, at most 60 s
        if `batch_poll` is 5. What exceeds the account's quota is sent again when another
        batch has ended.
        """
        postponed: list[Sequence[Line]] = []  # over the account's quota
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
                        raise self._not_accepted(batch.entry, status, requests)

                    keys = [key for key in requests if key in batch.entry.all_keys()]
                    postponed.append(batch.lines or list(lines(keys)))
                    batch.report(
                        "too much at once for this account; sent again after another batch"
                    )
                    continue

                self._finish(batch.entry, status, requests, deliver)
                if postponed:
                    waiting.append(self._submitted(postponed.pop(0)))

            if waiting:
                time.sleep(pause)
                pause = min(pause * _SLOWER, first * _LONGEST_WAIT)

    def _status(self, batch: _Watched) -> Status | None:
        """Polls a batch, and prints what is new; None if the provider cannot be reached."""
        entry = batch.entry
        try:
            status = self._provider.status(entry)
        except CallFailed as failed:
            if failed.reason in NO_BATCHES:
                raise self._gone(entry, failed) from failed
            if not is_uncertain(failed) or batch.failures >= _PATIENCE:
                raise run_error(self._settings, failed) from failed

            batch.failures += 1
            batch.report(
                f"not reached ({failed.detail}); it continues, and is looked at again"
            )
            return None

        batch.failures = 0
        if status.state not in ENDED:
            far = f"{status.done:,} of {entry.requests:,} done, {status.state.replace('_', ' ')}"
            batch.report(f"{far}; Ctrl-C leaves it running; the same command resumes")

        return status

    def _finish(
        self,
        entry: Entry,
        status: Status,
        requests: Mapping[str, Sent],
        deliver: Deliver,
    ) -> None:
        """Delivers the results of a batch, then records its end."""
        tally, left = _Tally(), {keys[0]: keys for keys in entry.keys}
        try:
            for name, outcome in self._provider.results(entry, status, requests):
                keys = left.pop(name, None)
                # else an unknown request, or a second result
                if keys is not None:
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
        _say(entry, tally.outcome_text(entry))

    def _not_accepted(
        self, entry: Entry, status: Status, requests: Mapping[str, Sent]
    ) -> MedicalTasksError:
        """Makes the error for a batch that the provider did not accept."""
        code, message = (*status.faults, ("no reason", ""))[0]
        quotes = any(quoted_from(message, sent.texts) for sent in requests.values())
        if message and not quotes and not holds_key(message, self._settings.api_key):
            code += f": {message[:_SHOWN]}"

        if status.over_quota:
            return MissingError(
                f"{self._settings.where} does not accept so large a batch now ({code}). None of "
                "its requests was sent to the model. Wait until the account's other batches have ended, or give "
                f"batch_size=N (this one had {entry.requests:,} requests) and the same command."
            )

        return UsageError(
            f"{self._settings.where} did not accept {entry.batch} ({code}). None of its "
            "requests was sent to the model. Correct the model's name or its arguments, or leave out "
            f"{self._option}."
        )

    def _refused(self, failed: CallFailed) -> MedicalTasksError:
        """Makes the error for a server that accepts no file, or creates no batch of it."""
        if failed.reason not in NO_BATCHES:
            return run_error(self._settings, failed)
        return UsageError(
            f"{self._settings.where} does not support batches ({failed.detail}). Leave out "
            f"{self._option}, or correct the base URL."
        )

    def _gone(self, entry: Entry, failed: CallFailed) -> MissingError:
        """Makes the error for a batch, or results, that the provider does not have."""
        return MissingError(
            f"{self._settings.where} does not have {entry.batch}, a batch of this run, or its "
            f"results ({failed.detail}). Give the key of the account that made it; or, to ask "
            f"its questions again, remove {self._journal.path}"
        )


def _batches_of(lines: Iterable[Line], settings: ChatSettings) -> Iterator[list[Line]]:
    """Groups requests into batches within the provider's limits.

    Example: with `batch_size=2`, five requests make batches of 2, 2 and 1. A request
    that exceeds the provider's limit is a batch alone, for the provider to refuse.
    """
    batch: list[Line] = []
    size = 0
    for line in lines:
        length = len(line.written(settings.adaptations))
        if batch and (len(batch) >= settings.batch_size or size + length > _MOST_BYTES):
            yield batch
            batch, size = [], 0

        batch.append(line)
        size += length

    if batch:
        yield batch
