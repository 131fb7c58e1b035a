r"""Runs programs that a model wrote, closed off from this machine; or refuses where that cannot be done.

    require_sandbox()                    # MissingError with the reason and the next step where it cannot be done
    run_code("print(6 * 7)").stdout      # "42\n"

Linux only, without further packages. Each program has a process of its own in fresh user, process, network, mount, IPC and
host name namespaces. What it sees of the machine's files is the Python standard library, read-only; it may write to one
empty folder in memory. It has no capabilities, no environment, no standard input; system calls are those on a list, which
has none for sockets, new processes, signals to others, mounts or tracing. Time, memory, output, files and their sizes are
limited. It ends with everything it held, and leaves nothing.

There is one mode. `require_sandbox` tries it out, attack by attack, before the first program runs. docs/medcalc_code.md
says what is tested and what is not.
"""

from __future__ import annotations

from medical_tasks.sandbox.execution import SANDBOX_VERSION, Exit, Limits, Outcome, run_code
from medical_tasks.sandbox.probe import require_sandbox
from medical_tasks.sandbox.runtime import find_runtime

__all__ = ["SANDBOX_VERSION", "Exit", "Limits", "Outcome", "find_runtime", "require_sandbox", "run_code"]
