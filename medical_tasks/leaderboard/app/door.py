"""Which requests Gradio's server answers: those that the pages make, and none that names another host or a local file.

Uploads never reach Gradio, which bounds neither how many there are, nor how long they take, nor what they hold. None is refused
for the number of others: where an address, or all together, would have too many at once, the slowest of them ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.leaderboard.submission_package.contents import DEFAULT_LIMITS, PackageError

LONGEST_UPLOAD: Final = DEFAULT_LIMITS.package_bytes + (1 << 16)
"""Bytes: a package and what a browser puts around it."""
LONGEST_CALL: Final = 1 << 20
LONGEST_HEAD: Final = 1 << 15
"""Of what comes before a body: the address and the headers."""
_SWEEP_S: Final = 600.0
_UPLOAD: Final = "/gradio_api/upload"
_PROGRESS: Final = "/gradio_api/upload_progress"
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


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long requests may take, and how many uploads there may be at once."""

    seconds: float = 300.0
    idle: float = 20.0
    uploads: int = 32
    share: int = 4
    slow: float = 16_384.0


class _RefusedError(Exception):
    """A request goes on for more bytes or seconds than it may."""


@dataclass(eq=False)
class _Arriving:
    """A request whose body is on its way."""

    address: str
    began: float
    clock: asyncio.Timeout
    count: int = 0
    refusal: tuple[int, str] = field(default=(0, ""))

    def end(self, status: int, text: str) -> None:
        """Ends it, wherever it waits."""
        self.refusal = status, text
        if not self.clock.expired():
            self.clock.reschedule(0.0)


class Door:
    """Lets in what the pages need, and nothing that fills memory or disk; `proxied`: a proxy in front names the visitor."""

    def __init__(self, app: App, *, folder: Path, proxied: bool = False, limits: Limits | None = None) -> None:
        self._app, self._folder, self._proxied, self._limits = app, folder, proxied, limits or Limits()
        self._arriving: list[_Arriving] = []
        self._kept: dict[str, str] = {}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] == "lifespan":
            sweeping = asyncio.create_task(self._sweep())
            try:
                await self._app(scope, receive, send)
            finally:
                sweeping.cancel()
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
        elif scope["path"] == _PROGRESS:
            # The page asks how far an upload is. Gradio does not see it; the page shows that it is under way.
            await _say(send, 200, 'data: {"msg":"done"}\n\n', kind=b"text/event-stream")
        elif scope["method"] != "POST":
            await self._app(scope, receive, send)
        elif scope["path"] == _UPLOAD:
            await self._bounded(self._upload, scope, receive, send, longest=LONGEST_UPLOAD)
        else:
            await self._bounded(self._call, scope, receive, send, longest=LONGEST_CALL)

    async def _sweep(self) -> None:
        while True:
            with contextlib.suppress(OSError):  # of a folder that is gone; an upload says so
                await self._make_room()
            await asyncio.sleep(_SWEEP_S)

    async def _make_room(self, *, spare: int = 0) -> None:
        await asyncio.to_thread(make_room, self._folder, most_bytes=MOST_BYTES - spare, oldest_s=KEPT_SECONDS)
        self._kept = {name: who for name, who in self._kept.items() if (self._folder / name).exists()}

    async def _bounded(
        self, app: Callable[..., Awaitable[None]], scope: Message, receive: Receive, send: Send, *, longest: int
    ) -> None:
        too_long = 413, f"A request may have {longest >> 20} MiB here, and this has more."
        if any(name == b"content-length" and int(value) > longest for name, value in scope["headers"]):
            await _say(send, *too_long)
            return
        limits, now = self._limits, asyncio.get_running_loop().time
        until = now() + limits.seconds
        one = _Arriving(self._address(scope), now(), asyncio.timeout_at(until))
        told = False

        async def counted() -> Message:
            async with asyncio.timeout_at(now() + limits.idle):
                message = await receive()
            one.count += len(message.get("body", b""))
            if one.count > longest:
                one.refusal = too_long
                raise _RefusedError
            return message

        async def unless_refused(message: Message) -> None:
            nonlocal told
            # What is behind answers the error as its own before it lets it through.
            if not one.refusal[0]:
                told = True
                await send(message)

        try:
            async with one.clock:
                await app(scope, counted, unless_refused, one)
        except (_RefusedError, TimeoutError):
            if not told:
                late = (
                    f"A request is sent within {limits.seconds:g} seconds here, and never pauses for {limits.idle:g}."
                )
                await _say(send, *(one.refusal if one.refusal[0] else (408, f"{late} Send it again.")))

    @contextlib.contextmanager
    def _among_uploads(self, one: _Arriving) -> Iterator[None]:
        """Counts an upload while it arrives; one too many ends the slowest of those that have most at once."""
        own = [each for each in self._arriving if each.address == one.address]
        if len(own) >= self._limits.share:
            self._end_slowest(own)
        elif len(self._arriving) >= self._limits.uploads:
            counts = Counter(each.address for each in self._arriving)
            self._end_slowest([each for each in self._arriving if counts[each.address] == max(counts.values())])
        self._arriving.append(one)
        try:
            yield
        finally:
            if one in self._arriving:
                self._arriving.remove(one)

    def _end_slowest(self, among: list[_Arriving]) -> None:
        now = asyncio.get_running_loop().time()

        def order(each: _Arriving) -> tuple[float, float]:
            # What does not get on ends first, and the oldest of that: who has just begun may still show how fast it is.
            return max(each.count / max(now - each.began, 1.0), self._limits.slow), each.began

        slowest = min(among, key=order)
        self._arriving.remove(slowest)
        slowest.end(503, "Too many packages are uploaded at this moment, and this was the slowest. Upload it again.")

    def _address(self, scope: Message) -> str:
        """Whose request it is: the last public address that the proxies name, as visitors can write what they like before it."""
        named = [(scope.get("client") or ("",))[0]]
        if self._proxied:
            heads = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
            named += [each.strip() for each in heads.split(",")]
        known = []
        for each in named:
            with contextlib.suppress(ValueError):
                known.append(ipaddress.ip_address(each))
        if not known:
            return named[0]
        one = next((each for each in reversed(known) if each.is_global), known[-1])
        # One visitor has all of an IPv6 network.
        return str(one if one.version == 4 else ipaddress.ip_network((one, 64), strict=False))

    async def _upload(self, scope: Message, receive: Receive, send: Send, one: _Arriving) -> None:
        """Keeps the one file of an upload, if it is of the only kind that there is to upload, and answers with its name."""
        from starlette.formparsers import MultiPartException
        from starlette.requests import ClientDisconnect, Request

        try:
            with self._among_uploads(one):
                form = await Request(scope, receive).form(max_files=1, max_fields=0)
            try:
                files = [value.file for value in form.values() if not isinstance(value, str)]
                name = await self._keep(files, one.address)
            finally:
                await form.close()
        except ClientDisconnect:
            return
        except PackageError as error:
            await _say(send, 400, str(error))
        except (MultiPartException, KeyError):  # what it says of itself may not be quoted
            await _say(send, 400, "This is no upload of one package and nothing beside it.")
        else:
            await _say(send, 200, json.dumps([name]), kind=b"application/json")

    async def _keep(self, files: list[BinaryIO], address: str) -> str:
        if len(files) != 1:
            raise PackageError("One package is uploaded at a time.")
        await self._make_room(spare=LONGEST_UPLOAD)
        own = [name for name, who in self._kept.items() if who == address]
        for name in own[: max(0, len(own) - self._limits.share + 1)]:
            (self._folder / name).unlink(missing_ok=True)
        name = await asyncio.to_thread(keep, self._folder, files[0])
        self._kept[name] = address
        return name

    async def _call(self, scope: Message, receive: Receive, send: Send, one: _Arriving) -> None:
        """Passes on what a page's event says, written anew: texts, and uploads by their name."""
        from starlette.requests import ClientDisconnect, Request

        try:
            asked = json.loads(await Request(scope, receive).body())
            if not isinstance(asked["data"], list):
                raise TypeError
            values = [self._value(value) for value in asked["data"]]
            passed = json.dumps({"data": values} | {name: asked[name] for name in _PASSED_ON if name in asked}).encode()
        except ClientDisconnect:
            return
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
        if isinstance(value, dict) and isinstance(value["path"], str) and _TOKEN.fullmatch(value["path"]):
            return {"path": str(self._folder / value["path"]), "meta": {"_type": "gradio.FileData"}}
        raise ValueError("neither a text nor an upload")


async def _say(send: Send, status: int, text: str, *, kind: bytes = b"text/plain") -> None:
    body = text.encode()
    headers = [(b"content-type", kind + b"; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status >= 400:
        # The rest of a body that is not read would be taken for the next request.
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


FOLDER_VARIABLE: Final = "GRADIO_TEMP_DIR"
MOST_BYTES: Final = 1 << 30
"""All uploads that nobody has confirmed yet, together."""
KEPT_SECONDS: Final = 3600
_BEGINS: Final = b"PK\3\4"
"""Every zip file that has a file in it."""
_FOLDER_NAME: Final = "medical-tasks-leaderboard"
_TOKEN: Final = re.compile(r"[0-9a-f]{64}\.zip")  # the name of an upload, which no path and no address is


def own_folder() -> Path:
    """Makes the upload folder and tells Gradio of it; `UsageError` where it cannot be made or belongs to somebody else."""
    above = Path(os.environ.get(FOLDER_VARIABLE) or tempfile.gettempdir()).absolute()
    folder = above if above.name == _FOLDER_NAME else above / _FOLDER_NAME
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = folder.lstat().st_uid
    except OSError as error:
        raise UsageError(
            f"{folder}: no folder for uploads can be made ({system_reason(error)}). Set {FOLDER_VARIABLE} to another."
        ) from error
    if owner != os.getuid():
        raise UsageError(f"{folder}: belongs to another user. Set {FOLDER_VARIABLE} to a folder of yours for uploads.")
    os.environ[FOLDER_VARIABLE] = str(folder)
    return folder


def make_room(folder: Path, *, most_bytes: int, oldest_s: float) -> None:
    """Deletes the uploads that are too old, and then the oldest until `most_bytes` are left."""
    now = time.time()
    found: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # submitted meanwhile
            about = path.lstat()
            if not stat.S_ISDIR(about.st_mode):
                found.append((about.st_mtime, about.st_size, path))
    left = sum(size for _, size, _ in found)
    for changed, size, path in sorted(found):
        if left <= most_bytes and now - changed <= oldest_s:
            return
        path.unlink(missing_ok=True)
        left -= size


def keep(folder: Path, file: BinaryIO) -> str:
    """Keeps an upload under a name that nobody can guess, and returns it; `PackageError` for what does not begin as a zip file."""
    file.seek(0)
    if file.read(len(_BEGINS)) != _BEGINS:
        raise PackageError("This is no package: upload the .zip that `medical-tasks submit RUN --to space` wrote.")
    file.seek(0)
    place = folder / f"{secrets.token_hex(32)}.zip"
    try:
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as kept:
            shutil.copyfileobj(file, kept, 1 << 20)
    except OSError:
        place.unlink(missing_ok=True)
        raise
    return place.name


def upload_path(value: Any, folder: Path) -> Path:
    """Finds an upload by what the browser sent, which may name anything; `MissingError` for all but an upload that is here."""
    path = Path(str(value.get("path"))) if isinstance(value, Mapping) else Path()
    if path.parent == folder and _TOKEN.fullmatch(path.name) and path.is_file():
        return path
    raise MissingError("the uploaded file is not here any more: it is kept for an hour at most. Upload it again.")
