"""The app in a process of its own, as its users start it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from medical_tasks.leaderboard.app.settings import STORE_VARIABLE

__all__ = ["served"]


@contextmanager
def served(store: Path, *, uploads: Path) -> Iterator[str]:
    """Serves a store; gives the address without its last slash.

    Args:
        store: its folder.
        uploads: where uploads are kept until they are read.
    """
    script = "import sys; from medical_tasks.leaderboard.app import serve; serve(sys.argv[1], '127.0.0.1', 0)"
    environment = {**os.environ, "GRADIO_TEMP_DIR": str(uploads), STORE_VARIABLE: str(store)}
    log = uploads.with_name(f"{uploads.name}.log")
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(store)],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("leaderboard: http://127.0.0.1:"), log.read_text()
        yield line.split()[1].rstrip("/")
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait(timeout=20)
        assert process.stdout is not None
        process.stdout.close()
