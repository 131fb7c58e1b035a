"""A small server with a worker; processes of tests import it without the tests."""

from __future__ import annotations

import sys
from pathlib import Path

from medical_tasks.models.server import ManagedServer, answers_chat, free_port

# A server with a worker in its own session, as big servers have. It writes both pids to
# a file for the tests. Arguments: port, file for the pids, and `stubborn` to ignore
# SIGTERM.
SERVER = """
import json, os, pathlib, signal, subprocess, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

WORKER = "import signal, sys, time; MODE; print('worker up', flush=True); time.sleep(600)"
stubborn = "stubborn" in sys.argv
if stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
mode = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if stubborn else "0"
worker = subprocess.Popen([sys.executable, "-c", WORKER.replace("MODE", mode)], start_new_session=True)
pathlib.Path(sys.argv[2]).write_text(f"{os.getpid()} {worker.pid}")

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print("served", body["model"], os.environ.get("VLLM_API_KEY"), flush=True)
        if body["messages"][-1]["content"] == "die":
            os._exit(9)
        reply = {"choices": [{"message": {"content": "pong"}, "finish_reason": "stop"}]}
        raw = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)
    def log_message(self, *arguments):
        pass

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def small_server(
    folder: Path,
    *extra: str,
    timeout: float = 30.0,
    grace: float = 5.0,
) -> ManagedServer:
    """The server, not started yet; its files are in `folder`."""
    port = free_port()
    return ManagedServer(
        command=[sys.executable, "-c", SERVER, str(port), str(folder / "pids"), *extra],
        ready=lambda: answers_chat(f"http://127.0.0.1:{port}/v1", "m"),
        log=folder / "logs" / "server.log",
        timeout=timeout,
        grace=grace,
    )
