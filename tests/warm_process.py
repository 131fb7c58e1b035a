"""Processes whose slow imports are done: forked from one that imported the libraries under lighteval and inspect.

A module or script runs in such a process as `python -m MODULE` or `python SCRIPT` runs
it: with its own arguments, environment, folder and output, to its own end. This
project, lighteval and `datasets` are imported in it, as they are in a process of one's
own. Where these libraries' own imports matter, commands start afresh.

    python tests/warm_process.py serve SOCKET MODULE,MODULE   # prints `ready`, serves until its standard input ends
    python tests/warm_process.py ask SOCKET [-m] COMMAND ...  # for launchers: runs it there, exits with its code
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

__all__ = [
    "HEAVY",
    "LIBRARIES",
    "Started",
    "WarmProcess",
    "killed_when",
    "torchrun",
    "warm_process",
]

# Files whose tests import torch, transformers, lighteval or inspect, or start `warm`: in one
# process these imports, ten seconds, happen once.
HEAVY = (
    "tests/benchmarks/doclens/test_harness_tasks.py",
    "tests/benchmarks/test_from_file.py",
    "tests/cli/test_ceilings.py",
    "tests/cli/test_forecast.py",
    "tests/cli/test_run_file.py",
    "tests/data/test_cards.py",
    "tests/guard/test_guard_end_to_end.py",
    "tests/harness/",
    "tests/judges/test_inspect_judge.py",
    "tests/judges/test_nli.py",
    "tests/leaderboard/test_export.py",
    "tests/models/",
    "tests/report/test_report_private.py",
    "tests/runs/test_run_local.py",
    "tests/test_chat_benchmark.py",
    "tests/test_plugins.py",
    "tests/test_rubric_benchmark.py",
    "tests/test_sixth_benchmark.py",
)

LIBRARIES = (
    # What lighteval imports, without itself and `datasets`: for these the time of the
    # import and its settings matter.
    "torch.distributed.launcher.api",
    "transformers.models.llama.modeling_llama",
    "transformers.generation.utils",
    "accelerate",
    "sklearn.metrics",
    "scipy.stats",
    "sympy",
    "nltk",
    "latex2sympy2_extended.latex2sympy2",
    "huggingface_hub.inference._generated._async_client",
    "pytablewriter",
    "sacrebleu",
    "git",
    # What inspect's command imports, and what it imports when it calls a model.
    "inspect_ai._cli.main",
    "fastapi",
    "IPython",
    "rich.markdown",
    "s3fs",
    "inspect_ai.dataset",
    "inspect_ai.agent._acp.server",
    "inspect_ai.model._openai",
    "inspect_ai.model._openai_responses",
    "inspect_ai.model._providers.openai_compatible",
)
"""Modules that are slow to import and hold nothing of this project."""


class Started:
    """A command that was started.

    Attributes:
        pid: of its process.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._lines = connection.makefile("r", encoding="utf-8")
        connection.close()
        self.pid = int(self._lines.readline())

    def ended(self) -> bool:
        """Reports whether `wait` would return at once."""
        return bool(select.select([self._lines], [], [], 0)[0])

    def wait(self) -> int:
        """Waits for the end; returns the exit code, negative for a signal. If the waiting is cut short, so is the command."""
        with self._lines:
            return int(self._lines.readline())


class WarmProcess:
    """Starts commands in processes whose imports are done; made by `warm_process`.

    Attributes:
        asking: the command line that runs `-m MODULE ...` or `SCRIPT ...` here, for
            launchers.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.asking = [__file__, "ask", address]

    def start(
        self,
        words: Sequence[object],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        outputs: tuple[int, int],
    ) -> Started:
        """Starts `-m MODULE ...` or `SCRIPT ...`; outputs are the numbers of the files for what it prints."""
        return _ask(self.address, words, str(cwd), environment, outputs)

    def run(
        self, words: Sequence[object], *, cwd: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end."""
        with ThreadPoolExecutor(2) as readers:
            (out, writes_out), (err, writes_err) = os.pipe(), os.pipe()
            try:
                started = self.start(
                    words,
                    cwd=cwd,
                    environment=environment,
                    outputs=(writes_out, writes_err),
                )
            finally:
                os.close(writes_out)
                os.close(writes_err)
                printed = [readers.submit(_read, end) for end in (out, err)]
            code = started.wait()
            return subprocess.CompletedProcess(
                [*map(str, words)], code, *(text.result() for text in printed)
            )


def torchrun(processes: int) -> list[str]:
    """The words by which torchrun, in a warm process, starts the command after them in several processes.

    Its usual rendezvous looks through all imported modules several times: three seconds.
    """
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    rendezvous = [
        "--rdzv-backend=static",
        "--master-addr=127.0.0.1",
        f"--master-port={port}",
    ]
    words = ["-m", "torch.distributed.run", *rendezvous]
    return [*words, f"--nproc-per-node={processes}"]


def _read(end: int) -> str:
    with open(
        end, encoding="utf-8", errors="replace"
    ) as stream:  # a number, not a path
        return stream.read()


def killed_when(
    warm: WarmProcess, reached: threading.Event, words: Sequence[object]
) -> None:
    """Starts a command of this project here, and kills it as soon as an event comes."""
    with Path(os.devnull).open("wb") as unread:
        command = warm.start(
            ["-m", "medical_tasks", *words],
            cwd=Path.cwd(),
            environment=os.environ,
            outputs=(unread.fileno(), unread.fileno()),
        )
    try:
        assert reached.wait(100)
    finally:
        os.kill(command.pid, signal.SIGKILL)
        assert command.wait() == -signal.SIGKILL


@contextlib.contextmanager
def warm_process(
    modules: Sequence[str], environment: Mapping[str, str]
) -> Iterator[WarmProcess]:
    """Imports modules in a process that stays ready during this context."""
    with tempfile.TemporaryDirectory(prefix="warm") as folder:
        address = str(Path(folder, "socket"))
        process = subprocess.Popen(
            [sys.executable, __file__, "serve", address, ",".join(modules)],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield WarmProcess(address)
        finally:
            process.stdin.close()
            process.wait(timeout=60)
            process.stdout.close()


def _ask(
    address: str,
    words: Sequence[object],
    cwd: str,
    environment: Mapping[str, str],
    outputs: tuple[int, int],
) -> Started:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    body = json.dumps(
        {"words": [*map(str, words)], "cwd": cwd, "environment": dict(environment)}
    ).encode()
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", outputs))
    connection.sendmsg([len(body).to_bytes(8, "big")], [rights])
    connection.sendall(body)
    return Started(connection)


def _serve(address: str, modules: str) -> dict[str, Any] | None:
    """Forks for each request until standard input ends; returns the command in the process that is to run it."""
    gc.disable()
    for module in modules.split(","):
        importlib.import_module(module)
    # The garbage collector would copy what was imported into each process.
    gc.freeze()
    gc.enable()
    # A thread would not be there in the processes that are forked, though what it holds
    # would be.
    assert threading.active_count() == 1, "an import started a thread"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    print("ready", flush=True)
    watching: list[int] = []
    heard: list[Any] = [listener, sys.stdin]
    while True:
        readable = select.select(heard, [], [])[0]
        if sys.stdin in readable:
            for watcher in watching:
                os.waitpid(watcher, 0)
            return None
        connection, _ = listener.accept()
        watcher = os.fork()
        if watcher == 0:
            listener.close()
            return _watched(connection)
        watching.append(watcher)
        connection.close()


def _watched(connection: socket.socket) -> dict[str, Any]:
    """Forks once more: one process watches the command and reports its end, in the other one this returns."""
    head, rights, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(8))
    length, body = int.from_bytes(head, "big"), b""
    while len(body) < length:
        body += connection.recv(length - len(body))
    outputs = array.array("i")
    outputs.frombytes(rights[0][2])
    pid = os.fork()
    if pid:
        for output in outputs:
            os.close(output)
        _watch(connection, pid)
        os._exit(0)
    connection.close()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, output in enumerate(outputs, start=1):
        os.dup2(output, number)
        os.close(output)
    # New streams: the old ones remember the files they wrote to before.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(
        2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    command: dict[str, Any] = json.loads(body)
    return command


def _watch(connection: socket.socket, pid: int) -> None:
    connection.sendall(f"{pid}\n".encode())
    ended = os.pidfd_open(pid)
    # The client sends nothing more: if its connection is readable, it has gone, and the
    # command ends too.
    heard: list[Any] = [connection, ended]
    if ended not in select.select(heard, [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(f"{code}\n".encode())


def _run_to_its_end(command: Mapping[str, Any]) -> None:
    """Runs a command and ends the process as Python would, but without taking apart all that was imported."""
    code: Any = 0
    try:
        _execute(command)
    except SystemExit as stop:
        code = stop.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for its threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _execute(command: Mapping[str, Any]) -> None:
    os.chdir(command["cwd"])
    os.environ.clear()
    os.environ.update(command["environment"])
    sys.path[1:1] = [
        path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path
    ]
    words = command["words"]
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path[0] = command["cwd"]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path[0] = str(Path(words[0]).parent)
        runpy.run_path(words[0], run_name="__main__")


def _main(verb: str, address: str, *words: str) -> int:
    if verb == "ask":
        started = _ask(address, words, str(Path.cwd()), os.environ, (1, 2))
        # Who stops the launcher stops the command, which ends in its own way.
        signal.signal(signal.SIGTERM, lambda *_: os.kill(started.pid, signal.SIGTERM))
        code = started.wait()
        return code if code >= 0 else 128 - code
    command = _serve(address, words[0])
    if command is not None:
        _run_to_its_end(command)
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
