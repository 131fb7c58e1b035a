"""What of Gradio's server is open: what the pages ask for, and bodies no longer than they can need.

Gradio bounds one file of an upload, but neither how many there are, nor the other bodies, nor what broken uploads leave behind.
"""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Final

from medical_tasks.leaderboard.app.headers import App, Message, Receive, Send
from medical_tasks.leaderboard.app.upload_room import MOST_BYTES, make_room
from medical_tasks.leaderboard.app.uploads import KEPT_SECONDS
from medical_tasks.submission_package.limits import DEFAULT_LIMITS

__all__ = ["LONGEST_CALL", "LONGEST_UPLOAD", "Door"]

LONGEST_UPLOAD: Final = DEFAULT_LIMITS.package_bytes + (1 << 16)
"""Bytes: a package and what a browser puts around it."""
LONGEST_CALL: Final = 1 << 20
_MOST_UPLOADS: Final = 32
"""How many are sent at one moment."""
_SWEEP_S: Final = 600.0
_UPLOAD: Final = "/gradio_api/upload"
_READ: Final = re.compile(
    r"/|/config/?|/(gradio_api/)?theme\.css|/(assets|static|svelte)/.+|/favicon\.ico|/robots\.txt|/manifest\.json"
    r"|/gradio_api/(queue/data|queue/status|upload_progress|heartbeat/[^/]+|info/?|startup-events|app_id/?|file=.+)"
)
_CALLED: Final = re.compile(r"/gradio_api/(queue/join|upload|cancel|reset)/?")


class _TooLongError(Exception):
    """A body goes on where it may not."""


class Door:
    """Lets in what the pages need, and nothing that fills memory or disk.

    Args:
        app: what is behind it.
        folder: where uploads lie.
    """

    def __init__(self, app: App, *, folder: Path) -> None:
        self._app, self._folder = app, folder
        self._sending = 0
        self._swept = float("-inf")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        reads = scope["method"] in {"GET", "HEAD"}
        known = _READ if reads else _CALLED if scope["method"] == "POST" else None
        if known is None or known.fullmatch(scope["path"]) is None:
            await _answer(send, 404, "There is nothing here: the leaderboard is at /.")
            return
        if reads:
            await self._sweep(spare=0)
            await self._app(scope, receive, send)
        elif scope["path"].rstrip("/") != _UPLOAD:
            await self._bounded(scope, receive, send, longest=LONGEST_CALL)
        elif self._sending >= _MOST_UPLOADS:
            await _answer(send, 503, "Too many packages are uploaded at this moment. Upload yours again in a minute.")
        else:
            self._sending += 1
            try:
                await self._sweep(spare=LONGEST_UPLOAD)
                await self._bounded(scope, receive, send, longest=LONGEST_UPLOAD)
            finally:
                self._sending -= 1

    async def _sweep(self, *, spare: int) -> None:
        if not spare and time.monotonic() - self._swept < _SWEEP_S:
            return
        self._swept = time.monotonic()
        await asyncio.to_thread(make_room, self._folder, most_bytes=MOST_BYTES - spare, oldest_s=KEPT_SECONDS)

    async def _bounded(self, scope: Message, receive: Receive, send: Send, *, longest: int) -> None:
        said = f"A request may have {longest >> 20} MiB here, and this has more."
        if any(name == b"content-length" and int(value) > longest for name, value in scope["headers"]):
            await _answer(send, 413, said)
            return
        count = 0

        async def counted() -> Message:
            nonlocal count
            message = await receive()
            count += len(message.get("body", b""))
            if count > longest:
                raise _TooLongError
            return message

        try:
            await self._app(scope, counted, send)
        except _TooLongError:
            await _answer(send, 413, said)


async def _answer(send: Send, status: int, text: str) -> None:
    body = text.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    # The rest of a body that is not read would be taken for the next request.
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
