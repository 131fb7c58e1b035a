"""Starts the pages, which need the extra `space`."""

from __future__ import annotations

import importlib.util

from medical_tasks.errors import MissingError, UsageError

__all__ = ["serve"]

_HIGHEST_PORT = 65535


def serve(place: str, *, host: str, port: int) -> int:
    """Serves the pages until it is stopped.

    Args:
        place: the store, as `opening.open_storage` takes it.
        host: address to listen at.
        port: port to listen at; 0 takes a free one.

    Raises:
        UsageError: There is no such port, or it is taken.
        MissingError: Gradio is not installed.
    """
    if not 0 <= port <= _HIGHEST_PORT:
        raise UsageError(f"--port must be from 0 to {_HIGHEST_PORT}, got {port}.")
    if importlib.util.find_spec("gradio") is None:
        raise MissingError("the pages need Gradio: pip install 'medical-tasks[space]'")
    from medical_tasks.leaderboard.app import serve as serve_app

    serve_app(place, host, port)
    return 0
