"""The toy model behind HTTP, in vLLM's forms: log-probabilities of answers and prompts, `/tokenize`, `/v1/models`.

    with ToyServer(folder) as server:
        ...                       # base URL: server.base_url
    server.asked                  # every request received: (path, body)

Its numbers are the model's own, by transformers; a plan lets single requests fail.
"""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.fault_server import Fault
from tests.models.local_runs import reference

Asked = tuple[str, Mapping[str, Any]]
"""Path and body of a request; an empty body when the address was read."""

_torch_lock = threading.Lock()


def logprob_rows(folder: Path, ids: list[int]) -> Any:
    """Log-probabilities of the whole vocabulary after each token, as a tensor of (tokens, words)."""
    import torch

    model, _ = reference(folder)
    with _torch_lock, torch.no_grad():
        return torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), dim=-1)


def together(number: int) -> Callable[[int, Asked], None]:
    """A plan by which a request is answered only once the next one has come as well."""
    came = threading.Event()

    def plan(this: int, _: Asked) -> None:
        if this == number:
            assert came.wait(30)
        elif this == number + 1:
            came.set()

    return plan


class ToyServer:
    """The server, on a free loopback port, for the length of a `with` block.

    Args:
        plan: says what goes wrong with a request, given its number from 1; None for nothing.
        context: longest prompt and answer by its list of models; None for a list that does not say.
        scores_prompts: whether it knows `prompt_logprobs`; `ignores` takes the field and gives nothing.
    """

    model = "toy"

    def __init__(
        self,
        folder: Path,
        *,
        plan: Callable[[int, Asked], Fault | None] = lambda number, asked: None,
        most: int = 20,
        context: int | None = 4096,
        counts: bool = True,
        scores_prompts: bool | str = True,
        continues: bool = True,
        change: Callable[[dict[str, Any]], object] = lambda reply: None,
        socket: Path | None = None,
    ) -> None:
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self.folder = folder
        self._plan, self._change = plan, change
        self._most, self._context, self._counts = most, context, counts
        self._scores_prompts, self._continues = scores_prompts, continues
        self._at_once = 0
        self._lock = threading.Lock()
        self._http = _Server(self) if socket is None else _SocketServer(self, socket)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def base_url(self) -> str:
        assert isinstance(self._http, _Server)
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def paths(self, path: str) -> list[Mapping[str, Any]]:
        """Bodies of the requests to one path."""
        return [body for asked, body in self.asked if asked == path]

    def __enter__(self) -> ToyServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def react(self, asked: Asked) -> Fault:
        """Answers a request."""
        with self._lock:
            self.asked.append(asked)
            number = len(self.asked)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self._plan(number, asked) or self._answer(*asked)
        finally:
            with self._lock:
                self._at_once -= 1

    def _answer(self, path: str, body: Mapping[str, Any]) -> Fault:
        if path == "/v1/models":
            more = {} if self._context is None else {"max_model_len": self._context}
            return Fault.json_body({"object": "list", "data": [{"id": "another"}, {"id": self.model, **more}]})
        if path == "/tokenize" and self._counts:
            ids = self._ids(body)
            return Fault.json_body({"count": len(ids), "max_model_len": self._context, "tokens": ids})
        if path != "/v1/chat/completions":
            return Fault.status_code(404, "Not Found")
        if body.get("top_logprobs", 0) > self._most:
            return Fault.status_code(400, f"Requested {body['top_logprobs']} logprobs, max allowed: {self._most}")
        if "prompt_logprobs" in body and not self._scores_prompts:
            return Fault.status_code(400, "Unrecognized request argument supplied: prompt_logprobs")
        if body.get("continue_final_message") and body.get("add_generation_prompt", True):
            return Fault.status_code(400, "Cannot set both")
        try:
            reply = self._completion(body)
        except ValueError as error:
            return Fault.status_code(400, str(error))
        self._change(reply)
        return Fault.json_body(reply)

    def _ids(self, body: Mapping[str, Any]) -> list[int]:
        _, tokenizer = reference(self.folder)
        text = body.get("prompt")
        if text is None:
            text = tokenizer.apply_chat_template(
                body["messages"],
                tokenize=False,
                add_generation_prompt=body.get("add_generation_prompt", True),
                continue_final_message=self._continues and body.get("continue_final_message", False),
            )
        ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _completion(self, body: Mapping[str, Any]) -> dict[str, Any]:
        _, tokenizer = reference(self.folder)
        ids = self._ids(body)
        rows = logprob_rows(self.folder, ids)

        def entry(row: int, token: int) -> dict[str, Any]:
            return {"token": tokenizer.decode([token]), "logprob": float(rows[row, token]), "bytes": None}

        chosen = int(rows[-1].argmax())
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": tokenizer.decode([chosen], skip_special_tokens=True)},
            "finish_reason": "length",
            "logprobs": None,
        }
        if body.get("logprobs"):
            top = rows[-1].topk(min(body["top_logprobs"], rows.shape[1])).indices.tolist()
            choice["logprobs"] = {"content": [{**entry(-1, chosen), "top_logprobs": [entry(-1, each) for each in top]}]}
        reply: dict[str, Any] = {
            "object": "chat.completion",
            "choices": [choice],
            "usage": {"prompt_tokens": len(ids), "completion_tokens": 1, "total_tokens": len(ids) + 1},
        }
        if "prompt_logprobs" in body and self._scores_prompts is True:
            said: list[dict[str, Any] | None] = [None]
            for row, token in enumerate(ids[1:]):
                # The prompt's own token first, then the most probable ones: vLLM's order.
                named = [token, *rows[row].topk(body["prompt_logprobs"]).indices.tolist()]
                said.append(
                    {
                        str(each): {
                            "logprob": max(float(rows[row, each]), -9999.0),
                            "rank": 1 + int((rows[row] > rows[row, each]).sum()),
                            "decoded_token": tokenizer.decode([each]),
                        }
                        for each in named
                    }
                )
            reply["prompt_logprobs"] = said
        return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, owner: ToyServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)


class _SocketServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, owner: ToyServer, path: Path) -> None:
        self.owner = owner
        super().__init__(str(path), _SocketHandler)


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True
    server: _Server | _SocketServer

    def do_POST(self) -> None:
        self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def do_GET(self) -> None:
        self._reply({})

    def _reply(self, body: Mapping[str, Any]) -> None:
        fault = self.server.owner.react((self.path, body))
        raw = fault.body.encode()
        if fault.kind == "cut":
            if raw:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + raw)
            return
        self.send_response(fault.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class's name
        """Says nothing: tests read `asked`."""


class _SocketHandler(_Handler):
    disable_nagle_algorithm = False  # there is none to disable
