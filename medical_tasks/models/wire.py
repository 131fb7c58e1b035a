"""What is under the openai library: a request on its way to a server, past the guard and the budget, at the server's pace.

The library builds requests, repeats those that failed, waits in between (`Retry-After`,
else longer and longer) and keeps connections. What is here, no library has:

- a 429 holds up all calls to its server, and uses up none of their attempts (`replica.Pace`);
- every request, repeated ones included, asks the guard by the address it connects to, and the budget;
- a body that is no reply is a failed attempt, though its status says 200;
- a request goes to the replica with the fewest in flight; one that is lost is asked again now and then.

This module imports the library, which takes a while: import it late.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import re
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from openai import DEFAULT_CONNECTION_LIMITS, DefaultAsyncHttpxClient  # noqa: TID253 - see above

from medical_tasks.errors import MedicalTasksError, RefusedError, UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.addresses import (
    is_loopback_host,
    is_loopback_number,
    read_address,
)
from medical_tasks.models import chat_reply
from medical_tasks.models.chat_reply import AttemptError, Reply
from medical_tasks.models.checkpoint import MESSAGES
from medical_tasks.models.knock import TRIES, proxy_for, say_waiting, unreachable
from medical_tasks.models.replica import Replica

if TYPE_CHECKING:
    from medical_tasks.models.chat_client import ChatSettings, Spending

# The HTTP library that the installed version of openai stands on: httpx, or its
# successor.
http: Final[Any] = importlib.import_module(
    next(
        kind.__module__.partition(".")[0]
        for kind in DefaultAsyncHttpxClient.__mro__
        if kind.__name__ == "AsyncClient"
    )
)

CONNECT_S: Final = 15.0  # a host that does not even accept a connection is not "slow"
# a lost replica is left alone for so long, and twice as long each further time
FIRST_ABSENCE_S = 1.0
LONGEST_ABSENCE_S = 60.0
_SHARED: Final = 2
"""429s of one call in a row, others being answered in between, that hold up all calls; then it waits by itself."""
_REFUSALS: Final = 10
"""Such 429s after which a call ends."""

OWN_WORDS: Final = ("connection", "not json", "timeout", chat_reply.REDIRECT)
"""Failures whose detail says nothing in the server's words."""
_SYSTEM_WORDS: Final = ("ConnectError", "ReadError", "WriteError", "CloseError")
# The server, or what is behind it, is not there.
_LOST: Final = ("connection", "http 502", "http 503", "http 504")
# The server refused the request; after any other failure it may have worked all the
# same, which counts.
_REFUSED: Final = (
    "rate limited",
    "quota exhausted",
    "prompt too long",
    chat_reply.REDIRECT,
)
# A base URL that does not end in its version has its addresses all in one place.
_VERSION: Final = re.compile(r"(?<=[^/])/v\d[^/]*$")
_SOCKET_HOST: Final = "http://localhost"  # what a server on a unix socket is called
_HTTP_LOGGERS: Final = (
    "anthropic",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "openai",
)
_USER: Final = re.compile(r"//[^/@]*@")


@dataclass(kw_only=True)
class Exchange:
    """A call with all its requests.

    `Wire.send` finds it by `EXCHANGE`, since the library hands nothing through.
    """

    # below the base URL, or with `/../` beside its version; "" for the one that the
    # library asks at
    path: str
    read: Callable[[str, Mapping[str, str]], object]
    """Makes the result of a success, its body and its headers, or raises AttemptError."""
    texts: Sequence[str]  # what is sent, of which no failure tells
    spending: Spending | None
    deadline: asyncio.Timeout = field(init=False)
    sent: int = 0  # requests
    result: Any = None
    failure: AttemptError | None = None  # the last one
    replica: Replica | None = None  # the last one


EXCHANGE: ContextVar[Exchange] = ContextVar("exchange")


class Ended(BaseException):
    """Nothing more is sent for a call.

    No `Exception`, of which some versions of the library repeat any.
    """

    def __init__(self, reason: AttemptError | MedicalTasksError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Wire(DefaultAsyncHttpxClient):
    """The HTTP client that the library is given.

    Its `send` is called for each attempt, and sends by others.
    """

    def __init__(self, settings: ChatSettings) -> None:
        # It connects to nothing itself, so that it needs no certificates, which take
        # long to read.
        super().__init__(
            trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
        self._settings = settings
        self._replicas = [
            settings.known.setdefault(url, Replica(url)) for url in settings.addresses
        ]
        self._doors = {
            url: open_http(url, settings.purpose) for url in settings.addresses
        }

    async def meet(self) -> None:
        """Finds out that a server is there; asks replicas that are new what they serve."""
        if not any(replica.reached for replica in self._replicas):
            await self._reach()
        new = [
            each for each in self._replicas if each.serves is None and not each.trouble
        ]
        if len(self._replicas) > 1:
            await asyncio.gather(*map(self._meet, new))

    async def _reach(self) -> None:
        """Ends the run when no server accepts a connection."""
        doors = {
            proxy_for(replica.url) or replica.url: replica for replica in self._replicas
        }
        named = {_USER.sub("//", url): url for url in doors}
        tries = min(TRIES, self._settings.max_retries + 1)
        troubles = await unreachable(list(named), tries)
        if troubles:
            several = len(troubles) > 1 or set(troubles) != {self._settings.base_url}
            said = [
                f"{url}: {trouble}" if several else trouble
                for url, trouble in troubles.items()
            ]
            detail = f"{'; '.join(said)}; given up after {tries} attempts"
            raise Ended(
                AttemptError("connection", detail, retry=False, every_call=True)
            )

        for replica in self._replicas:
            replica.reached = True

    async def aclose(self) -> None:
        """Ends the connections."""
        for door in self._doors.values():
            await door.aclose()
        await super().aclose()

    async def send(self, request: Any, **_: object) -> Any:
        """Sends one attempt of the call in `EXCHANGE`, which the library repeats or not by what comes of it."""
        call = EXCHANGE.get()
        alone, answers = 0, -1
        while True:
            replica = call.replica = await self._choose(call.replica)
            if replica.trouble:
                call.failure = AttemptError("connection", replica.trouble, retry=True)
                raise http.ConnectError(replica.trouble)

            # Others' 429s are not this call's time; once it was refused itself, they
            # are.
            with contextlib.nullcontext() if alone else _untimed(call):
                left = await replica.pace.turn()

            await self._admit(call)
            try:
                response = await self._attempt(call, replica, request)
            except AttemptError as failure:
                call.failure = failure
                if failure.reason != "rate limited":
                    replica.pace.taken()
                    self._say_waiting(call, replica, failure)
                    return self._failed(replica, failure)

                alone += alone >= _SHARED or replica.pace.answers > answers
                answers = replica.pace.answers
                await self._hold(call, replica, left, failure, alone)
            else:
                replica.pace.taken()
                replica.answered = True
                return response

    async def _hold(
        self,
        call: Exchange,
        replica: Replica,
        left: float,
        failure: AttemptError,
        alone: int,
    ) -> None:
        """Has all calls wait after a 429, or this one alone when it is refused where others are not.

        `left`: when the request was sent; `alone`: how often in a row the call was
        refused while others were answered.
        """
        seconds = failure.wait
        if alone <= _SHARED:
            seconds = replica.pace.refused(left, failure.wait)
        elif seconds is None:
            seconds = 2.0 ** (alone - _SHARED)

        now, end = asyncio.get_running_loop().time(), call.deadline.when()
        ending = ""
        if end is not None and now + seconds >= end:
            limit = self._settings.total_time
            ending = (
                f"since waiting {seconds:.0f} s more would pass total_time={limit:g}"
            )
        elif alone > _REFUSALS:
            ending = "while others were answered"

        if ending:
            detail = f"{failure.detail}; given up after {call.sent} attempts, {ending}"
            raise Ended(AttemptError(failure.reason, detail, retry=False))

        if not replica.told:
            replica.told = True
            _note(
                f"{replica.url} limits requests (HTTP 429); going on at the rate that it takes"
            )

        if alone > _SHARED:
            await asyncio.sleep(seconds)

    def _failed(self, replica: Replica, failure: AttemptError) -> Any:
        """Tells the library of a failed attempt in its own terms."""
        if failure.reason in _LOST and len(self._replicas) > 1:
            self._lose(replica, failure)
        if not failure.retry:
            raise Ended(failure)
        if failure.response is None:
            raise http.ReadError(failure.reason)
        return failure.response  # it reads there how long the server asks it to wait

    def _say_waiting(
        self, call: Exchange, replica: Replica, failure: AttemptError
    ) -> None:
        """Says, once for all calls, that there is a further attempt at the very first answer."""
        tries, attempt = self._settings.max_retries + 1, call.sent + 1
        again = failure.retry and replica.waited < attempt <= tries
        if replica.answered or not again:
            return
        replica.waited = attempt
        own = failure.reason in OWN_WORDS
        say_waiting(
            replica.url, failure.detail if own else failure.reason, attempt, tries
        )

    async def _admit(self, call: Exchange) -> None:
        """Asks the budget for one request."""
        if call.spending is None:
            return
        with _untimed(call):
            admitted = await call.spending.admit()
        if not admitted:
            detail = f"refused before request {call.sent + 1}"
            raise Ended(AttemptError("budget spent", detail, retry=False))

    async def _attempt(self, call: Exchange, replica: Replica, request: Any) -> Any:
        """Sends one request of a call; raises AttemptError when it brings no result."""
        door = self._doors[replica.url]
        headers = {
            name: value for name, value in request.headers.items() if name != "host"
        }
        sent = door.build_request(
            request.method,
            _address(replica.url, call.path or request.url.raw_path.decode()),
            headers=headers,
            content=await request.aread(),
            extensions=request.extensions,
        )
        call.sent += 1
        reply: Reply | None = None
        free = False
        try:
            response = await self._exchange(
                replica, sent, self._settings.timeout, call.texts
            )
            call.result = call.read(response.text, response.headers)
            reply = call.result if isinstance(call.result, Reply) else None
        except AttemptError as failure:
            reason = failure.reason
            free = reason.startswith("http ") or reason in _REFUSED
            raise
        finally:
            if call.spending is not None:
                call.spending.settle(reply, free=free)

        return response

    async def _exchange(
        self, replica: Replica, request: Any, limit: float, texts: Sequence[str]
    ) -> Any:
        """Sends a request to a replica and returns the response, which is a success.

        Else raises AttemptError.
        """
        replica.in_flight += 1
        try:
            # The library's own timeouts are per read: a server that sends a byte now
            # and then would never end.
            async with asyncio.timeout(limit):
                response = await self._doors[replica.url].send(request)
        except MedicalTasksError as error:
            # the guard said no as the request was about to leave
            raise Ended(error) from None
        except http.ConnectTimeout:
            detail = "no connection within the time allowed"
            raise AttemptError("connection", detail, retry=True) from None
        except (TimeoutError, http.TimeoutException):
            detail = f"no complete answer within {limit:.3g} s"
            raise AttemptError("timeout", detail, retry=True) from None
        except (http.HTTPError, ssl.SSLError, OSError) as error:
            # No certificate becomes another one: what is wrong with it is told at once.
            hopeless = (
                len(self._replicas) == 1 and not replica.answered and _is_tls(error)
            )
            raise AttemptError(
                "connection",
                _broken(error, texts),
                retry=not hopeless,
                every_call=hopeless,
            ) from None
        finally:
            replica.in_flight -= 1

        if response.is_success:
            return response

        failure = chat_reply.read_error(
            response.status_code,
            response.headers,
            response.text,
            sent=texts,
            secret=self._settings.api_key,
        )
        failure.response = response
        raise failure

    async def _choose(self, failed: Replica | None) -> Replica:
        """The replica to try: the least busy, another than failed where there is one.

        A lost one is met first.
        """
        now = asyncio.get_running_loop().time()

        def busy(replica: Replica) -> tuple[bool, int]:
            return replica.pace.resumes > now, replica.in_flight

        up = [each for each in self._replicas if not each.trouble]
        due = [
            each
            for each in self._replicas
            if each.again_at <= now and not each.in_flight
        ]
        ready = [
            each for each in self._replicas if each in up or each in due
        ] or self._replicas
        chosen = min([each for each in ready if each is not failed] or ready, key=busy)
        if chosen.trouble:
            await self._meet(chosen)
        if chosen.trouble and up:
            return min(up, key=busy)

        return chosen

    async def _meet(self, replica: Replica) -> None:
        """Asks a replica that is new, or was lost, what it serves, before it is sent any text."""
        limit = min(CONNECT_S, self._settings.timeout)
        headers = {"Authorization": f"Bearer {self._settings.api_key}"}
        request = self._doors[replica.url].build_request(
            "GET", _address(replica.url, "/models"), headers=headers
        )
        try:
            response = await self._exchange(replica, request, limit, ())
            listed = chat_reply.read_json(response.text)
        except AttemptError as error:
            if error.reason in (*_LOST, "timeout"):
                self._lose(replica, error)
                return

            listed = None  # it is there, and has no such list

        entry = chat_reply.listed_model(listed, self._settings.model)
        replica.serves = (
            f"{entry.get('id')!r} with max_model_len {entry.get('max_model_len')}"
            if entry
            else ""
        )
        served = {
            each.serves: f"{each.url} serves {each.serves}"
            for each in reversed(self._replicas)
            if each.serves
        }
        if len(served) < 2:
            if replica.trouble:
                replica.trouble = ""
                self._note(f"{replica.url} answers again")

            return

        if not replica.losses:
            differences = " and ".join(reversed(served.values()))
            raise UsageError(
                f"replicas must serve the same: {differences}. Start them alike, or leave one out "
                "of the base URLs."
            )

        replica.serves = None
        stranger = "another server has this address now"
        self._lose(replica, AttemptError("connection", stranger, retry=True))

    def _lose(self, replica: Replica, error: AttemptError) -> None:
        """Leaves a replica alone for a while, twice as long each time it is lost.

        Requests that were in flight together fail together; they count as one loss.
        """
        now, new = asyncio.get_running_loop().time(), not replica.trouble
        if (
            new or replica.again_at <= now
        ):  # of many requests that fail together one counts
            # Never set back: one that comes and goes is left alone for longer and
            # longer.
            wait = FIRST_ABSENCE_S * 2 ** min(replica.losses, 30)
            replica.again_at = now + min(LONGEST_ABSENCE_S, wait)
            replica.losses += 1

        # The words of a server that was sent text are not kept: they may be shown as
        # this module's own.
        replica.trouble = error.detail if error.reason in OWN_WORDS else error.reason
        if new:
            self._note(f"{replica.url} does not answer")

    def _note(self, what: str) -> None:
        up = sum(not each.trouble for each in self._replicas)
        _note(f"{what}; going on with {up} of {len(self._replicas)}")


@contextlib.contextmanager
def _untimed(call: Exchange) -> Iterator[None]:
    """Stops the clock of a call's total time for the length of a `with` block."""
    clock = asyncio.get_running_loop().time
    began, end = clock(), call.deadline.when()
    call.deadline.reschedule(None)
    yield
    if end is not None:
        call.deadline.reschedule(end + clock() - began)


def _note(what: str) -> None:
    print(f"note: {what}", file=sys.stderr, flush=True)


def _address(base_url: str, path: str) -> str:
    """The address of a path: below a base URL, or with `/../` beside its version."""
    address = read_address(base_url)
    # An HTTP library takes no socket's name; `open_http` connects to the socket.
    on_socket = address is not None and address.socket
    base = _SOCKET_HOST + urlsplit(base_url).path if on_socket else base_url
    base = base.rstrip("/")
    if path.startswith("/../"):
        return _VERSION.sub("", base) + path.removeprefix("/..")
    return base + path


def _is_tls(error: BaseException | None) -> bool:
    """Whether a connection failed as it was to be encrypted."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _broken(cause: BaseException, sent: Sequence[str]) -> str:
    """Says how a connection broke.

    A malformed reply, and a proxy's refusal, are quoted by the library that met them.
    """
    kind, words = type(cause).__name__, " ".join(str(cause).split())
    theirs = kind not in _SYSTEM_WORDS
    if not words or (
        theirs and (policy.protecting() or chat_reply.quoted_from(words, sent))
    ):
        return kind

    return f"{kind}: {words}"


def open_http(base_url: str, purpose: str) -> DefaultAsyncHttpxClient:
    """Opens a client for one endpoint.

    Raises RefusedError when the environment's proxy may not see the text.
    """
    if policy.protecting():
        quiet_requests()

    address = read_address(base_url)
    settings: dict[str, Any] = {
        "follow_redirects": False,
        "trust_env": not is_loopback_host(base_url),
    }
    settings["event_hooks"] = {"request": [asks_guard(base_url, purpose)]}
    if address is not None and address.socket:
        settings["transport"] = http.AsyncHTTPTransport(
            uds=address.socket,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            limits=DEFAULT_CONNECTION_LIMITS,
        )
    elif base_url.startswith("http://") and is_loopback_host(base_url):
        # Plain http needs no certificates, and reading them takes longer than many a
        # call.
        settings["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    elif policy.protecting() and not is_loopback_host(base_url):
        proxy = proxy_for(base_url)
        if proxy is not None:
            # Its user and password are for the proxy alone, not for messages and the
            # audit log.
            policy.require_endpoint(
                _USER.sub("//", proxy), f"proxy on the way to the {purpose}"
            )

        # The proxy asked about is the one taken; certificates named by the environment
        # count as before.
        settings |= {
            "trust_env": False,
            "proxy": proxy,
            "verify": http.create_ssl_context(trust_env=True),
        }

    return DefaultAsyncHttpxClient(**settings)


def quiet_requests() -> None:
    """Has HTTP libraries log no more than warnings: a status line and headers may repeat what was sent."""
    for name in _HTTP_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def asks_guard(base_url: str, purpose: str) -> Callable[[Any], Awaitable[None]]:
    """Makes the hook of an HTTP client that has the guard decide about each request's address."""
    address = read_address(base_url)
    on_socket = address is not None and bool(address.socket)

    async def ask(request: Any) -> None:
        url = base_url if on_socket else str(request.url)
        policy.require_endpoint(url, purpose)
        if not on_socket and policy.protecting() and is_loopback_host(url):
            request.extensions = {**request.extensions, "trace": check_peer}

    return ask


async def check_peer(event: str, info: Mapping[str, Any]) -> None:
    """Refuses a new connection before a byte is sent.

    A local name may lead elsewhere since it was last looked up.
    """
    if not event.endswith("connect_tcp.complete"):
        return

    stream = info["return_value"]
    peer = stream.get_extra_info("server_addr")
    if not peer or not is_loopback_number(str(peer[0])):
        await stream.aclose()
        raise RefusedError(
            MESSAGES["other_address"].format(
                peer=peer[0] if peer else "an unknown address"
            )
        )
