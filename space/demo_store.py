"""Fills an empty leaderboard store with example submissions, so that `make space` has something to show.

    python space/demo_store.py space-store

Everything is really done: invented models behind a loopback endpoint, some better than others, are evaluated on the synthetic demo
records; each run becomes a package, is put into the store, and most are accepted. The packages say of themselves that they are of
demo records, which a leaderboard does not take by its own door: so they are put into the store beside it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import json
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import medical_tasks
from medical_tasks.benchmarks.catalog import build_dataset, dataset_spec, task_spec
from medical_tasks.data.task_data import load_task_data
from medical_tasks.leaderboard.board import Board, package_name
from medical_tasks.leaderboard.storage import open_storage
from medical_tasks.leaderboard.submission_package.contents import Submitter, VerifyOptions
from medical_tasks.leaderboard.submission_package.writing import write_package

__all__ = ["Example", "fill"]


@dataclass(frozen=True, kw_only=True)
class Example:
    """An invented model.

    Attributes:
        name: as it is shown.
        organisation: likewise.
        share: of the items it knows the answer of.
        tasks: what it is evaluated on.
        parameters: in billions.
        open_weights: whether it says so.
        reason: why it is rejected; "" when it is not.
        pending: whether nothing was decided.
    """

    name: str
    organisation: str
    share: float
    tasks: str = "medcalc"
    parameters: float | None = None
    open_weights: bool | None = None
    reason: str = ""
    pending: bool = False


EXAMPLES = (
    Example(
        name="Example Large",
        organisation="Example Lab",
        share=0.9,
        tasks="medcalc,kqa",
        parameters=70,
        open_weights=True,
    ),
    Example(
        name="Example Medium",
        organisation="Example Lab",
        share=0.75,
        tasks="medcalc,kqa",
        parameters=14,
        open_weights=True,
    ),
    Example(name="Example Small", organisation="Example Lab", share=0.45, parameters=3, open_weights=True),
    Example(name="Sample Pro", organisation="Sample Inc.", share=0.84, tasks="medcalc,kqa", open_weights=False),
    Example(name="Sample Mini", organisation="Sample Inc.", share=0.3, open_weights=False),
    Example(name="Specimen", organisation="", share=0.6),
    Example(name="Sample Next", organisation="Sample Inc.", share=0.8, pending=True),
    Example(
        name="Too Good", organisation="Nobody", share=1.0, reason="The answers repeat the reference word for word."
    ),
)


def fill(store: Path, examples: tuple[Example, ...] = EXAMPLES) -> list[str]:
    """Fills a store.

    Args:
        store: its folder; made if need be.
        examples: the models.

    Returns:
        Ids of the submissions, in the order of the models.
    """
    board = Board(open_storage(str(store)))
    with tempfile.TemporaryDirectory() as made, contextlib.redirect_stdout(io.StringIO()):
        folder = Path(made)
        data = {name: folder / name for name in ("medcalc_bench", "kqa")}
        for name, place in data.items():
            build_dataset(name, source=None, config="demo", out=place)
        return [name for example in examples for name in _submit(board, folder, data, example)]


def _submit(board: Board, folder: Path, data: Mapping[str, Path], example: Example) -> list[str]:
    ids = []
    for task in example.tasks.split(","):
        run, source = folder / "runs" / example.name / task, data[task_spec(task).dataset]
        _run(task, source, run, example)
        out = folder / f"{example.name}-{task}.zip"
        submitter = Submitter(
            model=example.name,
            organisation=example.organisation,
            url="https://example.org/model",
            notes="An invented model on synthetic records.",
            open_weights=example.open_weights,
            parameters=example.parameters,
        )
        package = write_package(run, out, submitter, options=VerifyOptions(data=source), allow_partial=True)
        board.storage.create(package_name(package.manifest.id), out.read_bytes())
        ids.append(package.manifest.id)
    board.submissions()  # gives each its first event
    for number, name in enumerate(ids):
        if example.reason:
            board.decide(name, "rejected", by="demo", reason=example.reason)
        elif not example.pending:
            board.decide(name, "accepted", by="demo", reason="An example.", replaces=ids[0] if number else "")
    return ids


def _run(task: str, data: Path, out: Path, example: Example) -> None:

    with _model(task, data, example) as address:
        model = f"openai-api/demo/{example.name.replace(' ', '-')}"
        with contextlib.redirect_stderr(io.StringIO()):
            medical_tasks.run(task, model, model_args={"base_url": address}, config="demo", data=data, out=out)


@contextlib.contextmanager
def _model(task: str, data: Path, example: Example) -> Iterator[str]:
    """Serves a model that knows some answers, and gives another question's answer to the rest."""
    spec = task_spec(task)
    items = load_task_data(spec, dataset_spec(spec.dataset), data=data, config="demo").items
    prompts = importlib.import_module(f"{spec.benchmark}.prompts")
    render = prompts.load_prompts(spec).render
    answers = {}
    for place, item in enumerate(items):
        draw = hashlib.sha256(f"{item.id} {example.name}".encode()).digest()[0] / 256
        known = item if draw < example.share else items[(place + 7) % len(items)]
        answers[json.dumps(render(item))] = prompts.gold_response(spec, known)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = _reply(answers[json.dumps(body["messages"])])
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *args: Any) -> None:
            return

    class Server(ThreadingHTTPServer):
        request_queue_size = 64  # the model is asked by many at once
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _reply(answer: str) -> bytes:
    message = {"role": "assistant", "content": answer}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    reply = {
        "id": "demo",
        "object": "chat.completion",
        "created": 0,
        "model": "demo",
        "choices": choices,
        "usage": usage,
    }
    return json.dumps(reply).encode()


if __name__ == "__main__":
    place = Path(sys.argv[1])
    print(f"{place}: {len(fill(place))} example submissions")
