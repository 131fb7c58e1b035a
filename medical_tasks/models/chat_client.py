"""A client for any OpenAI-compatible `/v1/chat/completions`.

Retries are this module's own: the library's cannot be bounded in time. No redirects are followed, and requests to this machine
never take a proxy. While credentialed text is held (`guard.protect`), every request asks the guard by the address connected to.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
import ssl
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from medical_tasks.errors import MedicalTasksError, RefusedError, UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.addresses import (
    UNIX_SCHEME,
    is_loopback_host,
    is_loopback_number,
    read_address,
)
from medical_tasks.models import chat_reply
from medical_tasks.models.chat_reply import AttemptError, NoAnswerError, Reply
from medical_tasks.models.checkpoint import MESSAGES
from medical_tasks.models.encoder import readable
from medical_tasks.spec import Message

if TYPE_CHECKING:
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

_OPERATION = "/chat/completions"


@dataclass
class Replica:
    """One of an endpoint's addresses, and what is known of the server there."""

    url: str
    serves: str | None = (
        None  # the model by its own list, "" when it does not say, None when it was not asked
    )
    in_flight: int = 0
    trouble: str = ""  # why it is lost, "" while it is not
    losses: int = 0
    again_at: float = 0.0  # by the loop's clock; until then one that is lost is left alone


@dataclass(frozen=True, kw_only=True)
class ChatSettings:
    """An OpenAI-compatible endpoint and the limits of asking it; times are in seconds."""

    base_url: str  # up to and including the version; `http+unix://%2Frun%2Fvllm.sock/v1` for a unix socket
    model: str
    replicas: tuple[str, ...] = ()  # base URLs of further servers of the same model
    served: str = ""  # what answers are kept under in place of the addresses
    known: dict[str, Replica] = field(
        default_factory=dict, repr=False, compare=False
    )  # by base URL, for all clients
    api_key: str = field(default="none", repr=False)  # never printed, never part of an identity
    key_name: str = ""  # environment variable the key was read from, for error messages
    concurrency: int = 16  # requests in flight, at all replicas together
    timeout: float = 600.0  # of a single attempt, from first byte sent to last byte received
    max_retries: int = 6
    total_time: float = 1800.0  # of a call with all its attempts and waits
    first_wait: float = 1.0  # each further one is twice as long
    longest_wait: float = 60.0
    token_field: str = "max_tokens"  # noqa: S105 - a field name
    seed: int = 0
    purpose: str = "model"  # or `judge`: told to the data guard

    def __post_init__(self) -> None:
        for place, url in enumerate(self.addresses):
            check_base_url(url)
            if url in self.addresses[:place]:
                raise UsageError(f"the base URL {url} is given twice. Name each replica once.")
        for name, least in (("concurrency", 1), ("max_retries", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} must be at least {least}, got {getattr(self, name)}.")
        for name in ("timeout", "total_time"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be above 0 seconds, got {getattr(self, name)}.")

    @property
    def addresses(self) -> tuple[str, ...]:
        """All base URLs."""
        return self.base_url, *self.replicas

    @property
    def where(self) -> str:
        """The endpoint in messages."""
        return f"{', '.join(self.addresses)} (model {self.model!r})"


def check_base_url(url: str) -> None:
    """Refuses addresses that cannot work or that carry a secret."""
    try:
        parts = urlsplit(url)
        host, secret = parts.hostname, parts.username is not None or parts.password is not None
        _ = parts.port  # read for its check: a port that is no number raises
    except ValueError as error:
        raise UsageError(
            f"the base URL cannot be read ({error}). Give one like http://127.0.0.1:8000/v1"
        ) from None
    # The address is named in results and messages, so it must hold no secret; here it is not quoted for that reason.
    if secret or parts.query or parts.fragment:
        raise UsageError(MESSAGES["url_secret"].format(host=host))
    if parts.scheme == UNIX_SCHEME:
        if read_address(url) is None:
            raise UsageError(MESSAGES["url_socket"].format(url=url))
    elif parts.scheme not in ("http", "https") or not host or re.search(r"[\s,]", url):
        raise UsageError(
            f"a base URL starts with http:// or https:// and a host, those of replicas have white space between, got {url!r}."
        )
    if parts.path.rstrip("/").endswith(_OPERATION):
        raise UsageError(
            f"the base URL ends before {_OPERATION}, got {url!r}. Give {url[: url.rindex(_OPERATION)]!r}."
        )


_OWN_WORDS = (
    "connection",
    "not json",
    "timeout",
    chat_reply.REDIRECT,
)  # failures whose detail says nothing of the server's
_SYSTEM_WORDS = (
    "ConnectError",
    "ReadError",
    "WriteError",
    "CloseError",
)  # told by the operating system
_load = attrgetter("in_flight")
_LOST = (
    "connection",
    "http 502",
    "http 503",
    "http 504",
)  # the server, or what is behind it, is not there
# Failures in which the server refused the request; in any other it may have worked all the same, and counts.
_REFUSED = ("rate limited", "quota exhausted", "prompt too long", chat_reply.REDIRECT)
_VERSION = re.compile(
    r"(?<=[^/])/v\d[^/]*$"
)  # a base URL that does not end in it has its addresses all in one place
_CONNECT_S = 15.0  # a host that does not even accept a connection is not "slow"

Result = TypeVar("Result")
_Send = Callable[["AsyncOpenAI"], Awaitable[str]]
"""Sends a request once, and returns the body of a success."""


@dataclass(frozen=True, kw_only=True)
class Completion(Reply):
    """What a call brought; `attempts`: requests sent for it."""

    attempts: int

    @property
    def text(self) -> str:
        """The first answer."""
        return self.choices[0].text


class Spending(Protocol):
    """What a call may cost; asked for every request, retries included."""

    async def admit(self) -> bool:
        """Says whether the request may be sent; may wait for others to end."""
        ...

    def settle(self, used: int | None) -> None:
        """Told once for each request admitted, when it has ended: its tokens, None when nobody knows."""
        ...


class CallFailed(NoAnswerError):  # noqa: N818 - an outcome that callers record, not a fault of the program
    """A call ended without an answer; `every_call`: any other would fail in the same way (wrong key, wrong model)."""

    def __init__(
        self, reason: str, detail: str, *, attempts: int, every_call: bool = False
    ) -> None:
        super().__init__(reason, detail)
        self.attempts = attempts
        self.every_call = every_call


class ChatClient:
    """An async context manager, inside one event loop: calls to one endpoint, at most `settings.concurrency` in flight.

    With replicas each request goes to the one that has the fewest in flight. One that is lost is asked again now and then.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self.settings = settings
        self._random = Random(settings.seed)  # noqa: S311 - jitter, not a secret
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._replicas = [
            settings.known.setdefault(url, Replica(url)) for url in settings.addresses
        ]
        self._apis: dict[str, AsyncOpenAI] = {}

    async def __aenter__(self) -> ChatClient:
        from openai import AsyncOpenAI, Omit, Timeout

        # Some versions of the library write whole request bodies to its logger at DEBUG.
        library = logging.getLogger("openai")
        if library.getEffectiveLevel() < logging.INFO:
            library.setLevel(logging.INFO)
        for url in self.settings.addresses:
            policy.require_endpoint(url, self.settings.purpose)
        for url in self.settings.addresses:
            address = read_address(url)
            # An HTTP library takes no socket's name; `open_http` connects to the socket.
            on_socket = address is not None and address.socket
            self._apis[url] = AsyncOpenAI(
                api_key=self.settings.api_key,
                base_url=_SOCKET_HOST + urlsplit(url).path if on_socket else url,
                max_retries=0,
                timeout=Timeout(
                    self.settings.timeout, connect=min(_CONNECT_S, self.settings.timeout)
                ),
                # What the environment says about an OpenAI account is no business of another endpoint.
                default_headers=cast(
                    "Mapping[str, str]", {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
                ),
                http_client=open_http(url, self.settings.purpose),
            )
        if self.settings.replicas:
            new = [
                replica
                for replica in self._replicas
                if replica.serves is None and not replica.trouble
            ]
            try:
                await asyncio.gather(*map(self._meet, new))
            except BaseException:
                await self.__aexit__()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        while self._apis:
            await self._apis.popitem()[1].close()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        n: int = 1,
        logprobs: int | None = None,
        extra: Mapping[str, Any] | None = None,
        spending: Spending | None = None,
    ) -> Completion:
        """Asks once, and again while that can help and time is left."""
        body: dict[str, Any] = {self.settings.token_field: max_tokens}
        if stop:
            body["stop"] = list(stop)
        if n != 1:
            body["n"] = n
        if logprobs is not None:
            body["logprobs"] = True
            body["top_logprobs"] = logprobs
        body.update(extra or {})
        chat = encodable_chat(messages)
        texts = [message["content"] for message in chat]

        async def send(api: AsyncOpenAI) -> str:
            # The raw body is read here, so that a malformed one is seen as what it is.
            response = await api.chat.completions.with_raw_response.create(
                model=self.settings.model, messages=cast(Any, chat), extra_body=body
            )
            return response.text

        def read(text: str) -> Reply:
            return chat_reply.read_reply(text, sent=texts, secret=self.settings.api_key)

        reply, attempts = await self._insist(send, read, texts, spending)
        return Completion(**vars(reply), attempts=attempts)

    async def fetch(
        self, path: str, body: Mapping[str, Any] | None = None, *, texts: Sequence[str] = ()
    ) -> Any:
        """Asks at `path` below the base URL, or with `/../` beside its version; guarded and retried as `complete`."""
        found, _ = await self._insist(_sender(path, body), chat_reply.read_json, texts)
        return found

    async def _insist(
        self,
        send: _Send,
        read: Callable[[str], Result],
        texts: Sequence[str],
        spending: Spending | None = None,
    ) -> tuple[Result, int]:
        async with self._slots:
            clock = asyncio.get_running_loop().time
            began = clock()
            end = began + self.settings.total_time
            attempt = 0
            replica: Replica | None = None
            while True:
                attempt += 1
                if spending is not None:
                    asked = clock()
                    if not await spending.admit():
                        raise CallFailed(
                            "budget spent",
                            f"refused before request {attempt}",
                            attempts=attempt - 1,
                        )
                    end += clock() - asked  # waiting for leave is not the server's time
                used: int | None = None
                replica = await self._choose(replica)
                try:
                    if replica.trouble:
                        raise AttemptError("connection", replica.trouble, retry=True)
                    found = await self._attempt(
                        replica, send, read, texts, min(self.settings.timeout, end - clock())
                    )
                    used = _total(found)
                except AttemptError as error:
                    failure = error
                    if error.reason in _LOST and self.settings.replicas:
                        self._lose(replica, error)
                    used = (
                        0 if error.reason.startswith("http ") or error.reason in _REFUSED else None
                    )
                else:
                    return found, attempt
                finally:
                    if spending is not None:
                        spending.settle(used)
                wait = chat_reply.pause_before(
                    attempt - 1, self.settings.first_wait, self.settings.longest_wait, self._random
                )
                pause = max(failure.wait or 0.0, wait)
                if not failure.retry:
                    ending = ""
                elif attempt > self.settings.max_retries:
                    ending = f"; given up after {attempt} attempts"
                elif clock() + pause >= end:
                    ending = (
                        f"; given up after {attempt} attempts in {clock() - began:.0f} s, since waiting {pause:.0f} s more "
                        f"would pass total_time={self.settings.total_time:g}"
                    )
                else:
                    await asyncio.sleep(pause)
                    continue
                detail = (
                    (f"{replica.url}: " if self.settings.replicas else "") + _told(failure) + ending
                )
                raise CallFailed(
                    failure.reason, detail, attempts=attempt, every_call=failure.every_call
                ) from failure

    async def _choose(self, failed: Replica | None) -> Replica:
        """The replica to try: the least busy, another than failed where there is one; a lost one is met first."""
        now = asyncio.get_running_loop().time()
        ready = [
            each
            for each in self._replicas
            if not each.trouble or (each.again_at <= now and not each.in_flight)
        ]
        ready = ready or self._replicas
        chosen = min([each for each in ready if each is not failed] or ready, key=_load)
        if chosen.trouble:
            await self._meet(chosen)
        up = [each for each in self._replicas if not each.trouble]
        return min(up, key=_load) if chosen.trouble and up else chosen

    async def _meet(self, replica: Replica) -> None:
        """Asks a replica that is new, or was lost, what it serves, before it is sent any text."""
        try:
            listed = await self._attempt(
                replica,
                _sender("/models"),
                chat_reply.read_json,
                (),
                min(_CONNECT_S, self.settings.timeout),
            )
        except AttemptError as error:
            if error.reason in (*_LOST, "timeout"):
                self._lose(replica, error)
                return
            listed = None  # it is there, and has no such list
        entry = listed_model(listed, self.settings.model)
        replica.serves = (
            f"{entry.get('id')!r} with max_model_len {entry.get('max_model_len')}" if entry else ""
        )
        said = {
            each.serves: f"{each.url} serves {each.serves}"
            for each in reversed(self._replicas)
            if each.serves
        }
        if len(said) > 1:
            if replica.losses:
                replica.serves = None
                self._lose(
                    replica,
                    AttemptError("connection", "another server has this address now", retry=True),
                )
                return
            told = " and ".join(reversed(said.values()))
            raise UsageError(
                f"replicas must serve the same: {told}. Start them alike, or leave one out of the base URLs."
            )
        if replica.trouble:
            replica.trouble = ""
            self._note(f"{replica.url} answers again")

    def _lose(self, replica: Replica, error: AttemptError) -> None:
        now, new = asyncio.get_running_loop().time(), not replica.trouble
        if new or replica.again_at <= now:  # of many requests that fail together one counts
            # Never set back: one that comes and goes is left alone for longer and longer.
            wait = self.settings.first_wait * 2 ** min(replica.losses, 30)
            replica.again_at = now + min(self.settings.longest_wait, wait)
            replica.losses += 1
        # The words of a server that was sent text are not kept: they may be told as this module's own.
        replica.trouble = error.detail if error.reason in _OWN_WORDS else error.reason
        if new:
            self._note(f"{replica.url} does not answer")

    def _note(self, what: str) -> None:
        up = sum(not each.trouble for each in self._replicas)
        print(
            f"note: {what}; going on with {up} of {len(self._replicas)}",
            file=sys.stderr,
            flush=True,
        )

    async def _attempt(
        self,
        replica: Replica,
        send: _Send,
        read: Callable[[str], Result],
        texts: Sequence[str],
        limit: float,
    ) -> Result:
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        if not self._apis:
            raise RuntimeError("the client is used outside its `async with`")
        replica.in_flight += 1
        try:
            # The library's own timeouts are per read: a server that sends a byte now and then would never end.
            async with asyncio.timeout(limit):
                text = await send(self._apis[replica.url])
        except TimeoutError:
            raise AttemptError(
                "timeout", f"no complete answer within {limit:.3g} s", retry=True
            ) from None
        except APITimeoutError as error:
            if type(error.__cause__).__name__ == "ConnectTimeout":
                raise AttemptError(
                    "connection", "no connection within the time allowed", retry=True
                ) from None
            raise AttemptError(
                "timeout", f"no answer within {self.settings.timeout:.3g} s", retry=True
            ) from None
        except APIConnectionError as error:
            cause = error.__cause__
            if isinstance(cause, MedicalTasksError):
                raise cause from None  # the guard said no as the request was about to leave
            raise AttemptError("connection", _broken(cause or error, texts), retry=True) from None
        except APIStatusError as error:
            raise chat_reply.read_error(
                error.status_code,
                error.response.headers,
                error.response.text,
                sent=texts,
                secret=self.settings.api_key,
            ) from None
        finally:
            replica.in_flight -= 1
        return read(text)


def _told(failure: AttemptError) -> str:
    """The failure's detail; without the server's words, however they may quote the question, when credentialed text is held."""
    if policy.protecting() and failure.reason not in _OWN_WORDS:
        return f"{failure.reason} (the server's words are left out: it was sent text of credentialed data)"
    return failure.detail


def _broken(cause: BaseException, sent: Sequence[str]) -> str:
    """Says how a connection broke; a malformed reply, and a proxy's refusal, are quoted by the library that met them."""
    kind, words = type(cause).__name__, " ".join(str(cause).split())
    theirs = kind not in _SYSTEM_WORDS
    return (
        kind
        if not words or (theirs and (policy.protecting() or chat_reply.quoted_from(words, sent)))
        else f"{kind}: {words}"
    )


def _total(reply: object) -> int | None:
    if not isinstance(reply, Reply) or reply.prompt_tokens is None or reply.output_tokens is None:
        return None
    return reply.prompt_tokens + reply.output_tokens


def _sender(path: str, body: Mapping[str, Any] | None = None) -> _Send:
    async def send(api: AsyncOpenAI) -> str:
        base, kind = str(api.base_url).rstrip("/"), cast(Any, http_library().Response)
        # `/../` leads to what stands beside the API's version.
        url = (
            _VERSION.sub("", base) + path.removeprefix("/..")
            if path.startswith("/../")
            else base + path
        )
        response = await (
            api.get(url, cast_to=kind) if body is None else api.post(url, cast_to=kind, body=body)
        )
        return str(response.text)

    return send


def listed_model(reply: Any, model: str) -> Mapping[str, Any]:
    """The entry of a model in a server's list, or the list's first one where it is not there; empty for no such list."""
    listed = reply.get("data") if isinstance(reply, dict) else None
    entries = [
        entry for entry in (listed if isinstance(listed, list) else []) if isinstance(entry, dict)
    ]
    return next(
        (entry for entry in entries if entry.get("id") == model), entries[0] if entries else {}
    )


def encodable_chat(messages: Sequence[Message]) -> list[Message]:
    """Returns a chat in which lone surrogates, which earlier answers can hold and no request body can, are replaced."""
    return [
        Message(role=message["role"], content=readable(message["content"])) for message in messages
    ]


_HTTP_LOGGERS = ("httpcore", "httpcore2", "httpx", "httpx2", "openai")
_USER = re.compile(r"//[^/@]*@")
_SOCKET_HOST = (
    "http://localhost"  # what a server on a unix socket is called in the request's Host line
)


def proxy_for(base_url: str) -> str | None:
    """Returns the proxy that the environment names for an address, None for none."""
    address = read_address(base_url)
    if address is None or not address.host or is_loopback_host(base_url):
        return None
    if urllib.request.proxy_bypass(str(address)) or urllib.request.proxy_bypass(address.host):
        return None
    proxies = urllib.request.getproxies()
    found = proxies.get(address.scheme) or proxies.get("all")
    return found if found is None or "://" in found else f"http://{found}"


def open_http(base_url: str, purpose: str) -> DefaultAsyncHttpxClient:
    """Opens a client for one endpoint; raises RefusedError when the environment's proxy may not see the text."""
    from openai import DEFAULT_CONNECTION_LIMITS, DefaultAsyncHttpxClient

    http = http_library()

    if policy.protecting():
        # A server's status line and headers may repeat what it was sent, and these libraries log both.
        for name in _HTTP_LOGGERS:
            logging.getLogger(name).setLevel(logging.WARNING)
    address = read_address(base_url)
    settings: dict[str, Any] = {
        "follow_redirects": False,
        "trust_env": not is_loopback_host(base_url),
    }
    settings["event_hooks"] = {"request": [_asks_guard(base_url, purpose)]}
    if address is not None and address.socket:
        settings["transport"] = http.AsyncHTTPTransport(
            uds=address.socket,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            limits=DEFAULT_CONNECTION_LIMITS,
        )
    elif base_url.startswith("http://") and is_loopback_host(base_url):
        # Plain http needs no certificates, and reading them takes longer than many a call.
        settings["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    elif policy.protecting() and not is_loopback_host(base_url):
        proxy = proxy_for(base_url)
        if proxy is not None:
            # Its user and password are for the proxy alone, not for messages and the audit log.
            policy.require_endpoint(_USER.sub("//", proxy), f"proxy on the way to the {purpose}")
        # The proxy asked about is the one taken; certificates named by the environment count as before.
        settings |= {
            "trust_env": False,
            "proxy": proxy,
            "verify": http.create_ssl_context(trust_env=True),
        }
    return DefaultAsyncHttpxClient(**settings)


def http_library() -> Any:
    """The HTTP library that the installed version of openai stands on: httpx, or its successor."""
    from openai import DefaultAsyncHttpxClient

    base = next(kind for kind in DefaultAsyncHttpxClient.__mro__ if kind.__name__ == "AsyncClient")
    return importlib.import_module(base.__module__.partition(".")[0])


def _asks_guard(base_url: str, purpose: str) -> Callable[[Any], Awaitable[None]]:
    address = read_address(base_url)
    on_socket = address is not None and bool(address.socket)

    async def ask(request: Any) -> None:
        url = base_url if on_socket else str(request.url)
        policy.require_endpoint(url, purpose)
        if not on_socket and policy.protecting() and is_loopback_host(url):
            request.extensions = {**request.extensions, "trace": check_peer}

    return ask


async def check_peer(event: str, info: Mapping[str, Any]) -> None:
    """Refuses a new connection before a byte is sent: a local name may lead elsewhere since it was last looked up."""
    if not event.endswith("connect_tcp.complete"):
        return
    stream = info["return_value"]
    peer = stream.get_extra_info("server_addr")
    if not peer or not is_loopback_number(str(peer[0])):
        await stream.aclose()
        raise RefusedError(
            MESSAGES["other_address"].format(peer=peer[0] if peer else "an unknown address")
        )
