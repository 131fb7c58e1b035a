"""Questions in batches: files of requests that a provider answers within a day, for less (OpenAI's form).

    upload (POST /files) -> create (POST /batches) -> look now and then -> fetch the results

What is under way stands in a journal beside the answers (`batches.json`): ids and keys, no text. It
is written before each step, and a batch bears the name that it has there, so that a command that
was killed anywhere is gone on with: what was made is found again, and nothing is paid twice.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

from medical_tasks.errors import MedicalTasksError, MissingError, UsageError
from medical_tasks.guard import policy
from medical_tasks.models.batch_journal import Entry, Journal
from medical_tasks.models.call_pool import explained, run_calls
from medical_tasks.models.chat_client import (
    CallFailed,
    ChatClient,
    ChatSettings,
    Completion,
)
from medical_tasks.models.chat_reply import (
    AttemptError,
    quoted_from,
    read_error,
    read_reply,
    whole_number,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch, FileObject

_OPERATION: Final = "/v1/chat/completions"
_MOST_BYTES: Final = 200_000_000  # of a file; the provider's limit
_PAGE: Final = 100  # of a list; the provider's limit
_NAME: Final = "medical_tasks"  # of the metadata by which a batch is found again
_SLOWER: Final = 1.5  # how much longer is waited each time
_LONGEST_WAIT: Final = 12  # times the first wait
_TRIES: Final = 3  # to create a batch that may be there after all
_PATIENCE: Final = 30  # looks in a row at a batch that may fail
_CLOCKS_DIFFER_S: Final = 24 * 3600

_ENDED: Final = ("completed", "failed", "expired", "cancelled")
_NO_BATCHES: Final = ("http 404", "http 405", "http 501")
# A request after these may have worked all the same, or works the next time.
_UNCERTAIN: Final = ("connection", "timeout", "not json", "no batch")
_QUOTA: Final = ("token_limit_exceeded", "billing_hard_limit_reached", "insufficient_quota")

Outcome = Completion | CallFailed
Deliver = Callable[[Sequence[str], Outcome], None]
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A request of a batch, and the keys of the answers that it brings: one a choice."""

    keys: tuple[str, ...]
    body: Mapping[str, object]

    def written(self) -> bytes:
        """The line of the file; the first key names it, and its result."""
        line = {
            "custom_id": self.keys[0],
            "method": "POST",
            "url": _OPERATION,
            "body": dict(self.body),
        }
        return json.dumps(line, separators=(",", ":")).encode() + b"\n"


@dataclass(frozen=True, kw_only=True)
class _Status:
    """How far a batch is."""

    state: str
    done: int
    files: tuple[str, ...]  # of results: answers, then errors
    faults: tuple[tuple[str, str], ...]  # code and message each, of a batch that was not accepted


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


@dataclass
class _Watched:
    """A batch that is waited for, what was said of it last, and how often in a row looking failed."""

    entry: Entry
    said: str = ""
    failures: int = 0

    def tell(self, what: str) -> None:
        """Says something of it, unless it was said last."""
        if what != self.said:
            self.said = what
            _say(self.entry, what)


def _say(entry: Entry, what: str) -> None:
    print(f"batch {entry.batch}: {what}", file=sys.stderr, flush=True)


class Batches:
    """Asks one endpoint in batches, on behalf of a model or a judge."""

    def __init__(self, settings: ChatSettings, journal: Path) -> None:
        self._option = "--judge-batch" if settings.purpose == "judge" else "--batch"
        if settings.replicas:
            raise UsageError(
                f"{self._option}: a batch lies at one address, got {len(settings.addresses)} "
                f"({', '.join(settings.addresses)}). Name one base URL, or leave it out."
            )
        policy.require_no_batch(self._option)
        self._settings = settings
        self._journal = Journal(journal)

    def ask(
        self,
        wanted: Mapping[str, Sequence[str]],
        lines: Callable[[Collection[str]], Iterable[Line]],
        deliver: Deliver,
    ) -> None:
        """Gets answers: of batches that are under way already, and of new ones for the rest.

        Args:
            wanted: the texts that are sent for each key.
            lines: makes the requests of the keys that no batch under way has; it may leave out some.
            deliver: told what came of each request, with the request's keys.
        """
        policy.require_no_batch(self._option)
        entries = [entry for entry in self._under_way(wanted) if self._recovered(entry, wanted)]
        covered = {key for entry in entries for key in entry.all_keys()}
        rest = [key for key in wanted if key not in covered]
        for part in _parts(lines(rest), self._settings.batch_size):
            entries.append(self._submitted(part))
        self._wait(entries, wanted, deliver)

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
        if not entry.batch:
            self._look_for(entry)
        if not entry.batch and entry.all_keys() <= set(wanted):
            if not entry.file:
                entry.file = self._uploaded_file(entry)
            if entry.file:
                self._create(entry)
        if not entry.batch:
            self._journal.drop(entry)
            return False
        _say(entry, f"{entry.requests:,} requests of an earlier command; going on with it")
        return True

    def _submitted(self, part: Sequence[Line]) -> Entry:
        """Makes a batch. Before each step the journal has what finds the step again."""
        entry = Entry(
            id=uuid4().hex,
            address=self._settings.base_url,
            model=self._settings.model,
            purpose=self._settings.purpose,
            made=int(time.time()),
            keys=[list(line.keys) for line in part],
            requests=len(part),
        )
        self._journal.add(entry)
        content = b"".join(line.written() for line in part)

        async def upload(api: AsyncOpenAI) -> FileObject:
            return await api.files.create(file=(entry.upload_name, content), purpose="batch")

        try:
            entry.file = _id_of(self._do(upload))
        except CallFailed as failed:
            self._journal.drop(entry)  # an upload alone costs nothing
            raise self._refused(failed, "files") from failed
        self._journal.save()
        self._create(entry)
        _say(entry, f"{entry.requests:,} requests sent")
        return entry

    def _create(self, entry: Entry) -> None:
        """Has the provider make a batch of an upload, once.

        A request that may have worked all the same is not simply repeated: the batch is looked for.
        """

        async def create(api: AsyncOpenAI) -> Batch:
            # Where a server knows the header, it makes one batch of any number of such requests.
            return await api.with_options(max_retries=0).batches.create(
                input_file_id=entry.file,
                endpoint=_OPERATION,
                completion_window="24h",
                metadata={_NAME: entry.id},
                extra_headers={"Idempotency-Key": entry.id},
            )

        for left in reversed(range(_TRIES)):
            try:
                entry.batch = _id_of(self._do(create))
                break
            except CallFailed as failed:
                if not _uncertain(failed):
                    self._journal.drop(entry)
                    raise self._refused(failed, "batches") from failed
                time.sleep(self._settings.batch_poll)
                self._look_for(entry)
                if entry.batch:
                    break
                if not left:
                    raise explained(self._settings, failed) from failed
        self._journal.save()

    def _look_for(self, entry: Entry) -> None:
        """Finds a batch that was made though nobody heard of it, by its metadata or its upload."""

        async def look(api: AsyncOpenAI) -> str:
            async for batch in api.batches.list(limit=_PAGE):
                named = (batch.metadata or {}).get(_NAME) == entry.id
                if named or (entry.file and batch.input_file_id == entry.file):
                    return batch.id
                if (batch.created_at or 0) < entry.made - _CLOCKS_DIFFER_S:
                    break  # the newest come first
            return ""

        try:
            entry.batch = self._do(look)
        except CallFailed as failed:
            raise self._refused(failed, "batches") from failed
        self._journal.save()

    def _uploaded_file(self, entry: Entry) -> str:
        """Finds an upload of which nobody heard, by its name; "" where there is none."""

        async def look(api: AsyncOpenAI) -> str:
            async for file in api.files.list(purpose="batch", limit=_PAGE):
                if file.filename == entry.upload_name:
                    return file.id
                if (file.created_at or 0) < entry.made - _CLOCKS_DIFFER_S:
                    break
            return ""

        try:
            return self._do(look)
        except CallFailed:
            return ""  # it is sent again then, which costs nothing

    def _wait(
        self, entries: Sequence[Entry], wanted: Mapping[str, Sequence[str]], deliver: Deliver
    ) -> None:
        """Looks at the batches until all have ended; their results are delivered as each ends."""
        waiting = [_Watched(entry) for entry in entries]
        first = pause = self._settings.batch_poll
        try:
            while waiting:
                for batch in list(waiting):
                    status = self._status(batch)
                    if status is not None and status.state in _ENDED:
                        self._finish(batch.entry, status, wanted, deliver)
                        waiting.remove(batch)
                if waiting:
                    time.sleep(pause)
                    pause = min(pause * _SLOWER, first * _LONGEST_WAIT)
        except KeyboardInterrupt:
            for batch in waiting:
                place = f"{self._settings.base_url}/batches/{batch.entry.batch}"
                print(
                    f"batch {batch.entry.batch} goes on at the provider, and is paid for; to "
                    f"cancel it: POST {place}/cancel",
                    file=sys.stderr,
                )
            raise

    def _status(self, watched: _Watched) -> _Status | None:
        """Looks at a batch, and says what is new; None where the provider does not tell."""
        entry = watched.entry

        async def look(api: AsyncOpenAI) -> Batch:
            return await api.batches.retrieve(entry.batch)

        try:
            status = _read_status(self._do(look))
        except CallFailed as failed:
            if failed.reason in _NO_BATCHES:
                raise MissingError(
                    f"{self._settings.where} does not know {entry.batch}, a batch of this run "
                    f"({failed.detail}). Give the key of the account that made it; or, to ask "
                    f"anew what it had, remove {self._journal.path}"
                ) from failed
            if not _uncertain(failed) or watched.failures >= _PATIENCE:
                raise explained(self._settings, failed) from failed
            watched.failures += 1
            watched.tell(f"not reached ({failed.detail}); it goes on, and is looked at again")
            return None
        watched.failures = 0
        if status.state not in _ENDED:
            far = f"{status.done:,} of {entry.requests:,} done, {status.state.replace('_', ' ')}"
            watched.tell(f"{far}; Ctrl-C leaves it running; the same command goes on")
        return status

    def _finish(
        self,
        entry: Entry,
        status: _Status,
        wanted: Mapping[str, Sequence[str]],
        deliver: Deliver,
    ) -> None:
        """Delivers the results of a batch, then notes that it has ended."""
        if status.state == "failed" and not status.files:
            self._journal.drop(entry)
            raise self._invalid(entry, status, wanted)
        tally = _Tally()
        left = {keys[0]: keys for keys in entry.keys}
        for name, outcome in self._results(status, wanted):
            keys = left.pop(name, None)
            if keys is not None:  # else of nobody's request, or a second result of one
                tally.count(outcome)
                deliver(keys, outcome)
        reason = "not in the batch" if status.state == "completed" else f"batch {status.state}"
        for keys in left.values():
            outcome = CallFailed(reason, f"{entry.batch} has no result of it", attempts=0)
            tally.count(outcome)
            deliver(keys, outcome)
        entry.status, entry.answered, entry.keys = status.state, tally.answered, []
        self._journal.save()
        _say(entry, _ended(entry, tally))

    def _results(
        self, status: _Status, wanted: Mapping[str, Sequence[str]]
    ) -> Iterator[tuple[str, Outcome]]:
        """Reads the files of results: a request's name, and what came of it."""
        for file in status.files:

            async def fetch(api: AsyncOpenAI, file: str = file) -> bytes:
                return (await api.files.content(file)).content

            try:
                content = self._do(fetch)
            except CallFailed as failed:
                raise explained(self._settings, failed) from failed
            for raw in content.splitlines():
                if read := _read_line(raw):
                    name, result = read
                    yield name, self._outcome(result, status.state, wanted.get(name, ()))

    def _outcome(self, result: Mapping[str, object], state: str, texts: Sequence[str]) -> Outcome:
        """What a line of results says: a completion, or why there is none."""
        response, error = result.get("response"), result.get("error")
        status = whole_number(response.get("status_code")) if isinstance(response, dict) else None
        if not isinstance(response, dict) or status is None:
            code = error.get("code") if isinstance(error, dict) else None
            ended = f"batch {state}" if code in ("batch_expired", "batch_cancelled") else ""
            return CallFailed(ended or "no response", f"{code or 'no response'}", attempts=1)
        text, secret = json.dumps(response.get("body")), self._settings.api_key
        try:
            if status != 200:
                raise read_error(status, {}, text, sent=texts, secret=secret)
            return Completion(**vars(read_reply(text, sent=texts, secret=secret)), attempts=1)
        except AttemptError as failure:
            return CallFailed(failure.reason, failure.detail, attempts=1)

    def _invalid(
        self, entry: Entry, status: _Status, wanted: Mapping[str, Sequence[str]]
    ) -> MedicalTasksError:
        """The error of a batch that the provider did not accept; nothing of it was asked."""
        codes = [code for code, _ in status.faults]
        said = [message for _, message in status.faults if message]
        quotes = said and any(quoted_from(said[0], texts) for texts in wanted.values())
        why = "" if not said or quotes else f": {said[0][:300]}"
        if any(code in _QUOTA for code in codes):
            return MissingError(
                f"{self._settings.where} does not take so large a batch now ({codes[0]}{why}). "
                "Nothing of it was asked. Wait until its other batches have ended, or give "
                f"batch_size=N (this one had {entry.requests:,} requests) and the same command."
            )
        more = f" and {len(status.faults) - 1} more" if len(status.faults) > 1 else ""
        return UsageError(
            f"{self._settings.where} did not accept {entry.batch} "
            f"({', '.join(codes[:1]) or 'no reason'}{why}{more}). Nothing of it was asked. Correct "
            f"the model's name or its arguments, or leave out {self._option}."
        )

    def _refused(self, failed: CallFailed, what: str) -> MedicalTasksError:
        """The error of a server that takes no upload or makes no batch of it."""
        if failed.reason not in _NO_BATCHES:
            return explained(self._settings, failed)
        return UsageError(
            f"{self._settings.where} takes no batches ({failed.detail}, at "
            f"{self._settings.base_url}/{what}). Leave out {self._option}, or correct the base URL."
        )

    def _do(self, ask: Callable[[AsyncOpenAI], Awaitable[Result]]) -> Result:
        """Does one thing at the provider; raises CallFailed."""
        outcomes: list[Result | CallFailed] = []

        async def tried(client: ChatClient, _: None) -> Result | CallFailed:
            try:
                return await client.through(ask)
            except CallFailed as failed:
                return failed  # what it means is not for the pool to say

        run_calls(self._settings, [None], tried, lambda _, outcome: outcomes.append(outcome))
        (outcome,) = outcomes
        if isinstance(outcome, CallFailed):
            raise outcome
        return outcome


def _parts(lines: Iterable[Line], most: int) -> Iterator[list[Line]]:
    """Puts requests together to batches that are not too large for the provider."""
    part: list[Line] = []
    size = 0
    for line in lines:
        length = len(line.written())
        if part and (len(part) >= most or size + length > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(line)
        size += length
    if part:
        yield part


def _uncertain(failed: CallFailed) -> bool:
    return failed.reason in _UNCERTAIN or failed.reason.startswith(("http 5", "http 408"))


def _id_of(made: Batch | FileObject) -> str:
    """The id of what was made; `CallFailed` where a reply has none."""
    name = getattr(made, "id", None)
    if not isinstance(name, str) or not name:
        raise CallFailed("no batch", "HTTP 200 with a body that names no id", attempts=1)
    return name


def _read_status(batch: Batch) -> _Status:
    state = getattr(batch, "status", None)
    if not isinstance(state, str):
        raise CallFailed("no batch", "HTTP 200 with a body that is no batch", attempts=1)
    counts, errors = batch.request_counts, batch.errors
    files = (batch.output_file_id, batch.error_file_id)
    return _Status(
        state=state,
        done=0 if counts is None else counts.completed + counts.failed,
        files=tuple(file for file in files if file),
        faults=tuple(
            (each.code or "", each.message or "")
            for each in (errors.data if errors is not None else None) or ()
        ),
    )


def _read_line(raw: bytes) -> tuple[str, Mapping[str, object]] | None:
    """A line of results, by the name of its request; None for anything else."""
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    name = line.get("custom_id") if isinstance(line, dict) else None
    return (name, line) if isinstance(name, str) else None


def _ended(entry: Entry, tally: _Tally) -> str:
    """What is said of a batch that has ended, with the first failure's own words."""
    said = f"{entry.status}, {tally.answered:,} of {entry.requests:,} answered"
    reasons = ", ".join(f"{count:,} x {reason}" for reason, count in tally.failed.items())
    return f"{said}; {reasons} ({tally.first})" if reasons else said
