"""Tests whether this machine can isolate a program, and refuses to run any where it cannot.

Before a model's first program, the sandbox runs one of ours that tries everything a program must not be able to do.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medical_tasks.errors import MissingError
from medical_tasks.sandbox.execution import Limits, SandboxError, run_code

__all__ = ["ATTEMPTS", "attempts_program", "probe", "require_sandbox"]


_ADVICE: Final = (
    "It needs Linux 5.3 or newer on x86_64 or aarch64 with user namespaces and seccomp. On a machine of your own: "
    "`sysctl user.max_user_namespaces` must be above 0, `kernel.unprivileged_userns_clone`, where it exists, 1, and "
    "`kernel.apparmor_restrict_unprivileged_userns`, where it exists, 0. In a container: start it with "
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, or run "
    "the task in a virtual machine. All other tasks work without it."
)
_SLEEP: Final = Limits(wall_seconds=0.5)


@functools.cache
def require_sandbox() -> None:
    """Makes sure, once a process, that programs of a model can be run here; there is no weaker mode."""
    found = probe()
    if found is not None:
        raise MissingError(
            "programs that a model wrote are run only where they can be closed off from the machine, and here they cannot: "
            f"{found}. {_ADVICE}"
        )


def probe() -> str | None:
    """Tries the sandbox out: what must work, then what must not. Returns what is wrong, or None."""
    try:
        return _works() or _holds() or _stops()
    except SandboxError as failure:
        return f"{failure.stage}: {failure.reason}"
    except MissingError as error:
        return str(error)


def _works() -> str | None:
    done = run_code(
        "import datetime, math\nopen('file', 'w').write('6')\nprint(int(open('file').read()) * math.gcd(14, 21))"
    )
    if (done.exit, done.stdout) != ("ok", "42\n"):
        return f"a harmless program did not run ({done.exit}: {done.stderr_tail.strip()[-300:] or done.stdout[:300]!r})"
    return None


def _holds() -> str | None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        tempfile.NamedTemporaryFile(mode="w", prefix="medical-tasks-probe-") as witness,
    ):
        Path(witness.name).chmod(0o644)
        here = Path(__file__).resolve()
        program = attempts_program(
            platform.machine(),
            port=listener.getsockname()[1],
            pid=os.getpid(),
            files=[witness.name, str(here)],
            folders=[str(Path.home()), str(here.parent), str(Path.cwd()), tempfile.gettempdir()],
        )
        done = run_code(program)
    try:
        reached = json.loads(done.stdout) if done.exit == "ok" else None
    except json.JSONDecodeError:
        reached = None
    if reached is None:
        return f"the program that tries to get out ended early ({done.exit}: {done.stderr_tail.strip()[-300:]})"
    return f"a program in it could {', '.join(reached)}" if reached else None


def _stops() -> str | None:
    done = run_code("import time\ntime.sleep(60)", limits=_SLEEP)
    return None if done.exit == "timeout" else f"a program that sleeps was not stopped ({done.exit})"


ATTEMPTS: Final = (
    "connect to this machine",
    "open a socket",
    "read a file of this machine",
    "list a folder of this machine",
    "see processes",
    "signal another process",
    "start a process",
    "start a thread",
    "trace a process",
    "mount",
    "make a namespace",
    "become root",
    "change the system call filter",
    "write outside its folder",
    "find something in its folder",
    "run a file it wrote",
    "find an environment variable",
    "use an inherited file descriptor",
    "import a package of this machine",
    "raise its limits",
)
"""Each has failed when the program does not print its name."""

# Numbers of raw system calls, which go past whatever Python itself would refuse.
_CALLS: Final = {
    "x86_64": {"mount": 165, "ptrace": 101, "unshare": 272, "clone": 56, "kill": 62, "setuid": 105, "prctl": 157},
    "aarch64": {"mount": 40, "ptrace": 117, "unshare": 97, "clone": 220, "kill": 129, "setuid": 146, "prctl": 167},
}

# Folders that the sandbox has, too, with other things in them.
_OWN: Final = {"/", "/lib", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64"}

_PROGRAM: Final = """
import ctypes, json, os, resource, sys

if not os.path.exists("/program.py"):
    sys.exit("for the sandbox only: it would mount things")
given = json.loads(GIVEN)
calls, reached = given["calls"], []
libc = ctypes.CDLL(None, use_errno=True)

def call(name, *arguments):
    return libc.syscall(ctypes.c_long(calls[name]), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])

def attempt(name, action):
    try:
        done = action()
    except (OSError, ImportError, RuntimeError, ValueError, EOFError):
        done = False
    if done:
        reached.append(name)

def connect():
    import socket
    return socket.create_connection(("127.0.0.1", given["port"]), timeout=1)

def open_socket():
    import socket
    return any(not failed(socket.socket, family, socket.SOCK_STREAM) for family in (socket.AF_INET, socket.AF_UNIX))

def failed(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        return True
    return False

def listed(path):
    try:
        return os.listdir(path) != []
    except OSError:
        return False

def forked():
    for action in (lambda: call("clone", 17, 0, 0, 0, 0), os.fork):
        try:
            child = action()
        except OSError:
            continue
        if child == 0:
            os._exit(0)
        if child > 0:
            return True
    return False

def thread():
    import _thread
    return _thread.start_new_thread(print, ()) is not None

def imported(name):
    try:
        return __import__(name) is not None
    except ImportError:
        return False

def write(path):
    return not failed(lambda: open(path, "w").close())

def run_own():
    with open("own", "wb") as file:
        file.write(b"#!/usr/bin/python3\\n")
    os.chmod("own", 0o755)
    blocked = failed(os.execv, "own", ["own"])
    os.unlink("own")
    return not blocked

def raise_limits():
    hard = {kind: resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE,
            resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)}
    if resource.RLIM_INFINITY in hard.values():
        return True
    return any(not failed_limit(kind, limit + 1) for kind, limit in hard.items())

def failed_limit(kind, limit):
    try:
        resource.setrlimit(kind, (limit, limit))
    except (OSError, ValueError):
        return True
    return False

attempt("connect to this machine", connect)
attempt("open a socket", open_socket)
attempt("read a file of this machine", lambda: any(not failed(lambda: open(path).close()) for path in given["files"]))
attempt("list a folder of this machine", lambda: any(listed(path) for path in given["folders"]))
attempt("see processes", lambda: os.getpid() != 2 or os.getppid() != 1 or os.path.exists("/proc"))
attempt("signal another process", lambda: any(call("kill", pid, 0) == 0 for pid in (1, -1, given["pid"])))
attempt("start a process", forked)
attempt("start a thread", thread)
attempt("trace a process", lambda: call("ptrace", 16, 1, 0, 0) == 0 or call("ptrace", 0, 0, 0, 0) == 0)
attempt("mount", lambda: call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, None) == 0)
attempt("make a namespace", lambda: call("unshare", 0x10000000) == 0)
attempt("become root", lambda: os.getuid() == 0 or call("setuid", 0) == 0)
attempt("change the system call filter", lambda: call("prctl", 22, 2, 0, 0, 0) == 0 or call("prctl", 21, 0, 0, 0, 0) >= 0)
attempt("write outside its folder", lambda: any([write(p) for p in ("/x", "/usr/x", "/lib/x", "/program.py", os.__file__)]))
attempt("find something in its folder", lambda: os.getcwd() != "/tmp" or os.listdir(".") != [])
attempt("run a file it wrote", run_own)
attempt("find an environment variable", lambda: set(os.environ) - {"PYTHONHASHSEED", "LC_CTYPE"})
attempt("use an inherited file descriptor", lambda: any([not failed(os.fstat, number) for number in range(3, 1024)]))
attempt("import a package of this machine", lambda: any([imported(name) for name in ("medical_tasks", "numpy", "pip")]))
attempt("raise its limits", raise_limits)
print(json.dumps(reached))
"""


def attempts_program(
    machine: str, *, port: int, pid: int, files: Sequence[str] = (), folders: Sequence[str] = ()
) -> str:
    """Makes the program that prints a JSON list of those of `ATTEMPTS` that succeeded.

    Args:
        machine: key of `system_calls.MACHINES`.
        port: where something listens on this machine's loopback address.
        pid: a process of this machine.
        files: files of this machine to try to open.
        folders: folders of this machine to try to list.
    """
    given = {
        "calls": _CALLS[machine],
        "port": port,
        "pid": pid,
        "files": ["/etc/passwd", "/proc/self/status", "/proc/1/environ", "/dev/null", *files],
        "folders": sorted({"/etc", "/proc", "/sys", "/dev", "/home", "/var", *folders} - _OWN),
    }
    return _PROGRAM.replace("GIVEN", repr(json.dumps(given)))
