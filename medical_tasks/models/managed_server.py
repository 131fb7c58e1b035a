"""A model server that belongs to this run: started on loopback, awaited, and gone when the run is gone."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import open_file
from medical_tasks.models import supervisor

HOST = "127.0.0.1"
_LINES = 20  # of the log, in an error
_POLL_S = 0.2
_TAIL_BYTES = 64 * 1024
_DROPPED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


def free_port() -> int:
    """Returns a loopback port that nothing listens on at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(kw_only=True)
class ManagedServer:
    """One server process with all it starts; however this process ends (`kill -9` included), the server ends.

    `ready` is asked again and again, and what it raises ends the start. The log is readable by its owner alone.
    """

    command: Sequence[str]
    ready: Callable[[], bool]
    log: Path
    timeout: float
    grace: float = 15.0
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def running(self, *, patience: float = 0.0) -> bool:
        """Says whether the server runs; `patience` waits for an end under way, as after a crash workers are tidied up."""
        if self._process is None:
            return False
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            return True
        return False

    def start(self) -> None:
        """Starts the server and returns when it answers."""
        if self._process is not None:
            raise RuntimeError("the server was started before")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.unlink(missing_ok=True)
        out = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", supervisor.__file__, str(os.getpid()), str(self.grace), *self.command],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                # Ctrl-C at the terminal goes to this process alone, which first saves what it has.
                start_new_session=True,
                env={name: value for name, value in os.environ.items() if name not in _DROPPED} | {**self.environment},
            )
        finally:
            os.close(out)
        try:
            self._await_ready(self._process)
        except BaseException:
            self.stop()
            raise

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + self.timeout
        while True:
            code = process.poll()
            if code is not None:
                raise MissingError(f"the server ended with exit code {code} before it answered. {self._told()}")
            # Looked at again, so that a stranger's answer on this port does not hide that our server could not have it.
            if self.ready() and process.poll() is None:
                return
            if time.monotonic() > end:
                raise MissingError(
                    f"the server did not answer within {self.timeout:g} s; start_timeout=SECONDS allows more. "
                    f"{self._told()}"
                )
            time.sleep(_POLL_S)

    def _told(self) -> str:
        lines = self.log_tail()
        told = "\n".join(f"  {line}" for line in lines) if lines else "  (nothing)"
        return f"Command: {' '.join(self.command)}\nThe last lines of {self.log}:\n{told}"

    def log_tail(self) -> list[str]:
        """Returns the last lines of the server's log."""
        with open_file(self.log) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()[-_LINES:]

    def stop(self) -> None:
        """Ends the server and everything it started, and waits until it is gone; harmless when it is."""
        process = self._process
        if process is None or process.stdin is None:
            return
        # The pipe's end is the order to stop; the signal is for a pipe that a forked process still holds open.
        process.stdin.close()
        if process.poll() is None:
            process.terminate()
        process.wait()


_SHOWN_CHARACTERS = 500


def answers_chat(base_url: str, model: str, *, api_key: str = "", timeout: float = 120.0) -> bool:
    """Asks for a one-token answer, the only sure sign; False while nothing listens, or on 5xx, 404 or 429 while the model loads."""
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    headers = {"Content-Type": "application/json"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1})
    try:
        connection.request("POST", f"{parts.path.rstrip('/')}/chat/completions", body, headers)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    if response.status in (400, 401, 403, 422):
        told = " ".join(text.split())[:_SHOWN_CHARACTERS]
        raise UsageError(
            f"the server started for {model!r} rejects a plain chat with HTTP {response.status}: {told}. The model "
            "needs a chat template, and its name must be the one the server was started with."
        )
    return response.status == 200
