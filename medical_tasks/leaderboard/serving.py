"""Serves the leaderboard's pages, rebuilds them when the store changes, and accepts packages.

The pages are files (`site.py`), built by another process; nothing is computed on request.
A package is sent by POST to `/submit`, which checks it and replies what would be shown;
with `?confirm=yes` it is submitted. The pages request nothing from other hosts.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.catalog import task_spec
from medical_tasks.errors import (
    MedicalTasksError,
    MissingError,
    UsageError,
    install_command,
)
from medical_tasks.io.files import found_at, read_bytes
from medical_tasks.leaderboard.admission import AdmissionError, QueueFullError
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.door import Door
from medical_tasks.leaderboard.storage import HUB, AlreadyStoredError, open_storage
from medical_tasks.leaderboard.submission_package.contents import Package, PackageError
from medical_tasks.runs.comparability import comparability_lines
from medical_tasks.runs.numbers import coverage, interval, metric_label, valued
from medical_tasks.runs.results import Json

if TYPE_CHECKING:
    import uvicorn
    from starlette.requests import Request
    from starlette.responses import Response

_LOG: Final = logging.getLogger(__name__)
STORE_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_STORE"
PORT_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_PORT"
PROXY_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_PROXY"
"""Set to any value if a reverse proxy forwards the visitors, as on a Space."""
DEFAULT_PORT: Final = 7860
_HIGHEST_PORT: Final = 65535
_HEAD_S: Final = 20.0
"""The longest time for the first line and the headers of a request."""
_LOOK_S: Final = 5.0
_LOOK_HUB_S: Final = 60.0


def settings_of(environment: Mapping[str, str]) -> tuple[str, str, int]:
    """Reads store, host and port from the environment.

    The pages are reachable from other machines only on a Space.
    """
    store = environment.get(STORE_VARIABLE, "").strip()
    if not store:
        raise UsageError(
            f"{STORE_VARIABLE} is not set: it names the leaderboard's store. Set it to a folder "
            "(it may be empty), or to hub:OWNER/NAME for dataset repositories of the Hub."
        )

    on_space = bool(environment.get("SPACE_ID"))
    port = environment.get(PORT_VARIABLE, "").strip() or str(DEFAULT_PORT)
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= _HIGHEST_PORT):
        raise UsageError(
            f"{PORT_VARIABLE} is a port from 1 to 65535; got {port!r}. Leave it out for "
            f"{DEFAULT_PORT}."
        )

    # The proxy of a Space connects to the container from outside, at this port.
    if on_space:
        return store, "0.0.0.0", DEFAULT_PORT  # noqa: S104

    return store, "127.0.0.1", int(port)


def main() -> int:
    """Serves the leaderboard named by the environment until stopped; returns the exit code."""
    try:
        serve(*settings_of(os.environ))
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def serve(store: str, host: str, port: int) -> None:
    """Serves a leaderboard until stopped; port 0 selects a free port."""
    if not 0 <= port <= _HIGHEST_PORT:
        raise UsageError(f"--port must be from 0 to {_HIGHEST_PORT}, got {port}.")

    if (
        importlib.util.find_spec("uvicorn") is None
        or importlib.util.find_spec("starlette") is None
    ):
        raise MissingError(
            f"serving the pages needs uvicorn and Starlette: {install_command('space')}"
        )

    with (
        _listening(host, port) as listener,
        tempfile.TemporaryDirectory(prefix="medical-tasks-leaderboard-") as folder,
    ):
        server = server_of(store, Path(folder))
        host, port = listener.getsockname()
        log = logging.StreamHandler()
        log.addFilter(Sparing())
        logging.basicConfig(
            level=logging.WARNING,
            handlers=[log],
            format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        )
        print(f"leaderboard: http://{host}:{port}/  store: {store}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


class Pages:
    """The folder of pages, kept up to date with the store."""

    def __init__(self, store: str, folder: Path) -> None:
        self.folder = folder
        self.board = Board(open_storage(store))
        self._store = store
        self._names: Sequence[str] | None = None

    def update(self) -> None:
        """Rebuilds the pages if the set of files in the store has changed."""
        names = tuple(self.board.storage.names())
        if names == self._names:
            return

        # In a separate process, so that readers do not wait and its memory is released.
        command = [
            sys.executable,
            "-m",
            "medical_tasks",
            "leaderboard",
            "site",
            "--uploads",
        ]
        done = subprocess.run(
            [*command, "--store", self._store, "--out", str(self.folder)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise MissingError(
                f"the pages cannot be made: {done.stderr.strip()[-1000:]}"
            )

        if done.stderr.strip():  # what is left out of the pages, and why
            _LOG.warning("the pages: %s", done.stderr.strip()[-1000:])

        self._names = names

    def try_update(self) -> None:
        """Updates the pages, or leaves the old ones and logs why.

        The reason is only logged, since it names paths of this machine.
        """
        try:
            self.update()
        except MissingError as error:
            _LOG.error("the pages are not up to date: %s", error)

    async def follow(self, changed: asyncio.Event) -> None:
        """Updates the pages forever: after a submission at once, else every few seconds."""
        pause = _LOOK_HUB_S if self._store.startswith(HUB) else _LOOK_S
        while True:
            await asyncio.to_thread(self.try_update)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), pause)
            changed.clear()


def server_of(store: str, folder: Path) -> uvicorn.Server:
    """Makes the pages once, and the server, which is not started yet."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Route
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Prompt(H11Protocol):
        """Closes a connection whose next request does not begin in time."""

        late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def _watch(self) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                self._unset()
            elif self.late is None:
                self.late = self.loop.call_later(_HEAD_S, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._unset()
            super().connection_lost(exc)

        def _unset(self) -> None:
            if self.late is not None:
                self.late.cancel()
                self.late = None

    pages = Pages(store, folder)
    pages.try_update()
    changed = asyncio.Event()

    @contextlib.asynccontextmanager
    async def followed(_: Starlette) -> AsyncIterator[None]:
        following = asyncio.create_task(pages.follow(changed))
        yield
        following.cancel()

    async def submit(request: Request) -> Response:
        reply = await _submitted(request, pages.board)
        if request.query_params.get("confirm"):
            changed.set()

        return reply

    shown = Route("/{path:path}", Files(folder).__call__, methods=["GET"])
    app = Starlette(
        routes=[Route("/submit", submit, methods=["POST"]), shown], lifespan=followed
    )
    # Redirects are not needed, and would fail for a query that is not UTF-8.
    app.router.redirect_slashes = False

    return uvicorn.Server(
        uvicorn.Config(
            Door(app, proxied=any(map(os.environ.get, ("SPACE_ID", PROXY_VARIABLE)))),
            http=Prompt,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,  # the door reads them, and only those of a proxy
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )


class Files:
    """Serves the files of a site, compressed if the browser accepts it; no hidden files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._kept: dict[Path, tuple[str, bytes]] = {}

    async def __call__(self, request: Request) -> Response:
        """Answers a request; small files other than packages are cached in memory."""
        from starlette.responses import FileResponse, PlainTextResponse, Response

        # The raw path, since the route's pattern would treat `/` with a line end as `/`.
        name = request.scope["path"].removeprefix("/") or "index.html"
        path = self._folder / name
        # A file has exactly one address; `index.html/` and `data//queue.json` are invalid.
        spelt = path.as_posix() == f"{self._folder.as_posix()}/{name}"
        hidden = any(name_part.startswith(".") for name_part in name.split("/"))
        is_served = spelt and not hidden and found_at(path) == "file"
        if not is_served or not path.resolve().is_relative_to(self._folder):
            if not (self._folder / "index.html").is_file():
                return PlainTextResponse(
                    "The leaderboard's store cannot be read now. Reload the page later.",
                    503,
                )

            return PlainTextResponse(
                "There is nothing here: the leaderboard is at /.", 404
            )

        kind = _KINDS.get(path.suffix, "application/octet-stream")
        headers = {
            "cache-control": "no-cache",
            "vary": "accept-encoding",
            "content-type": kind,
        }
        packed = path.with_name(f"{path.name}.gz")
        if "gzip" in request.headers.get("accept-encoding", "") and packed.is_file():
            path, headers["content-encoding"] = packed, "gzip"

        about = path.stat()
        # Browsers may cache it and revalidate with this tag; an unchanged file is not
        # sent again.
        mark = headers["etag"] = f'"{about.st_mtime_ns:x}-{about.st_size:x}"'
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        if about.st_size > _KEPT_BYTES or path.parent.name == "packages":
            return FileResponse(path, headers=headers)
        if self._kept.get(path, ("",))[0] != mark:
            self._kept[path] = mark, read_bytes(path)

        return Response(self._kept[path][1], headers=headers)


_KEPT_BYTES: Final = 1 << 20
_CHECKED: Final = asyncio.Semaphore(2)
"""Limits the packages read at once, since each may unpack to 96 MiB."""
_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
}


async def _submitted(request: Request, board: Board) -> Response:
    """Reads the body as a package.

    Replies with JSON: `state`, `said` and, for a sound package, `shown`.
    """
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse

    # A page from another host cannot send this type without a preflight, which is refused.
    if request.headers.get("content-type") != "application/zip":
        return JSONResponse(
            {"state": "refused", "said": ["Send the package as application/zip."]}, 415
        )

    try:
        with tempfile.TemporaryFile() as file:
            async for chunk in request.stream():
                file.write(chunk)

            file.seek(0)
            content = file.read()
    except ClientDisconnect:
        return JSONResponse(
            {"state": "refused", "said": ["The package did not arrive."]}, 400
        )

    work: Callable[..., Json] = (
        _submit if request.query_params.get("confirm") == "yes" else _check
    )
    async with _CHECKED:
        return JSONResponse(await asyncio.to_thread(_answered, work, board, content))


def _answered(work: Callable[..., Json], board: Board, content: bytes) -> Json:
    """Checks or submits an upload; a refusal becomes a reply that the page shows."""
    try:
        return work(board, content)
    except AlreadyStoredError as error:
        return {"state": "known", "said": [str(error)]}
    except (PackageError, AdmissionError, QueueFullError) as error:
        # The page's heading repeats the first line of several reasons.
        lines = [
            line.strip()
            for line in str(error).splitlines()
            if line.strip() not in ("", "not taken:")
        ]
        return {"state": "refused", "said": lines}
    except MedicalTasksError as error:
        # Visitors must not learn where the server keeps its store.
        _LOG.error("a package could not be stored: %s", error)
        later = "The server could not store it now. Upload it again later, or tell the maintainers."
        return {"state": "refused", "said": [later]}


def _check(board: Board, content: bytes) -> Json:
    return {"state": "sound", "said": [], "shown": _shown(board.read_new(content))}


def _submit(board: Board, content: bytes) -> Json:
    submission = board.submit(content)
    waiting = [pending.id for pending in reversed(board.submissions("pending"))]
    text = f"Its id is {submission.id}."
    if submission.id in waiting:
        text += f" It is number {waiting.index(submission.id) + 1} of {len(waiting)} in the queue."
    return {"state": "submitted", "said": [f"{text} A maintainer decides."]}


def _shown(package: Package) -> Json:
    """Returns what a sound package would show: the submitter's words and the numbers."""
    who, warnings, rows = package.manifest.submitter, [], []
    for task in package.manifest.tasks:
        entry = package.results["tasks"][task]
        warnings += [
            f"{task}: {line}" for line in comparability_lines(task_spec(task), entry)
        ]
        for name, metric in entry["metrics"].items():
            rows.append(
                [
                    task,
                    metric_label(name, metric),
                    valued(metric),
                    interval(metric),
                    coverage(entry, metric),
                ]
            )

    facts = [
        ("Model", who.model), ("Organisation", who.organisation or "not named"), ("Page", who.url or "none"),
        ("Open weights", {None: "not said", True: "yes", False: "no"}[who.open_weights]),
        ("Parameters", "not said" if who.parameters is None else f"{who.parameters:g} billion"),
        ("Licence", who.licence or "not said"), ("Notes", who.notes or "none"), ("Made by", package.manifest.suite),
        ("Id", package.manifest.id),
    ]  # fmt: skip
    return {"facts": facts, "warnings": warnings, "rows": rows}


class Sparing(logging.Filter):
    """Passes the 1st, 10th, 100th, ... record of a kind.

    Errors are reduced to type and location, since their text may quote a visitor.
    """

    def __init__(self) -> None:
        super().__init__()
        self._times: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Decides on a record, and shortens it."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            where = (
                f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
                if frames
                else "?"
            )
            text = f"{type(error).__name__} at {where}"
        elif record.name.startswith("medical_tasks."):
            text = record.getMessage()
        else:
            text = f"{record.filename}:{record.lineno}"

        self._times[text] += 1
        times = self._times[text]
        record.msg, record.args = f"{text} (time {times:,})", ()
        record.exc_info = record.exc_text = record.stack_info = None

        return str(times).strip("0") == "1"


def _listening(host: str, port: int) -> socket.socket:
    try:
        # With SO_REUSEADDR, a port whose last connection has just ended is free.
        return socket.create_server((host, port))
    except OSError as error:
        raise UsageError(
            f"port {port} of {host} cannot be listened on ({error}). Stop what listens there, or "
            f"set {PORT_VARIABLE} (or --port) to another port."
        ) from error
