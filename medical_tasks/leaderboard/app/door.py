"""What of Gradio's server answers: what the pages ask for, and nothing that names another host or a file of this one.

Gradio bounds one file of an upload, but neither how many there are, nor the other bodies, nor what broken uploads leave behind.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from medical_tasks.leaderboard.app.uploads import KEPT_SECONDS, MOST_BYTES, is_upload, make_room
from medical_tasks.submission_package.limits import DEFAULT_LIMITS

__all__ = ["HEADERS", "LONGEST_CALL", "LONGEST_HEAD", "LONGEST_UPLOAD", "PAGE_POLICY", "POLICY", "Door"]

LONGEST_UPLOAD: Final = DEFAULT_LIMITS.package_bytes + (1 << 16)
"""Bytes: a package and what a browser puts around it."""
LONGEST_CALL: Final = 1 << 20
LONGEST_HEAD: Final = 1 << 15
"""Of what comes before a body: the address and the headers."""
_MOST_SECONDS: Final = 600.0
"""How long a body may take: a package over a quarter of a megabyte a second takes two minutes."""
_MOST_UPLOADS: Final = 32
"""How many are sent at one moment."""
_SWEEP_S: Final = 600.0
_UPLOAD: Final = "/gradio_api/upload"
# Whole paths, decoded once as the framework takes them; a test compares them with its table of routes.
_OPEN: Final = {
    "HEAD": re.compile("/"),
    "GET": re.compile(
        r"/|/favicon\.ico|/theme\.css|/assets/[A-Za-z0-9_-]{1,100}\.(css|js)|/static/js/iframeResizer\.contentWindow\.min\.js"
        r"|/gradio_api/(app_id|queue/data|upload_progress)"
    ),
    "POST": re.compile(rf"/gradio_api/queue/join|{_UPLOAD}"),
}
_PASSED_ON: Final = ("event_data", "fn_index", "session_hash", "trigger_id")
# Gradio's pages hold scripts and styles inline and make functions of texts of its own; text of submitters never gets there.
PAGE_POLICY: Final = (
    b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    b"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; "
    b"base-uri 'self'; form-action 'self'"
)
POLICY: Final = b"default-src 'none'; sandbox"
"""Of all that is no page: whatever it holds, opened by itself it does nothing."""
HEADERS: Final = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class _RefusedError(Exception):
    """A body goes on for more bytes or seconds than it may."""


class Door:
    """Lets in what the pages need, and nothing that fills memory or disk.

    Args:
        app: what is behind it.
        folder: where uploads lie.
        seconds: how long a body may take.
    """

    def __init__(self, app: App, *, folder: Path, seconds: float = _MOST_SECONDS) -> None:
        self._app, self._folder, self._seconds = app, folder, seconds
        self._sending = 0
        self._swept = float("-inf")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        policy = PAGE_POLICY if scope["path"] == "/" else POLICY

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"content-security-policy", policy), *HEADERS]
            await send(message)

        await self._answer(scope, receive, with_headers)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        known = _OPEN.get(scope["method"])
        if known is None or known.fullmatch(scope["path"]) is None:
            await _say(send, 404, "There is nothing here: the leaderboard is at /.")
        elif len(scope["query_string"]) + sum(map(len, chain.from_iterable(scope["headers"]))) > LONGEST_HEAD:
            await _say(send, 431, f"An address and headers may have {LONGEST_HEAD >> 10} KiB together here.")
        elif scope["method"] != "POST":
            await self._sweep(spare=0)
            await self._app(scope, receive, send)
        elif scope["path"] != _UPLOAD:
            await self._bounded(self._call, scope, receive, send, longest=LONGEST_CALL)
        elif self._sending >= _MOST_UPLOADS:
            await _say(send, 503, "Too many packages are uploaded at this moment. Upload yours again in a minute.")
        else:
            self._sending += 1
            try:
                await self._sweep(spare=LONGEST_UPLOAD)
                await self._bounded(self._app, scope, receive, send, longest=LONGEST_UPLOAD)
            finally:
                self._sending -= 1

    async def _sweep(self, *, spare: int) -> None:
        if not spare and time.monotonic() - self._swept < _SWEEP_S:
            return
        self._swept = time.monotonic()
        await asyncio.to_thread(make_room, self._folder, most_bytes=MOST_BYTES - spare, oldest_s=KEPT_SECONDS)

    async def _bounded(self, app: App, scope: Message, receive: Receive, send: Send, *, longest: int) -> None:
        too_long = 413, f"A request may have {longest >> 20} MiB here, and this has more."
        if any(name == b"content-length" and int(value) > longest for name, value in scope["headers"]):
            await _say(send, *too_long)
            return
        count, refusal = 0, (0, "")
        until = asyncio.get_running_loop().time() + self._seconds

        async def counted() -> Message:
            nonlocal count, refusal
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError as error:
                refusal = 408, f"A request is sent within {self._seconds:g} seconds here. Send it again."
                raise _RefusedError from error
            count += len(message.get("body", b""))
            if count > longest:
                refusal = too_long
                raise _RefusedError
            return message

        async def unless_refused(message: Message) -> None:
            # What is behind answers the error as its own before it lets it through.
            if not refusal[0]:
                await send(message)

        try:
            await app(scope, counted, unless_refused)
        except _RefusedError:
            await _say(send, *refusal)

    async def _call(self, scope: Message, receive: Receive, send: Send) -> None:
        """Passes on what a page's event says, written anew: texts, and uploads by their place."""
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        try:
            asked = json.loads(body)
            if not isinstance(asked["data"], list):
                raise TypeError
            values = [self._value(one) for one in asked["data"]]
            passed = json.dumps({"data": values} | {name: asked[name] for name in _PASSED_ON if name in asked}).encode()
        except (ValueError, TypeError, KeyError, RecursionError):
            await _say(send, 400, "An event of a page sends texts and the package that was uploaded, and nothing else.")
            return
        waiting = [{"type": "http.request", "body": passed, "more_body": False}]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, again, send)

    def _value(self, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, Mapping) and is_upload(path := Path(str(value["path"])), self._folder):
            return {"path": str(path), "meta": {"_type": "gradio.FileData"}}
        raise ValueError("neither a text nor an upload")


async def _say(send: Send, status: int, text: str) -> None:
    body = text.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    # The rest of a body that is not read would be taken for the next request.
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
