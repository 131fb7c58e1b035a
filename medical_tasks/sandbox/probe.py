"""Tests whether this machine can isolate a program, and refuses to run programs if it cannot.

Before a model's first program, the sandbox runs one of ours that tries everything that a
program must not be able to do.
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

_ADVICE: Final = (
    "It needs Linux 5.3 or newer on x86_64 or aarch64 with user namespaces and seccomp. On a "
    "machine of your own: `sysctl user.max_user_namespaces` must be above 0, "
    "`kernel.unprivileged_userns_clone`, where it exists, 1, and "
    "`kernel.apparmor_restrict_unprivileged_userns`, where it exists, 0. In a container: start it "
    "with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt "
    "systempaths=unconfined, or run the task in a virtual machine. All other tasks work without "
    "it."
)
_SLEEP: Final = Limits(wall_seconds=0.5)


@functools.cache
def require_sandbox() -> None:
    """Checks, once per process, that programs of a model can be run here.

    There is no weaker mode.

    Raises:
        MissingError: They cannot be isolated.
    """
    problem = probe()
    if problem is not None:
        raise MissingError(
            "programs that a model wrote are run only where they can be closed off from the "
            f"machine, and here they cannot: {problem}. {_ADVICE}"
        )


def probe() -> str | None:
    """Tests the sandbox: what must work, then what must not. Returns the problem, or None."""
    try:
        return _works() or _holds() or _stops()
    except SandboxError as failure:
        return f"{failure.stage}: {failure.reason}"
    except MissingError as error:
        return str(error)


def _works() -> str | None:
    done = run_code(
        "import datetime, math\nopen('file', 'w').write('6')\nprint(int(open('file').read()) * "
        "math.gcd(14, 21))"
    )
    if (done.exit, done.stdout) != ("ok", "42\n"):
        return f"a harmless program did not run ({done.exit}: {done.stderr_tail.strip()[-300:] or done.stdout[:300]!r})"
    return None


def _holds() -> str | None:
    """Returns what a program of ours could reach that it must not; None for nothing.

    Its targets include a server and a world-readable file made for it, so that failing to
    reach them is no coincidence.
    """
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
            folders=[
                str(Path.home()),
                str(here.parent),
                str(Path.cwd()),
                tempfile.gettempdir(),
            ],
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
    return (
        None
        if done.exit == "timeout"
        else f"a program that sleeps was not stopped ({done.exit})"
    )


# Numbers of raw system calls, which bypass whatever Python itself would refuse.
_CALLS: Final = {
    "x86_64": {
        "mount": 165,
        "ptrace": 101,
        "unshare": 272,
        "clone": 56,
        "kill": 62,
        "setuid": 105,
        "prctl": 157,
    },
    "aarch64": {
        "mount": 40,
        "ptrace": 117,
        "unshare": 97,
        "clone": 220,
        "kill": 129,
        "setuid": 146,
        "prctl": 167,
    },
}

# Folders that the sandbox has too, with other content.
_OWN: Final = {"/", "/lib", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64"}


def attempts_program(
    machine: str,
    *,
    port: int,
    pid: int,
    files: Sequence[str] = (),
    folders: Sequence[str] = (),
) -> str:
    """Makes the program that tries to reach a port, a process, files and folders of this machine.

    It prints what it could do as JSON.
    """
    targets = {
        "calls": _CALLS[machine],
        "port": port,
        "pid": pid,
        "files": [
            "/etc/passwd",
            "/proc/self/status",
            "/proc/1/environ",
            "/dev/null",
            *files,
        ],
        "folders": sorted(
            {"/etc", "/proc", "/sys", "/dev", "/home", "/var", *folders} - _OWN
        ),
    }
    program = Path(__file__).with_name("attempts.txt").read_text(encoding="utf-8")

    return program.replace("GIVEN", repr(json.dumps(targets)))
