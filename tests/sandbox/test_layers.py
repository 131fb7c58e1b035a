"""Each layer holds alone: without the filter of system calls the namespaces and limits hold, and the probe refuses."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from medical_tasks.errors import MissingError
from medical_tasks.sandbox import Limits, execution, run_code
from medical_tasks.sandbox.execution import ALLOW
from medical_tasks.sandbox.probe import attempts_program, probe, require_sandbox
from tests.case_tables import tables
from tests.sandbox.traces import descendants, nothing_left

pytestmark = pytest.mark.usefixtures("clean")

SHORT = Limits(cpu_seconds=1, wall_seconds=5)


@pytest.fixture
def no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the filter by one that lets every system call pass."""
    open_filter = struct.pack("<HBBI", 0x06, 0, 0, ALLOW).hex()
    plan = {**execution._fixed_plan(), "filter": open_filter}
    monkeypatch.setattr(execution, "_fixed_plan", lambda: plan)


@pytest.fixture
def attempts() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield attempts_program(
            platform.machine(), port=listener.getsockname()[1], pid=os.getpid()
        )


def test_all_attempts_fail(attempts: str) -> None:
    assert len(re.findall(r'^attempt\("([^"]+)"', attempts, re.MULTILINE)) == 20
    assert json.loads(run_code(attempts).stdout) == []


@pytest.mark.usefixtures("no_filter")
def test_without_the_filter_only_the_calls_it_stops_succeed(attempts: str) -> None:
    """Some attempts succeed, so that their failing with the filter means something; the other layers hold."""
    reached = set(json.loads(run_code(attempts).stdout))
    assert {
        "open a socket",
        "make a namespace",
        "change the system call filter",
    } <= reached
    stopped_elsewhere = set(tables(__file__))
    assert stopped_elsewhere <= set(
        re.findall(r'^attempt\("([^"]+)"', attempts, re.MULTILINE)
    )
    assert reached & stopped_elsewhere == set()


@pytest.mark.usefixtures("no_filter")
def test_the_probe_refuses_a_sandbox_with_a_hole() -> None:
    message = probe()
    assert message is not None
    assert message.startswith("a program in it could ")
    assert "open a socket" in message
    require_sandbox.cache_clear()
    try:
        with pytest.raises(
            MissingError,
            match="here they cannot: a program in it could .*open a socket",
        ):
            require_sandbox()
    finally:
        require_sandbox.cache_clear()


@pytest.mark.usefixtures("no_filter")
def test_daemons_end_with_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """They fork twice and start a session of their own, with the limit of processes lifted."""
    code = """
import os, time
for _ in range(2):
    if os.fork():
        os._exit(0) if os.getpid() != 2 else time.sleep(0.3)
        break
    os.setsid()
else:
    while True: time.sleep(60)
print("done")
"""
    monkeypatch.setattr(
        execution, "_START", execution._START.replace("main()", _WITHOUT_PROCESS_LIMIT)
    )
    before = descendants()
    outcome = run_code(code, limits=SHORT)
    assert (outcome.exit, outcome.stdout) == ("ok", "done\n")
    assert descendants() <= before


_WITHOUT_PROCESS_LIMIT = """
import resource
real = resource.setrlimit
resource.setrlimit = lambda kind, limits: None if kind == resource.RLIMIT_NPROC else real(kind, limits)
main()
"""


@pytest.mark.usefixtures("no_filter")
def test_signals_end_at_the_namespace() -> None:
    received: list[int] = []
    before = signal.signal(
        signal.SIGUSR1, lambda number, frame: received.append(number)
    )
    try:
        code = f"import os\nfor p in (1, {os.getpid()}, {os.getppid()}, -1):\n    try: os.kill(p, 10)\n    except OSError: pass\n"
        outcome = run_code(code + "print('alive')")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (outcome.exit, outcome.stdout, received) == ("ok", "alive\n", [])
    outcome = run_code("import os\nfor _ in range(1000): os.fork()", limits=SHORT)
    assert outcome.exit == "error"
    assert "Resource temporarily unavailable" in outcome.stderr_tail


@pytest.mark.usefixtures("no_filter")
def test_shared_memory_and_abstract_sockets_of_the_machine_are_out_of_reach() -> None:
    """Their names are in no file system: the IPC and the network namespace keep them apart."""
    libc = ctypes.CDLL(None, use_errno=True)
    key = 0x4D54_0000 | (os.getpid() & 0xFFFF)
    segment = libc.shmget(key, 4096, 0o1666)
    assert segment >= 0, os.strerror(ctypes.get_errno())
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"\0medical-tasks-{os.getpid()}")
            listener.listen()
            code = f"""
import ctypes, socket
print(ctypes.CDLL(None).shmget({key}, 4096, 0o666))
try:
    socket.socket(socket.AF_UNIX).connect("\\0medical-tasks-{os.getpid()}")
except OSError as error:
    print(error.strerror)
"""
            assert run_code(code).stdout == "-1\nConnection refused\n"
            with socket.socket(
                socket.AF_UNIX
            ) as other:  # it is there for everyone else
                other.connect(f"\0medical-tasks-{os.getpid()}")
    finally:
        libc.shmctl(segment, 0, None)


def test_nothing_left_notices_processes_and_files() -> None:
    """Checks the check around every test of this folder."""
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE
    ) as left:
        assert left.pid in descendants()
        left.communicate(b"\n")
    with pytest.raises(AssertionError), nothing_left():
        left = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE
        )
    left.communicate(b"\n")
    with pytest.raises(AssertionError), nothing_left():
        (Path(tempfile.gettempdir()) / "left").touch()
    (Path(tempfile.gettempdir()) / "left").unlink()


def test_the_sandbox_has_its_own_host_name() -> None:
    before = platform.node()
    assert run_code("import os\nprint(os.uname().nodename)").stdout == "sandbox\n"
    assert os.uname().nodename == before != "sandbox"
