"""A provider's batch API: uploads a file, creates a batch of it, polls it and fetches results.

OpenAI's form (`POST /files`, `POST /batches`), by the openai library's own methods.
Every request is guarded and sent through the wire, as those of `chat_client` are; a
failure is a `CallFailed`.
"""

from __future__ import annotations

import json
from collections.abc import (
    AsyncIterable,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from medical_tasks.models.batch_journal import Entry
from medical_tasks.models.call_pool import run_calls
from medical_tasks.models.chat_client import (
    CallFailed,
    ChatClient,
    ChatSettings,
    Completion,
    completed,
)
from medical_tasks.models.chat_reply import (
    AttemptError,
    read_error,
    read_reply,
    whole_number,
)
from medical_tasks.models.refusals import Adaptations

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch, FileObject

OPERATION: Final = "/v1/chat/completions"
ENDED: Final = ("completed", "failed", "expired", "cancelled")
"""Final states of a batch."""
NO_BATCHES: Final = ("http 404", "http 405", "http 501")
"""Failures that show that there is nothing at an address."""

_PAGE: Final = 100  # of a list; the provider's limit
_NAME: Final = "medical_tasks"  # of the metadata by which a batch is found again
_CLOCKS_DIFFER_S: Final = 24 * 3600
_UNCERTAIN: Final = ("connection", "timeout", "not json", "no batch", "http 408")
_NOT_EXECUTED: Final = ("batch_expired", "batch_cancelled")
_QUOTA: Final = (
    "token_limit_exceeded",
    "billing_hard_limit_reached",
    "insufficient_quota",
)

Outcome = Completion | CallFailed
"""The outcome of one request of a batch."""
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A request of a batch.

    Attributes:
        keys: of its answers, one per choice.
        body: as `chat_client.completion_body` makes it.
    """

    keys: tuple[str, ...]
    body: Mapping[str, object]

    def written(self, adaptations: Adaptations) -> bytes:
        """Returns the line of the file; the first key names it, and its result."""
        line = {
            "custom_id": self.keys[0],
            "method": "POST",
            "url": OPERATION,
            "body": adaptations.applied(self.body),
        }
        return json.dumps(line, separators=(",", ":")).encode() + b"\n"


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What is needed of a request to read its result.

    Attributes:
        texts: what was sent, which no failure may quote.
        stop: words that end an answer.
        tools: whether tools were offered.
    """

    texts: Sequence[str] = ()
    stop: Sequence[str] = ()
    tools: bool = False


_NOTHING: Final = Sent()


@dataclass(frozen=True, kw_only=True)
class Status:
    """The progress of a batch.

    Attributes:
        state: the provider's name for it.
        done: requests that have a result.
        files: the files of results: answers, then errors.
        faults: the codes and messages of a batch that was not accepted.
    """

    state: str
    done: int
    files: tuple[str, ...]
    faults: tuple[tuple[str, str], ...]

    @property
    def over_quota(self) -> bool:
        """Whether the batch was rejected because too much of the account is queued."""
        return any(code in _QUOTA for code, _ in self.faults)


class Provider:
    """The batches of one endpoint.

    Methods that ask the provider raise `CallFailed`. Only `create` is never repeated by the
    client; after a failure that may have worked, `find_batch` says whether it did.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings

    def upload(self, entry: Entry, lines: Sequence[Line]) -> str:
        """Sends the file of requests; returns its id."""
        adaptations = self._settings.adaptations
        content = b"".join(line.written(adaptations) for line in lines)

        async def ask(api: AsyncOpenAI) -> FileObject:
            return await api.files.create(
                file=(entry.upload_name, content), purpose="batch"
            )

        return _id_of(self._do(ask))

    def create(self, entry: Entry) -> str:
        """Creates a batch of an upload; returns its id. Never retried: each batch is paid for."""

        async def ask(api: AsyncOpenAI) -> Batch:
            return await api.with_options(max_retries=0).batches.create(
                input_file_id=entry.file,
                endpoint=OPERATION,
                completion_window="24h",
                metadata={_NAME: entry.id},
                # Servers that know the header create one batch, however often it is
                # requested.
                extra_headers={"Idempotency-Key": entry.id},
            )

        return _id_of(self._do(ask))

    def find_batch(self, entry: Entry) -> str:
        """Looks for a batch that may exist, by its metadata or its upload; "" for none."""

        def is_match(batch: Batch) -> bool:
            named = (batch.metadata or {}).get(_NAME) == entry.id
            of_file = entry.file != "" and _stated(batch, "input_file_id") == entry.file
            return named or of_file

        async def ask(api: AsyncOpenAI) -> str:
            return await _first(
                api.batches.list(limit=_PAGE), is_match, since=entry.created
            )

        return self._do(ask)

    def find_file(self, entry: Entry) -> str:
        """Looks for an upload that may have arrived, by its name; "" for none."""

        def is_match(file: FileObject) -> bool:
            return _stated(file, "filename") == entry.upload_name

        async def ask(api: AsyncOpenAI) -> str:
            listed = api.files.list(purpose="batch", limit=_PAGE)
            return await _first(listed, is_match, since=entry.created)

        return self._do(ask)

    def status(self, entry: Entry) -> Status:
        """Returns the progress of a batch."""

        async def ask(api: AsyncOpenAI) -> Batch:
            return await api.batches.retrieve(entry.batch)

        return _read_status(self._do(ask))

    def results(
        self, entry: Entry, status: Status, sent: Mapping[str, Sent]
    ) -> Iterator[tuple[str, Outcome]]:
        """Reads the files of results; yields the name and the outcome of each request.

        Args:
            entry: a batch.
            status: how it has ended.
            sent: its requests, by name.
        """
        for file in status.files:

            async def ask(api: AsyncOpenAI, file: str = file) -> bytes:
                return (await api.files.content(file)).content

            for raw in self._do(ask).splitlines():
                line = _read_line(raw)
                if line is not None:
                    name, result = line
                    request = sent.get(name, _NOTHING)
                    yield (
                        name,
                        self._outcome(result, status.state, request, entry.adapted),
                    )

    def _outcome(
        self,
        result: Mapping[str, object],
        state: str,
        sent: Sent,
        adapted: Mapping[str, str],
    ) -> Outcome:
        """Reads a line of results: a completion, or why there is none."""
        response, error = result.get("response"), result.get("error")
        status = (
            whole_number(response.get("status_code"))
            if isinstance(response, dict)
            else None
        )
        if not isinstance(response, dict) or status is None:
            code = error.get("code") if isinstance(error, dict) else None
            reason = f"batch {state}" if code in _NOT_EXECUTED else "no response"
            return CallFailed(reason, str(code or reason), attempts=0)

        text, secret = json.dumps(response.get("body")), self._settings.api_key
        try:
            if status != 200:
                raise read_error(status, {}, text, sent=sent.texts, secret=secret)

            reply = read_reply(
                text, {}, sent=sent.texts, secret=secret, tools=sent.tools
            )
            return completed(reply, attempts=1, adapted=adapted, stop=sent.stop)
        except AttemptError as failure:
            return CallFailed(failure.reason, failure.detail, attempts=1)

    def ask_alone(
        self, line: Line, sent: Sent, deliver: Callable[[Sequence[str], Outcome], None]
    ) -> CallFailed | None:
        """Sends one request without a batch.

        Returns:
            Why there is no answer; None if it was delivered.
        """
        failures: list[CallFailed] = []

        async def ask(client: ChatClient, line: Line) -> Outcome:
            try:
                return await client.send(line.body, texts=sent.texts, stop=sent.stop)
            except CallFailed as failed:
                return failed  # what it means is not for the pool to say

        def hear(line: Line, outcome: Outcome) -> None:
            if isinstance(outcome, CallFailed):
                failures.append(outcome)
            else:
                deliver(line.keys, outcome)

        run_calls(self._settings, [line], ask, hear)

        return failures[0] if failures else None

    def _do(self, ask: Callable[[AsyncOpenAI], Awaitable[Result]]) -> Result:
        """Calls the provider once; raises CallFailed."""
        outcomes: list[Result | CallFailed] = []

        async def tried(client: ChatClient, _: None) -> Result | CallFailed:
            try:
                return await client.through(ask)
            except CallFailed as failed:
                return failed  # what it means is not for the pool to say

        run_calls(
            self._settings, [None], tried, lambda _, outcome: outcomes.append(outcome)
        )
        (outcome,) = outcomes
        if isinstance(outcome, CallFailed):
            raise outcome

        return outcome


def is_uncertain(failed: CallFailed) -> bool:
    """Returns whether a failed request may have worked, or may work the next time."""
    broken = failed.reason.startswith("http 5") and failed.reason not in NO_BATCHES
    return broken or failed.reason in _UNCERTAIN


Listed = TypeVar("Listed", "Batch", "FileObject")


async def _first(
    entries: AsyncIterable[Listed], is_match: Callable[[Listed], bool], since: int
) -> str:
    """Returns the id of the first match in a list, ignoring entries created long before."""
    async for entry in entries:
        if is_match(entry):
            return entry.id
        created = _stated(entry, "created_at")
        if isinstance(created, int) and created < since - _CLOCKS_DIFFER_S:
            break  # the newest come first
    return ""


def _stated(reply: object, name: str) -> object:
    """Returns a field of a reply, which the library's object lacks if the server leaves it out."""
    return getattr(reply, name, None)


def _id_of(reply: Batch | FileObject) -> str:
    name = _stated(reply, "id")
    if not isinstance(name, str) or not name:
        raise CallFailed(
            "no batch", "HTTP 200 with a body that names no id", attempts=1
        )
    return name


def _read_status(batch: Batch) -> Status:
    """Reads the progress of a batch.

    Providers differ: a count may be missing (then 0), and a status in capitals.
    """
    state = _stated(batch, "status")
    if not isinstance(state, str):
        raise CallFailed(
            "no batch", "HTTP 200 with a body that is no batch", attempts=1
        )

    errors = batch.errors
    counts = [_stated(batch.request_counts, name) for name in ("completed", "failed")]
    files = (batch.output_file_id, batch.error_file_id)

    return Status(
        state=state.lower(),
        done=sum(whole_number(count) or 0 for count in counts),
        files=tuple(file for file in files if file),
        faults=tuple(
            (error.code or "", error.message or "")
            for error in (errors.data if errors is not None else None) or ()
        ),
    )


def _read_line(raw: bytes) -> tuple[str, Mapping[str, object]] | None:
    """Parses a line of results, with the name of its request; None for anything else."""
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    name = line.get("custom_id") if isinstance(line, dict) else None
    return (name, line) if isinstance(name, str) else None
