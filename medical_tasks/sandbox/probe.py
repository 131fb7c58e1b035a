"""Finds out whether this machine can close a program off; refuses where it cannot, whatever the reason."""

from __future__ import annotations

import functools
import json
import os
import platform
import socket
import tempfile
from pathlib import Path
from typing import Final

from medical_tasks.errors import MissingError
from medical_tasks.sandbox.attempts import attempts_program
from medical_tasks.sandbox.execution import SandboxError, run_code
from medical_tasks.sandbox.limits import Limits

__all__ = ["probe", "require_sandbox"]

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
    """Makes sure, once a process, that programs of a model can be run here.

    Raises:
        MissingError: They cannot; the message says what is missing and what to do. There is no weaker mode.
    """
    found = probe()
    if found is not None:
        raise MissingError(
            "programs that a model wrote are run only where they can be closed off from the machine, and here they cannot: "
            f"{found}. {_ADVICE}"
        )


def probe() -> str | None:
    """Tries the sandbox out: what must work, then what must not.

    Returns:
        None when all is well, else what is wrong.
    """
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
