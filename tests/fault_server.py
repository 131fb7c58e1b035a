"""A local chat endpoint with scripted faults: real sockets, exact counts.

    with FaultServer(plan=[Fault.status_code(500), Fault.not_json()]) as server:
        ...  # base URL: server.base_url; the third request is answered
    server.calls                  # every request received, in order of arrival

A plan gives the fault of each request: a sequence by arrival (requests beyond it are
answered), or a function of the `Call`, whose `attempt` counts the requests with its
question so far.
"""

from __future__ import annotations

import json
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, Self

import medical_tasks.models.knock as knock

__all__ = [
    "Call",
    "Fault",
    "FaultServer",
    "Plan",
    "chat_completion",
    "echo_answer",
    "first",
    "hashed_answer",
    "randomly",
]

# longer than any client in the tests waits; the end of the server ends it too
HANG_S = 60.0


@dataclass(frozen=True)
class Call:
    """A request as it arrived; `attempt` is 1 for the first request with this question (its messages)."""

    number: int  # 1 for the server's first request
    attempt: int
    body: Mapping[str, Any]  # decoded; empty for a request without a body
    headers: Mapping[str, str]  # by lower-case name
    path: str
    at: float  # monotonic seconds of arrival

    @property
    def prompt(self) -> str:
        """The last message's text."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request.

    `kind`: `reply` (status, headers and body as given), `cut` (the connection closes,
    `body` half sent), `hang` (silence), `drip` (the body comes a byte at a time,
    without end).
    """

    kind: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | bytes = ""

    @staticmethod
    def status_code(
        status: int,
        message: str = "scripted fault",
        *,
        headers: Mapping[str, str] | None = None,
        **more: str,
    ) -> Fault:
        """An error reply with an OpenAI-style error body."""
        return Fault(
            "reply",
            status,
            headers or {},
            json.dumps({"error": {"message": message, **more}}),
        )

    @staticmethod
    def rate_limit(retry_after: str | None = None) -> Fault:
        """429, with a `retry-after` header if given."""
        return Fault.status_code(
            429, headers={} if retry_after is None else {"Retry-After": retry_after}
        )

    @staticmethod
    def not_json() -> Fault:
        """200 with a page of HTML that claims to be JSON."""
        return Fault("reply", body="<html>Bad gateway</html>")

    @staticmethod
    def json_body(body: object) -> Fault:
        """200 with any JSON."""
        return Fault("reply", body=json.dumps(body))

    @staticmethod
    def no_choices() -> Fault:
        """200 with an empty list of choices."""
        return Fault.json_body({"choices": []})

    @staticmethod
    def message(
        message: Mapping[str, Any], finish: str | None = "stop", **usage: int
    ) -> Fault:
        """200 with one choice of the given message."""
        return Fault.json_body(
            {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
        )

    @staticmethod
    def null_content() -> Fault:
        """200 with a choice whose content is null."""
        return Fault.message({"role": "assistant", "content": None})

    @staticmethod
    def cut() -> Fault:
        """The connection closes in the middle of the body."""
        return Fault("cut", body='{"choices": [{"mess')

    @staticmethod
    def refuse() -> Fault:
        """The connection closes before a byte is sent."""
        return Fault("cut")

    @staticmethod
    def hang() -> Fault:
        """No answer."""
        return Fault("hang")

    @staticmethod
    def drip() -> Fault:
        """A byte now and then: every read succeeds, and the body never ends."""
        return Fault("drip")


def _retry_at_once() -> None:
    """Removes the waits before a retry, which are constants of the clients."""
    from openai import _base_client

    vars(_base_client).update(INITIAL_RETRY_DELAY=0.001, MAX_RETRY_DELAY=0.01)
    knock.WAIT_S = 0.0


Plan = Callable[[Call], Fault | None]


def first(times: int, fault: Fault) -> Plan:
    """Fails each question's first `times` attempts."""
    return lambda call: fault if call.attempt <= times else None


def randomly(
    probability: float, faults: Sequence[Fault], *, seed: int, at_most: int
) -> Plan:
    """Fails each attempt with a probability, but no question more than `at_most` times.

    What happens depends on seed, question and attempt alone, not on the order of
    arrival.
    """

    def plan(call: Call) -> Fault | None:
        chance = random.Random(f"{seed}:{call.prompt}:{call.attempt}")
        return (
            chance.choice(list(faults))
            if call.attempt <= at_most and chance.random() < probability
            else None
        )

    return plan


def hashed_answer(question: str) -> str:
    """The default answer: it depends on the question alone, and does not quote it."""
    return f"answer {sha256(question.encode()).hexdigest()[:12]}"


def echo_answer(call: Call) -> str:
    """The default answer to a request's last message."""
    return hashed_answer(call.prompt)


def chat_completion(
    call: Call,
    choices: Sequence[tuple[Mapping[str, Any], str]],
    *,
    prompt_tokens: int = 9,
    completion_tokens: int = 9,
) -> dict[str, Any]:
    """A chat completion in OpenAI's form; `choices` are messages with their finish reasons."""
    return {
        "id": f"chatcmpl-{call.number}",
        "created": int(time.time()),
        "object": "chat.completion",
        "model": call.body["model"],
        "choices": [
            {"index": index, "message": message, "finish_reason": finish}
            for index, (message, finish) in enumerate(choices)
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


class FaultServer:
    """The server, on a free loopback port or a unix socket, for the length of a `with` block.

    `answer`: from call to the text of a good answer, or to a list of texts, one a
    choice; `latency`: seconds before each answer; `key`: bearer token that is required,
    None accepts any; `finish`: finish reason of good answers.
    """

    lists_models = False  # unless set, GET requests are refused and not counted

    def __init__(
        self,
        plan: Plan | Sequence[Fault | None] = (),
        *,
        answer: Callable[[Call], str | list[str]] = echo_answer,
        latency: float = 0.0,
        key: str | None = None,
        finish: str = "stop",
        socket_path: Path | None = None,
    ) -> None:
        self.calls: list[Call] = []
        self.most_at_once = 0
        self._plan = plan
        self._answer = answer
        self._latency = latency
        self._key = key
        self._finish = finish
        self._at_once = 0
        self._attempts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Server(self, socket_path)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}
        )

    @property
    def base_url(self) -> str:
        """Address up to the version."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def prompts(self) -> list[str]:
        """The last message of every request, in order of arrival."""
        return [call.prompt for call in self.calls]

    def __enter__(self) -> Self:
        _retry_at_once()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.close_connections()
        self._http.server_close()  # joins the threads of all requests

    def serve(self, handler: _Handler) -> None:
        """Handles one request."""
        size = int(handler.headers.get("Content-Length", 0))
        raw = handler.rfile.read(size)
        if len(raw) < size:
            # the client was killed while it sent the request, which does not count
            handler.close_connection = True
            return
        if handler.command == "GET" and not self.lists_models:
            handler.reply(501, {}, "")
            return
        call = self._arrived(handler, raw)
        try:
            self._react(handler, call)
        except (BrokenPipeError, ConnectionResetError):
            # the client left, as tests of timeouts make it do
            handler.close_connection = True
        finally:
            with self._lock:
                self._at_once -= 1

    def _arrived(self, handler: _Handler, raw: bytes) -> Call:
        at = time.monotonic()
        body = json.loads(raw or "{}")
        question = json.dumps(body.get("messages", body))
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self._attempts[question] += 1
            headers = {name.lower(): value for name, value in handler.headers.items()}
            call = Call(
                len(self.calls) + 1,
                self._attempts[question],
                body,
                headers,
                handler.path,
                at,
            )
            self.calls.append(call)
        return call

    def _react(self, handler: _Handler, call: Call) -> None:
        if self._latency:
            self._closing.wait(self._latency)
        if (
            self._key is not None
            and call.headers.get("authorization") != f"Bearer {self._key}"
        ):
            handler.reply(
                401,
                {},
                json.dumps(
                    {"error": {"message": "invalid key", "code": "invalid_api_key"}}
                ),
            )
            return
        if callable(self._plan):
            fault = self._plan(call)
        else:
            fault = (
                self._plan[call.number - 1] if call.number <= len(self._plan) else None
            )
        fault = fault or self.good(call)
        if fault.kind == "reply":
            handler.reply(fault.status, fault.headers, fault.body)
        elif fault.kind == "cut":
            handler.cut(fault)
        elif fault.kind == "hang":
            self._closing.wait(HANG_S)
            handler.close_connection = True
        else:
            handler.drip(self._closing)

    def good(self, call: Call) -> Fault:
        """The reply to a request without a fault."""
        return Fault.json_body(self._completion(call))

    def _completion(self, call: Call) -> dict[str, Any]:
        answer = self._answer(call)
        texts = (
            [answer] * int(call.body.get("n", 1)) if isinstance(answer, str) else answer
        )
        return chat_completion(
            call,
            [({"role": "assistant", "content": text}, self._finish) for text in texts],
            prompt_tokens=len(call.prompt.split()),
            completion_tokens=sum(len(text.split()) for text in texts),
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 256

    def __init__(self, owner: FaultServer, socket_path: Path | None) -> None:
        self.owner = owner
        if socket_path is not None:
            self.address_family = socket.AF_UNIX
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        address: Any = ("127.0.0.1", 0) if socket_path is None else str(socket_path)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # the base class asks for a name of the address, which no test needs
        TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that left; anything else is a fault of this file and is printed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def close_connections(self) -> None:
        """Ends the connections that clients keep open between requests."""
        with self._open_lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # its client closed it


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    @property
    def disable_nagle_algorithm(self) -> bool:  # type: ignore[override]
        return self.server.address_family == socket.AF_INET

    def do_POST(self) -> None:
        self.server.owner.serve(self)

    do_GET = do_POST

    def reply(self, status: int, headers: Mapping[str, str], body: str | bytes) -> None:
        raw = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(raw)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def cut(self, fault: Fault) -> None:
        if fault.body:
            self.reply(
                fault.status, {"Content-Length": "100000", **fault.headers}, fault.body
            )
            self.wfile.flush()
        self.close_connection = True

    def drip(self, closing: threading.Event) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not closing.wait(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()
        self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class's name
        """Logs nothing: tests read `calls`."""
