"""The transport under the openai library: guard, budget, pace and replicas of each request.

The library builds requests, retries those that failed, backs off in between
(`Retry-After`, else longer and longer) and keeps connections open. This module adds what
no library does:

- a 429 holds up all calls to its server, and uses up none of their attempts (`replica.Pace`);
- every request, retries included, is checked by the guard, by the address it connects to, and by the budget;
- a body that is not a reply is a failed attempt, even with status 200;
- a request goes to the replica with the fewest in flight; a lost replica is tried again now and then.

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
from medical_tasks.models.knock import (
    TRIES,
    proxy_for,
    say_waiting,
    unreachable,
    without_user,
)
from medical_tasks.models.replica import Replica

if TYPE_CHECKING:
    from medical_tasks.models.chat_client import ChatSettings, Spending

# The HTTP library that the installed version of openai uses: httpx, or its successor.
http: Final[Any] = importlib.import_module(
    next(
        kind.__module__.partition(".")[0]
        for kind in DefaultAsyncHttpxClient.__mro__
        if kind.__name__ == "AsyncClient"
    )
)

CONNECT_S: Final = 15.0  # a host that does not even accept a connection is not "slow"
# a lost replica is left alone for this long, and twice as long each further time
FIRST_ABSENCE_S = 1.0
LONGEST_ABSENCE_S = 60.0
_SHARED: Final = 2
"""Consecutive 429s of one call, while others are answered, that hold up all calls; then it waits alone."""
_REFUSALS: Final = 10
"""Such 429s after which a call ends."""

OWN_WORDS: Final = ("connection", "not json", "timeout", chat_reply.REDIRECT)
"""Failures whose detail holds none of the server's words."""
_SYSTEM_WORDS: Final = ("ConnectError", "ReadError", "WriteError", "CloseError")
# The server, or what is behind it, cannot be reached.
_LOST: Final = ("connection", "http 502", "http 503", "http 504")
# The server refused the request, which costs nothing. After any other failure the
# server may have worked on it.
_REFUSED: Final = (
    "rate limited",
    "quota exhausted",
    "prompt too long",
    chat_reply.REDIRECT,
)
# The version at the end of a base URL. Without one, all paths lie below the base URL.
_VERSION: Final = re.compile(r"(?<=[^/])/v\d[^/]*$")
_SOCKET_HOST: Final = "http://localhost"  # stands for a server on a unix socket
_HTTP_LOGGERS: Final = (
    "anthropic",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "openai",
)


@dataclass(kw_only=True)
class Exchange:
    """A call with all its requests.

    `Wire.send` finds it through `EXCHANGE`, since the library passes nothing on.

    Attributes:
        path: below the base URL, or beside its version with `/../`; "" for the path that
            the library requests.
        read: parses the body and headers of a success, or raises AttemptError.
        texts: what is sent, which no failure may quote.
        spending: the budget of the call.
        deadline: the end of the call's total time.
        sent: the number of requests so far.
        result: what `read` returned.
        failure: the last failure.
        replica: the last replica tried.
    """

    path: str
    read: Callable[[str, Mapping[str, str]], object]
    texts: Sequence[str]
    spending: Spending | None
    deadline: asyncio.Timeout = field(init=False)
    sent: int = 0
    result: Any = None
    failure: AttemptError | None = None
    replica: Replica | None = None


EXCHANGE: ContextVar[Exchange] = ContextVar("exchange")


class Ended(BaseException):
    """Ends a call: nothing more is sent for it.

    Not an `Exception`, since some versions of the library retry after any of these.
    """

    def __init__(self, reason: AttemptError | MedicalTasksError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Wire(DefaultAsyncHttpxClient):
    """The HTTP client for the library, which calls its `send` for each attempt.

    It sends through one client per replica.
    """

    def __init__(self, settings: ChatSettings) -> None:
        # It opens no connection itself, and so skips the certificates, which take long
        # to read.
        super().__init__(
            trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
        self._settings = settings
        self._replicas = [
            settings.replica_states.setdefault(url, Replica(url))
            for url in settings.addresses
        ]
        self._doors = {
            url: open_http(url, settings.purpose) for url in settings.addresses
        }

    async def meet(self) -> None:
        """Checks that a server can be reached; asks new replicas what they serve."""
        if not any(replica.reached for replica in self._replicas):
            await self._reach()
        new = [
            replica
            for replica in self._replicas
            if replica.serves is None and not replica.trouble
        ]
        if len(self._replicas) > 1:
            await asyncio.gather(*map(self._meet, new))

    async def _reach(self) -> None:
        """Ends the run if no server accepts a connection."""
        doors = {
            proxy_for(replica.url) or replica.url: replica for replica in self._replicas
        }
        shown = {without_user(url): url for url in doors}
        tries = min(TRIES, self._settings.max_retries + 1)
        troubles = await unreachable(list(shown), tries)
        if troubles:
            several = len(troubles) > 1 or set(troubles) != {self._settings.base_url}
            problems = [
                f"{url}: {trouble}" if several else trouble
                for url, trouble in troubles.items()
            ]
            detail = f"{'; '.join(problems)}; given up after {tries} attempts"
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
        """Sends one attempt of the call in `EXCHANGE`; the library decides by its outcome whether to retry."""
        call = EXCHANGE.get()
        refusals, answers = 0, -1
        while True:
            replica = call.replica = await self._choose(call.replica)
            if replica.trouble:
                call.failure = AttemptError("connection", replica.trouble, retry=True)
                raise http.ConnectError(replica.trouble)

            # Waiting for others' 429s does not use up this call's time, unless it has
            # been refused itself.
            with contextlib.nullcontext() if refusals else _untimed(call):
                sent_at = await replica.pace.turn()

            await self._admit(call)
            try:
                response = await self._attempt(call, replica, request)
            except AttemptError as failure:
                call.failure = failure
                if failure.reason != "rate limited":
                    replica.pace.accepted()
                    self._say_waiting(call, replica, failure)
                    return self._failed(replica, failure)

                refusals += refusals >= _SHARED or replica.pace.answers > answers
                answers = replica.pace.answers
                await self._hold(call, replica, sent_at, failure, refusals)
            else:
                replica.pace.accepted()
                replica.answered = True
                return response

    async def _hold(
        self,
        call: Exchange,
        replica: Replica,
        sent_at: float,
        failure: AttemptError,
        refusals: int,
    ) -> None:
        """Makes all calls wait after a 429, or only this one if others are answered.

        Args:
            call: the call that was refused.
            replica: the server that refused it.
            sent_at: when the request was sent.
            failure: the refusal.
            refusals: how often in a row the call was refused while others were answered.
        """
        seconds = failure.wait
        if refusals <= _SHARED:
            seconds = replica.pace.refused(sent_at, failure.wait)
        elif seconds is None:
            seconds = 2.0 ** (refusals - _SHARED)

        now, end = asyncio.get_running_loop().time(), call.deadline.when()
        ending = ""
        if end is not None and now + seconds >= end:
            limit = self._settings.total_time
            ending = (
                f"since waiting {seconds:.0f} s more would pass total_time={limit:g}"
            )
        elif refusals > _REFUSALS:
            ending = "while others were answered"

        if ending:
            detail = f"{failure.detail}; given up after {call.sent} attempts, {ending}"
            raise Ended(AttemptError(failure.reason, detail, retry=False))

        if not replica.limit_noted:
            replica.limit_noted = True
            _note(
                f"{replica.url} limits requests (HTTP 429); continuing at the rate it accepts"
            )

        if refusals > _SHARED:
            await asyncio.sleep(seconds)

    def _failed(self, replica: Replica, failure: AttemptError) -> Any:
        """Reports a failed attempt to the library in its own terms."""
        if failure.reason in _LOST and len(self._replicas) > 1:
            self._lose(replica, failure)
        if not failure.retry:
            raise Ended(failure)
        if failure.response is None:
            raise http.ReadError(failure.reason)
        return failure.response  # the library reads its `Retry-After`

    def _say_waiting(
        self, call: Exchange, replica: Replica, failure: AttemptError
    ) -> None:
        """Prints, once for all calls, that the very first answer takes another attempt."""
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
        """Asks the budget to admit one request."""
        if call.spending is None:
            return
        with _untimed(call):
            admitted = await call.spending.admit()
        if not admitted:
            detail = f"refused before request {call.sent + 1}"
            raise Ended(AttemptError("budget spent", detail, retry=False))

    async def _attempt(self, call: Exchange, replica: Replica, request: Any) -> Any:
        """Sends one request of a call; raises AttemptError if it yields no result."""
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
        """Sends a request to a replica and returns the response.

        Raises:
            AttemptError: The response is not a success, or there is none.
        """
        replica.in_flight += 1
        try:
            # The library's own timeouts are per read: a server that sends a byte now
            # and then would never time out.
            async with asyncio.timeout(limit):
                response = await self._doors[replica.url].send(request)
        except MedicalTasksError as error:
            raise Ended(error) from None  # the guard refused the request
        except http.ConnectTimeout:
            detail = "no connection within the time allowed"
            raise AttemptError("connection", detail, retry=True) from None
        except (TimeoutError, http.TimeoutException):
            detail = f"no complete answer within {limit:.3g} s"
            raise AttemptError("timeout", detail, retry=True) from None
        except (http.HTTPError, ssl.SSLError, OSError) as error:
            # A bad certificate stays bad: retrying does not help.
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
        """Chooses the least busy replica, if possible not the one that failed.

        A lost replica that is due is checked first.
        """
        now = asyncio.get_running_loop().time()

        def busy(replica: Replica) -> tuple[bool, int]:
            return replica.pace.resumes > now, replica.in_flight

        up = [candidate for candidate in self._replicas if not candidate.trouble]
        due = [
            candidate
            for candidate in self._replicas
            if candidate.again_at <= now and not candidate.in_flight
        ]
        ready = [
            candidate
            for candidate in self._replicas
            if candidate in up or candidate in due
        ] or self._replicas
        chosen = min(
            [candidate for candidate in ready if candidate is not failed] or ready,
            key=busy,
        )
        if chosen.trouble:
            await self._meet(chosen)
        if chosen.trouble and up:
            return min(up, key=busy)

        return chosen

    async def _meet(self, replica: Replica) -> None:
        """Asks a new or lost replica what it serves, before it is sent any text."""
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

            listed = None  # the server answers, but has no such list

        entry = chat_reply.listed_model(listed, self._settings.model)
        replica.serves = (
            f"{entry.get('id')!r} with max_model_len {entry.get('max_model_len')}"
            if entry
            else ""
        )
        served = {
            other.serves: f"{other.url} serves {other.serves}"
            for other in reversed(self._replicas)
            if other.serves
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

        Requests in flight together fail together; they count as one loss.
        """
        now, new = asyncio.get_running_loop().time(), not replica.trouble
        if new or replica.again_at <= now:
            # Never reset: a replica that comes and goes is left alone for longer and
            # longer.
            wait = FIRST_ABSENCE_S * 2 ** min(replica.losses, 30)
            replica.again_at = now + min(LONGEST_ABSENCE_S, wait)
            replica.losses += 1

        # The server may quote text that it was sent, and `trouble` is shown as this
        # module's own words.
        replica.trouble = error.detail if error.reason in OWN_WORDS else error.reason
        if new:
            self._note(f"{replica.url} does not answer")

    def _note(self, message: str) -> None:
        up = sum(not replica.trouble for replica in self._replicas)
        _note(f"{message}; continuing with {up} of {len(self._replicas)}")


@contextlib.contextmanager
def _untimed(call: Exchange) -> Iterator[None]:
    """Suspends a call's deadline for the duration of a `with` block."""
    clock = asyncio.get_running_loop().time
    began, end = clock(), call.deadline.when()
    call.deadline.reschedule(None)
    yield
    if end is not None:
        call.deadline.reschedule(end + clock() - began)


def _note(message: str) -> None:
    print(f"note: {message}", file=sys.stderr, flush=True)


def _address(base_url: str, path: str) -> str:
    """Returns the address of a path: below a base URL, or beside its version with `/../`."""
    address = read_address(base_url)
    # HTTP libraries have no URL for a socket; `open_http` connects to it.
    on_socket = address is not None and address.socket
    base = _SOCKET_HOST + urlsplit(base_url).path if on_socket else base_url
    base = base.rstrip("/")
    if path.startswith("/../"):
        return _VERSION.sub("", base) + path.removeprefix("/..")
    return base + path


def _is_tls(error: BaseException | None) -> bool:
    """Returns whether a connection failed at its encryption."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _broken(cause: BaseException, sent: Sequence[str]) -> str:
    """Says how a connection broke.

    The library's own message may quote a malformed reply or a proxy's refusal.
    """
    kind, words = type(cause).__name__, " ".join(str(cause).split())
    theirs = kind not in _SYSTEM_WORDS
    if not words or (
        theirs and (policy.protecting() or chat_reply.quoted_from(words, sent))
    ):
        return kind

    return f"{kind}: {words}"


def open_http(base_url: str, purpose: str) -> DefaultAsyncHttpxClient:
    """Opens an HTTP client for one endpoint.

    Raises:
        RefusedError: The environment's proxy may not see the text.
    """
    if policy.protecting():
        quiet_requests()

    address = read_address(base_url)
    settings: dict[str, Any] = {
        "follow_redirects": False,
        "trust_env": not is_loopback_host(base_url),
    }
    settings["event_hooks"] = {"request": [guard_hook(base_url, purpose)]}
    if address is not None and address.socket:
        settings["transport"] = http.AsyncHTTPTransport(
            uds=address.socket,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            limits=DEFAULT_CONNECTION_LIMITS,
        )
    elif base_url.startswith("http://") and is_loopback_host(base_url):
        # Plain http needs no certificates, which take longer to read than many calls.
        settings["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    elif policy.protecting() and not is_loopback_host(base_url):
        proxy = proxy_for(base_url)
        if proxy is not None:
            policy.require_endpoint(
                without_user(proxy), f"proxy on the way to the {purpose}"
            )

        # Use exactly the proxy that was checked; certificates named by the environment
        # still count.
        settings |= {
            "trust_env": False,
            "proxy": proxy,
            "verify": http.create_ssl_context(trust_env=True),
        }

    return DefaultAsyncHttpxClient(**settings)


def quiet_requests() -> None:
    """Limits HTTP libraries to warnings: status lines and headers may repeat what was sent."""
    for name in _HTTP_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def guard_hook(base_url: str, purpose: str) -> Callable[[Any], Awaitable[None]]:
    """Makes the hook by which an HTTP client has the guard check each request's address."""
    address = read_address(base_url)
    on_socket = address is not None and bool(address.socket)

    async def ask(request: Any) -> None:
        url = base_url if on_socket else str(request.url)
        policy.require_endpoint(url, purpose)
        if not on_socket and policy.protecting() and is_loopback_host(url):
            request.extensions = {**request.extensions, "trace": check_peer}

    return ask


async def check_peer(event: str, info: Mapping[str, Any]) -> None:
    """Refuses a connection to another machine before a byte is sent.

    A local name may resolve to another address since it was last looked up.
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
