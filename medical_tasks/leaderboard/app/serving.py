"""Serves the app, on this machine or as a Space. Nothing it sends asks another host for anything."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.errors import MedicalTasksError, UsageError
from medical_tasks.leaderboard.app.settings import PORT_VARIABLE, Settings, settings_of
from medical_tasks.leaderboard.app.upload_room import own_folder
from medical_tasks.submission_package.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    import gradio

__all__ = ["launch", "main", "serve"]

_SESSIONS: Final = 500
"""Visits whose state is kept, the longest unused going first: Gradio's own 10,000 would take over a gigabyte."""


def main() -> int:
    """Serves the leaderboard that the environment names until it is stopped; its exit code."""
    try:
        _until_stopped(settings_of(os.environ))
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def serve(place: str, host: str, port: int) -> None:
    """Serves a leaderboard until it is stopped.

    Args:
        place: its store, a folder or `hub:OWNER/NAME`.
        host: address to listen at.
        port: port to listen at; 0 takes a free one.

    Raises:
        UsageError: The port is taken, or the store's name is none.
        MissingError: The store needs something that is not here.
    """
    _until_stopped(Settings(store=place, host=host, port=port))


def _until_stopped(settings: Settings) -> None:
    app = launch(settings)
    print(f"leaderboard: {app.local_url}  store: {settings.store}", flush=True)
    app.block_thread()


def launch(settings: Settings) -> gradio.Blocks:
    """Starts the app in threads of this process.

    Args:
        settings: where its store is and where it listens.

    Returns:
        The running app; its `close()` stops it.

    Raises:
        UsageError: The port is taken, or the store's name is none.
        MissingError: The store needs something that is not here.
    """
    port = _port(settings)
    # Before Gradio is imported: it asks its own host for its newest version otherwise, and keeps uploads among other apps'.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    folder = own_folder()
    from medical_tasks.leaderboard.app.interface import build
    from medical_tasks.leaderboard.app.look import head, theme
    from medical_tasks.leaderboard.app.snapshot import Content
    from medical_tasks.leaderboard.board import Board
    from medical_tasks.leaderboard.opening import open_storage

    app = build(Content(Board(open_storage(settings.store))))
    app.queue(default_concurrency_limit=4, max_size=256, api_open=False)
    try:
        app.launch(
            server_name=settings.host,
            server_port=port,
            prevent_thread_lock=True,
            quiet=True,
            share=False,
            inbrowser=False,
            show_error=False,
            footer_links=[],
            run_history=False,
            enable_monitoring=False,
            ssr_mode=False,
            pwa=False,
            mcp_server=False,
            max_file_size=DEFAULT_LIMITS.package_bytes,
            state_session_capacity=_SESSIONS,
            theme=theme(),
            head=head(),
            app_kwargs={"middleware": _middleware(folder), "docs_url": None, "redoc_url": None, "openapi_url": None},
        )
    except OSError as error:
        raise _taken(settings, error) from error
    return app


def _port(settings: Settings) -> int:
    """The port, seen to be free; a free one for 0, which Gradio cannot be asked for."""
    with socket.socket() as probe:
        # As servers do: a port whose last connection ended just now is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise _taken(settings, error) from error
        return int(probe.getsockname()[1])


def _taken(settings: Settings, error: OSError) -> UsageError:
    return UsageError(
        f"port {settings.port} of {settings.host} cannot be listened on ({error}). Stop what listens there, or set "
        f"{PORT_VARIABLE} (or --port) to another port."
    )


def _middleware(folder: Path) -> list[Any]:
    from starlette.middleware import Middleware

    from medical_tasks.leaderboard.app.door import Door
    from medical_tasks.leaderboard.app.headers import Headers

    return [Middleware(Headers), Middleware(Door, folder=folder)]
