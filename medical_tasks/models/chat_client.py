"""A client for any OpenAI-compatible `/v1/chat/completions`.

The openai library retries failed requests and sends them through `wire.Wire`. Redirects
are not followed, and requests to this machine never use a proxy. While credentialed text
is held (`guard.protect`), the guard checks the address that every request connects to.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from medical_tasks.errors import MedicalTasksError, UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.addresses import UNIX_SCHEME, read_address
from medical_tasks.models import chat_reply
from medical_tasks.models.chat_reply import AttemptError, NoAnswerError, Reply
from medical_tasks.models.checkpoint import MESSAGES
from medical_tasks.models.encoder import readable
from medical_tasks.models.refusals import Adaptations, setting_refused
from medical_tasks.models.replica import Replica
from medical_tasks.models.tool_calls import TOOLS_REFUSED, offered, wire_message
from medical_tasks.spec import Message, Tool, ToolCall

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from medical_tasks.models.wire import Exchange, Wire

_OPERATION = "/chat/completions"
SETTING_REFUSED = "setting refused"


@dataclass(frozen=True, kw_only=True)
class ChatSettings:
    """An OpenAI-compatible endpoint and the limits of calls to it; times are in seconds."""

    base_url: str  # up to and including the version; `http+unix://%2Frun%2Fvllm.sock/v1` for a unix socket
    model: str
    replicas: tuple[str, ...] = ()  # base URLs of further servers of the same model
    served: str = (
        ""  # the name under which answers are stored, instead of the addresses
    )
    # by base URL, shared by all clients
    replica_states: dict[str, Replica] = field(
        default_factory=dict, repr=False, compare=False
    )
    # never printed, never part of an identity
    api_key: str = field(default="none", repr=False)
    key_name: str = ""  # environment variable the key was read from, for error messages
    concurrency: int = 16  # requests in flight, at all replicas together
    timeout: float = (
        600.0  # for one attempt, from first byte sent to last byte received
    )
    max_retries: int = 6
    total_time: float = 1800.0  # for a call with all its attempts and waits
    token_field: str = "max_tokens"  # noqa: S105 - a field name
    adaptations: Adaptations = field(
        default_factory=Adaptations, repr=False, compare=False
    )  # what the server has refused so far, shared by all clients
    purpose: str = "model"  # or `judge`, for the data guard
    batch_poll: float = 5.0  # before the first check on a batch; later waits are longer
    batch_size: int = 50_000  # most requests of one batch

    def __post_init__(self) -> None:
        """Rejects addresses and limits that allow no call."""
        for position, url in enumerate(self.addresses):
            check_base_url(url)
            if url in self.addresses[:position]:
                raise UsageError(
                    f"the base URL {url} is given twice. Name each replica once."
                )

        for name, least in (("concurrency", 1), ("max_retries", 0), ("batch_size", 1)):
            if getattr(self, name) < least:
                raise UsageError(
                    f"{name} must be at least {least}, got {getattr(self, name)}."
                )

        for name in ("timeout", "total_time", "batch_poll"):
            if not getattr(self, name) > 0:
                raise UsageError(
                    f"{name} must be above 0 seconds, got {getattr(self, name)}."
                )

    @property
    def addresses(self) -> tuple[str, ...]:
        """All base URLs."""
        return self.base_url, *self.replicas

    @property
    def where(self) -> str:
        """The endpoint in messages."""
        return f"{', '.join(self.addresses)} (model {self.model!r})"


def check_base_url(url: str) -> None:
    """Rejects addresses that cannot work or that carry a secret."""
    try:
        parts = urlsplit(url)
        host, secret = (
            parts.hostname,
            parts.username is not None or parts.password is not None,
        )
        _ = parts.port  # raises when the port is not a number
    except ValueError as error:
        raise UsageError(
            f"the base URL cannot be read ({error}). Give one like http://127.0.0.1:8000/v1"
        ) from None

    # Results and messages name the address, so it must hold no secret; this message
    # does not quote it for that reason.
    if secret or parts.query or parts.fragment:
        raise UsageError(MESSAGES["url_secret"].format(host=host))

    if parts.scheme == UNIX_SCHEME:
        if read_address(url) is None:
            raise UsageError(MESSAGES["url_socket"].format(url=url))
    elif parts.scheme not in ("http", "https") or not host or re.search(r"[\s,]", url):
        raise UsageError(
            "a base URL starts with http:// or https:// and a host, those of replicas have white "
            f"space between, got {url!r}."
        )

    if parts.path.rstrip("/").endswith(_OPERATION):
        raise UsageError(
            f"the base URL ends before {_OPERATION}, got {url!r}. Give "
            f"{url[: url.rindex(_OPERATION)]!r}."
        )


Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Completion(Reply):
    """The result of a call.

    Attributes:
        attempts: how many requests were sent.
        adapted: settings that the server refused, and what was sent instead
            (`Adaptations`).
    """

    attempts: int
    adapted: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The first answer."""
        return self.choices[0].text


class Spending(Protocol):
    """What a call may cost; consulted for every request, retries included."""

    async def admit(self) -> bool:
        """Returns whether the request may be sent; may wait for others to end."""
        ...

    def settle(self, reply: Reply | None, *, free: bool = False) -> None:
        """Records the end of an admitted request, once for each.

        Args:
            reply: the reply; None where there is none and its cost is unknown.
            free: whether it cost nothing, since it never arrived or was refused.
        """
        ...


class CallFailed(NoAnswerError):  # noqa: N818 - an outcome that callers record, not a fault of the program
    """A call ended without an answer.

    Attributes:
        every_call: whether other calls would fail in the same way (wrong key, wrong
            model).
    """

    def __init__(
        self, reason: str, detail: str, *, attempts: int, every_call: bool = False
    ) -> None:
        super().__init__(reason, detail)
        self.attempts = attempts
        self.every_call = every_call
        self.refused: tuple[str, ...] = ()  # as `AttemptError.refused`


def refused_setting(settings: Mapping[str, object], failed: CallFailed) -> CallFailed:
    """Returns a call's failure, naming the user's setting that the server refused, if any."""
    name = setting_refused(settings, failed.refused)
    if name is None:
        return failed
    if name == chat_reply.TOOLS:
        return tools_refused(failed)
    detail = f"it refuses {name}={settings[name]}: {failed.detail}"
    return CallFailed(
        SETTING_REFUSED, detail, attempts=failed.attempts, every_call=True
    )


def tools_refused(failed: CallFailed) -> CallFailed:
    """Returns the failure of a call whose server supports no tools."""
    return CallFailed(
        TOOLS_REFUSED, failed.detail, attempts=failed.attempts, every_call=True
    )


class ChatClient:
    """Calls one endpoint, or its replicas; an async context manager for one event loop.

    It does not limit calls in flight: `call_pool.run_calls` does, by the settings.
    """

    _api: AsyncOpenAI
    _wire: Wire

    def __init__(self, settings: ChatSettings) -> None:
        self.settings = settings

    async def __aenter__(self) -> ChatClient:
        """Checks every address with the data guard, then connects to the servers.

        Raises:
            CallFailed: no server can be reached; no text was sent.
        """
        from openai import AsyncOpenAI, Omit, Timeout

        # late: it imports the library
        from medical_tasks.models.wire import CONNECT_S, Ended, Wire

        # Some versions of the library write whole request bodies to its logger at
        # DEBUG.
        library = logging.getLogger("openai")
        if library.getEffectiveLevel() < logging.INFO:
            library.setLevel(logging.INFO)

        for url in self.settings.addresses:
            policy.require_endpoint(url, self.settings.purpose)

        self._wire = Wire(self.settings)
        self._api = AsyncOpenAI(
            api_key=self.settings.api_key,
            base_url="http://localhost",  # the wire knows the addresses
            max_retries=self.settings.max_retries,
            timeout=Timeout(
                self.settings.timeout, connect=min(CONNECT_S, self.settings.timeout)
            ),
            # Other endpoints must not learn about the OpenAI account in the
            # environment.
            default_headers=cast(
                "Mapping[str, str]",
                {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()},
            ),
            http_client=self._wire,
        )
        try:
            await self._wire.meet()
        except BaseException as error:
            await self.__aexit__()
            if not isinstance(error, Ended):
                raise
            if isinstance(error.reason, MedicalTasksError):
                raise error.reason from None

            failure = error.reason
            raise CallFailed(
                failure.reason,
                failure.detail,
                attempts=0,
                every_call=failure.every_call,
            ) from None

        return self

    async def __aexit__(self, *_: object) -> None:
        await self._api.close()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        n: int = 1,
        logprobs: int | None = None,
        extra: Mapping[str, object] | None = None,
        spending: Spending | None = None,
        tools: Sequence[Tool] = (),
    ) -> Completion:
        """Sends a chat, and retries while that can help and time is left.

        When a server refuses one of the suite's own settings, the request is repeated
        without it (`Adaptations`).
        """
        body = completion_body(
            self.settings,
            messages,
            max_tokens=max_tokens,
            stop=stop,
            n=n,
            extra=extra,
            tools=tools,
        )
        if logprobs is not None:
            body = {"logprobs": True, "top_logprobs": logprobs, **body}

        return await self.send(
            body, texts=texts_of(messages), stop=stop, spending=spending
        )

    async def send(
        self,
        meant: Mapping[str, object],
        *,
        texts: Sequence[str],
        stop: Sequence[str] = (),
        spending: Spending | None = None,
    ) -> Completion:
        """Sends a body made by `completion_body`, with the retries of `complete`.

        Example: a reasoning model refuses `max_tokens`. That request counts as an
        attempt, `Adaptations` learns the other name, and the same body is sent again
        with `max_completion_tokens`. Every later call uses that name at once.
        """
        adaptations = self.settings.adaptations

        def read(text: str, headers: Mapping[str, str]) -> Reply:
            secret = self.settings.api_key
            return chat_reply.read_reply(
                text,
                headers,
                sent=texts,
                secret=secret,
                tools=chat_reply.TOOLS in meant,
            )

        refused = 0
        while True:
            body = adaptations.applied(meant)
            changes = dict(adaptations.changes)
            try:
                reply, sent = await self._ask(_OPERATION, body, read, texts, spending)
            except CallFailed as failed:
                if not adaptations.learn(body, failed.refused):
                    raise refused_setting(body, failed) from failed

                refused += failed.attempts
                adaptations.report(self.settings.where)
                continue

            adapted = {
                name: change for name, change in changes.items() if name in meant
            }
            return completed(reply, attempts=refused + sent, adapted=adapted, stop=stop)

    async def fetch(
        self,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        texts: Sequence[str] = (),
    ) -> Any:
        """Requests `path` below the base URL, or beside its version with `/../`.

        Guarded and retried like `complete`.
        """
        reply, _ = await self._ask(
            path, body, lambda text, _: chat_reply.read_json(text), texts
        )
        return reply

    async def _ask(
        self,
        path: str,
        body: Mapping[str, Any] | None,
        read: Callable[[str, Mapping[str, str]], Result],
        texts: Sequence[str],
        spending: Spending | None = None,
    ) -> tuple[Result, int]:
        """Returns the body of a success, parsed by `read`, and the number of requests sent."""
        from medical_tasks.models import wire

        async def ask(api: AsyncOpenAI) -> object:
            if body is None:
                return await api.get("/", cast_to=wire.http.Response)

            return await api.post("/", cast_to=wire.http.Response, body=body)

        call = wire.Exchange(path=path, read=read, texts=texts, spending=spending)
        await self._exchange(call, ask)

        return call.result, call.sent

    async def through(self, ask: Callable[[AsyncOpenAI], Awaitable[Result]]) -> Result:
        """Calls one of the library's own methods, such as `files.create`.

        Guarded and retried like `complete`.
        """
        from medical_tasks.models import wire

        call = wire.Exchange(path="", read=lambda *_: None, texts=(), spending=None)
        return await self._exchange(call, ask)

    async def _exchange(
        self, call: Exchange, ask: Callable[[AsyncOpenAI], Awaitable[Result]]
    ) -> Result:
        """Returns what `ask` returns; its requests go through the wire as one call."""
        from openai import APIError

        from medical_tasks.models import wire

        wire.EXCHANGE.set(call)
        ending = ""
        try:
            async with asyncio.timeout(self.settings.total_time) as call.deadline:
                return await ask(self._api)
        except wire.Ended as ended:
            if isinstance(ended.reason, MedicalTasksError):
                raise ended.reason from None

            call.failure = ended.reason
        except APIError:
            ending = f"; given up after {call.sent} attempts"
        except TimeoutError:
            ending = f"; given up after {call.sent} attempts in total_time={self.settings.total_time:g} s"

        late = AttemptError("timeout", "no answer", retry=True)
        failure = call.failure or late
        where = (
            f"{call.replica.url}: " if self.settings.replicas and call.replica else ""
        )
        failed = CallFailed(
            failure.reason,
            where + _detail(failure) + ending,
            attempts=call.sent,
            every_call=failure.every_call,
        )
        failed.refused = failure.refused
        raise failed from failure


def completion_body(
    settings: ChatSettings,
    messages: Sequence[Message],
    *,
    max_tokens: int,
    stop: Sequence[str] = (),
    n: int = 1,
    extra: Mapping[str, object] | None = None,
    tools: Sequence[Tool] = (),
) -> dict[str, object]:
    """Returns the body of a request before any adaptation to what the server refuses."""
    body: dict[str, object] = {
        "model": settings.model,
        "messages": [wire_message(message) for message in encodable_chat(messages)],
        settings.token_field: max_tokens,
    }
    if stop:
        body["stop"] = list(stop)
    if n != 1:
        body["n"] = n
    if tools:
        body[chat_reply.TOOLS] = offered(tools)

    return body | dict(extra or {})


def completed(
    reply: Reply, *, attempts: int, adapted: Mapping[str, str], stop: Sequence[str]
) -> Completion:
    """Returns the result of a call, cut at the stop words if the server refused them."""
    if stop and "stop" in adapted:
        reply = replace(
            reply, choices=tuple(cut_at(choice, stop) for choice in reply.choices)
        )
    return Completion(**vars(reply), attempts=attempts, adapted=adapted)


def _detail(failure: AttemptError) -> str:
    """Returns the failure's detail.

    While credentialed text is held, the server's words are left out, as they may quote
    the question.
    """
    from medical_tasks.models.wire import OWN_WORDS

    if policy.protecting() and failure.reason not in OWN_WORDS:
        return f"{failure.reason} (the server's words are left out: it was sent text of credentialed data)"
    return failure.detail


def cut_at(choice: chat_reply.Choice, stop: Sequence[str]) -> chat_reply.Choice:
    """Cuts a choice before the first stop word, as a server would.

    Example: "Yes. User: why" with the stop word "User:" becomes "Yes. ", with the
    finish reason `stop`.
    """
    ends = [choice.text.index(word) for word in stop if word in choice.text]
    return (
        replace(choice, text=choice.text[: min(ends)], finish="stop")
        if ends
        else choice
    )


def texts_of(messages: Sequence[Message]) -> list[str]:
    """Returns the texts of a chat as they are sent."""
    return [message["content"] for message in encodable_chat(messages)]


def encodable_chat(messages: Sequence[Message]) -> list[Message]:
    """Replaces lone surrogates, which earlier answers may contain and no request body can."""
    return [_encodable(message) for message in messages]


def _encodable(message: Message) -> Message:
    encodable: Message = {**message, "content": readable(message["content"])}
    if message.get("tool_calls"):
        encodable["tool_calls"] = [
            _encodable_call(call) for call in message["tool_calls"]
        ]
    return encodable


def _encodable_call(call: ToolCall) -> ToolCall:
    """Makes the texts of a tool call encodable; its arguments are escaped as JSON anyway."""
    encodable: ToolCall = {**call, "name": readable(call["name"])}
    if "raw" in call:
        encodable["raw"] = readable(call["raw"])
    return encodable
