"""What a provider of batches does: takes a file, makes a batch of it, says how far it is, gives results.

OpenAI's form (`POST /files`, `POST /batches`), by the openai library's own methods.
Every request asks the guard and goes by the wire, as those of `chat_client` do; what
fails is a `CallFailed`.
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
"""States of a batch in which nothing more happens."""
NO_BATCHES: Final = ("http 404", "http 405", "http 501")
"""Failures that say that there is nothing at an address."""

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
"""What came of one request of a batch."""
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A request of a batch.

    Attributes:
        keys: of the answers that it brings, one a choice.
        body: as it is meant (`chat_client.completion_body`).
    """

    keys: tuple[str, ...]
    body: Mapping[str, object]

    def written(self, adaptations: Adaptations) -> bytes:
        """The line of the file; the first key names it, and its result."""
        line = {
            "custom_id": self.keys[0],
            "method": "POST",
            "url": OPERATION,
            "body": adaptations.applied(self.body),
        }
        return json.dumps(line, separators=(",", ":")).encode() + b"\n"


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What reading a result takes of its request.

    Attributes:
        texts: what was sent, of which no failure tells.
        stop: words that end an answer.
        tools: whether tools were offered.
    """

    texts: Sequence[str] = ()
    stop: Sequence[str] = ()
    tools: bool = False


_NOTHING: Final = Sent()


@dataclass(frozen=True, kw_only=True)
class Status:
    """How far a batch is.

    Attributes:
        state: the provider's word for it.
        done: requests that have a result.
        files: of results: answers, then errors.
        faults: code and message each, of a batch that was not accepted.
    """

    state: str
    done: int
    files: tuple[str, ...]
    faults: tuple[tuple[str, str], ...]

    @property
    def over_quota(self) -> bool:
        """Whether the batch was not accepted because of what else the account has waiting."""
        return any(code in _QUOTA for code, _ in self.faults)


class Provider:
    """The batches of one endpoint."""

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
        """Has a batch made of an upload; returns its id. Never repeated by itself: each is paid for."""

        async def ask(api: AsyncOpenAI) -> Batch:
            return await api.with_options(max_retries=0).batches.create(
                input_file_id=entry.file,
                endpoint=OPERATION,
                completion_window="24h",
                metadata={_NAME: entry.id},
                # Where a server knows the header, it makes one batch of any number of
                # requests.
                extra_headers={"Idempotency-Key": entry.id},
            )

        return _id_of(self._do(ask))

    def find_batch(self, entry: Entry) -> str:
        """Looks for a batch that may have been made, by its metadata or its upload; "" for none."""

        def is_it(batch: Batch) -> bool:
            named = (batch.metadata or {}).get(_NAME) == entry.id
            of_file = entry.file != "" and _stated(batch, "input_file_id") == entry.file
            return named or of_file

        async def ask(api: AsyncOpenAI) -> str:
            return await _first(api.batches.list(limit=_PAGE), is_it, since=entry.made)

        return self._do(ask)

    def find_file(self, entry: Entry) -> str:
        """Looks for an upload that may have arrived, by its name; "" for none."""

        def is_it(file: FileObject) -> bool:
            return _stated(file, "filename") == entry.upload_name

        async def ask(api: AsyncOpenAI) -> str:
            listed = api.files.list(purpose="batch", limit=_PAGE)
            return await _first(listed, is_it, since=entry.made)

        return self._do(ask)

    def status(self, entry: Entry) -> Status:
        """Says how far a batch is."""

        async def ask(api: AsyncOpenAI) -> Batch:
            return await api.batches.retrieve(entry.batch)

        return _read_status(self._do(ask))

    def results(
        self, entry: Entry, status: Status, sent: Mapping[str, Sent]
    ) -> Iterator[tuple[str, Outcome]]:
        """Reads the files of results: a request's name, and what came of it.

        Args:
            entry: a batch.
            status: how it has ended.
            sent: what its requests were, by name.
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
        """What a line of results says: a completion, or why there is none."""
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
        """Asks one request without a batch, as all others are that have none.

        Returns:
            Why there is no answer; None where it was delivered.
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
        """Does one thing at the provider; raises CallFailed."""
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
    """Whether a request may have worked all the same, or may work the next time."""
    broken = failed.reason.startswith("http 5") and failed.reason not in NO_BATCHES
    return broken or failed.reason in _UNCERTAIN


Listed = TypeVar("Listed", "Batch", "FileObject")


async def _first(
    entries: AsyncIterable[Listed], is_it: Callable[[Listed], bool], since: int
) -> str:
    """The id of the first entry of a list that is meant; those made long before are not looked at."""
    async for each in entries:
        if is_it(each):
            return each.id
        made = _stated(each, "created_at")
        if isinstance(made, int) and made < since - _CLOCKS_DIFFER_S:
            break  # the newest come first
    return ""


def _stated(made: object, name: str) -> object:
    """What a reply states; the library makes an object without it where a server leaves it out."""
    return getattr(made, name, None)


def _id_of(made: Batch | FileObject) -> str:
    name = _stated(made, "id")
    if not isinstance(name, str) or not name:
        raise CallFailed(
            "no batch", "HTTP 200 with a body that names no id", attempts=1
        )
    return name


def _read_status(batch: Batch) -> Status:
    """Reads how far a batch is.

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
