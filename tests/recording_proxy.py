"""A forward proxy that keeps every byte it receives and answers plain requests itself: nothing is forwarded."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

__all__ = ["VARIABLES", "RecordingProxy", "recording_proxy"]

VARIABLES = tuple(
    spelled
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    for spelled in (name, name.lower())
)


class _Handler(BaseHTTPRequestHandler):
    server: RecordingProxy

    def _take(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.seen.append(
            f"{self.requestline}\n{body.decode('utf-8', 'replace')}"
        )
        reply = json.dumps(
            {
                "choices": [
                    {"message": {"content": self.server.text}, "finish_reason": "stop"}
                ]
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    do_POST = do_GET = do_PUT = _take

    def do_CONNECT(self) -> None:
        self.server.seen.append(self.requestline)
        self.send_error(502)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class's name
        """Logs nothing: tests read `seen`."""


class RecordingProxy(ThreadingHTTPServer):
    """Attributes: `seen`, each request's first line and body; `text`, the content of every reply."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.text = "by proxy: true"
        super().__init__(("127.0.0.1", 0), _Handler)


@contextmanager
def recording_proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingProxy]:
    """Runs the proxy, and names it in every variable that programs read."""
    with RecordingProxy() as proxy:
        thread = threading.Thread(
            target=proxy.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        for name in VARIABLES:
            if "no" in name.lower():
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.server_port}")
        yield proxy
        proxy.shutdown()
        thread.join()
