"""A provider with batches: OpenAI's files, batches and chats, with the refusals of OpenAI.

    with FakeBatches() as server:
        ...  # base URL: server.base_url
    server.asked             # the chats that are paid for: answered, or accepted in a batch
    server.did("create")     # how often a step was requested

A batch moves on by one state each time its state is requested. `hold(step)` leaves the
next request of a step without an answer, so that a test can kill its sender there.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import HTTP
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.fault_server import Call, FaultServer, _Handler

_OPERATION: Final = "/v1/chat/completions"
_ROUTES: Final = (
    ("upload", "POST", r"/files"),
    ("files", "GET", r"/files"),
    ("content", "GET", r"/files/([^/]+)/content"),
    ("create", "POST", r"/batches"),
    ("list", "GET", r"/batches"),
    ("look", "GET", r"/batches/([^/]+)"),
    ("chat", "POST", r"/chat/completions"),
)
_LINE: Final = {"custom_id", "method", "url", "body"}
_CREATE: Final = {"input_file_id", "endpoint", "completion_window", "metadata"}
_CHAT: Final = {
    "model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop", "n",
    "response_format", "reasoning_effort", "presence_penalty", "frequency_penalty",
}  # fmt: skip


class Refused(NamedTuple):
    """An error of OpenAI's form."""

    status: int
    message: str
    code: str | None = None


@dataclass
class _File:
    id: str
    name: str
    content: bytes
    created: int = field(default_factory=lambda: int(time.time()))

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id, "object": "file", "bytes": len(self.content), "created_at": self.created, "filename": self.name,
            "purpose": "batch", "status": "processed",
        }  # fmt: skip


@dataclass
class _Batch:
    """A batch; `looks` counts the requests for its state."""

    id: str
    file: str
    metadata: Mapping[str, str] | None
    lines: list[dict[str, Any]]
    status: str = "validating"
    looks: int = 0
    done: int = 0
    failed: int = 0
    output: str | None = None
    errors: str | None = None
    faults: list[dict[str, Any]] = field(default_factory=list)
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def takes_room(self) -> bool:
        """Whether its requests still wait for their answers."""
        return not self.faults and self.status in ("validating", "in_progress")

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id, "object": "batch", "endpoint": _OPERATION, "completion_window": "24h", "created_at": self.created,
            "input_file_id": self.file, "status": self.status, "metadata": self.metadata, "output_file_id": self.output,
            "error_file_id": self.errors,
            "errors": {"object": "list", "data": self.faults} if self.faults else None,
            "request_counts": {"total": len(self.lines), "completed": self.done, "failed": self.failed},
        }  # fmt: skip


class FakeBatches(FaultServer):
    """The provider.

    Attributes:
        looks: after how many requests for its state a batch has ended.
        ends: `completed`, `expired` or `cancelled`, and after how many requests; or
            `failed` with a code.
        line: the refusal of a line, or None.
        without: status of every answer about batches, if the server has none.
        unlisted: whether the server refuses to list its batches.
        most_waiting: how many requests of an account may wait.
        lenient: whether chats may have fields that the suite never sends.
    """

    def __init__(
        self,
        *,
        looks: int = 2,
        ends: tuple[str, int | str] = ("completed", 0),
        line: Callable[[Mapping[str, Any]], Refused | None] = lambda _: None,
        without: int = 0,
        lenient: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.looks, self.ends, self.line, self.without = looks, ends, line, without
        self.unlisted, self.most_waiting = False, 10**6
        self._lenient = lenient
        self.steps: list[str] = []
        self.asked: list[str] = []
        self.files: dict[str, _File] = {}
        self.batches: dict[str, _Batch] = {}
        self.reached = threading.Event()
        self._held, self._passing = ("", ""), 0
        self._lost: Counter[str] = Counter()
        self._state = threading.Lock()
        self._go_on = threading.Event()

    def did(self, step: str) -> int:
        """How often a step was requested."""
        return self.steps.count(step)

    @property
    def paid_twice(self) -> list[str]:
        """Requests that were accepted more than once."""
        return [name for name, times in Counter(self.asked).items() if times > 1]

    def hold(self, step: str, when: str = "after", *, passing: int = 0) -> None:
        """Leaves a request of a step without an answer, `before` or `after` it is carried out, once `passing` have passed."""
        self.reached.clear()
        self._go_on.clear()
        self._held, self._passing = (step, when), passing

    def lose(self, step: str, times: int = 1) -> None:
        """Carries out the next requests of a step, and cuts the connection in place of an answer."""
        self._lost[step] = times

    def let_go(self) -> None:
        """Ends the connection that is held."""
        self._held = ("", "")
        self._go_on.set()

    def __exit__(self, *raised: object) -> None:
        self.let_go()
        super().__exit__(*raised)

    def serve(self, handler: _Handler) -> None:
        """Handles one request."""
        size = int(handler.headers.get("Content-Length", 0))
        raw = handler.rfile.read(size)
        if len(raw) < size:
            handler.close_connection = True
            return
        address = urlsplit(handler.path)
        step, name = _route(handler.command, address.path.removeprefix("/v1"))
        with self._state:
            self.steps.append(step)
        if self._holds(step, "before"):
            handler.close_connection = True
            return
        query = {key: values[-1] for key, values in parse_qs(address.query).items()}
        try:
            with self._state:
                answer = self._answer_to(step, name, raw, query, handler)
            if self._holds(step, "after"):
                handler.close_connection = True
                return
            if isinstance(answer, Refused):
                handler.reply(answer.status, {}, json.dumps(_error(answer)))
            else:
                handler.reply(
                    200, {}, answer if isinstance(answer, bytes) else json.dumps(answer)
                )
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True

    def _holds(self, step: str, when: str) -> bool:
        if self._held != (step, when):
            return when == "after" and self._loses(step)
        if self._passing:
            self._passing -= 1
            return False
        self._held = ("", "")
        self.reached.set()
        assert self._go_on.wait(120)
        return True

    def _loses(self, step: str) -> bool:
        lost = self._lost[step] > 0
        self._lost[step] -= lost
        return lost

    def _answer_to(
        self,
        step: str,
        name: str,
        raw: bytes,
        query: Mapping[str, str],
        handler: _Handler,
    ) -> dict[str, Any] | bytes | Refused:
        if step == "chat":
            return self._chat(json.loads(raw))
        if self.without or not step or (self.unlisted and step == "list"):
            return Refused(self.without or 404, "there is nothing here")
        if step == "upload":
            return self._upload(raw, handler.headers["Content-Type"])
        if step == "create":
            return self._create(json.loads(raw))
        if step in ("files", "list"):
            if not set(query) <= {"purpose", "limit", "after", "order"}:
                return Refused(400, "unknown parameter")
            entries = [entry.shown() for entry in self.files.values()]
            if step == "list":
                entries = [entry.shown() for entry in self.batches.values()]
            return _page(entries[::-1], query)
        if step == "content":
            file = self.files.get(name)
            return (
                file.content if file else Refused(404, f"No such File object: {name}")
            )
        batch = self.batches.get(name)
        if batch is None:
            return Refused(404, f"No batch found with id '{name}'.")
        self._move(batch)
        return batch.shown()

    def _chat(self, body: Mapping[str, Any]) -> dict[str, Any] | Refused:
        refused = self._refusal(body)
        if refused is not None:
            return refused
        self.asked.append(json.dumps(body["messages"]))
        return self._completed(body)

    def _refusal(self, body: Mapping[str, Any]) -> Refused | None:
        return self.line(body) or (None if self._lenient else _line_fault(body))

    def _upload(self, raw: bytes, kind: str) -> dict[str, Any] | Refused:
        form = message_from_bytes(
            f"Content-Type: {kind}\r\n\r\n".encode() + raw, policy=HTTP
        )
        fields: dict[str, tuple[str | None, bytes]] = {}
        for form_field in form.iter_parts():
            name, content = (
                form_field.get_param("name", header="Content-Disposition"),
                form_field.get_payload(decode=True),
            )
            assert isinstance(content, bytes)
            fields[str(name)] = form_field.get_filename(), content
        if set(fields) != {"file", "purpose"} or fields["purpose"][1] != b"batch":
            return Refused(400, f"unexpected fields {sorted(fields)}")
        file_name, content = fields["file"]
        if not file_name or not file_name.endswith(".jsonl"):
            return Refused(400, "Invalid file format for Batch API. Must be .jsonl")
        return self._store(file_name, content).shown()

    def _store(self, name: str, content: bytes) -> _File:
        file = _File(f"file-{len(self.files) + 1}", name, content)
        self.files[file.id] = file
        return file

    def _create(self, body: Mapping[str, Any]) -> dict[str, Any] | Refused:
        if set(body) - _CREATE:
            return Refused(400, f"Unknown parameter: {sorted(set(body) - _CREATE)[0]}")
        if (body["endpoint"], body["completion_window"]) != (_OPERATION, "24h"):
            return Refused(400, "Invalid value")
        metadata = body.get("metadata")
        for key, value in (metadata or {}).items():
            if not isinstance(value, str) or len(key) > 64 or len(value) > 512:
                return Refused(400, "Invalid metadata")
        file = self.files.get(body["input_file_id"])
        if file is None:
            return Refused(404, "No such File object")
        lines = [json.loads(line) for line in file.content.splitlines()]
        batch = _Batch(f"batch_{len(self.batches) + 1}", file.id, metadata, lines)
        batch.faults = _faults(lines)
        if self.ends[0] == "failed":
            batch.faults = [
                {
                    "code": self.ends[1],
                    "message": "not accepted",
                    "line": None,
                    "param": None,
                }
            ]
        waiting = sum(
            len(other.lines) for other in self.batches.values() if other.takes_room
        )
        if waiting + len(lines) > self.most_waiting:
            batch.faults = [
                {
                    "code": "token_limit_exceeded",
                    "message": "Enqueued limit reached",
                    "line": None,
                    "param": None,
                }
            ]
        self.batches[batch.id] = batch
        if not batch.faults:
            self.asked += [json.dumps(line["body"]["messages"]) for line in lines]
        return batch.shown()

    def _move(self, batch: _Batch) -> None:
        """Moves a batch to its next state."""
        batch.looks += 1
        if batch.faults:
            batch.status = "failed"
        elif batch.looks < self.looks:
            batch.status, batch.done = (
                "in_progress",
                len(batch.lines) * batch.looks // self.looks,
            )
        elif batch.output is None and batch.errors is None:
            self._end(batch)

    def _end(self, batch: _Batch) -> None:
        batch.status, most = str(self.ends[0]), self.ends[1] or len(batch.lines)
        assert isinstance(most, int)
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        for line in batch.lines[:most]:
            refused = self._refusal(line["body"])
            body = self._completed(line["body"]) if refused is None else _error(refused)
            status = 200 if refused is None else refused.status
            response = {"status_code": status, "request_id": "r", "body": body}
            (good if refused is None else bad).append(
                {
                    "id": "l",
                    "custom_id": line["custom_id"],
                    "response": response,
                    "error": None,
                }
            )
        for line in batch.lines[most:]:
            error = {
                "code": f"batch_{batch.status}",
                "message": "This request was not executed.",
            }
            bad.append(
                {
                    "id": "l",
                    "custom_id": line["custom_id"],
                    "response": None,
                    "error": error,
                }
            )
        batch.done, batch.failed = len(good), len(bad)
        # Results come in any order.
        batch.output = self._store("output", _jsonl(good[::-1])).id if good else None
        batch.errors = self._store("errors", _jsonl(bad)).id if bad else None

    def _completed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        call = Call(len(self.calls) + 1, 1, body, {}, _OPERATION, time.monotonic())
        self.calls.append(call)
        return self._completion(call)


def _error(refused: Refused) -> dict[str, Any]:
    error = {"message": refused.message, "code": refused.code, "param": None}
    return {"error": {"type": "invalid_request_error", **error}}


def _route(method: str, path: str) -> tuple[str, str]:
    for step, expected, form in _ROUTES:
        match = re.fullmatch(form, path)
        if match and method == expected:
            return step, match[1] if match.groups() else ""
    return "", ""


def _page(entries: list[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """A page of a list, newest first."""
    limit = int(query.get("limit", "20"))
    if not 1 <= limit <= 100:
        raise ValueError("limit")
    ids = [entry["id"] for entry in entries]
    start = ids.index(query["after"]) + 1 if "after" in query else 0
    shown = entries[start : start + limit]
    return {
        "object": "list", "data": shown, "has_more": start + limit < len(entries),
        "first_id": shown[0]["id"] if shown else None, "last_id": shown[-1]["id"] if shown else None,
    }  # fmt: skip


def _faults(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The faults of a file of requests as a whole."""
    names = [line.get("custom_id") for line in lines]
    models = {line.get("body", {}).get("model") for line in lines}
    if not lines:
        code = "empty_file"
    elif any(set(line) != _LINE or line["method"] != "POST" for line in lines):
        code = "invalid_request"
    elif any(line["url"] != _OPERATION for line in lines):
        code = "mismatched_endpoint"
    elif len(set(names)) < len(names):
        code = "duplicate_custom_id"
    elif len(models) > 1:
        code = "mismatched_model"
    else:
        return []
    return [{"code": code, "message": code.replace("_", " "), "line": 1, "param": None}]


def _line_fault(body: Mapping[str, Any]) -> Refused | None:
    if strange := sorted(set(body) - _CHAT):
        return Refused(400, f"Unrecognized request argument supplied: {strange[0]}")
    if any(set(message) != {"role", "content"} for message in body["messages"]):
        return Refused(400, "Invalid messages")
    return None


def _jsonl(lines: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
