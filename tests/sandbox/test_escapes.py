"""Programs that try to get out, to stay, or to use the machine up. All are contained, and nothing of them is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.sandbox import Limits, Outcome, run_code
from tests.case_tables import tables
from tests.sandbox.traces import adopt_orphans, descendants, wait_until_gone
from tests.support import ROOT

TABLES: dict[str, Any] = tables(__file__)

pytestmark = pytest.mark.usefixtures("clean")

SHORT = Limits(cpu_seconds=1, wall_seconds=10)
PATIENT = Limits(cpu_seconds=20, wall_seconds=60)
BLINK = Limits(wall_seconds=0.5)
SECRET = "the witness of the test"


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that everyone may read, if they find it."""
    path = tmp_path_factory.mktemp("outside") / "witness.txt"
    path.write_text(SECRET)
    path.chmod(0o644)
    return path


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        yield server


def blocked(code: str, *, limits: Limits | None = None) -> Outcome:
    """Runs a program that prints OUT where it got out."""
    outcome = run_code(code, limits=limits)
    assert "OUT" not in outcome.stdout, outcome
    return outcome


def blocked_attempts(*attempts: str) -> list[str]:
    """Runs attempts in one program, each of which calls `out()` if it got out; returns the exception that ended each."""
    frame = "def out(): print('OUT', number)\nfor number, code in enumerate({attempts!r}):\n"
    frame += "    try: exec(code, {{'out': out}})\n    except Exception as error: print(type(error).__name__)\n"
    frame += "    else: print('nothing')\n    finally: __import__('os').chdir('/tmp')"
    outcome = blocked(frame.format(attempts=attempts))
    ends = outcome.stdout.split()
    assert (outcome.exit, len(ends)) == ("ok", len(attempts)), outcome
    return ends


# Network


def test_no_network(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    outcome = blocked(
        f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)\nprint('OUT')"
    )
    assert "PermissionError" in outcome.stderr_tail
    with pytest.raises(TimeoutError):
        listener.accept()
    families = ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_PACKET")
    attempts = [
        f"import socket\nsocket.socket(socket.{name}, socket.SOCK_RAW)\nout()"
        for name in families
    ]
    assert blocked_attempts(*attempts) == ["PermissionError"] * 5
    assert blocked_attempts(
        "import socket\nsocket.getaddrinfo('localhost.test', 80)\nout()",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9/')\nout()",
    ) == ["gaierror", "URLError"]


# Files


def test_no_file_of_the_machine_is_reached(witness: Path) -> None:
    paths = [
        *TABLES["host_paths"],
        str(witness),
        str(Path.home()),
        str(ROOT / "setup.cfg"),
    ]
    outcome = run_code(
        f"import os\nprint([path for path in {paths!r} if os.path.lexists(path)])"
    )
    assert outcome.stdout == "[]\n"
    attempts = {
        code.replace("WITNESS", str(witness)): end
        for code, end in TABLES["around_the_root"].items()
    }
    assert blocked_attempts(*attempts) == list(attempts.values())


def test_nothing_can_be_changed_started_or_left_behind() -> None:
    code = "import os, json\nfor act in (os.unlink, os.remove, lambda p: os.chmod(p, 0o777), lambda p: os.rename(p, p + 'x')):\n"
    code += (
        "    try: act(json.__file__)\n    except OSError: pass\n    else: print('OUT')"
    )
    assert blocked(code).exit == "ok"
    assert (
        run_code("open('left', 'w').write('x')\nprint('written')").stdout == "written\n"
    )
    assert (
        run_code(
            "import os\nprint(os.listdir('.'), os.path.exists('/tmp/left'))"
        ).stdout
        == "[] False\n"
    )
    code = "import os\nopen('own', 'wb').write(open('/usr/bin/python3', 'rb').read(8_000_000))\nos.chmod('own', 0o4755)\n"
    assert (
        "PermissionError"
        in blocked(
            code + "os.execv('own', ['own', '-c', 'print(\"OUT\")'])"
        ).stderr_tail
    )
    ends = blocked_attempts(*TABLES["starts"])
    assert ends[:2] == ["nothing", "nothing"]
    assert set(ends[2:]) <= {"PermissionError", "OSError", "RuntimeError"}
    code = 'import os\nfor n in range(3, 256):\n    try: os.write(n, b\'{"code": 0, "cpu": 0}\\n\')\n    except OSError: pass\n'
    assert run_code(code + "raise SystemExit(5)").exit == "error"


# Environment, descriptors, other programs


def test_environment_and_imports_are_the_sandboxes_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    outcome = run_code("import os\nprint(sorted(set(os.environ) - {'LC_CTYPE'}))")
    assert outcome.stdout == "['PYTHONHASHSEED']\n"
    errors_file = str(ROOT / "medical_tasks" / "errors.py")
    ends = blocked_attempts(
        "import importlib\nimportlib.import_module('medical_tasks')\nout()",
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nimport medical_tasks\nout()",
        f"import sys\nsys.path[:0] = {[path for path in sys.path if path]!r}\nimport numpy\nout()",
        f"import importlib.util as u\ns = u.spec_from_file_location('m', {errors_file!r})\n"
        "s.loader.exec_module(u.module_from_spec(s))\nout()",
        "import os, site\nif any(os.listdir(p) for p in site.getsitepackages() if os.path.isdir(p)): out()",
        "import ensurepip\nensurepip.bootstrap(root='x')\nout()",
    )
    assert ends[:4] == ["ModuleNotFoundError"] * 3 + ["FileNotFoundError"]
    assert ends[4] == "nothing"


def test_a_program_that_replaces_itself_stays_inside(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    inner = f"import socket; socket.create_connection(('127.0.0.1', {port}), 1); print('OUT')"
    outcome = blocked(
        f"import os\nos.execv('/lib/' + [n for n in os.listdir('/lib') if n.startswith('ld')][0],"
        f" ['ld', '--library-path', '/lib', '/usr/bin/python3', '-c', {inner!r}])"
    )
    assert "PermissionError" in outcome.stderr_tail
    assert "socket.py" in outcome.stderr_tail


# Signals and tracing


def test_signals_reach_no_other_process() -> None:
    received: list[int] = []
    before = signal.signal(
        signal.SIGUSR1, lambda number, frame: received.append(number)
    )
    try:
        me, parent = os.getpid(), os.getppid()
        code = f"""
import ctypes, os, signal
sent = 0
for pid in (os.getppid(), 1, 0, -1, {me}, -{me}, {parent}):
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(pid, number)
        except OSError:
            continue
        sent += 1
try:
    os.killpg(0, signal.SIGKILL)
except OSError:
    pass
print(sent)
"""
        outcome = run_code(code)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (outcome.exit, outcome.stdout, received) == ("ok", "0\n", [])


# Using the machine up


@pytest.mark.parametrize("code", TABLES["fork_bomb"].values(), ids=TABLES["fork_bomb"])
def test_fork_bomb(code: str) -> None:
    assert run_code(code, limits=SHORT).exit in ("error", "timeout")


@pytest.mark.parametrize(
    "code", TABLES["memory_bomb"].values(), ids=TABLES["memory_bomb"]
)
def test_memory_bomb(code: str) -> None:
    fills = "bytearray" in code or "+=" in code
    # Filling half a gigabyte takes its time on a busy machine, and is to end at the
    # memory's limit, not the clock's.
    outcome = run_code(code, limits=PATIENT if fills else SHORT)
    assert outcome.exit in ("memory", "timeout", "error")
    if fills:
        assert outcome.exit == "memory"
        assert "more than 512 MiB of memory" in outcome.stderr_tail


@pytest.mark.parametrize(
    "code", TABLES["endless_loop"].values(), ids=TABLES["endless_loop"]
)
def test_endless_loop(code: str) -> None:
    outcome = run_code(code, limits=SHORT)
    assert outcome.exit == "timeout"
    assert "more than 1 seconds of processor time" in outcome.stderr_tail


@pytest.mark.parametrize(
    "code",
    TABLES["a_program_that_waits_is_ended"].values(),
    ids=TABLES["a_program_that_waits_is_ended"],
)
def test_a_program_that_waits_is_ended(code: str) -> None:
    outcome = run_code(code, limits=BLINK)
    assert outcome.exit == "timeout"
    assert "had not ended after 0.5 seconds" in outcome.stderr_tail


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_flood(stream: str) -> None:
    outcome = run_code(f"import sys\nwhile True: sys.{stream}.write('x' * 100_000)")
    assert outcome.exit == "output"
    assert len(outcome.stdout) <= Limits().output_bytes
    assert "wrote more than 65536 bytes" in outcome.stderr_tail


def test_output_at_the_limit_is_whole() -> None:
    whole, over = (
        run_code(f"print('x' * {count})", limits=Limits(output_bytes=1000))
        for count in (999, 1000)
    )
    assert [(outcome.exit, len(outcome.stdout)) for outcome in (whole, over)] == [
        ("ok", 1000),
        ("output", 1000),
    ]


@pytest.mark.parametrize("code", TABLES["disk"].values(), ids=TABLES["disk"])
def test_disk_and_descriptors_are_limited(code: str) -> None:
    outcome = run_code(code)
    assert outcome.exit == "error"
    assert "OSError" in outcome.stderr_tail


# The caller ends first


def test_the_sandbox_ends_with_its_caller() -> None:
    adopt_orphans()
    before = descendants()  # processes that serve other tests
    code = "from medical_tasks.sandbox import run_code\nprint('started', flush=True)\nrun_code('import time; time.sleep(600)')"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT
    ) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == b"started\n"
        deadline = time.monotonic() + 20
        while len(descendants() - before) < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        # the caller, the process that makes the sandbox, its process 1, the program
        assert len(descendants() - before) == 4
        caller.kill()
    assert wait_until_gone(10, ignoring=before) == frozenset()

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.7)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_code("import time\ntime.sleep(600)")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def test_harmful_programs_in_parallel() -> None:
    codes = [
        "while True: print('x' * 1000)",
        "x = bytearray(10**11)",
        "import os\nos.fork()",
        "1/0",
    ] * 3
    with ThreadPoolExecutor(max_workers=4) as pool:
        outcomes = list(pool.map(lambda code: run_code(code, limits=SHORT), codes))
    assert [outcome.exit for outcome in outcomes] == [
        "output",
        "memory",
        "error",
        "error",
    ] * 3
