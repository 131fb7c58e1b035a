"""The storage of the Hub's large files on a loopback port: PUT and GET by the SHA-256, with signed addresses and no token.

As S3 it refuses a request that brings an `Authorization` beside the signature of its address. `faults` holds what its next requests
get instead of an answer: a status.
"""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

__all__ = ["FakeObjects"]

_SIGNED = "?signature=yes"


class FakeObjects:
    """The server, for the length of a `with` block."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: list[int] = []
        self.asked: list[str] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def address(self, oid: str) -> str:
        """Where an object is sent to and read from."""
        return f"http://127.0.0.1:{self._http.server_port}/{oid}{_SIGNED}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_PUT(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def _serve(self) -> None:
        owner: FakeObjects = self.server.owner  # type: ignore[attr-defined]
        body = self._body()
        owner.asked.append(self.command)
        oid = self.path.removesuffix(_SIGNED).strip("/")
        signed = self.path.endswith(_SIGNED) and "Authorization" not in self.headers
        if owner.faults:
            self._reply(owner.faults.pop(0), b"")
        elif not signed or (self.command == "PUT" and hashlib.sha256(body).hexdigest() != oid):
            self._reply(400, b"")
        elif self.command == "PUT":
            owner.files[oid] = body
            self._reply(200, b"")
        else:
            self._reply(200 if oid in owner.files else 404, owner.files.get(oid, b""))

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while length := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(length))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _reply(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class's name
        """Says nothing."""
