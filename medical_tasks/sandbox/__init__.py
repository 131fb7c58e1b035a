"""Runs programs that a model wrote in isolation from this machine (Linux), or refuses to.

There is one mode, which `require_sandbox` tests, attack by attack, before the first
program runs: docs/medcalc_code.md.

Each program has its own process, with:

| barrier | effect |
|---|---|
| separate namespaces | no other process, no network; its user is nobody |
| an empty root in memory | read-only: interpreter, C libraries, standard library, program. Writable: one empty folder |
| no rights | no capabilities, no new privileges |
| a filter of about a hundred system calls | no sockets, processes, threads, devices, mounts or tracing |
| limits | 5 s of processor time, 20 s in all, 512 MiB, 64 KiB of output, 8 MiB of files |
| nothing inherited | no environment, standard input or open files |
| a common end | the kernel kills everything when the program or the run ends |
"""

from __future__ import annotations

from medical_tasks.sandbox.execution import (
    SANDBOX_VERSION,
    Exit,
    Limits,
    Outcome,
    find_runtime,
    run_code,
)
from medical_tasks.sandbox.probe import require_sandbox

__all__ = [
    "SANDBOX_VERSION",
    "Exit",
    "Limits",
    "Outcome",
    "find_runtime",
    "require_sandbox",
    "run_code",
]
