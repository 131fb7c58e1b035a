"""Serves the app, on this machine or as a Space. Nothing it sends asks another host for anything."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import socket
import sys
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.errors import MedicalTasksError, MissingError, UsageError, install_command
from medical_tasks.leaderboard.app.door import own_folder
from medical_tasks.leaderboard.submission_package.contents import DEFAULT_LIMITS

if TYPE_CHECKING:
    import uvicorn

STORE_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_STORE"
PORT_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_PORT"
PROXY_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_PROXY"
"""Set to anything where a reverse proxy of one's own passes visitors on; on a Space there always is one."""
DEFAULT_PORT: Final = 7860
_HIGHEST_PORT: Final = 65535
_HEAD_S: Final = 20.0
"""How long the first line and the headers of a request may take."""
_SESSIONS: Final = 500
"""Visits whose state is kept, the longest unused going first: Gradio's own 10,000 would take over a gigabyte."""


def settings_of(environment: Mapping[str, str]) -> tuple[str, str, int]:
    """Reads store, host and port from the environment; only on a Space is the app reached from outside of this machine."""
    store = environment.get(STORE_VARIABLE, "").strip()
    if not store:
        raise UsageError(
            f"{STORE_VARIABLE} is not set: it names the leaderboard's store. Set it to a folder (it may be empty), or to "
            "hub:OWNER/NAME for dataset repositories of the Hub."
        )
    on_space = bool(environment.get("SPACE_ID"))
    given = environment.get(PORT_VARIABLE, "").strip() or str(DEFAULT_PORT)
    if not (given.isascii() and given.isdigit() and 0 < int(given) <= _HIGHEST_PORT):
        raise UsageError(f"{PORT_VARIABLE} is a port from 1 to 65535; got {given!r}. Leave it out for {DEFAULT_PORT}.")
    # A Space's proxy reaches the container from outside of it and asks for this port.
    return (store, "0.0.0.0", DEFAULT_PORT) if on_space else (store, "127.0.0.1", int(given))  # noqa: S104


def main() -> int:
    """Serves the leaderboard that the environment names until it is stopped; its exit code."""
    try:
        serve(*settings_of(os.environ))
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def serve(place: str, host: str, port: int) -> None:
    """Serves a leaderboard until it is stopped; port 0 takes a free one."""
    if not 0 <= port <= _HIGHEST_PORT:
        raise UsageError(f"--port must be from 0 to {_HIGHEST_PORT}, got {port}.")
    if importlib.util.find_spec("gradio") is None:
        raise MissingError(f"the pages need Gradio: {install_command('space')}")
    with _listening(host, port) as listener:
        server = server_of(place)
        host, port = listener.getsockname()
        print(f"leaderboard: http://{host}:{port}/  store: {place}", flush=True)
        log = logging.StreamHandler()
        log.addFilter(Sparing())
        logging.basicConfig(
            level=logging.WARNING, handlers=[log], format="%(asctime)s %(levelname)s %(name)s: %(message)s"
        )
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


def server_of(place: str) -> uvicorn.Server:
    """Makes the app and the server, not yet started, that it runs in."""
    # Before Gradio is imported: it asks its own host for its newest version otherwise, and keeps uploads among other apps'.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    folder = own_folder()
    import gradio
    import gradio.queueing
    import gradio.route_utils
    import gradio.routes
    import uvicorn
    from fastapi import FastAPI
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from medical_tasks.leaderboard.app.door import Door
    from medical_tasks.leaderboard.app.interface import build, head, theme
    from medical_tasks.leaderboard.board import Board, Content
    from medical_tasks.leaderboard.storage import open_storage

    # Gradio prints each error of an event, with what the visitor sent; here it is logged, without.
    for module in (gradio.queueing, gradio.route_utils, gradio.routes):
        module.traceback = SimpleNamespace(print_exc=_log_error)  # type: ignore[attr-defined]

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

    pages = build(Content(Board(open_storage(place))))
    pages.queue(default_concurrency_limit=4, max_size=256, api_open=False)
    pages.state_session_capacity = _SESSIONS
    pages.space_id = None  # Of a Space by its name, the page would ask the Hub how it is, and another host for fonts.
    app = gradio.mount_gradio_app(
        FastAPI(openapi_url=None),
        pages,
        "/",
        show_error=False,
        footer_links=[],
        run_history=False,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        max_file_size=DEFAULT_LIMITS.package_bytes,
        theme=theme(),
        head=head(),
        app_kwargs={"openapi_url": None},
    )
    return uvicorn.Server(
        uvicorn.Config(
            Door(app, folder=folder, proxied=any(map(os.environ.get, ("SPACE_ID", PROXY_VARIABLE)))),
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


def _log_error() -> None:
    logging.getLogger(__name__).error("an event failed", exc_info=True)


class Sparing(logging.Filter):
    """Passes a kind of record its 1st, 10th, 100th ... time; of an error its type and place, since its text may quote a visitor."""

    def __init__(self) -> None:
        super().__init__()
        self._times: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Decides on a record, and shortens it."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
            said = f"{type(error).__name__} at {place}"
        elif record.name.startswith("medical_tasks."):
            said = record.getMessage()
        else:
            said = f"{record.filename}:{record.lineno}"
        self._times[said] += 1
        times = self._times[said]
        record.msg, record.args = f"{said} (time {times:,})", ()
        record.exc_info = record.exc_text = record.stack_info = None
        return str(times).strip("0") == "1"


def _listening(host: str, port: int) -> socket.socket:
    listener = socket.socket()
    try:
        # As servers do: a port whose last connection ended just now is free.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise UsageError(
            f"port {port} of {host} cannot be listened on ({error}). Stop what listens there, or set "
            f"{PORT_VARIABLE} (or --port) to another port."
        ) from error
    return listener
