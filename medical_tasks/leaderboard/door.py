"""Limits the number, duration and size of uploads.

No upload can fill memory or disk, or block others. A package may have 32 MiB, a request 5
minutes, a pause 20 s; 32 uploads run at once, 4 from one address (behind a proxy the last
public one in `X-Forwarded-For`; an IPv6 /64 is one). If there are too many uploads, from
one address or in all, the slowest one is ended and the new one is accepted.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from medical_tasks.leaderboard.submission_package.contents import DEFAULT_LIMITS

LONGEST_HEAD: Final = 1 << 15
"""Bytes of an address and the headers."""
_POLICY: Final = (
    b"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    b"form-action 'none'"
)
HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", _POLICY),
)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of requests.

    Attributes:
        seconds: Longest duration of an upload.
        idle: Longest time without a byte, in seconds.
        bytes: Largest package.
        uploads: Most uploads at once, from all addresses.
        share: Most uploads at once from one address.
        slow: Rate in bytes a second below which all uploads count as equally slow, so
            that the oldest is ended first.
    """

    seconds: float = 300.0
    idle: float = 20.0
    bytes: int = DEFAULT_LIMITS.package_bytes
    uploads: int = 32
    share: int = 4
    slow: float = 16_384.0


class _RefusedError(Exception):
    """A request has more bytes than allowed."""


@dataclass(eq=False)
class _Arriving:
    """A request whose body is arriving.

    Attributes:
        address: The sender's address.
        began: The start, by the event loop's clock.
        clock: The timeout that ends the request.
        count: Bytes received.
        refusal: Status and text of the reply, once it is refused.
    """

    address: str
    began: float
    clock: asyncio.Timeout
    count: int = 0
    refusal: tuple[int, str] = field(default=(0, ""))

    def end(self, status: int, text: str) -> None:
        """Ends the request, whatever it is waiting for."""
        self.refusal = status, text
        if not self.clock.expired():
            self.clock.reschedule(0.0)


class Door:
    """Forwards requests within the limits; if `proxied`, a proxy's header has the address."""

    def __init__(
        self, app: App, *, proxied: bool = False, limits: Limits | None = None
    ) -> None:
        self._app, self._proxied, self._limits = app, proxied, limits or Limits()
        self._arriving: list[_Arriving] = []

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]

            await send(message)

        if (
            len(scope["query_string"])
            + sum(map(len, chain.from_iterable(scope["headers"])))
            > LONGEST_HEAD
        ):
            await say(
                with_headers,
                431,
                f"An address and headers may have {LONGEST_HEAD >> 10} KiB together here.",
            )
        elif scope["method"] == "POST":
            await self._bounded(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    async def _bounded(self, scope: Message, receive: Receive, send: Send) -> None:
        limits, now = self._limits, asyncio.get_running_loop().time
        too_long = (
            413,
            f"A package may have {limits.bytes >> 20} MiB here, and this has more.",
        )
        if any(
            name == b"content-length" and int(value) > limits.bytes
            for name, value in scope["headers"]
        ):
            await say(send, *too_long)
            return

        arriving = _Arriving(
            self._address(scope), now(), asyncio.timeout_at(now() + limits.seconds)
        )
        began = False

        async def counted() -> Message:
            async with asyncio.timeout_at(now() + limits.idle):
                message = await receive()

            arriving.count += len(message.get("body", b""))
            if arriving.count > limits.bytes:
                arriving.refusal = too_long
                raise _RefusedError

            if not message.get("more_body"):
                self._leave(arriving)

            return message

        async def unless_refused(message: Message) -> None:
            nonlocal began
            # The application would otherwise answer its own error first.
            if not arriving.refusal[0]:
                began = True
                await send(message)

        try:
            async with arriving.clock:
                with self._among_uploads(arriving):
                    await self._app(scope, counted, unless_refused)
        except (_RefusedError, TimeoutError):
            if not began:
                late = f"A package is sent within {limits.seconds:g} seconds here, and never pauses for {limits.idle:g}."
                await say(
                    send,
                    *(
                        arriving.refusal
                        if arriving.refusal[0]
                        else (408, f"{late} Send it again.")
                    ),
                )

    @contextlib.contextmanager
    def _among_uploads(self, arriving: _Arriving) -> Iterator[None]:
        """Counts an upload while it arrives.

        If there are too many, the slowest one of the busiest addresses is ended.
        """
        own = [other for other in self._arriving if other.address == arriving.address]
        if len(own) >= self._limits.share:
            self._end_slowest(own)
        elif len(self._arriving) >= self._limits.uploads:
            counts = Counter(other.address for other in self._arriving)
            self._end_slowest(
                [
                    other
                    for other in self._arriving
                    if counts[other.address] == max(counts.values())
                ]
            )

        self._arriving.append(arriving)
        try:
            yield
        finally:
            self._leave(arriving)

    def _leave(self, arriving: _Arriving) -> None:
        if arriving in self._arriving:
            self._arriving.remove(arriving)

    def _end_slowest(self, among: list[_Arriving]) -> None:
        now = asyncio.get_running_loop().time()

        def order(arriving: _Arriving) -> tuple[float, float]:
            # What does not get on ends first, and the oldest of that: who has just
            # begun may still show how fast it is.
            return max(
                arriving.count / max(now - arriving.began, 1.0), self._limits.slow
            ), arriving.began

        slowest = min(among, key=order)
        self._leave(slowest)
        slowest.end(
            503,
            "Too many packages are uploaded at this moment, and this was the slowest. Upload it "
            "again.",
        )

    def _address(self, scope: Message) -> str:
        """Returns the sender's address.

        Behind proxies it is the last public address in the header, since visitors can
        forge all addresses before it.
        """
        named = [(scope.get("client") or ("",))[0]]
        if self._proxied:
            heads = b",".join(
                value for name, value in scope["headers"] if name == b"x-forwarded-for"
            ).decode("latin-1")
            named += [text.strip() for text in heads.split(",")]

        addresses = []
        for text in named:
            with contextlib.suppress(ValueError):
                addresses.append(ipaddress.ip_address(text))

        if not addresses:
            return named[0]

        address = next(
            (text for text in reversed(addresses) if text.is_global), addresses[-1]
        )
        # One visitor can have a whole IPv6 network.
        return str(
            address
            if address.version == 4
            else ipaddress.ip_network((address, 64), strict=False)
        )


async def say(send: Send, status: int, text: str) -> None:
    """Answers a request whose body is not read."""
    body = text.encode()
    # Closed, since the rest of the unread body would be parsed as the next request.
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
